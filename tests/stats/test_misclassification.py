"""Shares corrected for known errors."""

from __future__ import annotations

import numpy as np
import pytest

from stereotrope.errors import UsageError
from stereotrope.stats import corrected_shares, is_invertible, resampled_shares, wilson
from stereotrope.stats.misclassification import onto_simplex


def test_two_values_give_rogan_and_gladens_estimate() -> None:
    sensitivity, specificity, seen = 90 / 100, 40 / 50, 30 / 80
    expected = (seen + specificity - 1) / (sensitivity + specificity - 1)
    found = corrected_shares([30, 50], [[90, 10], [10, 40]])
    assert found.tolist() == pytest.approx([expected, 1 - expected])


def test_more_values_give_back_what_was_planted() -> None:
    shares = np.array([0.5, 0.3, 0.2])
    rates = np.array([[0.8, 0.1, 0.1], [0.0, 0.9, 0.1], [0.2, 0.2, 0.6]])
    assert corrected_shares(1000 * shares @ rates, 50 * rates) == pytest.approx(shares)
    # A label that is no true value, such as a colour nobody planted, is one column more.
    wide = np.array([[0.7, 0.1, 0.2], [0.1, 0.6, 0.3]])
    assert corrected_shares(900 * np.array([0.4, 0.6]) @ wide, 10 * wide) == pytest.approx([0.4, 0.6])


def test_a_share_below_what_errors_alone_give_is_0() -> None:
    assert corrected_shares([1, 99], [[90, 10], [10, 90]]).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "confusion",
    [
        [[50, 50], [50, 50]],
        [[0, 0], [1, 9]],
        [[9], [8]],
        [[4, 2, 4], [5, 0, 5], [3, 4, 3]],
    ],
)
def test_a_matrix_that_cannot_be_inverted_gives_no_share(confusion: list[list[int]]) -> None:
    assert not is_invertible(confusion)
    counts = [5] * len(confusion[0])
    assert np.isnan(corrected_shares(counts, confusion)).all()
    assert np.isnan(resampled_shares(counts, confusion, n_resamples=3)).all()


def test_nothing_labelled_gives_no_share() -> None:
    assert np.isnan(corrected_shares([0, 0], [[9, 1], [1, 9]])).all()


def test_the_nearest_shares_agree_with_a_search() -> None:
    rng = np.random.default_rng(1)
    grid = rng.dirichlet([1, 1, 1], size=40_000)
    for point in rng.normal(0.33, 0.5, size=(20, 3)):
        found = onto_simplex(point)
        assert found.sum() == pytest.approx(1)
        assert found.min() >= 0
        best = np.sqrt(((grid - point) ** 2).sum(axis=1).min())
        assert np.sqrt(((found - point) ** 2).sum()) <= best + 1e-9


def test_the_same_seed_gives_the_same_draws() -> None:
    one, two = (resampled_shares([30, 50], [[90, 10], [10, 40]], seed=3) for _ in range(2))
    assert (one == two).all()
    assert one.shape == (2000, 2)


def test_labels_that_name_no_true_value_may_stand_anywhere() -> None:
    named = resampled_shares([8, 2, 10], [[40, 5, 5], [5, 40, 5]], own=[0, 1])
    moved = resampled_shares([10, 8, 2], [[5, 40, 5], [5, 5, 40]], own=[1, 2])
    assert np.quantile(named, [0.025, 0.975], axis=0) == pytest.approx(
        np.quantile(moved, [0.025, 0.975], axis=0), abs=0.03
    )


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match=r"found shape \(2, 2\) for 3 counts"):
        corrected_shares([1, 2, 3], [[1, 0], [0, 1]])
    with pytest.raises(UsageError, match="counts must be 0 or more"):
        corrected_shares([1, -2], [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("share", "sensitivity", "specificity", "n", "checked"),
    [
        (0.05, 0.95, 0.95, 200, 100),
        (0.1, 0.9, 0.8, 50, 100),
        (0.3, 0.75, 0.85, 200, 60),
        (0.5, 0.9, 0.7, 20, 50),
    ],
)
def test_corrected_intervals_cover_the_planted_share(
    share: float, sensitivity: float, specificity: float, n: int, checked: int
) -> None:
    rng = np.random.default_rng(6)
    rates = np.array([[sensitivity, 1 - sensitivity], [1 - specificity, specificity]])
    runs, held = 500, 0
    for seed in range(runs):
        counts = rng.multinomial(n, np.array([share, 1 - share]) @ rates)
        confusion = np.stack([rng.multinomial(checked, row) for row in rates])
        low, high = np.quantile(
            resampled_shares(counts, confusion, n_resamples=400, seed=seed)[:, 0], [0.025, 0.975]
        )
        held += bool(low <= share <= high)
    assert held / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)


def test_raw_intervals_do_not_cover_the_planted_share() -> None:
    rng = np.random.default_rng(7)
    share, n, runs = 0.1, 200, 500
    counts = rng.binomial(n, share * 0.9 + (1 - share) * 0.2, size=runs)
    low, high = wilson(counts, n)
    assert ((low <= share) & (share <= high)).mean() < 0.05


@pytest.mark.parametrize(
    ("shares", "error", "n", "checked"),
    [
        ([0.6, 0.2, 0.1, 0.1, 0.0], 0.15, 100, 50),
        ([0.6, 0.2, 0.1, 0.1, 0.0], 0.0, 20, 50),
        pytest.param(
            [0.35, 0.25, 0.2, 0.1, 0.05, 0.05, 0.0, 0.0, 0.0, 0.0], 0.1, 20, 24, marks=pytest.mark.slow
        ),
    ],
)
def test_intervals_of_many_values_cover_each_planted_share(
    shares: list[float], error: float, n: int, checked: int
) -> None:
    rng = np.random.default_rng(8)
    k = len(shares)
    rates = np.full((k, k), error / (k - 1)) + np.eye(k) * (1 - error - error / (k - 1))
    runs, held = 300, np.zeros(k)
    for seed in range(runs):
        counts = rng.multinomial(n, shares @ rates)
        confusion = np.stack([rng.multinomial(checked, row) for row in rates])
        drawn = resampled_shares(counts, confusion, n_resamples=400, seed=seed)
        low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        held += (low <= shares) & (shares <= high)
    assert (held / runs >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)).all()
