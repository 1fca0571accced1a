"""Figures of a report: panels with a title that says what they show, and the table behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from stereotrope.report import charts
from stereotrope.report.datatable import Table, estimate_text, table_of
from stereotrope.report.escape import shorten, visible
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, number, probability, thousands
from stereotrope.report.prose import MeasureProse, explain
from stereotrope.tables import ALL_ATTRIBUTES

__all__ = ["MOST_PANELS", "SIGNIFICANT", "Figure", "Panel", "figures_of"]

MOST_PANELS = 24
"""Panels of one figure; the rest is in the table."""
_ROWS_A_PANEL = 40
_GAP = "\u2003"
SIGNIFICANT = 0.05
"""q at or below which a dot is drawn full."""


@dataclass(frozen=True)
class Panel:
    """One chart of a figure."""

    title: str
    spec: Mapping[str, Any]
    alt: str
    rows: int


@dataclass(frozen=True)
class Figure:
    """A figure with everything that is needed to believe it."""

    name: str
    title: str
    prose: MeasureProse
    n: str
    panels: Sequence[Panel]
    table: Table
    notes: Sequence[str] = field(default=())
    reads: str = ""
    defined: bool = True


def figures_of(material: Material, measure: str) -> list[Figure]:
    """The figures of one measure: its headline, and where it has them its attributes and values."""
    frame = material.estimates.filter(pl.col("measure") == measure)
    prose = explain(measure)
    figures = []
    for definition in frame["definition"].unique(maintain_order=True).to_list():
        same = frame.filter(pl.col("definition").eq_missing(definition))
        suffix = f" ({definition} definition)" if frame["definition"].n_unique() > 1 else ""
        head = same.filter(pl.col("attribute").is_null() | (pl.col("attribute") == ALL_ATTRIBUTES))
        rest = same.filter(pl.col("attribute").is_not_null() & (pl.col("attribute") != ALL_ATTRIBUTES))
        if head.height:
            figures.append(_dots_figure(material, head, prose, f"{prose.title}{suffix}", f"{measure}"))
        if rest.height:
            figures += _attribute_figures(material, rest, prose, suffix, bool(head.height))
    return _uniquely_named(figures)


def _uniquely_named(figures: Sequence[Figure]) -> list[Figure]:
    seen: dict[str, int] = {}
    out = []
    for figure in figures:
        seen[figure.name] = seen.get(figure.name, 0) + 1
        name = figure.name if seen[figure.name] == 1 else f"{figure.name}-{seen[figure.name]}"
        out.append(Figure(name, *(getattr(figure, f) for f in list(Figure.__dataclass_fields__)[1:])))
    return out


def _attribute_figures(
    material: Material, frame: pl.DataFrame, prose: MeasureProse, suffix: str, has_head: bool
) -> list[Figure]:
    if has_head and prose.section == "divergence":
        return [_heat_figure(material, frame, prose, suffix)]
    figures = []
    for attribute in frame["attribute"].unique(maintain_order=True).to_list():
        rows = frame.filter(pl.col("attribute") == attribute)
        values = rows["category"].drop_nulls().unique().to_list()
        value = f", {values[0]}" if len(values) == 1 else ""
        title = f"{prose.title}: {words(attribute)}{value}{suffix}"
        figures.append(_dots_figure(material, rows, prose, title, f"{prose.name}-{attribute}"))
    return figures


def _row_label(material: Material, row: Mapping[str, Any], columns: Sequence[str]) -> str:
    parts = [str(row[c]) for c in columns if row.get(c) is not None]
    return ", ".join(parts) or str(row.get("generator") or "all pictures")


def _layout(material: Material, frame: pl.DataFrame) -> tuple[list[str], list[str], str | None]:
    """Columns that make panels, columns that make rows, and the factor whose levels become series."""
    columns = material.scope_columns(frame)
    for extra in ("reference", "category"):
        if frame[extra].drop_nulls().n_unique() > 1:
            columns.append(extra)
    row = material.row_factor if material.row_factor in columns else (columns[-1] if columns else None)
    if row is None:
        return [], [], None
    rest = [c for c in columns if c != row]
    if "category" in rest:
        rest.remove("category")
        rest.insert(0, "category")
    if frame[row].drop_nulls().n_unique() <= 3 and len(rest) > 1:
        single = rest[-1]
        series = row if row != "reference" and frame[row].n_unique() > 1 else None
        duplicated = frame.select([*rest, row]).is_duplicated().any()
        if series is not None and not duplicated:
            return rest[:-1], [single], series
        return rest[:-1], [single, row], None
    return rest, [row], None


def _dots_figure(
    material: Material, frame: pl.DataFrame, prose: MeasureProse, title: str, name: str
) -> Figure:
    panel_by, row_by, series = _layout(material, frame)
    parts = frame.partition_by(panel_by, maintain_order=True) if panel_by else [frame]
    parts = sorted(parts, key=lambda p: _panel_order(material, p, panel_by))
    domain = _domain(frame, ranks=prose.unit.startswith("rank"))
    order = (
        sorted(frame[series].drop_nulls().unique().to_list(), key=lambda v: material.position(series, v))
        if series
        else None
    )
    panels, cut = [], 0
    for part in parts[:MOST_PANELS]:
        rows, left = _dot_rows(material, part, row_by, series, prose)
        cut += left
        heading = " · ".join(str(part[c][0]) for c in panel_by if part[c][0] is not None)
        spec = charts.dots(rows, unit=prose.unit, domain=domain, series=order, zero_line=domain[0] < 0)
        panels.append(Panel(heading, spec, _alt(title, heading, rows), len(rows)))
    notes = _notes(frame, len(parts) - len(panels), cut, any(p is not None for p in frame["q_value"]))
    return Figure(
        name=_safe(name),
        title=title,
        prose=prose,
        n=_n_text(frame),
        panels=panels,
        table=table_of(material, frame, title, file=f"tables/{prose.name}.csv"),
        notes=notes,
        reads=prose.reads,
    )


def _safe(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in name)[:80]


def _panel_order(
    material: Material, part: pl.DataFrame, panel_by: Sequence[str]
) -> tuple[tuple[int, str], ...]:
    return tuple(material.position(c, part[c][0]) for c in panel_by)


def _dot_rows(
    material: Material, part: pl.DataFrame, row_by: Sequence[str], series: str | None, prose: MeasureProse
) -> tuple[list[dict[str, Any]], int]:
    records = list(part.iter_rows(named=True))
    if series:
        records.sort(key=lambda r: [material.position(c, r[c]) for c in (*row_by, series)])
    elif prose.unit.startswith("rank"):
        records.sort(key=lambda r: (r["value"] is None, r["value"] or 0.0))
    else:
        records.sort(key=lambda r: (r["value"] is None, -(r["value"] or 0.0)))
    rows = []
    for r in records[:_ROWS_A_PANEL]:
        label = _row_label(material, r, row_by)
        text = estimate_text(r)
        if r["q_value"] is not None:
            q = probability(r["q_value"])
            text += f"{_GAP}q {q}" if q.startswith("<") else f"{_GAP}q = {q}"
        rows.append(
            {
                "label": label,
                "series": str(r[series]) if series and r[series] is not None else None,
                "value": r["value"],
                "low": r["low"],
                "high": r["high"],
                "floor": r["floor"] if r["value"] is not None else None,
                "sure": None if r["q_value"] is None else r["q_value"] <= SIGNIFICANT,
                "text": shorten(text, 60),
                "short": "n. d." if r["value"] is None else estimate_text(r).partition(" [")[0],
                "tip": f"{label}{', ' + str(r[series]) if series else ''}: {text}, n = {r['n']}",
            }
        )
    return rows, max(0, len(records) - _ROWS_A_PANEL)


def _domain(frame: pl.DataFrame, *, ranks: bool = False) -> list[float]:
    ends = [x for c in ("value", "low", "high", "floor") for x in frame[c].drop_nulls().to_list()]
    if not ends:
        return [0.0, 1.0]
    if ranks:
        return [min(ends) - 0.5, max(ends) + 0.5]
    low, high = min(0.0, *ends), max(0.0, *ends)
    if high == low:
        high = 1.0
    margin = 0.03 * (high - low)
    return [low - margin if low < 0 else 0.0, high + margin]


def _alt(title: str, heading: str, rows: Sequence[Mapping[str, Any]]) -> str:
    said = "; ".join(f"{r['tip']}" for r in rows[:6])
    more = f"; {len(rows) - 6} more in the data table" if len(rows) > 6 else ""
    return visible(shorten(f"{title}. {heading + ': ' if heading else ''}{said}{more}.", 700))


def _n_text(frame: pl.DataFrame) -> str:
    n = frame["n"].drop_nulls()
    if not len(n):
        return "n is not given"
    low, high = int(n.min() or 0), int(n.max() or 0)  # type: ignore[arg-type]
    text = thousands(low) if low == high else f"{thousands(low)} to {thousands(high)}"
    excluded = int(frame["n_excluded"].fill_null(0).max() or 0)  # type: ignore[arg-type]
    left = f", at most {thousands(excluded)} left out" if excluded else ""
    return f"n = {text} a row{left}"


def _notes(frame: pl.DataFrame, panels_cut: int, rows_cut: int, has_q: bool) -> list[str]:
    notes = []
    if has_q:
        tested = frame.filter(pl.col("q_value").is_not_null())
        full = tested.filter(pl.col("q_value") <= SIGNIFICANT).height
        notes.append(
            f"● q ≤ {SIGNIFICANT}: {full} of {tested.height} rows. ○ q above it. "
            f"If nothing differed, about {SIGNIFICANT * tested.height:.2g} "
            f"would have p ≤ {SIGNIFICANT} by chance."
        )
    undefined = frame.filter(pl.col("value").is_null()).height
    if undefined:
        notes.append(
            f"{count(undefined, 'row is', 'rows are')} not defined; the reason stands in place of the number."
        )
    if panels_cut or rows_cut:
        parts = [count(panels_cut, "panel")] * bool(panels_cut) + [count(rows_cut, "row")] * bool(rows_cut)
        notes.append(f"Not drawn: {' and '.join(parts)}; they are in the table and in the files.")
    flags = sorted({f.strip() for cell in frame["flags"].drop_nulls() for f in cell.split(",") if f.strip()})
    if flags:
        notes.append(f"Warnings in this figure: {', '.join(words(f) for f in flags)}; see the table.")
    return notes


def _heat_figure(material: Material, frame: pl.DataFrame, prose: MeasureProse, suffix: str) -> Figure:
    columns = material.scope_columns(frame)
    if frame["reference"].drop_nulls().n_unique() > 1:
        columns.append("reference")
    row = material.row_factor if material.row_factor in columns else (columns[-1] if columns else None)
    panel_by = [c for c in columns if c != row]
    parts = frame.partition_by(panel_by, maintain_order=True) if panel_by else [frame]
    parts = sorted(parts, key=lambda p: _panel_order(material, p, panel_by))
    title = f"{prose.short} by attribute: where it comes from{suffix}"
    panels = []
    for part in parts[:MOST_PANELS]:
        attributes = part["attribute"].unique(maintain_order=True).to_list()
        records = list(part.iter_rows(named=True))
        records.sort(key=lambda r: material.position(row, r[row]) if row else (0, ""))
        lines = list(dict.fromkeys(_row_label(material, r, [row] if row else []) for r in records))
        rows = [_heat_row(material, r, row) for r in records]
        heading = " · ".join(str(part[c][0]) for c in panel_by if part[c][0] is not None)
        spec = charts.heat(rows, columns=[words(a) for a in attributes], lines=lines)
        panels.append(Panel(heading, spec, _alt(title, heading, rows), len(lines)))
    notes = _notes(frame, len(parts) - len(panels), 0, False)
    if frame["q_value"].drop_nulls().len():
        notes.insert(
            0,
            f"* q ≤ {SIGNIFICANT}. The numbers include the noise floor, which the table gives for each cell.",
        )
    return Figure(
        f"{_safe(prose.name)}-attributes",
        title,
        prose,
        _n_text(frame),
        panels,
        table_of(material, frame, title, file=f"tables/{prose.name}.csv"),
        notes,
        reads="The mean over a row is the score above; lighter is more.",
        defined=False,
    )


def _heat_row(material: Material, r: Mapping[str, Any], row: str | None) -> dict[str, Any]:
    star = "*" if r["q_value"] is not None and r["q_value"] <= SIGNIFICANT else ""
    line = _row_label(material, r, [row] if row else [])
    text = estimate_text(r)
    return {
        "line": line,
        "column": words(r["attribute"]),
        "value": r["value"],
        "text": "n. d." if r["value"] is None else number(r["value"], r["n"]) + star,
        "tip": f"{line}, {words(r['attribute'])}: {text}, n = {r['n']}",
    }
