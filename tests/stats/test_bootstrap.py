"""The smoothed bootstrap of divergences and its intervals."""

from __future__ import annotations

import numpy as np
import pytest

from stereotrope.stats import (
    expected_js,
    js_divergence,
    js_interval,
    pairwise_js,
    resampled_counts,
    resampled_js,
    unanimous_js,
)
from stereotrope.stats.divergence import js_terms


@pytest.mark.parametrize("n", [20, 200])
def test_no_resamples_are_no_counts(n: int) -> None:
    (counts,) = resampled_counts(np.arange(n)[:, None] % 3, n_resamples=0)
    assert counts.shape == (3, 0)


@pytest.mark.parametrize("n", [30, 300])
def test_resampled_counts_have_the_mean_and_spread_of_drawing_rows_again(n: int) -> None:
    rng = np.random.default_rng(1)
    codes = rng.choice(3, (n, 1), p=[0.6, 0.3, 0.1])
    (counts,) = resampled_counts(codes, n_resamples=20_000, seed=2)
    np.testing.assert_array_equal(counts.sum(axis=0), n)
    share = np.bincount(codes[:, 0]) / n
    np.testing.assert_allclose(counts.mean(axis=1), n * share, atol=4 * np.sqrt(n * 0.25 / 20_000))
    np.testing.assert_allclose(counts.var(axis=1), n * share * (1 - share), rtol=0.05)


@pytest.mark.parametrize("n", [30, 300])
def test_streams_of_one_seed_differ(n: int) -> None:
    codes = np.arange(n)[:, None] % 5
    (first,), (second,) = (resampled_counts(codes, n_resamples=50, seed=0, stream=s) for s in (0, 1))
    assert not np.array_equal(first, second)


def test_attributes_of_an_image_stay_together() -> None:
    # Two attributes that always agree: their replicates differ only by the few borrowed labels.
    codes = np.repeat(np.random.default_rng(3).integers(0, 3, (60, 1)), 2, axis=1)
    drawn = resampled_js(codes, np.repeat([0, 1], 30), n_resamples=2_000)
    assert np.corrcoef(drawn.js.T)[0, 1] > 0.6


def test_missing_labels_change_n_and_are_followed_by_the_floor() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, (40, 2))
    codes[rng.random(40) < 0.5, 1] = -1
    drawn = resampled_js(codes, np.repeat([0, 1], 20), n_resamples=500)
    assert drawn.floor[:, 1].mean() > drawn.floor[:, 0].mean()
    js, floor = pairwise_js(codes, np.repeat([0, 1], 20))
    assert np.isfinite(drawn.js).all()
    assert js.shape == floor.shape == (2,)


def test_an_interval_goes_from_below_the_excess_to_above_the_adjusted_score() -> None:
    js, floors = np.array([0.3, 0.5, np.nan]), np.array([0.2, 0.2, 0.2])
    low, high = js_interval(0.6, 0.2, js, floors, reach=2.0)
    assert low == pytest.approx(0.4 - 2 * np.sqrt(0.02))
    assert high == pytest.approx(0.5 + 2 * np.sqrt(0.02) / 0.8)
    assert np.isnan(js_interval(0.6, 0.2, js[1:], floors[1:], reach=2.0)).all()
    assert np.isnan(js_interval(1.0, 1.0, js, floors, reach=2.0)).all()


@pytest.mark.parametrize(("n_p", "n_q"), [(20, 20), (5, 50)])
def test_unanimity_is_compatible_with_no_more_than_the_bound(n_p: int, n_q: int) -> None:
    bound = unanimous_js(n_p, n_q)
    rng = np.random.default_rng(5)
    a, b = rng.random((2, 20_000)) * 0.6
    likely = (1 - a) ** n_p * (1 - b) ** n_q >= 0.025
    p, q = np.stack([1 - a, a, 0 * a], axis=1), np.stack([1 - b, 0 * b, b], axis=1)
    js = js_terms(p, q).sum(axis=1)
    assert js[likely].max() <= bound + 1e-3
    assert js[likely].max() == pytest.approx(bound, abs=0.02)
    assert np.isnan(unanimous_js(0, 3))


def coverage(p: np.ndarray, q: np.ndarray, *, n: int, repeats: int, seed: int) -> tuple[float, float]:
    """Share of intervals of the adjusted score that hold the true divergence: of the mean, of attributes."""
    rng = np.random.default_rng(seed)
    truth = js_terms(p, q).sum(axis=1)
    groups = np.repeat([0, 1], n)
    mean, single = 0, 0.0
    for _ in range(repeats):
        codes = np.stack(
            [
                np.r_[rng.choice(len(a), n, p=a), rng.choice(len(b), n, p=b)]
                for a, b in zip(p, q, strict=True)
            ],
            axis=1,
        )
        js, floor = pairwise_js(codes, groups)
        drawn = resampled_js(codes, groups, n_resamples=400)
        for value, null, js_drawn, floor_drawn, true, is_mean in (
            (js, floor, drawn.js, drawn.floor, truth, False),
            (
                js.mean(),
                floor.mean(),
                drawn.js.mean(axis=1),
                drawn.floor.mean(axis=1),
                truth.mean(),
                True,
            ),
        ):
            low, high = js_interval(value, null, js_drawn, floor_drawn, reach=1.96)
            held = float(np.mean((low <= true) & (true <= high)))
            if is_mean:
                mean += int(held)
            else:
                single += held
    return mean / repeats, single / repeats


@pytest.mark.parametrize(
    ("concentration", "mix", "least_mean", "least_single"),
    [
        (0.5, 0.0, 0.95, 0.95),
        (0.5, 0.5, 0.95, 0.93),
        (0.5, 1.0, 0.95, 0.93),
        (0.2, 1.0, 0.95, 0.93),
    ],
)
def test_intervals_hold_the_true_divergence_as_often_as_they_say(
    concentration: float, mix: float, least_mean: float, least_single: float
) -> None:
    rng = np.random.default_rng(11)
    repeats = 200
    p = rng.dirichlet([concentration] * 5, 8)
    q = (1 - mix) * p + mix * rng.dirichlet([concentration] * 5, 8)
    mean, single = coverage(p, q, n=20, repeats=repeats, seed=12)
    assert mean >= least_mean - 3 * np.sqrt(least_mean * (1 - least_mean) / repeats)
    assert single >= least_single - 3 * np.sqrt(least_single * (1 - least_single) / (repeats * 8))


def test_adjusted_score_estimates_the_true_divergence_with_little_bias() -> None:
    rng = np.random.default_rng(13)
    p, q = rng.dirichlet([0.5] * 5, 2)
    n, repeats = 20, 4_000
    one, other = rng.multinomial(n, p, repeats), rng.multinomial(n, q, repeats)
    js, floor = js_divergence(one, other), expected_js(one + other, n, n)
    truth = float(js_terms(p, q).sum())
    adjusted = (js - floor) / (1 - floor)
    assert abs(adjusted.mean() - truth) < 0.5 * abs(js.mean() - truth)


def many_values(k: int, shape: str) -> tuple[np.ndarray, np.ndarray]:
    """Shares that fall as 1/rank, and the same turned round, or half of both."""
    p = 1 / np.arange(1, k + 1)
    p /= p.sum()
    return p, {"equal": p, "half": (p + p[::-1]) / 2, "turned": p[::-1]}[shape]


@pytest.mark.parametrize("k", [5, 12, 30, 60])
@pytest.mark.parametrize("shape", ["half", "turned"])
def test_excess_errs_less_than_the_adjusted_score_which_is_too_high(k: int, shape: str) -> None:
    p, q = many_values(k, shape)
    rng = np.random.default_rng(k)
    true = float(js_terms(p, q).sum())
    for n in (10, 20, 50):
        one, other = rng.multinomial(n, p, 2_000), rng.multinomial(n, q, 2_000)
        js, floor = js_divergence(one, other), expected_js(one + other, n, n)
        excess, adjusted = js - floor, (js - floor) / (1 - floor)
        assert np.mean((excess - true) ** 2) < np.mean((adjusted - true) ** 2)
        assert adjusted.mean() > true


def covered(k: int, shape: str, n: int, repeats: int) -> float:
    """Share of intervals of one attribute of many values that hold the true divergence."""
    p, q = many_values(k, shape)
    rng, groups, true = np.random.default_rng(k + n), np.repeat([0, 1], n), float(js_terms(p, q).sum())
    held = 0
    for _ in range(repeats):
        codes = np.concatenate([rng.choice(k, n, p=p), rng.choice(k, n, p=q)])[:, None]
        js, floor = pairwise_js(codes, groups)
        drawn = resampled_js(codes, groups, n_resamples=300)
        low, high = js_interval(js, floor, drawn.js, drawn.floor, reach=1.96)
        held += bool(low[0] <= true <= high[0])
    return held / repeats


@pytest.mark.parametrize(("k", "n"), [(30, 50), (60, 50), (200, 20)])
def test_intervals_of_many_values_whose_order_turns_round_cover(k: int, n: int) -> None:
    assert covered(k, "turned", n, 60) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("k", [5, 12, 30, 60, 200])
@pytest.mark.parametrize("n", [20, 50, 100, 200])
def test_intervals_of_many_values_cover(k: int, n: int) -> None:
    for shape in ("half", "turned"):
        assert covered(k, shape, n, 400) >= 0.87, shape
