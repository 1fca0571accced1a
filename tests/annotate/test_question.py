from __future__ import annotations

import inspect

import pytest

from stereotrope import annotate
from stereotrope.annotate import (
    FIXED_ATTRIBUTES,
    CaptionAnnotator,
    ConstraintAnnotator,
    QuestionAnnotator,
    Taxonomy,
    taxonomy_scope,
)
from stereotrope.clients import Account, ChatClient, Endpoint
from stereotrope.errors import UsageError

_ASKS = ("regions", "letters", "meanings")
CAR = {
    "body type / Karosserie": ["Limousine", "SUV", "Кабриолет", "三厢车", 'a "quoted" one'],
    "Felgen-Farbe": "open",
}


def test_the_four_fixed_attributes_are_asked_unless_others_are_given():
    annotator = annotate.create("openai:gpt-4o")
    assert isinstance(annotator, QuestionAnnotator)
    assert dict(annotator.attributes) == dict(FIXED_ATTRIBUTES)
    assert annotator.name == "gpt-4o"
    assert annotator.discoverer is None


def test_own_attributes_with_odd_names_and_unicode_are_answered(judging):
    annotator = judging.annotator(attributes=CAR)
    labels = judging.labels(annotator)
    first = labels["body type / Karosserie"]
    assert first.status == "ok"
    assert first.value in CAR["body type / Karosserie"]
    assert set(judging.asked()) == set(CAR)


def test_two_hundred_values_are_asked_for(judging):
    values = [f"kind {i}" for i in range(200)]
    annotator = judging.annotator(attributes={"kind": values})
    label = judging.labels(annotator)["kind"]
    assert label.value in values
    assert sorted(judging.asked()["kind"]) == sorted([*values, "unclear"])


def test_a_decomposed_answer_is_the_same_word(answering):
    judging = answering(lambda question: {"style": "cafe\u0301"})
    label = judging.labels(judging.annotator(attributes={"style": ["café", "bar"]}))["style"]
    assert label.value == "café"


def test_asking_keeps_name_and_model_and_changes_the_question(judging):
    base = judging.annotator(discover=True)
    car = base.asking({**base.attributes, "body_type": ("sedan", "SUV")}, subject="car")
    assert (car.name, car.concurrency) == (base.name, base.concurrency)
    assert list(car.attributes) == [*FIXED_ATTRIBUTES, "body_type"]
    assert car.product == "car"
    assert car.discoverer is None
    assert car.fingerprint != base.fingerprint
    assert base.asking(base.attributes, subject=None).fingerprint == base.fingerprint
    assert dict(base.attributes) == dict(FIXED_ATTRIBUTES)


def test_a_subject_of_its_own_stays_where_none_is_given(judging):
    base = judging.annotator(subject="portrait of a  person")
    assert base.asking(base.attributes, subject=None).product == "portrait of a person"


def test_bad_attributes_of_a_taxonomy_are_named_with_the_annotator(judging):
    with pytest.raises(
        UsageError, match="annotator 'judge': attributes: 'body': must list at least 2 values"
    ):
        judging.annotator().asking({"body": ("one",)}, subject="car")


def test_taxonomies_from_a_file_are_found_by_scope(tmp_path):
    car = Taxonomy({"body_type": ("sedan", "SUV")}, {"light": ("bright", "dim")}, subject="car")
    annotate.write_taxonomies(tmp_path / "found.yaml", {taxonomy_scope({"object": "car"}): car})
    annotator = annotate.create(
        {"questions": "openai:gpt-4o", "taxonomy": "found.yaml"}, relative_to=tmp_path
    )
    assert "body_type" in annotator.within({"generator": "m", "object": "car"}).attributes
    assert "body_type" not in annotator.within({"generator": "m", "object": "cup"}).attributes
    assert annotator.discoverer is None


def test_attributes_are_those_of_one_annotator_alone():
    client = ChatClient(Endpoint("openai", "http://127.0.0.1:9/v1", None), "judge", account=Account())
    for kind, known in (
        (QuestionAnnotator, FIXED_ATTRIBUTES),
        (CaptionAnnotator, CaptionAnnotator.attributes),
        (ConstraintAnnotator, ConstraintAnnotator.attributes),
    ):
        kind(client, name="q").attributes["more"] = None
        assert "more" not in known
        assert "more" not in kind(client, name="q").attributes


def test_keywords_of_questions_are_named_and_those_that_a_kind_fixes_are_refused():
    keywords = list(inspect.signature(QuestionAnnotator).parameters)[1:]
    assert keywords[:4] == ["name", "attributes", "subject", "order_seed"]
    assert keywords[4:] == ["max_side", "version", *_ASKS, "forced", "discover", "taxonomies"]
    client = ChatClient(Endpoint("openai", "http://127.0.0.1:9/v1", None), "judge", account=Account())
    for kind, fixed in (
        (CaptionAnnotator, {"attributes": {"a": None}, "subject": "car", "order_seed": 1}),
        (ConstraintAnnotator, {"attributes": {"a": None}, "subject": "car"}),
    ):
        for key, value in fixed.items():
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{key}'"):
                kind(client, name="x", **{key: value})
