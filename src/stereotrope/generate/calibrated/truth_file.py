"""What a truth file holds: its models, and what must fit together in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from stereotrope.errors import did_you_mean
from stereotrope.generate.calibrated.products import PRODUCTS
from stereotrope.inputs.options import Options, Texts

__all__ = [
    "ATTRIBUTES",
    "BACKGROUND_COLOUR",
    "BACKGROUND_TEXT",
    "PRODUCT_COLOUR",
    "SHAPE",
    "TEXT",
    "Cue",
    "CueWording",
    "PlantedShares",
    "Share",
    "Swatch",
    "TruthFile",
    "check_truth",
    "share",
]

PRODUCT_COLOUR, BACKGROUND_COLOUR = "product_colour", "background_colour"
TEXT, BACKGROUND_TEXT = "text_presence", "background_text_presence"
SHAPE = "shape"

Attribute = Literal[
    "product_colour", "background_colour", "text_presence", "background_text_presence", "shape"
]
ATTRIBUTES = (PRODUCT_COLOUR, BACKGROUND_COLOUR, TEXT, BACKGROUND_TEXT, SHAPE)
"""The attributes that are planted."""

_PRESENCE = ("present", "absent")
_TOLERANCE = 1e-6


def share(value: Any) -> Any:
    """Return a share as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("must be a share between 0 and 1; correct it")
    return float(value)


def _whole(shares: dict[str, float]) -> dict[str, float]:
    total = math.fsum(shares.values())
    if abs(total - 1) > _TOLERANCE:
        raise ValueError(f"must be shares that sum to 1 (these make {total:g}); change them")
    return shares


def _rgb(value: Any) -> Any:
    channels = value if isinstance(value, list) and len(value) == 3 else [None]
    if not all(type(channel) is int and 0 <= channel <= 255 for channel in channels):
        raise ValueError("must be three whole numbers from 0 to 255; write [200, 34, 40]")
    return tuple(channels)


def _some(objects: dict[str, Any]) -> dict[str, Any]:
    if not objects:
        raise ValueError(f"must name at least one object; add one of {', '.join(PRODUCTS)}")
    return objects


Share = Annotated[float, BeforeValidator(share)]
PlantedShares = Mapping[str, float]
"""Value → share; the shares sum to 1."""
_Shares = Annotated[dict[str, Share], AfterValidator(_whole)]
_Channels = Annotated[tuple[int, int, int], BeforeValidator(_rgb)]


class Swatch(Options):
    """The sRGB values that a colour name stands for."""

    product: _Channels
    background: _Channels


class Cue(Options):
    """One cue: the phrases it is recognised by, and the share of its prompts that are declined."""

    phrases: Texts
    refuse: Share = 0.0


class CueWording(Options):
    """A turn of phrase that pulls every distribution toward a target."""

    phrases: Texts
    toward: Literal["base", "mode", "uniform", "safe"]
    weight: Share
    attributes: tuple[Attribute, ...] = Field((), strict=False)


class _Base(Options):
    product_colour: _Shares
    background_colour: _Shares
    text_presence: _Shares
    background_text_presence: _Shares
    shape: _Shares


class _Shift(Options):
    product_colour: _Shares | None = None
    background_colour: _Shares | None = None
    text_presence: _Shares | None = None
    background_text_presence: _Shares | None = None
    shape: _Shares | None = None


class _Safe(Options):
    product_colour: str | None = None
    background_colour: str | None = None
    text_presence: str | None = None
    background_text_presence: str | None = None
    shape: str | None = None


class _Object(Options):
    words: Texts
    base: _Base
    cues: dict[str, _Shift] = Field(default_factory=dict)
    safe: _Safe = _Safe()


class _Words(Options):
    product: Texts
    background: Texts


class TruthFile(Options):
    """A planted truth.

    Attributes
    ----------
    objects
        Object → words that name it, and how its attributes are distributed, without a cue and with each.
    cues
        Cue → phrases it is recognised by and share of its prompts that are declined.
    wordings
        Wording → phrases, and how it bends every distribution; in the order they apply.
    colours
        Colour → sRGB of product and background.
    words
        ``product`` and ``background`` → words that are printed.
    """

    format: Literal[1]
    colours: dict[str, Swatch]
    words: _Words
    cues: dict[str, Cue] = Field(default_factory=dict)
    wordings: dict[str, CueWording] = Field(default_factory=dict)
    objects: Annotated[dict[str, _Object], AfterValidator(_some)]

    def values_of(self, object: str, attribute: str) -> tuple[str, ...]:
        """Every value that an attribute can take for an object."""
        if attribute == SHAPE:
            return tuple(PRODUCTS[object])
        return tuple(self.colours) if attribute in (PRODUCT_COLOUR, BACKGROUND_COLOUR) else _PRESENCE


def check_truth(file: TruthFile, error: Callable[[str, tuple[str, ...]], Exception]) -> None:
    """Refuse names that the file does not know; ``error`` makes what is raised of a message and a place."""

    def require(kind: str, name: str, known: Collection[str], *at: str) -> None:
        if name not in known:
            hint = did_you_mean(name, known, otherwise=f"known: {', '.join(known) or 'none'}")
            raise error(f"{'.'.join(at)} must name a known {kind}, found {name!r}; {hint}", (*at, name))

    for name, entry in file.objects.items():
        require("object", name, PRODUCTS, "objects")
        for cue in entry.cues:
            require("cue", cue, file.cues, "objects", name, "cues")
        shifts = [(("cues", cue), shift) for cue, shift in entry.cues.items()]
        for at, distributions in ((("base",), entry.base), *shifts):
            for attribute, shares in distributions:
                for value in shares or ():
                    require("value", value, file.values_of(name, attribute), "objects", name, *at, attribute)
        for attribute, value in entry.safe:
            if value is not None:
                known = file.values_of(name, attribute)
                require("value", value, known, "objects", name, "safe", attribute)
