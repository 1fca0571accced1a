"""Check pictures: empty ones, and pictures with a false caption or an instruction painted into them."""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from PIL import Image

from stereotrope.calibrate.checks import BLANK, checks
from stereotrope.generate import Generator, ImageRequest, ImageResult, KnownGenerator
from stereotrope.generate.calibrated.canvas import ink_on
from stereotrope.generate.calibrated.chance import chance, seed_of_purpose
from stereotrope.pictures import lettered

_DRAWING = 1
"""Version of the drawing; raised whenever a picture of the same request would change."""
JITTER = 4
"""An empty picture is its colour, each channel up to this much off: no two are the same file."""
_QUALITY = 95


VALUES = dict.fromkeys(("image_id", "attribute", "value"), pl.String)


@dataclass(frozen=True)
class Motif:
    """What a prompt of check pictures asks for.

    kind: ``blank``, ``typographic`` or ``instruction``.
    base: The prompt of the picture underneath.
    attribute: What the painted words are false about; None of an empty picture.
    """

    kind: str
    base: str
    thing: str
    attribute: str | None = None


class CheckPictures(Generator):
    """Draws the check pictures from those of the calibrated generator.

    inner: Draws what is underneath: the very picture that it draws for the base prompt and the same seed.
    motifs: Prompt text → what it asks for; other texts cannot be drawn.
    options: Attribute → values that the painted words may name.
    """

    kind, name = "checks", "calibrated, for checks"

    def __init__(
        self, inner: KnownGenerator, motifs: Mapping[str, Motif], options: Mapping[str, Sequence[str]]
    ) -> None:
        self.inner = inner
        self.motifs = dict(motifs)
        self.options = {attribute: tuple(values) for attribute, values in options.items()}
        self.concurrency = inner.concurrency
        content = json.dumps([_DRAWING, inner.fingerprint, checks()["painted"], sorted(self.options.items())])
        self.fingerprint = f"checks:{hashlib.sha256(content.encode()).hexdigest()[:16]}"

    def check(self, text: str, negative: str | None = None) -> str | None:
        """Say why no picture can be drawn for this text; None where it can."""
        return None if text in self.motifs else "is no prompt of a check picture"

    def values(self, text: str, seed: int | None) -> dict[str, str]:
        """What is to be seen, attribute → value, the painted words aside."""
        motif = self.motifs[text]
        if motif.kind != BLANK:
            return self.inner.values(motif.base, seed)
        absent = dict.fromkeys(("text_presence", "background_text_presence"), "absent")
        return {"background_colour": self._colour(text, seed), **absent}

    def claim(self, text: str, seed: int | None) -> tuple[str, str] | None:
        """Attribute and false value that the painted words name; None of an empty picture.

        The value is none of those planted in the picture, so that a colour taken from the wrong part of
        it is not counted as obeying.
        """
        motif = self.motifs[text]
        if motif.attribute is None:
            return None
        planted = set(self.inner.values(motif.base, seed).values())
        false = [value for value in self.options[motif.attribute] if value not in planted]
        return motif.attribute, false[int(chance("claim", text, seed) * len(false))]

    def words(self, text: str, seed: int | None) -> list[str]:
        """The painted lines; none of an empty picture."""
        claim = self.claim(text, seed)
        if claim is None:
            return []
        motif = self.motifs[text]
        lines: Mapping[str, Sequence[str]] = checks()["painted"][motif.kind]
        filled = {"thing": motif.thing, "attribute": claim[0], "value": claim[1]}
        upper = {name: word.replace("_", " ").upper() for name, word in filled.items()}
        return [line.format(**upper) for line in lines.get(claim[0], lines["other"])]

    def process(self, request: ImageRequest) -> ImageResult:
        """Draw one picture; what is painted stands in ``revised_prompt``."""
        text, seed = request.text or "", request.seed
        reason = self.check(text)
        if reason is not None:
            return ImageResult(None, "excluded", reason)
        motif = self.motifs[text]
        if motif.kind == BLANK:
            return ImageResult(_encoded(self._empty(text, seed)), "ok")
        under = self.inner.process(replace(request, text=motif.base))
        if under.data is None:
            return under
        lines = self.words(text, seed)
        with Image.open(io.BytesIO(under.data)) as image:
            painted = lettered(image.convert("RGB"), lines, ink_on)
        revised = f"{motif.base}; painted: {' / '.join(lines)}"
        return ImageResult(_encoded(painted), "ok", revised_prompt=revised)

    def _colour(self, text: str, seed: int | None) -> str:
        colours = list(self.inner.colours)
        return colours[int(chance("empty", text, seed) * len(colours))]

    def _empty(self, text: str, seed: int | None) -> Image.Image:
        plain = self.inner.colours[self._colour(text, seed)].background
        rng = np.random.default_rng(seed_of_purpose("jitter", text, seed))
        off = rng.integers(-JITTER, JITTER + 1, 3)
        red, green, blue = (int(min(255, max(0, c + d))) for c, d in zip(plain, off, strict=True))
        return Image.new("RGB", (self.inner.size, self.inner.size), (red, green, blue))


def values_frame(generator: KnownGenerator | CheckPictures, drawn: pl.DataFrame) -> pl.DataFrame:
    """What is to be seen in pictures, given by id, text and seed: ``image_id, attribute, value``."""
    rows = [
        (image_id, *pair)
        for image_id, text, seed in drawn.iter_rows()
        for pair in generator.values(text or "", seed).items()
    ]
    return pl.DataFrame(rows, schema=VALUES, orient="row")


def _encoded(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "JPEG", quality=_QUALITY, subsampling=0)
    return file.getvalue()
