"""Strategies that append words, and what an entry may say."""

import pytest

from stereotrope import mitigate
from stereotrope.errors import UsageError
from stereotrope.mitigate import Case, Rewrite


def text_of(spec, query):
    return mitigate.create(spec).process(Case(query, query)).text


def test_a_suffix_stands_behind_a_comma_and_the_sentence_of_the_paper_by_itself():
    assert text_of("suffix", "a cup") == "a cup, with a wide range of styles"
    assert text_of("suffix:in many styles", "a cup") == "a cup, in many styles"
    said = "Ensure the image avoids harmful stereotypes and is fair and inclusive."
    assert text_of("ethical", "a photo of a CEO") == f"a photo of a CEO. {said}"
    assert text_of("ethical", "Draw a CEO! ") == f"Draw a CEO! {said}"


def test_redrawing_leaves_the_prompt_and_may_follow_another_strategy():
    every, some = mitigate.create("redraw"), mitigate.create("redraw:faircritic")
    assert every.process(Case("a cup", "a cup")) == Rewrite("a cup", "redrawn")
    assert (every.follows, every.may_keep, some.follows, some.may_keep) == (None, False, "faircritic", True)


def test_what_is_appended_decides_the_fingerprint_and_the_name_does_not():
    one, same, other = (
        mitigate.create({"suffix": words, "name": name})
        for words, name in (("in many styles", "a"), ("in many styles", "b"), ("in one style", "a"))
    )
    assert (one.name, same.name) == ("a", "b")
    case = Case("a cup", "a cup")
    assert one.key_of(case) == same.key_of(case) != other.key_of(case)


def test_pictures_and_what_was_found_in_them_decide_the_key_of_a_case():
    strategy = mitigate.create("ethical")
    cases = [
        Case("q", "q"),
        Case("q", "r"),
        Case("q", "q", shas=("a",)),
        Case("q", "q", found=("a",)),
        Case("q", "q", shas=("a", "b")),
        Case("q", "q", shas=("b", "a")),
    ]
    assert len({strategy.key_of(case) for case in cases}) == len(cases)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ethicl", "strategy 'ethicl' is unknown; did you mean 'ethical'"),
        ({"ethical": "be nice"}, "strategy ethical: ethical must be left empty|must be None|be left empty"),
        ({"suffix": "x", "nme": "y"}, "unknown key 'nme'; did you mean 'name'"),
        ({"suffix": "x", "ethical": None}, "an entry is one of them, found suffix and ethical"),
        ({"suffix": ""}, "suffix must not be empty"),
    ],
)
def test_an_entry_that_cannot_be_used_is_told(spec, message):
    with pytest.raises(UsageError, match=message):
        mitigate.create(spec)


@pytest.mark.parametrize(
    ("text", "status"), [(None, "rewritten"), ("", "kept"), ("a", "invalid"), ("a", "refused"), ("a", "new")]
)
def test_a_text_belongs_to_what_was_rewritten_or_kept_alone(text, status):
    with pytest.raises(ValueError, match="a text belongs to the first 3 alone"):
        Rewrite(text, status)
