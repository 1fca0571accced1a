from __future__ import annotations

import re
import unicodedata

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereotrope.annotate import fold
from stereotrope.annotate.folding import fold_labels, writings
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


def ways(frame: pl.DataFrame) -> list[tuple[object, ...]]:
    return [
        (one["value"], form["written"], form["n"], form.get("distance"))
        for one in writings(frame)
        for form in one["written"]
    ]


def test_values_are_folded_where_they_stand_and_keep_what_was_written():
    other = labels(["Big"], "size")
    frame = fold_labels(
        pl.concat([labels(["Reds", "red", None, "-1", "1"]), other]), "vlm", ["product_colour"]
    )
    assert frame.columns == [c.name for c in LABELS]
    assert frame["value"].to_list() == ["red", "red", None, "-1", "1", "Big"]
    assert frame["written"].to_list() == ["Reds", None, None, None, None, None]
    assert frame["rationale"].unique().to_list() == ["as seen"]
    assert frame["annotator"].unique().to_list() == ["vlm"]
    assert writings(frame) == [
        {
            "annotator": "vlm",
            "attribute": "product_colour",
            "value": "red",
            "written": [{"written": "Reds", "n": 1}, {"written": "red", "n": 1}],
        }
    ]


def test_other_annotators_are_left_alone():
    given = labels(["Red"])
    assert fold_labels(given, "nobody", ["product_colour"]).equals(given)
    assert writings(given) == []


def test_what_others_wrote_otherwise_is_kept():
    given = labels(["ACME"], "mark").with_columns(written=pl.lit("ACNE"), annotator=pl.lit("ocr"))
    both = pl.concat([given, labels(["Red"])])
    assert fold_labels(both, "vlm", ["product_colour"])["written"].to_list() == ["ACNE", "Red"]


def test_a_value_that_is_listed_stays_as_it_is_listed():
    given = labels(["A-", "a-", "A", "suv", "SUVs", "SUV", "Sedan", "-1", "1"], "grade")
    frame = fold_labels(given, "vlm", ["grade"], {"grade": ["A", "A-", "SUV", "-1", "1"]})
    assert frame["value"].to_list() == ["A-", "A-", "A", "SUV", "SUV", "SUV", "sedan", "-1", "1"]
    assert {value for value, *_ in ways(frame)} == {"A-", "SUV"}
    both = {"grade": ["Suv", "SUV", "suv"]}
    assert fold_labels(given, "vlm", ["grade"], both)["value"][3:6].to_list() == ["suv", "suv", "SUV"]


def test_near_identical_colours_merge_into_the_more_frequent_and_are_listed():
    given = labels(["grey", "Gray", "grey", "navy", "dark blue", "dark-blue", "red", "matte"])
    frame = fold_labels(given, "vlm", ["product_colour"], merge=5.0)
    assert frame["value"].to_list() == [*["grey"] * 3, *["dark blue"] * 3, "red", "matte"]
    assert ways(frame) == [
        ("grey", "grey", 2, None),
        ("grey", "Gray", 1, 0.0),
        ("dark blue", "dark blue", 1, None),
        ("dark blue", "dark-blue", 1, None),
        ("dark blue", "navy", 1, pytest.approx(2.2, abs=1.5)),
    ]
    alone = fold_labels(labels(["Gray"]), "vlm", ["product_colour"])
    assert alone["value"].to_list() == ["gray"]


def test_colours_far_apart_stay():
    given = labels(["red", "green", "rose gold", "gold"])
    frame = fold_labels(given, "vlm", ["product_colour"], merge=5.0)
    assert frame["value"].to_list() == ["red", "green", "rose gold", "gold"]
    assert writings(frame) == []
