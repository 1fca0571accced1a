"""Scores of captions less those of the model that the audit compares with."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.report.contract import Block
from stereotrope.report.escape import ellipsis
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count
from stereotrope.report.panels import Figure, Panel
from stereotrope.report.prose import MeasureProse, listing
from stereotrope.report.sections.captions.alongside import (
    MOST_ENTRIES,
    ScoreEntry,
    SeriesStyle,
    entries_by_scope,
    figure_of,
    panel_of,
    parts_by_scope,
    scope_of,
)
from stereotrope.report.sections.captions.bases import Basis, block_by_basis
from stereotrope.report.sections.captions.parity import declared

_PARITY = "signed_parity"
_DRAWN = (
    "cbs",
    "contextual_diversity",
    _PARITY,
    "shannon_entropy",
    "cas",
    "car",
    "gmr",
    "iemr",
    "hallucination",
    "clip_proxy",
    "prompt_alignment",
    "vendi_normalised",
)
"""Scores that are drawn, all of them shares or between 0 and 1: of what says the same twice only one."""


def deltas_block(material: Material) -> Block | None:
    """One figure of the differences from the baseline, a panel a prompt; None without a baseline."""
    every = material.estimates.filter(pl.col("baseline").is_not_null())
    return block_by_basis(material, every, _figure)


def _prose(baseline: str, named: str) -> MeasureProse:
    return MeasureProse(
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


def _figure(material: Material, basis: Basis) -> Figure:
    frame = basis.frame
    baseline = listing([str(b) for b in frame["baseline"].unique(maintain_order=True)])
    prose = _prose(baseline, basis.named)
    drawn = _drawn(frame)
    scope = scope_of(material, frame)
    look = replace(SeriesStyle.for_frame(drawn, "difference"), zero_line=True)
    panels: list[Panel] = []
    shown = 0
    for heading, part in parts_by_scope(material, drawn, scope) if drawn.height else []:
        entries = _entries(material, part, by_encoder=basis.lexicon is None)[:MOST_ENTRIES]
        shown += sum(len(e.rows) for e in entries)
        panels.append(panel_of(material, heading, entries, look, title=prose.title))
    left = frame.height - shown
    notes = []
    if left:
        rows = count(left, "row is", "rows are")
        notes.append(
            f"{rows} in the table and in the files only: scores that say nearly the same as one that is "
            "drawn, single groups and elements, and pairs of groups that nobody set against each other."
        )
    name = basis.called("captions-delta")
    return figure_of(material, frame, prose, panels, name=name, notes=notes)


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows that are worth drawing: of parity the declared sides, of lists the row over all elements."""
    parity = pl.col("measure") == _PARITY
    lists = pl.col("measure").is_in(["gmr", "iemr"])
    return frame.filter(
        pl.col("measure").is_in(_DRAWN) & (~parity | declared()) & (~lists | pl.col("category").is_null())
    )


def _entries(material: Material, part: pl.DataFrame, *, by_encoder: bool) -> list[ScoreEntry]:
    """The lines of one prompt: its composite first, the other scores in a fixed order."""
    rows = sorted(part.iter_rows(named=True), key=lambda r: _DRAWN.index(r["measure"]))
    ordered = pl.DataFrame(rows, schema=part.schema)
    return entries_by_scope(material, ordered, (), lambda r: _label(material, r, by_encoder=by_encoder))


def _label(material: Material, row: Mapping[str, Any], *, by_encoder: bool) -> str:
    score = str(row["measure"])
    if score == _PARITY:
        return words(str(row["category"]))
    name = material.explain(score).abbreviation
    if score == "shannon_entropy" and row["attribute"]:
        return f"{name}, {words(str(row['attribute']))}"
    encoder = row.get("annotator") if by_encoder else None
    return f"{name}, by {ellipsis(str(encoder), 40)}" if encoder else name
