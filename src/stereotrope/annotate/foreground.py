"""Which pixels are the product and which are the ground behind it.

No learnt model. A pixel belongs to the background when

- a path leads from it to the border of the picture without crossing an edge: the cost of a path is the
  CIELAB contrast it crosses beyond what gradients and noise make (geodesic saliency; Wei, Wen, Zhu,
  Sun 2012, "Geodesic saliency using background priors", ECCV, section 3), and
- its colour is one of those common along the border, a little lighter or a good deal darker allowed,
  for lamps and shadows: this catches a product whose soft edge a path slips through.

The border is taken for background only where its colour is common along the border, so that a product
cut by the border is not lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from stereotrope.annotate.cielab import srgb_to_lab
from stereotrope.annotate.clustering import Lab, k_means, quantile, squared
from stereotrope.annotate.morphology import Mask, closed, dilated, opened

WORK_SIDE = 160
"""Longer side in pixels at which pictures are segmented: contours stay, print and JPEG noise go."""
SLACK = (0.6, 3.0)
"""Least and greatest contrast (ΔE*ab) between neighbours that costs nothing to cross: gradients, noise and
JPEG. Between them, 1.5 times what most neighbours in the outer ring differ by."""
EDGE = (3.0, 20.0)
"""Least and greatest path cost (ΔE*ab) that divides product from background."""
OTHER_COLOUR = (10.0, 25.0)
"""Least and greatest distance (ΔE*ab beyond the allowances) from the border's colours, likewise."""
LIGHTER, DARKER = 8.0, 16.0
"""L* by which background may be lighter or darker than at the border: lamps, shadows."""
RING = 0.06
"""Depth of the outer ring, as a share of the shorter side, in which texture and noise are measured."""
RING_QUANTILE = 0.8
"""Quantile of the path cost in the ring; the rest may be a product cut by the border, or lettering."""
RING_FACTOR = 1.5
"""Path cost beyond the ring's quantile, as a multiple, from which a pixel is taken for the product."""
SOLID = 0.5
"""Share of its convex hull that the thick parts of what stands out must fill. Below, only its outline,
shadows and details differ from the background: a white cup on white. The hull is then the product."""
BORDER_SHARE = 0.12
"""Share of the border from which a colour counts as background there."""
BORDER_SPREAD = 12.0
"""ΔE*ab within which a border pixel counts as one of those colours."""
STEP = 1e-3
"""Cost of a step that crosses no contrast: of free ways the shorter."""

Plane = NDArray[np.float64]


@dataclass(frozen=True)
class Ground:
    """A picture divided, at working size.

    lab: CIELAB after a 3 × 3 median, shape (3, h, w).
    product: True on the product, holes filled, shape (h, w).
    background: True where the background is beyond doubt; neither holds near contours and on small things.
    """

    lab: Lab
    product: NDArray[np.bool_]
    background: NDArray[np.bool_]


@dataclass(frozen=True)
class Relief:
    """What stands out of the background, before it is decided which of it is the product."""

    lab: Lab
    raised: NDArray[np.bool_]


def relief(pixels: NDArray[np.uint8]) -> Relief:
    """Find what stands out in a picture of at most about :data:`WORK_SIDE` pixels a side."""
    # The border is repeated for the median.
    framed = srgb_to_lab(np.pad(pixels, ((1, 1), (1, 1), (0, 0)), mode="edge"))
    lab = _medians(np.moveaxis(framed, -1, 0))
    common = _border_colours(lab)
    cost, away = _path_cost(lab, common), _colour_cost(lab, common)
    return Relief(lab, (cost > _threshold(cost, EDGE)) | (away > _threshold(away, OTHER_COLOUR)))


def _medians(framed: Lab) -> Lab:
    """Median of each pixel and its eight neighbours, without the frame, which has no such neighbours.

    Each row of three is put in order, and of the nine the median is that of the greatest of the least, the
    median of the middle ones and the least of the greatest (Smith 1996, "Implementing median filters in
    XC4000E FPGAs", Xcell 23).
    """
    _, height, width = framed.shape
    found = np.empty((3, height * width))
    # Rows are read on end, several times as quick as row by row: only the frame gets another row's pixels.
    for plane, out in zip(framed.reshape(3, -1), found, strict=True):
        left, here, right = plane[:-2], plane[1:-1], plane[2:]
        low, high = np.minimum(left, here), np.maximum(left, here)
        middle = np.maximum(low, np.minimum(high, right))
        low, high = np.minimum(low, right), np.maximum(high, right)
        above, level, below = slice(None, -2 * width), slice(width, -width), slice(2 * width, None)
        least = np.maximum(np.maximum(low[above], low[level]), low[below])
        greatest = np.minimum(np.minimum(high[above], high[level]), high[below])
        middle = _middle(middle[above], middle[level], middle[below])
        out[width + 1 : -width - 1] = _middle(least, middle, greatest)
    return np.ascontiguousarray(found.reshape(framed.shape)[:, 1:-1, 1:-1])


def _middle(one: Plane, two: Plane, three: Plane) -> Plane:
    """Median of three, elementwise."""
    return np.maximum(np.minimum(one, two), np.minimum(np.maximum(one, two), three))


def segment(found: Relief, print_at: Sequence[tuple[slice, slice]] = ()) -> Ground:
    """Divide a picture.

    ``print_at`` are boxes of print already found: each counts as standing out when most of what is
    around it does, so that letters on the wall that touch the product are no part of it.
    """
    raised = found.raised
    if print_at:
        raised = raised.copy()
        filled = _solid(raised)
        for rows, columns in print_at:
            raised[rows, columns] = _around(filled, rows, columns) > 0.5
    product = _main_part(raised)
    return Ground(found.lab, product, ~dilated(found.raised | product, 2))


def _around(mask: NDArray[np.bool_], rows: slice, columns: slice) -> float:
    """Share of a mask above and below a box, or, if larger, in a frame half as thick as the box is high."""
    thick = max(2, (rows.stop - rows.start) // 2)
    high = slice(max(0, rows.start - thick), rows.stop + thick)
    shares = []
    for wide in (columns, slice(max(0, columns.start - thick), columns.stop + thick)):
        frame = np.zeros_like(mask)
        frame[high, wide] = True
        frame[rows, columns] = False
        shares.append(float(mask[frame].mean()) if frame.any() else 0.0)
    return max(shares)


@lru_cache(maxsize=64)
def _border(shape: tuple[int, int]) -> NDArray[np.intp]:
    node = np.arange(shape[0] * shape[1]).reshape(shape)
    return np.concatenate([node[0], node[-1], node[1:-1, 0], node[1:-1, -1]])


def _border_colours(lab: Lab) -> Lab:
    """Colours common along the border, shape (k, 3)."""
    colours = lab.reshape(3, -1).take(_border(lab.shape[1:]), axis=1)
    centres, member = k_means(colours, 5)
    shares = np.bincount(member, minlength=len(centres)) / colours.shape[1]
    return np.asarray(centres[shares >= min(BORDER_SHARE, shares.max())])


def _colour_cost(lab: Lab, common: Lab) -> NDArray[np.float64]:
    """Distance of each pixel from the nearest of the border's colours, beyond lamps and shadows."""
    nearest = np.full(lab.shape[1:], np.inf)
    for colour in common:
        light, *hue = (plane - value for plane, value in zip(lab, colour, strict=True))
        light -= light.clip(-DARKER, LIGHTER)
        light *= light
        for apart in hue:
            apart *= apart
            light += apart
        np.minimum(nearest, light, out=nearest)
    return np.asarray(np.sqrt(nearest, out=nearest))


def _path_cost(lab: Lab, common: Lab) -> NDArray[np.float64]:
    """Least contrast crossed on the way from each pixel to the background along the border.

    No farther than the greatest threshold: what costs more stands out whatever it costs. Where a straight
    way is free, none is shorter; the others are looked for from these pixels on.
    """
    from scipy import sparse  # noqa: PLC0415
    from scipy.sparse import csgraph  # noqa: PLC0415

    shape = lab.shape[1:]
    right = _contrast(lab[:, :, 1:], lab[:, :, :-1])
    down = _contrast(lab[:, 1:], lab[:, :-1])
    border = lab.reshape(3, -1).take(_border(shape), axis=1)
    entry = np.sqrt(np.min([squared(border, colour) for colour in common], axis=0))
    ring = np.concatenate([right[_ring(right.shape)], down[_ring(down.shape)], np.zeros(1)])
    slack = np.clip(1.5 * quantile(ring, RING_QUANTILE), *SLACK)
    right, down = (np.maximum(contrast - slack, 0.0) + STEP for contrast in (right, down))
    cost = np.full(shape, np.inf)
    cost.reshape(-1)[_border(shape)] = np.maximum(entry - BORDER_SPREAD, 0.0) + STEP
    straight = _straight(right == STEP, down == STEP, cost == STEP)
    cost = np.where(straight, _depths(shape)[0], cost)
    right = np.where(straight[:, 1:] & straight[:, :-1], np.inf, right)
    down = np.where(straight[1:] & straight[:-1], np.inf, down)
    begin = np.flatnonzero(dilated(~straight, 1) & np.isfinite(cost))
    weight = np.full(4 * cost.size + len(begin), np.inf)
    steps = weight[: 4 * cost.size].reshape(*shape, 4)
    steps[:, :-1, 0] = steps[:, 1:, 1] = right
    steps[:-1, :, 2] = steps[1:, :, 3] = down
    weight[4 * cost.size :] = cost.take(begin)
    ends, starts = _ends(shape)
    ends, starts = np.append(ends, begin.astype(np.int32)), np.append(starts, np.int32(len(weight)))
    graph = sparse.csr_array((weight, ends, starts), shape=(cost.size + 1, cost.size + 1))
    found = csgraph.dijkstra(graph, indices=cost.size, limit=EDGE[1], min_only=True)[:-1].reshape(shape)
    return np.where(straight, cost, np.minimum(found, EDGE[1] + 1.0))


def _contrast(one: Lab, other: Lab) -> NDArray[np.float64]:
    lightness, a, b = (np.square(plane - beside) for plane, beside in zip(one, other, strict=True))
    lightness += a
    lightness += b
    return np.asarray(np.sqrt(lightness, out=lightness))


def _straight(right: Mask, down: Mask, border: Mask) -> Mask:
    """Where the way straight from the nearest side is free, steps to the right, down and into the border."""
    straight = np.zeros(border.shape, dtype=bool)
    sides = ((down, border), (down[::-1], border[::-1]), (right.T, border.T), (right.T[::-1], border.T[::-1]))
    for side, ((free, into), depth) in enumerate(zip(sides, _depths(border.shape)[1], strict=True)):
        way = np.concatenate([into[:1], free, np.zeros_like(into[:1])])
        straight |= depth < np.expand_dims(way.argmin(axis=0), side // 2)
    return straight


@lru_cache(maxsize=16)
def _depths(shape: tuple[int, ...]) -> tuple[Plane, NDArray[np.intp]]:
    """What it costs at least to come to each pixel, and its depth from above, below, left and right.

    Depths from other sides than the nearest are beyond any.
    """
    rows, columns = np.indices(shape)
    depths = np.stack([rows, rows[::-1], columns, columns[:, ::-1]])
    depth = depths.min(axis=0)
    return np.cumsum(np.full(max(shape), STEP))[depth], np.where(depths == depth, depth, sum(shape))


@lru_cache(maxsize=16)
def _ends(shape: tuple[int, int]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Where steps from each pixel right, left, down and up end, and where those of each begin.

    As a sparse matrix has them; those out of the picture end somewhere within.
    """
    n = shape[0] * shape[1]
    ends = np.arange(n)[:, None] + (1, -1, shape[1], -shape[1])
    return ends.clip(0, n - 1).astype(np.int32), np.arange(n + 1, dtype=np.int32) * 4


@lru_cache(maxsize=64)
def _ring(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    height, width = shape
    depth = max(1, round(RING * min(height, width)))
    ring = np.ones(shape, dtype=bool)
    ring[depth : height - depth, depth : width - depth] = False
    return ring


def _threshold(cost: NDArray[np.floating], limits: tuple[float, float]) -> float:
    """Cost that divides product from background: beyond what texture and noise reach in the outer ring."""
    return float(np.clip(RING_FACTOR * quantile(cost[_ring(cost.shape)], RING_QUANTILE), *limits))


def _main_part(raised: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The largest, most central thing of what stands out, its holes filled; its hull where it is no solid."""
    from scipy import ndimage  # noqa: PLC0415

    solid = _solid(raised)
    part, n_parts = ndimage.label(opened(solid, 1), structure=np.ones((3, 3)))
    if not n_parts:
        return np.zeros_like(raised)
    nearness, central = _centre(raised.shape)
    at = np.flatnonzero(part)
    main = part == np.bincount(part.take(at), nearness.take(at)).argmax()
    hull = convex_hull((solid & central) | main)
    thick = opened(solid, 3)
    return hull if (thick & hull).sum() < SOLID * hull.sum() else np.asarray(main)


@lru_cache(maxsize=16)
def _centre(shape: tuple[int, int]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How much a pixel weighs for its place, and whether it is near the centre."""
    rows, columns = (np.arange(n) / max(n - 1, 1) - 0.5 for n in shape)
    off = (rows[:, None] ** 2 + columns**2) / (2 * 0.3**2)
    return np.exp(-off), off < 1.0


def _solid(raised: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return closed(raised, 2) | raised


def convex_hull(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Convex hull, drawn; the mask itself where its points lie on a line."""
    rows = np.flatnonzero(mask.any(axis=1))
    last = mask.shape[1] - 1 - mask[rows, ::-1].argmax(axis=1)
    first = mask[rows].argmax(axis=1)
    # Only the ends of a row can be corners.
    corners = _bends(last, rows) + _bends(first[::-1], rows[::-1])
    if len(set(corners)) < 3:
        return mask
    drawn = Image.new("1", mask.shape[::-1])
    ImageDraw.Draw(drawn).polygon(corners, fill=1, outline=1)
    return np.array(drawn, dtype=bool)


def _bends(columns: NDArray[np.intp], rows: NDArray[np.intp]) -> list[tuple[int, int]]:
    """Of points from row to row those where a band around them bends.

    Andrew 1979, "Another efficient algorithm for convex hulls in two dimensions", Information Processing
    Letters 9.
    """
    kept: list[tuple[int, int]] = []
    for x, y in zip(columns.tolist(), rows.tolist(), strict=True):
        while len(kept) > 1:
            (x0, y0), (x1, y1) = kept[-2:]
            if (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0):
                break
            kept.pop()
        kept.append((x, y))
    return kept


def foreground_parameters() -> dict[str, object]:
    """Everything that can change a segmentation, for fingerprints."""
    return {
        "version": 1,
        "work_side": WORK_SIDE,
        "slack": SLACK,
        "edge": EDGE,
        "other": [OTHER_COLOUR, LIGHTER, DARKER],
        "solid": SOLID,
        "ring": [RING, RING_QUANTILE, RING_FACTOR],
        "border_share": BORDER_SHARE,
        "border_spread": BORDER_SPREAD,
    }
