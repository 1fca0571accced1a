"""Published tables as arrays, and figures in words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.stats.arrays import Floats

LAST_DIGIT = 0.0005 + 1e-9
"""Half a unit of the third decimal."""


def table(figures: pl.DataFrame, number: str, row: str | Sequence[str], column: str) -> Floats:
    """Figures of one table, rows and columns in their order, without its means and sums."""
    rows = [row] if isinstance(row, str) else list(row)
    wide = (
        figures.filter(pl.col("table") == number, *(pl.col(c).is_not_null() for c in [*rows, column]))
        .pivot(column, index=rows, values="value", maintain_order=True)
        .drop(rows)
    )
    return wide.to_numpy().astype(np.float64)


def models(figures: pl.DataFrame, number: str) -> list[str]:
    """Models of a table, in its order."""
    found: list[str] = (
        figures.filter(table=number)["generator"].drop_nulls().unique(maintain_order=True).to_list()
    )
    return found


def three(value: Any) -> str:
    """A figure to the third decimal with a real minus sign."""
    return f"{float(value):.3f}".replace("-", "−")


def percent(share: Any, places: int = 1) -> str:
    """A share in per cent."""
    return f"{100 * float(share):.{places}f}%"


def signed_percent(share: Any) -> str:
    """A change in per cent, with its sign."""
    return f"{100 * float(share):+.1f}%".replace("-", "−")
