"""How sure a rank correlation is."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from scipy import stats as sps
from scipy.special import expit

from stereotrope.stats import spearman_interval, spearman_p


def ratios(rng, m, alike, spread=2.0, pictures=200):
    """Ratios of two models in ``m`` scenarios, many of them 0."""
    z = rng.normal(size=(m, 2))
    z[:, 1] = alike * z[:, 0] + np.sqrt(1 - alike**2) * z[:, 1]
    return (rng.binomial(pictures, expit(spread * z - 2)) / pictures).T


@pytest.mark.parametrize("seed", range(5))
def test_rho_and_p_are_those_of_scipy_ties_included(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 9, (2, 30)) / 8
    theirs = sps.spearmanr(x, y)
    assert spearman_interval(x, y)[0] == pytest.approx(theirs.statistic, abs=1e-12)
    assert spearman_p(x, y) == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_few_pairs_are_tested_by_all_orders(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 4, (2, 6))
    seen = abs(sps.spearmanr(x, y).statistic)
    every = [abs(sps.spearmanr(x, order).statistic) for order in permutations(y)]
    assert spearman_p(x, y) == pytest.approx(np.mean(np.array(every) >= seen - 1e-9))


def test_p_is_never_below_what_so_many_orders_allow():
    for m in (9, 12):
        assert spearman_p(np.arange(m), np.arange(m)) == pytest.approx(2 / factorial(m))
    assert spearman_p(np.arange(400), np.arange(400)) > 0


def test_the_influence_is_the_derivative_of_rho():
    """Each pair in turn counted slightly more: ρ of weighted mid-ranks, by brute force."""
    rng = np.random.default_rng(7)
    x, y = np.round(rng.normal(size=(2, 60)), 1)
    y = np.round(0.7 * x + y, 1)

    def rho(weight):
        weight = weight / weight.sum()
        f, g = (
            ((side[:, None] > side) * weight).sum(axis=1) + ((side[:, None] == side) * weight).sum(axis=1) / 2
            for side in (x, y)
        )
        f, g = f - weight @ f, g - weight @ g
        return (weight * f * g).sum() / np.sqrt((weight * f * f).sum() * (weight * g * g).sum())

    at, step = rho(np.ones(60)), 1e-5
    influence = np.array([(rho(1 + step * (np.arange(60) == i)) - at) / step * 60 for i in range(60)])
    error = influence.std(ddof=1) / np.sqrt(60) / (1 - at**2)
    of_normal = sps.norm.ppf(0.975) * np.sqrt((1 + at**2 / 2) / 57)
    reach = max(sps.t.ppf(0.975, 58) * error, of_normal)
    assert spearman_interval(x, y) == pytest.approx(
        (at, *np.tanh(np.arctanh(at) + np.array([-1, 1]) * reach)), abs=1e-5
    )


def test_what_cannot_be_said_is_nan():
    assert np.isnan(spearman_interval([1, 1, 1, 1, 1], [1, 2, 3, 4, 5])).all()
    assert (
        spearman_interval([1, 2, 3, 4], [1, 2, 4, 3])[1] != spearman_interval([1, 2, 3, 4], [1, 2, 4, 3])[1]
    )
    rho, low, high = spearman_interval(np.arange(9), np.arange(9))
    assert rho == pytest.approx(1)
    assert np.isnan([low, high]).all()
    assert np.isnan(spearman_p([1, 2], [1, 2]))
    assert np.isnan(spearman_p([1, 1, 1], [1, 2, 3]))


@pytest.mark.parametrize(("m", "alike"), [(15, 0.0), (25, 0.9), (100, 0.6)])
def test_the_interval_covers_where_many_ratios_are_tied(m, alike):
    rng = np.random.default_rng(11)
    true = sps.spearmanr(*ratios(rng, 200_000, alike)).statistic
    found = np.array([spearman_interval(*ratios(rng, m, alike)) for _ in range(600)])
    covered = np.mean((found[:, 1] <= true) & (true <= found[:, 2]))
    assert 0.93 < covered < 0.99


def test_the_interval_covers_where_half_of_the_pairs_run_against_the_rest():
    rng = np.random.default_rng(12)

    def drawn(m):
        x = rng.normal(size=m)
        return x, np.where(rng.random(m) < 0.5, x, -x)

    found = np.array([spearman_interval(*drawn(100)) for _ in range(600)])
    assert 0.93 < np.mean((found[:, 1] <= 0) & (found[:, 2] >= 0)) < 0.98
