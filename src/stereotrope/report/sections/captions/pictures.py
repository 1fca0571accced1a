"""Which pictures stand for a score of captions, and which group their captions name most."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import polars as pl

from stereotrope.report.material import Material, words
from stereotrope.report.numbers import number
from stereotrope.report.prose import listing
from stereotrope.tables import CAPTION

MOST_PICTURES = 3
"""Pictures that stand for one prompt of one model."""
UNKNOWN = "unknown"
"""The group of captions that name none of an attribute's groups."""
_SHARES = "representation_parity"
_MOST_CAPTION = 220


class Chooser:
    """Chooses pictures by a rule that knows nothing of how they look.

    Pictures are the first of their condition, in the order of the run, whose caption has the most frequent
    value of the attribute that the score is of. That value may be ``unknown``: where most captions name no
    group, pictures of the few that do would show what is rare.
    """

    def __init__(self, material: Material) -> None:
        self.material = material
        self._values: dict[tuple[str, str | None], Mapping[str, str]] = {}

    def pictures(self, row: Mapping[str, Any]) -> list[str]:
        """The images that stand for an estimate; the first of its condition where no group is counted."""
        sheet = self.material.find_sheet(row)
        if sheet is None:
            return []
        usable = [i["image_id"] for i in sheet.images if i["status"] == "ok"]
        most = _most(self._shares_of(row))
        if most and row["attribute"]:
            values = self._values_of(row["attribute"], row.get("annotator"))
            having = [image for image in usable if values.get(image) == most[0][0]]
            usable = having or usable
        return usable[:MOST_PICTURES]

    def named(self, row: Mapping[str, Any]) -> str:
        """The group most named with its share, and how many captions name none where these are more."""
        shares = self._shares_of(row)
        if not shares:
            return ""
        attribute = words(str(row["attribute"]))
        groups = _most([(group, share) for group, share in shares if group != UNKNOWN])
        if not groups:
            return f"no {attribute} named"
        said = listing([words(group) for group, _ in groups], most=3)
        each = " each" if len(groups) > 1 else ""
        told = f"most named {attribute}: {said}, {number(groups[0][1], places=2)}{each}"
        none = dict(shares).get(UNKNOWN, 0.0)
        return f"{told}; none named: {number(none, places=2)}" if none > groups[0][1] else told

    def alt(self, image: str) -> str:
        """What the caption of a picture says, empty where it has none."""
        caption = self._captions.get(image)
        if caption is None:
            return ""
        sheet = self.material.sheet_of[image]
        cut = caption if len(caption) <= _MOST_CAPTION else f"{caption[:_MOST_CAPTION].rstrip()} …"
        return f"{sheet.generator}, {sheet.title}. Caption: {cut}"

    @cached_property
    def _captions(self) -> Mapping[str, str]:
        usable = pl.col("attribute").eq(CAPTION) & pl.col("status").eq("ok") & pl.col("value").is_not_null()
        said = self.material.run.labels.filter(usable)
        first = said.unique("subject_id", keep="first", maintain_order=True)
        return dict(first.select("subject_id", "value").iter_rows())

    def _values_of(self, attribute: str, lexicon: str | None) -> Mapping[str, str]:
        """``image_id`` → value of an attribute, as this lexicon reads captions, else the first of the run."""
        key = (attribute, lexicon)
        if key not in self._values:
            labels = self.material.run.labels.filter(
                pl.col("attribute").eq(attribute), pl.col("status").eq("ok"), pl.col("value").is_not_null()
            )
            there = labels["annotator"].unique(maintain_order=True).to_list()
            readers = [name for name in (lexicon, *self.material.lexicons) if name in there]
            reader = next(iter([*readers, *there]), None)
            own = labels.filter(pl.col("annotator").eq_missing(reader))
            self._values[key] = dict(own.select("subject_id", "value").iter_rows())
        return self._values[key]

    def _shares_of(self, row: Mapping[str, Any]) -> Sequence[tuple[str, float]]:
        """How often captions name each group, in the order in which the groups are declared."""
        return self._shares.get(tuple(row.get(c) for c in self._keys), [])

    @cached_property
    def _keys(self) -> list[str]:
        scope = ("definition", "annotator", "attribute", "generator", *self.material.factors)
        return [c for c in scope if c in self.material.scores.columns]

    @cached_property
    def _shares(self) -> Mapping[tuple[Any, ...], list[tuple[str, float]]]:
        found: dict[tuple[Any, ...], dict[str, float]] = {}
        rows = self.material.scores.filter(
            pl.col("measure").eq(_SHARES), pl.col("value").is_not_null(), pl.col("category").is_not_null()
        )
        for row in rows.iter_rows(named=True):
            found.setdefault(tuple(row[c] for c in self._keys), {}).setdefault(row["category"], row["value"])
        return {key: list(shares.items()) for key, shares in found.items()}


def _most(shares: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The groups with the greatest share, several where they are equally frequent."""
    top = max((share for _, share in shares), default=0.0)
    return [(group, share) for group, share in shares if share == top and share > 0.0]
