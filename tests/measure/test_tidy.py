"""What every measure makes of the frames that users bring."""

from __future__ import annotations

import decimal
import math

import pandas as pd
import polars as pl
import pyarrow as pa
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


@pytest.mark.parametrize("values", [[True, "pink"], ["pink", 1], [1, "pink"]])
def test_a_column_of_several_types_is_refused(values: list[object]) -> None:
    mixed = pd.DataFrame({"image_id": ["x", "y"], "attribute": "a", "value": pd.Series(values, dtype=object)})
    with pytest.raises(TableError, match=r"column 'value' holds values of several types.*leave it out"):
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


def prompted() -> pl.DataFrame:
    """Labels of two groups over fifteen prompts."""
    values = ["1", "2", "1", "1", "2", "3"] * 5
    ids = [str(i) for i in range(30)]
    labels = pl.DataFrame({"image_id": ids, "attribute": "a", "value": values, "group": ["0", "5"] * 15})
    return labels.with_columns(prompt_id=(pl.Series(ids).cast(pl.Int64) % 15).cast(pl.String))


INTEGER = {name: pl.col(name).cast(pl.Int64) for name in ("image_id", "prompt_id", "value", "group")}


@pytest.mark.parametrize(
    "written",
    [
        INTEGER,
        {name: number.cast(pl.Float64) for name, number in INTEGER.items()},
        {name: number.cast(pl.Decimal(12, 2)) for name, number in INTEGER.items()},
        {name: pl.col(name).cast(pl.Categorical) for name in INTEGER},
        {"group": pl.col("group").cast(pl.Enum(["5", "0"])), "value": pl.col("value").cast(pl.Enum("321"))},
    ],
    ids=["integers", "floats", "decimals", "categories", "enums"],
)
def test_numbers_and_categories_are_read_as_the_texts_that_they_are(written: dict[str, pl.Expr]) -> None:
    labels, few = prompted(), {"n_permutations": 60, "n_bootstrap": 40}
    other = labels.with_columns(**written)
    for name, how in {
        "share_difference": {},
        "bds": few,
        "vac": {"n_bootstrap": 40},
    }.items():
        how = {**how, "within": [], **({"baseline": "0"} if name != "vac" else {})}
        one, two = (getattr(measure, name)(frame, **how) for frame in (labels, other))
        assert one.equals(two), name
    one, two = (measure.cds(x, within=[], dimension=None, baseline=None, **few) for x in (labels, other))
    assert one.equals(two)
    assert measure.agreement(other, labels).filter(definition="accuracy")["value"].to_list() == [1.0]


def test_a_decimal_keeps_the_digits_that_say_something() -> None:
    numbers = pl.Series([decimal.Decimal("1.50"), decimal.Decimal("2.00"), None])
    assert read_labels(frame(numbers), factors=[])["value"].to_list() == ["1.5", "2.0", None]


@pytest.mark.parametrize("missing", ["image_id", "attribute"])
def test_a_label_of_nobody_knows_what_is_refused(missing: str) -> None:
    gap = prompted().with_columns(pl.when(pl.col("image_id") != "7").then(missing))
    for one in (measure.share, measure.nonanswer_rate):
        with pytest.raises(TableError, match=f"labels: {missing} is missing in 1 of 30 rows; fill it in"):
            one(gap, by=["group"] if one is measure.share else ["attribute"])


def test_a_column_of_what_has_no_text_is_refused() -> None:
    for column, kind in ((b"\xff", "Binary"), (pl.duration(days=1), "Duration")):
        labels = prompted().with_columns(value=pl.lit(column) if kind == "Binary" else column)
        with pytest.raises(TableError, match=f"'value' must hold one text a row, found {kind}.*write it as"):
            measure.share(labels, by=["group"])
    things = prompted().with_columns(prompt_id=pl.Series([object()] * 30, dtype=pl.Object))
    with pytest.raises(TableError, match="column 'prompt_id' must hold one text a row, found Object"):
        measure.share(things, by=["group"])
    spans = prompted().to_pandas().assign(group=pd.cut(range(30), 2))
    with pytest.raises(TableError, match="column 'group' must hold one text a row, found Extension"):
        measure.share(spans, by=["group"])


def test_why_a_label_does_not_count_is_a_text() -> None:
    labels = prompted()
    counted = measure.share(labels, by=["group"])
    for none in (pl.lit(None), pl.lit(math.nan), pl.lit("")):
        assert measure.share(labels.with_columns(excluded=none), by=["group"]).equals(counted)
    for wrong, kind in ((False, "Boolean"), (0, "Int32")):
        with pytest.raises(TableError, match=f"'excluded' must hold a reason, or null .*, found {kind}"):
            measure.share(labels.with_columns(excluded=pl.lit(wrong)), by=["group"])


@pytest.mark.parametrize("wrong", [2.5, -1, None, math.nan, "three", True])
def test_counts_that_are_none_are_refused(wrong: object) -> None:
    counted = prompted().drop("image_id").with_columns(n_subjects=pl.lit(wrong))
    with pytest.raises(TableError, match="labels: n_subjects must be a whole number of 0 or more in every"):
        measure.share(counted, by=["group"])


def test_a_column_that_is_there_twice_is_named_whatever_the_frame() -> None:
    twice = pa.table(
        [pa.array(["i"]), pa.array(["x"]), pa.array(["y"])], names=["image_id", "value", "value"]
    )
    with pytest.raises(TableError, match="columns must differ, found 'value' twice"):
        to_polars(twice)


def test_levels_and_values_that_are_no_texts_are_refused() -> None:
    labels = prompted()
    with pytest.raises(UsageError, match="value must be text, as labels and levels are read, found 1; quote"):
        measure.share(labels, value=1, by=["group"])
    with pytest.raises(UsageError, match=r"of must be text, .* found 1; quote it"):
        measure.share(labels, of=[1, 2], by=["group"])
    for one in (measure.share_difference, measure.cds, measure.dominance_shift):
        with pytest.raises(UsageError, match="baseline must be text, as labels and levels are read, found 0"):
            one(labels, baseline=0, within=[])
    with pytest.raises(UsageError, match=r"vac: each value of 'a' must be text, .* found 1"):
        measure.vac(labels, within=[], taxonomy={"a": [1, 2, 3]})
    with pytest.raises(UsageError, match="share: by must be a list of factors, found None"):
        measure.share(labels, by=None)


@pytest.mark.parametrize("wrong", ["0.9", None, 95, math.nan])
def test_a_level_that_is_none_is_refused(wrong: object) -> None:
    for one, how in ((measure.share, {"by": []}), (measure.vac, {"within": []})):
        with pytest.raises(UsageError, match=r"level must lie between 0 and 1, found .*; 0.95 is usual"):
            one(prompted(), level=wrong, **how)


@pytest.mark.parametrize("wrong", [1.5, "a", None, True])
def test_a_seed_or_a_number_of_draws_that_is_none_is_refused(wrong: object) -> None:
    for name in ("seed", "n_bootstrap"):
        with pytest.raises(UsageError, match=f"vac: {name} must be 0 or more and whole, found {wrong!r}"):
            measure.vac(prompted(), within=[], **{name: wrong})


def test_one_rater_may_be_named_and_annotators_may_be_numbers() -> None:
    raters = pl.concat([prompted().with_columns(annotator=pl.lit(name)) for name in (1, 2, 3)])
    named = measure.agreement(raters, "1", raters="2")
    assert named.select("annotator", "definition", "value").row(0) == ("2", "accuracy", 1.0)


def test_declared_elements_are_texts() -> None:
    captions = prompted().with_columns(caption=pl.lit("a"), keyword=pl.lit(["a"]), generator=pl.lit("m"))
    with pytest.raises(UsageError, match=r"must be text, as labels and levels are read, found 1; quote it"):
        measure.gmr(captions, [1], by=["group"])
    with pytest.raises(TableError, match="captions: image_id is missing in 30 of 30 rows"):
        measure.gmr(captions.with_columns(image_id=pl.lit(None)), ["a"], by=["group"])


def differing() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labels of two groups that have no value in common, and their difference."""
    ids = [str(at) for at in range(60)]
    rows = {"image_id": ids, "attribute": "a", "generator": "m", "value": ["1"] * 30 + ["2"] * 30}
    labels = pl.DataFrame(rows).with_columns(group=pl.Series(["base"] * 30 + ["women"] * 30))
    return labels, measure.share_difference(labels, within=["generator"])


def test_estimates_may_be_written_in_categories() -> None:
    labels, estimates = differing()
    found = measure.findings(estimates, labels)
    assert found.height > 1
    categories = estimates.with_columns(pl.col(pl.String).cast(pl.Categorical))
    for frame in (categories, categories.to_pandas(), estimates.to_pandas()):
        assert measure.findings(frame, labels).equals(found)


def test_estimates_that_are_there_twice_are_counted_once() -> None:
    labels, estimates = differing()
    again = estimates.with_columns(q_value=pl.col("q_value") / 2)
    for made in (measure.findings, measure.comparisons):
        assert made(pl.concat([estimates, again]), labels).equals(made(estimates, labels))


def test_columns_of_estimates_that_hold_nothing_are_of_any_type() -> None:
    labels, estimates = differing()
    empty = [name for name in estimates.columns if estimates[name].null_count() == estimates.height]
    written = estimates.with_columns(pl.col(empty).cast(pl.String))
    assert measure.findings(written, labels).equals(measure.findings(estimates, labels))


def test_findings_of_what_does_not_fit_are_refused() -> None:
    labels, estimates = differing()
    for name in ("p_value", "value", "low", "n", "numerator"):
        given = estimates.with_columns(pl.col(name).cast(pl.String))
        with pytest.raises(TableError, match=f"estimates: column '{name}' must hold numbers, found String"):
            measure.findings(given, labels)
    with pytest.raises(TableError, match="estimates: no column 'p_value'; found"):
        measure.comparisons(estimates.drop("p_value"), labels)
    for name, wrong in (("alpha", 2), ("alpha", "x"), ("margin", -1)):
        with pytest.raises(
            UsageError, match=f"findings: {name} must be a number from 0 to below 1, found {wrong!r}"
        ):
            measure.findings(estimates, labels, **{name: wrong})
    for wrong in (float("nan"), -1.0, 1.5):
        given = estimates.with_columns(p_value=pl.lit(wrong))
        with pytest.raises(TableError, match=f"estimates: p_value must be from 0 .*, found {wrong} of"):
            measure.findings(given, labels)
    with pytest.raises(UsageError, match="findings: limit must be 0 or more and whole, found -1"):
        measure.findings(estimates, labels, limit=-1)
    with pytest.raises(
        TableError, match=r"labels: none that counts is of attribute 'a' in .*pass the labels"
    ):
        measure.findings(estimates, labels.clear())
