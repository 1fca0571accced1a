"""Shares of many scenarios as one frame, those of too few pictures left out and counted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.definitions import require_one_definition
from stereotrope.measure.tidy import factor_names, to_polars
from stereotrope.tables import ESTIMATE_COLUMNS

NO_SHARE = "no scenario has a share"
"""Why a score over scenarios is null."""


@dataclass(frozen=True)
class Scenarios:
    """Shares of the scenarios of one combination of factors.

    levels: The combination, with ``attribute``, ``category`` and ``definition``.
    rows: ``value`` and the factor that tells scenarios apart, of those that count.
    excluded: How many do not, by reason.
    """

    levels: dict[str, Any]
    rows: pl.DataFrame
    excluded: dict[str, int]


def scenarios_of(
    estimates: Any, *, over: str, within: Sequence[str], kept: float, reader: str
) -> tuple[tuple[str, ...], Iterator[Scenarios]]:
    """Shares by scenario, in each combination of factors.

    estimates: What :func:`stereotrope.measure.female_ratio` or ``share`` returns with ``over`` and ``within``
        in its ``by``; rows that tell further factors apart are not read.
    kept: Part of its pictures that a scenario must have a definite label of, in [0, 1].

    Returns: Factors of the combinations, and these in the order in which they come.
    Raises UsageError: A factor is named twice, or ``kept`` is no share.
    Raises TableError: A column is missing, several definitions are given, no row tells these factors alone
        apart, or a scenario stands twice.
    """
    inside = factor_names(within, measure=reader, taken=(over,))
    if not 0 <= kept <= 1:
        raise UsageError(f"{reader}: kept must lie in [0, 1], found {kept}; 0.5 is half of the pictures")
    frame = to_polars(estimates, what="estimates", needs=("definition", "value", "n", over, *inside))
    require_one_definition(frame)
    further = [c for c in frame.columns if c not in (*ESTIMATE_COLUMNS, over, *inside)]
    alone = frame.filter(pl.col(over).is_not_null(), *(pl.col(name).is_null() for name in further))
    if alone.is_empty() and not frame.is_empty():
        raise TableError(
            f"estimates: no row tells only {over!r} and within={list(inside)} apart, found "
            f"{', '.join(map(repr, further)) or 'no level of it'}; name these in within, or compute the "
            f"shares by {[*inside, over]}"
        )
    frame = alone
    keys = [c for c in (*inside, "attribute", "category", "definition") if c in frame.columns]
    if frame.select(*keys, over).is_duplicated().any():
        raise TableError(f"estimates: a level of {over!r} stands twice; keep one row each")
    excluded = pl.col("n_excluded").fill_null(0) if "n_excluded" in frame.columns else pl.lit(0)
    enough = pl.col("n") >= kept * (pl.col("n") + excluded)
    reason = pl.when(pl.col("value").is_null()).then(pl.lit("no share"))
    few = pl.lit(f"a definite label of less than {kept:.0%} of the pictures")
    frame = frame.with_columns(_why=reason.when(~enough).then(few))

    def parts() -> Iterator[Scenarios]:
        for key, part in frame.group_by(keys, maintain_order=True):
            left = part.filter(pl.col("_why").is_not_null())["_why"].value_counts()
            rows = part.filter(pl.col("_why").is_null()).select(over, "value")
            yield Scenarios(dict(zip(keys, key, strict=True)), rows, dict(left.sort("_why").iter_rows()))

    return inside, parts()
