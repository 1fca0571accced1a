"""Sofas: two_seater, chesterfield, corner."""

from __future__ import annotations

import numpy as np

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Shade
from stereotrope.generate.calibrated.outlines import box, ellipse, rounded, spline
from stereotrope.generate.calibrated.products.product import Plate, Shape

__all__ = ["SHAPES"]

_LEG: RGB = (92, 66, 46)
_CUSHION = Shade(down=((0, 0.12), (0.5, 0.0), (1, -0.16)), bevel=0.55, rim=0.14, reach=0.09)
_SEAT = Shade(down=((0, 0.26), (0.45, 0.1), (0.6, -0.06), (1, -0.2)), bevel=0.4, rim=0.1, reach=0.06)


def _legs(canvas: Canvas, *at: float) -> None:
    for x in at:
        lean = 0.03 if x > 0 else -0.03
        leg = rounded(
            [
                (x - 0.022 + lean, 0, 0.005),
                (x + 0.022 + lean, 0, 0.005),
                (x + 0.04, 0.13, 0),
                (x - 0.04, 0.13, 0),
            ]
        )
        canvas.fill(leg, _LEG, Shade(across=((0, 0.2), (1, -0.4))))


def _ground(canvas: Canvas, left: float, right: float) -> None:
    canvas.shadow(box(left + 0.02, -0.04, right + 0.1, 0.06, 0.03), blur=0.05, strength=0.5)


def _pillow(canvas: Canvas, colour: RGB, x: float, y: float, half: float) -> None:
    """A throw pillow in a lighter tone of the sofa's colour."""
    outline = spline(
        [
            (x - half, y - half),
            (x, y - half * 0.86),
            (x + half, y - half),
            (x + half * 0.9, y),
            (x + half, y + half),
            (x, y + half * 0.88),
            (x - half, y + half),
            (x - half * 0.9, y),
        ]
    )
    canvas.shadow(outline + np.array([0.03, -0.03]), blur=0.03, strength=0.3)
    canvas.fill(outline, colour, Shade(plain=0.14, bevel=0.6, rim=0.1, reach=0.08))


def two_seater(canvas: Canvas, colour: RGB) -> Plate:
    """A soft sofa with two seats."""
    _ground(canvas, -0.98, 0.98)
    _legs(canvas, -0.82, 0.82)
    canvas.fill(
        box(-0.86, 0.2, 0.86, 0.9, (0, 0, 0.14, 0.14)), colour, Shade(plain=-0.22, bevel=0.6, reach=0.08)
    )
    for x0, x1 in ((-0.72, -0.005), (0.005, 0.72)):
        canvas.fill(box(x0, 0.42, x1, 0.86, (0.05, 0.05, 0.13, 0.13)), colour, _CUSHION)
    canvas.fill(
        box(-0.88, 0.1, 0.88, 0.28, 0.04), colour, Shade(plain=-0.2, down=((0, -0.25), (0.5, 0), (1, -0.1)))
    )
    for x0, x1 in ((-0.74, -0.004), (0.004, 0.74)):
        canvas.fill(box(x0, 0.25, x1, 0.46, (0.06, 0.06, 0.07, 0.07)), colour, _SEAT)
    for x0, x1 in ((-1.0, -0.72), (0.72, 1.0)):
        arm = box(x0, 0.09, x1, 0.64, (0.04, 0.04, 0.13, 0.13))
        canvas.fill(
            arm,
            colour,
            Shade(plain=-0.02, down=((0, 0.2), (0.3, 0.02), (1, -0.18)), bevel=0.7, rim=0.1, reach=0.09),
        )
    return Plate(0.36, 0.66, 0.52, 0.16)


def chesterfield(canvas: Canvas, colour: RGB) -> Plate:
    """A tufted sofa with rolled arms."""
    _ground(canvas, -1.0, 1.0)
    for x in (-0.84, -0.3, 0.3, 0.84):
        canvas.fill(ellipse(x, 0.05, 0.05, 0.055), _LEG, Shade(bevel=0.8, reach=0.05))
    back = spline(
        [(-0.92, 0.2), (-0.95, 0.8), (-0.8, 0.89), (0.0, 0.89), (0.8, 0.89), (0.95, 0.8), (0.92, 0.2)]
    )
    canvas.fill(
        back,
        colour,
        Shade(down=((0, 0.18), (0.14, 0.02), (0.2, -0.12), (0.4, 0.0), (1, -0.3)), bevel=0.4, reach=0.06),
    )
    roll = box(-0.95, 0.79, 0.95, 0.93, 0.07)
    canvas.fill(roll, colour, Shade(down=((0, 0.0), (0.3, 0.3), (0.6, 0.0), (1, -0.4))))
    for row, (y, n) in enumerate(((0.7, 6), (0.58, 7), (0.46, 6))):
        xs = np.linspace(-0.6, 0.6, 6) if n == 6 else np.linspace(-0.72, 0.72, 7)
        for x in xs:
            if row < 2:
                for dx in (-0.12, 0.12):
                    if abs(x + dx) <= 0.73:
                        canvas.line(np.array([[x, y], [x + dx, y - 0.12]]), 0.012, colour, plain=-0.3)
            canvas.fill(ellipse(x, y - 0.008, 0.03), colour, Shade(plain=-0.35))
            canvas.fill(ellipse(x, y, 0.021), colour, Shade(plain=0.05, bevel=0.9, reach=0.02))
    canvas.fill(
        box(-0.84, 0.08, 0.84, 0.28, 0.03),
        colour,
        Shade(plain=-0.14, down=((0, -0.25), (0.4, 0.0), (1, -0.15))),
    )
    for x0, x1 in ((-0.74, -0.25), (-0.245, 0.245), (0.25, 0.74)):
        canvas.fill(box(x0, 0.25, x1, 0.43, (0.05, 0.05, 0.05, 0.05)), colour, _SEAT)
    for side in (-1, 1):
        panel = box(min(side * 0.74, side * 0.98), 0.08, max(side * 0.74, side * 0.98), 0.66, 0.03)
        canvas.fill(
            panel,
            colour,
            Shade(down=((0, -0.3), (0.3, -0.05), (1, -0.2)), across=((0, 0.05), (1, -0.1)), rim=0.1),
        )
        canvas.fill(
            ellipse(side * 0.86, 0.66, 0.155), colour, Shade(plain=0.05, bevel=0.8, rim=0.12, reach=0.08)
        )
        canvas.fill(ellipse(side * 0.86, 0.66, 0.09), colour, Shade(plain=-0.12, bevel=-0.5, reach=0.05))
        canvas.fill(ellipse(side * 0.86, 0.66, 0.028), colour, Shade(plain=0.1, bevel=0.9, reach=0.02))
    return Plate(0.0, 0.17, 0.8, 0.125)


def corner(canvas: Canvas, colour: RGB) -> Plate:
    """A sofa with a chaise that comes forward on one side."""
    _ground(canvas, -1.0, 1.0)
    _legs(canvas, -0.9, 0.86)
    canvas.fill(
        box(-0.98, 0.2, 0.9, 0.84, (0, 0, 0.1, 0.1)), colour, Shade(plain=-0.22, bevel=0.6, reach=0.08)
    )
    for x0, x1 in ((-0.88, -0.3), (-0.295, 0.21), (0.215, 0.72)):
        canvas.fill(box(x0, 0.42, x1, 0.8, (0.05, 0.05, 0.1, 0.1)), colour, _CUSHION)
    canvas.fill(
        box(-0.98, 0.1, 0.9, 0.28, 0.03), colour, Shade(plain=-0.2, down=((0, -0.25), (0.5, 0), (1, -0.1)))
    )
    for x0, x1 in ((-0.3, 0.21), (0.215, 0.74)):
        canvas.fill(box(x0, 0.25, x1, 0.45, (0.05, 0.05, 0.06, 0.06)), colour, _SEAT)
    arm = box(0.72, 0.09, 0.98, 0.6, (0.04, 0.04, 0.11, 0.11))
    canvas.fill(
        arm,
        colour,
        Shade(plain=-0.02, down=((0, 0.2), (0.3, 0.02), (1, -0.18)), bevel=0.7, rim=0.1, reach=0.09),
    )
    # The chaise comes forward: its seat is seen from above, its front stands lower in the picture.
    canvas.shadow(box(-1.0, -0.17, -0.2, -0.08, 0.03), blur=0.05, strength=0.5)
    for x in (-0.95, -0.33):
        leg = rounded(
            [(x - 0.025, -0.14, 0.005), (x + 0.025, -0.14, 0.005), (x + 0.035, 0.0, 0), (x - 0.035, 0.0, 0)]
        )
        canvas.fill(leg, _LEG, Shade(across=((0, 0.2), (1, -0.4))))
    front = box(-1.03, -0.06, -0.26, 0.3, 0.05)
    canvas.fill(front, colour, Shade(plain=-0.18, down=((0, 0), (1, -0.12)), bevel=0.3, rim=0.08))
    top = rounded([(-1.04, 0.1, 0.06), (-0.25, 0.1, 0.06), (-0.28, 0.45, 0.05), (-0.98, 0.45, 0.05)])
    canvas.fill(
        top,
        colour,
        Shade(down=((0, 0.02), (0.55, 0.16), (0.8, 0.1), (1, -0.1)), bevel=0.4, rim=0.12, reach=0.06),
    )
    _pillow(canvas, colour, -0.7, 0.55, 0.17)
    return Plate(0.46, 0.62, 0.42, 0.14)


SHAPES = {
    "two_seater": Shape(two_seater, 0.42),
    "chesterfield": Shape(chesterfield, 0.415),
    "corner": Shape(corner, 0.42),
}
