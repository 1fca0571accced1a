"""The composite scores of each prompt against their bands; all scores less those of the baseline model."""

from dataclasses import replace

import polars as pl

from stereotrope.report.contract import Block
from stereotrope.report.escape import ellipsis
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, number
from stereotrope.report.panels import Figure
from stereotrope.report.prose import MeasureProse, listing
from stereotrope.report.sections.captions.alongside import (
    MOST_ENTRIES,
    Drawing,
    SeriesStyle,
    blocks_by_basis,
    entries_by_scope,
    joined_prose,
)
from stereotrope.report.sections.captions.groups import SIGNED, declared
from stereotrope.report.sections.captions.scores import COMPOSITE_MEASURES, Estimate
from stereotrope.tables import BANDS

_DRAWN = (
    "cbs",
    "contextual_diversity",
    SIGNED,
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
"""Scores whose differences are drawn, all shares or between 0 and 1: of what says the same twice only one."""


def composites_blocks(material: Material) -> list[Block]:
    """Both composites, a panel each."""
    every = material.scores.filter(pl.col("measure").is_in(COMPOSITE_MEASURES))
    return blocks_by_basis(material, every, _composites)


def deltas_blocks(material: Material) -> list[Block]:
    """The differences from the baseline, a panel a prompt."""
    every = material.estimates.filter(pl.col("baseline").is_not_null())
    return blocks_by_basis(material, every, _deltas)


def _composites(drawing: Drawing) -> Figure:
    parts = drawing.explained(COMPOSITE_MEASURES)
    title = next(iter(parts.values())).title if len(parts) == 1 else "The composite scores of each prompt"
    drawing.titled(joined_prose(parts.values(), title))
    ticks = (0.0, *(band.most for band in BANDS))
    look = SeriesStyle.for_frame(
        drawing.frame, "", zero_line=False, domain=(0.0, 1.0), ticks=ticks, banded=True
    )
    for measure, prose in parts.items():
        entries = drawing.lines(drawing.of(measure), ["attribute"])
        drawing.add(prose.short, entries, replace(look, unit=prose.unit), MOST_ENTRIES)
    bands = listing([f"{band.name} up to {number(band.most, places=2)}" for band in BANDS[:-1]])
    reads = (
        f"The lines are the edges of the bands: {bands}, {BANDS[-1].name} above. "
        f"They are a convention of the authors and no test. {drawing.prose.reads}"
    )
    return drawing.figure("captions-composites", reads=reads)


def _deltas(drawing: Drawing) -> Figure:
    frame = drawing.frame
    baseline = listing([str(b) for b in frame["baseline"].unique(maintain_order=True)])
    drawing.titled(
        MeasureProse(
            name="delta",
            section="captions",
            title=f"How far the scores are from those of {baseline}",
            short="Difference from the baseline model",
            definition=(
                f"The score of a model less that of {baseline} for the same prompt; the interval joins those "
                "of the two scores, which takes their captions as independent."
            ),
            reads=(
                f"The line at 0 is {baseline}, which is a model like the others and no standard. Scores that "
                "read too high or too low at few captions compare only where the numbers of captions are "
                "alike."
            ),
            source="T2I-BiasBench, eq. 25",
        )
    )
    drawn = _drawn(frame)
    look = SeriesStyle.for_frame(drawn, "difference", zero_line=True)
    shown = 0
    for heading, part in drawing.by_prompt(drawn):
        entries = entries_by_scope(drawing.material, part, (), lambda row: _label(drawing, row))
        shown += sum(len(entry.rows) for entry in entries[:MOST_ENTRIES])
        drawing.add(heading, entries[:MOST_ENTRIES], look)
    if left := frame.height - shown:
        drawing.notes.append(
            f"{count(left, 'row is', 'rows are')} in the table and in the files only: scores that say nearly "
            "the same as one that is drawn, single groups and elements, and pairs of groups that nobody set "
            "against each other."
        )
    return drawing.figure("captions-delta")


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows worth drawing, in a fixed order: declared sides alone, of lists the row over all elements."""
    parity, lists = pl.col("measure") == SIGNED, pl.col("measure").is_in(["gmr", "iemr"])
    worth = frame.filter(
        pl.col("measure").is_in(_DRAWN), ~parity | declared(), ~lists | pl.col("category").is_null()
    )
    return worth.sort(pl.col("measure").cast(pl.Enum(_DRAWN)), maintain_order=True)


def _label(drawing: Drawing, row: Estimate) -> str:
    score = row["measure"]
    if score == SIGNED:
        return words(str(row["category"]))
    name = drawing.material.explain(score).abbreviation
    if score == "shannon_entropy" and row["attribute"]:
        return f"{name}, {words(str(row['attribute']))}"
    encoder = row.get("annotator") if drawing.basis.lexicon is None else None
    return f"{name}, by {ellipsis(str(encoder), 40)}" if encoder else name
