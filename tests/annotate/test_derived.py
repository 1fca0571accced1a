"""Labels that follow from other annotators': majorities and mapped values."""

from __future__ import annotations

import polars as pl

from stereotrope.annotate import create, labels_frame

IMAGES = pl.DataFrame({"image_id": list("abcdef")})
VOTES = {"majority": ["x", "y", "z"], "attributes": ["gender"], "name": "people"}


def given(**raters: str) -> pl.DataFrame:
    """Raters who give image after image a letter; ``?`` is unclear, ``!`` refused, a blank no label."""
    named = {"?": "unclear", "!": "refused"}
    return labels_frame(
        [
            {
                "subject_kind": "image",
                "subject_id": image,
                "attribute": "gender",
                "annotator": rater,
                "value": None if value in named else value,
                "status": named.get(value, "ok"),
            }
            for rater, values in raters.items()
            for image, value in zip("abcdef", values, strict=False)
            if value != " "
        ]
    )


def told(labels: pl.DataFrame) -> list[tuple[object, ...]]:
    return labels.select("subject_id", "value", "status", "rationale").rows()


def test_most_votes_win_and_a_tie_is_unclear() -> None:
    made = create(VOTES).derive(IMAGES, given(x="ffmf?!", y="fmm?! ", z="m? m! "))
    assert told(made) == [
        ("a", "f", "ok", "f 2, m 1"),
        ("b", None, "unclear", "tie: f 1, m 1"),
        ("c", "m", "ok", "m 2"),
        ("d", None, "unclear", "tie: f 1, m 1"),
        ("e", None, "refused", "no vote: refused 2, unclear 1"),
        ("f", None, "refused", "no vote: refused 1"),
    ]
    assert made["confidence"].to_list()[0] == 2 / 3
    assert set(made["derived_from"]) == {"x, y, z"}
    assert set(made["annotator"]) == {"people"}


def test_one_value_written_in_two_ways_is_one_and_few_votes_are_unclear() -> None:
    labels = given(x="Ff", y="f ", z="f ")
    made = create({**VOTES, "least": 2}).derive(IMAGES, labels)
    assert told(made) == [
        ("a", "f", "ok", "f 3"),
        ("b", None, "unclear", "fewer than 2 votes: f 1"),
    ]


def test_labels_of_others_and_other_attributes_are_not_read() -> None:
    other = given(x="m").with_columns(attribute=pl.lit("age"))
    annotator = create(VOTES)
    made = annotator.derive(IMAGES, pl.concat([given(x="f", stranger="m"), other]))
    assert told(made) == [("a", "f", "ok", "f 1")]
    assert annotator.notes == ["people: no label of 'gender' by 'y'", "people: no label of 'gender' by 'z'"]


def test_values_are_read_as_others_and_as_statuses() -> None:
    entry = {
        "mapping": "x",
        "name": "x read",
        "values": {"gender": {"p": "unclear", "F": "female", "?": "x"}},
    }
    annotator = create({**entry, "values": {"gender": {"p": "unclear", "F": "female", "refused": "none"}}})
    made = annotator.derive(IMAGES, given(x="fmP?!"))
    assert told(made) == [
        ("a", "female", "ok", None),
        ("b", "m", "ok", None),
        ("c", None, "unclear", "reads 'P' as unclear"),
        ("d", None, "unclear", None),
        ("e", "none", "ok", None),
    ]
    assert made["written"].to_list() == ["f", None, None, None, "refused"]
    strange = create(entry)
    strange.derive(IMAGES, given(x="m"))
    assert strange.notes[0] == "x read: no label of 'gender' is 'p', which values lists"


def test_what_a_derived_annotator_reads_changes_its_fingerprint() -> None:
    one, other = create(VOTES), create({**VOTES, "majority": ["x", "y"]})
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint != create({**VOTES, "least": 2}).fingerprint
