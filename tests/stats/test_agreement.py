from __future__ import annotations

import numpy as np
import pytest

from stereotrope.errors import UsageError
from stereotrope.stats import accuracy, cohen_kappa


def test_kappa_by_hand() -> None:
    # p_o = 35/50, p_e = 0.5·0.6 + 0.5·0.4 = 0.5.
    assert float(cohen_kappa([[20, 5], [10, 15]])) == pytest.approx(0.4)
    assert float(accuracy([[20, 5], [10, 15]])) == pytest.approx(0.7)


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


def test_accuracy_is_undefined_without_pairs() -> None:
    assert np.isnan(accuracy([[0, 0], [0, 0]]))


def test_what_is_no_confusion_matrix_is_refused() -> None:
    with pytest.raises(UsageError, match=r"as many rows as columns, found the shape \(1, 2\)"):
        cohen_kappa([[1, 2]])
    with pytest.raises(UsageError, match="found a negative one"):
        accuracy([[1, -2], [0, 0]])
