"""Estimates that belong together: a measure's own scores, means of them, those of a subset, differences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from stereotrope.tables import ALL_ATTRIBUTES, MARKS

Estimate = Mapping[str, Any]
"""One row of ``estimates``."""

OVER_ALL = pl.col("attribute").fill_null(ALL_ATTRIBUTES) == ALL_ATTRIBUTES
"""Whether an estimate is over all attributes, or of none."""


@dataclass(frozen=True)
class Series:
    """What the scores of a figure, a table and a file have in common.

    measure, subset: Name of the measure; pictures that they are computed on, None for all.
    mean, difference: Whether they are means over a factor's levels, differences from a baseline model.
    """

    measure: str
    subset: str | None = None
    mean: bool = False
    difference: bool = False

    @property
    def name(self) -> str:
        """The name of its files and figures: ``bds_without_violations_average``."""
        marks = (self.subset, "average" * self.mean, "delta" * self.difference)
        return "_".join(filter(None, (self.measure, *marks)))

    @property
    def steps(self) -> int:
        """How far it is from the measure's own scores, which come first."""
        return 2 * (self.subset is not None) + self.mean + self.difference

    def rows(self, estimates: pl.DataFrame) -> pl.DataFrame:
        """Its rows among estimates."""
        return estimates.filter(
            pl.col("measure") == self.measure,
            pl.col("subset").eq_missing(self.subset),
            pl.col("aggregate").is_not_null() == self.mean,
            pl.col("baseline").is_not_null() == self.difference,
        )


def series_of(row: Estimate) -> Series:
    """The series of an estimate."""
    aggregate, subset, baseline = (row.get(column) for column in MARKS)
    return Series(str(row["measure"]), subset, aggregate is not None, baseline is not None)


def series_in(estimates: pl.DataFrame) -> list[Series]:
    """The series among estimates, in the order in which they first stand."""
    marked = estimates.select("measure", *MARKS).unique(maintain_order=True)
    return list(dict.fromkeys(map(series_of, marked.iter_rows(named=True))))
