"""Questions whose options stand behind letters, and questions about regions."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from stereotrope import annotate
from stereotrope.errors import UsageError
from stereotrope.shipped import shipped

GENDER = {"sets": ["gender"], "letters": True}


def behind(text, name="perceived_gender"):
    """Letter → option, as the question has it in words."""
    return json.loads(re.search(rf'^- "{name}".*?: (\{{.*\}})$', text, re.MULTILINE)[1])


def says(option):
    """A judge that looks up the letter of an option."""

    def judge(question):
        letters = behind(question.text)
        return {"perceived_gender": next(letter for letter, each in letters.items() if each == option)}

    return judge


def test_options_turn_behind_letters_that_stay_and_the_letter_is_read_back(answering):
    judging = answering(says("male"))
    annotator = judging.annotator(**GENDER)
    orders = Counter()
    for number in range(40):
        label = judging.labels(annotator, judging.drawn(number))["perceived_gender"]
        letters = behind(judging.bodies[-1]["messages"][-1]["content"][0]["text"])
        assert (label.value, label.status) == ("male", "ok")
        assert judging.asked()["perceived_gender"] == list(letters) == ["A", "B", "C"]
        assert sorted(letters.values()) == ["female", "male", "unclear"]
        letter = next(letter for letter, option in letters.items() if option == "male")
        behind_all = ", ".join(f"{each}: {option}" for each, option in letters.items())
        assert label.rationale == f"{letter} of {behind_all}"
        orders[tuple(letters.values())] += 1
    assert len(orders) == 6
    places = Counter(order.index("unclear") for order in orders.elements())
    assert set(places) == {0, 1, 2}


def test_the_seed_chooses_the_order_and_is_in_the_fingerprint(judging):
    one, two = (judging.annotator(**GENDER, order_seed=seed) for seed in (0, 1))
    shas = [f"{at:064x}" for at in range(30)]
    assert [one.offered(sha) for sha in shas] == [judging.annotator(**GENDER).offered(sha) for sha in shas]
    assert [one.offered(sha) for sha in shas] != [two.offered(sha) for sha in shas]
    plain = judging.annotator(sets=["gender"])
    other = judging.annotator(sets=["gender_nonbinary"], letters=True)
    assert len({each.fingerprint for each in (one, two, plain, other)}) == 4
    reversed_order = one.variant("reversed").offered(shas[0])["perceived_gender"]
    assert reversed_order == one.offered(shas[0])["perceived_gender"][::-1]


def test_the_letter_of_unclear_is_unclear_and_keeps_what_was_offered(answering):
    judging = answering(says("unclear"))
    label = judging.labels(judging.annotator(**GENDER))["perceived_gender"]
    assert (label.status, label.value) == ("unclear", None)
    assert re.fullmatch(r"[ABC] of A: \w+, B: \w+, C: \w+", label.rationale)


@pytest.mark.parametrize("said", ["D", "b", "male", "B.", ""])
def test_what_is_no_letter_of_the_question_is_invalid_and_never_guessed(answering, said):
    judging = answering(lambda question: {"perceived_gender": said})
    label = judging.labels(judging.annotator(**GENDER))["perceived_gender"]
    assert (label.status, label.value) == ("invalid", None)
    assert "; offered A: " in label.rationale


def test_a_refusal_is_refused(judging):
    judging.server.misbehave("refusal", model="judge")
    label = judging.labels(judging.annotator(**GENDER))["perceived_gender"]
    assert (label.status, label.value) == ("refused", None)


def test_open_attributes_stand_beside_lettered_ones(answering):
    judging = answering(lambda question: {"perceived_gender": "A", "hair": "long"})
    labels = judging.labels(judging.annotator(**GENDER, attributes={"hair": "open"}))
    assert labels["hair"].value == "long"
    assert labels["hair"].rationale is None


def test_the_judge_of_the_loopback_server_reads_letters(judging):
    values = [f"kind {i}" for i in range(8)]
    plain = judging.annotator(attributes={"kind": values})
    lettered = judging.annotator(attributes={"kind": values}, letters=True)
    for number in range(5):
        shown = judging.drawn(number)
        assert judging.labels(lettered, shown)["kind"].value == judging.labels(plain, shown)["kind"].value


def test_ready_sets_have_the_options_of_the_study_and_a_source(judging):
    sets = shipped("annotate", "ready_questions.yaml")
    assert sets["source"]
    asked = judging.annotator(sets=["gender", "race", "age"], letters=True)
    n = {name: len(options) for name, options in asked.offered("0" * 64).items()}
    assert n == {"perceived_gender": 3, "perceived_race": 9, "perceived_age": 8}
    assert "as which gender the person in the image presents" in asked.text(asked.offered("0" * 64))
    nonbinary = judging.annotator(sets=["gender_nonbinary"])
    assert nonbinary.attributes["perceived_gender"] == ("female", "male", "nonbinary")


def test_a_question_names_the_prompt_only_where_it_asks_about_it(answering):
    judging = answering(lambda question: {"follows_prompt": "no"})
    following, gender = (judging.annotator(sets=[one]) for one in ("prompt_following", "gender"))
    assert (following.shows_prompt, gender.shows_prompt) == (True, False)
    shown = judging.drawn(1).asked_for("a person\nwith {meaning}")
    assert judging.labels(following, shown)["follows_prompt"].value == "no"
    asked = following.text(following.offered(shown.sha256), prompt=shown.prompt)
    assert 'Does this figure show "a person with {meaning}"? Please answer yes or no.' in asked
    assert "unclear" not in asked.split("Requirements")[0]
    assert following.fingerprint != gender.fingerprint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sets": ["gendr"]}, "sets must list ready questions, .*; did you mean 'gender'"),
        ({"sets": ["gender", "gender_nonbinary"]}, "'perceived_gender' is asked twice; remove one"),
        ({"sets": ["gender"], "attributes": {"perceived_gender": ["a", "b"]}}, "is asked twice"),
        ({"regions": "person"}, "say what to ask of regions; write `sets: \\[gender\\]`"),
        ({"regions": "person", "discover": True}, "attributes are discovered on whole pictures"),
        ({"on": "regions"}, "regions are named by `regions: person`"),
        (
            {"letters": True, "attributes": {"kind": [f"k{i}" for i in range(26)]}},
            "letters are enough for 25",
        ),
    ],
)
def test_what_cannot_be_asked_is_told(options, message):
    with pytest.raises(UsageError, match=message):
        annotate.create({"questions": "openai:judge", **options})


def test_regions_are_needed_and_a_remedy_is_named():
    made = annotate.create({"questions": "openai:judge", "regions": "face", "sets": ["gender"]})
    assert (made.subject, made.needs) == ("region", ("face",))
    assert made.remedies == {"face": "`{detect: MODEL, attribute: face}`"}
