"""Entropy, Jensen–Shannon divergence and its closed-form floor."""

from __future__ import annotations

import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy
from scipy.stats import hypergeom

from stereotrope.errors import UsageError
from stereotrope.stats import (
    chao_shen_entropy,
    divergence,
    entropy,
    even_entropy,
    expected_js,
    js_divergence,
    rarefied_entropy,
)


def test_entropy_of_a_hand_case() -> None:
    assert entropy([2, 1, 1]) == pytest.approx(1.5, abs=1e-15)
    assert entropy([7, 0]) == 0.0
    assert np.isnan(entropy([0, 0]))


def test_entropy_agrees_with_scipy() -> None:
    counts = np.random.default_rng(1).integers(0, 9, (4, 5, 6)) + np.eye(6, dtype=int)[0]
    np.testing.assert_allclose(entropy(counts), scipy_entropy(counts, base=2, axis=-1), atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 4, 7])
def test_rarefied_entropy_is_the_mean_over_all_subsets(m: int) -> None:
    counts = [4, 2, 1, 0]
    things = [v for v, times in enumerate(counts) for _ in range(times)]
    subsets = list(itertools.combinations(things, m))
    expected = np.mean([scipy_entropy(np.bincount(one, minlength=4), base=2) for one in subsets])
    assert rarefied_entropy(counts, m) == pytest.approx(expected, abs=1e-12)


def test_rarefied_entropy_is_undefined_of_fewer_and_plain_of_all() -> None:
    table = np.array([[3, 2, 0], [1, 1, 1], [5, 1, 4]])
    assert np.isnan(rarefied_entropy(table, 4)).tolist() == [False, True, False]
    assert rarefied_entropy([3, 2], 5) == pytest.approx(entropy([3, 2]))
    with pytest.raises(UsageError, match="m must be at least 1, found 0"):
        rarefied_entropy([3, 2], 0)


@pytest.mark.parametrize("m", [2, 10])
def test_rarefied_entropy_of_many_things_is_that_of_all_ways(m: int) -> None:
    counts = np.array([[250, 100, 50, 3, 0], [1, 0, 299, 0, 2], [400, 0, 0, 0, 0], [129, 128, 0, 0, 0]])
    expected = [
        sum(
            -math.comb(x, j) * math.comb(n - x, m - j) / math.comb(n, m) * j / m * math.log2(j / m)
            for x in row
            for j in range(1, m + 1)
        )
        for row, n in zip(counts.tolist(), counts.sum(axis=1).tolist(), strict=True)
    ]
    np.testing.assert_allclose(rarefied_entropy(counts, m), expected, atol=1e-11)


@pytest.mark.parametrize("of", [entropy, chao_shen_entropy, lambda counts: rarefied_entropy(counts, 7)])
@pytest.mark.parametrize(("n", "lacking"), [(20, 0.0), (20, 0.3), (3_000, 0.0), (3_000, 0.3), (10**6, 0.1)])
def test_entropies_of_many_resamples_are_those_of_each(of, n: int, lacking: float) -> None:
    rng = np.random.default_rng(n)
    shares = np.append(rng.dirichlet(np.full(5, 0.3)) * (1 - lacking), lacking)
    drawn = np.concatenate(
        [rng.multinomial(n, shares, size=800), np.eye(6, dtype=int) * n, np.zeros((1, 6), int)]
    )
    whole = drawn[:, :5]
    together, each = of(whole), np.array([float(of(row)) for row in whole])
    np.testing.assert_allclose(together, each, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(of(whole.astype(float)), each, rtol=1e-12, atol=1e-12)
    assert np.isnan(together[-2:]).all()
    assert together[-7:-2].max() == 0.0
    np.testing.assert_array_equal(of(whole.reshape(-1, 3, 5)), together.reshape(-1, 3))


def test_entropy_of_equally_frequent_values_is_what_draws_of_them_show() -> None:
    ways = list(itertools.product(range(3), repeat=4))
    expected = np.mean([scipy_entropy(np.bincount(one, minlength=3), base=2) for one in ways])
    assert even_entropy(4, 3) == pytest.approx(expected, abs=1e-12)
    assert even_entropy(8, None) == 3.0
    assert even_entropy(8, 10**7) == pytest.approx(3.0, abs=1e-5)


def test_js_of_a_hand_case() -> None:
    # P = (1, 0), Q = (1/2, 1/2): H(3/4, 1/4) − 1/2.
    expected = -(0.75 * np.log2(0.75) + 0.25 * np.log2(0.25)) - 0.5
    assert js_divergence([4, 0], [3, 3]) == pytest.approx(expected, abs=1e-15)


def test_js_is_0_for_equal_1_for_disjoint_and_undefined_for_empty() -> None:
    assert js_divergence([2, 4, 0], [10, 20, 0]) == 0.0
    assert js_divergence([2, 4, 0], [0, 0, 7]) == 1.0
    assert np.isnan(js_divergence([0, 0], [1, 2]))


def test_js_agrees_with_scipy_over_leading_axes() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.integers(0, 6, (2, 40, 7)) + np.eye(7, dtype=int)[3]
    expected = jensenshannon(p, q, base=2, axis=1) ** 2
    np.testing.assert_allclose(js_divergence(p, q), expected, atol=1e-12)


@pytest.mark.parametrize(("n_p", "n_q"), [(20, 20), (20, 17), (20, 200), (1, 3)])
def test_floor_equals_the_sum_over_the_hypergeometric(n_p: int, n_q: int) -> None:
    rng = np.random.default_rng(n_q)
    pool = np.bincount(rng.integers(0, 5, n_p + n_q), minlength=5)
    expected = 0.0
    for c in pool.tolist():
        for x in range(max(0, c - n_q), min(c, n_p) + 1):
            p, q = x / n_p, (c - x) / n_q
            terms = [a * np.log2(a) if a > 0 else 0.0 for a in (p, q, (p + q) / 2)]
            expected += hypergeom.pmf(x, n_p + n_q, c, n_p) * ((terms[0] + terms[1]) / 2 - terms[2])
    assert expected_js(pool, n_p, n_q) == pytest.approx(expected, abs=1e-12)
    assert expected_js(pool, n_q, n_p) == pytest.approx(expected, abs=1e-12)


def test_floor_of_large_groups_leaves_out_only_what_has_no_weight() -> None:
    c, n_p, n_q = 1500, 4000, 900
    x = np.arange(max(0, c - n_q), min(c, n_p) + 1)
    whole = 0.0
    for count in (c, n_p + n_q - c):
        x = np.arange(max(0, count - n_q), min(count, n_p) + 1)
        p, q = x / n_p, (count - x) / n_q
        xlogx = [np.where(a > 0, a * np.log2(np.maximum(a, 1e-300)), 0.0) for a in (p, q, (p + q) / 2)]
        whole += float(hypergeom.pmf(x, n_p + n_q, count, n_p) @ ((xlogx[0] + xlogx[1]) / 2 - xlogx[2]))
    assert expected_js([c, n_p + n_q - c], n_p, n_q) == pytest.approx(whole, rel=1e-8)


@pytest.mark.parametrize(("n_p", "n_q"), [(150, 150), (400, 700), (30, 600)])
def test_floors_between_counts_are_near_and_those_in_steps_have_every_digit(n_p: int, n_q: int) -> None:
    pooled = np.arange(1, n_p + n_q)
    term = np.array([expected_js([c, n_p + n_q - c], n_p, n_q) for c in pooled[:: len(pooled) // 40]])
    expected = []
    for c in pooled[:: len(pooled) // 40]:
        x = np.arange(max(0, c - n_q), min(c, n_p) + 1)
        sides = np.stack([x, n_p - x], axis=1), np.stack([c - x, n_q - c + x], axis=1)
        expected.append(hypergeom(n_p + n_q, c, n_p).pmf(x) @ js_divergence(*sides))
    np.testing.assert_allclose(term, expected, rtol=1e-8)
    exact = divergence.floor_terms(pooled, n_p, n_q, exact=True)
    np.testing.assert_allclose(divergence.floor_terms(pooled, n_p, n_q), exact, rtol=1e-4)


def test_floor_is_one_for_each_row_of_sizes() -> None:
    pools = np.array([[20, 20], [30, 7], [40, 0]])
    n_p, n_q = np.array([20, 20, 20]), np.array([20, 17, 20])
    single = [float(expected_js(pool, p, q)) for pool, p, q in zip(pools, n_p, n_q, strict=True)]
    np.testing.assert_array_equal(expected_js(pools, n_p, n_q), single)
    assert single[2] == 0.0
    assert np.isnan(expected_js([5, 5], 10, 0))


def test_floor_reproduces_the_simulated_noise_floors(shared: Path) -> None:
    with (shared / "data/soda/noise_floor.csv").open(newline="") as file:
        rows = [row for row in csv.reader(file) if row[0].startswith("uniform k=")]
    assert len(rows) == 12
    rng = np.random.default_rng(3)
    for name, size, js_bits, *_ in rows:
        k, n = int(name[len("uniform k=")]), int(size)
        pools = rng.multinomial(2 * n, [1 / k] * k, size=400)
        floor = float(np.mean(expected_js(pools, n, n)))
        # The table is itself a simulation, printed to four decimals.
        assert floor == pytest.approx(float(js_bits), rel=0.03, abs=2e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: entropy([-1, 2]), "counts must be 0 or more, found -1"),
        (lambda: entropy(3), "expected an array of counts"),
        (lambda: js_divergence([1, np.nan], [1, 1]), "counts must be 0 or more"),
        (lambda: entropy([]), "entropy: expected counts of one value or more"),
        (
            lambda: js_divergence([1, 2], [1, 2, 3]),
            "must count the same values, found 2 of counts_p and 3 of counts_q",
        ),
        (lambda: expected_js([1.5, 2.5], 2, 2), "counts must be whole numbers"),
        (lambda: expected_js([3, 3], 4, 3), "must sum to n_p \\+ n_q"),
    ],
)
def test_bad_counts_are_refused(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(UsageError, match=message):
        call()
