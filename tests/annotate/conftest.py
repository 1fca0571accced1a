"""Small pictures with a known product and background, for the tests of annotators."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter

from stereotrope.annotate import Picture

COLOURS = {
    "black": (28, 28, 30),
    "white": (246, 246, 246),
    "grey": (134, 136, 140),
    "red": (200, 36, 42),
    "orange": (240, 132, 32),
    "yellow": (250, 212, 50),
    "green": (50, 145, 75),
    "blue": (45, 110, 210),
    "navy": (24, 34, 88),
    "purple": (122, 62, 166),
    "pink": (245, 150, 188),
    "brown": (116, 72, 44),
    "beige": (226, 206, 172),
    "teal": (16, 138, 136),
}


def cup(product: str, background: str, *, side: int = 256) -> Image.Image:
    """A cup with handle, shaded rim and a soft shadow, drawn at twice the size and shrunk."""
    big = 2 * side
    image = Image.new("RGB", (big, big), COLOURS[background])
    shadow = Image.new("L", (big, big), 0)
    ImageDraw.Draw(shadow).ellipse((0.28 * big, 0.72 * big, 0.74 * big, 0.8 * big), fill=80)
    image.paste((0, 0, 0), mask=shadow.filter(ImageFilter.GaussianBlur(big / 50)))
    draw = ImageDraw.Draw(image)
    colour = COLOURS[product]
    dark = tuple(int(c * 0.6) for c in colour)
    draw.ellipse((0.6 * big, 0.38 * big, 0.82 * big, 0.64 * big), outline=colour, width=big // 24)
    draw.rounded_rectangle((0.28 * big, 0.3 * big, 0.68 * big, 0.76 * big), big // 24, fill=colour)
    draw.ellipse((0.28 * big, 0.27 * big, 0.68 * big, 0.34 * big), fill=dark)
    return image.resize((side, side), Image.Resampling.LANCZOS)


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def picture(image: Image.Image, kind: str = "PNG", **options: object) -> Picture:
    return Picture("id", "0" * 64, encoded(image, kind, **options))


def shaded(image: Image.Image, strength: float) -> Image.Image:
    """Darker to the right, as under a lamp on the left."""
    pixels = np.asarray(image, dtype=float)
    light = np.linspace(1.0, 1.0 - strength, pixels.shape[1])[None, :, None]
    return Image.fromarray(np.clip(pixels * light, 0, 255).astype(np.uint8))


def noisy(image: Image.Image, sigma: float, seed: int = 0) -> Image.Image:
    pixels = np.asarray(image, dtype=float)
    noise = np.random.default_rng(seed).normal(0, sigma, pixels.shape)
    return Image.fromarray(np.clip(pixels + noise, 0, 255).astype(np.uint8))


@pytest.fixture(scope="session")
def drawing() -> SimpleNamespace:
    return SimpleNamespace(
        colours=COLOURS, cup=cup, encoded=encoded, picture=picture, shaded=shaded, noisy=noisy
    )
