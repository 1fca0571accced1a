import pytest

from stereotrope import design
from stereotrope.errors import TableError, UsageError


def test_every_combination_is_written_into_the_template_in_order():
    prompts = design.expand(
        "A photo of a {occupation}, {condition}",
        {"occupation": ["ceo", "nurse"], "condition": ["none", "smiling"]},
    )
    assert prompts["text"].to_list() == [
        "A photo of a ceo",
        "A photo of a ceo, smiling",
        "A photo of a nurse",
        "A photo of a nurse, smiling",
    ]
    assert prompts.columns == ["prompt_id", "occupation", "condition", "text", "negative"]
    assert prompts["prompt_id"].n_unique() == 4


def test_a_level_may_have_words_of_its_own():
    prompts = design.expand("a {who}", {"who": {"swe": "software engineer"}})
    assert prompts.select("who", "text").row(0) == ("swe", "a software engineer")


@pytest.mark.parametrize(
    ("template", "factors", "message"),
    [
        ("a {b}", {}, r"field \{b\} has no list of values"),
        ("a", {"b": ["c"]}, r"factor 'b' is not in the template"),
        ("a {b}", {"b": []}, r"factor 'b' has no value"),
        ("a {b}", {"b": ["c", "c"]}, r"factor 'b' lists a level twice"),
        ("a {b", {"b": ["c"]}, r"write fields as \{name\}"),
        ("a {b.x}", {"b.x": ["c"]}, r"is no plain field"),
        ("a {b}", {"b": {"x": "same", "y": "same"}}, r"stands for b=x and for b=y"),
    ],
)
def test_a_template_with_a_mistake_says_what_to_do(template, factors, message):
    with pytest.raises(UsageError, match=message):
        design.expand(template, factors)


def test_reserved_names_are_refused_as_factors():
    with pytest.raises(TableError, match="'seed': this name is reserved"):
        design.expand("a {seed}", {"seed": ["1"]})


def test_a_format_field_cannot_reach_into_objects():
    with pytest.raises(UsageError, match="no plain field"):
        design.expand("{a.__class__}", {"a": ["x"]})
