from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stereotrope.annotate import palette
from stereotrope.annotate.cielab import ciede2000, srgb_to_lab

ROOT = Path(__file__).resolve().parents[2]


def named(rgb: tuple[int, int, int]) -> str:
    return palette.read_palette().name(srgb_to_lab(np.array(rgb, dtype=np.uint8)))[0]


def test_every_anchor_names_itself_with_full_clearness():
    known = palette.read_palette()
    for anchor, lab in zip(known.anchors, known.lab, strict=True):
        assert known.name(lab) == (anchor.name, pytest.approx(1.0))


def test_anchors_of_different_names_are_told_apart():
    known = palette.read_palette()
    apart = ciede2000(known.lab[:, None], known.lab[None])
    names = np.array([a.name for a in known.anchors])
    other = names[:, None] != names[None]
    assert apart[other].min() > 2.5


def test_every_anchor_has_a_source():
    assert {a.source.split()[0] for a in palette.read_palette().anchors} == {"css", "own"}


def test_clearness_is_nothing_on_the_border_of_two_names():
    known = palette.read_palette()
    white, grey = (
        known.lab[[a.rgb == (235, 235, 235) for a in known.anchors].index(True)],
        known.lab[[a.rgb == (220, 220, 220) for a in known.anchors].index(True)],
    )
    line = [known.name(white + (grey - white) * t) for t in np.linspace(0, 1, 41)]
    assert line[0][0] == "white"
    assert line[-1][0] == "grey"
    assert min(margin for _, margin in line) < 0.05


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((12, 12, 14), "black"),
        ((250, 250, 250), "white"),
        ((130, 130, 132), "grey"),
        ((210, 30, 40), "red"),
        ((130, 15, 20), "red"),
        ((250, 140, 20), "orange"),
        ((250, 215, 50), "yellow"),
        ((60, 160, 70), "green"),
        ((20, 130, 130), "teal"),
        ((50, 110, 210), "blue"),
        ((150, 200, 235), "blue"),
        ((22, 30, 80), "navy"),
        ((120, 50, 150), "purple"),
        ((245, 150, 185), "pink"),
        ((110, 70, 40), "brown"),
        ((225, 205, 170), "beige"),
        ((212, 175, 55), "gold"),
        ((183, 110, 121), "rose gold"),
    ],
)
def test_plain_colours_get_their_plain_names(rgb, name):
    assert named(rgb) == name
