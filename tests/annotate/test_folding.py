from __future__ import annotations

import re
import unicodedata

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
        ("bronzes", "bronze"),
        ("waltzes", "waltz"),
        ("1990s", "1990s"),
        ("None", "none"),
        ("", ""),
    ],
)
def test_values_are_written_one_way(given_value, folded):
    assert fold(given_value) == folded


@pytest.mark.parametrize(
    "apart",
    [
        ["-1", "1", "+1", "\u22121", "(1)", "#1", "1%", "$1", "1+", "1-", "~1", "=1", "<1", ">1", "≤1", "_1"],
        ["-0.5", "0.5", ".5", "05", "0,5", "0-5", "0 5"],
        ["A-", "A", "A+", "-A", "A--", "A*", "A#", "_A", "A_"],
        ["C++", "C#", "C", "C+"],
        ["<30", ">30", "30", "30-", "30+", "-30", "30s"],
        ["18-24", "18–24", "1824", "18 24", "18_24", "18/24"],
        ["1.0", "10", "1,0", "1"],
        ["1,5", "1.5", "15"],
        ["4-door", "4 door", "4door"],
        ["s", "ss", "S-"],
        ["-", "--", "_", "–", "+", "/", "- -", "?"],
        ["👩", "👩🏽", "👩🏿", "👩\u200d🦰"],
        ["да", "нет", "да-", "-да"],
        ["é", "e", "è"],
    ],
)
def test_values_that_differ_in_a_sign_or_a_digit_stay_apart(apart):
    folded = [fold(value) for value in apart]
    assert all(folded)
    assert len(set(folded)) == len(apart)


@pytest.mark.parametrize("joint", ["-", "_", " ", "  ", "\u00a0", "\u2011", "–", " - "])
@pytest.mark.parametrize(
    ("left", "right"), [("rose", "gold"), ("светло", "серый"), ("हरा", "नीला"), ("É", "à")]
)
def test_joints_between_letters_of_any_script_are_alike(left, right, joint):
    assert fold(f"{left}{joint}{right}") == fold(f"{left} {right}")


_VALUES = st.text(max_size=30) | st.text(alphabet="aAbsxezy019 -_–+.,%#é\u0301\u093e\ufe0f", max_size=12)


@given(_VALUES)
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@given(_VALUES)
def test_nothing_becomes_empty(text):
    assert bool(fold(text)) == bool(text)


def _signs(text: str) -> list[str]:
    """What is neither letter nor mark nor a joint, in its order."""
    return [c for c in text if not (c.isalpha() or unicodedata.category(c)[0] == "M" or _JOINT.match(c))]


_JOINT = re.compile(r"[\s_\-‐‑‒–—]")


@given(_VALUES)
def test_signs_and_digits_stay_where_they_are(text):
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    assert _signs(fold(text)) == _signs(plain)


@given(st.text(alphabet="-_–+. 0129%", min_size=1, max_size=12))
def test_without_letters_only_runs_of_blanks_change(text):
    assert fold(text) == (" ".join(text.split()) or text)


@given(_VALUES, st.sampled_from([" ", "\u00a0", "\t "]))
def test_outer_blanks_never_matter(text, blank):
    assert fold(f"{blank}{text}{blank}") == fold(text) or not text.strip()


@given(st.text(alphabet="abceghilnorstuyz -_019+", max_size=20))
def test_case_never_matters(text):
    assert fold(text.upper()) == fold(text)


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
