"""Frames that measures read in an audit: what subject a measure is of."""

from dataclasses import replace

import polars as pl
import pytest

from stereotrope.errors import UsageError
from stereotrope.measure import REGISTRY, MeasureSetting, RunTables
from stereotrope.measure.join import tidy_subjects

PROMPTS = pl.DataFrame({"prompt_id": ["p"], "object": ["car"], "text": ["a car"], "negative": [None]})
IMAGES = pl.DataFrame({"image_id": ["i", "j"], "prompt_id": "p", "generator": "m", "status": "ok"})
SUBJECTS = pl.DataFrame(
    {
        "subject_kind": ["region", "region", "region", "set", "set"],
        "subject_id": ["r", "s", "t", "set", "set"],
        "image_id": ["i", "i", "j", "j", "i"],
        "position": [0, 0, 0, 1, 0],
    }
)


def labels(kind, values, attribute="hue", annotator="a"):
    rows = {"subject_kind": kind, "subject_id": list(values), "attribute": attribute, "annotator": annotator}
    status = ["ok" if value else "unclear" for value in values.values()]
    return pl.DataFrame({**rows, "value": list(values.values()), "status": status})


SAID = pl.concat(
    [
        labels("image", {"i": "red", "j": "red"}),
        labels("region", {"r": "blue", "s": "blue", "t": "red"}),
        labels("region", {"r": "round"}, "shape", "b"),
        labels("set", {"set": "same"}),
        labels("text", {"p": "plain"}),
    ]
)
SETTING = MeasureSetting(PROMPTS, attributes={"image": {"hue": None}, "region": {"hue": None}})


def test_a_measure_of_regions_counts_regions_and_not_the_images_they_are_of():
    info = replace(REGISTRY["share"], subject="region")
    call = info.frame.call(info, {"by": ["generator"]}, SETTING, [])
    tables = RunTables(PROMPTS, IMAGES, SAID, None, SAID.clear(), SAID.clear(), SAID.clear(), SUBJECTS)
    shares = call(call.frame.of(tables)).filter(attribute="hue").sort("category")
    assert shares.select("category", "value", "n").rows() == [("blue", 2 / 3, 3), ("red", 1 / 3, 3)]


def test_a_measure_of_subjects_that_nobody_labels_says_what_to_add():
    info = replace(REGISTRY["share"], subject="set")
    with pytest.raises(UsageError, match="needs labels of sets, and no annotator gives any; add one that"):
        info.frame.call(info, {}, SETTING, [])
    region = replace(REGISTRY["share"], subject="region")
    with pytest.raises(UsageError, match="no annotator labels 'shape'; labelled are hue"):
        region.frame.call(region, {"attribute": "shape"}, SETTING, [])


def test_a_set_stands_where_its_first_image_does_and_a_text_has_no_model():
    found = tidy_subjects(PROMPTS, IMAGES, SAID, SUBJECTS, kind="set")
    assert found.select("image_id", "generator", "object", "value").rows() == [("set", "m", "car", "same")]
    seeded = tidy_subjects(PROMPTS, IMAGES.with_columns(seed=pl.Series([7, 3])), SAID, SUBJECTS, kind="set")
    assert seeded["seed"].to_list() == [3]
    text = tidy_subjects(PROMPTS, IMAGES, SAID, kind="text")
    assert text.select("image_id", "generator", "value").rows() == [("p", None, "plain")]


def test_an_annotator_is_expected_to_label_the_regions_that_it_was_shown_alone():
    found = tidy_subjects(PROMPTS, IMAGES, SAID, SUBJECTS, kind="region")
    assert found.filter(annotator="b")["image_id"].to_list() == ["r"]


def test_a_region_that_was_not_labelled_though_it_should_have_been_is_counted():
    rows = [(i, "b", "shape") for i in ("r", "s", "set", "elsewhere")]
    asked = pl.DataFrame(rows, schema=["image_id", "annotator", "attribute"], orient="row")
    found = tidy_subjects(PROMPTS, IMAGES, SAID, SUBJECTS, kind="region", asked=asked).filter(annotator="b")
    assert found.select("image_id", "value", "excluded").sort("image_id").rows() == [
        ("r", "round", None),
        ("s", None, "not labelled"),
    ]
