"""What captions lack and what they hold: keywords, implied elements, terms that nobody asked for."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from stereotrope.report.contract import Block
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count
from stereotrope.report.panels import Figure, Panel
from stereotrope.report.sections.captions.alongside import (
    MOST_LINES,
    ScoreEntry,
    SeriesStyle,
    entries_by_scope,
    figure_of,
    panel_of,
    parts_by_scope,
    scope_of,
    scope_words,
)
from stereotrope.report.sections.captions.bases import bases_of

MISSING = ("gmr", "iemr")
HELD = ("hallucination", "car")
_WHOLE = {"paper": "any of them", "released": "mean of all"}
"""What the row over all elements counts, by definition."""


def omissions_block(material: Material) -> Block | None:
    """What captions leave out and what they add; None where nothing of it was measured."""
    figures = [figure for measure in MISSING for figure in _missing(material, measure)]
    figures += _held(material)
    present = set(material.scores["measure"].unique().to_list())
    if not figures:
        return None
    return Block(figures=figures, replaces=frozenset(present & {*MISSING, *HELD}))


def _missing(material: Material, measure: str) -> list[Figure]:
    """One figure a definition: a panel a prompt, a line an element, the elements missed most often first."""
    every = material.scores.filter(pl.col("measure") == measure)
    figures = []
    for basis in bases_of(material, every):
        frame = basis.frame
        prose = material.explain(measure, basis.definition)
        prose = replace(prose, title=f"{prose.title}{basis.named}")
        scope = scope_of(material, frame)
        look = SeriesStyle.for_frame(frame, f"{prose.unit} that lack it", bars=True)
        panels, cut = [], 0
        for heading, part in parts_by_scope(material, frame, scope):
            entries, left = _elements(material, part, _WHOLE.get(basis.definition or "", "any of them"))
            cut += left
            panels.append(panel_of(material, heading, entries, look, title=prose.title))
        notes = []
        if cut:
            notes.append(
                f"Drawn are the {MOST_LINES} of each prompt that are missing most often; "
                f"{count(cut, 'further element is', 'further elements are')} in the table and in the files."
            )
        figures.append(figure_of(material, frame, prose, panels, name=basis.called(measure), notes=notes))
    return figures


def _elements(material: Material, part: pl.DataFrame, whole: str) -> tuple[list[ScoreEntry], int]:
    """The line over all elements, then the elements, and how many of these are left out."""
    of_all = part.filter(pl.col("category").is_null())
    single = part.filter(pl.col("category").is_not_null())
    head = [replace(e, apart=True) for e in entries_by_scope(material, of_all, (), lambda _: whole)]
    lines = entries_by_scope(material, single, (), lambda r: words(str(r["category"])))
    lines.sort(key=lambda e: -e.height)
    return [*head, *lines[:MOST_LINES]], max(0, len(lines) - MOST_LINES)


def _held(material: Material) -> list[Figure]:
    """Terms that nobody asked for and markers of a culture: small panels of one line a prompt."""
    every = material.scores.filter(pl.col("measure").is_in(HELD))
    figures = []
    for basis in bases_of(material, every):
        frame = basis.frame
        scope = scope_of(material, frame)
        present = [m for m in HELD if (frame["measure"] == m).any()]
        parts = [material.explain(m, basis.definition) for m in present]
        prose = parts[0]
        if len(present) > 1:
            prose = replace(
                prose,
                title="How often captions hold a term of a list",
                definition=" ".join(f"{p.short}: {p.definition}" for p in parts),
            )
        prose = replace(prose, title=f"{prose.title}{basis.named}")
        look = SeriesStyle.for_frame(frame, prose.unit, bars=True)
        panels = [
            _held_panel(material, frame.filter(pl.col("measure") == m), scope, look, p.title, prose.title)
            for m, p in zip(present, parts, strict=True)
        ]
        figures.append(
            figure_of(
                material,
                frame,
                prose,
                panels,
                name=basis.called("-".join(present)),
                reads=" ".join(f"{p.short}: {p.reads}" for p in parts),
            )
        )
    return figures


def _held_panel(
    material: Material, frame: pl.DataFrame, scope: Sequence[str], look: SeriesStyle, heading: str, title: str
) -> Panel:
    entries = entries_by_scope(material, frame, scope, lambda r: scope_words(r, scope) or "all captions")
    return panel_of(material, heading, entries, look, title=title)
