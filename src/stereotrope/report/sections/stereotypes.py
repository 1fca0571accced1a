"""The section of stereotypes: what pictures show more often than is true."""

from stereotrope.report.contract import add_section

add_section(
    "stereotypes",
    "What the pictures show more often than is true",
    lead="An attribute counts as a stereotype of a concept where its pictures show it more often than it is "
    "true of the concept. What is true is the audit's choice, named with its source; attributes are "
    "perceived presentation as labelled by an annotator.",
    place=48,
)
