"""The section of rubrics: the index, its items, which of these come together, and sets with what was said."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import polars as pl

from stereotrope.report.charts.dots import LABEL_SIGNS, dots
from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.charts.heat import heat
from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import Table, TableCell, dot_of, estimate_text
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.panels import (
    MOST_PANELS,
    SIGNIFICANT,
    Figure,
    Panel,
    domain_of,
    notes_of,
    panel_words,
)
from stereotrope.report.panels import parts_of as panels_of
from stereotrope.tables import ALL_ATTRIBUTES

INDEX, SHARES, TOGETHER = "ssi", "item_share", "item_correlation"
_OF = "set"
_MOST_SETS = 6
_SHADES = (
    f"Purple: found in the same sets; orange: in different ones. * q ≤ {SIGNIFICANT}. Grey: one of both was "
    "found in no set, or in all."
)


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    """The index, the items, sets with what was said; figures of how far the judge holds stand behind."""
    figures = _index(material, _pooled(material, INDEX))
    figures += _shares(material, _pooled(material, SHARES))
    figures += _together(material, _pooled(material, TOGETHER))
    if not figures:
        return []
    first = Block(figures=figures, replaces=frozenset((INDEX, SHARES, TOGETHER)))
    return [first, *_sets(material, shown)]


def _pooled(material: Material, measure: str) -> pl.DataFrame:
    """Scores of a measure; of one that was asked for by more factors too, those over all levels of these."""
    frame = material.scores.filter(measure=measure)
    named = [c for c in material.factors if c in frame.columns]
    finer = [c for c in named if 0 < frame[c].null_count() < frame.height]
    return frame.filter(pl.all_horizontal(pl.col(finer).is_null())) if finer else frame


def _index(material: Material, frame: pl.DataFrame) -> list[Figure]:
    """A panel a model: the index of each family, conditions beside each other; the table has all rows."""
    if frame.is_empty():
        return []
    prose, by = material.explain(INDEX, frame["definition"][0]), material.scope_columns(frame)
    beside = _beside(
        material, frame, [c for c in by if c != "generator"] if len(by) > 1 else by, prefer=False
    )
    parts = panels_of(material, frame, [c for c in by if c == "generator" and c != beside])
    lines = [c for c in by if c not in ("generator", beside)]
    panels = []
    for heading, rows in parts[:MOST_PANELS]:
        records = sorted(rows.to_dicts(), key=lambda r: [material.position(c, r[c]) for c in by])
        said = [", ".join(level_words(c, r[c]) for c in lines) or "all sets" for r in records]
        panels.append(
            _panel(material, heading, list(zip(said, records, strict=True)), prose.title, beside, frame)
        )
    notes = notes_of(frame, max(0, len(parts) - MOST_PANELS), 0)
    return [Figure.of(material, frame, prose, prose.title, INDEX, panels, reads=prose.reads, notes=notes)]


def _beside(material: Material, frame: pl.DataFrame, by: Sequence[str], *, prefer: bool = True) -> str | None:
    """The factor whose levels are set beside each other: that of conditions, else where wanted the model."""
    wanted = [material.row_factor, "mitigation", *(["generator"] * prefer)]
    return next(
        (c for c in wanted if c is not None and c in by and frame[c].n_unique() <= len(PALETTE)), None
    )


def _headline(material: Material) -> tuple[list[str], list[dict[str, Any]]]:
    """The index for the first screen: a row a family and model."""
    frame = _pooled(material, INDEX)
    if frame.is_empty():
        return [], []
    by = material.scope_columns(frame)
    records = sorted(frame.to_dicts(), key=lambda r: [material.position(c, r[c]) for c in by])
    table = {
        "title": "SSI: share of the rubric's items that sets of pictures reinforce, as a judge says",
        "columns": [*(words(c) for c in by), "value [interval]", "n"],
        "rows": [[*(str(r[c] or "–") for c in by), estimate_text(material, r), str(r["n"])] for r in records],
        "estimates": records,
        "replaces": [INDEX],
    }
    return [], [table]


def _families(material: Material, frame: pl.DataFrame) -> Iterator[tuple[str, list[str], pl.DataFrame]]:
    """Parts of which each has items of its own: what it is, the columns that vary in it, and its rows."""
    by = material.scope_columns(frame)
    items = frame.group_by("attribute").agg(pl.col(by).n_unique())
    levels = {c: frame[c].n_unique() for c in by}
    family = next((c for c in by if levels[c] > 1 and (items[c] == 1).all()), None)
    if family is None:
        yield "", by, frame
        return
    for level in _levels(material, frame, family):
        yield (
            level_words(family, level),
            [c for c in by if c != family],
            frame.filter(pl.col(family) == level),
        )


def _shares(material: Material, frame: pl.DataFrame) -> list[Figure]:
    """A figure a family, a panel a model: how often each item is found, conditions beside each other."""
    figures = []
    for name, by, rows in _families(material, frame) if frame.height else ():
        prose = material.explain(SHARES, rows["definition"][0])
        title = f"{prose.title}: {name}" if name else prose.title
        beside = _beside(material, rows, by)
        parts = panels_of(material, rows, [c for c in by if c != beside])
        panels = [_share_panel(material, part, title, beside, rows) for part in parts[:MOST_PANELS]]
        notes = notes_of(rows, max(0, len(parts) - MOST_PANELS), 0)
        at = f"{SHARES}-{name}" if name else SHARES
        figures.append(Figure.of(material, rows, prose, title, at, panels, reads=prose.reads, notes=notes))
    return figures


def _share_panel(
    material: Material, part: tuple[str, pl.DataFrame], title: str, beside: str | None, every: pl.DataFrame
) -> Panel:
    records = _in_order(material, part[1], beside)
    rows = [(words(str(row["attribute"])), row) for row in records]
    return _panel(material, part[0], rows, title, beside, every, "share of sets")


def _panel(
    material: Material,
    heading: str,
    rows: Sequence[tuple[str, dict[str, Any]]],
    title: str,
    beside: str | None,
    every: pl.DataFrame,
    unit: str = "share of items",
) -> Panel:
    """Dots of rows with their labels, levels of a factor beside each other."""
    names = [level_words(beside, x) for x in _levels(material, every, beside)] if beside else []
    drawn = [
        dot_of(
            row,
            label,
            estimate_text(material, row),
            estimate_text(material, row, bare=True),
            series=level_words(beside, row[beside]) if beside else None,
        )
        for label, row in rows
    ]
    spec = dots(drawn, unit=unit, series=names, wrapped=LABEL_SIGNS, bars=True)
    return Panel(heading, spec, panel_words(title, heading, drawn), len(drawn))


def _together(material: Material, frame: pl.DataFrame) -> list[Figure]:
    """A figure a family, a panel a model: r of every two items, grey where there is none."""
    figures = []
    for name, by, rows in _families(material, frame) if frame.height else ():
        prose = material.explain(TOGETHER, rows["definition"][0])
        title = f"{prose.title}: {name}" if name else prose.title
        parts, panels = panels_of(material, rows, by), []
        items = sorted({*rows["attribute"], *rows["category"]}, key=_in_numbers)
        heads, lines = _heads(items), [words(item) for item in items[1:]]
        for heading, part in parts[:MOST_PANELS]:
            cells = [_cell(material, row, heads) for row in part.iter_rows(named=True)]
            columns = [heads[item] for item in items[:-1]]
            spec = heat(cells, columns=columns, lines=lines, signed=True, top=1.0, grey=True)
            panels.append(Panel(heading, spec, panel_words(title, heading, cells), len(lines)))
        notes = notes_of(rows, max(0, len(parts) - MOST_PANELS), 0, dots=False)
        at = f"{TOGETHER}-{name}" if name else TOGETHER
        more: dict[str, Any] = {"reads": f"{prose.reads} {_SHADES}", "notes": notes, "stacked": True}
        figures.append(Figure.of(material, rows, prose, title, at, panels, **more))
    return figures


def _controls(material: Material, measure: str) -> list[Figure]:
    """Judges beside their controls, over all items; the table has each item."""
    frame = material.scores.filter(measure=measure)
    over = frame.filter(pl.col("attribute") == ALL_ATTRIBUTES)
    by = material.scope_columns(over) or ["annotator"]
    prose = material.explain(measure, frame["definition"][0])
    drawn = [
        dot_of(
            row,
            ", ".join([*(level_words(c, row[c]) for c in by), str(row["definition"])]),
            estimate_text(material, row),
            estimate_text(material, row, bare=True),
        )
        for row in over.iter_rows(named=True)
    ]
    signed = measure == "control_difference"
    spec = dots(drawn, unit=prose.unit, domain=domain_of(drawn), wrapped=LABEL_SIGNS, zero_line=signed)
    panel = Panel("", spec, panel_words(prose.title, "", drawn), len(drawn))
    notes = notes_of(frame, 0, 0)
    return [Figure.of(material, frame, prose, prose.title, measure, [panel], reads=prose.reads, notes=notes)]


def _cell(material: Material, row: dict[str, Any], heads: dict[str, str]) -> dict[str, Any]:
    one, other = sorted((str(row["attribute"]), str(row["category"])), key=_in_numbers)
    star = "*" if row["q_value"] is not None and row["q_value"] <= SIGNIFICANT else ""
    said = "" if row["value"] is None else f"{row['value']:.2f}{star}".replace("-", "−")
    tip = f"{words(one)}, {words(other)}: {estimate_text(material, row)}, n = {row['n']}"
    return {"line": words(other), "column": heads[one], "value": row["value"], "text": said, "tip": tip}


def _heads(items: Sequence[str]) -> dict[str, str]:
    """Heads of columns: what stands in a name before the first underscore, where that differs."""
    short = [item.partition("_")[0] for item in items]
    return dict(zip(items, short if len(set(short)) == len(items) else map(words, items), strict=True))


def _in_numbers(name: str) -> list[tuple[int, str]]:
    """Sort key by which Q2 stands before Q10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _levels(material: Material, frame: pl.DataFrame, factor: str) -> list[Any]:
    found = frame[factor].unique().to_list()
    return sorted(found, key=lambda level: material.position(factor, level))


def _in_order(material: Material, rows: pl.DataFrame, beside: str | None) -> list[dict[str, Any]]:
    """Rows by item, then by level."""
    place = (lambda row: ()) if beside is None else (lambda row: material.position(beside, row[beside]))
    return sorted(rows.to_dicts(), key=lambda row: (_in_numbers(str(row["attribute"])), place(row)))


def _examples(material: Material) -> Iterator[tuple[str, pl.DataFrame]]:
    """Of each family of items, by the model in turns, the set of which most was found: title and labels."""
    found = material.estimates.filter(pl.col("measure") == INDEX)
    columns = [c for c in ("annotator", "instrument") if c in found.columns]
    judges = {name for column in columns for name in found[column].drop_nulls()}
    own = pl.col("annotator").is_in(list(judges)) & pl.col("rationale").is_not_null()
    labels = material.run.labels.filter(own, subject_kind=_OF)
    members = material.run.subjects.filter(subject_kind=_OF, position=0)
    of = members.join(material.images.select("image_id", "generator").collect(), on="image_id")
    each = labels.group_by("subject_id", "annotator", maintain_order=True).agg(
        yes=(pl.col("value") == "yes").mean(), items=pl.col("attribute").sort().str.join(" ")
    )
    ranked = each.join(of, on="subject_id", maintain_order="left").sort(
        "yes", descending=True, maintain_order=True
    )
    kept = ranked.unique(["items", "generator"], keep="first", maintain_order=True).head(_MOST_SETS)
    for subject, annotator in (
        kept.sort("items", maintain_order=True).select("subject_id", "annotator").iter_rows()
    ):
        yield subject, labels.filter(subject_id=subject, annotator=annotator)


def _members(material: Material, subject: str) -> list[str]:
    rows = material.run.subjects.filter(subject_kind=_OF, subject_id=subject).sort("position")
    return rows["image_id"].to_list()


def _sets(material: Material, shown: Exhibits) -> list[Block]:
    """Sets of pictures with what a judge said of each item, as text that is only shown."""
    blocks = []
    for subject, labels in _examples(material):
        images = _members(material, subject)
        uris = [(image, uri) for image in images if (uri := shown.thumbs.best(image))]
        sheet = material.sheet_of.get(images[0])
        if not uris or sheet is None:
            continue
        yes = labels.filter(value="yes").height
        group = {
            "anchor": sheet.anchor,
            "title": f"{sheet.generator}: {sheet.title}",
            "images": [{"uri": uri, "alt": shown.alt(image)} for image, uri in uris],
            "more": f"{labels['annotator'][0]} found {yes} of {labels.height} items; "
            "images are numbered from the left",
        }
        said = labels.select("attribute", "value", "status", "rationale").rows()
        cells = [
            [TableCell(words(item)), TableCell(value or status), TableCell(why or "")]
            for item, value, status, why in sorted(said, key=lambda row: _in_numbers(row[0]))
        ]
        told = Table("What it said, in its own words", ["item", "answer", "reasoning"], cells, len(cells))
        blocks += [Block("pictures", [group]), Block("table", told)]
    lead = (
        "Of each family and model the set of which most was found, with what the judge said: a model's "
        "words, kept as they came."
    )
    return [Block("text", [lead]), *blocks] if blocks else []


add_section(
    "rubrics",
    "What the sets of pictures reinforce",
    lead="A judge was asked the items of a rubric about each set of pictures. What it finds is its own "
    "reading: its flip rates, controls and agreement with people say how far it holds.",
    place=47,
    make=_blocks,
    headline=_headline,
    draws={name: partial(_controls, measure=name) for name in ("control_difference", "control_share")},
    large=lambda material: [
        image for subject, _ in _examples(material) for image in _members(material, subject)
    ],
)
