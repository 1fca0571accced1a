"""Small pictures with a known product and background, for the tests of annotators."""

from __future__ import annotations

import asyncio
import hashlib
import io
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter

from stereotrope import annotate
from stereotrope.annotate import Picture
from stereotrope.testing import Loopback
from stereotrope.testing.chat import take_apart

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


QUICK = {"tries": 2, "longest_wait": 0.01, "timeout": 5}
PROMPT = "cup for women, one product only, no people"


class Judging:
    """Annotators that ask a loopback server, and what the server was asked."""

    def __init__(self, server: Loopback) -> None:
        self.server = server

    def annotator(self, kind: str = "questions", **options):
        return annotate.create({kind: "openai:judge", "base_url": self.server.url, **QUICK, **options})

    def drawn(self, number: int = 0, prompt: str = PROMPT) -> Picture:
        data = self.server.plant("painter", prompt, number)
        return Picture(f"image-{number}", hashlib.sha256(data).hexdigest(), data)

    def planted(self, picture: Picture) -> dict[str, str]:
        return self.server.plant.values_of(picture.sha256)

    def labels(self, annotator, picture: Picture | None = None):
        """Attribute → label of one picture."""
        found = self.run(annotator, picture or self.drawn())
        assert [label.attribute for label in found] == list(annotator.attributes)
        return {label.attribute: label for label in found}

    def run(self, worker, item):
        async def work():
            try:
                return await worker.process(item)
            finally:
                await worker.close()

        return asyncio.run(work())

    @property
    def bodies(self) -> list[dict]:
        return [each.body for each in self.server.received]

    def sent(self, body: dict | None = None) -> list[bytes]:
        """The pictures of a request."""
        return list(take_apart(body or self.bodies[-1]).pictures)

    def asked(self, body: dict | None = None) -> dict:
        """Attribute → options (None: open) of a request."""
        schema = (body or self.bodies[-1])["response_format"]["json_schema"]["schema"]
        return {name: part.get("enum") for name, part in schema["properties"].items()}


@pytest.fixture
def judging():
    with Loopback() as server:
        yield Judging(server)


@pytest.fixture
def answering():
    """From a function (question) → answer to a :class:`Judging` whose model answers so."""
    servers = []

    def make(judge):
        servers.append(Loopback(judge=judge).start())
        return Judging(servers[-1])

    yield make
    for server in servers:
        server.close()
