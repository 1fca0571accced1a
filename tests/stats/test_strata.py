"""Captions or pictures exchanged inside strata: against every way to exchange them."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from stereotrope.stats import fisher_exact, strata_test


def every_way(k1: list[int], n1: list[int], k2: list[int], n2: list[int]) -> tuple[float, float]:
    """p and least p by listing every way to choose the first side of each stratum."""
    each = []
    for k, n, j, m in zip(k1, n1, k2, n2, strict=True):
        shown = [1] * (k + j) + [0] * (n + m - k - j)
        chosen = combinations(range(n + m), n)
        each.append([sum(shown[i] for i in some) for some in chosen])
    sums = np.array(
        [
            sum(x / n - (k + j - x) / m for x, k, n, j, m in zip(way, k1, n1, k2, n2, strict=True))
            for way in product(*each)
        ]
    )
    seen = abs(sum(k / n - j / m for k, n, j, m in zip(k1, n1, k2, n2, strict=True)))
    far = np.abs(sums)
    return float(np.mean(far >= seen - 1e-9)), float(np.mean(far >= far.max() - 1e-9))


@pytest.mark.parametrize(
    "counts",
    [
        ([3, 2], [3, 3], [1, 0], [3, 3]),
        ([2, 3], [4, 3], [1, 0], [2, 3]),
        ([3], [5], [0], [4]),
        ([3, 3], [3, 3], [0, 1], [3, 3]),
        ([1, 1, 2], [2, 2, 2], [0, 1, 0], [2, 3, 2]),
        ([0, 3], [3, 3], [3, 0], [3, 3]),
    ],
)
def test_p_is_the_part_of_all_ways_to_exchange(counts: tuple[list[int], ...]) -> None:
    assert strata_test(*counts) == pytest.approx(every_way(*counts))
    assert strata_test(*counts[2:], *counts[:2]) == pytest.approx(every_way(*counts))


def test_of_one_stratum_of_equal_sides_it_is_fishers() -> None:
    assert strata_test([5], [20], [12], [20])[0] == pytest.approx(fisher_exact(5, 20, 12, 20))


def test_what_strata_have_in_common_does_not_count_and_least_p_knows_the_margins_alone() -> None:
    p, least = strata_test([18, 2], [20, 20], [17, 3], [20, 20])
    assert p == 1.0
    assert strata_test([17, 3], [20, 20], [18, 2], [20, 20])[1] == least
    assert strata_test([20, 0], [20, 20], [15, 5], [20, 20])[1] == pytest.approx(least)


def test_without_a_success_or_with_successes_alone_nothing_is_told() -> None:
    assert strata_test([0, 4], [3, 4], [0, 5], [3, 5]) == (1.0, 1.0)
