"""Masks grown and shrunk by a pixel above, below, left and right, as often as is said."""

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def dilated(mask: Mask, times: int) -> Mask:
    """Grow a mask."""
    height, width = mask.shape
    # Rows on end with a pixel between them are much quicker to grow than row by row.
    wide = np.zeros((height, width + 1), dtype=bool)
    wide[:, :-1] = mask
    flat = wide.reshape(-1)
    for _ in range(times):
        before = flat.copy()
        for step in (1, width + 1):
            flat[step:] |= before[:-step]
            flat[:-step] |= before[step:]
        wide[:, -1] = False
    return wide[:, :-1]


def eroded(mask: Mask, times: int) -> Mask:
    """Shrink a mask; what is outside the picture counts as outside it."""
    return ~dilated(np.pad(~mask, 1, constant_values=True), times)[1:-1, 1:-1]


def opened(mask: Mask, times: int) -> Mask:
    """Shrink a mask and grow it again: thin things go."""
    return dilated(eroded(mask, times), times)


def closed(mask: Mask, times: int) -> Mask:
    """Grow a mask, shrink it again and fill its holes: gaps go. The picture ends beyond its border."""
    wide = np.pad(mask, times)
    from scipy import ndimage  # noqa: PLC0415

    hollow, _ = ndimage.label(~eroded(dilated(wide, times), times))
    return np.asarray((hollow != hollow[0, 0])[times:-times, times:-times])
