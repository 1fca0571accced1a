"""Figures of a report: panels with a title that says what they show, and the table behind them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stereotrope.escape import ellipsis
from stereotrope.report.charts.dots import LABEL_SIGNS, cramped, dots
from stereotrope.report.datatable import dot_of, estimate_text
from stereotrope.report.heats import heat_figure, heat_panels, overview_figure
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, probability, thousands
from stereotrope.report.panels import (
    FEW_VALUES,
    MOST_PANELS,
    SIGNIFICANT,
    Figure,
    Panel,
    all_zero,
    domain_of,
    files_of,
    notes_of,
    panel_words,
    parts_of,
    row_labels,
    rows_and_panels,
    safe_name,
    without_neutral,
)
from stereotrope.report.prose import ALL_ZERO, MeasureProse, listing
from stereotrope.report.series import OVER_ALL, Estimate, Series, series_of

MOST_FIGURES = 12
"""Figures of one measure, one an attribute; with discovered attributes there can be many more."""
_ROWS_A_PANEL = 40
_TOP_ROWS = 12
_FEW_LEVELS = 3
_WHOLE_LABEL = 28
"""Signs of a label that stand in one line of a figure; longer ones are broken."""
_GAP = "\u2003"
_SMALLEST = 0.001
"""Probability below which only that is said."""


def figures_of(material: Material, series: Series) -> list[Figure]:
    """The figures of one series: its headline, and where it has them its attributes and values."""
    frame = series.rows(material.estimates)
    figures: list[Figure] = []
    for definition in frame["definition"].unique(maintain_order=True).to_list():
        prose = material.explain(series, definition)
        same = frame.filter(pl.col("definition").eq_missing(definition))
        named = f" ({words(definition)})" if definition and frame["definition"].n_unique() > 1 else ""
        head, rest = same.filter(OVER_ALL), same.filter(~OVER_ALL)
        if head.height:
            figures.append(_dots_figure(material, head, prose, f"{prose.title}{named}", series.name))
        if rest.height:
            figures += _attribute_figures(material, rest, prose, named, bool(head.height))
    if any(f.crowded for f in figures) or heat_panels(material, frame) > MOST_PANELS:
        whole = "" if series.subset and not series.mean else safe_name(series.name)
        figures = [f if f.name == whole else replace(f, detail=True) for f in figures]
    seen = Counter[str]()
    for i, figure in enumerate(figures):
        seen[figure.name] += 1
        if (k := seen[figure.name]) > 1:
            figures[i] = replace(figure, name=f"{figure.name}-{k}")
    return figures


def _attribute_figures(
    material: Material, frame: pl.DataFrame, prose: MeasureProse, suffix: str, has_head: bool
) -> list[Figure]:
    scope = [c for c in frame.columns if c in ("generator", *material.factors, "reference")]
    attributes = frame["attribute"].unique(maintain_order=True).to_list()
    if frame.select(*scope, "attribute").n_unique() == frame.height and len(attributes) > 1:
        title = f"{prose.heading}, by attribute{suffix}"
        if frame.select(scope).n_unique() == 1:
            return [_dots_figure(material, frame, prose, title, f"{prose.name}-attributes")]
        averaged = has_head and prose.section == "divergence"
        reads = "The mean over a row is the score above; lighter is more." if averaged else prose.reads
        return [heat_figure(material, frame, prose, title, "attribute", reads=reads, defined=not has_head)]
    sizes = frame.group_by("attribute", maintain_order=True).len()
    most = sizes.sort("len", descending=True, maintain_order=True).head(MOST_FIGURES)
    figures, chosen, stripped = [], most["attribute"].to_list(), []
    for attribute in chosen:
        rows = frame.filter(pl.col("attribute") == attribute)
        many = rows["category"].drop_nulls().n_unique() > 2 and not _is_signed(rows)
        if many and heat_panels(material, rows) > MOST_PANELS:  # more than anyone reads
            stripped.append(rows)
        else:
            figures.append(_attribute_figure(material, rows, prose, suffix))
    if stripped:
        figures.append(_strips_figure(material, stripped, prose, suffix))
    if left := len(attributes) - len(chosen):
        said = (
            f"{count(left, 'further attribute has', 'further attributes have')} no figure of their own: the "
            f"strips above show their labels, the file tables/{prose.name}.csv holds their rows."
        )
        figures[-1] = replace(figures[-1], notes=[*figures[-1].notes, said])
    return figures


def _is_signed(rows: pl.DataFrame) -> bool:
    return any(v < 0 for v in rows["value"].drop_nulls()) or rows["reference"].count() > 0


def _strips_figure(
    material: Material, parts: Sequence[pl.DataFrame], prose: MeasureProse, suffix: str
) -> Figure:
    """Shares of many values under many conditions: a table, and where else they are."""
    frame = pl.concat(parts)
    named = listing([words(str(p["attribute"][0])) for p in parts], most=12)
    title = f"{prose.title}: {count(len(parts), 'attribute')} of many values{suffix}"
    panels = sum(heat_panels(material, p) for p in parts)
    notes = [
        f"Not drawn: {named}, which would be {thousands(panels)} panels. The strips above show the labels "
        f"themselves; all {thousands(frame.height)} rows are in {files_of(prose.name)}."
    ]
    notes += notes_of(frame, 0, 0, dots=False)
    return Figure.of(
        material, frame, prose, title, f"{prose.name}-values", [], notes=notes, reads=prose.reads
    )


def _attribute_figure(material: Material, rows: pl.DataFrame, prose: MeasureProse, suffix: str) -> Figure:
    attribute = rows["attribute"][0]
    rows, neutral = without_neutral(rows)
    values = rows["category"].drop_nulls().unique().to_list()
    rest = [f"The rest is “{value}”; its rows are in the files." for value in neutral]
    value = f", {values[0]}" if len(values) == 1 else ""
    title = f"{prose.title}: {words(attribute)}{value}{_only_of(material, rows)}{suffix}"
    if len(values) > FEW_VALUES and not _is_signed(rows):
        reads = f"{prose.reads} Lighter is more."
        return heat_figure(material, rows, prose, title, "category", reads=reads, defined=True)
    figure = _dots_figure(material, rows, prose, title, f"{prose.name}-{attribute}")
    return replace(figure, notes=[*figure.notes, *rest])


def _only_of(material: Material, rows: pl.DataFrame) -> str:
    """Where an attribute was looked at, if that is one level of what the run has several of."""
    scope = [c for c in ("generator", *material.shown) if c in rows.columns and c != material.row_factor]
    single = [c for c in scope if len(material.level_order[c]) > 1 and rows[c].n_unique() == 1]
    levels = [ellipsis(str(rows[c][0]), 40) for c in single if rows[c][0] is not None]
    return f" ({', '.join(levels)})" if levels else ""


@dataclass(frozen=True)
class _Layout:
    """Columns that make panels and rows, the factor whose levels become series, rows of a panel."""

    panels: Sequence[str]
    rows: Sequence[str]
    series: str | None = None
    most: int = _ROWS_A_PANEL


def _layout(material: Material, frame: pl.DataFrame) -> _Layout:
    row, rest = rows_and_panels(material, frame)
    columns = [row, *rest] if row else []
    extra = [c for c in ("attribute", "category") if frame[c].drop_nulls().n_unique() > 1]
    rows = [row] if row else []
    if extra and (not columns or frame.select(columns).n_unique() == frame.height or "attribute" in extra):
        return _Layout(rest, [*rows, *extra])
    if extra and frame["category"].n_unique() > FEW_VALUES:
        return _Layout(rest, ["category", *rows], most=_TOP_ROWS)
    if row and rest and frame[row].drop_nulls().n_unique() <= FEW_VALUES:
        single, others = rest[-1], rest[:-1]
        if frame[row].n_unique() > 1 and row != "reference":
            return _Layout([*extra, *others], [single], row)
        return _Layout([*extra, *others], [single, row])
    return _Layout([*extra, *rest], rows)


def _dots_figure(
    material: Material, frame: pl.DataFrame, prose: MeasureProse, title: str, name: str
) -> Figure:
    layout = _layout(material, frame)
    undrawn = _not_worth_drawing(frame, prose)
    parts = parts_of(material, frame, layout.panels)
    if len(parts) > MOST_PANELS and not undrawn:
        if _is_grid(frame, layout):
            *panels_by, lines = layout.panels
            return overview_figure(material, frame, prose, title, name, (panels_by, lines, layout.rows[0]))
        if layout.most < _ROWS_A_PANEL or "category" in layout.panels:
            first, *rest = [c for c in layout.panels if c != "category"] or layout.panels
            value = ["category"] * ("category" in layout.panels and first != "category")
            layout = replace(layout, panels=[first], rows=[*rest, *value, *layout.rows], most=_TOP_ROWS)
            parts = parts_of(material, frame, layout.panels)
    ends = frame.select("value", "low", "high", "floor").to_dicts()
    domain = domain_of(ends, ranks=prose.scale == "rank")
    names: list[str] = []
    if factor := layout.series:
        levels = frame.filter(pl.col("value").is_not_null())[factor].unique().to_list()
        known = frame[factor].drop_nulls().unique().to_list()
        names = sorted(known, key=lambda v: material.position(factor, v)) + ["–"] * (None in levels)
    drawable = [(heading, part) for heading, part in parts if part["value"].count()]
    made = [(heading, *_dot_rows(material, part, layout, prose)) for heading, part in drawable[:MOST_PANELS]]
    made = [] if undrawn else made
    wrapped = LABEL_SIGNS if any(len(r["label"]) > _WHOLE_LABEL for _, rows, _ in made for r in rows) else 0
    look: dict[str, Any] = {"unit": prose.unit, "domain": domain, "zero_line": domain[0] < 0}
    look |= {"series": names, "wrapped": wrapped}
    panels = [
        Panel(heading, dots(rows, **look), panel_words(title, heading, rows), len(rows))
        for heading, rows, _ in made
    ]
    stacked = any(cramped(rows, wrapped) for _, rows, _ in made)
    rows_cut = sum(left for *_, left in made)
    panels_cut = len(drawable) - len(panels)
    notes = notes_of(frame, 0 if undrawn else panels_cut, rows_cut, dots=bool(panels))
    notes += [undrawn] if undrawn else []
    cut = rows_cut + panels_cut
    more: dict[str, Any] = {
        "notes": notes,
        "reads": prose.reads,
        "cut": cut,
        "stacked": stacked,
        "fits": True,
    }
    return Figure.of(material, frame, prose, title, name, panels, **more)


def _is_grid(frame: pl.DataFrame, layout: _Layout) -> bool:
    """Whether panels × rows can be a table of two factors: one estimate a cell."""
    alone = not layout.series and len(layout.rows) == 1 and layout.panels and "category" not in layout.panels
    return bool(alone) and frame.select(*layout.panels, *layout.rows).n_unique() == frame.height


def _not_worth_drawing(frame: pl.DataFrame, prose: MeasureProse) -> str:
    """Why a figure would show nothing, empty where it shows something."""
    if all_zero(frame):
        return ALL_ZERO
    few = series_of(frame.row(0, named=True)).mean and all(n < _FEW_LEVELS for n in frame["n"].drop_nulls())
    means = "Means over fewer than three are not drawn: their intervals leave the scale. The table has them."
    return prose.undrawn or means * few


def _dot_rows(
    material: Material, part: pl.DataFrame, layout: _Layout, prose: MeasureProse
) -> tuple[list[dict[str, Any]], int]:
    records = list(part.filter(pl.col("value").is_not_null()).iter_rows(named=True))
    series, most = layout.series, layout.most
    if series:
        records.sort(key=lambda r: [material.position(c, r[c]) for c in (*layout.rows, series)])
    elif most < _ROWS_A_PANEL:
        records.sort(key=lambda r: -abs(r["value"]))
    else:
        records.sort(key=lambda r: r["value"], reverse=prose.scale != "rank")
    return dot_rows(material, records[:most], layout.rows, series), max(0, len(records) - most)


def dot_rows(
    material: Material, records: Sequence[Estimate], columns: Sequence[str], series: str | None = None
) -> list[dict[str, Any]]:
    """The rows of a panel: what is drawn of each defined estimate, and a label that no other row has."""
    names = [(r[series] or "–") if series else None for r in records]
    rows = []
    for r, label, name in zip(records, row_labels(records, columns, names), names, strict=True):
        said, q, text, sure = estimate_text(material, r), r["q_value"], "", None
        if q is not None:
            text, sure = f"{said}{_GAP}q {'' if q < _SMALLEST else '= '}{probability(q)}", q <= SIGNIFICANT
        short = estimate_text(material, r, bare=True)
        rows.append(dot_of(r, label, said, short, series=name, text=text, sure=sure))
    return rows
