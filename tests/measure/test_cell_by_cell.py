"""Shares, differences and dominance over columns: what plain loops over labels and cells say."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from tests.measure.cell_by_cell import cells_of, differences, made_labels, one_look, shares, shifts

from stereotrope.measure import deterministic_share, dominance_shift, share, share_difference
from stereotrope.measure.tidy import count_alike

BY = ("generator", "object", "annotator", "group")
ROUNDING = {"rel_tol": 1e-10, "abs_tol": 1e-13}
DESIGNS = {
    "a prompt each": {"prompts": 1, "pictures": 20},
    "prompts of one picture": {"prompts": 5, "pictures": 1},
    "some prompts": {"prompts": 5, "pictures": 8},
    "matched prompts": {"prompts": 7, "pictures": 5, "shared": True},
    "many prompts": {"prompts": 18, "pictures": 4},
}


def labels(name: str) -> pl.DataFrame:
    return made_labels(list(DESIGNS).index(name), **DESIGNS[name])


def assert_told(found: pl.DataFrame, reference: pl.DataFrame) -> None:
    """What the reference says of each row, found says too."""
    told = [name for name in reference.columns if reference[name].null_count() < reference.height]
    assert {"n", "value", "category", "n_excluded", "excluded"} <= set(told)
    assert_frame_equal(found.select(told), reference.select(told), **ROUNDING)


@pytest.mark.parametrize("design", DESIGNS)
def test_shares_are_those_of_each_cell(design: str) -> None:
    frame = labels(design)
    assert_told(share(frame, by=BY, level=0.9), shares(cells_of(frame, BY), BY, 0.9))


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize(("pairs", "mid_p"), [(False, False), (True, True)])
def test_differences_are_those_of_each_comparison(design: str, pairs: bool, mid_p: bool) -> None:
    frame = labels(design)
    found = share_difference(frame, within=BY[:-1], pairs=pairs, mid_p=mid_p)
    wanted = differences(cells_of(frame, BY), BY, baseline="base", pairs=pairs, level=0.95, mid_p=mid_p)
    assert_told(found, wanted)


def test_differences_of_models_and_of_annotators_are_those_of_each_comparison() -> None:
    frame = labels("matched prompts").filter(attribute="gender")
    for group, baseline in (("generator", "m"), ("annotator", "A")):
        by = (*(name for name in BY if name != group), group)
        found = share_difference(frame, group=group, baseline=baseline, within=by[:-1])
        wanted = differences(cells_of(frame, by), by, baseline=baseline, pairs=False, level=0.95, mid_p=False)
        assert_told(found, wanted)


def test_a_baseline_without_a_phrasing_is_that_of_every_phrasing() -> None:
    frame = labels("some prompts").filter(annotator="A")
    by = ("generator", "phrase", "group")
    found = share_difference(frame, within=by[:-1])
    assert found["value"].null_count() < found.height
    assert_told(
        found, differences(cells_of(frame, by), by, baseline="base", pairs=False, level=0.95, mid_p=False)
    )


@pytest.mark.parametrize("design", DESIGNS)
def test_dominance_is_that_of_each_cell(design: str) -> None:
    frame, min_n = labels(design), 3
    cells = cells_of(frame, BY)
    found = deterministic_share(frame, within=BY[:-1], by=["object"], min_n=min_n)
    assert_told(found, one_look(cells, BY, n_within=3, places=[1], min_n=min_n, level=0.95))
    found = dominance_shift(frame, within=BY[:-1], threshold=0.4, min_n=min_n)
    assert_told(found, shifts(cells, BY, baseline="base", threshold=0.4, min_n=min_n))


def test_labels_that_are_alike_are_counted_in_the_order_in_which_they_appear() -> None:
    frame = labels("some prompts")
    counted = count_alike(frame, factors=BY)
    alike = [name for name in counted.columns if name != "n_subjects"]
    assert counted["n_subjects"].sum() == frame.height > counted.height
    assert counted.select(alike).equals(frame.select(alike).unique(maintain_order=True))
    assert count_alike(counted, factors=BY).equals(counted)
