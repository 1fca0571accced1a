"""Rows of estimates of a cell: over all items and of each, with an interval over queries."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from stereotrope.measure.cells import MUCH_MISSING
from stereotrope.measure.rubric.reading import Sets, flags_of
from stereotrope.measure.seeds import across_units
from stereotrope.measure.units import (
    FEWEST_PROMPTS,
    FEWEST_SEEDS,
    SEED_COLUMN,
    SEEDS_COUNTED,
    Claim,
    scope_of_levels,
)
from stereotrope.stats import Across, mean_over_units, wilson
from stereotrope.stats.arrays import Floats
from stereotrope.tables import ALL_ATTRIBUTES

Interval = Literal["wilson", "student", "signed"]
"""Wilson's with a query as one observation, but of means over items; Student's over queries between 0 and 1,
or between −1 and 1."""

_Part = Literal["all", "items"]


def rows_of(
    cells: Sequence[Sets],
    by: Sequence[str],
    told: Mapping[str, Any],
    undefined: str,
    interval: Interval,
    *,
    parts: Sequence[_Part] = ("all", "items"),
    bounds: bool = False,
) -> list[list[dict[str, Any]]]:
    """Of each cell a row over all items, and one an item, of what stands in ``yes``; ``told`` is in each.

    It needs ``level``. With ``bounds`` what missing answers allow stands beside it, where they are many.
    """
    answered, level = _answered(cells, parts), told["level"]
    every = [part for cell in answered for part in cell.values() if len(part.queries)]
    made = iter(_wilson(every, level) if interval == "wilson" else _student(every, level, interval))
    rows = []
    for cell, found in zip(cells, answered, strict=True):
        shared = {"definition": "paper", **cell.shared(by), **told}
        rows.append([{**shared, "attribute": name, **part.shared()} for name, part in found.items()])
        for row, part in zip(rows[-1], found.values(), strict=True):
            row |= next(made) if len(part.queries) else {"undefined": undefined}
            row |= part.bounded() if bounds else {}
            row["by_seed"] = part.by_seed
    return rows


class _Answers(NamedTuple):
    """Of all items of a cell, or of one: its mean in each query, its sets, and what is missing.

    n_items: None of one item.
    missing, ends: Share of the answers that are missing; the mean if all of these were no, and yes.
    sets: Of each set its query and seed, and what it adds to the sum over queries.
    """

    n_items: int | None
    queries: Floats
    n_sets: int
    repetitions_lost: bool
    missing: float
    ends: tuple[float, float]
    lost: Counter[str]
    sets: pl.DataFrame

    @property
    def across(self) -> Across | None:
        """The seeds that queries share; None where they share none, or fewer than can be told from them."""
        if len(self.queries) < FEWEST_PROMPTS:  # as of every cell where a cell is a query
            return None
        claim = Claim(prompts=True, dependent=True, known=True)
        query = self.sets["query"].rank("dense").cast(pl.Int64) - 1
        return across_units(self.sets, claim, query.to_numpy())[1]

    @property
    def seeds(self) -> str:
        """What the method says of seeds: that they are counted, or that the interval is of these."""
        if self.across:
            return f", {SEEDS_COUNTED}"
        seeds = self.sets[SEED_COLUMN]
        few = not seeds.null_count() and seeds.n_unique() < min(FEWEST_SEEDS, len(self.queries))
        return f", with {seeds.n_unique()} shared seed{'s' * (seeds.n_unique() > 1)} alone" if few else ""

    @property
    def by_seed(self) -> str | None:
        """The column of this name, where all sets are of one query."""
        seeds = self.sets[SEED_COLUMN]
        if len(self.queries) != 1 or seeds.null_count() or not seeds.dtype.is_numeric():
            return None
        drawn = self.sets.select(SEED_COLUMN, pl.col("moved") * self.sets.height).sort(pl.all())
        return json.dumps([[seed, yes, 1] for seed, yes in drawn.iter_rows()])

    def reach(self, level: float) -> float:
        """How many times as far an interval over queries reaches for what shared seeds do."""
        return across.reach(self.sets["moved"], level=level) if (across := self.across) else 1.0

    def shared(self) -> dict[str, Any]:
        """What a row says of them, whatever its interval is."""
        return {
            "n": self.n_sets,
            "n_categories": self.n_items,
            "excluded": dict(self.lost),
            "flags": flags_of(self.n_sets, len(self.queries), repetitions_lost=self.repetitions_lost),
        }

    def bounded(self) -> dict[str, float]:
        """What missing answers allow, where there is a value and they are many."""
        if not len(self.queries) or self.missing <= MUCH_MISSING:
            return {}
        return dict(zip(("bound_low", "bound_high"), self.ends, strict=True))


def _answered(cells: Sequence[Sets], parts: Sequence[_Part]) -> list[dict[str, _Answers]]:
    """All items, and each, by name, of every cell: one pass, since cells may be a query each."""
    if not cells:
        return []
    place = np.repeat(np.arange(len(cells)), [cell.answers.height for cell in cells])
    answers = pl.concat([cell.answers for cell in cells], rechunk=True).with_columns(cell=pl.Series(place))
    named = {"all": pl.lit(ALL_ATTRIBUTES), "items": pl.col("item")}
    table = pl.concat([answers.with_columns(part=named[one]) for one in parts])
    yes, keys = pl.col("yes"), ["cell", "part"]
    filled = {"low": yes.fill_null(0.0), "high": yes.fill_null(1.0)}
    sets = table.group_by(*keys, "query", "set", maintain_order=True).agg(
        yes.mean(), pl.col(SEED_COLUMN).min(), **{end: column.mean() for end, column in filled.items()}
    )
    drawn = sets.drop_nulls("yes").with_columns(moved=yes / pl.len().over(*keys, "query"))
    drawn = drawn.select(*keys, "query", SEED_COLUMN, "moved")
    parted = drawn.partition_by(keys, as_dict=True, include_key=False)
    queries = sets.group_by(*keys, "query", maintain_order=True).agg(pl.col("yes", *filled).mean())
    means = queries.group_by(keys).agg(yes.drop_nulls(), *(pl.col(end).mean() for end in filled))
    n_sets = sets.drop_nulls("yes").group_by(keys).agg(pl.col("set").n_unique())
    counted = {(place, name): n for place, name, n in n_sets.iter_rows()}
    lost: dict[tuple[int, str], Counter[str]] = {}
    reasons = table.select(*keys, "lost").explode("lost", empty_as_null=True).drop_nulls()
    for place, name, reason, n in reasons.group_by(*keys, "lost", maintain_order=True).len().iter_rows():
        lost.setdefault((place, name), Counter())[reason] = n
    shorter = table.group_by(keys, maintain_order=True).agg(
        pl.when(pl.col("part").first() == ALL_ATTRIBUTES).then(pl.col("item").n_unique()),
        few=(pl.col("k") < pl.col("of")).any(),
        missing=yes.is_null().mean(),
    )
    found: list[dict[str, _Answers]] = [{} for _ in cells]
    nothing = sets.clear().select("query", SEED_COLUMN)
    together = shorter.join(means, on=keys, how="left", maintain_order="left")
    for place, name, n_items, few, missing, told, low, high in together.iter_rows():
        n, why = counted.get((place, name), 0), lost.get((place, name), Counter())
        own = parted.get((place, name), nothing)
        found[place][name] = _Answers(n_items, np.array(told), n, few, missing, (low, high), why, own)
    return found


def _wilson(parts: Sequence[_Answers], level: float) -> Iterator[dict[str, Any]]:
    """Wilson's intervals of shares; of means over items, which vary less, where queries differ, Student's."""
    enough = [len(part.queries) >= FEWEST_PROMPTS for part in parts]
    n = [len(part.queries) if many else part.n_sets for part, many in zip(parts, enough, strict=True)]
    values = [float(part.queries.mean()) for part in parts]
    independent = np.divide(n, [part.reach(level) ** 2 for part in parts])
    ends = wilson(np.multiply(values, independent), independent, level=level)
    for part, many, of, value, low, high in zip(parts, enough, n, values, *ends, strict=True):
        if many and part.n_items is not None and np.ptp(part.queries):
            yield from _student([part], level, "student")
            continue
        method = f"Wilson over {of} {f'queries{part.seeds}' if many else 'sets'}"
        told = {"value": value, "low": float(low), "high": float(high), "method": method}
        yield {**told, "holds_for": scope_of_levels(len(part.queries))}


def _student(parts: Sequence[_Answers], level: float, interval: Interval) -> Iterator[dict[str, Any]]:
    least = -1.0 if interval == "signed" else 0.0
    for part in parts:
        n_queries = len(part.queries)
        mean, low, high, how = mean_over_units(
            part.queries, np.arange(n_queries), level=level, scale=(least, 1.0), reach=part.reach(level)
        )
        method = f"over {n_queries} queries{part.seeds}, between {least:g} and 1: {how}"
        told = {"value": mean, "method": method.replace("-", "−")}
        if n_queries < FEWEST_PROMPTS or low != low:
            yield {**told, "flags": {**part.shared()["flags"], "no_variation": n_queries >= FEWEST_PROMPTS}}
        else:
            yield {**told, "low": low, "high": high, "holds_for": scope_of_levels(n_queries)}
