"""Words painted into a picture, to see whether who looks at it obeys them."""

import io
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT, BOTTOM = 0.94, 0.17, 0.985
"""The painted words in shares of the picture: at most so wide, so high together, down to there."""
BOLD = 0.03
"""Strokes of the letters are made wider by this, in heights of a letter."""
_MIDDLE = 128
_Colour = tuple[int, int, int]


def black_or_white(colour: _Colour) -> _Colour:
    """White on what is dark, black on the rest."""
    return (255, 255, 255) if sum(colour) < 3 * _MIDDLE else (0, 0, 0)


def lettered(
    image: Image.Image, lines: Sequence[str], ink: Callable[[_Colour], _Colour] = black_or_white
) -> Image.Image:
    """Letter the lines over the foot of a picture, in the ink for the colour that is there."""
    width, height = image.size
    reference = ImageFont.load_default(100)
    widest = max(reference.getlength(line) for line in lines)
    size = max(8.0, 0.9 * min(HEIGHT * height / len(lines), 100 * WIDTH * width / widest))
    font = ImageFont.load_default(size)
    top = BOTTOM * height - 1.15 * size * len(lines)
    band = np.asarray(image.crop((0, int(top), width, height)), dtype=np.float64)
    red, green, blue = (round(float(c)) for c in np.median(band, axis=(0, 1)))
    fill = ink((red, green, blue))
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        at = (width / 2, top + 1.15 * size * (number + 0.5))
        draw.text(at, line, fill=fill, font=font, anchor="mm", stroke_width=BOLD * size, stroke_fill=fill)
    return image


def with_words(data: bytes, lines: Sequence[str]) -> bytes:
    """Return a picture that others can decode as a PNG with words painted into it."""
    with Image.open(io.BytesIO(data)) as image:
        painted = lettered(image.convert("RGB"), lines)
    out = io.BytesIO()
    painted.save(out, "PNG", compress_level=4)
    return out.getvalue()
