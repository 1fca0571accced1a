"""What a truth file holds: its models, and what must fit together in it."""

import math
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from stereotrope.errors import did_you_mean
from stereotrope.generate.calibrated.scene import PRODUCTS
from stereotrope.inputs.options import Options, Texts
from stereotrope.inputs.yaml import YamlFile

PRODUCT_COLOUR, BACKGROUND_COLOUR = "product_colour", "background_colour"
TEXT, BACKGROUND_TEXT = "text_presence", "background_text_presence"
SHAPE = "shape"

ATTRIBUTES = (PRODUCT_COLOUR, BACKGROUND_COLOUR, TEXT, BACKGROUND_TEXT, SHAPE)
"""The attributes that are planted."""

_TOLERANCE = 1e-6


def require_share(value: Any) -> Any:
    """Return a share as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError("must be a share between 0 and 1; correct it")
    return float(value)


def _attribute(name: str) -> str:
    if name not in ATTRIBUTES:
        hint = did_you_mean(name, ATTRIBUTES, otherwise="correct it")
        raise ValueError(f"must be one of {', '.join(ATTRIBUTES)}; {hint}")
    return name


def _whole(shares: dict[str, float]) -> dict[str, float]:
    total = math.fsum(shares.values())
    if abs(total - 1) > _TOLERANCE:
        raise ValueError(f"must be shares that sum to 1 (these make {total:g}); change them")
    return shares


def _complete(planted: dict[str, Any]) -> dict[str, Any]:
    missing = [attribute for attribute in ATTRIBUTES if attribute not in planted]
    if missing:
        raise ValueError(f"must have every attribute; add {', '.join(missing)}")
    return planted


def _rgb(value: Any) -> Any:
    channels = value if isinstance(value, list) and len(value) == 3 else [None]
    if not all(type(channel) is int and 0 <= channel <= 255 for channel in channels):
        raise ValueError("must be three whole numbers from 0 to 255; write [200, 34, 40]")
    return tuple(channels)


def _some(objects: dict[str, Any]) -> dict[str, Any]:
    if not objects:
        raise ValueError(f"must name at least one object; add one of {', '.join(PRODUCTS)}")
    return objects


Share = Annotated[float, BeforeValidator(require_share)]
PlantedShares = Mapping[str, float]
"""Value → share; the shares sum to 1."""
Attribute = Annotated[str, AfterValidator(_attribute)]
_Planted = dict[Attribute, Annotated[dict[str, Share], AfterValidator(_whole)]]
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


class _Object(Options):
    words: Texts
    base: Annotated[_Planted, AfterValidator(_complete)]
    cues: dict[str, _Planted] = Field(default_factory=dict)
    safe: dict[Attribute, str] = Field(default_factory=dict)


class _Words(Options):
    product: Texts
    background: Texts


class TruthFile(Options):
    """A planted truth.

    objects: Object → words that name it, and how its attributes are distributed, without a cue and with each.
    cues: Cue → phrases it is recognised by and share of its prompts that are declined.
    wordings: Wording → phrases, and how it bends every distribution; in the order they apply.
    colours: Colour → sRGB of product and background.
    words: ``product`` and ``background`` → words that are printed.
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
        return (
            tuple(self.colours) if attribute in (PRODUCT_COLOUR, BACKGROUND_COLOUR) else ("present", "absent")
        )


def check_truth(file: TruthFile, source: YamlFile) -> None:
    """Refuse names that the file does not know, each with its line."""

    def require(kind: str, name: str, known: Collection[str], *at: str) -> None:
        if name not in known:
            hint = did_you_mean(name, known, otherwise=f"known: {', '.join(known) or 'none'}")
            raise source.error(f"{'.'.join(at)} must name a known {kind}, found {name!r}; {hint}", *at, name)

    for name, entry in file.objects.items():
        require("object", name, PRODUCTS, "objects")
        for cue in entry.cues:
            require("cue", cue, file.cues, "objects", name, "cues")
        safe = {attribute: [value] for attribute, value in entry.safe.items()}
        named: list[tuple[tuple[str, ...], Mapping[str, Collection[str]]]] = [(("base",), entry.base)]
        named += [(("cues", cue), shift) for cue, shift in entry.cues.items()]
        named.append((("safe",), safe))
        for at, planted in named:
            for attribute, values in planted.items():
                for value in values:
                    require("value", value, file.values_of(name, attribute), "objects", name, *at, attribute)
