"""Derived labels: open values written differently but meaning the same, folded together."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import ImageColor

from stereotrope.annotate import palette
from stereotrope.annotate.cielab import ciede2000, srgb_to_lab
from stereotrope.annotate.label import Attributes, fingerprint_of
from stereotrope.tables import FOLDED, LABELS

__all__ = ["FoldedLabels", "fold"]

_JOINTS = re.compile(r"[\s_\-‐‑‒–—]+")
_BLANKS = re.compile(r"\s+")
_NO_PLURAL = frozenset({"lens", "news", "series", "species"})
_NO_PLURAL_ENDINGS = ("ss", "us", "is", "as")
_HISSING = ("sses", "shes", "ches", "xes", "tzes", "zzes")
_MERGES = {
    "attribute": pl.String,
    "value": pl.String,
    "merged_into": pl.String,
    "distance": pl.Float64,
    "n": pl.Int64,
}


def fold(value: str) -> str:
    """Write a value the one way in which it is counted.

    Unicode NFC, case folded, runs of blanks, hyphens and underscores between two letters made one blank, and
    the last word's simple English plural made singular (``Rose-Golds`` → ``rose gold``, ``boxes`` → ``box``,
    ``cherries`` → ``cherry``; ``glass`` and ``lens`` stay). Blanks around a value go, other runs of blanks
    are one. Signs and digits are never touched: ``-1`` and ``1``, ``A-``, ``A+`` and ``A``, ``18–24`` and
    ``1824`` stay apart, and nothing becomes empty. Spelling variants are left alone; for colours see
    :class:`FoldedLabels`. Folding twice changes nothing.

    Examples
    --------
    >>> [fold(value) for value in ("Rose-Golds", "A-", "-1", "30 - 40", "-")]
    ['rose gold', 'a-', '-1', '30 - 40', '-']
    """
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", value).casefold())
    words = _JOINTS.sub(_joint, text).strip().split(" ")
    words[-1] = _singular(words[-1])
    return " ".join(words) or value


def _joint(found: re.Match[str]) -> str:
    """A blank between letters; elsewhere the run as it is, its blanks made one."""
    text, before, after = found.string, found.start() - 1, found.end()
    while before >= 0 and unicodedata.category(text[before]).startswith("M"):
        before -= 1  # marks are part of their letter: most vowels of Indic scripts are marks
    between = before >= 0 and text[before].isalpha() and text[after : after + 1].isalpha()
    return " " if between else _BLANKS.sub(" ", found[0])


def _singular(word: str) -> str:
    if word in _NO_PLURAL or len(word) < 4 or not word.isalpha() or word.endswith(_NO_PLURAL_ENDINGS):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(_HISSING):
        return word[:-2]
    return word[:-1] if word.endswith("s") else word


class FoldedLabels:
    """Folds the open values of one annotator; the labels are stored as ``folded:<annotator>``.

    Parameters
    ----------
    annotator
        Whose labels are folded.
    attributes
        Attributes to fold; all of the annotator's when None.
    merge
        CIEDE2000 distance up to which two colour words count as one, None to merge none. Only words with
        a known colour (CSS names, names of the palette) merge, each into the more frequent one.

    Notes
    -----
    Folding changes divergence, so it is part of what an estimate records: the annotator's name says so,
    and :attr:`merges` holds the merge table of the last derivation.
    """

    version = 1

    def __init__(
        self, annotator: str, attributes: Sequence[str] | None = None, *, merge: float | None = None
    ) -> None:
        self.annotator = annotator
        self.merge = merge
        self.merges = pl.DataFrame(schema=_MERGES)
        self._attributes = None if attributes is None else tuple(attributes)

    @property
    def name(self) -> str:
        """``folded:<annotator>``."""
        return f"{FOLDED}{self.annotator}"

    @property
    def attributes(self) -> Attributes:
        """The attributes given, all open; empty when all of the annotator's are folded."""
        return dict.fromkeys(self._attributes or ())

    @property
    def needs(self) -> tuple[str, ...]:
        """The attributes that are folded."""
        return self._attributes or ()

    @property
    def fingerprint(self) -> str:
        """Name, version, attributes, merge distance and palette."""
        parameters = {"attributes": self._attributes, "merge": self.merge}
        return fingerprint_of(self.name, self.version, parameters, palette.load().data)

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the annotator's labels with folded values, in their order.

        ``rationale`` of a value that changed is the value as it was given.
        """
        own = labels.filter(pl.col("annotator") == self.annotator)
        if self._attributes is not None:
            own = own.filter(pl.col("attribute").is_in(list(self._attributes)))
        values = own["value"].drop_nulls().unique().to_list()
        folded = own.with_columns(
            folded=pl.col("value").replace_strict(
                {v: fold(v) for v in values}, default=None, return_dtype=pl.String
            )
        )
        if self.merge is not None:
            folded = self._merged(folded, self.merge)
        changed = pl.col("folded") != pl.col("value")
        return folded.with_columns(
            rationale=pl.when(changed).then(pl.col("value")).otherwise(pl.col("rationale")),
            value=pl.col("folded"),
            annotator=pl.lit(self.name),
        ).select(c.name for c in LABELS)

    def _merged(self, folded: pl.DataFrame, limit: float) -> pl.DataFrame:
        rows = []
        for attribute in folded["attribute"].unique(maintain_order=True):
            column = folded.filter(pl.col("attribute") == attribute)["folded"].drop_nulls()
            counts = Counter(column.to_list())
            rows += [{"attribute": attribute, **row} for row in _colour_merges(counts, limit)]
        self.merges = pl.DataFrame(rows, schema=_MERGES)
        joined = folded.join(
            self.merges.select("attribute", "merged_into", folded="value"),
            on=["attribute", "folded"],
            how="left",
            maintain_order="left",
        )
        return joined.with_columns(folded=pl.coalesce("merged_into", "folded")).drop("merged_into")


def _colour_merges(counts: Mapping[str, int], limit: float) -> list[dict[str, object]]:
    """Each colour word that merges: into the nearest of the more frequent words that stay."""
    kept: dict[str, NDArray[np.float64]] = {}
    merges: list[dict[str, object]] = []
    for word, n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        lab = _colour_of(word)
        if lab is None:
            continue
        distance, nearest = min(
            ((float(ciede2000(lab, at)), name) for name, at in kept.items()), default=(np.inf, "")
        )
        if distance <= limit:
            merges.append({"value": word, "merged_into": nearest, "distance": distance, "n": n})
        else:
            kept[word] = lab
    return merges


def _colour_of(word: str) -> NDArray[np.float64] | None:
    css = ImageColor.colormap.get(word.replace(" ", ""))
    if css is not None:
        return srgb_to_lab(np.array(ImageColor.getrgb(word.replace(" ", ""))[:3], dtype=np.uint8))
    known = palette.load()
    anchors = [lab for anchor, lab in zip(known.anchors, known.lab, strict=True) if anchor.name == word]
    return anchors[0] if anchors else None
