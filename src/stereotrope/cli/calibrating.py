"""``stereotrope calibrate``: what an instrument reads, set beside what was planted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import typer

from stereotrope.cli.console import console, rows_table, working
from stereotrope.errors import IncompleteError

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
    out.print(
        rows_table(
            "Accuracy against the planted values",
            ["attribute", "read by", "what", "value", "interval", "n"],
            [
                [
                    r["attribute"],
                    r.get("annotator") or "",
                    r["definition"],
                    _number(r["value"]),
                    _interval(r),
                    r["n"],
                ]
                for r in found.accuracy.iter_rows(named=True)
            ],
        )
    )
    wrong = found.confusion.filter(pl.col("reference_value") != pl.col("value")).sort("n", descending=True)
    out.print()
    if wrong.height:
        columns = ["attribute", "planted", "read", "n"]
        rows = [
            list(row)
            for row in wrong.select("attribute", "reference_value", "value", "n").head(15).iter_rows()
        ]
        out.print(rows_table(f"Confusions (the {len(rows)} most frequent of {wrong.height})", columns, rows))
    else:
        out.print("No confusion: every label is what was planted.")
    out.print()
    inside = found.shares["inside"].sum()
    out.print(f"Planted shares inside their 95% interval: {inside} of {found.shares.height}")
    out.print()
    out.print(
        rows_table(
            "Divergence from the baseline, bits: planted against measured (excess over the noise floor)",
            ["object", "group", "planted", "measured", "interval", "q", "planted inside"],
            [
                [
                    r["object"], r["group"], _number(r["planted"]), _number(r["excess"]), _interval(r),
                    _number(r["q_value"]), {True: "yes", False: "no", None: "not defined"}[r["inside"]],
                ]
                for r in found.divergences.iter_rows(named=True)
            ],
        )
    )  # fmt: skip
    out.print()
    out.print(f"Report: {folder / 'report' / 'index.html'}")


def _number(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.3f}".replace("-", "−")


def _interval(row: dict[str, Any]) -> str:
    if row["low"] is None or row["high"] is None:
        return "not defined"
    return f"[{_number(row['low'])}, {_number(row['high'])}]"
