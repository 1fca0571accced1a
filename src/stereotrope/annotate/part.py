"""A part of the pictures of a study that is counted, and what annotators say of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.annotate.corners import with_boxes
from stereotrope.errors import MetadataError
from stereotrope.inputs.scan import ROW, Only, ScannedFile, text_key, without_empty
from stereotrope.tables import LABELLED

PICTURE = pl.UInt32
_KEY, _BOX, _NO_BOX, _MODEL = "\0key", "\0box", "\0no box", "\0model"
"""Columns of what stands for names and boxes, and of models, under names that no column of a file has."""
_TRIED = 200
"""Rows of no picture that are looked at for why."""
SAID = {
    "picture": PICTURE,
    "region": pl.UInt32,
    **dict.fromkeys(("attribute", "value", "status", "rationale"), pl.Categorical),
}
"""Columns of what an annotator says of a part: ``picture`` is its number there, ``region`` the row of the
file that has it, null for a whole picture; the others as in labels."""


def said_frame(rows: pl.DataFrame, **alike: str) -> pl.DataFrame:
    """Frame of :data:`SAID` from some of its columns, and what all rows have alike: ``ok`` unless said."""
    fixed = {"status": "ok", **alike}
    more = [pl.lit(fixed.get(name), kind).alias(name) for name, kind in SAID.items() if name not in rows]
    return rows.with_columns(more).select(pl.col(name).cast(kind) for name, kind in SAID.items())


class RowReading(NamedTuple):
    """How rows of a file are read: what tells its columns of pictures, their generators and boxes.

    digest: Of the file.
    key, model, box: Columns that name the picture, its generator and the box of a region; None without such.
    of: The only generator whose pictures rows can be of.
    """

    digest: str
    key: str
    model: str | None = None
    box: str | None = None
    of: str | None = None


class FoundRows(NamedTuple):
    """Rows of a file that are of pictures of a part.

    rows: Their numbers, ``picture``, ``region`` (the first row with the box) and the columns that are wanted.
    n_read: How many rows name pictures of the part, or would if there were such.
    strays: Some of those that name none, with the names.
    no_box: The first row whose box is none, and what it says.
    """

    rows: pl.DataFrame
    n_read: int
    strays: tuple[tuple[int, str], ...]
    no_box: tuple[int, str] | None = None


@dataclass(frozen=True)
class CountedPart:
    """Some of the pictures of a study that is counted.

    pictures: ``key, generator, cell, status``, a row each; a picture's number is that of its row, and its key
        stands for its name (:func:`stereotrope.inputs.scan.text_key`), null where it has none.
    only: Gives, of an expression of keys, which of them are of this part.
    wanted: Columns that annotators take from a file that they read alike: it is read once for all.
    said: Annotator → what it says of these pictures, of those that came before.
    """

    pictures: pl.DataFrame
    only: Only
    wanted: Mapping[RowReading, Collection[str]]
    said: dict[str, pl.DataFrame] = field(default_factory=dict)
    _read: dict[RowReading, FoundRows] = field(default_factory=dict)

    @property
    def usable(self) -> pl.Series:
        """Numbers of the pictures that labels count of."""
        numbered = self.pictures.select("status").with_row_index("picture").cast({"picture": PICTURE})
        return numbered.filter(pl.col("status").is_in(LABELLED))["picture"]

    def rows(self, file: ScannedFile, how: RowReading) -> FoundRows:
        """Rows of a file that are of this part."""
        if how not in self._read:
            self._read[how] = self._rows(file, how)
        return self._read[how]

    def _rows(self, file: ScannedFile, how: RowReading) -> FoundRows:
        named = [name for name in (how.key, how.model, how.box) if name is not None]
        columns = list(dict.fromkeys([*named, *self.wanted[how]]))
        texts = file.texts(columns, only=(how.key, self.only))
        told = [text_key(pl.col(how.key)).alias(_KEY)]
        told += [pl.col(how.model).alias(_MODEL)] if how.model is not None else []
        no_box: tuple[int, str] | None = None
        if how.box is not None:
            texts = with_boxes(texts, how.box, key=_BOX, no_box=_NO_BOX)
            told += [pl.col(_BOX), pl.col(_NO_BOX)]
        read = file.read(texts.select(ROW, *told, *self.wanted[how]))
        if read[_KEY].null_count():
            row = read.filter(pl.col(_KEY).is_null())[ROW].to_list()[0]
            raise MetadataError(
                f"{file.head.file}:{row}: {how.key!r} must name a picture, found nothing; fill it in"
            )
        if how.box is not None and read[_NO_BOX].any():
            row = read.filter(_NO_BOX)[ROW].to_list()[0]
            no_box = row, str(file.named(how.box, [row])[row])
        names = {_KEY: "key", _MODEL: "generator"}
        pictures = self.pictures.select(**names).with_row_index("picture").cast({"picture": PICTURE})
        if how.of is not None:
            pictures = pictures.filter(pl.col(_MODEL) == how.of)
        on = [_KEY, *[_MODEL] * (how.model is not None)]
        rows = read.join(pictures.select("picture", *on), on=on, how="left", maintain_order="left")
        if rows.height > read.height:
            row = rows.filter(pl.col(ROW).is_duplicated())[ROW].to_list()[0]
            raise MetadataError(
                f"{file.head.file}:{row}: {how.key!r} must name one image, found several for "
                f"{file.named(how.key, [row])[row]!r}; name the column of the model with model:"
            )
        lost = rows["picture"].is_null()
        strays = file.named(how.key, rows.filter(lost)[ROW].head(_TRIED)) if lost.any() else {}
        rows = rows.filter(~lost) if lost.any() else rows
        found = without_empty(rows.select(ROW, "picture", _region(rows), *self.wanted[how]))
        stray = tuple((row, name) for row, name in strays.items() if name)
        return FoundRows(found, read.height, stray, no_box)


def _region(rows: pl.DataFrame) -> pl.Expr:
    """The region of each row: the first row of its picture with its box, null without a box."""
    if _BOX not in rows.columns:
        return pl.lit(None, pl.UInt32).alias("region")
    region, same = pl.col(ROW), pl.col("picture").hash() ^ pl.col(_BOX)
    # A box that is listed again is the same region; mostly there is none.
    if rows.select(same.n_unique()).item() < rows.height:
        region = region.min().over("picture", _BOX)
    return pl.when(pl.col(_BOX).is_not_null()).then(region).alias("region")


def coded_texts(texts: pl.Series) -> tuple[NDArray[np.int64], list[str | None]]:
    """Each text as a number, and the text of each number."""
    codes = texts.cast(pl.Categorical).to_physical()
    known = texts.to_frame("text").with_columns(code=codes).unique("code", maintain_order=True)
    null = max(known["code"].drop_nulls(), default=0) + 1
    lookup = np.zeros(null + 1, np.int64)
    lookup[known["code"].fill_null(null).to_numpy()] = np.arange(known.height)
    return lookup[codes.fill_null(null).to_numpy()], known["text"].to_list()
