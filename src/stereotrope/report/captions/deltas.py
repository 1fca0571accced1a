"""Scores of captions less those of the model that the audit compares with."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from stereotrope.report.captions.alongside import (
    MOST_ENTRIES,
    Look,
    definitions_of,
    entries_by_scope,
    figure_of,
    labeller,
    panel_of,
    scope_of,
)
from stereotrope.report.captions.blocks import Block
from stereotrope.report.material import Material
from stereotrope.report.numbers import count
from stereotrope.report.panels import MOST_PANELS, Figure, Panel
from stereotrope.report.prose import MeasureProse, explain, listing, measures_in_order
from stereotrope.tables import DELTA

__all__ = ["deltas_block"]

_FIRST = ("cbs", "contextual_diversity")
"""Scores drawn before the others: the composites."""


def deltas_block(material: Material) -> Block | None:
    """One figure of all differences from the baseline, a panel a score; None without a baseline."""
    every = material.estimates.filter(pl.col("measure").str.ends_with(DELTA))
    if not every.height:
        return None
    figures = [
        _figure(material, frame, definition, named) for definition, frame, named in definitions_of(every)
    ]
    return Block(figures=figures, replaces=frozenset(every["measure"].unique().to_list()))


def _figure(material: Material, frame: pl.DataFrame, definition: str | None, named: str) -> Figure:
    baseline = listing([str(b) for b in frame["reference"].drop_nulls().unique(maintain_order=True)])
    scope = scope_of(material, frame)
    names = [m.removesuffix(DELTA) for m in frame["measure"].unique().to_list()]
    order = sorted(measures_in_order(names), key=lambda m: m not in _FIRST)
    prose = MeasureProse(
        name="delta",
        section="captions",
        title=f"How far the scores are from those of {baseline}{named}",
        short="Difference from the baseline model",
        unit="",
        definition=(
            f"The score of a model less that of {baseline} for the same prompt; the interval joins those of "
            "the two scores, which takes their captions as independent."
        ),
        reads=(
            f"The line at 0 is {baseline}, which is a model like the others and no standard. Scores that "
            "read too high or too low at few captions compare only where the numbers of captions are alike."
        ),
        source="T2I-BiasBench, eq. 25",
    )
    panels: list[Panel] = []
    notes: list[str] = []
    cut = 0
    for score in order[:MOST_PANELS]:
        rows = frame.filter(pl.col("measure") == f"{score}{DELTA}")
        entries = entries_by_scope(material, rows, scope, labeller(rows, scope))
        look = replace(Look.for_frame(rows, "difference"), zero_line=True)
        cut += max(0, len(entries) - MOST_ENTRIES)
        heading = explain(score, definition).short
        panels.append(panel_of(material, heading, entries[:MOST_ENTRIES], look, title=prose.title))
    if cut or len(order) > MOST_PANELS:
        left = [count(len(order) - MOST_PANELS, "score")] * (len(order) > MOST_PANELS)
        left += [count(cut, "line")] * bool(cut)
        notes.append(f"In the table and in the files only: {' and '.join(left)}.")
    name = "captions-delta" if not named else f"captions-delta-{definition}"
    return figure_of(material, frame, prose, panels, name=name, notes=notes)
