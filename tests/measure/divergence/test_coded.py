"""Labels as coded images."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from stereotrope.measure.divergence.coded import UNLABELLED, code_labels


def frame(rows: list[tuple[str, str, str | None, str | None, str | None]]) -> pl.DataFrame:
    names = ("image_id", "attribute", "value", "object", "group")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def test_images_are_sorted_and_values_coded_whatever_the_order_of_rows() -> None:
    rows = [("2", "c", "red", "car", "base"), ("1", "c", "grey", "car", "g"), ("1", "s", "new", "car", "g")]
    for order in (rows, rows[::-1]):
        coded = code_labels(frame(order), factors=["object"], group="group")
        assert coded.images["image_id"].to_list() == ["1", "2"]
        assert (coded.attributes, coded.values) == (("c", "s"), (("grey", "red"), ("new",)))
        assert coded.codes.tolist() == [[0, 0], [1, -1]]


def test_labels_left_out_keep_their_reason_and_absent_ones_get_one() -> None:
    rows = [("1", "c", None, "car", "g"), ("1", "s", "new", "car", "g"), ("2", "c", "unclear", "car", "g")]
    coded = code_labels(frame(rows), factors=["object"], group="group")
    (scope,) = coded.scopes()
    found = coded.excluded(scope.groups["g"], scope.attributes)
    assert found == {"missing": 1, "unclear": 1, UNLABELLED: 1}


def test_an_own_baseline_goes_before_the_shared_one() -> None:
    rows = [
        ("1", "c", "red", None, "base"),
        ("2", "c", "red", "car", "base"),
        ("3", "c", "red", "car", "g"),
        ("4", "c", "red", "cup", "g"),
    ]
    coded = code_labels(frame(rows), factors=["object"], group="group")
    ids = coded.images["image_id"].to_numpy()
    baselines = {s.levels: ids[s.groups["base"]].tolist() for s in coded.scopes(baseline="base")}
    assert baselines == {("car",): ["2"], ("cup",): ["1"]}


def test_images_without_a_group_belong_to_no_scope() -> None:
    rows = [("1", "c", "red", "car", None), ("2", "c", "red", "car", "g")]
    (scope,) = code_labels(frame(rows), factors=["object"], group="group").scopes()
    assert list(scope.groups) == ["g"]
    assert len(scope.groups["g"]) == 1


@pytest.mark.parametrize("every", [True, False])
def test_each_label_stands_in_the_row_of_its_image(every: bool) -> None:
    rng = np.random.default_rng(int(every))
    images = [(str(i), str(rng.integers(2)), [None, "g", "base"][rng.integers(3)]) for i in range(80)]
    # An image stands in two groups, and the identities of images are out of order.
    images += [("7", "0", "other"), ("7", None, "g")]
    rng.shuffle(images)
    rows = [
        (image, attribute, [None, "unclear", "a", "b"][rng.integers(4)], level, group, f"p{rng.integers(9)}")
        for attribute in "cs"
        for image, level, group in dict.fromkeys(images)
        if every or rng.random() < 0.7
    ]
    names = ("image_id", "attribute", "value", "object", "group", "prompt_id")
    prompts = {row[0]: row[5] for row in rows}
    rows = [(*row[:5], prompts[row[0]]) for row in rows]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    coded = code_labels(frame, factors=["object"], group="group")
    known = {row[:2] + row[3:5]: row[2] for row in rows}
    identities = {(row[0], *row[3:5]) for row in rows}
    assert sorted(map(str, coded.images.rows())) == sorted(map(str, identities))
    assert coded.images.equals(coded.images.sort(coded.images.columns))
    told = sorted(set(prompts.values()))
    for at, (image, *levels) in enumerate(coded.images.rows()):
        assert told[coded.prompts[at]] == prompts[image]
        for column, attribute in enumerate(coded.attributes):
            value = known.get((image, attribute, *levels), UNLABELLED)
            reason = value if value in ("unclear", UNLABELLED) else "missing" if value is None else None
            code, why = coded.codes[at, column], coded.why[at, column]
            assert (coded.values[column][code] if code >= 0 else None) == (None if reason else value)
            assert (coded.reasons[why] if why >= 0 else UNLABELLED if code < 0 else None) == reason
