"""The section of rubrics: what judges say of sets of pictures, item by item."""

from stereotrope.report.contract import add_section

add_section(
    "rubrics",
    "What the sets of pictures reinforce",
    lead="A judge was asked the items of a rubric about each set of pictures. What it finds is its own "
    "reading: its flip rates, controls and agreement with people say how far it holds.",
    place=47,
)
