"""The generator: a prompt and a seed to one picture of planted values, or to a planted refusal."""

import hashlib
import io
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.generate.calibrated.pairing import partners
from stereotrope.generate.calibrated.scene import Scene, draw
from stereotrope.generate.calibrated.truth import Truth
from stereotrope.generate.calibrated.truth_file import (
    BACKGROUND_COLOUR,
    BACKGROUND_TEXT,
    PRODUCT_COLOUR,
    SHAPE,
    TEXT,
    share,
)
from stereotrope.generate.contract import Generator, ImageRequest, ImageResult, generator
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import File, Name, Options, options_of

DRAWING = 1
"""Version of the drawing; raised whenever a picture of the same values would change."""

EXAMPLE = "{calibrated: , size: 256, refuse: {women: 0.1}}"
DECLINED = "declined by the model's policy (planted)"


def _shares(value: Any) -> Any:
    return {str(cue): share(of) for cue, of in value.items()} if isinstance(value, dict) else share(value)


class CalibratedOptions(Options):
    """The calibrated generator.

    calibrated: File of a planted truth; the package's own where None.
    name: Value of the ``generator`` column.
    size: Side of the square picture in pixels.
    format, quality: Of the picture's file; the quality is the JPEG's, whose colour is not subsampled.
    refuse: Share of requests declined, in addition to what the truth plants (the larger counts): one number
        for every prompt that names a cue, or cue → share.
    """

    calibrated: File | None = None
    name: Name = "calibrated"
    size: int = Field(512, ge=32, le=2048)
    format: Literal["jpeg", "png"] = "jpeg"
    quality: int = Field(92, ge=1, le=100)
    refuse: Annotated[float | dict[str, float], BeforeValidator(_shares)] = 0.0


class CalibratedGenerator(Generator):
    """Draws products with a planted, documented bias: a text-to-image model whose truth is known.

    It sees the prompt's text and nothing else. Values and picture are a pure function of text, seed,
    truth, size and format: the same bytes on one machine, in any order and from any thread. A negative
    prompt and further parameters have no effect.

    truth: A planted truth, or the file of one; the package's own where None.
    options: As of :class:`CalibratedOptions`.

    Raises UsageError: An option does not fit.
    Raises InputError: The truth file breaks a rule.
    """

    kind = "calibrated"

    def __init__(self, *, truth: Truth | Path | str | None = None, **options: Any) -> None:
        chosen = options_of(CalibratedOptions, options, "generator calibrated", example=EXAMPLE)
        self.name, self.size, self.format, self.quality = (
            chosen.name,
            chosen.size,
            chosen.format,
            chosen.quality,
        )
        self.truth = truth if isinstance(truth, Truth) else Truth.load(truth)
        self.refuse = _refusals(chosen.refuse, self.truth)
        self.concurrency = min(8, os.cpu_count() or 1)
        self.fingerprint = self._fingerprint()
        self._planted = lru_cache(maxsize=4096)(self.truth.planted)

    def _fingerprint(self) -> str:
        parts = [
            DRAWING,
            self.truth.digest,
            self.size,
            self.format,
            self.quality,
            sorted(self.refuse.items()),
        ]
        return f"calibrated:{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"

    def check(self, text: str, negative: str | None = None) -> str | None:
        """Say why no picture can be drawn for this text; None where it can."""
        return None if self.truth.object_in(text) is not None else self.truth.cannot_draw(text)

    def planted(self, text: str) -> dict[str, dict[str, float]]:
        """Closed-form truth of a prompt, attribute → value → share; see :meth:`Truth.planted`."""
        return self.truth.planted(text)

    def refusal_share(self, text: str) -> float:
        """Share of this prompt's requests that are declined."""
        own = max((self.refuse.get(cue, 0.0) for cue in self.truth.cues_in(text)), default=0.0)
        return max(own, self.truth.refusal_share(text))

    def values(self, text: str, seed: int | None) -> dict[str, str]:
        """Attribute → value planted in the picture of this very text and seed.

        Each attribute is drawn by its own number in [0, 1), from SHA-256 over attribute, text and seed:
        images of different prompts or seeds are independent, and so are the attributes of one, but for
        one rule: product and background take different colours wherever their shares allow it.
        """
        planted = self._planted(text)
        product, background = planted[PRODUCT_COLOUR], planted[BACKGROUND_COLOUR]
        values: dict[str, str] = {}
        for attribute, shares in planted.items():
            if attribute == BACKGROUND_COLOUR:
                given = partners(tuple(product.items()), tuple(background.items()))[values[PRODUCT_COLOUR]]
                values[attribute] = _pick(given, _unit(attribute, text, seed))
            else:
                values[attribute] = _pick(shares, _unit(attribute, text, seed))
        return values

    def process(self, request: ImageRequest) -> ImageResult:
        """Draw one picture; refused as planted, excluded where the text names nothing that can be drawn."""
        text, seed = request.text or "", request.seed
        reason = self.check(text)
        if reason is not None:
            return ImageResult(None, "excluded", reason)
        if _unit("refusal", text, seed) < self.refusal_share(text):
            return ImageResult(None, "refused", DECLINED)
        data = self._picture(text, seed)
        return ImageResult(data, "ok")

    def _picture(self, text: str, seed: int | None) -> bytes:
        image = draw(self._scene(text, seed), self.size, np.random.default_rng(_digest("pose", text, seed)))
        file = io.BytesIO()
        if self.format == "jpeg":
            image.save(file, "JPEG", quality=self.quality, subsampling=0)
        else:
            image.save(file, "PNG", compress_level=3)
        return file.getvalue()

    def _scene(self, text: str, seed: int | None) -> Scene:
        values = self.values(text, seed)
        object = self.truth.object_in(text)
        assert object is not None, "planted() has checked it"
        colours = self.truth.colours
        return Scene(
            object=object,
            shape=values[SHAPE],
            product=colours[values[PRODUCT_COLOUR]].product,
            background=colours[values[BACKGROUND_COLOUR]].background,
            product_word=self._word("product", text, seed) if values[TEXT] == "present" else None,
            background_word=self._word("background", text, seed)
            if values[BACKGROUND_TEXT] == "present"
            else None,
        )

    def _word(self, where: str, text: str, seed: int | None) -> str:
        words: list[str] = getattr(self.truth.words, where)
        return words[int(_unit(f"word on {where}", text, seed) * len(words))]


def _digest(purpose: str, text: str, seed: int | None) -> int:
    return int.from_bytes(hashlib.sha256(f"{purpose}\0{seed}\0{text}".encode()).digest()[:16], "big")


def _unit(purpose: str, text: str, seed: int | None) -> float:
    """A number in [0, 1), uniform over texts and seeds."""
    return (_digest(purpose, text, seed) >> 75) / 2.0**53


def _pick(shares: Mapping[str, float], at: float) -> str:
    total = 0.0
    for value, part in shares.items():
        total += part
        if at < total:
            return value
    return value


def _refusals(refuse: float | Mapping[str, float], truth: Truth) -> dict[str, float]:
    shares = refuse if isinstance(refuse, Mapping) else dict.fromkeys(truth.cues, refuse)
    for cue in shares:
        if cue not in truth.cues:
            known = f"known: {', '.join(truth.cues)}"
            raise UsageError(
                f"generator calibrated: refuse must name known cues, found {cue!r}; "
                f"{did_you_mean(cue, truth.cues)} {known}"
            )
    return {cue: float(share) for cue, share in shares.items() if share > 0}


@generator(
    CalibratedOptions,
    summary="draws cups, cars, clocks, sofas and more with a planted, documented bias; offline",
    example=EXAMPLE,
)
def calibrated(options: CalibratedOptions, context: Context) -> CalibratedGenerator:
    """Draw offline."""
    truth = None if options.calibrated is None else context.folder / options.calibrated
    return CalibratedGenerator(truth=truth, **options.model_dump(exclude={"calibrated"}))
