"""Two numbers of one thing side by side: ours and a published one, corrected and as labelled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from stereotrope.report.charts.dots import dots
from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import Table, TableCell, dot_of, estimate_text, shown_rows
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.figures import figures_of
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import number, thousands
from stereotrope.report.panels import NEUTRAL, Figure, Panel, domain_of, panel_words, safe_name
from stereotrope.report.series import Series, series_of
from stereotrope.tables import ESTIMATES

_FIXED = {column.name for column in ESTIMATES}
_SCOPE = (
    "generator",
    "object",
    "dimension",
    "group",
    "phrasing",
    "mitigation",
    "attribute",
    "category",
    "annotator",
)
"""What a published figure can be about; a factor that is null in it is pooled in it."""
_IMPLIED = ("annotator", "dimension")
"""What scores need not have a column of: they are of one annotator, and a group is of one dimension."""
_MOST_PANELS = 40
_MOST_ROWS = 40
CORRECTED, RAW = "corrected_share", "raw_share"


@dataclass(frozen=True)
class PublishedComparison:
    """The figures of published numbers beside the run's, and why some are not shown."""

    figures: Sequence[Figure] = field(default=())
    notes: Sequence[str] = field(default=())


def _published(material: Material, shown: Exhibits) -> list[Block]:
    beside = published_beside(material)
    notes = [Block("text", beside.notes)] * bool(beside.notes)
    return [*notes, *([Block(figures=beside.figures)] if beside.figures else [])]


def published_beside(material: Material) -> PublishedComparison:
    """Published numbers where this run has the same measure of the same thing by the same definition."""
    stored = [row for row in material.info.get("published") or [] if row.get("value") is not None]
    figures, notes = [], []
    for series in dict.fromkeys(map(series_of, stored)):
        theirs = [row for row in stored if series_of(row) == series]
        ours = series.rows(material.estimates)
        name = material.explain(series).heading
        for definition in dict.fromkeys(row["definition"] for row in theirs):
            rows = [row for row in theirs if row["definition"] == definition]
            same = ours.filter(pl.col("definition") == definition)
            if same.height:
                pairs = _pairs(material, rows, same)
                if pairs:
                    figures.append(_figure(material, series, definition, pairs))
                else:
                    notes.append(f"{name}: {_none_alike(rows)}")
            elif ours.height:
                used = ours["definition"].drop_nulls().unique().sort().to_list()
                notes.append(f"{name}: {_other_definition(rows, used)}")
    return PublishedComparison(figures, notes)


def _pairs(
    material: Material, theirs: Sequence[Mapping[str, Any]], ours: pl.DataFrame
) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    columns = [c for c in _SCOPE if c in ours.columns]
    own = {tuple(row[c] for c in columns): row for row in ours.iter_rows(named=True)}
    elsewhere = [c for c in _SCOPE if c not in (*columns, *_IMPLIED)]
    found: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    for row in theirs:
        if any(row.get(c) is not None for c in elsewhere):
            continue
        for key, mine in own.items():
            if all(_alike(material, c, row, level) for c, level in zip(columns, key, strict=True)):
                found.append((mine, row))
                break
    return found


def _alike(material: Material, column: str, theirs: Mapping[str, Any], ours: Any) -> bool:
    """Equal; what a table need not say (first phrasing, dimension of a group) is no difference."""
    told = theirs.get(column)
    if told is None and column in ("phrasing", "mitigation"):
        return ours is None or ours in material.level_order.get(column, [ours])[:1]
    if told is None and column == "dimension" and theirs.get("group") is not None:
        return True
    return bool(told == ours)


def _other_definition(rows: Sequence[Mapping[str, Any]], ours: Sequence[str]) -> str:
    used = " and ".join(f"“{words(name)}”" for name in ours)
    return (
        f"the published figures ({_sources(rows)}) follow the definition "
        f"“{words(str(rows[0]['definition']))}”, this run {used}. Scores of two definitions are not "
        "set side by side; measure with the same definition to compare."
    )


def _none_alike(rows: Sequence[Mapping[str, Any]]) -> str:
    return (
        f"the published figures ({_sources(rows)}) are of other conditions than the "
        "scores of this run: another model, object or group, or a mean over them."
    )


def _sources(rows: Sequence[Mapping[str, Any]]) -> str:
    return "; ".join(dict.fromkeys(str(row.get("source") or "source not given") for row in rows))


def _figure(
    material: Material,
    series: Series,
    definition: str | None,
    pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
) -> Figure:
    prose = material.explain(series, definition)
    title = f"{prose.short}: this run beside the published figures"
    mine = pl.DataFrame([m for m, _ in pairs], schema=material.estimates.schema)
    varying = material.scope_columns(mine)
    varying += [c for c in ("attribute", "category") if mine[c].n_unique() > 1]
    rows_by = _rows_by(material, varying)
    names = ("this run", "published")
    panels: dict[str, list[dict[str, Any]]] = {}
    cells = []
    for m, row in sorted(pairs, key=lambda p: [material.position(c, p[0][c]) for c in varying]):
        heading = " · ".join(str(m[c]) for c in varying if c not in rows_by and m[c] is not None)
        label = ", ".join(_said(c, m[c]) for c in rows_by if m[c] is not None) or "all"
        their = number(row["value"], places=3)
        panels.setdefault(heading, []).extend(
            [
                dot_of(m, label, estimate_text(material, m), series=names[0]),
                dot_of({"value": row["value"]}, label, their, series=names[1]),
            ]
        )
        sheet = material.find_sheet(m)
        cells.append(
            [
                *(TableCell(_said(c, m[c])) for c in varying),
                TableCell(estimate_text(material, m), numeric=m["value"] is not None),
                TableCell(their, numeric=True),
                TableCell("" if m["n"] is None else thousands(m["n"]), numeric=True),
                TableCell(str(row.get("source") or "")),
                TableCell("see", href=f"#{sheet.anchor}") if sheet else TableCell(""),
            ]
        )
    columns = [*(words(c) for c in varying), "this run [interval]", "published", "n", "source", "pictures"]
    return Figure(
        name=safe_name(f"published-{series.name}"),
        title=title,
        prose=prose,
        n=f"{len(pairs)} published figures of the same conditions",
        panels=_drawn(panels, title, names, prose.unit),
        table=Table(title, columns, cells[: shown_rows(len(cells))], len(cells), f"tables/{prose.name}.csv"),
        notes=[
            f"Published: {_sources([row for _, row in pairs])}. A published figure has no interval. Other "
            "pictures, another version of the model, other attributes and another annotator all lie between "
            "the two; a difference is no error of either."
        ],
        reads="The wider the interval of this run, the less a distance from the published figure says.",
    )


def _rows_by(material: Material, varying: Sequence[str]) -> list[str]:
    """Columns that make the rows of a panel: the contrast, or else what varies last."""
    if material.row_factor in varying:
        return [str(material.row_factor)]
    return [c for c in varying if c != "generator"][-1:] or list(varying[-1:])


def _said(column: str, level: Any) -> str:
    if level is None:
        return "–"
    return words(str(level)) if column == "attribute" else str(level)


def _drawn(
    panels: Mapping[str, Sequence[dict[str, Any]]], title: str, names: Sequence[str], unit: str
) -> list[Panel]:
    domain = domain_of([row for rows in panels.values() for row in rows])
    drawn = []
    drawable = [(h, rows) for h, rows in panels.items() if any(r["value"] is not None for r in rows)]
    for heading, rows in drawable[:_MOST_PANELS]:
        shown = list(rows)[: 2 * _MOST_ROWS]
        spec = dots(shown, unit=unit, domain=domain, series=names, zero_line=domain[0] < 0)
        height = len(dict.fromkeys(row["label"] for row in shown)) * 2
        drawn.append(Panel(heading, spec, panel_words(title, heading, shown), height))
    return drawn


def corrected_figures(material: Material) -> list[Figure]:
    """Shares corrected for the annotator's errors beside the shares as labelled, one figure an attribute."""
    both = material.scores.filter(pl.col("measure").is_in([CORRECTED, RAW]))
    figures = []
    prose = material.explain(CORRECTED)
    for attribute in both["attribute"].unique(maintain_order=True).to_list():
        frame = both.filter(pl.col("attribute") == attribute)
        values = frame["category"].drop_nulls().unique().to_list()
        told = [value for value in values if value not in NEUTRAL]
        if len(values) == 2 and len(told) == 1:
            frame = frame.filter(pl.col("category") == told[0])
        figures.append(_corrected(material, frame, f"{prose.title}: {words(str(attribute))}", str(attribute)))
    return figures


def _corrected(material: Material, frame: pl.DataFrame, title: str, attribute: str) -> Figure:
    prose = material.explain(CORRECTED)
    names = ("corrected", "as labelled")
    scope = material.scope_columns(frame)
    rows_by = [str(material.row_factor)] if material.row_factor in scope else scope[-1:]
    several = frame["category"].n_unique() > 1
    title += "" if several else f", {frame['category'][0]}"
    rows_by += ["category"] * several
    panels: dict[str, list[dict[str, Any]]] = {}
    cells: dict[tuple[Any, ...], dict[str, Any]] = {}
    order = [*scope, *["category"] * several]
    for row in sorted(frame.iter_rows(named=True), key=lambda r: [material.position(c, r[c]) for c in order]):
        cells.setdefault(tuple(row[c] for c in order), {})[row["measure"]] = row
    table = []
    for key, pair in cells.items():
        one = pair.get(CORRECTED) or pair[RAW]
        heading = " · ".join(str(one[c]) for c in scope if c not in rows_by and one[c] is not None)
        label = ", ".join(str(one[c]) for c in rows_by if one.get(c) is not None)
        drawn = panels.setdefault(heading, [])
        drawn += [
            dot_of(pair[m], label, estimate_text(material, pair[m]), series=name)
            for m, name in zip((CORRECTED, RAW), names, strict=True)
            if m in pair
        ]
        sheet = material.find_sheet(one)
        texts = [
            TableCell(estimate_text(material, pair[m]), numeric=pair[m]["value"] is not None)
            if m in pair
            else TableCell("–")
            for m in (CORRECTED, RAW)
        ]
        table.append(
            [
                *(TableCell(str(k) if k is not None else "–") for k in key),
                *texts,
                TableCell("" if one["n"] is None else thousands(one["n"]), numeric=True),
                TableCell("see", href=f"#{sheet.anchor}") if sheet else TableCell(""),
            ]
        )
    columns = [*(words(c) for c in order), "corrected [interval]", "as labelled [interval]", "n", "pictures"]
    n = [int(x) for x in frame["n"].drop_nulls().to_list()]
    size = f"n = {thousands(min(n))} to {thousands(max(n))} a row" if n else "n is not given"
    return Figure(
        name=safe_name(f"{CORRECTED}-{attribute}"),
        title=title,
        prose=prose,
        n=size,
        panels=_drawn(panels, title, names, prose.unit),
        table=Table(title, columns, table[: shown_rows(len(table))], len(table), f"tables/{CORRECTED}.csv"),
        notes=[],
        reads=prose.reads,
    )


def _as_labelled(material: Material) -> list[Figure]:
    """Shares as labelled, where none are corrected: else they stand beside these."""
    return [] if (material.scores["measure"] == CORRECTED).any() else figures_of(material, Series(RAW))


add_section(
    "shares",
    "Shares and their differences",
    lead="How often a value is seen, and how much that changes between conditions.",
    place=60,
    draws={CORRECTED: corrected_figures, RAW: _as_labelled},
)
add_section(
    "published",
    "Beside published figures",
    lead="Figures that others published, where this run has the same measure of the same thing by the same "
    "definition.",
    place=110,
    make=_published,
)
