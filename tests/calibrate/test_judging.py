"""Colour words of a model are read as planted colours."""

import pytest

from stereotrope.calibrate.judging import planted_colour
from stereotrope.generate import CalibratedGenerator

SWATCHES = CalibratedGenerator().truth.colours


@pytest.mark.parametrize(
    ("word", "planted"),
    [
        ("grey", "grey"), ("gray", "grey"), ("light gray", "grey"), ("deep navy blue", "navy"),
        ("forest green", "green"), ("off white", "white"), ("silver", "grey"), ("crimson", "red"),
        ("burgundy stripes", "burgundy stripes"), ("cream", "beige"), ("royal blue", "blue"),
    ],
)  # fmt: skip
def test_a_word_is_read_as_the_colour_it_names(word, planted):
    assert planted_colour(word, SWATCHES, "product") == planted


def test_every_planted_colour_is_read_as_itself():
    assert [planted_colour(word, SWATCHES, "background") for word in SWATCHES] == list(SWATCHES)
