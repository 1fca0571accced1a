"""What the two sides of comparisons count for, where prompts and seeds make pictures alike."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.measure.cell_table import CellTable
from stereotrope.stats import ICC_GRID, special
from stereotrope.stats.arrays import Floats

_SIDES = (("cell", "k", "n", "clustered"), ("other", "j", "n_other", "clustered_other"))


class ComparedShares(NamedTuple):
    """Comparisons of shares.

    effective: Successes and trials of one side and of the other that would tell as much if independent.
    correlation: Of both, for :func:`stereotrope.stats.newcombe`.
    seeds: Correlation of what seeds do to one side alone, on average; 0 where none are shared.
    known: The part of the variance of the difference that is there without it, in (0, 1].
    """

    effective: tuple[Floats, Floats, Floats, Floats]
    correlation: Floats
    seeds: Floats
    known: Floats

    def weakened(self, p: Floats, rows: NDArray[np.int64]) -> Floats:
        """p-values of tests that exchange prompts, which leave what seeds do to one side as it is.

        Their normal quantiles shrink as the error of the difference grows.
        """
        part = self.known[rows]
        return np.asarray(np.where(part < 1, 2 * special.ndtr(special.ndtri(p / 2) * np.sqrt(part)), p))

    def words(self, row: int) -> str:
        """What the method says of seeds."""
        return f"; shared seeds, correlation {self.seeds[row]:.2f} apart" if self.known[row] < 1 else ""


def compared_shares(
    table: CellTable, rows: pl.DataFrame, correlation: Floats, *, level: float
) -> ComparedShares:
    """Effective numbers of both sides.

    rows: ``pair, cell, other, category, attribute, prompts``, and of both sides counts and whether pictures
        are alike within prompts.
    correlation: Of the shares of both sides over prompts that they have in common.
    """
    across, trials = _seeds_apart(table, rows), table.trials(level, seeds=False)
    alone, both, counts = [], [], []
    for cell, count, of, clustered in _SIDES:
        k, n = (rows[name].to_numpy().astype(np.float64) for name in (count, of))
        at = rows[cell].to_numpy().astype(np.int64)
        by_prompt = (rows[clustered] & rows["prompts"]).to_numpy()
        alone.append(np.where(by_prompt, trials[at], n))
        both.append(
            alone[-1] if across is None else np.where(by_prompt, table.trials_of(at, across, level), n)
        )
        counts += [np.where(both[-1] == n, k, k / n * both[-1]), both[-1]]
    seeds, known = np.zeros(rows.height), np.ones(rows.height)
    if across is not None:
        seeds = across @ ICC_GRID
        # What prompts have in common on both sides cancels; what seeds do to one side does not.
        shared = 2 * correlation / np.sqrt(alone[0] * alone[1])
        own = 1 / alone[0] + 1 / alone[1] - shared
        known = own / (1 / both[0] + 1 / both[1] - shared)
        correlation = correlation * np.sqrt(both[0] * both[1] / (alone[0] * alone[1]))
    return ComparedShares((counts[0], counts[1], counts[2], counts[3]), correlation, seeds, known)


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
