from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from stereotrope.errors import UsageError
from stereotrope.stats import pearson, spearman


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
