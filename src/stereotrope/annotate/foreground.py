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

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from scipy import ndimage

from stereotrope.annotate.cielab import srgb_to_lab

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


@dataclass(frozen=True)
class Ground:
    """A picture divided, at working size.

    lab: CIELAB after a 3 × 3 median, shape (h, w, 3).
    product: True on the product, holes filled, shape (h, w).
    background: True where the background is beyond doubt; neither holds near contours and on small things.
    """

    lab: NDArray[np.float64]
    product: NDArray[np.bool_]
    background: NDArray[np.bool_]


@dataclass(frozen=True)
class Relief:
    """What stands out of the background, before it is decided which of it is the product."""

    lab: NDArray[np.float64]
    raised: NDArray[np.bool_]


def relief(pixels: NDArray[np.uint8]) -> Relief:
    """Find what stands out in a picture of at most about :data:`WORK_SIDE` pixels a side."""
    lab = _median(srgb_to_lab(pixels))
    common = _border_colours(lab)
    cost, away = _path_cost(lab, common), _colour_cost(lab, common)
    return Relief(lab, (cost > _threshold(cost, EDGE)) | (away > _threshold(away, OTHER_COLOUR)))


def _median(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    """Median of each pixel and its eight neighbours, the border repeated, each channel for itself.

    Each row of three is put in order, and of the nine the median is that of the greatest of the least, the
    median of the middle ones and the least of the greatest (Smith 1996, "Implementing median filters in
    XC4000E FPGAs", Xcell 23).
    """
    smooth = np.empty_like(lab)
    for channel in range(lab.shape[2]):
        plane = np.pad(lab[..., channel], 1, mode="edge")
        left, here, right = plane[:, :-2], plane[:, 1:-1], plane[:, 2:]
        low, high = np.minimum(left, here), np.maximum(left, here)
        middle = np.maximum(low, np.minimum(high, right))
        low, high = np.minimum(low, right), np.maximum(high, right)
        least = np.maximum(np.maximum(low[:-2], low[1:-1]), low[2:])
        greatest = np.minimum(np.minimum(high[:-2], high[1:-1]), high[2:])
        smooth[..., channel] = _middle(least, _middle(middle[:-2], middle[1:-1], middle[2:]), greatest)
    return smooth


def _middle(
    one: NDArray[np.float64], two: NDArray[np.float64], three: NDArray[np.float64]
) -> NDArray[np.float64]:
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
        filled = _closed(raised)
        for rows, columns in print_at:
            raised[rows, columns] = _around(filled, rows, columns) > 0.5
    product = _main_part(raised)
    return Ground(found.lab, product, ~ndimage.binary_dilation(found.raised | product, iterations=2))


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


def k_means(
    points: NDArray[np.float64], k: int, *, iterations: int = 12
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """k-means without chance: centres start at the point farthest from those chosen, the first at the median.

    points: Shape (n, d), n ≥ 1.
    k: Number of centres wanted; fewer come back where there are fewer different points.

    Returns the centres, shape (≤ k, d), and for each point the index of its centre.
    """
    columns = np.ascontiguousarray(points.T)
    centres = np.median(points, axis=0, keepdims=True)
    nearest = _squared(columns, centres[0])
    while len(centres) < k:
        # The farthest percentile, not the farthest point: one odd pixel is no cluster.
        far = np.argsort(nearest, kind="stable")[-max(1, len(points) // 100) :][0]
        if nearest[far] < 1.0:
            break
        centres = np.vstack([centres, points[far]])
        nearest = np.minimum(nearest, _squared(columns, points[far]))
    member = np.zeros(len(points), dtype=np.intp)
    for _ in range(iterations):
        member = np.argmin([_squared(columns, centre) for centre in centres], axis=0)
        counts = np.bincount(member, minlength=len(centres))
        sums = np.stack([np.bincount(member, column, minlength=len(centres)) for column in columns], axis=1)
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        if (np.abs(moved - centres) <= 1e-6 + 1e-5 * np.abs(centres)).all():
            break
        centres = moved
    return centres, member


def _squared(columns: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distance of points, shape (d, n), from a centre."""
    return np.asarray(np.square(columns - centre[:, None]).sum(axis=0))


def _border(shape: tuple[int, ...]) -> NDArray[np.intp]:
    node = np.arange(shape[0] * shape[1]).reshape(shape[:2])
    return np.concatenate([node[0], node[-1], node[1:-1, 0], node[1:-1, -1]])


def _border_colours(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    """Colours common along the border, shape (k, 3)."""
    colours = lab.reshape(-1, 3)[_border(lab.shape)]
    centres, member = k_means(colours, 5)
    shares = np.bincount(member, minlength=len(centres)) / len(colours)
    return np.asarray(centres[shares >= min(BORDER_SHARE, shares.max())])


def _colour_cost(lab: NDArray[np.float64], common: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distance of each pixel from the nearest of the border's colours, beyond lamps and shadows."""
    squared = np.full(lab.shape[:2], np.inf)
    for colour in common:
        lightness, a, b = (lab[..., channel] - colour[channel] for channel in range(3))
        light = np.maximum(np.maximum(lightness - LIGHTER, -lightness - DARKER), 0.0)
        squared = np.minimum(squared, light**2 + a**2 + b**2)
    return np.asarray(np.sqrt(squared))


def _path_cost(lab: NDArray[np.float64], common: NDArray[np.float64]) -> NDArray[np.float64]:
    """Least contrast crossed on the way from each pixel to the background along the border."""
    from scipy import sparse  # noqa: PLC0415
    from scipy.sparse import csgraph  # noqa: PLC0415

    height, width = lab.shape[:2]
    node = np.arange(height * width).reshape(height, width)
    right = np.linalg.norm(np.diff(lab, axis=1), axis=2)
    down = np.linalg.norm(np.diff(lab, axis=0), axis=2)
    border = _border(lab.shape)
    entry = np.linalg.norm(lab.reshape(-1, 3)[border][:, None] - common[None], axis=2).min(axis=1)
    outside = height * width
    starts = np.concatenate([node[:, :-1].ravel(), node[:-1].ravel(), np.full(len(border), outside)])
    ends = np.concatenate([node[:, 1:].ravel(), node[1:].ravel(), border])
    contrast = np.concatenate([right.ravel(), down.ravel()])
    ring = np.concatenate([right[_ring(right.shape)], down[_ring(down.shape)], np.zeros(1)])
    slack = 1.5 * np.quantile(ring, RING_QUANTILE)
    free = np.maximum(contrast - np.clip(slack, *SLACK), 0.0)
    # A tiny length keeps free steps from being read as missing edges.
    weight = np.concatenate([free, np.maximum(entry - BORDER_SPREAD, 0.0)]) + 1e-3
    graph = sparse.coo_array((weight, (starts, ends)), shape=(outside + 1, outside + 1)).tocsr()
    cost = csgraph.dijkstra(graph, directed=False, indices=outside)
    return np.asarray(cost[:outside]).reshape(height, width)


def _ring(shape: tuple[int, ...]) -> NDArray[np.bool_]:
    height, width = shape
    depth = max(1, round(RING * min(height, width)))
    ring = np.ones(shape, dtype=bool)
    ring[depth : height - depth, depth : width - depth] = False
    return ring


def _threshold(cost: NDArray[np.float64], limits: tuple[float, float]) -> float:
    """Cost that divides product from background: beyond what texture and noise reach in the outer ring."""
    return float(np.clip(RING_FACTOR * np.quantile(cost[_ring(cost.shape)], RING_QUANTILE), *limits))


def _main_part(raised: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The largest, most central thing of what stands out, its holes filled; its hull where it is no solid."""
    height, width = raised.shape
    closed = _closed(raised)
    solid = ndimage.binary_opening(closed, iterations=1)
    part, found = ndimage.label(solid, structure=np.ones((3, 3)))
    if not found:
        return np.zeros_like(raised)
    rows, columns = np.mgrid[0:height, 0:width]
    off = ((rows / max(height - 1, 1) - 0.5) ** 2 + (columns / max(width - 1, 1) - 0.5) ** 2) / (2 * 0.3**2)
    weight = np.bincount(part.ravel(), np.exp(-off).ravel(), minlength=found + 1)
    weight[0] = 0.0
    main = part == int(weight.argmax())
    central = closed & (off < 1.0)
    hull = convex_hull(central | main)
    thick = ndimage.binary_opening(closed, iterations=3)
    return hull if (thick & hull).sum() < SOLID * hull.sum() else np.asarray(main)


def _closed(raised: NDArray[np.bool_]) -> NDArray[np.bool_]:
    closed = ndimage.binary_fill_holes(ndimage.binary_closing(np.pad(raised, 2), iterations=2))[2:-2, 2:-2]
    return np.asarray(closed | raised)


def convex_hull(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Convex hull, drawn; the mask itself where its points lie on a line."""
    from scipy.spatial import ConvexHull, QhullError  # noqa: PLC0415

    rows = np.flatnonzero(mask.any(axis=1))
    ends = mask[rows].argmax(axis=1), mask.shape[1] - 1 - mask[rows, ::-1].argmax(axis=1)
    # Only the ends of a row can be corners.
    points = np.concatenate([np.stack([end, rows], axis=1) for end in ends])
    try:
        corners = points[ConvexHull(points).vertices]
    except QhullError:
        return mask
    drawn = Image.new("1", mask.shape[::-1])
    ImageDraw.Draw(drawn).polygon([(int(x), int(y)) for x, y in corners], fill=1, outline=1)
    return np.array(drawn, dtype=bool)


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
