from __future__ import annotations

import pytest

from stereotrope.report import numbers
from stereotrope.report.datatable import Table, TableCell, heads_of


@pytest.mark.parametrize(
    ("value", "low", "high", "n", "text"),
    [
        (0.4123, 0.3312, 0.5178, 20, "0.41 [0.33, 0.52]"),
        (1.0, 0.8389, 1.0, 20, "1.00 [0.84, 1.00]"),
        (-0.1234, -0.35, 0.1, 20, "−0.12 [−0.35, 0.10]"),
        (0.91234, 0.85, 0.96, 238, "0.912 [0.850, 0.960]"),
        (0.0, 0.0, 0.16, 20, "0.00 [0.00, 0.16]"),
        (0.5, None, None, 20, "0.50"),
        (None, None, None, 0, ""),
        (12.34, 10.1, 14.9, 20, "12 [10, 15]"),
    ],
)
def test_value_and_interval_have_the_digits_that_n_carries(value, low, high, n, text) -> None:
    assert numbers.interval(value, low, high, n) == text


def test_a_number_that_rounds_to_zero_has_no_minus() -> None:
    assert numbers.number(-0.001, 20) == "0.00"


def test_the_minus_is_a_minus() -> None:
    assert numbers.number(-0.25, 20) == "\u22120.25"


def test_thousands_stand_apart_by_a_thin_space() -> None:
    assert numbers.thousands(8000) == "8000"
    assert numbers.thousands(852_000) == "852\u202f000"
    assert numbers.number(123456.0) == "123\u202f456"


@pytest.mark.parametrize(
    ("value", "text"), [(0.0001, "< 0.001"), (0.0123, "0.012"), (0.4711, "0.47"), (1.0, "1.00"), (None, "")]
)
def test_probabilities(value, text) -> None:
    assert numbers.probability(value) == text


def test_counts_agree_with_their_noun() -> None:
    assert numbers.count(1, "picture") == "1 picture"
    assert numbers.count(20, "picture") == "20 pictures"
    assert numbers.count(2, "is", "are") == "2 are"


def test_a_column_without_an_interval_has_a_head_without_one() -> None:
    heads = ["model", "value [interval]", "adjusted [interval]"]
    assert heads_of(heads, [["m", "0.4", "0.3 [0.2, 0.4]"]]) == ["model", "value", "adjusted [interval]"]
    cells = [[TableCell(text) for text in ("m", "0.4", "0.3")]]
    assert Table("", heads, cells, 1).columns == ["model", "value", "adjusted"]
