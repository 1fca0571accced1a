"""What a truth file holds, once it is checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "ATTRIBUTES",
    "BACKGROUND_COLOUR",
    "BACKGROUND_TEXT",
    "PRESENCE",
    "PRODUCT_COLOUR",
    "RGB",
    "SHAPE",
    "TEXT",
    "Cue",
    "CueWording",
    "PlantedShares",
    "Swatch",
    "Toward",
    "TruthEntry",
]

PRODUCT_COLOUR = "product_colour"
BACKGROUND_COLOUR = "background_colour"
TEXT = "text_presence"
BACKGROUND_TEXT = "background_text_presence"
SHAPE = "shape"

ATTRIBUTES = (PRODUCT_COLOUR, BACKGROUND_COLOUR, TEXT, BACKGROUND_TEXT, SHAPE)
"""The attributes that are planted."""

PRESENCE = ("present", "absent")

PlantedShares = Mapping[str, float]
"""Value → share; the shares sum to 1."""

RGB = tuple[int, int, int]
Toward = Literal["base", "mode", "uniform", "safe"]


@dataclass(frozen=True)
class Swatch:
    """The sRGB values that a colour name stands for."""

    product: RGB
    background: RGB


@dataclass(frozen=True)
class TruthEntry:
    """One object: the words that name it, and its distributions."""

    phrases: tuple[str, ...]
    base: Mapping[str, PlantedShares]
    cues: Mapping[str, Mapping[str, PlantedShares]]
    safe: Mapping[str, str]


@dataclass(frozen=True)
class Cue:
    """One cue: the phrases it is recognised by, and the share of its prompts that are declined."""

    phrases: tuple[str, ...]
    refuse: float = 0.0


@dataclass(frozen=True)
class CueWording:
    """A turn of phrase that pulls every distribution toward a target."""

    phrases: tuple[str, ...]
    toward: Toward
    weight: float
    attributes: tuple[str, ...] = ()
