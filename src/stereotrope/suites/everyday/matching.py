"""Matching a corpus from a terminal: which scenarios, what was found of each, and where that was written."""

import io
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from stereotrope import escape, run
from stereotrope.commands import settings
from stereotrope.design.scenarios import scenario_prompts
from stereotrope.errors import UsageError
from stereotrope.inputs.rows import read_rows
from stereotrope.shipped import shipped
from stereotrope.suites.everyday.corpus import FEWEST, match_captions
from stereotrope.terminal import console, print_json, print_line, print_rows, safe

_DOES_SOMETHING = r"^[=＝@＠\t\r\n]|^[-+－＋](?:[^\d.]|.*[^\d.eE+-])|[\p{Cc}\p{Cf}]"
"""Text that begins as a formula, or holds controls."""
_SHOWN = 10
"""Scenarios with most matches that are printed; the file has them all."""


def run_matching(
    captions: Sequence[Path],
    output: Path,
    *,
    scenarios: Path | None,
    column: str,
    most: int,
    seed: int,
    as_json: bool,
) -> None:
    """Match, write what was kept, and print how many there are of each scenario.

    Raises UsageError: The output is of another kind, its folder is not there, or it is a file that is read.
    """
    if output.suffix.lower() not in (".csv", ".parquet") or not output.parent.is_dir() or output.is_dir():
        raise UsageError(f"{output}: must be a .csv or .parquet file in a folder that is there; correct it")
    for one in (*captions, *([scenarios] if scenarios else [])):
        if output.exists() and one.exists() and output.samefile(one):
            raise UsageError(f"{output}: is read from, and would be written over; choose another name")
    found = match_captions(captions, _prompts(scenarios), caption=column, most=most, seed=seed)
    data = io.BytesIO()
    if output.suffix.lower() == ".csv":
        _inert(found.kept).write_csv(data)
    else:
        found.kept.write_parquet(data)
    run.write_atomic(output, data.getvalue())
    counts = found.counts.sort("matched", descending=True, maintain_order=True)
    n_enough = counts.filter(pl.col("kept") >= FEWEST).height
    if as_json:
        told = {"captions": found.n_captions, "enough": n_enough, "fewest": FEWEST, "written": str(output)}
        print_json({**told, "without_words": found.without_words, "scenarios": counts.to_dicts()})
        return
    out = console(settings)
    rows = [(name, f"{matched:,}", f"{kept:,}") for name, matched, kept in counts.head(_SHOWN).iter_rows()]
    print_rows("Scenarios with most captions", ("scenario", "matched", "kept"), rows, out, named=1)
    print_line(
        safe(
            f"{n_enough:,} of {counts.height:,} scenarios have {FEWEST} captions or more, of "
            f"{found.n_captions:,}; {found.kept.height:,} rows in {output}"
        ),
        out,
    )
    if found.without_words:
        print_line(safe(f"nothing to look for in: {', '.join(found.without_words[:_SHOWN])}"), out)


def _inert(kept: pl.DataFrame) -> pl.DataFrame:
    """What people wrote on the web as no spreadsheet runs it; numbers, such as hashes, stay as they are."""
    texts = [
        s.replace({text: escape.csv(text) for text in s.filter(s.str.contains(_DOES_SOMETHING)).unique()})
        for s in kept
        if s.dtype == pl.String
    ]
    return kept.with_columns(texts).rename({name: escape.csv(name) for name in kept.columns})


def _prompts(scenarios: Path | None) -> pl.DataFrame:
    """Prompts of a run, the scenarios of a file, or those of the suite."""
    standard = shipped("suites.everyday", "suite.yaml")["prompts"]
    if scenarios is None:
        return scenario_prompts({}, ".", suite=standard, suite_base=Path(__file__).parent).prompts
    if scenarios.is_dir():
        return run.open(scenarios).prompts
    read = read_rows(scenarios)
    read.require("scenario", "the scenarios")
    names = [name for row in read.rows if (name := row.text("scenario")) is not None]
    subjects = [next((s for s in standard["subjects"] if name.startswith(s)), "") for name in names]
    return pl.DataFrame({"scenario": names, "text": names, "variation": subjects})
