"""A part of the pictures of a study that is counted, and what annotators say of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from stereotrope.errors import MetadataError
from stereotrope.inputs.scan import ROW, Only, ScannedFile, without_empty
from stereotrope.tables import LABELLED

PICTURE = pl.UInt32
_TRIED = 200
"""Rows of no picture that are looked at for why."""
SAID = {
    "picture": PICTURE,
    "region": pl.UInt32,
    **dict.fromkeys(("attribute", "value", "status", "rationale"), pl.String),
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
    """

    rows: pl.DataFrame
    n_read: int
    strays: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class CountedPart:
    """Some of the pictures of a study that is counted.

    pictures: ``name, generator, cell, status``, a row each; a picture's number is that of its row.
    only: Gives, of an expression of names, which of them are of this part.
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
        named = [name for name in (how.key, how.model) if name is not None]
        boxed = [] if how.box is None else [how.box]
        columns = list(dict.fromkeys([*named, *boxed, *self.wanted[how]]))
        read = without_empty(file.texts(columns, only=(how.key, self.only)).collect(engine="streaming"))
        pictures = (
            self.pictures.select("name", "generator").with_row_index("picture").cast({"picture": PICTURE})
        )
        if how.of is not None:
            pictures = pictures.filter(generator=how.of)
        on = ["name", *["generator"] * (how.model is not None)]
        rows = read.join(pictures.select("picture", *on), left_on=named, right_on=on, maintain_order="left")
        strays = read.clear() if rows.height == read.height else read.join(rows, on=ROW, how="anti")
        if rows[ROW].n_unique() < rows.height:
            row = rows.filter(pl.col(ROW).is_duplicated()).row(0, named=True)
            raise MetadataError(
                f"{file.head.file}:{row[ROW]}: {how.key!r} must name one image, found several for "
                f"{row[how.key]!r}; name the column of the model with model:"
            )
        found = rows.select(ROW, "picture", _region(rows, how.box), *self.wanted[how])
        return FoundRows(found, read.height, tuple(strays.select(ROW, how.key).head(_TRIED).iter_rows()))


def _region(rows: pl.DataFrame, box: str | None) -> pl.Expr:
    if box is None:
        return pl.lit(None, pl.UInt32).alias("region")
    region, same = pl.col(ROW), pl.col("picture").hash() ^ pl.col(box).hash()
    # A box that is listed again is the same region; mostly there is none.
    if rows.select(same.n_unique()).item() < rows.height:
        region = region.min().over("picture", box)
    return pl.when(pl.col(box).is_not_null()).then(region).alias("region")
