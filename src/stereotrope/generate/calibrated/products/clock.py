"""Clocks with hands: round, square, alarm, mantel. Dials have ticks; numerals would be text."""

from __future__ import annotations

import math

import numpy as np

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Shade, ink_on
from stereotrope.generate.calibrated.outlines import box, ellipse, rounded, spline
from stereotrope.generate.calibrated.products.product import STEEL, Plate, Shape

__all__ = ["SHAPES"]

_DIAL = Shade(down=((0, -0.1), (0.35, 0.05), (1, 0.02)))
_FRAME = Shade(plain=-0.22, bevel=1.0, rim=0.05, reach=0.1)


def _ticks(canvas: Canvas, colour: RGB, x: float, y: float, radius: float, *, square: bool = False) -> None:
    ink = ink_on(colour)
    for k in range(12):
        a = math.radians(30 * k)
        c, s = math.sin(a), math.cos(a)
        far = radius / max(abs(c), abs(s)) if square else radius
        long = 0.17 if k % 3 == 0 else 0.1
        ends = np.array(
            [[x + far * c, y + far * s], [x + (far - long * radius) * c, y + (far - long * radius) * s]]
        )
        canvas.line(ends, 0.055 if k % 3 == 0 else 0.03, ink)


def _hands(canvas: Canvas, colour: RGB, x: float, y: float, radius: float) -> None:
    ink = ink_on(colour)
    for degrees, length, width in ((305.0, 0.5, 0.07), (60.0, 0.74, 0.05)):
        a = math.radians(degrees)
        tip = np.array([math.sin(a), math.cos(a)]) * radius
        centre = np.array([x, y])
        if canvas.pose.mirror:
            tip = tip * np.array([-1.0, 1.0])
        canvas.line(np.array([centre - tip * 0.14, centre + tip * length]), width, ink)
    a = math.radians(246.0)
    tip = np.array([math.sin(a), math.cos(a)]) * radius
    canvas.line(np.array([np.array([x, y]) - tip * 0.2, np.array([x, y]) + tip * 0.66]), 0.018, (206, 44, 40))
    canvas.fill(ellipse(x, y, 0.06), ink)
    canvas.fill(ellipse(x, y, 0.026), (206, 44, 40))


def _glass(canvas: Canvas, x: float, y: float, radius: float) -> None:
    shine = np.concatenate(
        [ellipse(x, y, radius * 0.93, start=112, stop=168), ellipse(x, y, radius * 0.8, start=168, stop=112)]
    )
    canvas.fill(shine, (255, 255, 255), opacity=0.22)


def round_(canvas: Canvas, colour: RGB) -> Plate:
    """A round wall clock."""
    canvas.shadow(ellipse(0.1, -0.14, 0.98), blur=0.1, strength=0.42)
    canvas.fill(ellipse(0, 0, 1.0), colour, _FRAME)
    canvas.fill(ellipse(0, 0, 0.875), colour, Shade(plain=-0.5))
    canvas.fill(ellipse(0, -0.008, 0.862), colour, _DIAL)
    _ticks(canvas, colour, 0, 0, 0.8)
    _hands(canvas, colour, 0, 0, 0.82)
    _glass(canvas, 0, 0, 0.86)
    return Plate(0.0, -0.42, 0.66, 0.19)


def square(canvas: Canvas, colour: RGB) -> Plate:
    """A square wall clock."""
    canvas.shadow(box(-0.82, -1.02, 1.0, 0.76, 0.16), blur=0.1, strength=0.42)
    canvas.fill(box(-0.92, -0.92, 0.92, 0.92, 0.2), colour, _FRAME)
    canvas.fill(box(-0.795, -0.795, 0.795, 0.795, 0.1), colour, Shade(plain=-0.5))
    canvas.fill(box(-0.785, -0.79, 0.785, 0.78, 0.1), colour, _DIAL)
    _ticks(canvas, colour, 0, 0, 0.7, square=True)
    _hands(canvas, colour, 0, 0, 0.78)
    shine = np.array([[-0.78, 0.3], [-0.78, 0.02], [0.02, 0.78], [-0.26, 0.78]])
    canvas.fill(shine, (255, 255, 255), opacity=0.12)
    return Plate(0.0, -0.42, 0.66, 0.19)


def alarm(canvas: Canvas, colour: RGB) -> Plate:
    """A twin-bell alarm clock on feet."""
    canvas.shadow(ellipse(0.14, 0.02, 0.92, 0.12), blur=0.09, strength=0.4)
    centre = 0.86
    for side in (-1, 1):
        canvas.line(np.array([[side * 0.42, 0.3], [side * 0.6, 0.05]]), 0.13, colour, plain=-0.4)
        canvas.fill(ellipse(side * 0.61, 0.04, 0.085, 0.05), colour, Shade(plain=-0.45, bevel=0.4))
        canvas.line(np.array([[side * 0.34, 1.5], [side * 0.42, 1.62]]), 0.07, STEEL, plain=-0.3)
        tilt = -side * 32.0
        bell = ellipse(side * 0.47, 1.6, 0.34, 0.29, start=0, stop=180)
        angle = math.radians(tilt)
        pivot = np.array([side * 0.47, 1.6])
        turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
        canvas.fill((bell - pivot) @ turn + pivot, colour, Shade(plain=-0.08, bevel=1.0, rim=0.1, reach=0.12))
    canvas.line(np.array([[0.0, 1.6], [0.0, 1.82]]), 0.05, STEEL, plain=-0.2)
    canvas.fill(box(-0.09, 1.78, 0.09, 1.88, 0.04), STEEL, Shade(bevel=0.6, reach=0.04))
    handle = spline([(-0.44, 1.86), (-0.3, 2.04), (0.0, 2.11), (0.3, 2.04), (0.44, 1.86)], closed=False)
    canvas.line(handle, 0.06, STEEL, plain=-0.25)
    canvas.fill(ellipse(0, centre, 0.8), colour, _FRAME)
    canvas.fill(ellipse(0, centre, 0.68), colour, Shade(plain=-0.5))
    canvas.fill(ellipse(0, centre - 0.006, 0.67), colour, _DIAL)
    _ticks(canvas, colour, 0, centre, 0.62)
    _hands(canvas, colour, 0, centre, 0.64)
    _glass(canvas, 0, centre, 0.67)
    return Plate(0.0, centre - 0.33, 0.56, 0.17)


def mantel(canvas: Canvas, colour: RGB) -> Plate:
    """An arched clock on a plinth."""
    canvas.shadow(box(-0.9, -0.06, 1.16, 0.06, 0.05), blur=0.07, strength=0.45)
    side = spline([(0.78, 0.16), (0.76, 0.9), (0.64, 1.32), (0.37, 1.62), (0.0, 1.72)], closed=False)
    case = np.concatenate([side, side[::-1] * np.array([-1.0, 1.0])])
    canvas.fill(
        case,
        colour,
        Shade(down=((0, 0.1), (1, -0.1)), across=((0, -0.1), (0.2, 0.05), (1, -0.1)), bevel=0.8, reach=0.1),
    )
    canvas.fill(box(-0.94, 0.0, 0.94, 0.13, 0.03), colour, Shade(plain=-0.22, bevel=0.8, reach=0.05))
    canvas.fill(box(-0.86, 0.12, 0.86, 0.22, 0.04), colour, Shade(plain=-0.02, bevel=0.8, reach=0.05))
    y = 1.03
    canvas.fill(ellipse(0, y, 0.54), colour, Shade(plain=-0.42, bevel=0.8, reach=0.06))
    canvas.fill(ellipse(0, y, 0.485), colour, Shade(plain=0.1, down=((0, -0.12), (0.4, 0.03), (1, 0.03))))
    _ticks(canvas, colour, 0, y, 0.44)
    _hands(canvas, colour, 0, y, 0.46)
    _glass(canvas, 0, y, 0.48)
    canvas.fill(
        rounded([(-0.07, 1.66, 0), (0.07, 1.66, 0), (0.045, 1.8, 0.03), (-0.045, 1.8, 0.03)]),
        colour,
        Shade(plain=-0.2, bevel=0.6),
    )
    return Plate(0.0, 0.355, 0.8, 0.165)


SHAPES = {
    "round": Shape(round_, 0.315, hangs=True),
    "square": Shape(square, 0.315, hangs=True),
    "alarm": Shape(alarm, 0.285),
    "mantel": Shape(mantel, 0.32),
}
