"""``stereotrope calibrate``: what an instrument reads, set beside what was planted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import typer
from rich.console import Console
from rich.text import Text

from stereotrope.cli.console import console, working
from stereotrope.cli.scores import MOST_ROWS, print_rows
from stereotrope.errors import IncompleteError
from stereotrope.report.numbers import probability

if TYPE_CHECKING:
    from stereotrope.calibrate import Calibration
    from stereotrope.cli.app import Settings

__all__ = ["run_calibration"]


def run_calibration(
    annotators: list[str], folder: Path, images: int, settings: Settings, *, as_json: bool
) -> None:
    """Calibrate, print the result, and end with exit code 3 where an attribute is read badly.

    Raises
    ------
    IncompleteError
        An attribute is read with less accuracy than an instrument needs.
    """
    from stereotrope.calibrate import LEAST_ACCURACY, calibrate

    with working(settings) as (watcher, stop):
        found = calibrate(
            annotators, folder, images=images, seed=settings.seed or 0, watcher=watcher, stop=stop
        )
    if as_json:
        typer.echo(json.dumps(_as_json(found), ensure_ascii=False, indent=2))
    else:
        _print(found, folder, settings)
    if found.unfit:
        raise IncompleteError(
            f"read with less than {LEAST_ACCURACY:.0%} accuracy: {', '.join(found.unfit)}; estimates of "
            "these say more about the instrument than about the model. Use another annotator for them"
        )


def _as_json(found: Calibration) -> dict[str, Any]:
    return {
        "accuracy": found.accuracy.to_dicts(),
        "confusion": found.confusion.to_dicts(),
        "shares": found.shares.to_dicts(),
        "divergences": found.divergences.to_dicts(),
        "unfit": found.unfit,
    }


def _print(found: Calibration, folder: Path, settings: Settings) -> None:
    out = console(settings)
    out.print()
    rows: list[list[Any]] = [
        [_words(r["attribute"]), _words(r["definition"]), _number(r["value"]), _interval(r), r["n"]]
        for r in found.accuracy.iter_rows(named=True)
    ]
    columns = ["attribute", "what", "value", "95% interval", "n"]
    print_rows("Accuracy against the planted values", columns, rows, out)
    out.print()
    _print_confusions(found, out)
    out.print()
    inside = found.shares["inside"].sum()
    out.print(f"Planted shares inside their 95% interval: {inside} of {found.shares.height}")
    out.print()
    rows = [
        [
            r["object"], r["group"], _number(r["planted"]), _number(r["adjusted"]), _interval(r),
            probability(r["q_value"]), {True: "yes", False: "no", None: "not defined"}[r["inside"]],
        ]
        for r in found.divergences.iter_rows(named=True)
    ]  # fmt: skip
    columns = ["object", "group", "planted", "measured", "95% interval", "q", "planted inside"]
    title = "Divergence from the baseline in bits: planted, and measured (adjusted for the noise floor)"
    print_rows(title, columns, rows, out)
    out.print()
    out.print(Text(f"Report: {folder / 'report' / 'index.html'}"))


def _print_confusions(found: Calibration, out: Console) -> None:
    wrong = found.confusion.filter(pl.col("reference_value") != pl.col("value")).sort("n", descending=True)
    if not wrong.height:
        out.print("No confusion: every label is what was planted.")
        return
    first = wrong.select("attribute", "reference_value", "value", "n").head(MOST_ROWS)
    rows = [[_words(attribute), *rest] for attribute, *rest in first.iter_rows()]
    title = "What was taken for what"
    if wrong.height > len(rows):
        title += f" (the {len(rows)} most frequent of {wrong.height} confusions)"
    print_rows(title, ["attribute", "planted", "read", "n"], rows, out)


def _words(name: str) -> str:
    return {"cohen_kappa": "Cohen's κ"}.get(name, name.replace("_", " "))


def _number(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}".replace("-", "−")


def _interval(row: dict[str, Any]) -> str:
    if row["low"] is None or row["high"] is None:
        return "not defined"
    return f"[{_number(row['low'])}, {_number(row['high'])}]"
