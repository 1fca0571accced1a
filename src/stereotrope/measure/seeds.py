"""Seeds that the prompts of a cell share: how alike pictures of one seed are, whatever the prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.measure.units import FEWEST_PROMPTS, FEWEST_SEEDS, SEED_COLUMN, SEEDS_COUNTED, Claim
from stereotrope.stats import (
    FEW_TOGETHER,
    ICC_GRID,
    Across,
    Crossed,
    Scatter,
    crossed_evidence,
    crossed_weights,
    joint_evidence,
    special,
)
from stereotrope.stats.arrays import Floats

_USUAL, _HALVED = 0.95, 12
"""Level of which p above 0.05 is, and how often the span is halved in which a smaller one lies."""
_DRAWN = ("unit", "side", SEED_COLUMN)
_CELL, _ROW = "cell", "row"
_TYPES = (pl.UInt32, pl.String, pl.String, pl.Int64, pl.Int64)
SeedCounts = Mapping[tuple[str, str | None, int | None], int]
"""How many pictures there are of a value, prompt and seed."""


class SeedRows(NamedTuple):
    """Values of several cells.

    scatter: How pictures of a seed are scattered; NaN of cells whose prompts share no seeds.
    n: Pictures of each cell.
    residuals: ``row, seed, more``: how many more pictures of a seed show the value than their prompts lead
        one to expect.
    """

    scatter: Scatter
    n: Floats
    residuals: pl.DataFrame

    def apart(self, other: SeedRows) -> Floats:
        """What the correlation is of what pictures of a seed show more on one side than on the other."""
        both = []
        for side in (self, other):
            size = pl.Series(side.n)[side.residuals[_ROW]]
            both.append(side.residuals.with_columns(more=pl.col("more") / size))
        paired = both[0].join(both[1], on=[_ROW, SEED_COLUMN], how="full", coalesce=True, suffix="_other")
        paired = paired.sort(_ROW, SEED_COLUMN)  # sums of the same numbers in the same order
        gap = pl.col("more").fill_null(0.0) - pl.col("more_other").fill_null(0.0)
        between = _spread(paired.group_by(_ROW, maintain_order=True).agg(of=(gap * gap).sum()), len(self.n))
        return crossed_evidence(self._in_parts(), other._in_parts(), between)

    def _in_parts(self) -> Scatter:
        square = self.n**2
        return self.scatter._replace(
            between=self.scatter.between / square, within=self.scatter.within / square
        )


@dataclass(frozen=True)
class SharedSeeds:
    """Pictures of cells whose units are prompts that were drawn with the same seeds.

    seen: ``cell, value, prompt_id, seed, k``: how many pictures that count have a value.
    n_cells: Of the table.
    """

    seen: pl.DataFrame
    n_cells: int

    @classmethod
    def of(cls, seen: pl.DataFrame, n_cells: int) -> SharedSeeds | None:
        """Of the cells in which four seeds or more are known, and shared; None where there is none.

        seen: As above, of all cells.
        """
        prompts, seeds = (pl.struct("prompt_id", SEED_COLUMN).n_unique(), pl.col(SEED_COLUMN).n_unique())
        shared = seen.group_by(_CELL).agg(
            (prompts > seeds)
            & (seeds >= FEWEST_SEEDS)
            & pl.col(SEED_COLUMN).is_not_null().all()
            & (pl.col("prompt_id").n_unique() >= FEWEST_PROMPTS)
        )
        kept = seen.join(
            shared.filter("prompt_id").select(_CELL), on=_CELL, how="semi", maintain_order="left"
        )
        # Prompts of hardly more than a picture are not told from it: scattered about the share of the cell.
        of_prompt = kept.group_by(_CELL, "prompt_id").agg(pl.col("k").sum())
        k = pl.col("k")
        few = (k**2).sum() < FEW_TOGETHER * k.sum()
        single = of_prompt.group_by(_CELL).agg(few=few).filter("few")[_CELL]
        asked = pl.when(pl.col(_CELL).is_in(single.implode())).then(pl.lit("")).otherwise("prompt_id")
        keys = [_CELL, "value", "prompt_id", SEED_COLUMN]
        kept = kept.with_columns(prompt_id=asked).group_by(keys, maintain_order=True).agg(pl.col("k").sum())
        return cls(kept, n_cells) if kept.height else None

    @classmethod
    def of_counts(cls, cells: Sequence[SeedCounts]) -> SharedSeeds | None:
        """Of cells, each with how many pictures there are of a value, prompt and seed."""
        rows = [(at, *of, k) for at, counts in enumerate(cells) for of, k in counts.items()]
        columns = {
            _CELL: pl.UInt32,
            "value": pl.String,
            "prompt_id": pl.String,
            SEED_COLUMN: pl.Int64,
            "k": pl.Int64,
        }
        return cls.of(pl.DataFrame(rows, schema=columns, orient="row"), len(cells))

    @cached_property
    def _grid(self) -> pl.DataFrame:
        """``cell, prompt_id, seed, n``."""
        return self.seen.group_by(_CELL, "prompt_id", SEED_COLUMN).agg(n=pl.col("k").sum())

    @cached_property
    def _sizes(self) -> tuple[Floats, Floats]:
        """Of each cell its pictures, and Σ of squares of those of its seeds; NaN of cells without."""
        told = self._grid.group_by(_CELL, SEED_COLUMN).agg(pl.col("n").sum()).group_by(_CELL)
        sums = told.agg(n=pl.col("n").sum(), squares=(pl.col("n") ** 2).sum())
        at = sums[_CELL].to_numpy()
        n, squares = np.full((2, self.n_cells), np.nan)
        n[at], squares[at] = sums["n"].to_numpy(), sums["squares"].to_numpy()
        return n, squares

    @cached_property
    def alike(self) -> Floats:
        """By cell, how much the variance of a share grows with the correlation; 0 where none is shared."""
        n, squares = self._sizes
        return np.nan_to_num(squares / n - 1)

    def rows(self, cell: pl.Series, category: pl.Series) -> SeedRows:
        """How pictures of a seed are scattered about the shares of a value in some cells."""
        asked = pl.DataFrame({_CELL: cell.cast(pl.UInt32), "value": category}).with_row_index(_ROW)
        keys = [_CELL, "value", "prompt_id", SEED_COLUMN]
        rows = asked.join(self._grid, on=_CELL).join(self.seen, on=keys, how="left", nulls_equal=True)
        rows = rows.sort(_ROW, "prompt_id", SEED_COLUMN)  # sums of the same numbers in the same order
        k, n = pl.col("k").fill_null(0), pl.col("n")
        of_prompt = rows.group_by(_ROW, "prompt_id", maintain_order=True).agg(k_all=k.sum(), n_all=n.sum())
        within = pl.col("k_all") * (pl.col("n_all") - pl.col("k_all")) / pl.col("n_all")
        scattered = _spread(of_prompt.group_by(_ROW, maintain_order=True).agg(of=within.sum()), len(cell))
        on = [_ROW, "prompt_id"]
        joined = rows.join(of_prompt, on=on, nulls_equal=True, maintain_order="left")
        more = (k - n * pl.col("k_all") / pl.col("n_all")).sum()
        free = (n * (1 - n / pl.col("n_all"))).sum()
        residuals = joined.group_by(_ROW, SEED_COLUMN, maintain_order=True).agg(more=more, free=free)
        number = self._sizes[0][cell.to_numpy()]
        each = residuals.group_by(_ROW, maintain_order=True)
        all_free, squares = (
            _spread(each.agg(of=(pl.col("free") ** power).sum()), len(cell)) for power in (1, 2)
        )
        prompts = _spread(of_prompt.group_by(_ROW).agg(of=pl.len()), len(cell))
        scale = np.sqrt((np.nan_to_num(number) - prompts) / np.maximum(all_free, 1e-9))
        residuals = residuals.with_columns(more=pl.col("more") * scale[residuals[_ROW].to_numpy()])
        residuals = residuals.sort(_ROW, SEED_COLUMN)
        between = _spread(
            residuals.group_by(_ROW, maintain_order=True).agg(of=(pl.col("more") ** 2).sum()), len(cell)
        )
        there = np.where(np.isnan(number), np.nan, 0.0)
        scatter = Scatter.of(between + there, scattered + there, all_free + there, squares + there)
        return SeedRows(scatter, number, residuals)

    def weights(self, values: pl.DataFrame, kin: Sequence[int]) -> Floats:
        """By cell, how probable each correlation of pictures of a seed is; see ``crossed_weights``.

        values: ``cell, value`` that each cell shows.
        kin: Of each cell, which others are as alike.
        """
        evidence = crossed_evidence(self.rows(values[_CELL], values["value"]).scatter)
        found = np.zeros((self.n_cells, ICC_GRID.size))
        found[:, 0] = 1.0
        at, told = self._pooled(evidence, values[_CELL].to_numpy(), kin, self.n_cells)
        found[at] = told
        return found

    def weights_of_pairs(
        self,
        cell: pl.Series,
        other: pl.Series,
        category: pl.Series,
        pair: NDArray[np.int64],
        kin: Sequence[int],
    ) -> Floats:
        """By pair of cells, how probable each correlation is of what seeds do on one side alone.

        cell, other, category, pair: Rows: values of pairs, and the number of the pair.
        kin: Of each pair, which others are as alike.
        """
        sides = [self.rows(side, category) for side in (cell, other)]
        evidence = sides[0].apart(sides[1])
        known = ~np.isnan(sides[0].n + sides[1].n)
        found = np.zeros((len(kin), ICC_GRID.size))
        found[:, 0] = 1.0
        at, told = self._pooled(evidence[known], pair[known], kin, len(kin))
        found[at] = told
        return found

    def _pooled(
        self, evidence: Floats, owner: NDArray[np.int64], kin: Sequence[int], size: int
    ) -> tuple[NDArray[np.int64], Floats]:
        """Owners of evidence of values, and their weights, those that are kin together."""
        total, there = joint_evidence(evidence, owner, size), np.unique(owner)
        names = np.asarray(kin, np.int64)[there]
        order = np.argsort(names, kind="stable")
        parts = np.split(there[order], np.flatnonzero(names[order][1:] != names[order][:-1]) + 1)
        kept = [part for part in parts if part.size]
        told = [crossed_weights(total[part]) for part in kept]
        return np.concatenate([np.zeros(0, np.int64), *kept]), np.concatenate(
            [np.zeros((0, ICC_GRID.size)), *told]
        )


def seeds_of_cells(cells: Sequence[SeedCounts]) -> list[Crossed] | None:
    """What seeds do to each of several cells of one attribute; None where none are shared."""
    shared = SharedSeeds.of_counts(cells)
    if shared is None:
        return None
    shown = shared.seen.select(_CELL, "value").unique().sort(_CELL, "value")
    weights = shared.weights(shown, [0] * len(cells))
    return [Crossed(*of) for of in zip(shared.alike, weights, strict=True)]


PicturesBySeed = tuple[Across, NDArray[np.str_]]
"""The pictures of a cell by prompt and seed, and the value of each."""


def pictures_by_seed(counts: SeedCounts) -> PicturesBySeed | None:
    """The pictures of a cell; None where its prompts share no seeds."""
    if not counts or any(seed is None for _, _, seed in counts):
        return None
    of, n = np.array([(str(value), str(prompt)) for value, prompt, _ in counts]), list(counts.values())
    prompt, seed = np.unique(of[:, 1], return_inverse=True)[1], np.array([seed for *_, seed in counts])
    across = Across(*(np.repeat(each, n).astype(np.int64) for each in (prompt, seed)))
    return (across, np.repeat(of[:, 0], n)) if share_seeds(*across) else None


def across_units(frame: pl.DataFrame, claim: Claim, units: NDArray[np.int64]) -> tuple[Claim, Across | None]:
    """The seeds that the prompts of a cell share, beside its units; None where they share none.

    frame: One row a picture; ``seed`` may be a column.
    claim, units: As of :func:`~stereotrope.measure.units.units_of`.
    Returns claim, across: Pictures that share seeds are not independent, though each be of its own prompt.
    """
    if not claim.prompts or SEED_COLUMN not in frame.columns:
        return claim, None
    told = frame[SEED_COLUMN]
    told = told.fill_nan(None) if told.dtype.is_float() else told
    seeds = (told.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()
    if told.null_count() or not share_seeds(units, seeds):
        return claim, None
    return replace(claim, dependent=True), Across(units, seeds)


class MeanGap(NamedTuple):
    """What seeds do to a mean of differences of scores, whose units are prompts, scenarios or queries.

    reach: How many times as far an interval reaches for it; 1 where units share no seeds that are known.
    few: Number of seeds where units share some, but fewer than can be told from them; else 0.
    moved: By how much each picture or set moves the mean, and of which unit and seed it is.
    """

    reach: float = 1.0
    few: int = 0
    moved: tuple[Across, Floats] | None = None

    @classmethod
    def of(cls, drawn: pl.DataFrame, *, level: float) -> MeanGap:
        """Of differences of means of pictures or sets.

        drawn: What each mean is of: ``unit, side, seed, n``, the ``sum`` over so many, and by how much a
            picture or set more of it moves the mean of the differences, ``weight``; of each unit weights of
            sides cancel.
        """
        if drawn.is_empty():
            return cls()
        unit, side, seed = (drawn[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in _DRAWN)
        n_units, n_seeds = int(unit.max()) + 1, int(seed.max()) + 1
        pairs = np.unique(unit * n_seeds + seed)
        if n_units < FEWEST_PROMPTS or len(pairs) <= n_seeds:
            return cls()
        if n_seeds < FEWEST_SEEDS:
            return cls(few=n_seeds)
        n, sums, weight = (drawn[name].to_numpy().astype(np.float64) for name in ("n", "sum", "weight"))
        cell = np.unique(unit * (int(side.max()) + 1) + side, return_inverse=True)[1]
        means = np.bincount(cell, sums) / np.bincount(cell, n)
        gap = np.asarray(np.bincount(unit, weight * sums), np.float64)
        if len(pairs) < FEW_TOGETHER * n_units:  # units that have a seed each are told from no other
            first = pairs[np.unique(pairs // n_seeds, return_index=True)[1]] % n_seeds
            return cls._of(Across(np.arange(n_units), first), gap, level)
        each = np.rint(n).astype(np.int64)
        # What a unit moves is added, all of it alike; where a side is a picture or two they are its mean.
        about = means[cell]
        if n.sum() < FEW_TOGETHER * len(means):
            of_cell = unit[np.unique(cell, return_index=True)[1]]
            about = (np.bincount(of_cell, means) / np.bincount(of_cell))[unit]
            gap = np.zeros(n_units)
        shown = _members(sums, each)
        across = Across(np.repeat(unit, each), np.repeat(seed, each))
        moved = np.repeat(weight, each) * (shown - np.repeat(about, each))
        moved += (gap / np.bincount(across.cluster))[across.cluster]
        return cls._of(across, moved, level)

    @classmethod
    def _of(cls, across: Across, moved: Floats, level: float) -> MeanGap:
        return cls(across.reach(moved, level=level), moved=(across, moved))

    @property
    def words(self) -> str:
        """What the method says of them."""
        if self.few:
            return f", with {self.few} shared seed{'s' * (self.few > 1)} alone"
        return f", {SEEDS_COUNTED}" * (self.reach > 1)

    def weakened(self, p: float) -> float:
        """p of a test that exchanges sides of units, which leaves what seeds do to one side as it is.

        Its normal quantile shrinks by how many times as far the interval reaches that ends at no difference:
        the less is known of seeds, the further one of a higher level.
        """
        if self.moved is None or not 0 < p < 1:
            return p
        across, moved = self.moved

        def at(level: float) -> float:
            return float(2 * special.ndtr(special.ndtri(p / 2) / across.reach(moved, level=level)))

        low, high = at(_USUAL), 1 - _USUAL
        if low >= high or low <= p:
            return low
        for _ in range(_HALVED):  # by its logarithm
            middle = float(np.sqrt(low * high))
            low, high = (middle, high) if at(1 - middle) > middle else (low, middle)
        return high

    def widened(self, value: float, end: float) -> float:
        """An end of an interval by the scatter of units."""
        return value + self.reach * (end - value) if self.reach > 1 else end


NOTHING_OF_SEEDS = MeanGap()


def drawn_by_seed(by_seed: pl.Series) -> pl.DataFrame | None:
    """``row, seed, sum, n`` of the column ``by_seed`` of estimates; None where it is not known of each."""
    if by_seed.is_empty() or by_seed.null_count():
        return None
    told = by_seed.cast(pl.String).str.json_decode(pl.List(pl.List(pl.Float64)))
    frame = pl.DataFrame({_ROW: pl.int_range(len(told), eager=True), "of": told}).explode("of")
    seed, total, n = (pl.col("of").list.get(at) for at in range(3))
    return frame.drop_nulls("of").select(_ROW, seed.alias(SEED_COLUMN), total.alias("sum"), n.alias("n"))


def _members(sums: Floats, n: NDArray[np.int64]) -> Floats:
    """What each of so many pictures shows, that a sum is of: 1 or 0, or the sum where there is one."""
    shown = np.repeat(np.where(n == 1, sums, 0.0), n)
    place = np.arange(len(shown)) - np.repeat(np.cumsum(n) - n, n)
    return np.where(np.repeat(n > 1, n) & (place < np.repeat(sums, n)), 1.0, shown)


def share_seeds(prompt: NDArray[np.int64], seed: NDArray[np.int64]) -> bool:
    """Whether prompts, four or more, share four seeds or more."""
    n_seeds, n_pairs = len(np.unique(seed)), np.unique(np.stack([prompt, seed]), axis=1).shape[1]
    return len(np.unique(prompt)) >= FEWEST_PROMPTS and n_seeds >= FEWEST_SEEDS and n_pairs > n_seeds


def _spread(sums: pl.DataFrame, size: int) -> Floats:
    """``row, of`` as an array, 0 of rows that are not there."""
    found = np.zeros(size)
    found[sums[_ROW].to_numpy()] = sums["of"].to_numpy()
    return found
