"""Backpacks from the front: school, rucksack, urban."""

from __future__ import annotations

import numpy as np

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Shade
from stereotrope.generate.calibrated.outlines import Outline, band, box, mirrored, rounded, spline
from stereotrope.generate.calibrated.products.product import STEEL, Plate, Shape

__all__ = ["SHAPES"]

_BODY = Shade(
    down=((0, 0.12), (0.25, 0.03), (0.75, 0), (1, -0.22)),
    across=((0, -0.18), (0.22, 0.1), (0.5, 0.0), (1, -0.24)),
    bevel=0.6,
    rim=0.1,
    reach=0.12,
)
_POCKET = Shade(down=((0, 0.1), (0.6, 0), (1, -0.14)), bevel=0.7, rim=0.12, reach=0.07)


def _straps(canvas: Canvas, colour: RGB, top: float, wide: float) -> None:
    """Handle loop on top and shoulder straps that show at the sides."""
    canvas.shadow(box(-0.62, -0.05, 0.84, 0.06, 0.05), blur=0.07, strength=0.45)
    loop = spline(
        [(-0.15, top - 0.05), (-0.13, top + 0.13), (0.0, top + 0.18), (0.13, top + 0.13), (0.15, top - 0.05)],
        closed=False,
    )
    canvas.fill(band(loop, 0.075), colour, Shade(plain=-0.4, bevel=0.6, reach=0.04))
    for side in (-1, 1):
        strap = spline(
            [
                (side * 0.3, top - 0.1),
                (side * (wide + 0.1), top - 0.42),
                (side * (wide + 0.17), 0.75),
                (side * (wide - 0.06), 0.2),
            ],
            closed=False,
        )
        canvas.fill(band(strap, 0.15), colour, Shade(plain=-0.45, bevel=0.5, reach=0.06))


def _zip(canvas: Canvas, points: Outline, colour: RGB) -> None:
    canvas.line(points, 0.04, colour, plain=-0.75)
    canvas.line(points, 0.013, STEEL, plain=-0.1)
    x, y = points[-1]
    canvas.line(np.array([[x, y], [x + 0.015, y - 0.11]]), 0.03, STEEL, plain=0.1)


def school(canvas: Canvas, colour: RGB) -> Plate:
    """A round-topped school backpack with a front pocket."""
    _straps(canvas, colour, 1.58, 0.58)
    for side in (-1, 1):
        pouch = rounded(
            [
                (side * 0.5, 0.06, 0.05),
                (side * 0.74, 0.1, 0.09),
                (side * 0.72, 0.6, 0.06),
                (side * 0.5, 0.64, 0.02),
            ]
        )
        canvas.fill(pouch, colour, Shade(plain=-0.25, bevel=0.6, rim=0.1, reach=0.06))
    right = spline(
        [(0.0, 0.0), (0.46, 0.0), (0.6, 0.1), (0.63, 0.6), (0.6, 1.15), (0.42, 1.52), (0.0, 1.62)],
        closed=False,
    )
    canvas.fill(mirrored(right), colour, _BODY)
    arch = spline(
        [(-0.5, 0.86), (-0.48, 1.15), (-0.3, 1.4), (0.0, 1.47), (0.3, 1.4), (0.48, 1.15), (0.5, 0.86)],
        closed=False,
    )
    _zip(canvas, arch, colour)
    pocket = box(-0.47, 0.09, 0.47, 0.8, (0.14, 0.14, 0.16, 0.16))
    canvas.shadow(pocket + np.array([0.02, -0.03]), blur=0.03, strength=0.3)
    canvas.fill(pocket, colour, _POCKET)
    _zip(canvas, spline([(-0.4, 0.63), (0.0, 0.66), (0.4, 0.63)], closed=False), colour)
    return Plate(0.0, 0.38, 0.66, 0.22)


def rucksack(canvas: Canvas, colour: RGB) -> Plate:
    """A rucksack with a flap held by two buckled straps."""
    _straps(canvas, colour, 1.52, 0.62)
    for side in (-1, 1):
        pouch = rounded(
            [
                (side * 0.5, 0.04, 0.05),
                (side * 0.86, 0.07, 0.1),
                (side * 0.84, 0.62, 0.08),
                (side * 0.5, 0.66, 0.04),
            ]
        )
        canvas.fill(pouch, colour, Shade(plain=-0.16, bevel=0.7, rim=0.12, reach=0.07))
        flap = rounded(
            [
                (side * 0.5, 0.5, 0.02),
                (side * 0.88, 0.48, 0.06),
                (side * 0.85, 0.68, 0.06),
                (side * 0.5, 0.7, 0.03),
            ]
        )
        canvas.fill(flap, colour, Shade(plain=-0.28, bevel=0.6, reach=0.05))
    canvas.fill(box(-0.62, 0.0, 0.62, 1.35, (0.16, 0.16, 0.1, 0.1)), colour, _BODY)
    pocket = box(-0.46, 0.08, 0.46, 0.64, 0.1)
    canvas.fill(pocket, colour, _POCKET)
    lid = spline(
        [(0.0, 0.74), (0.5, 0.76), (0.68, 0.86), (0.7, 1.2), (0.6, 1.48), (0.3, 1.57), (0.0, 1.58)],
        closed=False,
    )
    canvas.shadow(mirrored(lid) + np.array([0.02, -0.05]), blur=0.04, strength=0.4)
    canvas.fill(
        mirrored(lid), colour, Shade(down=((0, 0.18), (0.3, 0.04), (1, -0.14)), bevel=0.7, rim=0.1, reach=0.1)
    )
    for side in (-1, 1):
        x = side * 0.36
        canvas.fill(
            box(x - 0.05, 0.3, x + 0.05, 1.2, 0.02), colour, Shade(plain=-0.55, bevel=0.5, reach=0.03)
        )
        canvas.fill(
            box(x - 0.085, 0.58, x + 0.085, 0.74, 0.03), STEEL, Shade(bevel=0.8, rim=0.15, reach=0.03)
        )
        canvas.fill(box(x - 0.04, 0.62, x + 0.04, 0.7, 0.01), colour, Shade(plain=-0.6))
    return Plate(0.0, 1.3, 0.62, 0.2)


def urban(canvas: Canvas, colour: RGB) -> Plate:
    """A boxy city backpack with a slanted zip."""
    _straps(canvas, colour, 1.6, 0.52)
    body = box(-0.58, 0.0, 0.58, 1.64, (0.12, 0.12, 0.22, 0.22))
    canvas.fill(body, colour, _BODY)
    canvas.fill(
        box(-0.575, 0.012, 0.575, 0.3, (0.12, 0.12, 0.0, 0.0)),
        colour,
        Shade(plain=-0.34, bevel=0.5, reach=0.08),
    )
    _zip(canvas, np.array([[0.42, 1.1], [-0.42, 1.26]]), colour)
    canvas.line(np.array([[-0.56, 1.44], [0.56, 1.44]]), 0.016, colour, plain=-0.5)
    canvas.line(np.array([[-0.56, 0.3], [0.56, 0.3]]), 0.016, colour, plain=-0.6)
    panel = box(-0.42, 0.4, 0.42, 1.0, 0.08)
    canvas.fill(panel, colour, Shade(plain=0.02, bevel=0.6, rim=0.1, reach=0.05))
    return Plate(0.0, 0.7, 0.66, 0.24)


SHAPES = {"school": Shape(school, 0.315), "rucksack": Shape(rucksack, 0.325), "urban": Shape(urban, 0.31)}
