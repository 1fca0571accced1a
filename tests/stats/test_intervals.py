from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import end_at_level, fisher_z, newcombe, newcombe_p, normal_quantile, wilson


def wilson_by_inversion(k: int, n: int, level: float) -> tuple[float, float]:
    """Where the score test just rejects: the definition, solved numerically."""
    z = scipy_stats.norm.ppf(0.5 + level / 2)

    def score(p: float) -> float:
        return (k / n - p) ** 2 - z**2 * p * (1 - p) / n

    p = k / n
    low = optimize.brentq(score, 0, p) if k else 0.0
    high = optimize.brentq(score, p, 1) if k < n else 1.0
    return float(low), float(high)


@pytest.mark.parametrize(("k", "n"), [(0, 20), (1, 20), (7, 20), (20, 20), (3, 7), (1, 1)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_wilson_inverts_the_score_test(k: int, n: int, level: float) -> None:
    low, high = wilson(k, n, level=level)
    if 0 < k < n:
        assert (float(low), float(high)) == pytest.approx(wilson_by_inversion(k, n, level), abs=1e-9)
    elif k == 0:
        z = normal_quantile(level)
        assert float(low) == 0.0
        assert float(high) == pytest.approx(z**2 / (n + z**2))
    else:
        assert float(high) == 1.0
        assert float(low) == pytest.approx(n / (n + normal_quantile(level) ** 2))


@pytest.mark.parametrize(("k", "n"), [(0, 20), (1, 20), (7, 20), (20, 20), (299, 300), (0.4, 3.7)])
def test_an_end_at_another_level_is_that_of_as_many_trials(k: float, n: float) -> None:
    for level, other in ((0.95, 0.9999), (0.99, 0.8)):
        ends = [end_at_level(k / n, end, level=level, other=other) for end in wilson(k, n, level=level)]
        assert ends == pytest.approx(list(map(float, wilson(k, n, level=other))), abs=1e-12)


def test_an_end_of_a_difference_moves_on_its_own_scale() -> None:
    low, high = newcombe(20, 20, 0, 20)
    exact = newcombe(20, 20, 0, 20, level=0.9999)
    assert float(end_at_level(1.0, high, level=0.95, other=0.9999, least=-1.0)) == float(exact[1]) == 1.0
    moved = float(end_at_level(1.0, low, level=0.95, other=0.9999, least=-1.0))
    linear = 1 - (1 - low) * normal_quantile(0.9999) / normal_quantile(0.95)
    assert abs(moved - exact[0]) < 0.07 < linear - exact[0]
    # In the middle of the scale it goes with the normal quantile.
    moved = float(end_at_level(0.1, 0.05, level=0.95, other=0.99, least=-1.0))
    assert moved == pytest.approx(0.1 - 0.05 * normal_quantile(0.99) / normal_quantile(0.95), abs=1e-3)


def test_an_end_that_is_not_known_or_does_not_reach_away_stays() -> None:
    moved = end_at_level([0.5, 0.5, 0.3], [np.nan, 0.5, 1.0], level=0.95, other=0.99)
    assert moved == pytest.approx([np.nan, 0.5, 1.0], nan_ok=True)


def test_wilson_of_20_of_20_reaches_down_to_084() -> None:
    low, high = wilson(20, 20)
    assert round(float(low), 2) == 0.84
    assert float(high) == 1.0


def test_wilson_is_undefined_without_trials() -> None:
    low, high = wilson([0, 1], [0, 2])
    assert np.isnan(low[0])
    assert np.isnan(high[0])
    assert 0 < low[1] < high[1] < 1


def test_wilson_never_has_zero_width() -> None:
    n = np.arange(1, 300)
    for k in (np.zeros_like(n), n):
        low, high = wilson(k, n)
        assert np.all(high - low > 0)


def test_wilson_refuses_more_successes_than_trials() -> None:
    with pytest.raises(UsageError, match="pass counts, not shares"):
        wilson(3, 2)


def test_level_outside_its_range_is_refused() -> None:
    with pytest.raises(UsageError, match="between 0 and 1, found 95"):
        wilson(1, 2, level=95)


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.9])
def test_wilson_covers_at_nominal_on_average(p: float) -> None:
    covered = []
    for n in range(15, 60):
        low, high = wilson(np.arange(n + 1), n)
        inside = (low <= p) & (p <= high)
        covered.append(scipy_stats.binom.pmf(np.arange(n + 1), n, p)[inside].sum())
    assert 0.935 < np.mean(covered) < 0.975


# Newcombe (1998), Table II, method 10.
@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((56, 70, 48, 80), (0.0524, 0.3339)),
        ((9, 10, 3, 10), (0.1705, 0.8090)),
        ((6, 7, 2, 7), (0.0582, 0.8062)),
        ((5, 56, 0, 29), (-0.0381, 0.1926)),
        ((0, 10, 0, 20), (-0.1611, 0.2775)),
        ((0, 10, 0, 10), (-0.2775, 0.2775)),
        ((10, 10, 0, 20), (0.6791, 1.0000)),
        ((10, 10, 0, 10), (0.6075, 1.0000)),
    ],
)
def test_newcombe_gives_the_published_limits(
    counts: tuple[int, int, int, int], expected: tuple[float, float]
) -> None:
    low, high = newcombe(*counts)
    assert (float(low), float(high)) == pytest.approx(expected, abs=5e-5)


def test_newcombe_covers_at_nominal_on_average() -> None:
    rng = np.random.default_rng(20)
    shares = rng.uniform(size=(4_000, 2))
    k = rng.binomial(20, shares)
    low, high = newcombe(k[:, 0], 20, k[:, 1], 20)
    truth = shares[:, 0] - shares[:, 1]
    assert 0.94 < np.mean((low <= truth) & (truth <= high)) < 0.975


def test_newcombe_is_undefined_where_a_side_is_empty() -> None:
    assert np.isnan(newcombe(0, 0, 3, 10)).all()
    assert np.isnan(newcombe(3, 10, 0, 0)).all()


def test_swapping_the_sides_flips_newcombe() -> None:
    low, high = newcombe(3, 11, 9, 14)
    swapped = newcombe(9, 14, 3, 11)
    assert (-float(high), -float(low)) == pytest.approx([float(x) for x in swapped])


def test_wilson_at_the_bonferroni_level_covers_all_categories_together() -> None:
    rng = np.random.default_rng(5)
    truth = np.array([0.5, 0.3, 0.15, 0.05])
    counts = rng.multinomial(60, truth, size=4_000)
    low, high = wilson(counts, 60, level=1 - 0.05 / 4)
    covered = np.all((low <= truth) & (truth <= high), axis=1).mean()
    assert covered > 0.945


def test_fisher_z_covers_a_pearson_correlation() -> None:
    rng = np.random.default_rng(7)
    truth, n, repetitions = 0.6, 25, 3_000
    x = rng.normal(size=(repetitions, n))
    y = truth * x + np.sqrt(1 - truth**2) * rng.normal(size=(repetitions, n))
    x, y = x - x.mean(1, keepdims=True), y - y.mean(1, keepdims=True)
    r = (x * y).sum(1) / np.sqrt((x**2).sum(1) * (y**2).sum(1))
    low, high = fisher_z(r, n)
    assert 0.935 < np.mean((low <= truth) & (truth <= high)) < 0.965


@pytest.mark.parametrize(("r", "n"), [(0.5, 3), (1.0, 20), (-1.0, 20), (1 - 2e-16, 20), (np.nan, 20)])
def test_fisher_z_is_undefined_rather_than_without_width(r: float, n: int) -> None:
    assert np.isnan(fisher_z(r, n)).all()


def test_fisher_z_refuses_what_is_no_correlation() -> None:
    with pytest.raises(UsageError, match=r"r must lie in \[-1, 1\]"):
        fisher_z(1.2, 20)


def test_p_of_a_difference_is_small_just_where_newcombes_interval_leaves_0_out() -> None:
    rng = np.random.default_rng(3)
    n, m = rng.uniform(3, 80, (2, 4_000))
    k, j = n * rng.random(4_000), m * rng.random(4_000)
    k[:200], j[200:400] = 0.0, m[200:400]
    p = newcombe_p(k, n, j, m)
    for level in (0.8, 0.95, 0.999):
        low, high = newcombe(k, n, j, m, level=level)
        assert ((p <= 1 - level) == ((low > 0) | (high < 0))).all()
    assert newcombe_p(j, m, k, n) == pytest.approx(p)
    assert newcombe_p(n - k, n, m - j, m) == pytest.approx(p, rel=1e-6)
    assert newcombe_p([3, 0, 5], [6, 0, 5], [4, 1, 0], [8, 2, 4000])[0] == 1
    assert np.isnan(newcombe_p([0], [0], [1], [2])).all()
    assert 0 < newcombe_p(10_000, 10_000, 0, 10_000) < 1e-300
