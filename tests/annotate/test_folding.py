from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereotrope.annotate import FoldedLabels, fold
from stereotrope.annotate.label import labels_frame
from stereotrope.tables import LABELS


@pytest.mark.parametrize(
    ("given_value", "folded"),
    [
        ("Red", "red"),
        ("rose-gold", "rose gold"),
        ("Rose_Gold", "rose gold"),
        ("  rose   gold ", "rose gold"),
        ("rose\u2011gold", "rose gold"),
        ("STRASSE", "strasse"),
        ("cafe\u0301", "caf\u00e9"),
        ("stripes", "stripe"),
        ("boxes", "box"),
        ("brushes", "brush"),
        ("cherries", "cherry"),
        ("blue cups", "blue cup"),
        ("glass", "glass"),
        ("lens", "lens"),
        ("canvas", "canvas"),
        ("yes", "yes"),
        ("1990s", "1990s"),
        ("None", "none"),
        ("", ""),
    ],
)
def test_values_are_written_one_way(given_value, folded):
    assert fold(given_value) == folded


@given(st.text(max_size=30))
def test_case_and_joints_never_matter(text):
    assert fold(text) == fold(f" {text} ")
    assert fold(text.replace(" ", "-")) == fold(text.replace(" ", "_"))


@given(st.text(alphabet="abceghilnorstuyz -_", max_size=20))
def test_folding_twice_changes_nothing_more_than_a_second_plural(text):
    assert fold(fold(text).upper()) == fold(fold(text))


def labels(values: list[str | None], attribute: str = "product_colour") -> pl.DataFrame:
    return labels_frame(
        [
            {
                "subject_kind": "image",
                "subject_id": f"i{k}",
                "attribute": attribute,
                "value": value,
                "annotator": "vlm",
                "status": "ok" if value is not None else "unclear",
                "rationale": "as seen",
            }
            for k, value in enumerate(values)
        ]
    )


def test_derived_labels_have_their_own_annotator_and_keep_the_given_value():
    folder = FoldedLabels("vlm", ["product_colour"])
    other = labels(["Big"], "size")
    frame = folder.derive(pl.DataFrame(), pl.concat([labels(["Reds", "red", None]), other]))
    assert frame.columns == [c.name for c in LABELS]
    assert frame["value"].to_list() == ["red", "red", None]
    assert frame["status"].to_list() == ["ok", "ok", "unclear"]
    assert frame["annotator"].unique().to_list() == ["folded:vlm"]
    assert frame["rationale"].to_list() == ["Reds", "as seen", "as seen"]
    assert folder.needs == ("product_colour",)
    assert FoldedLabels("vlm").derive(pl.DataFrame(), other)["value"].to_list() == ["big"]


def test_other_annotators_are_left_alone():
    assert FoldedLabels("nobody").derive(pl.DataFrame(), labels(["Red"])).is_empty()


def test_near_identical_colours_merge_into_the_more_frequent_and_are_listed():
    folder = FoldedLabels("vlm", merge=5.0)
    frame = folder.derive(
        pl.DataFrame(), labels(["grey", "Gray", "grey", "navy", "dark blue", "dark-blue", "red", "matte"])
    )
    assert frame["value"].to_list() == [
        "grey",
        "grey",
        "grey",
        "dark blue",
        "dark blue",
        "dark blue",
        "red",
        "matte",
    ]
    assert folder.merges.rows() == [
        ("product_colour", "gray", "grey", 0.0, 1),
        ("product_colour", "navy", "dark blue", pytest.approx(2.2, abs=1.5), 1),
    ]
    assert FoldedLabels("vlm").derive(pl.DataFrame(), labels(["Gray"]))["value"].to_list() == ["gray"]


def test_colours_far_apart_stay():
    folder = FoldedLabels("vlm", merge=5.0)
    frame = folder.derive(pl.DataFrame(), labels(["red", "green", "rose gold", "gold"]))
    assert frame["value"].to_list() == ["red", "green", "rose gold", "gold"]
    assert folder.merges.is_empty()


def test_the_fingerprint_holds_attributes_and_merging():
    made = [FoldedLabels("a"), FoldedLabels("b"), FoldedLabels("a", ["x"]), FoldedLabels("a", merge=3.0)]
    assert len({m.fingerprint for m in made}) == 4
