"""The command of the everyday suite."""

from pathlib import Path
from typing import Annotated

import typer

from stereotrope.commands import AsJson, register


@register(
    "corpus match", panel="On an instrument", about="Captions of a corpus, as a reference for scenarios."
)
def corpus_match(
    captions: Annotated[
        list[Path],
        typer.Argument(
            metavar="CAPTIONS", help="Parquet, CSV or JSON lines; several files are read in turn."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the matches go: a .csv or .parquet file.")
    ],
    scenarios: Annotated[
        Path | None,
        typer.Option(
            "--scenarios",
            help="A run of everyday prompts, or a CSV file with a column scenario; else the suite's own.",
        ),
    ] = None,
    column: Annotated[str, typer.Option("--column", help="Column of the captions.")] = "caption",
    most: Annotated[int, typer.Option("--most", min=1, help="Captions kept of a scenario.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Chooses them where there are more.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Find the captions of a corpus that name all that a scenario names.

    A caption matches where it holds every word of the scenario but stop words and
    the subject, in any form: baking by bakes. What is kept is written with all
    columns of the corpus and a column scenario: fetch those pictures, have them
    labelled as the model's are, and their ratios are what models are compared with.
    Nothing is downloaded or asked.

    Exit codes: 0 whatever is found, 2 a file cannot be used.
    """
    from stereotrope.suites.everyday.matching import run_matching

    run_matching(captions, output, scenarios=scenarios, column=column, most=most, seed=seed, as_json=as_json)
