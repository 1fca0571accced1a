"""Scores among estimates: reading them, and parting them by factors."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.definitions import require_one_definition
from stereotrope.measure.tidy import to_polars
from stereotrope.tables import ALL_ATTRIBUTES, plain_scores


def read_scores(
    estimates: Any,
    measures: Sequence[str],
    columns: Sequence[str],
    *,
    reader: str,
    score: str,
    scores: Sequence[str] = ("value", "excess", "adjusted"),
    beside: Sequence[str] = (),
) -> pl.DataFrame:
    """The scores of measures over all attributes, each measure by one definition.

    columns: What must be there besides ``measure``, ``definition`` and ``attribute``.
    reader: Who asks, for messages.
    score, scores: The column that is read, and those that can be.
    beside: Measures whose rows are kept as well.
    Raises TableError: A column is missing, or no row is of these measures.
    """
    if score not in scores:
        allowed = f"{', '.join(map(repr, scores[:-1]))} or {scores[-1]!r}"
        raise UsageError(f"{reader}: score must be {allowed}, found {score!r}")
    frame = to_polars(estimates, what="estimates", needs=("measure", "definition", "attribute", *columns))
    frame = plain_scores(frame).filter(attribute=ALL_ATTRIBUTES)
    if frame.filter(pl.col("measure").is_in(measures)).is_empty():
        raise TableError(
            f"estimates: no row of measure {' or '.join(map(repr, measures))} for attribute 'all'; pass what "
            f"{' or '.join(measures)} returns"
        )
    frame = frame.filter(pl.col("measure").is_in([*measures, *beside]))
    require_one_definition(frame)
    return frame


def parts_by(
    frame: pl.DataFrame, factors: Sequence[str], *, whole: bool = False
) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    """Levels of factors with the rows that have them; all rows first where ``whole``, or without a factor."""
    if whole or not factors:
        yield {}, frame
    if factors:
        for key, part in frame.group_by(factors, maintain_order=True):
            yield dict(zip(factors, key, strict=True)), part
