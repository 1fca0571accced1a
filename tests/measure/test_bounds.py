"""Bounds that missing labels allow."""

import polars as pl
import pytest

from stereotrope.measure import share, share_difference


def labels(cells):
    rows = []
    for group, values in cells.items():
        for value, n in values.items():
            rows += [{"group": group, "value": value}] * n
    frame = pl.DataFrame(rows, schema={"group": pl.String, "value": pl.String}).with_row_index("image_id")
    return frame.with_columns(generator=pl.lit("m"), attribute=pl.lit("gender"))


def test_bounds_are_the_share_if_none_and_if_all_missing_were_the_value():
    one = share(labels({"base": {"female": 4, "male": 4, "unclear": 2}}), value="female").row(0, named=True)
    assert one["value"] == 0.5
    assert (one["bound_low"], one["bound_high"]) == pytest.approx((0.4, 0.6))


def test_few_missing_labels_give_no_bounds():
    one = share(labels({"base": {"female": 10, "male": 9, "unclear": 1}}), value="female").row(0, named=True)
    assert one["bound_low"] is None
    assert one["bound_high"] is None


def test_values_that_were_not_asked_for_are_not_missing():
    found = share(
        labels({"base": {"female": 4, "male": 4, "both": 2}}), value="female", of=["female", "male"]
    )
    assert found["n_excluded"].item() == 2
    assert found["bound_low"].item() is None


def test_bounds_of_a_difference_let_either_side_go_either_way():
    cells = {"base": {"female": 4, "male": 4, "unclear": 2}, "women": {"female": 9, "male": 1}}
    found = share_difference(labels(cells), value="female", within=["generator"]).row(0, named=True)
    assert found["value"] == pytest.approx(0.4)
    assert (found["bound_low"], found["bound_high"]) == pytest.approx((0.9 - 0.6, 0.9 - 0.4))
    assert found["bound_low"] <= found["value"] <= found["bound_high"]
