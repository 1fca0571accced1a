"""The sections of scores that have figures of their measures alone."""

from stereotrope.report.contract import SCORES, add_section

add_section(
    "divergence",
    "How much the pictures change",
    lead="Scores over all attributes, each with its interval and, where it has one, its noise floor.",
    place=SCORES,
)
add_section("other", "Further measures", lead="What else this run measured.", place=100)
