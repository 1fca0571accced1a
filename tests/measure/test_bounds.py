"""Bounds that missing labels allow."""

from __future__ import annotations

import itertools

import polars as pl
import pytest

from stereotrope.measure import refusal_rate, share, share_difference, violation_rate


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


def of_all_completions(cells: dict[str, dict[str, int]]) -> tuple[float, float]:
    """Least and greatest difference over every way in which missing labels may have come out, one by one."""
    sides = []
    for name in ("women", "base"):
        known, gone = cells[name], cells[name].get("unclear", 0)
        ways = itertools.product(("female", "male"), repeat=gone)
        total = sum(known.values())
        sides.append([(known.get("female", 0) + way.count("female")) / total for way in ways])
    differences = [a - b for a, b in itertools.product(*sides)]
    return min(differences), max(differences)


@pytest.mark.parametrize("women", [(5, 5, 0), (10, 10, 1), (19, 1, 1), (5, 2, 3), (0, 8, 2), (40, 0, 2)])
@pytest.mark.parametrize("base", [(5, 5, 0), (10, 11, 1), (0, 20, 1), (4, 4, 2), (3, 3, 4)])
def test_bounds_of_a_difference_are_those_of_all_completions(women, base) -> None:
    named = ("female", "male", "unclear")
    cells = {"base": dict(zip(named, base, strict=True)), "women": dict(zip(named, women, strict=True))}
    found = share_difference(labels(cells), value="female", within=["generator"]).row(0, named=True)
    if any(side[2] > 0.05 * sum(side) for side in (women, base)):
        assert (found["bound_low"], found["bound_high"]) == pytest.approx(of_all_completions(cells))
        assert found["bound_low"] <= found["value"] <= found["bound_high"]
    else:
        assert (found["bound_low"], found["bound_high"]) == (None, None)


def test_few_missing_labels_on_one_side_count_beside_many_on_the_other() -> None:
    """1 of 25 is missing for women, 4 of 20 in the baseline."""
    cells = {"base": {"female": 8, "male": 8, "unclear": 4}, "women": {"female": 20, "male": 4, "unclear": 1}}
    found = share_difference(labels(cells), value="female", within=["generator"]).row(0, named=True)
    assert (found["bound_low"], found["bound_high"]) == pytest.approx((20 / 25 - 12 / 20, 21 / 25 - 8 / 20))


def test_rates_that_are_differences_have_the_same_bounds() -> None:
    cells = {"base": {"yes": 8, "no": 8, "unclear": 4}, "women": {"yes": 20, "no": 4, "unclear": 1}}
    constraints = labels(cells).with_columns(attribute=pl.lit("people_present"))
    broken = violation_rate(constraints, "group").filter(measure="violation_rate_difference")
    status = {"yes": "refused", "no": "ok", "unclear": "excluded"}
    images = labels(cells).with_columns(status=pl.col("value").replace(status)).drop("attribute", "value")
    refused = refusal_rate(images, "group").filter(measure="refusal_rate_difference")
    for found in (broken, refused):
        assert found["bound_low"].to_list() == pytest.approx([20 / 25 - 12 / 20] * found.height)
        assert found["bound_high"].to_list() == pytest.approx([21 / 25 - 8 / 20] * found.height)
