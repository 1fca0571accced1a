"""The canvas: fills outlines with shaded materials, anti-aliased, in the product's own coordinates.

A material is a ramp of 256 colours from deep shade over the plain colour (index 128) to full light; a fill
computes one shade in [-1, 1] per pixel, which picks the colour from the ramp.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from stereotrope.generate.calibrated.outlines import Outline

RGB = tuple[int, int, int]
Stops = Sequence[tuple[float, float]]

_SAMPLES = 4
"""Mask samples along each side of a pixel; sixteen a pixel look smooth at 512 pixels."""

_PALE_RIM = 0.24
"""Further darkening of the edges of near-white parts, so that white stands out from white."""


@lru_cache(maxsize=256)
def ramp(colour: RGB) -> bytes:
    """256 colours of a material as palette bytes: shade, plain colour at index 128, light.

    Shade keeps 42 % of each channel; yellow and orange are shaded towards brown rather than olive.
    Light goes 70 % of the way to white.
    """
    base = np.array(colour, dtype=np.float64)
    warmth = max(0.0, (min(base[0], base[1]) - base[2]) / 255.0)
    dark = base * np.array([0.42 + 0.12 * warmth, 0.42 - 0.06 * warmth, 0.42])
    light = base + (255.0 - base) * 0.7
    steps = (np.arange(256) - 128.0)[:, None] / 128.0
    colours = np.where(steps < 0, base + (base - dark) * steps, base + (light - base) * steps)
    return np.clip(np.rint(colours), 0, 255).astype(np.uint8).tobytes()


def painted_field(field: NDArray[np.float64], colour: RGB) -> Image.Image:
    """A picture of a material: at each pixel the colour of its ramp at the shade in [-1, 1]."""
    index = 127.0 * field
    index += 128.0
    index = np.clip(np.rint(index, out=index), 0, 255, out=index).astype(np.uint8)
    picture = Image.frombytes("P", (field.shape[1], field.shape[0]), index.tobytes())
    picture.putpalette(ramp(colour))
    return picture.convert("RGB")


@lru_cache(maxsize=256)
def luminance(colour: RGB) -> float:
    """Relative luminance of an sRGB colour, in [0, 1] (IEC 61966-2-1, as in WCAG 2)."""
    c = np.array(colour, dtype=np.float64) / 255.0
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))


def ink_on(colour: RGB) -> RGB:
    """Near-black or near-white, whichever contrasts more with the colour."""
    y = luminance(colour)
    return (250, 250, 248) if 1.05 / (y + 0.05) > (y + 0.05) / 0.05 else (26, 26, 30)


@dataclass(frozen=True)
class Shade:
    """How light falls on a fill: stops (position, shade) from the top down and from left to right.

    ``bevel`` lights edges that face the lamp (top left) and shades those that face away; ``reach`` is
    how far in from the edge it goes, in product units; ``rim`` darkens all edges alike.
    """

    down: Stops = ()
    across: Stops = ()
    plain: float = 0.0
    bevel: float = 0.0
    rim: float = 0.0
    reach: float = 0.06

    def field(self, u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Shade at columns ``u`` and rows ``v``, both 0 to 1 over the outline's box."""
        return self.plain + _eased(v, self.down)[:, None] + _eased(u, self.across)[None, :]


def _eased(at: NDArray[np.float64], stops: Stops) -> NDArray[np.float64]:
    if len(stops) < 2:
        return np.full_like(at, stops[0][1] if stops else 0.0)
    x, y = np.array(stops, dtype=np.float64).T
    i = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    t = np.clip((at - x[i]) / (x[i + 1] - x[i]), 0.0, 1.0)
    eased: NDArray[np.float64] = y[i] + (y[i + 1] - y[i]) * (t * t * (3 - 2 * t))
    return eased


FLAT = Shade()


@dataclass(frozen=True)
class Pose:
    """Where a product stands: its origin and the length of its unit, in pixels, turn and mirroring."""

    x: float
    y: float
    unit: float
    degrees: float = 0.0
    mirror: bool = False

    def pixels(self, points: Outline) -> Outline:
        """Product coordinates (y up) to pixels (y down)."""
        angle = math.radians(self.degrees)
        x = -points[:, 0] if self.mirror else points[:, 0]
        y = points[:, 1]
        right = self.x + self.unit * (x * math.cos(angle) - y * math.sin(angle))
        down = self.y - self.unit * (x * math.sin(angle) + y * math.cos(angle))
        return np.stack([right, down], axis=1)


class Canvas:
    """A picture being painted: ``pose`` maps product coordinates to pixels, ``colour`` is the product's."""

    def __init__(self, image: Image.Image, pose: Pose, colour: RGB) -> None:
        self.image, self.pose, self.colour = image, pose, colour

    def fill(
        self,
        outline: Outline,
        shade: Shade = FLAT,
        colour: RGB | None = None,
        *,
        holes: Sequence[Outline] = (),
        within: Outline | None = None,
        opacity: float = 1.0,
    ) -> None:
        """Fill an outline with a shaded material; ``within`` cuts the fill to another outline."""
        points = self.pose.pixels(outline)
        frame = _Frame.around(points, self.image.size)
        if frame is None:
            return
        mask = frame.mask(points, [self.pose.pixels(hole) for hole in holes])
        if within is not None:
            other = frame.mask(self.pose.pixels(within))
            mask = Image.composite(mask, Image.new("L", mask.size), other)
        rgb = colour or self.colour
        field = shade.field(*frame.grid())
        if shade.bevel or shade.rim:
            pale = min(1.0, max(0.0, (luminance(rgb) - 0.6) / 0.25))  # 0 up to 0.6, 1 from 0.85
            field = field + self._edges(mask, shade, pale)
        painted = painted_field(np.broadcast_to(field, (mask.height, mask.width)), rgb)
        if opacity < 1.0:
            mask = mask.point([round(i * opacity) for i in range(256)])
        self.image.paste(painted, (frame.left, frame.top), mask)

    def _edges(self, mask: Image.Image, shade: Shade, pale: float) -> NDArray[np.float64]:
        reach = max(1, round(shade.reach * self.pose.unit))
        padded = Image.new("L", (mask.width + 2 * reach, mask.height + 2 * reach))
        padded.paste(mask, (reach, reach))
        blur = ImageFilter.BoxBlur(reach / 2)
        level = np.asarray(padded.filter(blur).filter(blur)).astype(np.float32) / 255.0
        inner = level[reach:-reach, reach:-reach]
        field = np.zeros_like(inner)
        if shade.bevel:
            (height, width), step = inner.shape, max(1, reach // 2)
            low, high = reach - step, reach + step
            down = level[high : high + height, reach:-reach] - level[low : low + height, reach:-reach]
            right = level[reach:-reach, high : high + width] - level[reach:-reach, low : low + width]
            edges = shade.bevel * (0.8 * down + 0.6 * right)
            field = field + np.where(edges > 0, edges * (1.0 - 0.8 * pale), edges)
        rim = shade.rim + _PALE_RIM * pale
        if rim:
            field = field - rim * 2.0 * (1.0 - inner)
        return field.astype(np.float64)

    def line(self, points: Outline, width: float, colour: RGB | None = None, *, plain: float = 0.0) -> None:
        """Stroke an open curve with round ends; ``width`` in product units, at least one pixel."""
        pixels = self.pose.pixels(points)
        thick = max(1.0, width * self.pose.unit)
        frame = _Frame.around(pixels, self.image.size, pad=thick / 2 + 1)
        if frame is None:
            return
        mask = frame.stroke(pixels, thick)
        index = min(255, max(0, round(128 + 127 * plain)))
        tone = tuple(ramp(colour or self.colour)[3 * index : 3 * index + 3])
        self.image.paste(tone, (frame.left, frame.top), mask)

    def shadow(self, outline: Outline, *, blur: float, strength: float) -> None:
        """Darken the picture under an outline, softly; ``blur`` in product units."""
        pixels = self.pose.pixels(outline)
        radius = blur * self.pose.unit
        frame = _Frame.around(pixels, self.image.size, pad=2 * radius + 2)
        if frame is None:
            return
        shrink = 4
        small = Image.new("L", (-(-frame.width // shrink), -(-frame.height // shrink)))
        shrunk = (pixels - np.array([frame.left, frame.top])) / shrink
        ImageDraw.Draw(small).polygon(shrunk.ravel().tolist(), fill=round(255 * strength))
        small = small.filter(ImageFilter.GaussianBlur(radius / shrink))
        mask = small.resize((small.width * shrink, small.height * shrink), Image.Resampling.BICUBIC)
        mask = mask.crop((0, 0, frame.width, frame.height))
        self.image.paste((18, 16, 24), (frame.left, frame.top), mask)

    def write(self, word: str, x: float, y: float, width: float, height: float) -> None:
        """Print a word centred at (x, y), as large as fits width × height, in the ink that contrasts more."""
        cx, cy = self.pose.pixels(np.array([[x, y]]))[0]
        mask = _lettering(word, width * self.pose.unit, height * self.pose.unit)
        if self.pose.degrees:
            mask = mask.rotate(self.pose.degrees, Image.Resampling.BICUBIC, expand=True)
        left, top = round(cx - mask.width / 2), round(cy - mask.height / 2)
        self.image.paste(ink_on(self.colour), (left, top), mask)


@dataclass(frozen=True)
class _Frame:
    """The part of the picture that a fill touches, and the full box of its outline."""

    left: int
    top: int
    width: int
    height: int
    bounds: tuple[float, float, float, float]

    @classmethod
    def around(cls, points: Outline, size: tuple[int, int], *, pad: float = 1.0) -> _Frame | None:
        x0, y0 = points.min(axis=0)
        x1, y1 = points.max(axis=0)
        left, top = max(0, math.floor(x0 - pad)), max(0, math.floor(y0 - pad))
        right, bottom = min(size[0], math.ceil(x1 + pad)), min(size[1], math.ceil(y1 + pad))
        if right <= left or bottom <= top:
            return None
        return cls(left, top, right - left, bottom - top, (x0, y0, x1, y1))

    def grid(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        x0, y0, x1, y1 = self.bounds
        columns, rows = np.arange(self.width, dtype=np.float64), np.arange(self.height, dtype=np.float64)
        u = (self.left + columns + 0.5 - x0) / max(x1 - x0, 1e-9)
        return u, (self.top + rows + 0.5 - y0) / max(y1 - y0, 1e-9)

    def mask(self, points: Outline, holes: Sequence[Outline] = ()) -> Image.Image:
        big = self._blank()
        draw = ImageDraw.Draw(big)
        draw.polygon(self._big(points), fill=255)
        for hole in holes:
            draw.polygon(self._big(hole), fill=0)
        return big.reduce(_SAMPLES)

    def stroke(self, points: Outline, thick: float) -> Image.Image:
        big, coordinates = self._blank(), self._big(points)
        draw = ImageDraw.Draw(big)
        width = max(1, round(thick * _SAMPLES))
        draw.line(coordinates, fill=255, width=width, joint="curve")
        if width > 3:
            for x, y in (coordinates[:2], coordinates[-2:]):
                draw.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), fill=255)
        return big.reduce(_SAMPLES)

    def _blank(self) -> Image.Image:
        return Image.new("L", (self.width * _SAMPLES, self.height * _SAMPLES))

    def _big(self, points: Outline) -> list[float]:
        origin = np.array([self.left, self.top])
        scaled: list[float] = ((points - origin) * _SAMPLES - 0.5).ravel().tolist()
        return scaled


def _lettering(word: str, width: float, height: float) -> Image.Image:
    """A word as a mask, as large as fits width × height pixels, in Pillow's own font, made bold."""
    thread = threading.get_ident()
    reference = _font_of(100, thread)
    x0, y0, x1, y1 = reference.getbbox(word, stroke_width=3)
    size = max(6.0, 100.0 * min(width / (x1 - x0), height / (y1 - y0)))
    font = _font_of(round(size), thread)
    bold = 0.028 * size
    box = font.getbbox(word, stroke_width=bold)
    mask = Image.new("L", (math.ceil(box[2] - box[0]) + 2, math.ceil(box[3] - box[1]) + 2))
    ImageDraw.Draw(mask).text((1 - box[0], 1 - box[1]), word, fill=255, font=font, stroke_width=bold)
    return mask


@lru_cache(maxsize=512)
def _font_of(size: int, thread: int) -> ImageFont.FreeTypeFont:
    """Pillow's bundled font; one a thread, since FreeType faces must not be shared between threads."""
    font = ImageFont.load_default(size)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise RuntimeError("Pillow was built without FreeType, which the calibrated generator needs")
    return font
