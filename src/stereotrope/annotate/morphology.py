"""Masks grown and shrunk by a pixel above, below, left and right, as often as is said."""

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


def dilated(mask: Mask, times: int) -> Mask:
    """Grow a mask."""
    for _ in range(times):
        grown = mask.copy()
        grown[1:] |= mask[:-1]
        grown[:-1] |= mask[1:]
        grown[:, 1:] |= mask[:, :-1]
        grown[:, :-1] |= mask[:, 1:]
        mask = grown
    return mask


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
