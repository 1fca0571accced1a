"""Corners of a detector: which of them count, and how they are written."""

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Corners = NDArray[np.float64]
"""Rows of (x0, y0, x1, y1), shape (n, 4)."""


class Detections(NamedTuple):
    """All that a model gave of one picture.

    boxes: In upright pixels, shape (n, 4).
    scores: In [0, 1], shape (n,).
    names: Class of each.
    """

    boxes: Corners
    scores: NDArray[np.float64]
    names: Sequence[str]


class CountedBox(NamedTuple):
    """One that counts: whole pixels as JSON, its class, and its score."""

    region: str
    name: str
    score: float


def counted_boxes(
    found: Detections,
    width: int,
    height: int,
    *,
    classes: Sequence[str],
    confidence: float,
    smallest: float,
    overlap: float | None,
) -> list[CountedBox]:
    """Return the boxes that count, the surest first.

    Corners of ``classes`` with a score of at least ``confidence`` are cut to the picture and rounded to whole
    pixels. One whose shorter side is below ``smallest`` is left out (in pixels, below 1 a share of the
    picture's shorter side; nothing narrower than a pixel counts). Of two of one class whose intersection over
    union is above ``overlap`` the surer stays. Of several at the very same place the surest stays.
    """
    places = {name: at for at, name in enumerate(classes)}
    least = max(1.0, smallest * min(width, height) if smallest < 1 else smallest)
    boxes = np.clip(found.boxes, 0, [width, height, width, height])
    sides = (boxes[:, 2:] - boxes[:, :2]).min(axis=1, initial=np.inf)
    known = np.array([name in places for name in found.names], bool)
    wanted = np.flatnonzero(known & (found.scores >= confidence) & (sides >= least))
    order = wanted[np.argsort(-found.scores[wanted], kind="stable")]
    groups = np.array([places.get(name, -1) for name in found.names], np.int64)
    if overlap is not None:
        order = order[suppress(boxes[order], groups[order], overlap)]
    kept: dict[str, CountedBox] = {}
    for at in order:
        x0, y0, x1, y1 = (int(side) for side in np.rint(boxes[at]))
        region = json.dumps([x0, y0, max(x1, x0 + 1), max(y1, y0 + 1)])
        kept.setdefault(region, CountedBox(region, found.names[at], float(found.scores[at])))
    return list(kept.values())


def suppress(boxes: Corners, groups: NDArray[np.int64], overlap: float) -> NDArray[np.int64]:
    """Return places of boxes, the surest first, that overlap no surer one of their group by more.

    >>> suppress(np.array([[0, 0, 4, 4], [0, 0, 4, 3], [3, 3, 6, 6]], float), np.zeros(3, np.int64), 0.5)
    array([0, 2])
    """
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    kept: list[int] = []
    left = np.arange(len(boxes))
    while left.size:
        first, rest = left[0], left[1:]
        kept.append(int(first))
        sides = np.minimum(boxes[first, 2:], boxes[rest, 2:]) - np.maximum(boxes[first, :2], boxes[rest, :2])
        shared = np.prod(np.clip(sides, 0, None), axis=1)
        alike = shared > overlap * (areas[first] + areas[rest] - shared)
        left = rest[~(alike & (groups[rest] == groups[first]))]
    return np.array(kept, np.int64)
