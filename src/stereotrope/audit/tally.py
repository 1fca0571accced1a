"""How many subjects of each cell have what said of them: counted in numbers, told in words."""

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.annotate.part import coded_texts
from stereotrope.errors import InputError

MOST_COUNTED = 50_000_000
"""Cells times different things that can be said of an attribute: 400 MB of numbers."""

_Said = tuple[str | None, ...]


class Tally:
    """Counts of one attribute by one annotator.

    what: What is counted, for messages.
    columns: Columns that say something of a subject.
    n_cells: Cells that subjects can be of.

    Examples
    --------
    >>> tally = Tally("gender", ["value", "status"], 2)
    >>> said = pl.DataFrame({"value": ["f", "f", None], "status": ["ok", "ok", "unclear"]})
    >>> tally.add(pl.Series([0, 1, 1]), said)
    >>> tally.rest(np.array([1, 3]))
    >>> tally.table().rows()
    [(0, 'f', 'ok', 1), (1, None, None, 1), (1, None, 'unclear', 1), (1, 'f', 'ok', 1)]
    """

    def __init__(self, what: str, columns: Sequence[str], n_cells: int) -> None:
        self.what, self.columns, self.n_cells = what, tuple(columns), n_cells
        self._counts: dict[_Said, NDArray[np.int64]] = {}

    @property
    def total(self) -> NDArray[np.int64]:
        """Subjects of each cell that are counted."""
        return sum(self._counts.values(), np.zeros(self.n_cells, np.int64))

    def add(self, cell: pl.Series, said: pl.DataFrame) -> None:
        """Count a subject a row: its cell, and what is said of it.

        Raises InputError: Too many different things are said.
        """
        if cell.is_empty():
            return
        numbers, words = zip(*(coded_texts(said[name]) for name in self.columns), strict=True)
        sizes = [len(listed) for listed in words]
        # Of several columns only what occurs together is counted.
        code = np.ravel_multi_index(numbers, sizes)
        there = np.zeros(np.prod(sizes), bool)
        there[code] = True
        place, first = np.flatnonzero(there), (np.cumsum(there) - 1)[code]
        if (len(self._counts) + place.size) * self.n_cells > MOST_COUNTED:
            raise InputError(
                f"{self.what}: {place.size:,} different labels over {self.n_cells:,} prompts and models are "
                "too many to be counted; list the attributes that are meant"
            )
        counts = np.bincount(first * self.n_cells + cell.to_numpy(), minlength=place.size * self.n_cells)
        for at, row in zip(place, counts.reshape(place.size, -1), strict=True):
            key = tuple(listed[i] for listed, i in zip(words, np.unravel_index(at, sizes), strict=True))
            self._counts[key] = self._counts.get(key, 0) + row

    def rest(self, asked: NDArray[np.int64]) -> None:
        """Count those of which nothing is said: all that were asked of each cell, less the others."""
        nothing = (None,) * len(self.columns)
        self._counts[nothing] = self._counts.get(nothing, 0) + asked - self.total

    def table(self) -> pl.DataFrame:
        """``cell``, the columns and ``n_subjects``, by cell and what is said."""
        parts = []
        for said, counts in self._counts.items():
            cells = np.flatnonzero(counts)
            alike = [pl.lit(v, pl.String).alias(n) for n, v in zip(self.columns, said, strict=True)]
            numbers = pl.DataFrame({"cell": cells.astype(np.uint32), "n_subjects": counts[cells]})
            parts.append(numbers.select("cell", *alike, "n_subjects"))
        return pl.concat(parts).sort("cell", *self.columns)
