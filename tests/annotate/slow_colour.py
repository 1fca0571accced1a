"""Colour as it was read before it was made fast: plain, and to be equalled label by label."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from scipy import ndimage, sparse
from scipy.sparse import csgraph
from scipy.spatial import ConvexHull, QhullError

from stereotrope.annotate import Picture, colour, foreground
from stereotrope.annotate.cielab import srgb_to_lab
from stereotrope.annotate.palette import read_palette

Array = np.ndarray[Any, Any]


def colours(picture: Picture) -> list[tuple[str | None, float | None]]:
    """Name and confidence of product and background."""
    lab, product, background = divided(picture.pixels(foreground.WORK_SIDE))
    core = ndimage.binary_erosion(product, iterations=2)
    inside = core if core.sum() >= 0.3 * product.sum() else product
    found: list[tuple[str | None, float | None]] = []
    for part, least, where in (
        (product, colour.MIN_PRODUCT, inside),
        (background, colour.MIN_BACKGROUND, background),
    ):
        if part.mean() < least:
            found.append((None, None))
            continue
        main, share = main_colour(lab[where])
        name, margin = read_palette().name(main)
        found.append((name, share * margin))
    return found


def divided(pixels: Array) -> tuple[Array, Array, Array]:
    """CIELAB after a median, product and background."""
    lab = ndimage.median_filter(srgb_to_lab(pixels), size=(3, 3, 1), mode="nearest")
    common = _border_colours(lab)
    cost, away = _path_cost(lab, common), _colour_cost(lab, common)
    raised = (cost > _threshold(cost, foreground.EDGE)) | (away > _threshold(away, foreground.OTHER_COLOUR))
    product = _main_part(raised)
    return lab, product, ~ndimage.binary_dilation(raised | product, iterations=2)


def k_means(points: Array, k: int, *, iterations: int = 12) -> tuple[Array, Array]:
    """k-means without chance: centres start at the point farthest from those chosen, the first at the median.

    points: Shape (n, d), n ≥ 1.
    k: Number of centres wanted; fewer come back where there are fewer different points.

    Returns the centres, shape (≤ k, d), and for each point the index of its centre.
    """
    columns = np.ascontiguousarray(points.T)
    centres = np.median(points, axis=0, keepdims=True)
    nearest = np.square(columns - centres[0][:, None]).sum(axis=0)
    while len(centres) < k:
        # The farthest percentile, not the farthest point: one odd pixel is no cluster.
        far = np.argsort(nearest, kind="stable")[-max(1, len(points) // 100) :][0]
        if nearest[far] < 1.0:
            break
        centres = np.vstack([centres, points[far]])
        nearest = np.minimum(nearest, np.square(columns - points[far][:, None]).sum(axis=0))
    member = np.zeros(len(points), dtype=np.intp)
    for _ in range(iterations):
        member = np.argmin([np.square(columns - centre[:, None]).sum(axis=0) for centre in centres], axis=0)
        counts = np.bincount(member, minlength=len(centres))
        sums = np.stack([np.bincount(member, column, minlength=len(centres)) for column in columns], axis=1)
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        if (np.abs(moved - centres) <= 1e-6 + 1e-5 * np.abs(centres)).all():
            break
        centres = moved
    return centres, member


def _border(shape: tuple[int, ...]) -> Array:
    node = np.arange(shape[0] * shape[1]).reshape(shape[:2])
    return np.concatenate([node[0], node[-1], node[1:-1, 0], node[1:-1, -1]])


def _border_colours(lab: Array) -> Array:
    """Colours common along the border, shape (k, 3)."""
    colours = lab.reshape(-1, 3)[_border(lab.shape)]
    centres, member = k_means(colours, 5)
    shares = np.bincount(member, minlength=len(centres)) / len(colours)
    return np.asarray(centres[shares >= min(foreground.BORDER_SHARE, shares.max())])


def _colour_cost(lab: Array, common: Array) -> Array:
    """Distance of each pixel from the nearest of the border's colours, beyond lamps and shadows."""
    squared = np.full(lab.shape[:2], np.inf)
    for one in common:
        lightness, a, b = (lab[..., channel] - one[channel] for channel in range(3))
        light = np.maximum(np.maximum(lightness - foreground.LIGHTER, -lightness - foreground.DARKER), 0.0)
        squared = np.minimum(squared, light**2 + a**2 + b**2)
    return np.asarray(np.sqrt(squared))


def _path_cost(lab: Array, common: Array) -> Array:
    """Least contrast crossed on the way from each pixel to the background along the border."""
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
    slack = 1.5 * np.quantile(ring, foreground.RING_QUANTILE)
    free = np.maximum(contrast - np.clip(slack, *foreground.SLACK), 0.0)
    # A tiny length keeps free steps from being read as missing edges.
    weight = np.concatenate([free, np.maximum(entry - foreground.BORDER_SPREAD, 0.0)]) + 1e-3
    graph = sparse.coo_array((weight, (starts, ends)), shape=(outside + 1, outside + 1)).tocsr()
    cost = csgraph.dijkstra(graph, directed=False, indices=outside)
    return np.asarray(cost[:outside]).reshape(height, width)


def _ring(shape: tuple[int, ...]) -> Array:
    height, width = shape
    depth = max(1, round(foreground.RING * min(height, width)))
    ring = np.ones(shape, dtype=bool)
    ring[depth : height - depth, depth : width - depth] = False
    return ring


def _threshold(cost: Array, limits: tuple[float, float]) -> float:
    """Cost that divides product from background: beyond what texture and noise reach in the outer ring."""
    return float(
        np.clip(
            foreground.RING_FACTOR * np.quantile(cost[_ring(cost.shape)], foreground.RING_QUANTILE), *limits
        )
    )


def _main_part(raised: Array) -> Array:
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
    return hull if (thick & hull).sum() < foreground.SOLID * hull.sum() else np.asarray(main)


def _closed(raised: Array) -> Array:
    closed = ndimage.binary_fill_holes(ndimage.binary_closing(np.pad(raised, 2), iterations=2))[2:-2, 2:-2]
    return np.asarray(closed | raised)


def convex_hull(mask: Array) -> Array:
    """Convex hull, drawn; the mask itself where its points lie on a line."""
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


def main_colour(points: Array) -> tuple[Array, float]:
    """Colour that covers most of some pixels, shades of one hue taken together.

    points: CIELAB, shape (n, 3), n ≥ 1.

    Returns the median CIELAB of its largest shade, and the share of pixels in all its shades. Without hue, L*
    is the lit quarter's where that is near white and the dark quarter's where that is near black: shade greys
    white things, and gloss greys black ones.
    """
    points = points[:: max(1, len(points) // colour.MAX_POINTS)]
    _, member = k_means(points * (colour.LIGHTNESS_WEIGHT, 1.0, 1.0), colour.CLUSTERS)
    used = [m for m in np.unique(member) if (member == m).any()]
    shades = np.array([np.median(points[member == m], axis=0) for m in used])
    sizes = np.array([(member == m).sum() for m in used])
    groups = _shade_groups(shades)
    size_of = np.bincount(groups, sizes)
    best = groups == int(size_of.argmax())
    largest = int(np.where(best, sizes, -1).argmax())
    main = shades[largest].copy()
    if np.hypot(main[1], main[2]) < colour.CHROMATIC:
        low, high = np.quantile(points[np.isin(member, np.array(used)[best]), 0], [0.25, 0.75])
        main[0] = high if high >= colour.NEAR_WHITE else low if low <= colour.NEAR_BLACK else main[0]
    return main, float(size_of.max() / sizes.sum())


def _shade_groups(shades: Array) -> Array:
    """Number the groups of shades that are one colour differently lit."""
    chroma = np.hypot(shades[:, 1], shades[:, 2])
    hue = np.degrees(np.arctan2(shades[:, 2], shades[:, 1]))
    turn = np.abs((hue[:, None] - hue[None] + 180) % 360 - 180)
    apart = np.abs(shades[:, None, 0] - shades[None, :, 0])
    coloured = chroma >= colour.CHROMATIC
    same_hue = coloured[:, None] & coloured[None] & (turn <= colour.HUE_SPAN) & (apart <= colour.SHADE_SPAN)
    same_grey = ~coloured[:, None] & ~coloured[None] & (apart <= colour.GREY_SPAN)
    group = np.arange(len(shades))
    for first, second in np.argwhere(same_hue | same_grey):
        group[group == group[second]] = group[first]
    return np.unique(group, return_inverse=True)[1]
