"""What the two sides of comparisons count for, where prompts and seeds make pictures alike."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.measure.cell_table import CellTable
from stereotrope.stats import ICC_GRID, special
from stereotrope.stats.arrays import Floats

_REACHES = np.array([1.0, 1.96, 2.8, 4.0, 5.5, 7.5])
"""Of how many standard errors intervals are asked what seeds do to them."""
_ALL = 1 - 1e-9
"""Part of the variance from which on seeds add nothing but rounding."""
_SIDES = (("cell", "k", "n", "clustered"), ("other", "j", "n_other", "clustered_other"))


class ComparedShares(NamedTuple):
    """Comparisons of shares.

    effective: Successes and trials of one side and of the other that would tell as much if independent.
    correlation: Of both, for :func:`stereotrope.stats.newcombe`.
    seeds: Correlation of what seeds do to one side alone, on average; 0 where none are shared.
    known: The part of the variance of the difference that is there without it, in (0, 1], of intervals that
        reach each of :data:`_REACHES`; shape ``(6, …)``.
    """

    effective: tuple[Floats, Floats, Floats, Floats]
    correlation: Floats
    seeds: Floats
    known: Floats

    def weakened(self, p: Floats, rows: NDArray[np.int64]) -> Floats:
        """p-values of tests that exchange prompts, which leave what seeds do to one side as it is.

        Their normal quantiles shrink to that of the interval which ends at no difference: the less is known
        of seeds, the further one of a higher level.
        """
        z, known = -special.ndtri(np.asarray(p) / 2), self.known[:, rows]
        reached = _REACHES[:, None] / np.sqrt(known)
        beyond = z * np.sqrt(known[-1])
        left = [np.interp(*of) for of in zip(z, reached.T, [_REACHES] * len(z), strict=True)]
        shrunk = np.where(z > reached[-1], beyond, np.where(z < reached[0], z * np.sqrt(known[0]), left))
        return np.asarray(np.where(known[0] < _ALL, np.maximum(p, 2 * special.ndtr(-shrunk)), p))

    def words(self, row: int) -> str:
        """What the method says of seeds."""
        return f"; shared seeds, correlation {self.seeds[row]:.2f} apart" if self.known[0, row] < _ALL else ""


def compared_shares(
    table: CellTable, rows: pl.DataFrame, correlation: Floats, *, level: float
) -> ComparedShares:
    """Effective numbers of both sides.

    rows: ``pair, cell, other, category, attribute, prompts``, and of both sides counts and whether pictures
        are alike within prompts.
    correlation: Of the shares of both sides over prompts that they have in common.
    """
    across = _seeds_apart(table, rows)
    alone, both = _trials(table, rows, across, level)
    seeds, known = np.zeros(rows.height), np.ones((len(_REACHES), rows.height))
    left = correlation
    if across is not None:
        seeds = across @ ICC_GRID
        for at, reach in enumerate(_REACHES):
            by_prompts, by_seeds = _trials(table, rows, across, 1 - 2 * float(special.ndtr(-reach)))
            # What prompts have in common on both sides cancels; what seeds do to one side does not.
            shared = 2 * correlation / np.sqrt(by_prompts.prod(axis=0))
            known[at] = ((1 / by_prompts).sum(axis=0) - shared) / ((1 / by_seeds).sum(axis=0) - shared)
        left = correlation * np.sqrt((both / alone).prod(axis=0))
    counts = []
    for effective, (_, count, of, _) in zip(both, _SIDES, strict=True):
        k, n = (rows[name].to_numpy().astype(np.float64) for name in (count, of))
        counts += [np.where(effective == n, k, k / n * effective), effective]
    return ComparedShares((counts[0], counts[1], counts[2], counts[3]), left, seeds, known)


def _trials(
    table: CellTable, rows: pl.DataFrame, across: Floats | None, level: float
) -> tuple[Floats, Floats]:
    """Effective numbers of both sides, shape (2, n): by what prompts make alike, and by what seeds do too."""
    trials = table.trials(level, seeds=False)
    # All values of a pair have the same.
    first, pair = np.unique(rows["pair"].to_numpy(), return_index=True, return_inverse=True)[1:]
    rows, across = rows[first], None if across is None else across[first]
    alone, both = np.empty((2, 2, rows.height))
    for side, (cell, _, of, clustered) in enumerate(_SIDES):
        at, n = rows[cell].to_numpy().astype(np.int64), rows[of].to_numpy().astype(np.float64)
        by_prompt = (rows[clustered] & rows["prompts"]).to_numpy()
        alone[side] = np.where(by_prompt, trials[at], n)
        both[side] = alone[side]
        if across is not None:
            both[side] = np.where(by_prompt, table.trials_of(at, across, level), n)
    return alone[:, pair], both[:, pair]


def _seeds_apart(table: CellTable, rows: pl.DataFrame) -> Floats | None:
    """By row, how probable each correlation is of what seeds do to one side alone; None without shared."""
    if table.seeds is None or rows.is_empty():
        return None
    first, pair = np.unique(rows["pair"].to_numpy(), return_index=True, return_inverse=True)[1:]
    kin = table.kin.gather(rows["cell"].gather(first)).to_list()
    told = table.seeds.weights_of_pairs(rows["cell"], rows["other"], rows["category"], pair, kin)
    across = np.asarray(told[pair], np.float64)
    cell, other = (rows[side].to_numpy().astype(np.int64) for side in ("cell", "other"))
    here, there = table.seeds.alike[cell] > 0, table.seeds.alike[other] > 0
    if table.seed_weights is not None:  # where one side alone shares seeds, nothing of them cancels
        alone = here != there
        across[alone] = table.seed_weights[np.where(here, cell, other)[alone]]
    return across
