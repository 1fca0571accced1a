"""Toasters with bread coming out: classic, retro, long."""

from __future__ import annotations

import numpy as np

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Shade
from stereotrope.generate.calibrated.outlines import Outline, box, ellipse, rounded, spline
from stereotrope.generate.calibrated.products.product import STEEL, Plate, Shape

__all__ = ["SHAPES"]

_CRUST: RGB = (164, 104, 52)
_CRUMB: RGB = (226, 182, 116)
_DARK: RGB = (40, 40, 44)
_SHELL = Shade(
    down=((0, 0.3), (0.1, 0.12), (0.3, 0.0), (0.8, -0.02), (1, -0.26)),
    across=((0, -0.2), (0.14, 0.12), (0.3, 0.02), (0.85, -0.03), (1, -0.24)),
    bevel=0.7,
    rim=0.08,
    reach=0.1,
)


def _bread(canvas: Canvas, x: float, y: float, half: float) -> None:
    def slice_(grow: float) -> Outline:
        w = half + grow
        right = [(0.86, -0.5), (0.88, -0.02), (1.0, 0.1), (0.8, 0.24 + grow)]
        points = [(x - w * u, y + v) for u, v in right] + [(x, y + 0.29 + grow)]
        return spline(points + [(x + w * u, y + v) for u, v in right[::-1]])

    canvas.fill(slice_(0.03), _CRUST, Shade(bevel=0.5, reach=0.05))
    canvas.fill(slice_(-0.02), _CRUMB, Shade(down=((0, 0.05), (0.5, -0.1), (1, -0.4)), rim=0.2, reach=0.08))


def _foot(canvas: Canvas, *at: float) -> None:
    for x in at:
        canvas.fill(box(x - 0.09, -0.01, x + 0.09, 0.09, 0.02), _DARK)


def _lever(canvas: Canvas, x: float, low: float, high: float, at: float) -> None:
    canvas.fill(box(x - 0.022, low, x + 0.022, high, 0.02), _DARK)
    canvas.fill(
        box(x - 0.1, at - 0.05, x + 0.1, at + 0.05, 0.04), STEEL, Shade(bevel=0.8, rim=0.15, reach=0.04)
    )


def _knob(canvas: Canvas, x: float, y: float, radius: float) -> None:
    canvas.fill(ellipse(x, y, radius), STEEL, Shade(bevel=0.9, rim=0.15, reach=0.05))
    canvas.fill(ellipse(x, y, radius * 0.66), STEEL, Shade(plain=-0.2, bevel=0.4, reach=0.03))
    canvas.line(np.array([[x, y + radius * 0.15], [x + radius * 0.3, y + radius * 0.55]]), 0.022, _DARK)


def _slot(canvas: Canvas, x0: float, x1: float, y: float) -> None:
    canvas.fill(box(x0, y - 0.02, x1, y + 0.03, 0.025), STEEL, Shade(down=((0, 0.3), (1, -0.3))))


def classic(canvas: Canvas, colour: RGB) -> Plate:
    """A two-slice toaster from the side, lever and knob on the right."""
    canvas.shadow(box(-0.86, -0.06, 0.98, 0.05, 0.04), blur=0.06, strength=0.5)
    _foot(canvas, -0.6, 0.6)
    _bread(canvas, -0.36, 1.12, 0.3)
    _bread(canvas, 0.34, 1.08, 0.3)
    shell = box(-0.9, 0.06, 0.9, 1.0, (0.12, 0.12, 0.26, 0.26))
    canvas.fill(shell, colour, _SHELL)
    _slot(canvas, -0.72, 0.72, 0.965)
    canvas.fill(box(-0.9, 0.07, 0.9, 0.19, (0.1, 0.1, 0, 0)), _DARK, Shade(bevel=0.4))
    _lever(canvas, 0.66, 0.48, 0.84, 0.74)
    _knob(canvas, 0.66, 0.34, 0.095)
    return Plate(-0.14, 0.56, 0.86, 0.24)


def retro(canvas: Canvas, colour: RGB) -> Plate:
    """A bulbous toaster of the fifties with a steel band."""
    canvas.shadow(box(-0.84, -0.06, 0.98, 0.05, 0.04), blur=0.06, strength=0.5)
    _foot(canvas, -0.56, 0.56)
    _bread(canvas, 0.0, 1.18, 0.36)
    shell = rounded(
        [
            (-0.88, 0.05, 0.1),
            (0.88, 0.05, 0.1),
            (0.93, 0.55, 0.3),
            (0.74, 1.06, 0.5),
            (-0.74, 1.06, 0.5),
            (-0.93, 0.55, 0.3),
        ]
    )
    canvas.fill(shell, colour, _SHELL)
    _slot(canvas, -0.46, 0.46, 1.035)
    canvas.fill(box(-0.89, 0.14, 0.89, 0.24, 0.02), STEEL, Shade(down=((0, 0.3), (0.5, 0.0), (1, -0.4))))
    _lever(canvas, 0.68, 0.42, 0.78, 0.7)
    shine = ellipse(-0.66, 0.62, 0.045, 0.2)
    canvas.fill(shine, (255, 255, 255), opacity=0.35)
    return Plate(-0.04, 0.58, 0.92, 0.25)


def long(canvas: Canvas, colour: RGB) -> Plate:
    """A low toaster with one long slot."""
    canvas.shadow(box(-0.98, -0.06, 1.1, 0.05, 0.04), blur=0.06, strength=0.5)
    _foot(canvas, -0.76, 0.76)
    _bread(canvas, -0.42, 0.94, 0.32)
    _bread(canvas, 0.36, 0.9, 0.32)
    canvas.fill(box(-1.0, 0.06, 1.0, 0.82, (0.08, 0.08, 0.14, 0.14)), colour, _SHELL)
    _slot(canvas, -0.84, 0.8, 0.79)
    canvas.line(np.array([[-0.97, 0.2], [0.97, 0.2]]), 0.018, colour, plain=-0.5)
    for x in (0.6, 0.84):
        _knob(canvas, x, 0.36, 0.075)
    _lever(canvas, 0.72, 0.5, 0.7, 0.62)
    return Plate(-0.2, 0.48, 0.96, 0.24)


SHAPES = {"classic": Shape(classic, 0.38), "retro": Shape(retro, 0.37), "long": Shape(long, 0.4)}
