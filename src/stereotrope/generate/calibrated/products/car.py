"""Cars from the side: sedan, hatchback, suv."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Shade
from stereotrope.generate.calibrated.outlines import Outline, box, ellipse, rounded, spline
from stereotrope.generate.calibrated.products.product import GLASS, RUBBER, STEEL, Plate, Shape

__all__ = ["SHAPES"]

Corners = Sequence[tuple[float, float, float]]


def _wheel(canvas: Canvas, x: float, radius: float) -> None:
    y = radius + 0.01
    canvas.fill(ellipse(x, y + 0.015, radius * 1.17), (22, 22, 25))
    canvas.fill(ellipse(x, y, radius), RUBBER, Shade(bevel=0.5, reach=0.04))
    canvas.fill(ellipse(x, y, radius * 0.68), STEEL, Shade(down=((0, 0.3), (1, -0.3)), rim=0.4, reach=0.04))
    for k in range(5):
        a = np.radians(90 + 72 * k)
        b = np.radians(90 + 72 * k + 36)
        hole = ellipse(x + radius * 0.43 * np.cos(b), y + radius * 0.43 * np.sin(b), radius * 0.155)
        canvas.fill(hole, (58, 60, 66), Shade(down=((0, -0.3), (1, 0.1))))
        tip = np.array([[x, y], [x + radius * 0.6 * np.cos(a), y + radius * 0.6 * np.sin(a)]])
        canvas.line(tip, 0.022, STEEL, plain=0.25)
    canvas.fill(ellipse(x, y, radius * 0.15), STEEL, Shade(bevel=0.8, reach=0.02))


def _pane(canvas: Canvas, corners: Corners) -> None:
    pane = rounded(corners)
    canvas.fill(pane, GLASS, Shade(down=((0, -0.55), (1, -0.12)), rim=0.15, reach=0.03))
    low, high = pane.min(axis=0), pane.max(axis=0)
    width = high[0] - low[0]
    x = low[0] + 0.3 * width
    glare = np.array([[x, low[1]], [x + 0.1, low[1]], [x + 0.24, high[1]], [x + 0.14, high[1]]])
    canvas.fill(glare, (255, 255, 255), within=pane, opacity=0.22)


def _body(canvas: Canvas, colour: RGB, outline: Outline, belt: float) -> None:
    canvas.shadow(
        rounded([(-0.98, -0.03, 0.02), (1.06, -0.03, 0.02), (1.0, 0.06, 0), (-0.92, 0.06, 0)]),
        blur=0.05,
        strength=0.6,
    )
    low, high = outline.min(axis=0), outline.max(axis=0)
    canvas.fill(box(low[0] + 0.14, 0.07, high[0] - 0.14, 0.24, 0.03), (24, 24, 27))
    top = float(outline[:, 1].max())
    at = (top - belt) / (top - 0.12)
    shade = Shade(
        down=((0, 0.2), (at * 0.8, 0.03), (at, 0.12), (at + 0.14, 0.0), (0.86, -0.02), (1, -0.24)),
        bevel=0.25,
        rim=0.04,
        reach=0.04,
    )
    canvas.fill(outline, colour, shade)


def _details(
    canvas: Canvas,
    colour: RGB,
    *,
    belt: float,
    doors: Sequence[float],
    nose: Sequence[float],
    tail: Sequence[float],
) -> None:
    """Crease, door gaps, handles and lamps; ``nose`` and ``tail`` are (x, y) of the lamps' outer ends."""
    (front, lamp), (back, rear) = nose, tail
    crease = spline(
        [(back + 0.08, belt - 0.06), (-0.2, belt - 0.05), (0.4, belt - 0.06), (front - 0.13, lamp + 0.06)],
        closed=False,
    )
    canvas.line(crease, 0.012, colour, plain=-0.32)
    canvas.line(crease + np.array([0, 0.012]), 0.01, colour, plain=0.45)
    for x in doors:
        gap = spline([(x, belt), (x + 0.005, 0.3), (x - 0.01, 0.17)], closed=False)
        canvas.line(gap, 0.008, colour, plain=-0.6)
    for x in doors[:-1]:
        handle = box(x + 0.04, belt - 0.115, x + 0.13, belt - 0.088, 0.012)
        canvas.fill(handle, colour, Shade(plain=-0.35, bevel=0.6, reach=0.012))
    canvas.line(np.array([[doors[0] + 0.1, 0.165], [doors[-1], 0.165]]), 0.014, colour, plain=-0.5)
    glass = [(-0.14, 0.0, 0.01), (0.0, -0.03, 0.02), (-0.02, 0.035, 0.02), (-0.13, 0.055, 0.02)]
    lens = rounded([(front + x, lamp + y, r) for x, y, r in glass])
    canvas.fill(lens, (236, 240, 244), Shade(down=((0, 0.2), (1, -0.3)), rim=0.3, reach=0.02))
    red = box(back, rear - 0.04, back + 0.075, rear + 0.045, 0.02)
    canvas.fill(red, (176, 24, 30), Shade(down=((0, 0.35), (1, -0.2))))
    canvas.fill(box(front - 0.09, 0.2, front + 0.005, 0.235, 0.01), (40, 42, 46))


def _mirror(canvas: Canvas, colour: RGB, x: float, y: float) -> None:
    canvas.fill(
        rounded(
            [
                (x, y, 0.01),
                (x + 0.09, y + 0.005, 0.02),
                (x + 0.075, y + 0.06, 0.02),
                (x + 0.005, y + 0.055, 0.02),
            ]
        ),
        colour,
        Shade(plain=-0.1, bevel=0.6, reach=0.02),
    )


def sedan(canvas: Canvas, colour: RGB) -> Plate:
    """A three-box car with a boot."""
    body = rounded(
        [
            (-0.96, 0.14, 0.04),
            (-1.0, 0.3, 0.06),
            (-0.985, 0.475, 0.06),
            (-0.68, 0.505, 0.14),
            (-0.4, 0.715, 0.2),
            (0.14, 0.725, 0.24),
            (0.47, 0.485, 0.2),
            (0.88, 0.425, 0.14),
            (0.995, 0.33, 0.09),
            (0.985, 0.14, 0.05),
        ]
    )
    _body(canvas, colour, body, 0.48)
    _pane(canvas, [(-0.61, 0.495, 0.03), (-0.15, 0.495, 0.02), (-0.15, 0.665, 0.02), (-0.37, 0.66, 0.1)])
    _pane(canvas, [(-0.115, 0.495, 0.02), (0.36, 0.485, 0.03), (0.13, 0.665, 0.12), (-0.115, 0.665, 0.02)])
    _details(
        canvas, colour, belt=0.475, doors=(-0.52, -0.133, 0.345), nose=(0.975, 0.345), tail=(-0.985, 0.41)
    )
    _mirror(canvas, colour, 0.27, 0.485)
    for x in (-0.6, 0.62):
        _wheel(canvas, x, 0.17)
    return Plate(-0.02, 0.295, 0.62, 0.15)


def hatchback(canvas: Canvas, colour: RGB) -> Plate:
    """A short two-box car with a steep tail."""
    body = rounded(
        [
            (-0.86, 0.14, 0.04),
            (-0.9, 0.32, 0.06),
            (-0.88, 0.52, 0.06),
            (-0.7, 0.8, 0.14),
            (0.1, 0.82, 0.3),
            (0.5, 0.53, 0.24),
            (0.82, 0.46, 0.14),
            (0.925, 0.34, 0.1),
            (0.915, 0.14, 0.05),
        ]
    )
    _body(canvas, colour, body, 0.52)
    _pane(canvas, [(-0.76, 0.55, 0.04), (-0.53, 0.545, 0.02), (-0.53, 0.74, 0.02), (-0.655, 0.735, 0.06)])
    _pane(canvas, [(-0.49, 0.545, 0.02), (-0.1, 0.54, 0.02), (-0.1, 0.755, 0.02), (-0.49, 0.745, 0.02)])
    _pane(canvas, [(-0.06, 0.54, 0.02), (0.39, 0.53, 0.03), (0.09, 0.755, 0.14), (-0.06, 0.755, 0.02)])
    _details(canvas, colour, belt=0.52, doors=(-0.51, -0.08, 0.37), nose=(0.905, 0.36), tail=(-0.885, 0.46))
    _mirror(canvas, colour, 0.29, 0.53)
    for x in (-0.56, 0.57):
        _wheel(canvas, x, 0.175)
    return Plate(0.0, 0.315, 0.58, 0.16)


def suv(canvas: Canvas, colour: RGB) -> Plate:
    """A tall car with a roof rack."""
    body = rounded(
        [
            (-0.93, 0.17, 0.04),
            (-0.96, 0.36, 0.05),
            (-0.945, 0.58, 0.05),
            (-0.86, 0.88, 0.1),
            (0.16, 0.895, 0.16),
            (0.4, 0.61, 0.12),
            (0.86, 0.565, 0.12),
            (0.965, 0.46, 0.08),
            (0.96, 0.17, 0.05),
        ]
    )
    _body(canvas, colour, body, 0.6)
    canvas.line(np.array([[-0.72, 0.925], [0.04, 0.93]]), 0.022, (70, 72, 78))
    for x in (-0.66, -0.02):
        canvas.line(np.array([[x, 0.885], [x, 0.925]]), 0.02, (70, 72, 78))
    _pane(canvas, [(-0.83, 0.62, 0.03), (-0.5, 0.615, 0.02), (-0.5, 0.825, 0.02), (-0.77, 0.82, 0.05)])
    _pane(canvas, [(-0.46, 0.615, 0.02), (-0.1, 0.61, 0.02), (-0.1, 0.83, 0.02), (-0.46, 0.83, 0.02)])
    _pane(canvas, [(-0.06, 0.61, 0.02), (0.33, 0.605, 0.03), (0.14, 0.83, 0.07), (-0.06, 0.83, 0.02)])
    _details(canvas, colour, belt=0.595, doors=(-0.48, -0.08, 0.34), nose=(0.95, 0.465), tail=(-0.945, 0.51))
    canvas.fill(box(-0.42, 0.17, 0.42, 0.225, 0.02), (52, 54, 58))
    _mirror(canvas, colour, 0.25, 0.61)
    for x in (-0.58, 0.6):
        _wheel(canvas, x, 0.195)
    return Plate(0.0, 0.37, 0.58, 0.17)


SHAPES = {"sedan": Shape(sedan, 0.43), "hatchback": Shape(hatchback, 0.45), "suv": Shape(suv, 0.43)}
