from __future__ import annotations

import json

import pytest

from stereotrope import annotate
from stereotrope.errors import UsageError
from stereotrope.tables import CONSTRAINTS


def test_people_and_products_are_asked_for_in_one_call(judging):
    annotator = judging.annotator("constraints")
    assert annotator.name == "judge constraints"
    assert dict(annotator.attributes) == dict.fromkeys(CONSTRAINTS, ("yes", "no"))
    for number in range(4):
        picture = judging.drawn(number)
        planted = judging.planted(picture)
        labels = judging.labels(annotator, picture)
        assert {name: label.value for name, label in labels.items()} == {n: planted[n] for n in CONSTRAINTS}
    assert len(judging.bodies) == 4
    words = json.dumps(judging.bodies[-1]["messages"][1]["content"][0]["text"])
    assert "Is more than one product shown" in words


def test_it_never_answers_for_the_model(judging):
    judging.server.misbehave("outside_list", times=None)
    label = judging.labels(judging.annotator("constraints"))["people_present"]
    assert (label.status, label.value) == ("invalid", None)


def test_questions_and_constraints_of_one_model_differ_in_name_and_fingerprint():
    questions = annotate.create("openai:gpt-4o")
    constraints = annotate.create({"constraints": "openai:gpt-4o"})
    assert questions.name != constraints.name
    assert questions.fingerprint != constraints.fingerprint
    assert constraints.variant("blind").name == "gpt-4o constraints (blind)"


@pytest.mark.parametrize("key", ["attributes", "subject", "discover", "taxonomy"])
def test_options_of_questions_are_refused(key):
    with pytest.raises(UsageError, match=f"unknown key '{key}'; `constraints` does not take it"):
        annotate.create({"constraints": "openai:gpt-4o", key: "x"})
