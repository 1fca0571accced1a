"""The exact tail of the Jensen–Shannon divergence of two sides."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest

from stereotrope.errors import UsageError
from stereotrope.stats import cauchy_combined, fisher_exact, greatest_shift, js_divergence, js_tail
from stereotrope.stats import tails as js_tails


def every_table(pooled: list[int], n: int) -> tuple[np.ndarray, np.ndarray]:
    """All tables with these margins, and the probability of each under shuffled sides."""
    tables = np.array([t for t in product(*(range(c + 1) for c in pooled)) if sum(t) == n])
    ways = [np.prod([float(comb(c, x)) for c, x in zip(pooled, t, strict=True)]) for t in tables.tolist()]
    return tables, np.array(ways) / comb(sum(pooled), n)


@pytest.mark.parametrize(
    ("first", "second"),
    [([6, 0, 0], [0, 3, 3]), ([3, 2, 1, 1], [0, 1, 4, 4]), ([1, 2], [5, 5]), ([2, 2, 2], [2, 2, 2])],
)
def test_the_tail_is_that_of_all_tables_counted_out(first: list[int], second: list[int]) -> None:
    pooled = np.add(first, second)
    tables, weights = every_table(pooled.tolist(), sum(first))
    scores, own = js_divergence(tables, pooled - tables), float(js_divergence(first, second))
    p, ties = weights[scores >= own - 1e-9].sum(), weights[np.isclose(scores, own, atol=1e-9)].sum()
    least = weights[scores >= scores.max() - 1e-9].sum()
    found = [float(one[0]) for one in js_tail([first], [second])]
    assert found == pytest.approx([p, p - ties / 2, least], rel=1e-9)


def test_two_values_of_sides_of_one_size_are_fishers_test() -> None:
    x = np.arange(21)
    p, mid, _ = js_tail(np.stack([x, 20 - x], 1), np.stack([9 + 0 * x, 11 + 0 * x], 1))
    assert p == pytest.approx(fisher_exact(x, 20, 9, 20), rel=1e-9)
    assert (mid < p).all()


def test_sides_and_values_may_be_swapped_whatever_the_path() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.multinomial(20, [0.25] * 3 + [0.05] * 5, 30), rng.multinomial(31, [0.125] * 8, 30)
    p, _, least = js_tail(first, second)
    assert js_tails._tables(tuple(sorted((first + second)[0].tolist())), 20, 31) is None
    for one, other in ((second, first), (first[:, ::-1], second[:, ::-1])):
        assert js_tail(one, other)[0] == pytest.approx(p, rel=1e-6)
    assert (least <= p).all()


@pytest.mark.slow
def test_approximated_tails_are_near_the_exact_ones_and_keep_their_level(monkeypatch) -> None:
    """Margins that are counted out, by both ways: all tables as what was seen, each as often as it comes."""
    for pooled, n in (([15, 10, 5, 4, 3, 2, 1], 20), ([12, 9, 7, 5, 5], 18)):
        tables, weights = every_table(pooled, n)
        others = np.array(pooled) - tables
        with monkeypatch.context() as patch:
            patch.setattr(js_tails, "_COUNTED_OUT", 10**6)
            js_tails._tables.cache_clear()
            exact = js_tail(tables, others)[0]
            patch.setattr(js_tails, "_COUNTED_OUT", 0)
            js_tails._tables.cache_clear()
            near = js_tail(tables, others)[0]
        js_tails._tables.cache_clear()
        far = (exact < 0.01) & (exact > 1e-8)
        assert 0.6 < (near / exact)[far].min() <= (near / exact)[far].max() < 2.0
        for alpha in (0.05, 0.001, 1e-5):
            assert weights[near <= alpha].sum() <= 1.1 * alpha


@pytest.mark.parametrize("values", [2, 3, *(pytest.param(k, marks=pytest.mark.slow) for k in (5, 8))])
def test_levels_of_the_tests_of_a_divergence_are_kept_by_the_average_over_margins(values: int) -> None:
    rng = np.random.default_rng(values)
    shares = rng.dirichlet(np.ones(values), 2_000)
    first, second = (np.array([rng.multinomial(20, one) for one in shares]) for _ in range(2))
    mid, shift = js_tail(first, second)[1], greatest_shift(first, second)[1]
    error = 3 * np.sqrt(0.05 / len(shares))
    for p in (mid, cauchy_combined(np.stack([mid, shift], axis=1))):
        assert np.mean(p <= 0.05) < 0.05 + error
        assert np.mean(p <= 0.001) < 0.001 + 3 * np.sqrt(0.001 / len(shares))


def test_a_side_without_a_count_has_no_p_and_tables_that_are_all_alike_have_p_1() -> None:
    apart = [1] * 20 + [0] * 20
    p, mid, least = js_tail([[0, 0], [5, 0]], [[3, 1], [7, 0]])
    assert np.isnan([p[0], mid[0], least[0]]).all()
    assert (p[1], least[1]) == (1.0, 1.0)
    assert js_tail([apart], [apart[::-1]])[0].tolist() == [1.0]


def test_many_pictures_are_approximated_and_disjoint_ones_bounded() -> None:
    p = js_tail([[400, 300, 200, 100], [400, 300, 200, 100]], [[410, 290, 205, 95], [100, 200, 300, 400]])[0]
    assert 0.5 < p[0] < 1.0
    assert 0 < p[1] < 1e-80
    disjoint = js_tail([[9, 8, 7, 6, 5, 5, 0, 0, 0, 0, 0, 0]], [[0, 0, 0, 0, 0, 0, 9, 8, 7, 6, 5, 5]])[0][0]
    assert 1 / comb(80, 40) <= disjoint < 1e-18


@pytest.mark.parametrize(("n", "m"), [(3_000, 3_000), (2_500, 6_000)])
def test_counts_passed_over_change_no_tail_by_a_hundredth(monkeypatch, n: int, m: int) -> None:
    rng = np.random.default_rng(n + m)
    p, other = rng.dirichlet(np.ones(4), 2)
    q = np.stack([0.92 * p + 0.08 * other, p])
    sides = np.stack([rng.multinomial(n, p)] * 2), np.array([rng.multinomial(m, one) for one in q])
    some = js_tail(*sides)[0]
    monkeypatch.setattr(js_tails, "_EVERY_COUNT", n)
    np.testing.assert_allclose(some, js_tail(*sides)[0], rtol=0.01)
    assert some.min() < 0.05


@pytest.mark.parametrize(("n", "m"), [(3_000, 9_000), (200_000, 200_000)])
def test_sides_of_thousands_that_have_little_in_common_have_the_least_p(n: int, m: int) -> None:
    first, second = [0.45, 0.05, 0.3, 0.2], [0.02, 0.58, 0.1, 0.3]
    sides = (np.round(n * np.array(first))[None], np.round(m * np.array(second))[None])
    assert js_tail(*sides)[0][0] < 1e-300
    assert 0.1 < js_tail(sides[0], np.round(m * np.array(first))[None] + [[9, -9, 5, -5]])[0][0] <= 1


@pytest.mark.parametrize("counts", [([[1, 2]], [[1, 2, 3]]), ([[-1, 2]], [[1, 2]])])
def test_what_are_no_counts_of_the_same_values_is_refused(counts) -> None:
    with pytest.raises(UsageError, match="both sides need whole counts of the same values"):
        js_tail(*counts)
