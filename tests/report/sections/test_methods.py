"""What the section of methods says of measures."""

from __future__ import annotations

import pytest

from stereotrope.report.sections.methods import alike_but_for_a_number


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (
            ["Wilson, over 59 scenarios", "t", "Wilson, over 31 scenarios", "Wilson, over 564 scenarios"],
            ["Wilson, over 31 to 564 scenarios", "t"],
        ),
        (["bootstrap 200", "bootstrap 1000"], ["bootstrap 200", "bootstrap 1000"]),
        (
            ["Wilson, over 5 scenarios", "Wilson, over 5 prompts"],
            ["Wilson, over 5 scenarios", "Wilson, over 5 prompts"],
        ),
        ([], []),
    ],
)
def test_ways_that_differ_in_what_they_are_over_are_one(texts: list[str], told: list[str]) -> None:
    assert alike_but_for_a_number(texts) == told
