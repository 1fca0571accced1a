"""What the shapes in shapes.json are made of beside outlines: shades, colours and parts, by their names."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

import numpy as np

from stereotrope.generate.calibrated.canvas import RGB, Canvas, Shade, Stops, ink_on, luminance
from stereotrope.generate.calibrated.outlines import (
    Outline,
    band,
    box,
    curve,
    ellipse,
    moved,
    points,
    polygon,
    spline,
)

_FILE = json.loads(resources.files(__package__).joinpath("shapes.json").read_text(encoding="utf-8"))
PRODUCT_STEPS: Mapping[str, Mapping[str, Mapping[str, Any]]] = _FILE["products"]
"""Object → shape name → its facts, the steps of its drawing among them."""
COLOURS: Mapping[str, RGB] = {
    name: (red, green, blue) for name, (red, green, blue) in _FILE["colours"].items()
}
"""Colours of what is not in the product's colour."""
ROUND: Stops = _FILE["round"]
"""Light across an upright cylinder lit from the left."""
SHADES: Mapping[str, Shade] = {name: Shade(**fields) for name, fields in _FILE["shades"].items()}

_STEEL, _WHITE = COLOURS["steel"], COLOURS["white"]
_NOSE: RGB = (38, 30, 30)
_RED: RGB = (206, 44, 40)


def _ring(canvas: Canvas, x: float, y: float, rx: float, ry: float, thick: float) -> None:
    hole = ellipse(x, y, rx - thick, ry - thick)
    canvas.fill(ellipse(x, y, rx, ry), Shade(plain=-0.08, bevel=0.9, rim=0.1, reach=thick), holes=[hole])


def _wheel(canvas: Canvas, x: float, radius: float) -> None:
    y = radius + 0.01
    canvas.fill(ellipse(x, y + 0.015, radius * 1.17), colour=(22, 22, 25))
    canvas.fill(ellipse(x, y, radius), Shade(bevel=0.5, reach=0.04), (44, 45, 50))
    canvas.fill(ellipse(x, y, radius * 0.68), Shade(down=((0, 0.3), (1, -0.3)), rim=0.4, reach=0.04), _STEEL)
    for k in range(5):
        a, b = np.radians(90 + 72 * k), np.radians(90 + 72 * k + 36)
        hole = ellipse(x + radius * 0.43 * np.cos(b), y + radius * 0.43 * np.sin(b), radius * 0.155)
        canvas.fill(hole, Shade(down=((0, -0.3), (1, 0.1))), (58, 60, 66))
        tip = points((x, y), (x + radius * 0.6 * np.cos(a), y + radius * 0.6 * np.sin(a)))
        canvas.line(tip, 0.022, _STEEL, plain=0.25)
    canvas.fill(ellipse(x, y, radius * 0.15), Shade(bevel=0.8, reach=0.02), _STEEL)


def _pane(canvas: Canvas, *corners: tuple[float, float, float]) -> None:
    pane = polygon(*corners)
    canvas.fill(pane, Shade(down=((0, -0.55), (1, -0.12)), rim=0.15, reach=0.03), (118, 138, 156))
    low, high = pane.min(axis=0), pane.max(axis=0)
    x = low[0] + 0.3 * (high[0] - low[0])
    glare = points((x, low[1]), (x + 0.1, low[1]), (x + 0.24, high[1]), (x + 0.14, high[1]))
    canvas.fill(glare, colour=_WHITE, within=pane, opacity=0.22)


def _body(canvas: Canvas, outline: Outline, belt: float) -> None:
    ground = polygon((-0.98, -0.03, 0.02), (1.06, -0.03, 0.02), (1.0, 0.06, 0), (-0.92, 0.06, 0))
    canvas.shadow(ground, blur=0.05, strength=0.6)
    low, high = outline.min(axis=0), outline.max(axis=0)
    canvas.fill(box(low[0] + 0.14, 0.07, high[0] - 0.14, 0.24, 0.03), colour=(24, 24, 27))
    top = float(high[1])
    at = (top - belt) / (top - 0.12)
    down = ((0, 0.2), (at * 0.8, 0.03), (at, 0.12), (at + 0.14, 0.0), (0.86, -0.02), (1, -0.24))
    canvas.fill(outline, Shade(down=down, bevel=0.25, rim=0.04, reach=0.04))


def _details(
    canvas: Canvas, belt: float, doors: Sequence[float], nose: Sequence[float], tail: Sequence[float]
) -> None:
    """Crease, door gaps, handles and lamps; ``nose`` and ``tail`` are (x, y) of the lamps' outer ends."""
    (front, lamp), (back, rear) = nose, tail
    ends = (back + 0.08, belt - 0.06), (front - 0.13, lamp + 0.06)
    crease = curve(ends[0], (-0.2, belt - 0.05), (0.4, belt - 0.06), ends[1])
    canvas.line(crease, 0.012, plain=-0.32)
    canvas.line(moved(crease, 0, 0.012), 0.01, plain=0.45)
    for x in doors:
        canvas.line(curve((x, belt), (x + 0.005, 0.3), (x - 0.01, 0.17)), 0.008, plain=-0.6)
    for x in doors[:-1]:
        handle = box(x + 0.04, belt - 0.115, x + 0.13, belt - 0.088, 0.012)
        canvas.fill(handle, Shade(plain=-0.35, bevel=0.6, reach=0.012))
    canvas.line(points((doors[0] + 0.1, 0.165), (doors[-1], 0.165)), 0.014, plain=-0.5)
    glass = ((-0.14, 0.0, 0.01), (0.0, -0.03, 0.02), (-0.02, 0.035, 0.02), (-0.13, 0.055, 0.02))
    lens = polygon(*((front + x, lamp + y, r) for x, y, r in glass))
    canvas.fill(lens, Shade(down=((0, 0.2), (1, -0.3)), rim=0.3, reach=0.02), (236, 240, 244))
    red = box(back, rear - 0.04, back + 0.075, rear + 0.045, 0.02)
    canvas.fill(red, Shade(down=((0, 0.35), (1, -0.2))), (176, 24, 30))
    canvas.fill(box(front - 0.09, 0.2, front + 0.005, 0.235, 0.01), colour=(40, 42, 46))


def _ticks(canvas: Canvas, x: float, y: float, radius: float, square: bool = False) -> None:
    """Ticks of a dial; numerals would be text."""
    for k in range(12):
        a = math.radians(30 * k)
        c, s = math.sin(a), math.cos(a)
        far = radius / max(abs(c), abs(s)) if square else radius
        near = far - (0.17 if k % 3 == 0 else 0.1) * radius
        ends = points((x + far * c, y + far * s), (x + near * c, y + near * s))
        canvas.line(ends, 0.055 if k % 3 == 0 else 0.03, ink_on(canvas.colour))


def _hands(canvas: Canvas, x: float, y: float, radius: float) -> None:
    ink, centre = ink_on(canvas.colour), np.array([x, y])
    flip = np.array([-1.0 if canvas.pose.mirror else 1.0, 1.0])
    for degrees, length, width in ((305.0, 0.5, 0.07), (60.0, 0.74, 0.05)):
        a = math.radians(degrees)
        tip = np.array([math.sin(a), math.cos(a)]) * radius * flip
        canvas.line(np.array([centre - tip * 0.14, centre + tip * length]), width, ink)
    a = math.radians(246.0)
    tip = np.array([math.sin(a), math.cos(a)]) * radius
    canvas.line(np.array([centre - tip * 0.2, centre + tip * 0.66]), 0.018, _RED)
    canvas.fill(ellipse(x, y, 0.06), colour=ink)
    canvas.fill(ellipse(x, y, 0.026), colour=_RED)


def _straps(canvas: Canvas, top: float, half: float) -> None:
    """Handle loop on top and shoulder straps that show at the sides."""
    canvas.shadow(box(-0.62, -0.05, 0.84, 0.06, 0.05), blur=0.07, strength=0.45)
    rise = ((-0.15, -0.05), (-0.13, 0.13), (0.0, 0.18), (0.13, 0.13), (0.15, -0.05))
    loop = curve(*((x, top + y) for x, y in rise))
    canvas.fill(band(loop, 0.075), Shade(plain=-0.4, bevel=0.6, reach=0.04))
    for side in (-1, 1):
        low = (side * (half + 0.17), 0.75), (side * (half - 0.06), 0.2)
        strap = curve((side * 0.3, top - 0.1), (side * (half + 0.1), top - 0.42), *low)
        canvas.fill(band(strap, 0.15), Shade(plain=-0.45, bevel=0.5, reach=0.06))


def _zip(canvas: Canvas, track: Outline) -> None:
    canvas.line(track, 0.04, plain=-0.75)
    canvas.line(track, 0.013, _STEEL, plain=-0.1)
    x, y = track[-1]
    canvas.line(points((x, y), (x + 0.015, y - 0.11)), 0.03, _STEEL, plain=0.1)


def _screen(canvas: Canvas, lid: Outline, screen: Outline, bezel: float) -> None:
    """An open lid whose screen shows soft hills in tones of the case's colour."""
    canvas.fill(lid, Shade(down=((0, 0.05), (1, -0.05)), bevel=0.5, rim=0.08, reach=0.04))
    canvas.fill(screen, Shade(plain=bezel))
    (left, bottom), (right, top) = screen.min(axis=0) + 0.025, screen.max(axis=0) - 0.025
    glass = box(left, bottom, right, top, 0.01)
    canvas.fill(glass, Shade(down=((0, 0.12), (1, 0.02)), across=((0, 0.0), (1, 0.1))))
    (left, bottom), (right, top) = glass.min(axis=0), glass.max(axis=0)
    width, height = right - left, top - bottom
    for k, (x, rise, tone) in enumerate(((0.75, 0.62, -0.14), (0.2, 0.5, -0.24), (0.8, 0.3, -0.34))):
        hill = ellipse(left + x * width, bottom, width * (0.72 - 0.06 * k), height * rise)
        canvas.fill(hill, Shade(plain=tone, down=((0, 0.08), (1, 0.0))), within=glass)
    canvas.fill(ellipse(left + 0.26 * width, bottom + 0.74 * height, height * 0.09), Shade(plain=0.55))
    x = left + 0.52 * width
    glare = (x, top), (x + 0.24 * width, top), (x + 0.04 * width, bottom), (x - 0.2 * width, bottom)
    canvas.fill(points(*glare), colour=_WHITE, within=glass, opacity=0.07)


def _keyboard(canvas: Canvas, back: float, front: float, half: float, flare: float) -> None:
    """The lower half seen from above: keys in rows, wider towards the viewer."""
    far, depth = half + flare, back - front
    deck = polygon((-far, front, 0.05), (far, front, 0.05), (half, back, 0.02), (-half, back, 0.02))
    low, high = front - 0.055, front + 0.03
    edge = polygon((-far, low, 0.05), (far, low, 0.05), (far, high, 0.03), (-far, high, 0.03))
    canvas.fill(edge, Shade(plain=-0.4))
    canvas.fill(deck, Shade(down=((0, -0.16), (1, 0.12)), rim=0.1, reach=0.03))
    ink = Shade(plain=-0.62 if luminance(canvas.colour) > 0.03 else 0.28)
    for row in range(4):
        y1 = back - depth * (0.1 + 0.135 * row)
        y0 = y1 - depth * 0.1
        reach = half + flare * (back - (y0 + y1) / 2) / depth - 0.11
        for k in range(12):
            if row < 3 or k not in range(3, 9):
                x0 = -reach + 2 * reach * k / 12
                canvas.fill(box(x0 + 0.008, y0, x0 + 2 * reach / 12 - 0.008, y1, 0.008), ink)
    canvas.fill(box(-reach / 2 + 0.008, y0, reach / 2 - 0.008, y1, 0.008), ink)
    low, high = front + depth * 0.06, front + depth * 0.36
    pad = polygon((-0.24, low, 0.02), (0.24, low, 0.02), (0.22, high, 0.02), (-0.22, high, 0.02))
    canvas.fill(pad, Shade(plain=-0.16, rim=0.3, reach=0.02))


def _fur(canvas: Canvas, outline: Outline) -> None:
    """The outline with a short pile: small regular tufts along its edge."""
    closed = np.concatenate([outline, outline[:1]])
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(closed, axis=0).T))])
    n = max(24, 2 * round(length[-1] / 0.035))
    at = np.linspace(0.0, length[-1], n, endpoint=False)
    edge = np.stack([np.interp(at, length, closed[:, k]) for k in (0, 1)], axis=1)
    away = edge - edge.mean(axis=0)
    away /= np.maximum(np.hypot(away[:, 0], away[:, 1]), 1e-9)[:, None]
    canvas.fill(edge + away * (0.006 * np.where(np.arange(n) % 2 == 0, 1.0, -0.4))[:, None], SHADES["fur"])


def _head(canvas: Canvas, x: float, y: float, size: float) -> None:
    for side in (-1, 1):
        _fur(canvas, ellipse(x + side * 0.4 * size, y + 0.36 * size, 0.19 * size))
        canvas.fill(ellipse(x + side * 0.395 * size, y + 0.345 * size, 0.1 * size), SHADES["pad"])
    _fur(canvas, ellipse(x, y, 0.53 * size, 0.475 * size))
    muzzle = ellipse(x, y - 0.13 * size, 0.225 * size, 0.18 * size)
    canvas.fill(muzzle, Shade(plain=0.38, bevel=0.5, rim=0.08, reach=0.08))
    eye = _NOSE if luminance(canvas.colour) > 0.02 else (232, 226, 220)
    for side in (-1, 1):
        at = (x + side * 0.19 * size, y + 0.07 * size)
        canvas.fill(ellipse(*at, 0.052 * size, 0.058 * size), colour=eye)
        canvas.fill(ellipse(at[0] - 0.015 * size, at[1] + 0.022 * size, 0.016 * size), colour=_WHITE)
    ends = ((-0.085, -0.045), (0, -0.03), (0.085, -0.045), (0, -0.125))
    nose = spline([(x + u * size, y + v * size) for u, v in ends])
    canvas.fill(nose, Shade(down=((0, 0.3), (1, 0))), _NOSE)
    mouth = ((-0.1, -0.17), (0, -0.215), (0.1, -0.17))
    canvas.line(points((x, y - 0.11 * size), (x, y - 0.213 * size)), 0.016 * size, _NOSE)
    canvas.line(curve(*((x + u * size, y + v * size) for u, v in mouth)), 0.016 * size, _NOSE)


def _sole(canvas: Canvas, x: float, y: float, size: float) -> None:
    _fur(canvas, ellipse(x, y, 0.25 * size, 0.28 * size))
    canvas.fill(ellipse(x, y - 0.03 * size, 0.135 * size, 0.13 * size), SHADES["pad"])
    for dx, dy in ((-0.12, 0.13), (0.0, 0.18), (0.12, 0.13)):
        canvas.fill(ellipse(x + dx * size, y + dy * size, 0.042 * size), SHADES["pad"])


def _bread(canvas: Canvas, x: float, y: float, half: float) -> None:
    crumb = Shade(down=((0, 0.05), (0.5, -0.1), (1, -0.4)), rim=0.2, reach=0.08)
    crust = Shade(bevel=0.5, reach=0.05)
    for grow, shade, colour in ((0.03, crust, (164, 104, 52)), (-0.02, crumb, (226, 182, 116))):
        w = half + grow
        right = [(0.86, -0.5), (0.88, -0.02), (1.0, 0.1), (0.8, 0.24 + grow)]
        left = [(x - w * u, y + v) for u, v in right] + [(x, y + 0.29 + grow)]
        canvas.fill(spline(left + [(x + w * u, y + v) for u, v in right[::-1]]), shade, colour)


def _tufts(canvas: Canvas) -> None:
    """Buttons in rows, and the folds between them."""
    for row, (y, n) in enumerate(((0.7, 6), (0.58, 7), (0.46, 6))):
        for x in np.linspace(-0.6, 0.6, 6) if n == 6 else np.linspace(-0.72, 0.72, 7):
            for dx in (-0.12, 0.12):
                if row < 2 and abs(x + dx) <= 0.73:
                    canvas.line(points((x, y), (x + dx, y - 0.12)), 0.012, plain=-0.3)
            canvas.fill(ellipse(x, y - 0.008, 0.03), Shade(plain=-0.35))
            canvas.fill(ellipse(x, y, 0.021), Shade(plain=0.05, bevel=0.9, reach=0.02))


_ALL = (
    _ring, _wheel, _pane, _body, _details, _ticks, _hands, _straps, _zip, _screen, _keyboard, _fur, _head,
    _sole, _bread, _tufts,
)  # fmt: skip
PARTS: Mapping[str, Callable[..., None]] = {part.__name__[1:]: part for part in _ALL}
"""Name → what paints it, given the canvas and the values of shapes.json."""
