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
from stereotrope.generate.calibrated.chance import chance, partners, pick, seed_of_purpose
from stereotrope.generate.calibrated.scene import Scene, draw
from stereotrope.generate.calibrated.truth import Truth
from stereotrope.generate.calibrated.truth_file import (
    ATTRIBUTES,
    BACKGROUND_COLOUR,
    BACKGROUND_TEXT,
    PRODUCT_COLOUR,
    SHAPE,
    TEXT,
    require_share,
)
from stereotrope.generate.contract import ImageRequest, ImageResult, KnownGenerator, generator
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import File, Name, Options, options_of

DRAWING = 1
"""Version of the drawing; raised whenever a picture of the same values would change."""

EXAMPLE = "{calibrated: , size: 256, refuse: {women: 0.1}}"
DECLINED = "declined by the model's policy (planted)"


def _shares(value: Any) -> Any:
    if isinstance(value, dict):
        shares = {}
        for cue, of in value.items():
            try:
                shares[str(cue)] = require_share(of)
            except ValueError:
                raise ValueError(
                    f"must be shares between 0 and 1 ({cue}: {of!r:.40} is none); correct it"
                ) from None
        return shares
    return require_share(value)


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


class CalibratedGenerator(KnownGenerator):
    """Draws products with a planted, documented bias: a text-to-image model whose truth is known.

    Values and picture are a pure function of text, seed, truth, size and format: the same bytes on one
    machine, in any order and from any thread. A negative prompt and further parameters have no effect.

    truth: A planted truth, or the file of one; the package's own where None.
    options: As of :class:`CalibratedOptions`.

    Raises UsageError: An option does not fit.
    Raises InputError: The truth file breaks a rule.
    """

    kind, attributes = "calibrated", ATTRIBUTES
    in_processes = True

    def __init__(self, *, truth: Truth | Path | str | None = None, **options: Any) -> None:
        chosen = options_of(CalibratedOptions, options, "generator calibrated", example=EXAMPLE)
        self.name, self.size = chosen.name, chosen.size
        self.format, self.quality = chosen.format, chosen.quality
        self.truth = truth if isinstance(truth, Truth) else Truth.load(truth)
        self.colours = self.truth.colours
        self.refuse = _refusals(chosen.refuse, self.truth)
        self.concurrency = min(8, os.cpu_count() or 1)
        drawn = (self.size, self.format, self.quality, sorted(self.refuse.items()))
        facts = [DRAWING, self.truth.digest, *drawn]
        self.fingerprint = f"calibrated:{hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}"
        self._remember()

    def _remember(self) -> None:
        self._planted = lru_cache(maxsize=4096)(self.truth.planted)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_planted"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._remember()

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

        Images of different prompts or seeds are independent, and so are the attributes of one, but for one
        rule: product and background take different colours wherever their shares allow it.
        """
        planted = dict(self._planted(text))
        values: dict[str, str] = {}
        for attribute, shares in planted.items():
            if attribute == BACKGROUND_COLOUR:
                product = tuple(planted[PRODUCT_COLOUR].items())
                shares = partners(product, tuple(shares.items()))[values[PRODUCT_COLOUR]]
            values[attribute] = pick(shares, chance(attribute, text, seed))
        return values

    def process(self, request: ImageRequest) -> ImageResult:
        """Draw one picture; refused as planted, excluded where the text names nothing that can be drawn."""
        text, seed = request.text or "", request.seed
        reason = self.check(text)
        if reason is not None:
            return ImageResult(None, "excluded", reason)
        if chance("refusal", text, seed) < self.refusal_share(text):
            return ImageResult(None, "refused", DECLINED)
        rng = np.random.default_rng(seed_of_purpose("pose", text, seed))
        image, file = draw(self._scene(text, seed), self.size, rng), io.BytesIO()
        if self.format == "jpeg":
            image.save(file, "JPEG", quality=self.quality, subsampling=0)
        else:
            image.save(file, "PNG", compress_level=3)
        return ImageResult(file.getvalue(), "ok")

    def _scene(self, text: str, seed: int | None) -> Scene:
        values, object = self.values(text, seed), self.truth.object_in(text)
        assert object is not None, "planted() has checked it"
        words = {}
        for where, attribute in (("product", TEXT), ("background", BACKGROUND_TEXT)):
            known: list[str] = getattr(self.truth.words, where)
            word = known[int(chance(f"word on {where}", text, seed) * len(known))]
            words[f"{where}_word"] = word if values[attribute] == "present" else None
        return Scene(
            object=object,
            shape=values[SHAPE],
            product=self.colours[values[PRODUCT_COLOUR]].product,
            background=self.colours[values[BACKGROUND_COLOUR]].background,
            **words,
        )


def _refusals(refuse: float | Mapping[str, float], truth: Truth) -> dict[str, float]:
    shares = refuse if isinstance(refuse, Mapping) else dict.fromkeys(truth.cues, refuse)
    for cue in shares:
        if cue not in truth.cues:
            raise UsageError(
                f"generator calibrated: refuse must name known cues, found {cue!r}; "
                f"{did_you_mean(cue, truth.cues)} known: {', '.join(truth.cues)}"
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
