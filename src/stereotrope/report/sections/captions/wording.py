"""How captions are worded: which list of terms they lean to, how varied they are, how near the prompt."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from stereotrope.report.contract import Block
from stereotrope.report.escape import ellipsis
from stereotrope.report.material import Material
from stereotrope.report.numbers import count
from stereotrope.report.panels import Figure, Panel
from stereotrope.report.sections.captions.alongside import (
    MOST_ENTRIES,
    SeriesStyle,
    entries_by_scope,
    figure_of,
    labeller,
    panel_of,
    scope_of,
)
from stereotrope.report.sections.captions.bases import Basis, bases_of

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "cas": ("cas",),
    "captions-variety": ("vendi", "image_vendi", "vendi_normalised", "image_vendi_normalised"),
    "captions-alignment": ("clip_proxy", "prompt_alignment"),
}
"""Figure → the measures that are its panels; those of pictures stand beside those of captions."""
_TITLES = {
    "captions-variety": "How many different captions or pictures there are in effect",
    "captions-alignment": "How near captions and pictures are to the prompt",
}
"""Titles where a figure has more than what captions say."""
_OF_PICTURES = ("image_vendi", "image_vendi_normalised", "prompt_alignment")
"""Measures of pictures, each encoder for itself."""
_UNDRAWN = "image_vendi_normalised"
"""Near 0 at any number of pictures, so that a drawing shows nothing that the score itself does not."""


def wording_block(material: Material) -> Block | None:
    """One figure each for association, variety and nearness to the prompt; None without any."""
    figures: list[Figure] = []
    drawn: set[str] = set()
    for name, measures in _GROUPS.items():
        every = material.scores.filter(pl.col("measure").is_in(measures))
        drawn |= set(every["measure"].unique().to_list())
        figures += [_figure(material, name, measures, basis) for basis in _bases(material, every)]
    return Block(figures=figures, replaces=frozenset(drawn)) if figures else None


def _bases(material: Material, every: pl.DataFrame) -> list[Basis]:
    """Those of the measures of captions; measures of pictures stand with the first, unless by lexicon."""
    captions = every.filter(~pl.col("measure").is_in(_OF_PICTURES))
    if not captions.height:
        return bases_of(material, every)
    parts = bases_of(material, captions)
    pictures = every.join(captions.select("measure").unique(), on="measure", how="anti")
    first, *rest = parts
    if first.lexicon is not None:
        return [*parts, *(bases_of(material, pictures) if pictures.height else [])]
    return [replace(first, frame=pl.concat([first.frame, pictures])), *rest]


def _by_encoder(rows: pl.DataFrame) -> list[tuple[str | None, pl.DataFrame]]:
    """The rows of each encoder; those of captions have none and stay together."""
    if rows["measure"][0] not in _OF_PICTURES or "annotator" not in rows.columns:
        return [(None, rows)]
    parts = rows.partition_by("annotator", maintain_order=True)
    return [(part["annotator"][0], part) for part in parts]


def _figure(material: Material, name: str, measures: tuple[str, ...], basis: Basis) -> Figure:
    definition, frame = basis.definition, basis.frame
    scope = scope_of(material, frame)
    present = [m for m in measures if (frame["measure"] == m).any()]
    present = [m for m in present if m != _UNDRAWN] or present
    parts = [material.explain(m, definition) for m in present]
    title = parts[0].title
    if any(m not in ("cas", "vendi", "vendi_normalised", "clip_proxy") for m in present):
        title = _TITLES.get(name, title)
    prose = parts[0]
    if len(parts) > 1:
        prose = replace(
            prose,
            unit="",
            definition=" ".join(f"{p.short}: {p.definition}" for p in parts),
            source="; ".join(dict.fromkeys(s for p in parts for s in p.source.split("; "))),
        )
    prose = replace(prose, title=f"{title}{basis.named}")
    panels: list[Panel] = []
    notes: list[str] = []
    for measure, words_of in zip(present, parts, strict=True):
        for encoder, rows in _by_encoder(frame.filter(pl.col("measure") == measure)):
            entries = entries_by_scope(
                material, rows, scope, labeller(rows, scope, ("attribute", "category", "reference"))
            )
            look = SeriesStyle.for_frame(rows, words_of.unit)
            heading = words_of.short if len(present) > 1 else ""
            if encoder is not None:
                heading = f"{words_of.short}, by {ellipsis(encoder, 40)}"
            panels.append(panel_of(material, heading, entries[:MOST_ENTRIES], look, title=prose.title))
            if len(entries) > MOST_ENTRIES and not notes:
                left = count(len(entries) - MOST_ENTRIES, "further line is", "further lines are")
                notes.append(f"{left} in the table and in the files only.")
    reads = parts[0].reads if len(parts) == 1 else " ".join(f"{p.short}: {p.reads}" for p in parts)
    full = basis.called(name)
    return figure_of(material, frame, prose, panels, name=full, notes=notes, reads=reads)
