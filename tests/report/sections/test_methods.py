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
        (
            [f"threshold 0.7; dominance 0.{30 + i}, in the reference 0.9; seed 12345" for i in range(6)],
            ["threshold 0.7; dominance 0.30 to 0.35, in the reference 0.9; seed 12345"],
        ),
        (
            [f"H_max = log2 4: of {n} images; over 5 units" for n in (9, 70, 8, 12_000, 60)] + ["as listed"],
            ["H_max = log2 4: of 8 to 12\u202f000 images; over 5 units", "as listed"],
        ),
    ],
)
def test_ways_that_differ_in_what_they_are_over_are_one(texts: list[str], told: list[str]) -> None:
    assert alike_but_for_a_number(texts) == told
