"""Cells as columns: what is said of each of many thousands is computed over arrays, never cell by cell."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.measure.cells import Cell
from stereotrope.measure.seeds import SharedSeeds
from stereotrope.measure.units import SEED_COLUMN
from stereotrope.stats import (
    ICC_GRID,
    Crossed,
    cluster_share_interval,
    icc_evidence,
    icc_priors,
    joint_evidence,
    sizes_alike,
    special,
    widened_number,
)
from stereotrope.stats.arrays import Floats

_CELL = "cell"
"""Column with the number of a cell."""
_AT_ONCE, _COUNTS_AT_ONCE = 256, 1_000_000
"""Values whose counts of all prompts are in memory at once, and how many counts of many values are."""

_Ints = NDArray[np.int64]


class PromptCounts(NamedTuple):
    """Prompts of several cells, one cell after the other: successes, trials, and where each cell
    begins and how many prompts it has."""

    k: _Ints
    n: _Ints
    starts: _Ints
    sizes: _Ints

    def of_size(self, some: _Ints, size: int) -> tuple[_Ints, _Ints]:
        """Successes and trials of some cells that have so many prompts, a row each."""
        at = self.starts[some, None] + np.arange(size)
        return self.k[at], self.n[at]


@dataclass(frozen=True)
class CellTable:
    """Cells in rows: what was seen, and what was left out, in each combination of factors and each attribute.

    levels: The factors.
    cells: ``attribute, n, missing, n_excluded, lacks_much, clustered, holds_for, n_prompts`` (those that are
        known), ``dependent, unknown, flags``, JSON ``excluded``.
    left_out: ``cell, excluded, n``: how many labels do not count, by reason.
    """

    levels: pl.DataFrame
    cells: pl.DataFrame
    left_out: pl.DataFrame
    _seen: pl.DataFrame
    """``cell, value, prompt_id, k``: how many pictures of a prompt have a value that counts."""
    seeds: SharedSeeds | None = None
    """What is known of seeds, where prompts share some."""
    _drawn: pl.DataFrame | None = None
    """``cell, value, seed, k``: how many pictures of a seed have a value, of cells all of whose seeds are
    known; None without seeds."""

    def levels_of(self, cells: pl.Series) -> pl.DataFrame:
        """The factors of some cells."""
        return self.levels[cells] if self.levels.width else self.levels

    @cached_property
    def _prompts(self) -> pl.DataFrame:
        """``cell, prompt_id, n``: usable labels of each prompt, sorted."""
        totals = self._seen.group_by(_CELL, "prompt_id").agg(n=pl.col("k").sum())
        return totals.sort(_CELL, pl.col("prompt_id").fill_null(""))

    @cached_property
    def sizes(self) -> _Ints:
        """Prompts of each cell that have a usable label, the one that is not known too."""
        return np.bincount(self._prompts[_CELL].to_numpy(), minlength=self.cells.height)

    @cached_property
    def values(self) -> pl.DataFrame:
        """``cell, value, k``: how many images of a cell have each value that it shows."""
        return self._seen.group_by(_CELL, "value", maintain_order=True).agg(pl.col("k").sum())

    def categories(self) -> dict[str, list[str]]:
        """Values seen of each attribute over all cells, the most frequent first, ties by name."""
        attribute = self.cells["attribute"].gather(self.values[_CELL])
        totals = self.values.with_columns(attribute=attribute).group_by("attribute", "value")
        ordered = totals.agg(pl.col("k").sum()).sort(
            "attribute", "k", "value", descending=[False, True, False]
        )
        found = ordered.group_by("attribute", maintain_order=True).agg("value")
        none: dict[str, list[str]] = {
            name: [] for name in self.cells["attribute"].unique(maintain_order=True)
        }
        return none | dict(found.iter_rows())

    def count(self, cell: pl.Series, category: pl.Series) -> pl.Series:
        """How many images of each of some cells have a value."""
        asked = pl.DataFrame({_CELL: cell.cast(pl.UInt32), "value": category})
        found = asked.join(self.values, on=[_CELL, "value"], how="left", maintain_order="left")
        return found["k"].fill_null(0)

    def by_seed(self, cell: pl.Series, category: pl.Series) -> pl.Series:
        """The column ``by_seed`` of estimates of the share of a value in each of some cells."""
        if self._drawn is None:
            return pl.repeat(None, len(cell), dtype=pl.String, eager=True)
        asked = pl.DataFrame({_CELL: cell.cast(pl.UInt32), "value": category}).with_row_index("row")
        n = self._drawn.group_by(_CELL, SEED_COLUMN).agg(n=pl.col("k").sum())
        keys = [_CELL, "value", SEED_COLUMN]
        rows = asked.join(n, on=_CELL).join(self._drawn, on=keys, how="left").sort("row", SEED_COLUMN)
        each = pl.format("[{}, {}, {}]", SEED_COLUMN, pl.col("k").fill_null(0), "n")
        told = rows.group_by("row").agg(by_seed=pl.format("[{}]", each.str.join(", ")))
        return asked.join(told, on="row", how="left", maintain_order="left")["by_seed"]

    def clusters(self, cell: pl.Series, category: pl.Series) -> PromptCounts:
        """How many images of each prompt of some cells have a value."""
        cells = cell.to_numpy().astype(np.int64)
        sizes = self.sizes[cells]
        starts = np.cumsum(sizes) - sizes
        first = np.cumsum(self.sizes) - self.sizes
        own = np.arange(sizes.sum()) + np.repeat(first[cells] - starts, sizes)
        asked = self._prompts[own].with_columns(value=category[np.repeat(np.arange(len(cells)), sizes)])
        keys = [_CELL, "value", "prompt_id"]
        found = asked.join(self._seen, on=keys, how="left", nulls_equal=True, maintain_order="left")
        return PromptCounts(found["k"].fill_null(0).to_numpy(), asked["n"].to_numpy(), starts, sizes)

    @cached_property
    def kin(self) -> pl.Series:
        """Of each cell a number of those that are taken to be as alike: of an attribute, by an annotator.

        What several annotators say of the same pictures is not known several times.
        """
        own = self.cells.select("attribute").hstack(self.levels.select(pl.col("^annotator$")))
        return own.select(pl.struct(pl.all()).rank("dense")).to_series()

    @cached_property
    def _evidence(self) -> tuple[pl.DataFrame, Floats]:
        """``cell, value`` of cells whose units are prompts, and what each says of the correlation."""
        clustered = self.cells["clustered"].gather(self.values[_CELL])
        asked = self.values.filter(clustered).sort(_CELL, "value").select(_CELL, "value")
        if asked.is_empty():
            return asked, np.zeros((0, ICC_GRID.size))
        ends = np.cumsum(self.sizes[asked[_CELL].to_numpy()])
        parts = np.split(np.arange(asked.height), np.flatnonzero(np.diff(ends // _COUNTS_AT_ONCE)) + 1)
        told = []
        for part in (asked[some] for some in parts):
            prompts = self.clusters(part[_CELL], part["value"])
            told.append(icc_evidence(prompts.k, prompts.n, prompts.starts))
        return asked, np.concatenate(told)

    def evidence(self, cell: pl.Series, category: pl.Series) -> Floats:
        """What the prompts of each of some cells say of the intra-class correlation of a value's share."""
        known, told = self._evidence
        asked = pl.DataFrame({_CELL: cell.cast(pl.UInt32), "value": category})
        at = asked.join(known.with_row_index("at"), on=[_CELL, "value"], how="left", maintain_order="left")
        place = at["at"].fill_null(len(told)).to_numpy()
        return np.asarray(np.vstack([told, np.zeros((1, ICC_GRID.size))])[place], np.float64)

    @cached_property
    def _evidence_of_cells(self) -> Floats:
        """What the values of each cell together say of the intra-class correlation."""
        known, told = self._evidence
        return joint_evidence(told, known[_CELL], self.cells.height)

    @cached_property
    def priors(self) -> Floats:
        """How probable each intra-class correlation is in each cell, by what others that are :attr:`kin` say.

        See :func:`stereotrope.stats.icc_priors`.
        """
        told = np.tile(icc_priors([])[0], (self.cells.height, 1))
        clustered = self.cells.select("clustered", kin=self.kin).with_row_index(_CELL).filter("clustered")
        ranks = [self.levels[name].rank("dense").fill_null(0).to_numpy() for name in self.levels.columns]
        for part in clustered.partition_by("kin", maintain_order=True):
            cells = part[_CELL].to_numpy()
            told[cells] = icc_priors(self._evidence_of_cells[cells], [rank[cells] for rank in ranks])
        return told

    @cached_property
    def weights(self) -> Floats:
        """The same, with what each cell itself says."""
        return np.asarray(special.softmax(self._evidence_of_cells + np.log(self.priors), axis=-1))

    @cached_property
    def alone(self) -> NDArray[np.bool_]:
        """Cells whose units are prompts of like sizes, without shared seeds, and which have no kin."""
        cells = self.cells.select("clustered", kin=self.kin)
        only = cells.select(pl.col("clustered") & (pl.col("clustered").sum().over("kin") == 1))
        apart = self.seeds.alike <= 0 if self.seeds is not None else True
        return np.asarray(only.to_series().to_numpy() & apart & sizes_alike(self.sizes, *self._prompt_sums))

    def intervals_alone(self, cell: pl.Series, category: pl.Series, level: Floats) -> Floats:
        """Both ends of the share of a value in each of some cells that stand :attr:`alone`.

        Values that prompts show as often, as most of an open attribute are, have one interval.
        """
        ends, known = np.empty((2, cell.len())), dict[tuple[int, float, bytes], tuple[float, float]]()
        for start in range(0, cell.len(), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            at, of = cell[part], category[part]
            prompts = self.clusters(at, of)
            told = self._evidence_of_cells[at.to_numpy()] - self.evidence(at, of)
            for row, one in enumerate(at.to_list()):
                own = slice(prompts.starts[row], prompts.starts[row] + prompts.sizes[row])
                counts = np.stack([prompts.k[own], prompts.n[own]])
                counts = counts[:, np.lexsort(counts)]
                key = one, float(level[start + row]), counts.tobytes()
                if key not in known:
                    known[key] = cluster_share_interval(*counts, level=key[1], told=told[row])
                ends[:, start + row] = known[key]
        return ends

    @cached_property
    def seed_weights(self) -> Floats | None:
        """How probable each correlation of pictures of a seed is in each cell; None without shared seeds."""
        if self.seeds is None:
            return None
        return self.seeds.weights(self.values.select(_CELL, "value"), self.kin.to_list())

    def trials(self, level: float, *, seeds: bool = True) -> Floats:
        """Images of each cell that would tell as much if they were independent (see stats.icc).

        seeds: Whether what pictures of one seed have in common counts.
        """
        across = self.seed_weights if seeds else None
        return self.trials_of(np.arange(self.cells.height), across, level)

    def trials_of(self, cells: _Ints, across: Floats | None, level: float) -> Floats:
        """The same of some cells, with how probable each correlation of pictures of a seed is in each."""
        found = self.cells["n"].to_numpy()[cells].astype(np.float64)
        some = np.flatnonzero(self.cells["clustered"].to_numpy()[cells])
        if some.size:
            asked = cells[some]
            total, squares = self._prompt_sums
            alike = squares[asked] / total[asked] - 1
            crossed = None
            if across is not None and self.seeds is not None:
                crossed = Crossed(self.seeds.alike[asked], across[some])
            found[some] = widened_number(
                total[asked], alike, self.weights[asked], level=level, crossed=crossed
            )
        return found

    @cached_property
    def _prompt_sums(self) -> tuple[Floats, Floats]:
        """Of each cell its pictures, and the sum of squares of those of its prompts."""
        cell, n = self._prompts[_CELL].to_numpy(), self._prompts["n"].to_numpy().astype(np.float64)
        size = self.cells.height
        return tuple(np.bincount(cell, of, size) for of in (n, n * n))  # type: ignore[return-value]

    def alike(self, cell: pl.Series, other: pl.Series) -> NDArray[np.bool_]:
        """Whether two cells have the same prompts, of each of several pairs."""
        one, two = cell.to_numpy(), other.to_numpy()
        same = np.flatnonzero(self.sizes[one] == self.sizes[two])
        pairs = pl.DataFrame({"pair": same, _CELL: one[same], "other": two[same]})
        prompts = self._prompts.select(_CELL, "prompt_id")
        both = pairs.join(prompts, on=_CELL).join(
            prompts, left_on=["other", "prompt_id"], right_on=[_CELL, "prompt_id"], nulls_equal=True
        )
        common = np.bincount(both["pair"].to_numpy(), minlength=len(one))
        return np.asarray((self.sizes[one] == self.sizes[two]) & (common == self.sizes[one]), bool)

    def one_by_one(self) -> list[Cell]:
        """The cells, each by itself."""
        keys = self.levels.rows() if self.levels.width else [()] * self.cells.height
        cells = [Cell(*told) for told in zip(keys, self.cells["attribute"], strict=True)]
        for at, value, prompt, k in self._seen.iter_rows():
            cells[at].seen.setdefault(value, Counter())[prompt] = k
        for at, reason, n in self.left_out.iter_rows():
            cells[at].excluded[reason] = n
        several = self.cells.select("clustered", kin=self.kin)
        n_kin = several.select(pl.col("clustered").sum().over("kin")).to_series()
        for cell, icc, kin in zip(cells, self.weights, n_kin, strict=True):
            cell.icc, cell.n_kin = icc, kin
        if self.seeds is not None and self.seed_weights is not None:
            for cell, alike, weights in zip(cells, self.seeds.alike, self.seed_weights, strict=True):
                cell.seeds = Crossed(alike, weights)
        return cells
