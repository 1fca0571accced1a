"""Shares of values that are made up for the conditions of an audit, and how one of them grows."""

import numpy as np

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats

MANY_VALUES = 8
"""Values of an attribute that are about equally likely to be frequent; of more, about so many are."""


def spread_out(rng: np.random.Generator, rows: int, columns: int) -> Floats:
    """Random numbers in [0, 1), in each column one in each of as many parts as there are rows.

    So a mean over the rows varies less than one of independent numbers does (a Latin hypercube).

    Source: McKay, Beckman and Conover (1979), Technometrics 21.
    """
    parts = rng.permuted(np.tile(np.arange(rows), (columns, 1)), axis=1).T
    return np.asarray((parts + rng.random((rows, columns))) / rows)


def drawn_shares(rng: np.random.Generator, places: int, values: int) -> Floats:
    """Shares of so many values, one row a place, drawn evenly from all that there may be."""
    each = special.gammaincinv(min(1.0, MANY_VALUES / values), spread_out(rng, places, values))
    return np.asarray(each / each.sum(axis=1, keepdims=True))


def shifted(share: Floats, shift: float, named: int, chosen: float) -> Floats:
    """One value's share is ``shift`` larger, those of the others smaller in proportion.

    chosen: In [0, 1): which of the values that can.
    """
    able = np.flatnonzero(share[: named or None] <= 1 - shift)
    value = int(able[int(chosen * able.size)]) if able.size else int(np.argmin(share[: named or None]))
    more = min(1.0, share[value] + shift)
    changed = np.asarray(share * (1 - more) / max(1 - share[value], 1e-12))
    changed[value] = more
    return changed
