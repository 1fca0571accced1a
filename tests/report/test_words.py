"""Words of measures: what their package may write is what the report reads."""

from dataclasses import fields

from stereotrope.measure.words import _WORDS
from stereotrope.report.prose import MeasureProse


def test_a_measure_may_have_the_words_that_the_report_reads_and_no_others() -> None:
    read = {one.name for one in fields(MeasureProse)} - {"name"}
    assert set(_WORDS) == read | {"definitions"}
