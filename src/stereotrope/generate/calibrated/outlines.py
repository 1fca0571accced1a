"""Outlines: closed curves as arrays of points, shape (n, 2), x to the right and y upwards."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Outline = NDArray[np.float64]


def ellipse(
    x: float, y: float, rx: float, ry: float | None = None, start: float = 0.0, stop: float = 360.0
) -> Outline:
    """An ellipse, or the arc of it from ``start`` to ``stop`` degrees, anticlockwise from the right."""
    n = max(8, int(abs(stop - start) / 5.0) + 1)
    angle = np.radians(np.linspace(start, stop, n))
    return np.stack([x + rx * np.cos(angle), y + (rx if ry is None else ry) * np.sin(angle)], axis=1)


def box(x0: float, y0: float, x1: float, y1: float, radius: float | Sequence[float] = 0.0) -> Outline:
    """A rectangle; ``radius`` rounds all corners or (bottom left, bottom right, top right, top left)."""
    radii = (radius,) * 4 if isinstance(radius, (int, float)) else tuple(radius)
    corners = ((x0, y0), (x1, y0), (x1, y1), (x0, y1))
    return polygon(*((x, y, r) for (x, y), r in zip(corners, radii, strict=True)))


def polygon(*corners: tuple[float, float, float]) -> Outline:
    """A polygon with rounded corners (x, y, radius); a radius ends half-way to a neighbour at the latest."""
    points = np.array([(x, y) for x, y, _ in corners], dtype=np.float64)
    n = len(points)
    out: list[Outline] = []
    t = np.linspace(0.0, 1.0, 9)[:, None]
    for i, (_, _, radius) in enumerate(corners):
        here, before, after = points[i], points[i - 1], points[(i + 1) % n]
        if radius <= 0:
            out.append(here[None, :])
            continue
        start, end = _towards(here, before, radius), _towards(here, after, radius)
        out.append((1 - t) ** 2 * start + 2 * t * (1 - t) * here + t**2 * end)
    return np.concatenate(out)


def _towards(here: Outline, there: Outline, distance: float) -> Outline:
    gap = there - here
    length = float(np.hypot(*gap))
    return here + gap * (min(distance, length / 2) / length if length else 0.0)


def spline(points: Sequence[tuple[float, float]], *, closed: bool = True, steps: int = 10) -> Outline:
    """A smooth curve through the points (Catmull-Rom)."""
    p = np.array(points, dtype=np.float64)
    padded = np.concatenate([p[-1:], p, p[:2]]) if closed else np.concatenate([p[:1], p, p[-1:]])
    t = np.linspace(0.0, 1.0, steps, endpoint=False)[:, None]
    parts = []
    for a, b, c, d in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        parts.append(
            0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)
        )
    if not closed:
        parts.append(p[-1:])
    return np.concatenate(parts)


def band(points: Outline, width: float) -> Outline:
    """The outline of a stroke of this width along an open curve, with flat ends."""
    tangent = np.gradient(points, axis=0)
    length = np.hypot(tangent[:, 0], tangent[:, 1])
    length[length == 0] = 1.0
    normal = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1) / length[:, None] * (width / 2)
    return np.concatenate([points + normal, (points - normal)[::-1]])


def turned(points: Outline, degrees: float, about: tuple[float, float] = (0.0, 0.0)) -> Outline:
    """The outline turned anticlockwise about a point."""
    angle, centre = np.radians(degrees), np.array(about)
    matrix = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    out: Outline = (points - centre) @ matrix + centre
    return out


def curve(*points: tuple[float, float]) -> Outline:
    """An open smooth curve through the points."""
    return spline(points, closed=False)


def joined(*parts: Outline) -> Outline:
    """One curve after the other."""
    return np.concatenate(parts)


def moved(outline: Outline, dx: float, dy: float) -> Outline:
    """The outline somewhere else."""
    out: Outline = outline + np.array([dx, dy])
    return out


def points(*points: tuple[float, float]) -> Outline:
    """Straight lines through the points."""
    return np.array(points, dtype=np.float64)


def _left(right: Outline) -> Outline:
    """The left half of what is symmetric, from top to bottom, from its right half."""
    out: Outline = right[::-1] * np.array([-1.0, 1.0])
    return out


def _walls(top: float, bottom: float, height: float, dip: float, rim: float) -> Outline:
    """A cylinder seen a little from above: bottom edge and upper rim are arcs."""
    return joined(ellipse(0, 0.07, bottom, dip, 180, 360), ellipse(0, height, top, rim, 0, 180))


_MADE = (band, box, curve, ellipse, joined, moved, points, polygon, turned)
OUTLINES: Mapping[str, Callable[..., Outline]] = {make.__name__: make for make in _MADE} | {
    "arc": ellipse,
    "left": _left,
    "mirrored": lambda right: joined(right, _left(right)),
    "spline": lambda *points: spline(points),
    "walls": _walls,
}
"""Name in shapes.json → curve, given the values there."""
