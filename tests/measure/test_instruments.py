"""Estimates name the instrument that they rest on."""

import polars as pl

from stereotrope.measure import MeasureCall
from stereotrope.measure.contract import REGISTRY

LABELS = pl.DataFrame(
    {
        "image_id": ["a", "b", "a", "b"],
        "attribute": ["colour", "colour", "text", "text"],
        "value": ["red", "blue", "yes", "no"],
        "annotator": ["by colour"] * 2 + ["by reading"] * 2,
        "generator": "m",
    }
)


def test_a_score_names_the_only_annotator_of_its_attribute():
    call = MeasureCall("share", {"by": ["generator"]}, REGISTRY["share"].frame)
    found = dict(call(LABELS).select("attribute", "instrument").unique().iter_rows())
    assert found == {"colour": "by colour", "text": "by reading"}
    both = call(LABELS.with_columns(annotator=pl.lit("judge")))
    assert both["instrument"].unique().to_list() == ["judge"]


def test_a_share_says_what_it_counts_of_how_many():
    rows = REGISTRY["share"].function(LABELS, by=["generator"])
    assert rows.select("numerator", "denominator").unique().rows() == [(1, 2)]
    assert (rows["value"] == rows["numerator"] / rows["denominator"]).all()
