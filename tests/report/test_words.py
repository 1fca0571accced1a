"""Words of measures: what their package may write is what the report, or findings, read."""

from dataclasses import fields

from stereotrope.measure.words import _WORDS
from stereotrope.report.prose import MeasureProse


def test_a_measure_may_have_the_words_that_are_read_and_no_others() -> None:
    read = {one.name for one in fields(MeasureProse)} - {"name"}
    # Findings read what a score is a share of.
    assert set(_WORDS) == read | {"definitions", "axis_unit"}
