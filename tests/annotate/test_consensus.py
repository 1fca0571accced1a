"""What the regions of a picture agree on, and the reason where they do not."""

from __future__ import annotations

import json
from types import SimpleNamespace

import polars as pl
import pytest

from stereotrope.annotate import create, labels_frame, subject_id
from stereotrope.errors import UsageError
from stereotrope.measure import tidy_labels

ENTRY = {"consensus": "judge", "regions": "detect", "attributes": ["perceived_gender"], "name": "shown"}
STATUS = {"?": "unclear", "!": "refused", "x": "invalid"}


def given(**pictures):
    """Picture → a letter a region: a value, a status of :data:`STATUS`, or a blank for no label."""
    rows = []
    for image, said in pictures.items():
        fixed = {"subject_kind": "image", "subject_id": image, "annotator": "detect", "status": "ok"}
        rows.append({**fixed, "attribute": "n_people", "value": str(len(said))})
        for at, value in enumerate(said):
            box = json.dumps([at, 0, at + 1, 1])
            rows.append({**fixed, "attribute": "person", "value": "person", "region": box})
            if value != " ":
                rows.append(
                    {
                        "subject_kind": "region",
                        "subject_id": subject_id(image, box),
                        "region": box,
                        "attribute": "perceived_gender",
                        "annotator": "judge",
                        "value": None if value in STATUS else value,
                        "status": STATUS.get(value, "ok"),
                    }
                )
    return labels_frame(rows)


def told(labels, images="abcdefghijk", **more):
    made = create({**ENTRY, **more}).derive(pl.DataFrame({"image_id": list(images)}), labels)
    return {row[0]: row[1:] for row in made.select("subject_id", "value", "status", "rationale").iter_rows()}


def test_a_picture_has_the_one_value_of_its_regions_and_else_the_reason():
    assert told(
        given(a="f", b="mm?!", c="", d="??", e="fm", f="?f?m", g="!!", h="x?", i="x", j="m ", k="f!")
    ) == {
        "a": ("f", "ok", "1 of 1"),
        "b": ("m", "ok", "2 of 4"),
        "c": (None, "unclear", "nothing found"),
        "d": (None, "unclear", "nothing clear"),
        "e": (None, "unclear", "several values"),
        "f": (None, "unclear", "several values"),
        "g": (None, "refused", "all refused"),
        "h": (None, "unclear", "nothing clear"),
        "i": (None, "invalid", "all invalid"),
        "k": ("f", "ok", "1 of 2"),
    }


def test_confidence_is_the_share_of_regions_that_show_it():
    made = create(ENTRY).derive(pl.DataFrame({"image_id": ["b"]}), given(b="mm?!"))
    assert made["confidence"].to_list() == [0.5]
    assert made["derived_from"].to_list() == ["judge, detect"]
    assert made["subject_kind"].to_list() == ["image"]


def test_values_listed_as_unclear_show_nothing_and_spellings_of_one_value_are_one():
    labels = given(a="n", b="nf", c="fF")
    assert told(labels, unclear=["N"]) == {
        "a": (None, "unclear", "nothing clear"),
        "b": ("f", "ok", "1 of 2"),
        "c": ("f", "ok", "2 of 2"),
    }
    assert told(labels)["b"] == (None, "unclear", "several values")


def test_a_picture_that_was_not_searched_has_no_label_and_one_that_failed_says_why():
    failed = labels_frame(
        [
            {
                "subject_kind": "image",
                "subject_id": "b",
                "annotator": "detect",
                "attribute": name,
                "status": "invalid",
                "rationale": "torn",
            }
            for name in ("person", "n_people")
        ]
    )
    assert told(pl.concat([given(a="f"), failed])) == {
        "a": ("f", "ok", "1 of 1"),
        "b": (None, "invalid", "torn"),
    }
    assert told(labels_frame([])) == {}


def test_each_reason_is_counted_out_by_measures_and_no_picture_is_dropped():
    images = pl.DataFrame({"image_id": list("abcde"), "prompt_id": "p", "generator": "g", "status": "ok"})
    prompts = pl.DataFrame({"prompt_id": ["p"], "text": ["a person"], "negative": [None]})
    labels = create(ENTRY).derive(images, given(a="f", b="", c="?", d="fm", e="! "))
    tidy = tidy_labels(prompts, images, labels)
    assert tidy.select("image_id", "value", "excluded").rows() == [
        ("a", "f", None),
        ("b", None, "nothing found"),
        ("c", None, "nothing clear"),
        ("d", None, "several values"),
        ("e", None, "not labelled"),
    ]


def test_only_derived_labels_say_that_they_fell_to_a_filter():
    images = pl.DataFrame({"image_id": ["a"], "prompt_id": "p", "generator": "g", "status": "ok"})
    prompts = pl.DataFrame({"prompt_id": ["p"], "text": ["a person"], "negative": [None]})
    fixed = {"subject_kind": "image", "subject_id": "a", "attribute": "x", "annotator": "rater"}
    labels = labels_frame([{**fixed, "status": "unclear", "rationale": "nothing found"}])
    assert tidy_labels(prompts, images, labels)["excluded"].to_list() == ["unclear"]


def test_it_reads_regions_found_by_one_and_judged_by_another_and_takes_the_value_list():
    judge = SimpleNamespace(
        name="judge",
        subject="region",
        several=(),
        discovers=False,
        attributes={"perceived_gender": ("f", "m")},
    )
    detect = SimpleNamespace(
        name="detect", subject="image", several=("person",), discovers=False, attributes={"person": None}
    )
    made = create(ENTRY)
    made.require_of([judge, detect])
    assert made.attributes == {"perceived_gender": ("f", "m")}
    with pytest.raises(UsageError, match="'shown': `consensus:` must name an annotator that labels regions"):
        create({**ENTRY, "consensus": "detect", "regions": "judge"}).require_of([judge, detect])
    with pytest.raises(UsageError, match="`regions:` must name an annotator that finds them, found 'other'"):
        create({**ENTRY, "regions": "other"}).require_of(
            [judge, SimpleNamespace(**vars(judge) | {"name": "other"})]
        )
    with pytest.raises(UsageError, match="'perceived_race' must be labelled by at least 1"):
        create({**ENTRY, "attributes": ["perceived_race"]}).require_of([judge, detect])
    prints = {create({**ENTRY, **more}).fingerprint for more in ({}, {"unclear": ["x"]}, {"regions": "d"})}
    assert len(prints) == 3
