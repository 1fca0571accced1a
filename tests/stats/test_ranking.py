from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import mean_ranks, rank_agreement


def test_ranks_go_by_the_mean_and_ties_share() -> None:
    ranks, _, _ = mean_ranks([[0.1, 0.4, 0.3], [0.3, 0.4, 0.1]])
    assert ranks.tolist() == [1.5, 3.0, 1.5]


def test_rank_intervals_are_wide_where_rows_disagree() -> None:
    rng = np.random.default_rng(0)
    _, low, high = mean_ranks(rng.normal(size=(8, 5)), seed=1)
    assert np.nanmax(high - low) >= 3


def test_ranks_are_undefined_without_rows_and_intervals_with_few_or_constant_ones() -> None:
    ranks, low, high = mean_ranks(np.empty((0, 3)))
    assert np.isnan([ranks, low, high]).all()
    assert np.isnan(mean_ranks([[1, 2], [1, 2]])[1:]).all()
    assert np.isnan(mean_ranks([[1, 2]] * 5)[1:]).all()


def test_rank_agreement_is_the_mean_pairwise_spearman() -> None:
    table = np.random.default_rng(3).integers(0, 9, size=(6, 7))
    pairs = scipy_stats.spearmanr(table.T).statistic[np.triu_indices(6, k=1)]
    assert rank_agreement(table, n_permutations=9, n_bootstrap=9)[0] == pytest.approx(pairs.mean())


def test_rank_agreement_test_keeps_its_size() -> None:
    rng = np.random.default_rng(8)
    p = [rank_agreement(rng.normal(size=(5, 6)), n_permutations=199, n_bootstrap=2)[3] for _ in range(400)]
    assert 0.02 < np.mean(np.array(p) <= 0.05) < 0.09


def test_rank_agreement_finds_a_common_ranking() -> None:
    rng = np.random.default_rng(9)
    value, low, high, p = rank_agreement(np.arange(6) + 0.8 * rng.normal(size=(8, 6)), n_permutations=999)
    assert 0.6 < low < value < high <= 1
    assert p == pytest.approx(1 / 1000)


def test_rank_agreement_is_undefined_rather_than_without_width() -> None:
    assert np.isnan(rank_agreement([[1, 2, 3]])).all()
    assert np.isnan(rank_agreement([[1, 2, 3], [2, 2, 2]])).all()
    value, low, high, p = rank_agreement([[1, 2, 3]] * 4, n_permutations=99)
    assert value == pytest.approx(1.0)
    assert np.isnan([low, high]).all()
    assert p < 0.2


def test_scores_with_gaps_are_refused() -> None:
    with pytest.raises(UsageError, match="without missing values"):
        mean_ranks([[1, np.nan]])


def test_scores_that_differ_by_rounding_are_tied() -> None:
    table = np.array([[0.1, 0.3, 0.2], [0.2, 0.2, 0.2], [0.3, 0.1, 0.2]])
    assert len({float(x) for x in table.mean(axis=0)}) > 1
    assert mean_ranks(table)[0].tolist() == [2.0, 2.0, 2.0]
    near = np.array([[0.3, 0.1 + 0.2, 0.4], [0.3, 0.3, 0.4]])
    assert rank_agreement(near, n_permutations=9, n_bootstrap=9)[0] == pytest.approx(1.0)
