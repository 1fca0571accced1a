"""Teddy bears: sitting, standing, lying. Plain fur in one colour, muzzle and pads in a lighter tone."""

from __future__ import annotations

import numpy as np

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Shade, luminance
from stereotrope.generate.calibrated.outlines import Outline, ellipse, spline, turned
from stereotrope.generate.calibrated.products.product import Plate, Shape

__all__ = ["SHAPES"]

_FUR = Shade(down=((0, 0.1), (0.5, 0.0), (1, -0.12)), bevel=0.9, rim=0.16, reach=0.14)
_PAD = Shade(plain=0.34, bevel=0.4, rim=0.06, reach=0.06)
_NOSE: RGB = (38, 30, 30)


def _fur(outline: Outline, depth: float = 0.006) -> Outline:
    """The outline with a short pile: small regular tufts along its edge."""
    closed = np.concatenate([outline, outline[:1]])
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    n = max(24, 2 * round(length[-1] / 0.035))
    at = np.linspace(0.0, length[-1], n, endpoint=False)
    points = np.stack([np.interp(at, length, closed[:, k]) for k in (0, 1)], axis=1)
    away = points - points.mean(axis=0)
    away /= np.maximum(np.hypot(away[:, 0], away[:, 1]), 1e-9)[:, None]
    tufts: Outline = points + away * (depth * np.where(np.arange(n) % 2 == 0, 1.0, -0.4))[:, None]
    return tufts


def _part(canvas: Canvas, colour: RGB, outline: Outline, shade: Shade = _FUR) -> None:
    canvas.fill(_fur(outline), colour, shade)


def _limb(canvas: Canvas, colour: RGB, x: float, y: float, rx: float, ry: float, degrees: float) -> None:
    _part(canvas, colour, turned(ellipse(x, y, rx, ry), degrees, (x, y)))


def _head(canvas: Canvas, colour: RGB, x: float, y: float, size: float) -> None:
    for side in (-1, 1):
        ear = ellipse(x + side * 0.4 * size, y + 0.36 * size, 0.19 * size)
        _part(canvas, colour, ear)
        canvas.fill(ellipse(x + side * 0.395 * size, y + 0.345 * size, 0.1 * size), colour, _PAD)
    _part(canvas, colour, ellipse(x, y, 0.53 * size, 0.475 * size))
    muzzle = ellipse(x, y - 0.13 * size, 0.225 * size, 0.18 * size)
    canvas.fill(muzzle, colour, Shade(plain=0.38, bevel=0.5, rim=0.08, reach=0.08))
    eye = _NOSE if luminance(colour) > 0.02 else (232, 226, 220)
    for side in (-1, 1):
        at = (x + side * 0.19 * size, y + 0.07 * size)
        canvas.fill(ellipse(*at, 0.052 * size, 0.058 * size), eye)
        canvas.fill(ellipse(at[0] - 0.015 * size, at[1] + 0.022 * size, 0.016 * size), (255, 255, 255))
    nose = spline(
        [
            (x - 0.085 * size, y - 0.045 * size),
            (x, y - 0.03 * size),
            (x + 0.085 * size, y - 0.045 * size),
            (x, y - 0.125 * size),
        ]
    )
    canvas.fill(nose, _NOSE, Shade(down=((0, 0.3), (1, 0))))
    mouth = spline(
        [(x - 0.1 * size, y - 0.17 * size), (x, y - 0.215 * size), (x + 0.1 * size, y - 0.17 * size)],
        closed=False,
    )
    canvas.line(np.array([[x, y - 0.11 * size], [x, y - 0.213 * size]]), 0.016 * size, _NOSE)
    canvas.line(mouth, 0.016 * size, _NOSE)


def _sole(canvas: Canvas, colour: RGB, x: float, y: float, size: float) -> None:
    _part(canvas, colour, ellipse(x, y, 0.25 * size, 0.28 * size))
    canvas.fill(ellipse(x, y - 0.03 * size, 0.135 * size, 0.13 * size), colour, _PAD)
    for dx, dy in ((-0.12, 0.13), (0.0, 0.18), (0.12, 0.13)):
        canvas.fill(ellipse(x + dx * size, y + dy * size, 0.042 * size), colour, _PAD)


def sitting(canvas: Canvas, colour: RGB) -> Plate:
    """A bear that sits, its soles to the viewer."""
    canvas.shadow(ellipse(0.08, 0.02, 0.92, 0.12), blur=0.08, strength=0.5)
    for side in (-1, 1):
        _limb(canvas, colour, side * 0.52, 0.68, 0.18, 0.34, side * 38.0)
    _part(canvas, colour, ellipse(0, 0.55, 0.53, 0.52))
    canvas.fill(ellipse(0, 0.5, 0.34, 0.33), colour, Shade(plain=0.18, rim=0.06, bevel=0.2))
    for side in (-1, 1):
        _limb(canvas, colour, side * 0.5, 0.22, 0.32, 0.2, side * -8.0)
        _sole(canvas, colour, side * 0.64, 0.26, 0.9)
    _head(canvas, colour, 0.0, 1.32, 1.0)
    return Plate(0.0, 0.56, 0.56, 0.19)


def standing(canvas: Canvas, colour: RGB) -> Plate:
    """A bear on its feet, arms out."""
    canvas.shadow(ellipse(0.08, 0.0, 0.66, 0.1), blur=0.07, strength=0.5)
    for side in (-1, 1):
        _limb(canvas, colour, side * 0.26, 0.26, 0.21, 0.3, side * 4.0)
        _limb(canvas, colour, side * 0.3, 0.09, 0.25, 0.13, 0.0)
        _limb(canvas, colour, side * 0.58, 0.86, 0.155, 0.36, side * 52.0)
    _part(canvas, colour, ellipse(0, 0.72, 0.46, 0.5))
    canvas.fill(ellipse(0, 0.68, 0.31, 0.34), colour, Shade(plain=0.18, rim=0.06, bevel=0.2))
    _head(canvas, colour, 0.0, 1.47, 0.95)
    return Plate(0.0, 0.72, 0.54, 0.19)


def lying(canvas: Canvas, colour: RGB) -> Plate:
    """A bear on its belly, head up on its paws."""
    canvas.shadow(ellipse(0.06, 0.0, 1.05, 0.11), blur=0.07, strength=0.5)
    _part(canvas, colour, ellipse(0.34, 0.44, 0.62, 0.42))
    _limb(canvas, colour, 0.82, 0.24, 0.24, 0.24, 0.0)
    _sole(canvas, colour, 0.92, 0.24, 0.78)
    _limb(canvas, colour, -0.02, 0.16, 0.4, 0.15, 4.0)
    _limb(canvas, colour, -0.62, 0.15, 0.36, 0.14, -4.0)
    _head(canvas, colour, -0.34, 0.74, 1.0)
    return Plate(0.56, 0.52, 0.46, 0.17)


SHAPES = {"sitting": Shape(sitting, 0.32), "standing": Shape(standing, 0.3), "lying": Shape(lying, 0.38)}
