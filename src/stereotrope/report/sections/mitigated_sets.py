"""Sets of pictures of one query without and with a mitigation, side by side with what a judge said."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stereotrope.escape import ellipsis, visible
from stereotrope.report.contract import Block
from stereotrope.report.datatable import Table, TableCell
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.sheets import Sheet
from stereotrope.tables import MITIGATION

_OVER, _ORIGINAL, _SET, _YES = MITIGATION, "none", "set", "yes"
_OF_EACH = 2
"""Queries of each mitigation."""
_MOST = 6
_WITHOUT = "without"
_LONGEST_PROMPT = 300


@dataclass(frozen=True)
class JudgedSet:
    """A set of pictures, and what one judge said of each item."""

    images: Sequence[str]
    said: Mapping[str, tuple[str, str]]

    @property
    def found(self) -> int:
        """How many items it reinforces."""
        return sum(value == _YES for value, _ in self.said.values())


@dataclass(frozen=True)
class SetPair:
    """The sets of one query and model without and with a mitigation."""

    level: str
    judge: str
    sides: tuple[JudgedSet, JudgedSet]

    @property
    def fall(self) -> int:
        """Items that are no longer found."""
        return self.sides[0].found - self.sides[1].found


def pairs_of_sets(material: Material) -> list[SetPair]:
    """Of each mitigation the query whose items fell most, and the one whose items fell least."""
    if _OVER not in material.factors or material.counted:
        return []
    sets = _judged(material)
    if sets.is_empty():
        return []
    shared = ["annotator", "generator", *(f for f in material.factors if f != _OVER)]
    first = sets.filter(pl.col(_OVER) == _ORIGINAL).unique(shared, keep="first", maintain_order=True)
    rest = sets.filter(pl.col(_OVER) != _ORIGINAL).unique([*shared, _OVER], keep="first", maintain_order=True)
    both = rest.join(first, on=shared, suffix="_first", nulls_equal=True, maintain_order="left")
    judges = both["annotator"].unique(maintain_order=True).to_list()
    pairs: dict[str, list[SetPair]] = {}
    for row in both.filter(pl.col("annotator") == judges[0]).iter_rows(named=True) if judges else ():
        sides = _side(material, row, "_first"), _side(material, row, "")
        pairs.setdefault(row[_OVER], []).append(SetPair(row[_OVER], row["annotator"], sides))
    levels = sorted(pairs, key=lambda level: material.position(_OVER, level))
    chosen = [_chosen(pairs[level]) for level in levels]
    return [pair for turn in chosen for pair in turn][:_MOST]


def _chosen(pairs: Sequence[SetPair]) -> list[SetPair]:
    ordered = sorted(pairs, key=lambda pair: -pair.fall)
    return [*ordered[: _OF_EACH - 1], *ordered[-1:]] if len(ordered) > 1 else ordered


def _judged(material: Material) -> pl.DataFrame:
    """A row a set and judge: model, factors, and the labels that say yes or no, in the order of the run."""
    labels = material.run.labels.filter(pl.col("value").is_in([_YES, "no"]), subject_kind=_SET)
    if labels.is_empty():
        return labels
    members = (
        material.run.subjects.filter(subject_kind=_SET).sort("position").unique("subject_id", keep="first")
    )
    factors = ["generator", *material.factors]
    of = members.select("subject_id", "image_id").join(
        material.images.select("image_id", *factors).collect(), on="image_id"
    )
    sets = labels.select("subject_id", "annotator").unique(maintain_order=True)
    return sets.join(of, on="subject_id", maintain_order="left")


def _side(material: Material, row: Mapping[str, Any], suffix: str) -> JudgedSet:
    subject = row[f"subject_id{suffix}"]
    members = material.run.subjects.filter(subject_kind=_SET, subject_id=subject).sort("position")
    labels = material.run.labels.filter(subject_kind=_SET, subject_id=subject, annotator=row["annotator"])
    told = labels.select("attribute", pl.coalesce("value", "status"), pl.col("rationale").fill_null(""))
    return JudgedSet(members["image_id"].to_list(), {a: (value, why) for a, value, why in told.iter_rows()})


def set_blocks(material: Material, shown: Exhibits) -> list[Block]:
    """Pictures side by side, and beneath them every item that either set was found to reinforce."""
    blocks: list[Block] = []
    for pair in pairs_of_sets(material):
        groups = [
            group
            for side, name in zip(pair.sides, (_WITHOUT, f"with {pair.level}"), strict=True)
            if (group := _group(material, shown, side, name, pair.judge))
        ]
        if len(groups) == len(pair.sides):
            blocks += [Block("pictures", groups), Block("table", _said(pair))]
    if not blocks:
        return []
    lead = (
        "The same query without and with each mitigation: where most items are no longer found, and where "
        "fewest are, with the judge's own words. A judge's reading is no fact of the pictures."
    )
    return [Block("text", [lead]), *blocks]


def _group(
    material: Material, shown: Exhibits, side: JudgedSet, name: str, judge: str
) -> dict[str, Any] | None:
    sheet = material.sheet_of.get(side.images[0]) if side.images else None
    uris = [(image, uri) for image in side.images if (uri := shown.thumbs.best(image))]
    if sheet is None or not uris:
        return None
    return {
        "anchor": sheet.anchor,
        "title": f"{sheet.generator}: {sheet.title}",
        "images": [{"uri": uri, "alt": shown.alt(image)} for image, uri in uris],
        "more": f"{name}: {judge} found {side.found} of {len(side.said)} items{_sent(sheet, name)}",
    }


def _sent(sheet: Sheet, name: str) -> str:
    """What was sent in the place of the query, where pictures of one prompt are shown."""
    if name == _WITHOUT or len(sheet.texts) != 1:
        return ""
    return f"; drawn for “{ellipsis(visible(sheet.texts[0]), _LONGEST_PROMPT)}”"


def _said(pair: SetPair) -> Table:
    first, second = (side.said for side in pair.sides)
    items = [a for a in {**first, **second} if _YES in (first.get(a, ("",))[0], second.get(a, ("",))[0])]
    cells = [
        [
            TableCell(words(item)),
            *(TableCell(text) for said in (first, second) for text in said.get(item, ("", ""))),
        ]
        for item in items
    ]
    heads = ["item", "without", "reasoning", f"with {pair.level}", "its reasoning"]
    return Table("Items found in either set, in the judge's words", heads, cells, len(cells))
