"""A whole picture: backdrop, lettering on the wall, one product with or without a printed word.

The products that can be drawn are in shapes.json.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Pose, Shade, luminance, painted_field
from stereotrope.generate.calibrated.outlines import OUTLINES
from stereotrope.generate.calibrated.parts import COLOURS, PARTS, PRODUCT_STEPS, ROUND, SHADES

BACKDROPS = ("studio", "room", "table")


@dataclass(frozen=True)
class Shape:
    """One shape of a product, ground at y = 0 and x in about [-1, 1].

    unit: Length of 1 as a share of the picture's side.
    word: Where a word is printed: x and y of its centre, width and height of the room it has.
    paint: Steps in their order. A step names what it does (``fill``, ``line``, ``shadow``, or a part of
        :data:`~stereotrope.generate.calibrated.parts.PARTS`) with its values; a fill has a shade by name
        (``as``) or by its fields.
    hangs: Whether it hangs on the wall, its centre at the origin.
    """

    unit: float
    word: tuple[float, float, float, float]
    paint: Sequence[Mapping[str, Any]]
    hangs: bool = False

    def draw(self, canvas: Canvas) -> None:
        """Paint it."""
        for step in self.paint:
            _paint(canvas, **step)


def _paint(canvas: Canvas, **step: Any) -> None:
    name = next(iter(step))
    values, rgb = _made(step.pop(name)), COLOURS[step.pop("colour")] if "colour" in step else None
    if name == "line":
        canvas.line(values, step.pop("width"), rgb, **step)
    elif name == "shadow":
        canvas.shadow(values, **step)
    elif name == "fill":
        within, opacity = step.pop("within", None), step.pop("opacity", 1.0)
        if step.get("across") == "round":
            step["across"] = ROUND
        shade = SHADES[step["as"]] if "as" in step else Shade(**step)
        canvas.fill(values, shade, rgb, within=within and _made(within), opacity=opacity)
    elif isinstance(values, Mapping):
        PARTS[name](canvas, **values)
    else:
        PARTS[name](canvas, *values)


def _made(value: Any) -> Any:
    """A value with its outlines made: lists that begin with the name of one."""
    if not isinstance(value, list):
        return value
    made = [_made(item) for item in value]
    return OUTLINES[made[0]](*made[1:]) if made and isinstance(made[0], str) else made


PRODUCTS: Mapping[str, Mapping[str, Shape]] = {
    name: {shape: Shape(**facts) for shape, facts in shapes.items()} for name, shapes in PRODUCT_STEPS.items()
}
"""Object → shape name → how it is drawn."""


@dataclass(frozen=True)
class Scene:
    """What is in one picture. Colours are sRGB; a word is None where nothing is printed."""

    object: str
    shape: str
    product: RGB
    background: RGB
    product_word: str | None = None
    background_word: str | None = None


def draw(scene: Scene, size: int, rng: "np.random.Generator") -> Image.Image:
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
    x, y = at, at[:, None]
    # Of the lamp's glow, columns and rows are factors: the rest is reckoned once a row.
    across = np.exp(-(((x - light) / 0.55) ** 2))
    down = 0.2 * np.exp(-(((y - 0.4) / 0.5) ** 2))
    ground_tone = -0.24 + 0.15 * luminance(colour)
    if kind == "wall":
        tone = np.full_like(y, -0.08)
    elif kind == "studio":
        sweep = 1.0 / (1.0 + np.exp(-(y - horizon) / 0.035))
        tone = ground_tone * 0.8 * sweep * (1.0 - 0.9 * (y - horizon)) - 0.08
    else:
        edge = _step(y, horizon, size)
        tone = (ground_tone + 0.2 * (y - horizon)) * edge - 0.08 * (1 - edge)
        down *= 1 - 0.5 * edge
        if kind == "room":
            skirting = _step(y, horizon - 0.05, size) * (1 - _step(y, horizon - 0.006, size))
            tone += skirting * 0.06 - _line(y, horizon - 0.05, size) * 0.12
        else:
            tone += _line(y, horizon + 0.006, size) * 0.1
    return painted_field(down * across + tone, colour)


def _step(y: NDArray[np.float64], at: float, size: int) -> NDArray[np.float64]:
    return np.clip((y - at) * size, 0.0, 1.0)


def _line(y: NDArray[np.float64], at: float, size: int) -> NDArray[np.float64]:
    return np.clip(1.0 - np.abs(y - at) * size / 1.5, 0.0, 1.0)
