"""Coloured tables: estimates by attribute or value, and scores of many conditions as an overview."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.report.charts.heat import head_width, heat
from stereotrope.report.datatable import MOST_ROWS, estimate_text, table_of
from stereotrope.report.escape import ellipsis
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import (
    FEW_VALUES,
    MOST_CELLS,
    MOST_PANELS,
    SIGNIFICANT,
    Figure,
    Panel,
    distinct_labels,
    files_of,
    n_text,
    notes_of,
    panel_words,
    parts_of,
    row_label,
    safe_name,
)
from stereotrope.report.prose import MeasureProse
from stereotrope.report.series import series_of
from stereotrope.tables import ALL_ATTRIBUTES

_SIDE_BY_SIDE = 8
_SIGNS_BESIDE = 48
_HEADS_BESIDE = 60
_DEEPER = "Purple is more, orange less; the stronger the colour, the larger the difference."
_Parts = Sequence[tuple[str, pl.DataFrame]]
_NAMED = {"generator": "model"}
_Cells = Callable[[pl.DataFrame], tuple[list[dict[str, Any]], list[str]]]


def heat_panels(material: Material, frame: pl.DataFrame) -> int:
    """How many panels a heat figure of these rows would have."""
    panels_by, _ = _sides(material, frame)
    return frame.select(panels_by).n_unique() if panels_by else 1


def _sides(material: Material, frame: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Columns that make the panels, and those that make the lines of each."""
    scope = material.scope_columns(frame)
    if frame["reference"].drop_nulls().n_unique() > 1:
        scope.append("reference")
    row = material.row_factor if material.row_factor in scope else (scope[-1] if scope else None)
    rest = [c for c in scope if c != row]
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

    def cells(part: pl.DataFrame) -> tuple[list[dict[str, Any]], list[str]]:
        across = sorted(part[column].drop_nulls().unique(maintain_order=True).to_list())
        records = sorted(
            part.iter_rows(named=True), key=lambda r: [material.position(c, r[c]) for c in lines_by]
        )
        labels = _lines(records, lines_by, column)
        rows = [_cell(material, r, label, column) for r, label in zip(records, labels, strict=True)]
        return rows, [words(c) if column == "attribute" else c for c in across]

    every = parts_of(material, frame, panels_by)
    parts, said = _few(material, frame, prose, every, panels_by)
    name = f"{prose.name}-attributes" if column == "attribute" else f"{prose.name}-{frame['attribute'][0]}"
    signed = prose.scale == "signed"
    panels, stacked = _panels(parts, cells, title, frame[column].n_unique(), signed=signed)
    return Figure(
        safe_name(name),
        title,
        prose,
        n_text(material, frame),
        panels,
        table_of(material, frame, title, file=f"tables/{prose.name}.csv"),
        _notes(frame, drawn=bool(panels)),
        reads=" ".join([*[_DEEPER if signed else reads] * bool(panels), *said]),
        defined=defined,
        stacked=stacked,
    )


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
    heads = {level: "–" if level is None else str(level) for level in order}
    signed = prose.scale == "signed"

    def cells(part: pl.DataFrame) -> tuple[list[dict[str, Any]], list[str]]:
        records = sorted(part.iter_rows(named=True), key=lambda r: material.position(down, r[down]))
        present = set(part[column].to_list())
        labels = _lines(records, [down], column)
        rows = [
            _cell(material, r, label, column, heads[r[column]])
            for r, label in zip(records, labels, strict=True)
        ]
        return rows, [heads[level] for level in order if level in present]

    every = parts_of(material, frame, panels_by)
    parts, said = _few(material, frame, prose, every, panels_by)
    panels, _ = _panels(parts, cells, title, len(order), signed=signed, top=_top(frame))
    across = f"One line a level of {words(down)}, one column a level of {words(column)}."
    intervals = f"Intervals and tests of all {thousands(frame.height)} rows are in {files_of(prose.name)}."
    return Figure(
        safe_name(name),
        title,
        prose,
        n_text(material, frame),
        panels,
        table_of(material, frame, title, file=f"tables/{prose.name}.csv"),
        [*_notes(frame, drawn=bool(panels)), intervals],
        reads=" ".join([*[across, _DEEPER if signed else "Lighter is more."] * bool(panels), *said]),
        stacked=True,
        crowded=True,
    )


def _lines(records: Sequence[Mapping[str, Any]], by: Sequence[str], column: str) -> list[str]:
    """The line of each cell; two cells of one place are two lines, which say in what they differ."""
    labels = [row_label(r, by) for r in records]
    places = [f"{label}\n{r[column]}" for label, r in zip(labels, records, strict=True)]
    apart = distinct_labels(records, places)
    return [
        label if said == place else f"{label}{said[len(place) :]}"
        for label, place, said in zip(labels, places, apart, strict=True)
    ]


def _top(frame: pl.DataFrame) -> float:
    """The end of the colour scale, one for all panels."""
    return max((abs(v) for v in frame["value"].drop_nulls()), default=1.0)


def _panels(
    parts: _Parts, cells: _Cells, title: str, columns: int, *, signed: bool = False, top: float | None = None
) -> tuple[list[Panel], bool]:
    """The panels, and whether they are too wide to stand side by side."""
    panels: list[Panel] = []
    longest = widest = 0
    for heading, part in parts:
        if not part["value"].drop_nulls().len():
            continue
        rows, heads = cells(part)
        longest = max(longest, *(len(str(r["text"])) for r in rows))
        widest = max(widest, sum(head_width(head) for head in heads))
        lines = list(dict.fromkeys(r["line"] for r in rows))
        spec = heat(rows, columns=heads, lines=lines, signed=signed, top=top)
        panels.append(Panel(heading, spec, panel_words(title, heading, rows), len(lines)))
    return panels, columns > _SIDE_BY_SIDE or columns * longest > _SIGNS_BESIDE or widest > _HEADS_BESIDE


def _few(
    material: Material, frame: pl.DataFrame, prose: MeasureProse, parts: _Parts, by: Sequence[str]
) -> tuple[_Parts, list[str]]:
    """The panels that are drawn, and a sentence where these are not all."""
    if len(parts) <= MOST_PANELS and frame.height <= MOST_CELLS:
        return parts, []
    each = " and ".join(_NAMED.get(c, words(c)) for c in by) or "figure"
    many = f"{thousands(frame.height)} cells in {count(len(parts), 'panel')}, one a {each}"
    where = f"All {thousands(frame.height)} rows are in {files_of(prose.name)}."
    series = series_of(frame.row(0, named=True))
    averages = replace(series, mean=True).rows(material.estimates)
    if not series.mean and averages.filter(pl.col("attribute") != ALL_ATTRIBUTES).height:
        return [], [f"Not drawn: {many}, whose averages are a figure of their own. {where}"]
    if len(parts) <= MOST_PANELS:
        return parts, []
    if series.subset and not series.mean:
        return [], [f"Not drawn: {many}; the figure of all pictures is above. {where}"]
    factor = next(c for c in by if frame[c].n_unique() > 1)
    first = parts[0][1][factor][0]
    kept = [part for part in parts if part[1][factor][0] == first][:MOST_PANELS]
    of = f"{_NAMED.get(factor, words(factor))} {ellipsis(str(first), 60)}"
    said = f"Drawn: {len(kept)} of {len(parts)} panels, one a {each}: those of {of}. {where}"
    return kept, [said]


def _notes(frame: pl.DataFrame, *, drawn: bool) -> list[str]:
    notes = notes_of(frame, 0, 0, dots=False)
    tested = frame["q_value"].drop_nulls()
    if drawn and len(tested):
        where = "table gives" if frame.height <= MOST_ROWS else "files give"
        floor = f" The numbers include the noise floor, which the {where} for each cell."
        told = floor if frame["floor"].drop_nulls().len() else ""
        notes.insert(0, f"* q ≤ {SIGNIFICANT}.{told}")
    return notes


def _cell(
    material: Material, r: Mapping[str, Any], line: str, column: str, head: str | None = None
) -> dict[str, Any]:
    star = "*" if r["q_value"] is not None and r["q_value"] <= SIGNIFICANT else ""
    across = head or (words(r["attribute"]) if column == "attribute" else str(r[column]))
    text = "n. d." if r["value"] is None else ("0" if r["value"] == 0 else number(r["value"], r["n"])) + star
    if column == "attribute" and r["category"] is not None and r["value"] is not None:
        whole = r["value"] in (0.0, 1.0) and r["low"] is None
        text = r["category"] if whole else f"{r['category']} {text}"
    return {
        "line": line,
        "column": across,
        "value": r["value"],
        "text": ellipsis(text, 22),
        "tip": f"{line}, {across}: {estimate_text(material, r)}, n = {r['n']}",
    }
