"""Cups: mug, teacup, tumbler."""

from __future__ import annotations

import numpy as np

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Shade
from stereotrope.generate.calibrated.outlines import Outline, box, ellipse, mirrored, spline
from stereotrope.generate.calibrated.products.product import Plate, Shape

__all__ = ["SHAPES"]

_ROUND = ((0, -0.42), (0.1, -0.12), (0.26, 0.3), (0.42, 0.04), (0.7, -0.04), (0.9, -0.3), (1, -0.55))
"""Light across an upright cylinder lit from the left."""


def _ring(canvas: Canvas, colour: RGB, x: float, y: float, rx: float, ry: float, thick: float) -> None:
    hole = ellipse(x, y, rx - thick, ry - thick)
    canvas.fill(
        ellipse(x, y, rx, ry), colour, Shade(plain=-0.08, bevel=0.9, rim=0.1, reach=thick), holes=[hole]
    )


def _opening(canvas: Canvas, colour: RGB, y: float, rx: float, ry: float) -> None:
    canvas.fill(ellipse(0, y, rx, ry), colour, Shade(plain=0.24, across=((0, 0.1), (0.5, 0.2), (1, -0.2))))
    inner = ellipse(0, y - 0.006, rx * 0.925, ry * 0.84)
    canvas.fill(
        inner, colour, Shade(down=((0, -0.75), (0.5, -0.4), (1, -0.12)), across=((0, -0.15), (1, 0.1)))
    )


def _walls(top: float, bottom: float, height: float, dip: float, rim: float) -> Outline:
    """A cylinder seen a little from above: bottom edge and upper rim are arcs."""
    base = ellipse(0, 0.07, bottom, dip, start=180, stop=360)
    upper = ellipse(0, height, top, rim, start=0, stop=180)
    return np.concatenate([base, upper])


def mug(canvas: Canvas, colour: RGB) -> Plate:
    """A straight mug with a big handle."""
    canvas.shadow(ellipse(0.2, 0.03, 0.86, 0.14), blur=0.09, strength=0.34)
    canvas.shadow(ellipse(0.03, 0.02, 0.54, 0.08), blur=0.03, strength=0.5)
    _ring(canvas, colour, 0.56, 0.6, 0.36, 0.36, 0.115)
    canvas.fill(
        _walls(0.55, 0.5, 1.12, 0.1, 0.13),
        colour,
        Shade(across=_ROUND, down=((0, 0.05), (0.7, 0), (1, -0.22))),
    )
    _opening(canvas, colour, 1.12, 0.55, 0.13)
    canvas.fill(
        box(-0.42, 0.28, -0.35, 0.86, 0.03), (255, 255, 255), Shade(down=((0, 0), (1, 0))), opacity=0.28
    )
    return Plate(0.03, 0.52, 0.74, 0.24)


def teacup(canvas: Canvas, colour: RGB) -> Plate:
    """A bowl-shaped cup on a saucer."""
    canvas.shadow(ellipse(0.12, -0.06, 1.1, 0.16), blur=0.08, strength=0.36)
    canvas.shadow(ellipse(0.02, -0.08, 0.66, 0.07), blur=0.03, strength=0.4)
    plate = Shade(plain=-0.2, across=((0, -0.2), (0.3, 0.1), (1, -0.3)))
    canvas.fill(ellipse(0, 0.0, 0.98, 0.17), colour, plate)
    canvas.fill(
        ellipse(0, 0.03, 0.98, 0.17),
        colour,
        Shade(plain=0.12, down=((0, -0.1), (1, 0.1)), rim=0.1, reach=0.05),
    )
    canvas.fill(ellipse(0, 0.025, 0.62, 0.1), colour, Shade(down=((0, -0.3), (0.7, -0.02), (1, 0.14))))
    canvas.shadow(ellipse(0.08, 0.03, 0.42, 0.06), blur=0.04, strength=0.4)
    _ring(canvas, colour, 0.6, 0.6, 0.28, 0.24, 0.075)
    foot = mirrored(np.array([[0.26, 0.0], [0.28, 0.03], [0.24, 0.1]]))
    canvas.fill(foot, colour, Shade(plain=-0.3, across=_ROUND))
    side = spline([(0.25, 0.08), (0.45, 0.19), (0.58, 0.4), (0.645, 0.66), (0.68, 0.9)], closed=False)
    rim = ellipse(0, 0.9, 0.68, 0.13, start=0, stop=180)
    bowl = np.concatenate([side, rim, side[::-1] * np.array([-1.0, 1.0])])
    canvas.fill(bowl, colour, Shade(across=_ROUND, down=((0, 0.1), (0.55, 0.04), (1, -0.4))))
    _opening(canvas, colour, 0.9, 0.68, 0.13)
    return Plate(0.0, 0.52, 0.78, 0.22)


def tumbler(canvas: Canvas, colour: RGB) -> Plate:
    """A tall cup with lid and straw."""
    canvas.shadow(ellipse(0.2, 0.03, 0.66, 0.12), blur=0.09, strength=0.34)
    canvas.shadow(ellipse(0.03, 0.02, 0.4, 0.07), blur=0.03, strength=0.5)
    canvas.line(np.array([[0.1, 1.45], [0.26, 2.02]]), 0.075, colour, plain=-0.35)
    canvas.line(np.array([[0.085, 1.45], [0.245, 2.02]]), 0.025, colour, plain=0.3)
    canvas.fill(
        _walls(0.5, 0.36, 1.4, 0.07, 0.1), colour, Shade(across=_ROUND, down=((0, 0.02), (0.8, 0), (1, -0.2)))
    )
    lid = np.concatenate(
        [ellipse(0, 1.36, 0.54, 0.09, start=180, stop=360), ellipse(0, 1.5, 0.52, 0.1, start=0, stop=180)]
    )
    canvas.shadow(ellipse(0.02, 1.33, 0.5, 0.07), blur=0.03, strength=0.3)
    canvas.fill(lid, colour, Shade(plain=-0.28, across=_ROUND))
    canvas.fill(
        ellipse(0, 1.5, 0.52, 0.1),
        colour,
        Shade(plain=-0.05, across=((0, 0.1), (1, -0.15)), rim=0.15, reach=0.04),
    )
    canvas.fill(ellipse(0.1, 1.51, 0.075, 0.022), colour, Shade(plain=-0.8))
    canvas.line(np.array([[0.105, 1.51], [0.26, 2.02]]), 0.075, colour, plain=-0.3)
    canvas.line(np.array([[0.09, 1.52], [0.245, 2.02]]), 0.025, colour, plain=0.35)
    return Plate(0.02, 0.72, 0.62, 0.22)


SHAPES = {"mug": Shape(mug, 0.42), "teacup": Shape(teacup, 0.42), "tumbler": Shape(tumbler, 0.275)}
