from __future__ import annotations

import math

import numpy as np
import pytest

from stereotrope.errors import UsageError
from stereotrope.stats import chao_shen_entropy


def by_hand(counts: list[int]) -> float:
    n, singles = sum(counts), counts.count(1)
    coverage = 1 - (n - 1 if singles == n else singles) / n
    total = 0.0
    for x in counts:
        if x:
            p = coverage * x / n
            total -= p * math.log2(p) / (1 - (1 - p) ** n)
    return total


@pytest.mark.parametrize("counts", [[4, 2, 1, 1], [10, 0, 10], [1, 1, 1, 1], [3, 3, 2, 1, 1, 1], [1]])
def test_chao_shen_agrees_with_a_loop(counts: list[int]) -> None:
    assert float(chao_shen_entropy(counts)) == pytest.approx(by_hand(counts))


def test_chao_shen_is_less_biased_than_the_plug_in() -> None:
    rng = np.random.default_rng(2)
    truth = rng.dirichlet(np.ones(15))
    entropy = -(truth * np.log2(truth)).sum()
    counts = rng.multinomial(20, truth, size=3_000)
    p = counts / 20
    plug_in = -(p * np.log2(np.where(p > 0, p, 1))).sum(axis=1)
    assert abs(chao_shen_entropy(counts).mean() - entropy) < 0.4 * abs(plug_in.mean() - entropy)


def test_one_value_has_no_entropy_and_no_count_has_none_defined() -> None:
    assert float(chao_shen_entropy([20, 0])) == 0.0
    assert np.isnan(chao_shen_entropy([[0, 0], [1, 1]])[0])


def test_chao_shen_refuses_negative_counts() -> None:
    with pytest.raises(UsageError, match="counts must be 0 or more, found -1"):
        chao_shen_entropy([-1, 2])


def test_counts_may_be_large() -> None:
    n = 10**9
    found = chao_shen_entropy(np.array([[n, 1], [5, 5]]))
    p = n / (n + 1) * np.array([n, 1]) / (n + 1)
    expected = -(p * np.log2(p) / -np.expm1((n + 1) * np.log1p(-p))).sum()
    assert found == pytest.approx([expected, chao_shen_entropy([5, 5])], rel=1e-6)
