"""Conditions with their pictures: how many there are, the first of each, and where any of them lies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from stereotrope.tables import ABSENT, LABELLED

MOST_IN_PAGE = 10_000
"""Usable pictures that a page names: about as many as have room for a thumbnail."""
_CELL = ["generator", "prompt_id"]


@dataclass(frozen=True)
class Sheet:
    """One condition of one generator.

    n: Its images, of which ``n_usable`` are there to be seen, ``n_absent`` are not at hand and ``n_labelled``
        can have labels.
    texts: The different texts of its prompts.
    images: The first of its images in order, usable ones and others, at most so many that all conditions
        together have :data:`MOST_IN_PAGE` of each.
    """

    anchor: str
    generator: str
    scope: Mapping[str, str]
    title: str
    n: int = 0
    n_usable: int = 0
    n_absent: int = 0
    n_labelled: int = 0
    texts: Sequence[str] = ()
    images: Sequence[Mapping[str, Any]] = field(default=(), repr=False)

    @property
    def usable(self) -> list[str]:
        """The first of its pictures that are there to be seen."""
        return [row["image_id"] for row in self.images if row["status"] == "ok"]


def prompt_cells(images: pl.LazyFrame) -> pl.DataFrame:
    """Each prompt of each generator with its numbers of images, in the order of the run."""
    status = pl.col("status")
    counts = {"n_usable": status == "ok", "n_absent": status == ABSENT, "n_labelled": status.is_in(LABELLED)}
    return (
        images.select(*_CELL, "status")
        .with_row_index("first")
        .group_by(_CELL)
        .agg(pl.col("first").min(), n=pl.len(), **{name: test.sum() for name, test in counts.items()})
        .sort("first")
        .collect(engine="streaming")
    )


class Places:
    """Sheet and place on it of every image, held as columns: no object of its own for any."""

    def __init__(self, images: pl.LazyFrame, sheet_of_cell: pl.DataFrame, sheets: Sequence[Sheet]) -> None:
        self._sheets = sheets
        numbered = images.select("image_id", *_CELL, usable=pl.col("status") == "ok").join(
            sheet_of_cell.lazy(), on=_CELL, how="left", nulls_equal=True, maintain_order="left"
        )
        placed = numbered.select("image_id", "sheet", "usable").collect(engine="streaming")
        self.frame = placed.with_columns(
            turn=pl.int_range(pl.len(), dtype=pl.UInt32).over("sheet"),
            rank=pl.int_range(pl.len(), dtype=pl.UInt32).over("sheet", "usable"),
        ).sort("image_id")

    def of(self, images: Iterable[str]) -> pl.DataFrame:
        """Where some images lie, in the order in which they are named: ``image_id, sheet, usable, turn``."""
        named = pl.DataFrame({"image_id": list(images)}, schema={"image_id": pl.String})
        return named.join(self.frame, on="image_id", maintain_order="left")

    def get(self, image: str) -> Sheet | None:
        """The sheet of an image, None where the run has no such image."""
        ids = self.frame["image_id"]
        at = ids.search_sorted(image)
        return self._sheets[self.frame["sheet"][at]] if at < len(ids) and ids[at] == image else None

    def __getitem__(self, image: str) -> Sheet:
        """The sheet of an image.

        Raises KeyError: The run has no such image.
        """
        if (sheet := self.get(image)) is None:
            raise KeyError(image)
        return sheet

    def by_sheet(self, images: Iterable[str]) -> Iterator[tuple[Sheet, list[str]]]:
        """Images by their sheet, in the order in which they are named."""
        placed = self.of(images).group_by("sheet", maintain_order=True).agg("image_id")
        for sheet, members in placed.iter_rows():
            yield self._sheets[sheet], members


def most_of_each(sizes: Sequence[int], most: int = MOST_IN_PAGE) -> int:
    """How many of each condition can be listed, so that all have at most ``most``; at least one."""
    low, high = 1, max([1, *sizes])
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(size, middle) for size in sizes) <= most:
            low = middle
        else:
            high = middle - 1
    return low
