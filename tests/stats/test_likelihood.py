"""Upper ends of divergences by the likelihood."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import xlogy

from stereotrope.stats import divergence, js_divergence
from stereotrope.stats.divergence import greatest_js

Z2 = 1.959963984540054**2


def searched(k: int, n: int, j: int, m: int) -> float:
    """The same by trying every pair of shares on a grid."""
    grid = np.linspace(0.0, 1.0, 1001)
    a, b = grid[:, None], grid[None, :]

    def likelihood(k: int, n: int, share: np.ndarray) -> np.ndarray:
        return xlogy(k, share) + xlogy(n - k, 1 - share)

    best = float(likelihood(k, n, np.array(k / n)) + likelihood(j, m, np.array(j / m)))
    inside = 2 * (best - likelihood(k, n, a) - likelihood(j, m, b)) <= Z2
    p = np.stack(np.broadcast_arrays(a, 1 - a), axis=-1)
    q = np.stack(np.broadcast_arrays(b, 1 - b), axis=-1)
    return float(js_divergence(*np.broadcast_arrays(p, q))[inside].max())


@pytest.mark.parametrize(
    "counts", [(20, 20, 19, 20), (20, 20, 20, 20), (10, 10, 3, 17), (0, 5, 5, 5), (13, 20, 7, 9)]
)
def test_it_is_what_a_search_over_all_shares_finds(counts: tuple[int, int, int, int]) -> None:
    k, n, j, m = counts
    assert greatest_js([k, j], [n, m]) == pytest.approx(searched(*counts), abs=0.003)


def test_it_lies_above_the_divergence_and_grows_with_the_level() -> None:
    seen = float(js_divergence([20, 0], [18, 2]))
    reached = [greatest_js([20, 18], [20, 20], level=level) for level in (0.5, 0.8, 0.95, 0.99)]
    assert seen < reached[0]
    assert reached == sorted(reached)


def test_sides_and_values_may_change_places() -> None:
    there = greatest_js([20, 15], [20, 17])
    assert greatest_js([15, 20], [17, 20]) == pytest.approx(there, abs=1e-9)
    assert greatest_js([0, 2], [20, 17]) == pytest.approx(there, abs=1e-9)


def test_a_third_group_that_agrees_with_one_takes_the_mean_down() -> None:
    two, three = greatest_js([20, 19], [20, 20]), greatest_js([20, 20, 19], [20, 20, 20])
    assert float(js_divergence([20, 0], [19, 1])) * 2 / 3 < three < two


def test_it_is_undefined_with_one_group_and_leaves_out_empty_ones() -> None:
    assert math.isnan(greatest_js([0, 3], [0, 4]))
    assert greatest_js([3, 0, 4], [5, 0, 5]) == greatest_js([3, 4], [5, 5])


def test_many_groups_are_those_of_the_pairs_that_spend_the_budget() -> None:
    k, n = [20, 17, 0, 3, 11], [20, 20, 14, 9, 30]
    reached = [divergence._shares_at(a, b, 0.95) for a, b in zip(k, n, strict=True)]
    best = 0.0
    for spending in combinations(range(5), 2):
        for ends in product(range(2), range(2)):
            for part in range(33):
                shares = [a / b for a, b in zip(k, n, strict=True)]
                for group, end, split in zip(spending, ends, (part, 32 - part), strict=True):
                    shares[group] = reached[group][end][split]
                each = [js_divergence([a, 1 - a], [b, 1 - b]) for a, b in combinations(shares, 2)]
                best = max(best, sum(each) / len(each))
    assert greatest_js(k, n) == pytest.approx(best, abs=1e-12)
