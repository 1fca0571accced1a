from __future__ import annotations

import pytest

from stereotrope.measure.sentences import Wording, clean, decimals_of, q_text, quoted, span

OBJECTS = Wording("group", "base", ["generator", "object", "group", "phrasing"])
SCOPE = {"generator": "m1", "object": "car", "group": "women"}


def test_a_share_is_told_with_counts_interval_and_baseline() -> None:
    text = OBJECTS.share(
        "product_colour", SCOPE, "pink", ((20, 20), (2, 20)), ends=(" [0.84–1.00]", " [0.03–0.30]")
    )
    assert text == (
        "m1: in 20 of 20 pictures for women the product colour of the car is “pink” [0.84–1.00]; "
        "in the baseline it is in 2 of 20 [0.03–0.30]."
    )


def test_a_person_is_perceived_and_other_factors_are_named() -> None:
    wording = Wording("condition", "plain", ["condition", "occupation"])
    text = wording.share(
        "gender", {"occupation": "ceo", "condition": "diverse"}, "female", ((3, 10), (0, 10))
    )
    assert text == (
        "In 3 of 10 pictures with condition “diverse” (occupation “ceo”) the gender is perceived as “female”"
        "; with condition “plain” it is in 0 of 10."
    )


def test_the_reference_says_what_it_shares_with_the_condition() -> None:
    wording = Wording("group", "base", ["group", "phrasing", "mitigation", "annotator"])
    scope = {"group": "women", "phrasing": "for", "mitigation": "avoid", "annotator": "a"}
    beside = {"phrasing": None, "mitigation": "avoid", "annotator": "a"}
    assert wording.compared(scope, beside) == "in the baseline (no phrasing, same mitigation)"
    assert wording.compared(scope, {"mitigation": "other"}) == "in the baseline"
    text = wording.refusal(scope, (5, 10), (1, 10), beside)
    assert "; in the baseline (no phrasing, same mitigation) 1 of 10" in text


def test_without_a_comparison_only_the_condition_is_told() -> None:
    text = Wording(None, None, []).share("text_presence", {}, "present", ((5, 5), (0, 0)), tail=": all alike")
    assert text == "In 5 of 5 pictures the text presence is “present”: all alike."


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        ("a\x1b[31mred\nline", "a [31mred line"),
        ("evil\u202etxt", "evil txt"),
        ("nul\x00tab\t", "nul tab"),
        ("x" * 1_000_000, "x" * 79 + "…"),
        ("<script>{{7*7}}", "<script>{{7*7}}"),
    ],
)
def test_foreign_text_is_one_short_line_of_plain_characters(foreign: str, shown: str) -> None:
    assert clean(foreign) == shown


def test_foreign_text_cannot_close_its_quotation() -> None:
    assert quoted("pink” and fair, says “us") == "“pink’ and fair, says ‘us”"


def test_numbers_in_words() -> None:
    assert decimals_of(-0.456) == "−0.46"
    assert span(0.1, 0.25) == " [0.10–0.25]"
    assert span(-0.1, 0.25) == " [−0.10 to 0.25]"
    assert span(None, 0.25) == ""
    assert (q_text(0.0004), q_text(0.0123), q_text(None)) == ("q < 0.001", "q = 0.012", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.254, "0.25"),
        (-0.11, "−0.11"),
        (0.0034, "0.003"),
        (-0.0046, "−0.005"),
        (0.00021, "0.0002"),
        (-1e-9, "0.00"),
        (0.0, "0.00"),
    ],
)
def test_what_is_not_0_is_not_shown_as_0_and_0_has_no_sign(value, text) -> None:
    assert decimals_of(value) == text
