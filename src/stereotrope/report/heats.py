"""Coloured tables: estimates by attribute or value, and scores of many conditions as an overview."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stereotrope.escape import ellipsis
from stereotrope.report.charts.heat import head_width, heat
from stereotrope.report.datatable import MOST_ROWS, estimate_text
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import (
    FEW_VALUES,
    MOST_CELLS,
    MOST_PANELS,
    SIGNIFICANT,
    Figure,
    Panel,
    all_zero,
    files_of,
    notes_of,
    panel_words,
    parts_of,
    row_labels,
    rows_and_panels,
)
from stereotrope.report.prose import ALL_ZERO, MeasureProse
from stereotrope.report.series import Estimate, series_of
from stereotrope.tables import ALL_ATTRIBUTES

_SIDE_BY_SIDE = 8
_SIGNS_BESIDE = 48
_HEADS_BESIDE = 60
_MOST_OF_A_PANEL = 4_000
"""Cells of a panel that are drawn; of some ten thousand Vega ends without a figure."""
_DEEPER = "Purple is more, orange less; the stronger the colour, the larger the difference."
_Parts = Sequence[tuple[str, pl.DataFrame]]
_NAMED = {"generator": "model"}


@dataclass(frozen=True)
class _Layout:
    """Columns that make panels, lines and heads; the heads in their order; the end of one scale for all.

    ``told`` is what is said of lines and columns.
    """

    panels: Sequence[str]
    lines: Sequence[str]
    column: str
    heads: Mapping[Any, str]
    top: float | None = None
    told: str = ""


def heat_panels(material: Material, frame: pl.DataFrame) -> int:
    """How many panels a heat figure of these rows would have."""
    panels_by, _ = _sides(material, frame)
    return frame.select(panels_by).n_unique() if panels_by else 1


def _sides(material: Material, frame: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Columns that make the panels, and those that make the lines of each."""
    row, rest = rows_and_panels(material, frame)
    lines_by = [row] if row else []
    if row and rest and frame[row].drop_nulls().n_unique() <= FEW_VALUES:
        lines_by = [rest.pop(), row]
    return rest, lines_by


def heat_figure(
    material: Material,
    frame: pl.DataFrame,
    prose: MeasureProse,
    title: str,
    column: str,
    *,
    reads: str,
    defined: bool,
) -> Figure:
    """Numbers as a coloured table: ``column`` (attribute or category) across, conditions down."""
    panels_by, lines_by = _sides(material, frame)
    heads = {level: level_words(column, level) for level in frame[column].drop_nulls().unique().sort()}
    name = f"{prose.name}-{'attributes' if column == 'attribute' else frame['attribute'][0]}"
    layout = _Layout(panels_by, lines_by, column, heads)
    return replace(_figure(material, frame, prose, title, name, layout, reads), defined=defined)


def overview_figure(
    material: Material,
    frame: pl.DataFrame,
    prose: MeasureProse,
    title: str,
    name: str,
    by: tuple[Sequence[str], str, str],
) -> Figure:
    """Scores of many conditions: one panel a level of the first factors, lines × columns of two others.

    ``by`` names the columns of the panels, of the lines and of what stands across.
    """
    panels_by, down, column = by
    order = sorted(frame[column].unique().to_list(), key=lambda v: material.position(column, v))
    heads = {level: level_words(column, level) for level in order}
    top = max((abs(v) for v in frame["value"].drop_nulls()), default=1.0)
    across = f"One line a level of {words(down)}, one column a level of {words(column)}."
    layout = _Layout(panels_by, [down], column, heads, top, across)
    figure = _figure(material, frame, prose, title, name, layout, "Lighter is more.")
    intervals = f"Intervals and tests of all {thousands(frame.height)} rows are in {files_of(prose.name)}."
    return replace(figure, notes=[*figure.notes, intervals], stacked=True, crowded=True)


def _figure(
    material: Material,
    frame: pl.DataFrame,
    prose: MeasureProse,
    title: str,
    name: str,
    layout: _Layout,
    reads: str,
) -> Figure:
    """The figure with its panels, ``stacked`` where these are too wide to stand side by side."""
    column, signed = layout.column, prose.scale == "signed"
    parts, undrawn = _few(material, frame, prose, parts_of(material, frame, layout.panels), layout.panels)
    if all_zero(frame):
        parts, undrawn = [], ALL_ZERO
    panels: list[Panel] = []
    longest = widest = 0
    for heading, part in parts:
        if not part["value"].count():
            continue
        records = sorted(
            part.iter_rows(named=True), key=lambda r: [material.position(c, r[c]) for c in layout.lines]
        )
        labels = row_labels(records, layout.lines, [r[column] for r in records])
        rows = [
            _cell(material, r, label, column, layout.heads.get(r[column], str(r[column])))
            for r, label in zip(records, labels, strict=True)
        ]
        present = set(part[column])
        heads = [head for level, head in layout.heads.items() if level in present]
        longest = max(longest, *(len(str(r["text"])) for r in rows))
        widest = max(widest, sum(map(head_width, heads)))
        lines = list(dict.fromkeys(r["line"] for r in rows))
        spec = heat(rows, columns=heads, lines=lines, signed=signed, top=layout.top)
        panels.append(Panel(heading, spec, panel_words(title, heading, rows), len(lines)))
    columns = frame[column].n_unique()
    notes, read = _notes(frame, drawn=bool(panels)), [layout.told, _DEEPER if signed else reads]
    notes += [undrawn] * (not panels and bool(undrawn))
    told = " ".join(filter(None, [*read, undrawn])) if panels else ""
    stacked = columns > _SIDE_BY_SIDE or columns * longest > _SIGNS_BESIDE or widest > _HEADS_BESIDE
    return Figure.of(material, frame, prose, title, name, panels, notes=notes, reads=told, stacked=stacked)


def _few(
    material: Material, frame: pl.DataFrame, prose: MeasureProse, parts: _Parts, by: Sequence[str]
) -> tuple[_Parts, str]:
    """The panels that are drawn, and a sentence where these are not all."""
    if len(parts) <= MOST_PANELS and frame.height <= MOST_CELLS:
        return parts, ""
    each = " and ".join(_NAMED.get(c, words(c)) for c in by) or "figure"
    many = f"{thousands(frame.height)} cells in {count(len(parts), 'panel')}, one a {each}"
    where = f"All {thousands(frame.height)} rows are in {files_of(prose.name)}."
    series = series_of(frame.row(0, named=True))
    averages = replace(series, mean=True).rows(material.estimates)
    if not series.mean and averages.filter(pl.col("attribute") != ALL_ATTRIBUTES).height:
        return [], f"Not drawn: {many}, whose averages are a figure of their own. {where}"
    if max(part.height for _, part in parts) > _MOST_OF_A_PANEL:
        return [], f"Not drawn: {many}, too many to be read. {where}"
    if len(parts) <= MOST_PANELS:
        return parts, ""
    if series.subset and not series.mean:
        return [], f"Not drawn: {many}; the figure of all pictures is above. {where}"
    factor = next(c for c in by if frame[c].n_unique() > 1)
    first = parts[0][1][factor][0]
    kept = [part for part in parts if part[1][factor][0] == first][:MOST_PANELS]
    of = f"{_NAMED.get(factor, words(factor))} {ellipsis(str(first), 60)}"
    return kept, f"Drawn: {len(kept)} of {len(parts)} panels, one a {each}: those of {of}. {where}"


def _notes(frame: pl.DataFrame, *, drawn: bool) -> list[str]:
    notes = notes_of(frame, 0, 0, dots=False)
    tested = frame["q_value"].drop_nulls()
    if drawn and len(tested):
        where = "table gives" if frame.height <= MOST_ROWS else "files give"
        floor = f" The numbers include the noise floor, which the {where} for each cell."
        told = floor if frame["floor"].count() else ""
        notes.insert(0, f"* q ≤ {SIGNIFICANT}.{told}")
    return notes


def _cell(material: Material, r: Estimate, line: str, column: str, head: str) -> dict[str, Any]:
    star = "*" if r["q_value"] is not None and r["q_value"] <= SIGNIFICANT else ""
    text = "n. d." if r["value"] is None else ("0" if r["value"] == 0 else number(r["value"], r["n"])) + star
    if column == "attribute" and r["category"] is not None and r["value"] is not None:
        whole = r["value"] in (0.0, 1.0) and r["low"] is None
        text = r["category"] if whole else f"{r['category']} {text}"
    return {
        "line": line,
        "column": head,
        "value": r["value"],
        "text": ellipsis(text, 22),
        "tip": f"{line}, {head}: {estimate_text(material, r)}, n = {r['n']}",
    }
