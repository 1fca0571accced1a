"""Figures of a report: panels with a title that says what they show, and the table behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from stereotrope.report import charts
from stereotrope.report.datatable import Table, estimate_text, table_of
from stereotrope.report.escape import shorten, visible
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, number, probability, thousands
from stereotrope.report.prose import MeasureProse, explain
from stereotrope.tables import ALL_ATTRIBUTES, AVERAGE

__all__ = [
    "MOST_FIGURES",
    "MOST_PANELS",
    "NEUTRAL",
    "SIGNIFICANT",
    "Figure",
    "Panel",
    "domain_of",
    "figures_of",
    "panel_words",
    "safe_name",
]

MOST_PANELS = 40
"""Panels of one figure; the rest is in the table."""
MOST_FIGURES = 12
"""Figures of one measure, one an attribute; with discovered attributes there can be many more."""
_ROWS_A_PANEL = 40
_TOP_ROWS = 12
_FEW_VALUES = 3
_SIDE_BY_SIDE = 8
_SIGNS_BESIDE = 48
_FEW_LEVELS = 3
NEUTRAL = ("absent", "no", "none")
"""Of two values the one that needs no drawing."""
_GAP = "\u2003"
_RANK_TEST = "_change_wilcoxon"
"""Ends the name of a change that stands a second time, with the p-value of another test."""
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
    stacked: bool = False


def figures_of(material: Material, measure: str) -> list[Figure]:
    """The figures of one measure: its headline, and where it has them its attributes and values."""
    frame = material.estimates.filter(pl.col("measure") == measure)
    figures: list[Figure] = []
    for definition in frame["definition"].unique(maintain_order=True).to_list():
        prose = explain(measure, definition)
        same = frame.filter(pl.col("definition").eq_missing(definition))
        named = f" ({words(definition)})" if definition and frame["definition"].n_unique() > 1 else ""
        head = same.filter(pl.col("attribute").is_null() | (pl.col("attribute") == ALL_ATTRIBUTES))
        rest = same.filter(pl.col("attribute").is_not_null() & (pl.col("attribute") != ALL_ATTRIBUTES))
        if head.height:
            figures.append(_dots_figure(material, head, prose, f"{prose.title}{named}", measure))
        if rest.height:
            figures += _attribute_figures(material, rest, prose, named, bool(head.height))
    return _uniquely_named(figures)


def _uniquely_named(figures: Sequence[Figure]) -> list[Figure]:
    seen: dict[str, int] = {}
    out = []
    for figure in figures:
        seen[figure.name] = seen.get(figure.name, 0) + 1
        name = figure.name if seen[figure.name] == 1 else f"{figure.name}-{seen[figure.name]}"
        out.append(replace(figure, name=name))
    return out


def _attribute_figures(
    material: Material, frame: pl.DataFrame, prose: MeasureProse, suffix: str, has_head: bool
) -> list[Figure]:
    scope = [c for c in frame.columns if c in ("generator", *material.factors, "reference")]
    attributes = frame["attribute"].unique(maintain_order=True).to_list()
    if frame.select(*scope, "attribute").n_unique() == frame.height and len(attributes) > 1:
        title = f"{prose.short[:1].upper()}{prose.short[1:]}, by attribute{suffix}"
        if frame.select(scope).n_unique() == 1:
            return [_dots_figure(material, frame, prose, title, f"{prose.name}-attributes")]
        averaged = has_head and prose.section == "divergence"
        reads = "The mean over a row is the score above; lighter is more." if averaged else prose.reads
        return [_heat_figure(material, frame, prose, title, "attribute", reads=reads, defined=not has_head)]
    figures = []
    for attribute in _most_shared(frame):
        rows = frame.filter(pl.col("attribute") == attribute)
        values = rows["category"].drop_nulls().unique().to_list()
        drawn = [v for v in values if v not in NEUTRAL]
        rest: list[str] = []
        if len(values) == 2 and len(drawn) == 1:
            rest = [f"The rest is “{next(v for v in values if v in NEUTRAL)}”; its rows are in the files."]
            rows, values = rows.filter(pl.col("category") == drawn[0]), drawn
        value = f", {values[0]}" if len(values) == 1 else ""
        title = f"{prose.title}: {words(attribute)}{value}{_only_of(material, rows)}{suffix}"
        signed = (rows["value"].min() or 0.0) < 0 or rows["reference"].drop_nulls().len() > 0  # type: ignore[operator]
        if len(values) > _FEW_VALUES and not signed:
            reads = f"{prose.reads} Lighter is more."
            figures.append(_heat_figure(material, rows, prose, title, "category", reads=reads, defined=True))
        else:
            figure = _dots_figure(material, rows, prose, title, f"{prose.name}-{attribute}")
            figures.append(replace(figure, notes=[*figure.notes, *rest]))
    if left := len(attributes) - len(figures):
        said = (
            f"{count(left, 'further attribute has', 'further attributes have')} no figure of their own: the "
            f"strips above show their labels, the file tables/{prose.name}.csv holds their rows."
        )
        figures[-1] = replace(figures[-1], notes=[*figures[-1].notes, said])
    return figures


def _most_shared(frame: pl.DataFrame) -> list[str]:
    """The attributes that get a figure: all, or of very many (discovered ones) those with the most rows."""
    sizes = frame.group_by("attribute", maintain_order=True).len()
    return list(sizes.sort("len", descending=True, maintain_order=True).head(MOST_FIGURES)["attribute"])


def _only_of(material: Material, rows: pl.DataFrame) -> str:
    """Where an attribute was looked at, if that is one level of what the run has several of."""
    scope = [c for c in ("generator", *material.shown) if c in rows.columns and c != material.row_factor]
    single = [c for c in scope if len(material.level_order[c]) > 1 and rows[c].n_unique() == 1]
    levels = [shorten(str(rows[c][0]), 40) for c in single if rows[c][0] is not None]
    return f" ({', '.join(levels)})" if levels else ""


def _row_label(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    parts = [
        words(str(row[c])) if c == "attribute" else str(row[c]) for c in columns if row.get(c) is not None
    ]
    return ", ".join(parts) or str(row.get("generator") or "all pictures")


@dataclass(frozen=True)
class _Layout:
    """Columns that make panels and rows, the factor whose levels become series, rows of a panel."""

    panels: Sequence[str]
    rows: Sequence[str]
    series: str | None = None
    most: int = _ROWS_A_PANEL


def _layout(material: Material, frame: pl.DataFrame) -> _Layout:
    columns = material.scope_columns(frame)
    if frame["reference"].drop_nulls().n_unique() > 1:
        columns.append("reference")
    extra = [c for c in ("attribute", "category") if frame[c].drop_nulls().n_unique() > 1]
    row = material.row_factor if material.row_factor in columns else (columns[-1] if columns else None)
    rest = [c for c in columns if c != row]
    rows = [row] if row else []
    if extra and (not columns or frame.select(columns).n_unique() == frame.height or "attribute" in extra):
        return _Layout(rest, [*rows, *extra])
    if extra and frame["category"].n_unique() > _FEW_VALUES:
        return _Layout(rest, ["category", *rows], most=_TOP_ROWS)
    if row and rest and frame[row].drop_nulls().n_unique() <= _FEW_VALUES:
        single, others = rest[-1], rest[:-1]
        if frame[row].n_unique() > 1 and row != "reference":
            return _Layout([*extra, *others], [single], row)
        return _Layout([*extra, *others], [single, row])
    return _Layout([*extra, *rest], rows)


def _parts(material: Material, frame: pl.DataFrame, by: Sequence[str]) -> list[tuple[str, pl.DataFrame]]:
    """The panels of a figure with their titles, in the order of the design."""
    parts = frame.partition_by(by, maintain_order=True) if by else [frame]
    parts.sort(key=lambda p: tuple(material.position(c, p[c][0]) for c in by))
    return [(" · ".join(str(p[c][0]) for c in by if p[c][0] is not None), p) for p in parts]


def _dots_figure(
    material: Material, frame: pl.DataFrame, prose: MeasureProse, title: str, name: str
) -> Figure:
    layout = _layout(material, frame)
    parts = _parts(material, frame, layout.panels)
    ends = frame.select("value", "low", "high", "floor").to_dicts()
    domain = domain_of(ends, ranks=prose.unit.startswith("rank"))
    names: list[str] = []
    if layout.series:
        factor = layout.series
        names = sorted(
            frame[factor].drop_nulls().unique().to_list(), key=lambda v: material.position(factor, v)
        )
    undrawn = _not_worth_drawing(frame, prose)
    panels, cut = [], 0
    for heading, part in [] if undrawn else parts[:MOST_PANELS]:
        rows, left = _dot_rows(material, part, layout, prose)
        cut += left
        spec = charts.dots(rows, unit=prose.unit, domain=domain, series=names, zero_line=domain[0] < 0)
        panels.append(Panel(heading, spec, panel_words(title, heading, rows), len(rows)))
    notes = _notes(frame, 0 if undrawn else len(parts) - len(panels), cut, dots=not undrawn)
    if undrawn:
        notes.append(undrawn)
    return Figure(
        name=safe_name(name),
        title=title,
        prose=prose,
        n=_n_text(frame),
        panels=panels,
        table=table_of(material, frame, title, file=f"tables/{prose.name}.csv"),
        notes=notes,
        reads=prose.reads,
    )


def _not_worth_drawing(frame: pl.DataFrame, prose: MeasureProse) -> str:
    """Why a figure would show nothing, empty where it shows something."""
    if prose.section == "missing" and not any(frame["value"].fill_null(1.0)):
        return "Every value is 0, so nothing is drawn; the table has the intervals."
    if prose.name.endswith(_RANK_TEST):
        return "The values are those of the figure above; only the test differs. The table has its p and q."
    if prose.name.endswith(AVERAGE) and all(n < _FEW_LEVELS for n in frame["n"].drop_nulls()):
        return (
            "Means over fewer than three are not drawn: their intervals leave the scale. The table has them."
        )
    return ""


def safe_name(name: str) -> str:
    """A name that is one in an anchor and in a file."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in name)[:80]


def _dot_rows(
    material: Material, part: pl.DataFrame, layout: _Layout, prose: MeasureProse
) -> tuple[list[dict[str, Any]], int]:
    records = list(part.iter_rows(named=True))
    series = layout.series
    if series:
        records.sort(key=lambda r: [material.position(c, r[c]) for c in (*layout.rows, series)])
    elif layout.most < _ROWS_A_PANEL:
        records.sort(key=lambda r: (r["value"] is None, -abs(r["value"] or 0.0)))
    else:
        upwards = 1.0 if prose.unit.startswith("rank") else -1.0
        records.sort(key=lambda r: (r["value"] is None, upwards * (r["value"] or 0.0)))
    rows = []
    for r in records[: layout.most]:
        label = _row_label(r, layout.rows)
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
    return rows, max(0, len(records) - layout.most)


def domain_of(rows: Sequence[Mapping[str, Any]], *, ranks: bool = False) -> list[float]:
    """Ends of the axis that holds every value, interval and floor; 0 is always in it."""
    ends = [r[c] for r in rows for c in ("value", "low", "high", "floor") if r.get(c) is not None]
    if not ends:
        return [0.0, 1.0]
    if ranks:
        return [min(ends) - 0.5, max(ends) + 0.5]
    low, high = min(0.0, *ends), max(0.0, *ends)
    if high == low:
        high = 1.0
    margin = 0.03 * (high - low)
    return [low - margin if low < 0 else 0.0, high + margin]


def panel_words(title: str, heading: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """A panel for those who cannot see it: what it is about and its first rows."""
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
    if all(measure.endswith(AVERAGE) for measure in frame["measure"]):
        return f"Mean of {text} scores a row{left}"
    return f"n = {text} a row{left}"


def _notes(frame: pl.DataFrame, panels_cut: int, rows_cut: int, *, dots: bool = True) -> list[str]:
    notes = []
    tested = frame.filter(pl.col("q_value").is_not_null())
    if dots and tested.height:
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
    if frame["bound_low"].drop_nulls().len():
        notes.append(
            "Where more than 5% of the labels are missing, the table gives the bounds: the value if none, "
            "and if all, of these were the one counted."
        )
    if panels_cut or rows_cut:
        parts = [count(panels_cut, "panel")] * bool(panels_cut) + [count(rows_cut, "row")] * bool(rows_cut)
        notes.append(f"Not drawn: {' and '.join(parts)}; they are in the table and in the files.")
    flags = sorted(
        {
            f.strip()
            for cell in frame["flags"].drop_nulls()
            for f in cell.split(",")
            if f.strip() and "=" not in f
        }
    )
    if flags:
        notes.append(f"Warnings in this figure: {', '.join(words(f) for f in flags)}; see the table.")
    return notes


def _heat_figure(
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
    scope = material.scope_columns(frame)
    if frame["reference"].drop_nulls().n_unique() > 1:
        scope.append("reference")
    row = material.row_factor if material.row_factor in scope else (scope[-1] if scope else None)
    rest = [c for c in scope if c != row]
    lines_by = [row] if row else []
    if row and rest and frame[row].drop_nulls().n_unique() <= _FEW_VALUES:
        lines_by = [rest.pop(), row]
    parts = _parts(material, frame, rest)
    panels: list[Panel] = []
    longest = 0
    for heading, part in parts[:MOST_PANELS]:
        across = sorted(part[column].drop_nulls().unique(maintain_order=True).to_list())
        records = sorted(
            part.iter_rows(named=True), key=lambda r: [material.position(c, r[c]) for c in lines_by]
        )
        rows = [_heat_row(r, lines_by, column) for r in records]
        longest = max(longest, *(len(str(r["text"])) for r in rows))
        lines = list(dict.fromkeys(r["line"] for r in rows))
        heads = [words(c) if column == "attribute" else c for c in across]
        spec = charts.heat(rows, columns=heads, lines=lines)
        panels.append(Panel(heading, spec, panel_words(title, heading, rows), len(lines)))
    columns = frame[column].n_unique()
    notes = _notes(frame, len(parts) - len(panels), 0, dots=False)
    if frame["q_value"].drop_nulls().len():
        floor = " The numbers include the noise floor, which the table gives for each cell."
        notes.insert(0, f"* q ≤ {SIGNIFICANT}.{floor if frame['floor'].drop_nulls().len() else ''}")
    return Figure(
        safe_name(
            f"{prose.name}-attributes" if column == "attribute" else f"{prose.name}-{frame['attribute'][0]}"
        ),
        title,
        prose,
        _n_text(frame),
        panels,
        table_of(material, frame, title, file=f"tables/{prose.name}.csv"),
        notes,
        reads=reads,
        defined=defined,
        stacked=columns > _SIDE_BY_SIDE or columns * longest > _SIGNS_BESIDE,
    )


def _heat_row(r: Mapping[str, Any], lines_by: Sequence[str], column: str) -> dict[str, Any]:
    star = "*" if r["q_value"] is not None and r["q_value"] <= SIGNIFICANT else ""
    line = _row_label(r, lines_by)
    across = words(r["attribute"]) if column == "attribute" else str(r[column])
    text = "n. d." if r["value"] is None else ("0" if r["value"] == 0 else number(r["value"], r["n"])) + star
    if column == "attribute" and r["category"] is not None and r["value"] is not None:
        whole = r["value"] in (0.0, 1.0) and r["low"] is None
        text = r["category"] if whole else f"{r['category']} {text}"
    return {
        "line": line,
        "column": across,
        "value": r["value"],
        "text": shorten(text, 22),
        "tip": f"{line}, {across}: {estimate_text(r)}, n = {r['n']}",
    }
