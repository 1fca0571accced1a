"""Rows of estimates of a cell: over all items and of each, with an interval over queries."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from stereotrope.measure.cells import MUCH_MISSING
from stereotrope.measure.rubric.reading import Sets, flags_of, holds_for
from stereotrope.measure.units import FEWEST_PROMPTS
from stereotrope.stats import mean_interval, wilson
from stereotrope.stats.arrays import Floats
from stereotrope.tables import ALL_ATTRIBUTES

Interval = Literal["wilson", "student", "signed"]
"""Wilson's with a query as one observation; Student's over queries between 0 and 1, or between −1 and 1."""

_Part = Literal["all", "items"]


def rows_of(
    cell: Sets,
    by: Sequence[str],
    told: Mapping[str, Any],
    undefined: str,
    interval: Interval,
    *,
    parts: Sequence[_Part] = ("all", "items"),
) -> list[dict[str, Any]]:
    """A row over all items, and one an item, of what stands in ``yes``; ``told`` is in every row.

    It needs ``level``.
    """
    rows = []
    for name, part in _parts_of(cell.answers, parts).items():
        row = {
            "definition": "paper",
            **cell._replace(excluded=part.lost).shared(by),
            "attribute": name,
            "n": part.n_sets,
            "n_categories": len(cell.items) if name == ALL_ATTRIBUTES else None,
            **told,
            "flags": flags_of(part.n_sets, len(part.queries), repetitions_lost=part.repetitions_lost),
        }
        if not len(part.queries):
            rows.append({**row, "undefined": undefined})
        elif interval == "wilson":
            rows.append({**row, **_wilson(part, told["level"])})
        else:
            rows.append({**row, **_student(part.queries, row["flags"], told["level"], interval)})
    return rows


class _Answers(NamedTuple):
    """Of all items of a cell, or of one: its mean in each query, its sets, and what is missing."""

    queries: Floats
    n_sets: int
    repetitions_lost: bool
    lost: Counter[str]


def _parts_of(answers: pl.DataFrame, parts: Sequence[_Part]) -> dict[str, _Answers]:
    """All items, and each, by name."""
    named = {"all": pl.lit(ALL_ATTRIBUTES), "items": pl.col("item")}
    table = pl.concat([answers.with_columns(part=named[one]) for one in parts])
    sets = table.group_by("part", "query", "set", maintain_order=True).agg(pl.col("yes").mean())
    sets = sets.drop_nulls("yes")
    queries = sets.group_by("part", "query", maintain_order=True).agg(pl.col("yes").mean())
    means = dict(queries.group_by("part").agg("yes").iter_rows())
    n_sets = dict(sets.group_by("part").agg(pl.col("set").n_unique()).iter_rows())
    lost: dict[str, Counter[str]] = {}
    reasons = table.select("part", "lost").explode("lost", empty_as_null=True).drop_nulls()
    for name, reason, n in reasons.group_by("part", "lost", maintain_order=True).len().iter_rows():
        lost.setdefault(name, Counter())[reason] = n
    shorter = table.group_by("part", maintain_order=True).agg((pl.col("k") < pl.col("of")).any())
    return {
        name: _Answers(np.array(means.get(name, [])), n_sets.get(name, 0), few, lost.get(name, Counter()))
        for name, few in shorter.iter_rows()
    }


def bounded(cell: Sets, item: str) -> dict[str, float]:
    """What missing answers allow of an item, or of all, where they are many."""
    if not cell.answers["yes"].null_count():
        return {}
    one = cell if item == ALL_ATTRIBUTES else cell._replace(answers=cell.answers.filter(item=item))
    asked = one.answers.height
    if asked - one.answers["yes"].count() <= MUCH_MISSING * asked:
        return {}
    ends = [float(one.of_sets(missing)["yes"].mean()) for missing in (0.0, 1.0)]  # type: ignore[arg-type]
    return dict(zip(("bound_low", "bound_high"), ends, strict=True))


def _wilson(part: _Answers, level: float) -> dict[str, Any]:
    n_queries = len(part.queries)
    enough = n_queries >= FEWEST_PROMPTS
    n, value = (n_queries if enough else part.n_sets), float(part.queries.mean())
    low, high = map(float, wilson(value * n, n, level=level))
    method = f"Wilson over {n} {'queries' if enough else 'sets'}"
    ends = {"value": value, "low": low, "high": high, "method": method}
    return {**ends, "holds_for": holds_for(n_queries)}


def _student(queries: Floats, flags: Mapping[str, bool], level: float, interval: Interval) -> dict[str, Any]:
    least = -1.0 if interval == "signed" else 0.0
    mean, low, high, how = mean_interval(queries, level=level, scale=(least, 1.0))
    method = f"over {len(queries)} queries, between {least:g} and 1: {how}"
    told = {"value": mean, "method": method.replace("-", "−")}
    if len(queries) < FEWEST_PROMPTS or low != low:
        return {**told, "flags": {**flags, "no_variation": len(queries) >= FEWEST_PROMPTS}}
    return {**told, "low": low, "high": high, "holds_for": holds_for(len(queries))}
