"""Colour words of a model, read as the colours that are planted."""

from collections.abc import Iterable, Mapping

import numpy as np
from PIL import ImageColor

from stereotrope.annotate.cielab import ciede2000, srgb_to_lab
from stereotrope.generate.calibrated.truth_file import Swatch

SPELLINGS: Mapping[str, str] = {
    "gray": "grey",
    "navy blue": "navy",
    "off white": "white",
    "cream": "beige",
    "silver": "grey",
}
"""Words for a planted colour under another name."""


def planted_colour(word: str, swatches: Mapping[str, Swatch], part: str) -> str:
    """The planted colour that a colour word names, or the word itself where it names none.

    In this order: the longest ending that is a name or another spelling of one (``light blue`` is blue,
    ``dark gray`` grey, ``deep navy blue`` navy); a CSS colour, which is the planted colour nearest by
    CIEDE2000.

    word: Folded: lower case, single spaces.
    swatches: Planted colour → what it looks like.
    part: ``product`` or ``background``: which of the two swatches is compared.

    >>> from stereotrope.generate import CalibratedGenerator
    >>> swatches = CalibratedGenerator().truth.colours
    >>> [planted_colour(w, swatches, "product") for w in ("dark gray", "navy blue", "crimson", "tartan")]
    ['grey', 'navy', 'red', 'tartan']
    """
    words = word.split(" ")
    for first in range(len(words)):
        ending = " ".join(words[first:])
        if (named := SPELLINGS.get(ending, ending)) in swatches:
            return named
    plain = word.replace(" ", "")
    if plain not in ImageColor.colormap:
        return word
    rgb = ImageColor.getrgb(plain)[:3]
    lab = srgb_to_lab(np.array(rgb, dtype=np.uint8))
    distances = {
        name: float(ciede2000(lab, srgb_to_lab(np.array(getattr(swatch, part), dtype=np.uint8))))
        for name, swatch in swatches.items()
    }
    return min(distances, key=lambda name: distances[name])


def read_as(words: Iterable[str], swatches: Mapping[str, Swatch], part: str) -> dict[str, str]:
    """Word → planted colour, of the words that change."""
    read = {word: planted_colour(word, swatches, part) for word in words}
    return {word: colour for word, colour in read.items() if colour != word}
