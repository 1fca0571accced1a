from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import cohen_kappa, mean_ranks, pearson, rank_agreement, spearman
from stereotrope.stats.arrays import mid_ranks


def test_kappa_by_hand() -> None:
    # p_o = 35/50, p_e = 0.5·0.6 + 0.5·0.4 = 0.5.
    assert float(cohen_kappa([[20, 5], [10, 15]])) == pytest.approx(0.4)


def test_kappa_is_1_in_full_agreement_and_0_in_expectation_by_chance() -> None:
    assert float(cohen_kappa([[3, 0], [0, 4]])) == pytest.approx(1.0)
    rows, columns = np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    assert float(cohen_kappa(np.outer(rows, columns))) == pytest.approx(0.0, abs=1e-12)


def test_kappa_works_over_leading_axes() -> None:
    stack = np.array([[[20, 5], [10, 15]], [[3, 0], [0, 4]]])
    assert cohen_kappa(stack).tolist() == pytest.approx([0.4, 1.0])


@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[9, 0], [0, 0]]])
def test_kappa_is_undefined_without_pairs_or_variation(table: list[list[int]]) -> None:
    assert np.isnan(cohen_kappa(table))


def test_what_is_no_confusion_matrix_is_refused() -> None:
    with pytest.raises(UsageError, match=r"as many rows as columns, found the shape \(1, 2\)"):
        cohen_kappa([[1, 2]])
    with pytest.raises(UsageError, match="found a negative one"):
        cohen_kappa([[1, -2], [0, 0]])


@pytest.mark.parametrize("shape", [(5,), (1,), (300,), (0,), (0, 4), (3, 0), (1000, 1), (200, 9)])
def test_ranks_are_those_of_scipy_with_ties_and_without(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    for table in (rng.integers(0, 4, shape).astype(float), rng.normal(size=shape), np.full(shape, -0.0)):
        assert np.array_equal(mid_ranks(table), scipy_stats.rankdata(table, axis=-1) if table.size else table)


def test_correlations_agree_with_scipy_with_ties() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 6, size=40), rng.integers(0, 6, size=40)
    assert pearson(x, y) == pytest.approx(scipy_stats.pearsonr(x, y).statistic)
    assert spearman(x, y) == pytest.approx(scipy_stats.spearmanr(x, y).statistic)


def test_pairs_with_a_missing_side_are_left_out_before_ranking() -> None:
    assert spearman([1, 2, np.nan, 3], [1, 2, 99, 3]) == pytest.approx(1.0)
    assert pearson([1, 2, 3, 4], [1, 2, 3, np.nan]) == pytest.approx(1.0)


@pytest.mark.parametrize("correlate", [pearson, spearman])
@pytest.mark.parametrize(("x", "y"), [([], []), ([1], [2]), ([1, 1, 1], [1, 2, 3]), ([0.1] * 3, [1, 2, 3])])
def test_correlation_is_undefined_where_nothing_varies(correlate, x, y) -> None:
    assert np.isnan(correlate(x, y))


@pytest.mark.parametrize("correlate", [pearson, spearman])
def test_values_that_do_not_pair_up_are_refused(correlate) -> None:
    with pytest.raises(UsageError, match="found 2 and 1 values"):
        correlate([1, 2], [1])


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
