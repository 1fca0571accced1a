"""Parts of an audit that stand for all that are compared alike, so that comparisons are counted on a few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

_Part = tuple[Any, ...]


def representatives(
    conditions: pl.DataFrame, others: Sequence[str]
) -> tuple[pl.DataFrame, Mapping[_Part, int]]:
    """Conditions of one of all parts that have the same conditions, and for how many parts each stands.

    conditions: Their factors, and whatever else decides what is compared.
    others: Factors that are not compared. A part has one level of each, or none; what has none of one is the
        reference of every part that has a level of it, and is kept for these.

    Returns: Rows of ``conditions``; the levels of ``others`` of each part that stands for some → how many.
    """
    within = [name for name in conditions.columns if name not in others]
    parts: dict[_Part, list[_Part]] = {}
    for one in conditions.rows(named=True):
        part = tuple(one[name] for name in others)
        parts.setdefault(part, []).append(tuple(one[name] for name in within))
    patterns = {tuple(level is None for level in part) for part in parts}

    def serving(part: _Part) -> list[_Part]:
        """The part itself, and those that it is compared with."""
        masked = (
            tuple(None if null else level for level, null in zip(part, nulls, strict=True))
            for nulls in sorted(patterns)
        )
        return [one for one in dict.fromkeys(masked) if one in parts]

    standing: dict[Any, _Part] = {}
    n_parts: dict[_Part, int] = {}
    for part in parts:
        nulls = tuple(level is None for level in part)
        alike = nulls, *((*(x is None for x in one), *parts[one]) for one in serving(part))
        first = standing.setdefault(alike, part)
        n_parts[first] = n_parts.get(first, 0) + 1
    kept = {one for part in n_parts for one in serving(part)}
    chosen = [part in kept for part in conditions.select(others).iter_rows()] if others else True
    return conditions.filter(chosen), n_parts
