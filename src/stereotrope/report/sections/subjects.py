"""Regions and sets with their labels: example pictures with their boxes, and sets side by side."""

import json
from collections.abc import Iterator
from typing import Any

import polars as pl

from stereotrope.report.contract import Block, add_section
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, thousands

_SHOWN = {
    "region": ("image_id", 6, "picture with its regions", "pictures with their regions"),
    "set": ("subject_id", 4, "set", "sets"),
}
"""Of each kind what is one example, how many there are of an annotator at most, and their names."""
_MOST_BOXES, _MOST_PICTURES = 12, 8
_DIGITS = 0.07
"""Height of a box's number, as a share of the picture's longer side."""


def _examples(material: Material) -> Iterator[tuple[str, str, int, list[pl.DataFrame]]]:
    """Kind, annotator, number of all, and labels of some: one of every condition before any has two."""
    turns = {row["image_id"]: turn for s in material.sheets for turn, row in enumerate(s.images)}
    members = material.run.subjects.select("subject_id", "image_id", "position", box="region")
    labels = material.run.labels.filter(pl.col("subject_kind").is_in(list(_SHOWN)))
    known = labels.join(members.filter(pl.col("image_id").is_in(list(turns))), on="subject_id")
    turn = pl.col("image_id").replace_strict(turns, return_dtype=pl.Int64)
    ordered = known.sort("position").sort(turn.first().over("subject_id"), maintain_order=True)
    for (kind, annotator), frame in ordered.group_by("subject_kind", "annotator", maintain_order=True):
        one, most, *_ = _SHOWN[str(kind)]
        parts = frame.partition_by(one, maintain_order=True)
        yield str(kind), str(annotator), len(parts), parts[:most]


def _images(part: pl.DataFrame) -> list[str]:
    return part["image_id"].unique(maintain_order=True).to_list()[:_MOST_PICTURES]


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    blocks = []
    for kind, annotator, total, parts in _examples(material):
        made = [_boxed(shown, part) if kind == "region" else _set(shown, part) for part in parts]
        drawn = [one for one in made if one]
        some = f"{thousands(len(drawn))} of " * (len(drawn) < total)
        blocks.append(Block("text", [f"{annotator}: {some}{count(total, *_SHOWN[kind][2:])}."]))
        blocks.append(Block("regions" if kind == "region" else "pictures", drawn))
    return blocks


def _said(labels: pl.DataFrame) -> str:
    told = labels.unique(["attribute", "value", "status"], maintain_order=True)
    given = told.select("attribute", pl.coalesce("value", "status")).iter_rows()
    return "; ".join(f"{words(attribute)}: {words(value)}" for attribute, value in given)


def _boxed(shown: Exhibits, labels: pl.DataFrame) -> dict[str, Any] | None:
    """A picture with its boxes, numbered, and what was said of each."""
    (image,) = _images(labels)
    row, uri = shown.material.image_rows[image], shown.thumbs.best(image)
    if uri is None or not row["width"] or not row["height"]:
        return None
    parts = labels.partition_by("subject_id", maintain_order=True)
    left = len(parts) - _MOST_BOXES
    sheet = shown.material.sheet_of[image]
    return {
        "uri": uri,
        "alt": f"{shown.alt(image)}. {count(len(parts), 'region')}",
        "width": row["width"],
        "height": row["height"],
        "size": round(_DIGITS * max(row["width"], row["height"]), 1),
        "boxes": [(json.loads(p["box"][0]), _said(p)) for p in parts[:_MOST_BOXES]],
        "more": f"{left} more in the run's table of labels" if left > 0 else "",
        "anchor": sheet.anchor,
        "title": f"{sheet.generator}: {sheet.title}",
    }


def _set(shown: Exhibits, labels: pl.DataFrame) -> dict[str, Any] | None:
    """The pictures of a set in their order, and what was said of it."""
    uris = [(image, uri) for image in _images(labels) if (uri := shown.thumbs.best(image))]
    total = labels["image_id"].n_unique()
    left = f" ({len(uris)} of {total} pictures)" if len(uris) < total else ""
    sheet = shown.material.sheet_of[labels["image_id"][0]]
    if not uris:
        return None
    return {
        "anchor": sheet.anchor,
        "title": f"{sheet.generator}: {sheet.title}",
        "images": [{"uri": uri, "alt": shown.alt(image)} for image, uri in uris],
        "more": f"{_said(labels)}{left}",
    }


add_section(
    "subjects",
    "Regions and sets",
    lead="What was said of parts of pictures, each box with its number, and of pictures set side by side.",
    place=85,
    make=_blocks,
    large=lambda material: [i for *_, parts in _examples(material) for part in parts for i in _images(part)],
)
