from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import cohen_kappa, pearson, spearman
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
