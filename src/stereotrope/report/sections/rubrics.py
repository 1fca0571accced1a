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
from stereotrope.report.figures import figures_of
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
from stereotrope.report.series import Series
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
    scores = material.scores
    figures = figures_of(material, Series(INDEX)) if scores.filter(measure=INDEX).height else []
    figures += _shares(material, scores.filter(measure=SHARES))
    figures += _together(material, scores.filter(measure=TOGETHER))
    if not figures:
        return []
    first = Block(figures=figures, replaces=frozenset((INDEX, SHARES, TOGETHER)))
    return [first, *_sets(material, shown)]


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
        wanted = (material.row_factor, "mitigation", "generator")
        beside = next((c for c in wanted if c in by and rows[c].n_unique() <= len(PALETTE)), None)
        parts = panels_of(material, rows, [c for c in by if c != beside])
        panels = [_share_panel(material, part, title, beside, rows) for part in parts[:MOST_PANELS]]
        notes = notes_of(rows, max(0, len(parts) - MOST_PANELS), 0)
        at = f"{SHARES}-{name}" if name else SHARES
        figures.append(Figure.of(material, rows, prose, title, at, panels, reads=prose.reads, notes=notes))
    return figures


def _share_panel(
    material: Material, part: tuple[str, pl.DataFrame], title: str, beside: str | None, every: pl.DataFrame
) -> Panel:
    heading, rows = part
    names = [level_words(beside, x) for x in _levels(material, every, beside)] if beside else []
    drawn = [
        dot_of(
            row,
            words(str(row["attribute"])),
            estimate_text(material, row),
            estimate_text(material, row, bare=True),
            series=level_words(beside, row[beside]) if beside else None,
        )
        for row in _in_order(material, rows, beside)
    ]
    spec = dots(drawn, unit="share of sets", series=names, wrapped=LABEL_SIGNS, bars=True)
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
    prose = material.explain(measure, frame["definition"][0])
    drawn = [
        dot_of(
            row,
            ", ".join(
                str(row[c]) for c in ("generator", "annotator", "definition") if row.get(c) is not None
            ),
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
    of = members.join(material.images.select("image_id", "generator"), on="image_id")
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
    draws={name: partial(_controls, measure=name) for name in ("control_difference", "control_share")},
    large=lambda material: [
        image for subject, _ in _examples(material) for image in _members(material, subject)
    ],
)
