"""The commands of the biasbench suite."""

from pathlib import Path
from typing import Annotated

import typer

from stereotrope.commands import AsJson, register


@register("reproduce biasbench", panel="On a paper")
def reproduce_numbers(
    captions: Annotated[
        Path | None, typer.Option("--captions", help="Captions to count: a CSV or JSONL file, or a folder.")
    ] = None,
    lexicon: Annotated[
        Path | None, typer.Option("--lexicon", help="Terms to count them by: the authors' JSON, or YAML.")
    ] = None,
    matching: Annotated[
        str | None,
        typer.Option(
            "--matching", help="How terms are found for the paper's formulas: word, letters, split, all."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", "-o", help="Write all of it as one HTML file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check what the T2I-BiasBench paper says about its figures, or count captions again.

    Without captions, sets what the paper says beside what its own tables give. With
    --captions, makes every number of these and sets it beside the paper's, after
    what is odd about the file. Each has a verdict: it agrees, differs, or cannot be
    recomputed. Nothing is drawn or asked, and the exit code is 0 whatever the
    verdicts.
    """
    from stereotrope.suites.biasbench.printing import run_reproduction

    run_reproduction(captions, lexicon, matching=matching, report=report, as_json=as_json)


@register(
    "lexicon check", panel="On an instrument", about="Look at a lexicon: terms, and what they stand for."
)
def lexicon_check(
    file: Annotated[
        str,
        typer.Argument(
            metavar="LEXICON", help="A YAML file, a built-in name (biasbench), or the authors' lists as JSON."
        ),
    ],
    captions: Annotated[Path, typer.Option("--captions", help="Captions to read: a CSV or JSONL file.")],
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="WHAT=NAME",
            help="A column of that file, repeatable: caption=NAME, prompt=NAME, image=NAME; else found.",
        ),
    ] = None,
    prompt: Annotated[
        str | None, typer.Option("--prompt", help="The prompt that all captions are of; else the file says.")
    ] = None,
    boundary: Annotated[
        str | None,
        typer.Option(
            "--boundary", metavar="word|letters", help="Whole words, or letters anywhere; else the lexicon's."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check what the terms of a lexicon hit in captions, before a number is made of it.

    Says what is odd about the files, then what to doubt, the worst first: hits
    inside longer words, hits before a noun of clothes, hair or a background,
    captions that name several groups, words run together that are missed, terms
    that are never found; each with a caption.

    Exit codes: 0 whatever is found, 2 a file cannot be used.
    """
    from stereotrope.suites.biasbench.lexicon_check import check_lexicon
    from stereotrope.suites.biasbench.lexicon_printing import print_lexicon_check

    checked = check_lexicon(file, captions, columns=columns or (), prompt=prompt, boundary=boundary)
    print_lexicon_check(checked, as_json=as_json)
