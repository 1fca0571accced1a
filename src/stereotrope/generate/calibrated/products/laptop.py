"""Open laptops: clamshell, slim, convertible. The screen glows in the case's colour."""

from __future__ import annotations

import numpy as np

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Shade, luminance
from stereotrope.generate.calibrated.outlines import Outline, box, ellipse, rounded
from stereotrope.generate.calibrated.products.product import Plate, Shape

__all__ = ["SHAPES"]

_CASE = Shade(down=((0, 0.05), (1, -0.05)), bevel=0.5, rim=0.08, reach=0.04)


def _shadow(canvas: Canvas) -> None:
    canvas.shadow(
        rounded([(-1.0, -0.07, 0), (1.08, -0.07, 0), (1.0, 0.06, 0), (-0.9, 0.06, 0)]),
        blur=0.05,
        strength=0.55,
    )


def _wallpaper(canvas: Canvas, colour: RGB, screen: Outline) -> None:
    """A picture of soft hills in tones of the case's colour."""
    canvas.fill(screen, colour, Shade(down=((0, 0.12), (1, 0.02)), across=((0, 0.0), (1, 0.1))))
    low, high = screen.min(axis=0), screen.max(axis=0)
    width, height = high - low
    for k, (x, rise, tone) in enumerate(((0.75, 0.62, -0.14), (0.2, 0.5, -0.24), (0.8, 0.3, -0.34))):
        hill = ellipse(low[0] + x * width, low[1], width * (0.72 - 0.06 * k), height * rise)
        canvas.fill(hill, colour, Shade(plain=tone, down=((0, 0.08), (1, 0.0))), within=screen)
    canvas.fill(
        ellipse(low[0] + 0.26 * width, low[1] + 0.74 * height, height * 0.09), colour, Shade(plain=0.55)
    )


def _glare(canvas: Canvas, screen: Outline) -> None:
    low, high = screen.min(axis=0), screen.max(axis=0)
    width = high[0] - low[0]
    x = low[0] + 0.52 * width
    sheet = np.array(
        [[x, high[1]], [x + 0.24 * width, high[1]], [x + 0.04 * width, low[1]], [x - 0.2 * width, low[1]]]
    )
    canvas.fill(sheet, (255, 255, 255), within=screen, opacity=0.07)


def _keyboard(canvas: Canvas, colour: RGB, back: float, front: float, half: float, flare: float) -> None:
    """The lower half seen from above: keys in rows, wider towards the viewer."""
    deck = rounded(
        [(-half - flare, front, 0.05), (half + flare, front, 0.05), (half, back, 0.02), (-half, back, 0.02)]
    )
    edge = rounded(
        [
            (-half - flare, front - 0.055, 0.05),
            (half + flare, front - 0.055, 0.05),
            (half + flare, front + 0.03, 0.03),
            (-half - flare, front + 0.03, 0.03),
        ]
    )
    canvas.fill(edge, colour, Shade(plain=-0.4))
    canvas.fill(deck, colour, Shade(down=((0, -0.16), (1, 0.12)), rim=0.1, reach=0.03))
    ink = -0.62 if luminance(colour) > 0.03 else 0.28
    depth = back - front
    for row in range(4):
        y1 = back - depth * (0.1 + 0.135 * row)
        y0 = y1 - depth * 0.1
        reach = half + flare * (back - (y0 + y1) / 2) / depth - 0.11
        for k in range(12):
            if row == 3 and 3 <= k <= 8:
                continue
            x0 = -reach + 2 * reach * k / 12
            key = box(x0 + 0.008, y0, x0 + 2 * reach / 12 - 0.008, y1, 0.008)
            canvas.fill(key, colour, Shade(plain=ink))
        if row == 3:
            canvas.fill(box(-reach / 2 + 0.008, y0, reach / 2 - 0.008, y1, 0.008), colour, Shade(plain=ink))
    pad = rounded(
        [
            (-0.24, front + depth * 0.06, 0.02),
            (0.24, front + depth * 0.06, 0.02),
            (0.22, front + depth * 0.36, 0.02),
            (-0.22, front + depth * 0.36, 0.02),
        ]
    )
    canvas.fill(pad, colour, Shade(plain=-0.16, rim=0.3, reach=0.02))


def _lid(canvas: Canvas, colour: RGB, outline: Outline, screen: Outline, bezel: float) -> None:
    canvas.fill(outline, colour, _CASE)
    canvas.fill(screen, colour, Shade(plain=bezel))
    low, high = screen.min(axis=0), screen.max(axis=0)
    inner = box(low[0] + 0.025, low[1] + 0.025, high[0] - 0.025, high[1] - 0.025, 0.01)
    _wallpaper(canvas, colour, inner)
    _glare(canvas, inner)


def clamshell(canvas: Canvas, colour: RGB) -> Plate:
    """A laptop opened towards the viewer."""
    _shadow(canvas)
    _lid(canvas, colour, box(-0.82, 0.36, 0.82, 1.42, 0.07), box(-0.76, 0.44, 0.76, 1.36, 0.02), -0.8)
    canvas.fill(box(-0.6, 0.335, 0.6, 0.385, 0.02), colour, Shade(plain=-0.6))
    _keyboard(canvas, colour, 0.36, 0.0, 0.82, 0.16)
    return Plate(0.02, 1.04, 0.8, 0.24)


def slim(canvas: Canvas, colour: RGB) -> Plate:
    """A laptop with a narrow frame and a flat base."""
    _shadow(canvas)
    _lid(canvas, colour, box(-0.9, 0.22, 0.9, 1.36, 0.09), box(-0.87, 0.27, 0.87, 1.33, 0.06), -0.55)
    _keyboard(canvas, colour, 0.24, 0.03, 0.9, 0.07)
    return Plate(0.02, 0.96, 0.84, 0.25)


def convertible(canvas: Canvas, colour: RGB) -> Plate:
    """A tablet with a broad frame and a camera, on a keyboard."""
    _shadow(canvas)
    _lid(canvas, colour, box(-0.78, 0.26, 0.78, 1.4, 0.12), box(-0.68, 0.36, 0.68, 1.3, 0.03), -0.7)
    canvas.fill(ellipse(0, 1.35, 0.018), (20, 20, 22))
    _keyboard(canvas, colour, 0.28, 0.0, 0.78, 0.12)
    return Plate(0.02, 0.98, 0.76, 0.23)


SHAPES = {
    "clamshell": Shape(clamshell, 0.4),
    "slim": Shape(slim, 0.415),
    "convertible": Shape(convertible, 0.41),
}
