from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from stereotrope.errors import UsageError
from stereotrope.stats import fisher_exact, greatest_shift, shifts


def counted_out(first: list[int], second: list[int]) -> tuple[float, float, float]:
    """p, mid-p and least p by listing every table with these margins."""
    pooled, n, m = np.add(first, second), sum(first), sum(second)

    def least_of(table: tuple[int, ...]) -> float:
        each = fisher_exact(table, n, pooled - np.array(table), m)
        return float(np.min(np.where(pooled > 0, each, 1.0)))

    tables = [t for t in product(*(range(c + 1) for c in pooled)) if sum(t) == n]
    weights = np.array([np.prod([float(comb(c, x)) for c, x in zip(pooled, t, strict=True)]) for t in tables])
    weights /= weights.sum()
    scores, own = np.array([least_of(t) for t in tables]), least_of(tuple(first))
    p, ties = weights[scores <= own * (1 + 1e-7)].sum(), weights[np.isclose(scores, own, rtol=1e-7)].sum()
    return p, p - ties / 2, weights[np.isclose(scores, scores.min(), rtol=1e-7)].sum()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([6, 0, 0], [0, 3, 3]),
        ([3, 2, 1, 1], [0, 1, 4, 4]),
        ([1, 2], [5, 5]),
        ([2, 2, 2], [2, 2, 2]),
        ([1, 1, 1, 0, 0, 3], [0, 0, 0, 1, 1, 4]),
    ],
)
def test_the_tail_is_that_of_all_tables_counted_out(first, second) -> None:
    found = [float(one[0]) for one in greatest_shift([first], [second])]
    assert found == pytest.approx(counted_out(first, second), rel=1e-9)


def test_two_values_are_fishers_test_and_p_is_as_small_as_it_is() -> None:
    p, mid, least = greatest_shift([[20, 0], [300, 0]], [[0, 20], [0, 300]])
    assert p[0] == pytest.approx(float(fisher_exact(20, 20, 0, 20))) == pytest.approx(1.45e-11, rel=0.01)
    assert mid[0] == pytest.approx(p[0] / 2)
    assert least[0] == p[0]
    assert p[1] == pytest.approx(float(fisher_exact(300, 300, 0, 300)))


def test_sides_and_values_may_be_swapped() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.multinomial(20, [0.5, 0.3, 0.2], 50), rng.multinomial(31, [0.5, 0.3, 0.2], 50)
    for one, other in ((second, first), (first[:, ::-1], second[:, ::-1])):
        assert np.allclose(greatest_shift(one, other), greatest_shift(first, second), rtol=1e-9)


def test_values_that_neither_side_has_change_nothing() -> None:
    rng = np.random.default_rng(4)
    first, second = (rng.multinomial(20, rng.dirichlet(np.ones(9)), 30) for _ in range(2))
    none = np.zeros((30, 500), np.int64)
    beside = greatest_shift(np.hstack([none, first]), np.hstack([none, second]))
    assert np.array_equal(beside, greatest_shift(first, second))


def test_a_side_without_a_count_has_no_p_and_one_value_alone_has_p_1() -> None:
    p, mid, least = greatest_shift([[0, 0], [5, 0]], [[3, 1], [7, 0]])
    assert np.isnan([p[0], mid[0], least[0]]).all()
    assert (p[1], least[1]) == (1.0, 1.0)


@pytest.mark.parametrize("n", [12, 20, 210])
def test_its_level_is_kept_and_mid_p_is_near_it(n) -> None:
    rng = np.random.default_rng(n)
    shares = rng.dirichlet(np.ones(5), 6_000 if n < 100 else 1_000)
    first, second = (np.array([rng.multinomial(n, one) for one in shares]) for _ in range(2))
    p, mid, least = greatest_shift(first, second)
    error = 3 * np.sqrt(0.05 / len(shares))
    assert np.mean(p <= 0.05) < 0.05 + error
    assert 0.03 < np.mean(mid <= 0.05) < 0.055 + error
    assert (least <= p * (1 + 1e-9)).all()


def sides(k: int, concentration: float, n: int, m: int, tests: int) -> list[np.ndarray]:
    """Counts of sides whose shares differ by more or less."""
    rng = np.random.default_rng([k, n, m])
    first, other = (rng.dirichlet(np.full(k, concentration), tests) for _ in range(2))
    part = (rng.random(tests) * 0.3 * (rng.random(tests) < 0.6))[:, None]
    both = (first, n), (first + part * (other - first), m)
    return [np.array([rng.multinomial(of, one) for one in shares]) for shares, of in both]


@pytest.mark.parametrize("k", [2, 3, 5, 30])
@pytest.mark.parametrize(("n", "m"), [(100, 100), (40, 300)])
def test_many_labels_are_tested_as_few_are(k, n, m, monkeypatch) -> None:
    # At 200 and 201 pictures a side mid-p is the same but for these per cent.
    counts = sides(k, 0.5, n, m, 200)
    exact = np.array(greatest_shift(*counts))
    monkeypatch.setattr(shifts, "_COUNTED_OUT", 0)
    bounded = np.array(greatest_shift(*counts))
    telling = exact[1] < 0.1
    ratio = bounded[:, telling] / exact[:, telling]
    assert telling.sum() > 15
    if k == 2:
        assert np.allclose(ratio, 1)
    assert 0.95 < ratio.min() <= ratio.max() < 1.2
    assert ratio[:, exact[1, telling] < 1e-3].max(initial=1) < 1.06


@pytest.mark.slow
@pytest.mark.parametrize("n", [201, 600])
@pytest.mark.parametrize("concentration", [0.3, 1.0, 10.0])
def test_many_labels_keep_the_level_far_out(n, concentration) -> None:
    rng = np.random.default_rng(n)
    shares = rng.dirichlet(np.full(5, concentration), 100_000)
    mid = greatest_shift(*(rng.multinomial(n, shares) for _ in range(2)))[1]
    for alpha in (0.05, 1e-3):
        assert np.mean(mid <= alpha) < 1.06 * alpha + 3 * np.sqrt(alpha / len(shares))
    assert np.mean(mid <= 0.05) > 0.04


@pytest.mark.parametrize("counts", [([[1, 2]], [[1, 2, 3]]), ([[-1, 2]], [[1, 2]])])
def test_what_are_no_counts_of_the_same_values_is_refused(counts) -> None:
    with pytest.raises(UsageError, match="both sides need whole counts of the same values"):
        greatest_shift(*counts)
