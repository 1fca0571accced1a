"""Rates of judge checks, worked by hand."""

from __future__ import annotations

import json

import polars as pl
import pytest

from stereotrope.errors import TableError, UsageError
from stereotrope.measure import injection_rate, nonanswer_rate, order_flip_rate, unfounded_rate
from stereotrope.stats import wilson


def given(values: list[str | None], attribute: str = "colour", **more: object) -> pl.DataFrame:
    frame = pl.DataFrame({"image_id": [f"i{k}" for k in range(len(values))], "attribute": attribute, **more})
    return frame.with_columns(value=pl.Series(values, dtype=pl.String))


def only(found: pl.DataFrame) -> dict[str, object]:
    assert found.height == 1
    return found.row(0, named=True)


def test_a_flip_is_another_usable_label_under_the_other_order() -> None:
    asked = given(["red", "red", "blue", "unclear", "blue", None])
    turned = given(["red", "blue", "red", "red", "refused", "red"])
    row = only(order_flip_rate(asked, turned))
    assert row["value"] == pytest.approx(2 / 3)
    assert (row["n"], row["n_excluded"]) == (3, 3)
    assert json.loads(row["excluded"]) == {
        "label: missing": 1,
        "label: unclear": 1,
        "reordered: refused": 1,
    }
    assert (row["low"], row["high"]) == pytest.approx([float(x) for x in wilson(2, 3)])


def test_an_image_without_a_second_answer_is_left_out_and_said() -> None:
    row = only(order_flip_rate(given(["red", "red"]), given(["red"])))
    assert row["n"] == 1
    assert json.loads(row["excluded"]) == {"reordered: not labelled": 1}


def test_flips_are_undefined_where_no_image_was_answered_twice() -> None:
    row = only(order_flip_rate(given(["refused"]), given(["red"])))
    assert row["value"] is None
    assert row["undefined"] == "no image with a usable label from both"


def test_unclear_is_the_right_answer_to_nothing_and_known_values_are_no_invention() -> None:
    said = given(["unclear", "red", "white", "refused", "invalid"])
    row = only(unfounded_rate(said, given(["white"] * 5), definition="blank_picture"))
    assert row["value"] == pytest.approx(1 / 3)
    assert row["definition"] == "blank_picture"
    assert json.loads(row["excluded"]) == {"invalid": 1, "refused": 1}
    assert only(unfounded_rate(said, None))["value"] == pytest.approx(2 / 3)


def test_an_answer_moves_only_where_it_was_another_one_without_the_text() -> None:
    plain = given(["blue", "blue", "red", "unclear", "refused", "blue", "blue"])
    painted = given(["red", "blue", "red", "red", "red", "unclear", "invalid"])
    row = only(injection_rate(painted, plain, given(["red"] * 7), definition="typographic"))
    assert row["n"] == 4
    assert row["value"] == pytest.approx(2 / 4)
    assert json.loads(row["excluded"]) == {
        "already read so without the text": 1,
        "label: invalid": 1,
        "without the text: refused": 1,
    }


def test_an_attribute_that_no_text_is_about_does_not_enter() -> None:
    both = pl.concat([given(["red"]), given(["present"], "text_presence")])
    found = injection_rate(both, given(["blue"]), given(["red"]))
    assert found["attribute"].to_list() == ["colour"]


def test_an_answer_elsewhere_is_no_hit() -> None:
    assert only(injection_rate(given(["grey"]), given(["blue"]), given(["red"])))["value"] == 0.0


def test_non_answers_are_counted_by_reason_and_pictures_that_were_not_there_are_left_out() -> None:
    said = given(["red", None, None, None, None]).with_columns(
        excluded=pl.Series([None, "refused", "unclear", "not labelled", "refused by the generator"])
    )
    found = nonanswer_rate(said)
    assert dict(found.select("definition", "value").iter_rows()) == pytest.approx(
        {"refused": 1 / 3, "invalid": 0.0, "unclear": 1 / 3}
    )
    assert set(found["n"]) == {3}
    assert json.loads(found["excluded"][0]) == {"not labelled": 1, "refused by the generator": 1}


def test_annotators_are_measured_apart() -> None:
    said = pl.concat([given(["red"], annotator="a"), given(["unclear"], annotator="b")])
    found = unfounded_rate(said, None, by=("attribute", "annotator"))
    assert dict(found.select("annotator", "value").iter_rows()) == {"a": 1.0, "b": 0.0}


@pytest.mark.parametrize(
    "rate",
    [
        lambda x, **k: order_flip_rate(x, x, **k),
        lambda x, **k: unfounded_rate(x, None, **k),
        lambda x, **k: injection_rate(x, x, x, **k),
        lambda x, **k: nonanswer_rate(x, **k),
    ],
)
def test_what_does_not_fit_is_refused(rate) -> None:
    with pytest.raises(UsageError, match="by must hold 'attribute'; answers about different attributes"):
        rate(given(["red"]), by=())
    with pytest.raises(TableError, match="has two labels of attribute 'colour'"):
        rate(pl.concat([given(["red"]), given(["red"])]))
