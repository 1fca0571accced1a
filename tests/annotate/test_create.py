from __future__ import annotations

import subprocess
import sys

import pytest

from stereotrope import annotate
from stereotrope.annotate import Annotator, Label, Picture
from stereotrope.errors import UsageError

OFFLINE = sorted(name for name, entry in annotate.ANNOTATORS.items() if entry.example == name)


@pytest.mark.parametrize("name", OFFLINE)
def test_every_name_makes_an_annotator_of_that_name(name):
    made = annotate.create(name)
    assert made.name == name
    assert isinstance(made, Annotator)
    assert made.looks
    assert (made.derive is not None) is (name in ("duplicates", "text"))
    assert len(made.fingerprint) == 16
    assert made.concurrency >= 1


def test_fingerprints_differ_and_repeat():
    names = OFFLINE
    first = [annotate.create(n).fingerprint for n in names]
    assert first == [annotate.create(n).fingerprint for n in names]
    assert len(set(first)) == len(names)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("color", r"annotator 'color' is unknown; did you mean 'colour'\?"),
        (
            "xyzzy",
            "annotator 'xyzzy' is unknown; known are blank, boxes, caption, captions, choose",
        ),
        ("labels", "labels is missing; add it: write {labels: human.csv, name: rater-1}"),
        ("questions", "questions is missing; add it: write {questions: openai:gpt-4o}"),
        ("opanai:gpt-4o", "unknown provider 'opanai'; did you mean 'openai'"),
        ({"question": "openai:gpt-4o"}, r"annotator 'question' is unknown; did you mean 'questions'\?"),
        ({"label": "a.csv", "name": "r"}, r"annotator 'label', 'name' is unknown; did you mean 'labels'\?"),
        ({"captions": "a.csv", "name": "a\u200bx"}, "name must be printable, found 'a"),
        ({"lexicon": "biasbench", "name": "a\x1bb"}, "name must be printable"),
        (
            {"labels": "a.csv"},
            "annotator labels: name is missing; add it: write {labels: human.csv, name: rater-1}",
        ),
        ({"labels": "", "name": "r"}, "annotator labels: labels must not be empty, found ''"),
        (
            {"labels": "a.csv", "name": "r", "attributes": "gender"},
            "annotator labels: attributes must be a list, for example .*, found 'gender'",
        ),
    ],
)
def test_mistakes_are_named(spec, message):
    with pytest.raises(UsageError, match=message):
        annotate.create(spec)


def test_relative_files_start_from_the_folder(tmp_path):
    (tmp_path / "human.csv").write_text("image_id,gender\na,female\n")
    made = annotate.create({"labels": "human.csv", "name": "rater-1"}, relative_to=tmp_path)
    assert (made.name, dict(made.attributes)) == ("rater-1", {"gender": None})


@pytest.mark.parametrize(("value", "status"), [(None, "ok"), ("red", "unclear")])
def test_a_label_has_a_value_exactly_when_it_is_ok(value, status):
    with pytest.raises(ValueError, match="a value belongs to status 'ok' and to no other"):
        Label("product_colour", value, status=status)


def test_pixels_are_read_once_and_cannot_be_changed(drawing):
    reads = []
    data = drawing.encoded(drawing.cup("red", "white"))
    picture = Picture("a", "0" * 64, lambda: reads.append(1) or data)
    first = picture.pixels(64)
    assert picture.pixels(64) is first
    assert len(reads) == 1
    assert first.shape == (64, 64, 3)
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 0


def test_some_attributes_of_an_annotator_can_be_chosen():
    made = annotate.create({"colour": ["background_colour"]})
    whole = annotate.create("colour")
    assert dict(made.attributes) == {"background_colour": None}
    assert (made.name, made.fingerprint) == (whole.name, whole.fingerprint)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"colour": ["shape"]}, "labels no 'shape'; it labels product_colour, background_colour"),
        ({"colour": "background_colour"}, "colour must be a list, .*, found 'background_colour'"),
        ({"colour": []}, "colour must list at least one"),
        (
            {"colour": ["background_colour"], "size": 3},
            "annotator colour: unknown key 'size'; known keys: colour",
        ),
        ({"duplicates": ["perceptual_hash"]}, "duplicates must be left empty, found .*; write duplicates"),
    ],
)
def test_a_choice_that_does_not_fit_says_what_to_write(spec, message):
    with pytest.raises(UsageError, match=message):
        annotate.create(spec)


def test_offline_annotators_import_no_client():
    code = (
        "import sys, stereotrope.annotate as a; a.create('colour'); a.create('openai:gpt-4o');"
        "print([m for m in ('openai', 'httpx2', 'jsonschema') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_the_original_bytes_are_those_that_were_given(drawing):
    data = drawing.encoded(drawing.cup("red", "white"))
    assert Picture("a", "0" * 64, data).original() == data
    assert Picture("a", "0" * 64, lambda: data).original() == data
