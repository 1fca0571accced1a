"""A share above a known or uncertain one: exact tails, intervals that cover, and what chance alone reads."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as sps

from stereotrope.errors import UsageError
from stereotrope.stats import above_interval, above_p, expected_above, posterior_log_odds, wilson


@pytest.mark.parametrize(
    ("k", "n", "p", "margin"), [(7, 20, 0.2, 0.0), (1, 20, 0.002, 0.0), (18, 20, 0.5, 0.1)]
)
def test_p_of_a_known_share_is_the_binomial_tail(k: int, n: int, p: float, margin: float) -> None:
    expected = sps.binom.sf(k - 1, n, p + margin)
    assert above_p(k, n, p, p, p, margin=margin) == pytest.approx(expected, rel=1e-10)


def test_no_success_and_a_bar_beyond_1_give_no_evidence() -> None:
    assert above_p(0, 50, 0.1, 0.1, 0.1) == 1.0
    assert above_p(50, 50, 0.97, 0.97, 0.97, margin=0.05) == 1.0
    assert np.isnan(above_p(0, 0, 0.1, 0.1, 0.1))


def test_p_of_an_uncertain_share_is_the_mean_over_what_it_may_be() -> None:
    rng = np.random.default_rng(0)
    drawn = np.clip(rng.normal(0.3, 0.05, 200_000), 0, 1)
    low, high = 0.3 - 1.959964 * 0.05, 0.3 + 1.959964 * 0.05
    expected = sps.binom.sf(39, 100, drawn).mean()
    assert above_p(40, 100, 0.3, low, high) == pytest.approx(expected, rel=0.02)
    assert above_p(40, 100, 0.3, low, high) > above_p(40, 100, 0.3, 0.3, 0.3)


@pytest.mark.parametrize(
    ("n", "share", "sd"), [(50, 0.3, 0.0), (50, 0.3, 0.06), (400, 0.05, 0.01), (20, 0.5, 0.1)]
)
def test_the_test_keeps_its_level_on_average_over_the_reference(n: int, share: float, sd: float) -> None:
    rng = np.random.default_rng(5)
    rejected = []
    for _ in range(1500):
        told = float(np.clip(rng.normal(share, sd), 0, 1))
        ends = (max(0.0, told - 1.96 * sd), min(1.0, told + 1.96 * sd))
        rejected.append(above_p(rng.binomial(n, share), n, told, *ends) <= 0.05)
    assert np.mean(rejected) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1500)


def test_the_interval_of_a_known_share_is_wilsons_shifted() -> None:
    low, high = above_interval([0, 7, 20], 20, 0.25, 0.25, 0.25)
    least, most = wilson([0, 7, 20], 20)
    assert low == pytest.approx(least - 0.25)
    assert high == pytest.approx(most - 0.25)


@pytest.mark.parametrize(
    ("n", "share", "truth", "sd"), [(60, 0.8, 0.5, 0.05), (200, 0.3, 0.34, 0.1), (40, 0.5, 0.02, 0.0)]
)
def test_the_interval_covers_with_an_uncertain_reference(
    n: int, share: float, truth: float, sd: float
) -> None:
    rng = np.random.default_rng(8)
    told = rng.normal(truth, sd, 4000)
    k = rng.binomial(n, share, 4000)
    low, high = above_interval(k, n, told, told - 1.96 * sd, told + 1.96 * sd)
    covered = np.mean((low <= share - truth) & (share - truth <= high))
    assert covered == pytest.approx(0.95, abs=0.02)


def test_what_chance_reads_is_the_mean_over_all_counts() -> None:
    for n, p in ((1, 0.3), (7, 0.5), (20, 0.002), (33, 0.94), (200, 0.25)):
        k = np.arange(n + 1)
        expected = (sps.binom.pmf(k, n, p) * np.maximum(0, k / n - p)).sum()
        assert float(expected_above(n, p)) == pytest.approx(expected, rel=1e-9)
    assert expected_above(20, [0.0, 1.0]).tolist() == [0.0, 0.0]
    assert np.isnan(expected_above(0.4, 0.5))


def test_the_posterior_is_the_product_of_equation_4() -> None:
    p = np.array([0.9, 0.6, 0.3, 0.8])
    odds = np.prod(p) / np.prod(1 - p)
    assert posterior_log_odds(p) == pytest.approx(np.log(odds))
    assert posterior_log_odds([1.0, 0.4]) == np.inf
    assert posterior_log_odds([0.0, 0.4]) == -np.inf
    assert np.isnan(posterior_log_odds([1.0, 0.0]))
    assert np.isnan(posterior_log_odds([]))
    assert np.isfinite(posterior_log_odds(np.full(100_000, 0.51)))


def test_a_margin_and_a_reference_that_cannot_be_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"margin must be at least 0 and below 1, found -0\.1; 0\.05 is five points"
    ):
        above_p(1, 2, 0.5, 0.5, 0.5, margin=-0.1)
    with pytest.raises(UsageError, match=r"a reference of 0\.5 lies outside its interval 0\.6 to 0\.7"):
        above_p(1, 2, 0.5, 0.6, 0.7)
