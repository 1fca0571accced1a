"""A whole picture: backdrop, lettering on the wall, one product with or without a printed word."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Pose, luminance, painted_field
from stereotrope.generate.calibrated.products import PRODUCTS

BACKDROPS = ("studio", "room", "table")


@dataclass(frozen=True)
class Scene:
    """What is in one picture. Colours are sRGB; a word is None where nothing is printed."""

    object: str
    shape: str
    product: RGB
    background: RGB
    product_word: str | None = None
    background_word: str | None = None


def draw(scene: Scene, size: int, rng: np.random.Generator) -> Image.Image:
    """Draw a scene, ``size`` × ``size`` pixels; ``rng`` moves camera, light and backdrop a little."""
    shape = PRODUCTS[scene.object][scene.shape]
    jitter: list[float] = rng.uniform(-1.0, 1.0, 8).tolist()
    backdrop = "wall" if shape.hangs else BACKDROPS[int(rng.integers(len(BACKDROPS)))]
    horizon = 0.66 + 0.03 * jitter[0]
    image = _backdrop(backdrop, scene.background, size, horizon, light=0.4 + 0.15 * jitter[1])
    if scene.background_word is not None:
        # In the band of the wall that every product leaves free.
        band = Pose(x=size * (0.5 + 0.2 * jitter[7]), y=size * 0.12, unit=float(size))
        Canvas(image, band, scene.background).write(scene.background_word, 0.0, 0.0, 0.42, 0.095)
    ground = 0.57 if shape.hangs else 0.81 + 0.02 * jitter[2]
    pose = Pose(
        x=size * (0.5 + 0.03 * jitter[3]),
        y=size * ground,
        unit=size * shape.unit * (1.0 + 0.06 * jitter[4]),
        degrees=(2.5 if shape.hangs else 0.8) * jitter[5],
        mirror=jitter[6] > 0,
    )
    canvas = Canvas(image, pose, scene.product)
    shape.draw(canvas)
    if scene.product_word is not None:
        canvas.write(scene.product_word, *shape.word)
    return image


def _backdrop(kind: str, colour: RGB, size: int, horizon: float, *, light: float) -> Image.Image:
    """Wall and ground in one colour: a lit wall, and ground a little darker towards the horizon."""
    at = (np.arange(size) + 0.5) / size
    x, y = at[None, :], at[:, None]
    glow = 0.2 * np.exp(-(((x - light) / 0.55) ** 2 + ((y - 0.4) / 0.5) ** 2))
    wall = glow - 0.08
    ground_tone = -0.24 + 0.15 * luminance(colour)
    if kind == "wall":
        field = wall
    elif kind == "studio":
        sweep = 1.0 / (1.0 + np.exp(-(y - horizon) / 0.035))
        field = wall + ground_tone * 0.8 * sweep * (1.0 - 0.9 * (y - horizon))
    else:
        edge = _step(y, horizon, size)
        ground = ground_tone + 0.2 * (y - horizon) + 0.0 * x
        field = wall * (1 - edge) + (ground + 0.5 * glow) * edge
        if kind == "room":
            skirting = _step(y, horizon - 0.05, size) * (1 - _step(y, horizon - 0.006, size))
            field = field + skirting * 0.06 - _line(y, horizon - 0.05, size) * 0.12
        else:
            field = field + _line(y, horizon + 0.006, size) * 0.1
    return painted_field(field, colour)


def _step(y: NDArray[np.float64], at: float, size: int) -> NDArray[np.float64]:
    return np.clip((y - at) * size, 0.0, 1.0)


def _line(y: NDArray[np.float64], at: float, size: int) -> NDArray[np.float64]:
    return np.clip(1.0 - np.abs(y - at) * size / 1.5, 0.0, 1.0)
