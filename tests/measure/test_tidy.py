"""What every measure makes of the frames that users bring."""

from __future__ import annotations

import math

import pandas as pd
import polars as pl
import pytest

from stereotrope import measure
from stereotrope.errors import TableError, UsageError
from stereotrope.measure.tidy import read_labels, to_polars


def frame(values: object, **factors: object) -> pl.DataFrame:
    listed = pl.Series("value", values, strict=False)
    ids = [str(i) for i in range(len(listed))]
    return pl.DataFrame({"image_id": ids, "attribute": "a", "value": listed, **factors})


def test_nan_is_missing_in_values_and_no_level_in_factors() -> None:
    tidy = read_labels(frame([1.5, math.nan, None], group=[math.nan, 2.5, 0.5]), factors=["group"])
    assert tidy["value"].to_list() == ["1.5", None, None]
    assert tidy["excluded"].to_list() == [None, "missing", "missing"]
    assert tidy["group"].to_list() == [None, "2.5", "0.5"]


def test_whole_numbers_are_the_same_words_with_and_without_a_gap_in_pandas() -> None:
    gap = pd.DataFrame({"image_id": ["x", "y"], "attribute": "a", "value": [1, None], "group": [0, 1]})
    assert str(gap["value"].dtype) == "float64"
    tidy = read_labels(gap, factors=["group"])
    assert tidy["value"].to_list() == ["1", None]
    assert tidy["group"].to_list() == ["0", "1"]


def test_words_that_look_like_nothing_are_values() -> None:
    words = ["None", "NA", "nan", "null", ""]
    tidy = read_labels(frame(words).to_pandas(), factors=[])
    assert tidy["value"].to_list() == words
    assert tidy["excluded"].null_count() == len(words)


def test_a_column_of_several_types_is_refused() -> None:
    mixed = pd.DataFrame({"image_id": ["x", "y"], "attribute": "a", "value": [True, "pink"]})
    with pytest.raises(TableError, match="a column holds values of several types"):
        to_polars(mixed)


def test_two_labels_of_one_image_are_refused_with_what_tells_them_apart() -> None:
    one = frame(["x", "y"], group=["base", "women"], dimension="age")
    with pytest.raises(TableError, match="two labels of attribute 'a'; keep one label an image"):
        read_labels(pl.concat([one, one]), factors=["group"])
    both = pl.concat([one, one.with_columns(dimension=pl.lit("gender"))])
    with pytest.raises(TableError, match="these differ in 'dimension': filter to one level, or add"):
        read_labels(both, factors=["group"])
    said = pl.concat([one.with_columns(annotator=pl.lit(name)) for name in "kl"])
    with pytest.raises(TableError, match="two annotators label it: filter to one, or add 'annotator'"):
        read_labels(said, factors=["group"])


def test_attributes_given_as_a_string_are_refused() -> None:
    with pytest.raises(UsageError, match=r"attributes must be a list of names, found the string 'a'"):
        read_labels(frame(["x"]), factors=[], attributes="a")


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        *[(m, "within") for m in ("bds", "cds", "vac", "share_difference", "dominance_shift")],
        *[("deterministic_share", argument) for argument in ("within", "by")],
        *[(m, "by") for m in ("share", "female_ratio")],
    ],
)
def test_factors_given_as_a_string_are_refused(name: str, argument: str) -> None:
    labels = frame(["x", "y"], generator="m", object="car", group=["base", "women"], dimension="gender")
    labels = labels.with_columns(attribute=pl.lit("gender"))
    with pytest.raises(UsageError, match=f"{argument} must be a list of factors, found the string 'object'"):
        getattr(measure, name)(labels, **{argument: "object"})


def test_other_tables_refuse_a_string_too() -> None:
    images = pl.DataFrame({"image_id": ["x"], "status": "ok", "generator": "m"})
    with pytest.raises(UsageError, match="refusal_rate: by must be a list of factors"):
        measure.refusal_rate(images, by="generator")
    with pytest.raises(UsageError, match="agreement: by must be a list of factors"):
        measure.agreement(frame(["x"]), frame(["x"]), by="attribute")
    with pytest.raises(UsageError, match="default_rank: within must be a list of factors"):
        measure.default_rank(pl.DataFrame(), within="generator")


def test_a_column_of_lists_is_refused() -> None:
    lists = pl.DataFrame({"image_id": ["i"], "attribute": ["a"], "value": [["x"]], "group": ["base"]})
    with pytest.raises(TableError, match=r"column 'value' must hold one text a row, found List"):
        measure.share(lists, by=["group"])


def test_a_pandas_column_that_is_there_twice_is_refused() -> None:
    frame = pd.DataFrame([["i", "a", "x", "x"]], columns=["image_id", "attribute", "value", "value"])
    with pytest.raises(TableError, match=r"columns must differ, found 'value' twice"):
        measure.share(frame, by=[])
