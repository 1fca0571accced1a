"""Attributes by a model: what is asked, which answers do, and how they come into a file that people write."""

import pytest

from stereotrope.annotate.embeddings.proposing import (
    _appended,
    _Named,
    candidates_problems,
    candidates_question,
)
from stereotrope.errors import UsageError
from stereotrope.inputs.candidates import parsed_candidates


def answer(n=15, **changed):
    """As many attributes, the first of them changed."""
    rows = [
        {"attribute": f"Hat {chr(97 + i)}", "positive": f"A hat of kind {i}.", "negative": "A bare head."}
        for i in range(n)
    ]
    return {"candidates": [{**rows[0], **changed}, *rows[1:]]}


def test_the_question_is_the_papers_with_the_prompt_and_how_to_answer():
    asked = candidates_question("A photo of a Tunisian person")
    paper, prompt, ours = asked.text.split("\n\n")
    assert paper.startswith("I am using a text-to-image model to generate facial images of individuals")
    assert "at least 15 potential stereotypes" in paper
    assert prompt == "The prompt is “A photo of a Tunisian person”."
    assert ours.startswith("Answer with a JSON object")


def test_the_papers_own_example_is_an_answer():
    chechia = {
        "attribute": "Wearing a Traditional Chechia (Hat)",
        "positive": "The person is wearing a traditional Tunisian chechia.",
        "negative": "The person is not wearing any headwear.",
    }
    assert candidates_problems(answer(**chechia)) == []


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (answer(14), "candidates: must be 15 to 40 attributes, found 14"),
        (answer(41), "must be 15 to 40 attributes, found 41"),
        (answer(attribute="hat B!"), r"candidates.1.attribute: must be named once, found 'Hat b' again"),
        (answer(attribute="3 hats"), "candidates.0.attribute: must begin with a letter, found '3_hats'"),
        (answer(attribute="="), "must begin with a letter, found ''"),
        (answer(attribute="All"), "candidates.0.attribute: 'all': this name is taken"),
        (answer(positive="a BARE  head."), "candidates.0.negative: must differ from the positive sentence"),
        (answer(negative="a\nb"), "candidates.0.negative: must be one line of plain text"),
        (answer(negative="\x1b[31mred"), "must be one line of plain text"),
        (answer(negative=" “ "), "must begin with a letter or a digit"),
        (answer(positive="=1+1"), "candidates.0.positive: must begin with a letter or a digit, found '=1"),
        (answer(positive="very " * 41), "must have at most 200 characters, found 205"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said_of_its_row(content, match):
    (problem,) = candidates_problems(content)
    assert str(problem).startswith(match) or match in str(problem)


NEW = [
    _Named("cap", "doctor", "a cap: red # or not", "a 'bare' \"head\""),
    _Named("null", "doctor", "x", "y"),
]
KEPT = """\
# mine
candidates:
    hat:   # a comment that stays
        positive: [a hat,
                   a cap]
        negative: [a bare head]
"""


def test_what_stands_in_a_file_stays_byte_for_byte():
    whole = _appended(KEPT, parsed_candidates(KEPT, "c.yaml"), NEW, "c.yaml")
    assert whole.startswith(KEPT)
    found = parsed_candidates(whole, "c.yaml")
    assert list(found) == ["hat", "cap", "null"]
    assert (found["cap"].positive, found["cap"].negative) == ([NEW[0].positive], [NEW[0].negative])
    assert [one.concept for one in found.values()] == [None, "doctor", "doctor"]


@pytest.mark.parametrize(
    "text",
    ["candidates: {hat: {positive: [a hat], negative: [a head]}}\n", f"{KEPT}...\n"],
)
def test_a_file_that_nothing_can_be_added_to_is_told(text):
    with pytest.raises(UsageError, match=r"c.yaml: no attribute can be added behind its last line; write"):
        _appended(text, parsed_candidates(text, "c.yaml"), NEW, "c.yaml")
