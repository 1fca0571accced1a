"""The captions frame: from the tables of a run, and why a picture is not in it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from stereotrope.errors import TableError
from stereotrope.measure.captions import caption_measures, captions_frame

PROMPTS = pl.DataFrame({"prompt_id": ["p"], "prompt": ["doctor"], "text": ["a doctor at work"]})


def images(*status: str) -> pl.DataFrame:
    ids = [f"i{n}" for n in range(len(status))]
    return pl.DataFrame({"image_id": ids, "prompt_id": "p", "generator": "m", "status": list(status)})


def labels(*rows: tuple[str, str, str | None, str], status: str = "ok") -> pl.DataFrame:
    given = [
        {
            "subject_kind": "image",
            "subject_id": image,
            "attribute": attribute,
            "value": value,
            "annotator": name,
            "status": status if value is None else "ok",
        }
        for image, attribute, value, name in rows
    ]
    return pl.DataFrame(given, schema_overrides={"value": pl.String})


def test_every_image_is_there_once_with_the_reason_it_does_not_count() -> None:
    said = labels(
        ("i0", "caption", "a woman", "c"),
        ("i3", "caption", None, "c"),
        ("i4", "caption", " ", "c"),
        ("i0", "gender", "female", "lex"),
        ("i0", "keyword", "doctor", "lex"),
        ("i0", "keyword", "hospital", "lex"),
        ("i0", "gender", "male", "other"),
        status="refused",
    )
    found = captions_frame(
        PROMPTS, images("ok", "refused", "ok", "ok", "ok", "excluded"), said, annotator="lex"
    )
    assert found["excluded"].to_list() == [
        None,
        "refused by the generator",
        "not captioned",
        "refused",
        "empty caption",
        "picture excluded",
    ]
    assert found["gender"].to_list() == ["female", *[None] * 5]
    assert found["keyword"].to_list() == [["doctor", "hospital"], *[[]] * 5]
    assert found["implied"].to_list() == [[]] * 6


def test_the_text_of_the_prompt_stands_in_for_one_the_lexicon_lacks() -> None:
    said = labels(
        ("i0", "caption", "a doctor at work", "c"),
        ("i1", "caption", "a doctor at work", "c"),
        ("i0", "gender", "female", "lex"),
        ("i1", "gender", "male", "lex"),
    )
    frame = captions_frame(PROMPTS, images("ok", "ok"), said, annotator="lex")
    lexicon = {
        "attributes": {"gender": {"groups": {"female": ["woman"], "male": ["man"]}}},
        "prompts": {"doctor": {"lists": {"keyword": ["doctor"]}}},
    }
    found = caption_measures(frame, lexicon, n_bootstrap=0).filter(pl.col("measure") == "clip_proxy")
    assert found["value"].to_list() == [pytest.approx(1.0)]


@pytest.mark.parametrize(
    ("said", "options", "message"),
    [
        (labels(("i0", "gender", "female", "lex")), {}, "no label is a caption"),
        (
            labels(("i0", "caption", "a", "b"), ("i0", "caption", "a", "c")),
            {},
            "2 annotators gave captions: 'b', 'c'; choose one with captioner='b'",
        ),
        (labels(("i0", "caption", "a", "b")), {"captioner": "z"}, "no captions by 'z'; found 'b'"),
        (labels(("i0", "caption", "a", "b")), {"annotator": "lex"}, "no annotator 'lex'; found 'b'"),
        (
            labels(("i0", "caption", "a", "b"), ("i0", "caption", "c", "b")),
            {},
            "image 'i0' has two captions",
        ),
        (
            labels(("i0", "caption", "a", "b"), ("i0", "gender", "x", "l"), ("i0", "gender", "y", "l")),
            {"annotator": "l"},
            "two labels of 'gender'; add 'gender' to lists=",
        ),
    ],
)
def test_labels_that_make_no_frame_are_refused(said: pl.DataFrame, options: Any, message: str) -> None:
    with pytest.raises(TableError, match=message):
        captions_frame(PROMPTS, images("ok"), said, **options)
