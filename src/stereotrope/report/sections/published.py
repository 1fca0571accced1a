"""Two numbers of one thing side by side: ours and a published one, corrected and as labelled."""

from collections.abc import Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

import polars as pl

from stereotrope.report.charts.dots import dots
from stereotrope.report.contract import SCORES, Block, add_section
from stereotrope.report.datatable import TableCell, dot_of, estimate_text, pictures_cell, table_by
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.figures import figures_of
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.numbers import thousands
from stereotrope.report.panels import Figure, Panel, domain_of, panel_words, safe_name, without_neutral
from stereotrope.report.prose import MeasureProse
from stereotrope.report.series import Estimate, Series, series_of

_SCOPE = (
    "generator", "concept", "object", "dimension", "group", "phrasing", "mitigation", "attribute", "category",
    "annotator",
)  # fmt: skip
"""What a published figure can be about; a factor that is null in it is pooled in it."""
_IMPLIED = ("annotator", "dimension")
"""What scores need not have a column of: they are of one annotator, and a group is of one dimension."""
_MOST_PANELS = 40
_MOST_ROWS = 40
_OURS, _THEIRS = "this run", "published"
_PLACES = {_THEIRS: 3}
CORRECTED, RAW = "corrected_share", "raw_share"


_NONE_ALIKE = (
    "are of other conditions than the scores of this run: another model, object or group, or a mean over "
    "them."
)
_NOT_ALIKE = (
    "Scores of two definitions are not set side by side; measure with the same definition to compare."
)
_Row = Mapping[str, Any]


def _published(material: Material, shown: Exhibits) -> list[Block]:
    figures, notes = published_beside(material)
    return [*[Block("text", notes)] * bool(notes), *[Block(figures=figures)] * bool(figures)]


def published_beside(material: Material) -> tuple[list[Figure], list[str]]:
    """Published numbers where this run has the same measure of the same thing by the same definition.

    Returns: Figures of both, and why some published numbers are not shown.
    """
    stored = [row for row in material.info.get("published") or [] if row.get("value") is not None]
    figures: list[Figure] = []
    notes: list[str] = []
    for series in dict.fromkeys(map(series_of, stored)):
        theirs = [row for row in stored if series_of(row) == series]
        ours = series.rows(material.estimates)
        name = material.explain(series).heading
        for definition in dict.fromkeys(row["definition"] for row in theirs):
            rows = [row for row in theirs if row["definition"] == definition]
            same = ours.filter(pl.col("definition") == definition)
            theirs_are = f"{name}: the published figures ({_sources(rows)})"
            if pairs := _pairs(material, rows, same):
                figures.append(_figure(material, series, definition, pairs))
            elif same.height:
                notes.append(f"{theirs_are} {_NONE_ALIKE}")
            elif ours.height:
                used = [f"“{words(d)}”" for d in ours["definition"].drop_nulls().unique().sort()]
                follow = f"follow the definition “{words(definition)}”, this run {' and '.join(used)}"
                notes.append(f"{theirs_are} {follow}. {_NOT_ALIKE}")
    return figures, notes


def _pairs(material: Material, theirs: Sequence[_Row], ours: pl.DataFrame) -> list[tuple[_Row, _Row]]:
    columns = [c for c in _SCOPE if c in ours.columns]
    elsewhere = [c for c in _SCOPE if c not in (*columns, *_IMPLIED)]
    own = list(ours.unique(columns, keep="last", maintain_order=True).iter_rows(named=True))
    found: list[tuple[_Row, _Row]] = []
    for row in theirs:
        if all(row.get(c) is None for c in elsewhere):
            alike = (m for m in own if all(_alike(material, c, row, m[c]) for c in columns))
            found += [(m, row) for m in islice(alike, 1)]
    return found


def _alike(material: Material, column: str, theirs: Mapping[str, Any], ours: Any) -> bool:
    """Equal; what a table need not say (first phrasing, dimension of a group) is no difference."""
    told = theirs.get(column)
    if told is None and column in ("phrasing", "mitigation"):
        return ours is None or ours in material.level_order.get(column, [ours])[:1]
    if told is None and column == "dimension" and theirs.get("group") is not None:
        return True
    return bool(told == ours)


def _sources(rows: Sequence[Estimate]) -> str:
    return "; ".join(dict.fromkeys(str(row.get("source") or "source not given") for row in rows))


def _figure(
    material: Material, series: Series, definition: str | None, pairs: Sequence[tuple[_Row, _Row]]
) -> Figure:
    prose = material.explain(series, definition)
    mine = pl.DataFrame([m for m, _ in pairs], schema=material.estimates.schema)
    varying = material.scope_columns(mine)
    varying += [c for c in ("attribute", "category") if mine[c].n_unique() > 1]
    bare = dict.fromkeys(("low", "high", "n"))
    theirs = [{"value": row["value"], "source": str(row.get("source") or ""), **bare} for _, row in pairs]
    return _beside(
        material,
        prose,
        [{_OURS: m, _THEIRS: row} for (m, _), row in zip(pairs, theirs, strict=True)],
        title=f"{prose.short}: this run beside the published figures",
        name=f"published-{series.name}",
        by=varying,
        rows_by=_rows_by(material, varying),
        n=f"{len(pairs)} published figures of the same conditions",
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


def _beside(
    material: Material,
    prose: MeasureProse,
    pairs: Sequence[Mapping[str, _Row]],
    *,
    title: str,
    name: str,
    by: Sequence[str],
    rows_by: Sequence[str],
    **more: Any,
) -> Figure:
    """Two series side by side, a row of each by its name, and the table of both."""
    series = list(dict.fromkeys(name for pair in pairs for name in pair))
    panels: dict[str, list[dict[str, Any]]] = {}
    cells = []
    first = [(next(iter(pair.values())), pair) for pair in pairs]
    for row, pair in sorted(first, key=lambda one: [material.position(c, one[0][c]) for c in by]):
        heading = " · ".join(str(row[c]) for c in by if c not in rows_by and row[c] is not None)
        label = ", ".join(level_words(c, row[c]) for c in rows_by if row[c] is not None) or "all"
        texts, short = (
            {s: estimate_text(material, r, places=_PLACES.get(s), bare=bare) for s, r in pair.items()}
            for bare in (False, True)
        )
        drawn = [dot_of(r, label, texts[s], short[s], series=s) for s, r in pair.items()]
        panels.setdefault(heading, []).extend(drawn)
        sides = [TableCell(texts.get(s, "–"), s in pair and pair[s]["value"] is not None) for s in series]
        source = [TableCell(pair[_THEIRS]["source"])] if _THEIRS in pair else []
        scope = [TableCell(level_words(c, row[c])) for c in by]
        cells.append([*scope, *sides, row["n"], *source, pictures_cell(material, row)])
    heads = [s if s == _THEIRS else f"{s} [interval]" for s in series]
    columns = [*map(words, by), *heads, "n", *["source"] * (_THEIRS in series), "pictures"]
    places = {column: itemgetter(place) for place, column in enumerate(columns)}
    table = table_by(title, cells, places, f"tables/{prose.name}.csv")
    drawn_panels = _drawn(panels, title, series, prose.unit)
    return Figure(safe_name(name), title, prose, panels=drawn_panels, table=table, **more)


def _drawn(
    panels: Mapping[str, Sequence[dict[str, Any]]], title: str, names: Sequence[str], unit: str
) -> list[Panel]:
    domain = domain_of([row for rows in panels.values() for row in rows])
    drawn = []
    drawable = [(h, rows) for h, rows in panels.items() if any(r["value"] is not None for r in rows)]
    for heading, rows in drawable[:_MOST_PANELS]:
        shown = rows[: 2 * _MOST_ROWS]
        spec = dots(shown, unit=unit, domain=domain, series=names, zero_line=domain[0] < 0)
        height = len(dict.fromkeys(row["label"] for row in shown)) * 2
        drawn.append(Panel(heading, spec, panel_words(title, heading, shown), height))
    return drawn


def corrected_figures(material: Material) -> list[Figure]:
    """Shares corrected for the annotator's errors beside the shares as labelled, one figure an attribute."""
    names = {CORRECTED: "corrected", RAW: "as labelled"}
    both = material.scores.filter(pl.col("measure").is_in(list(names)))
    prose, figures = material.explain(CORRECTED), []
    for attribute in both["attribute"].unique(maintain_order=True):
        frame, _ = without_neutral(both.filter(pl.col("attribute") == attribute))
        scope, values = material.scope_columns(frame), frame["category"].unique()
        several = ["category"] * (len(values) > 1)
        by = [*scope, *several]
        pairs: dict[tuple[Any, ...], dict[str, _Row]] = {}
        for row in sorted(frame.iter_rows(named=True), key=lambda row: row["measure"] != CORRECTED):
            pairs.setdefault(tuple(row[c] for c in by), {})[names[row["measure"]]] = row
        n = [thousands(k) for k in sorted(frame["n"].drop_nulls())]
        figure = _beside(
            material,
            prose,
            list(pairs.values()),
            title=f"{prose.title}: {words(attribute)}{'' if several else f', {values[0]}'}",
            name=f"{CORRECTED}-{attribute}",
            by=by,
            rows_by=[*_rows_by(material, scope), *several],
            n=f"n = {n[0]} to {n[-1]} a row" if n else "n is not given",
            reads=prose.reads,
        )
        figures.append(figure)
    return figures


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
add_section(
    "divergence",
    "How much the pictures change",
    lead="Scores over all attributes, each with its interval and, where it has one, its noise floor.",
    place=SCORES,
)
add_section("other", "Further measures", lead="What else this run measured.", place=100)
