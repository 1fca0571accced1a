"""Bootstrap of counts: images drawn again within their condition, as weights times one-hot columns."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.stats.arrays import Counts, Floats
from stereotrope.stats.counts import (
    mean_pair_floor,
    mean_pair_js,
    one_hot,
    tally,
    tally_draws,
)
from stereotrope.stats.divergence import js_terms

_DEGENERATE = 1e-12
_PSEUDO_IMAGES = 2.0
"""Images' worth of the pool that each group is smoothed with; chosen by simulation (tests/stats)."""
_KEPT_CELLS = 1 << 19
"""Greatest table of weights that is kept for further groups of the same sizes, 256 of them at most; in whole
numbers of a byte, which hold what fewer than 256 images are drawn."""


def _drawn(n: int, n_resamples: int, seed: int, stream: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, 1, n, stream]).integers(0, n, size=(n_resamples, n))


def _smoothed_weights(
    first: int, n: int, total: int, n_resamples: int, seed: int, stream: int, attribute: int
) -> Counts:
    own = _drawn(n, n_resamples, seed, stream) + first
    rng = np.random.default_rng([seed, 2, n, total, stream, attribute])
    borrowed = rng.integers(0, total, size=(n_resamples, n))
    mixed = np.where(rng.random((n_resamples, n)) < _borrowed_share(n), borrowed, own)
    return tally_draws(mixed, total)


@lru_cache(maxsize=256)
def _kept_weights(*key: int) -> NDArray[np.uint8]:
    return _smoothed_weights(*key).astype(np.uint8)


def _borrowed_share(n: int) -> float:
    return _PSEUDO_IMAGES / (n + _PSEUDO_IMAGES)


def resampled_counts(columns: Counts, *, n_resamples: int, seed: int = 0, stream: int = 0) -> Counts:
    """Counts by column when the images are drawn again with replacement.

    columns: One row a column to be counted, one column an image, 1 where it counts.
    seed, stream: Seed of the draws, and a number that keeps groups drawn with one seed independent.
    Returns: Shape (n_columns, n_resamples).
    """
    n = columns.shape[1]
    return tally(columns, tally_draws(_drawn(n, n_resamples, seed, stream), n))


@dataclass(frozen=True)
class ResampledJS:
    """Divergences of bootstrap samples, in bits, averaged over the pairs of groups.

    js, floor: Divergence and its closed-form floor, shape (n_resamples, n_attributes).
    """

    js: Floats
    floor: Floats


def resampled_js(codes: ArrayLike, groups: ArrayLike, *, n_resamples: int, seed: int = 0) -> ResampledJS:
    """Divergence and floor of each attribute when images are drawn again within their group.

    The bootstrap is smoothed: each drawn image keeps all its attributes together, except that each
    label is taken from the pool of all groups instead with probability 2/(n + 2), on its own. Without
    it, 20 equal labels against 20 other equal ones would never vary. Simulated coverage is what the 2 was
    chosen by.

    codes, groups: As in :func:`stereotrope.stats.shuffled_js`.
    seed: Seed of the draws. Samples depend on it and on the group sizes only.
    Returns: NaN where a sample leaves fewer than two groups with a label.
    """
    matrix = np.asarray(codes)
    group = np.asarray(groups, dtype=np.int64)
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group).tolist()
    hot = one_hot(matrix[order])
    firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).tolist()
    small = len(group) < 256 and len(group) * n_resamples <= _KEPT_CELLS
    columns = np.split(hot.columns, hot.starts[1:])
    counts = []
    for g, (first, n) in enumerate(zip(firsts, sizes, strict=True)):
        tallied = []
        for rank, part in enumerate(columns):
            key = (first, n, len(group), n_resamples, seed, g, rank)
            weights = _kept_weights(*key).astype(np.float32) if small else _smoothed_weights(*key)
            tallied.append(tally(part, weights))
        counts.append(np.concatenate(tallied))
    return ResampledJS(
        js=mean_pair_js(counts, sizes, hot).T,
        floor=mean_pair_floor(counts, sizes, hot).T,
    )


def js_interval(
    value: ArrayLike, floor: ArrayLike, js: Floats, floors: Floats, *, reach: float
) -> tuple[Floats, Floats]:
    r"""Bootstrap interval of the JS of two populations, in bits.

    From :math:`v - f - z\,sd(JS^* - f^*)` to
    :math:`\frac{v - f}{1 - f} + z\,sd\left(\frac{JS^* - f^*}{1 - f^*}\right)`. With many values the excess
    over the floor is too low where sides differ, for the floor is what sides of one population read; the
    adjusted score is too high. What is true lies between, and so do both where there are few values.

    value, floor: Divergence seen and its noise floor, shape (…).
    js, floors: Those of resamples, shape (R, …); NaN ones are left out.
    reach: How many standard deviations, such as the normal quantile.
    Returns: Lower and upper end, not cut at 0 and 1. NaN without two resamples, or without room above the
        floor.
    """
    seen, null = np.asarray(value, np.float64), np.asarray(floor, np.float64)
    excess = js - floors
    low = seen - null - reach * _sd(excess)
    high = (seen - null) / _room(null) + reach * _sd(excess / _room(floors))
    return np.where(np.isnan(high), np.nan, low), high


def _room(floor: Floats) -> Floats:
    return np.where(floor < 1.0 - _DEGENERATE, 1.0 - floor, np.nan)


def _sd(draws: Floats) -> Floats:
    """Standard deviation of the defined ones along the first axis; NaN where fewer than two are."""
    known = ~np.isnan(draws)
    n = known.sum(axis=0)
    mean = np.where(known, draws, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(known, (draws - mean) ** 2, 0.0).sum(axis=0)
    return np.asarray(np.where(n > 1, np.sqrt(squares / np.maximum(n - 1, 1)), np.nan))


def unanimous_js(n_p: float, n_q: float, *, level: float = 0.95) -> float:
    """Greatest JS that groups showing one same value are compatible with, in bits.

    With :math:`a` and :math:`b` the probabilities of another value, the observation has probability
    :math:`(1-a)^{n_p} (1-b)^{n_q}`. The bound is the greatest JS, the other values being different
    ones, for which that is at least :math:`(1 - level)/2`.

    n_p, n_q: Images in the two groups.
    Returns: In (0, 1]: 0.10 for 20 and 20 images. NaN where a group is empty.
    """
    if min(n_p, n_q) <= 0:
        return float("nan")
    budget = -np.log((1 - level) / 2) * np.linspace(0.0, 1.0, 201)
    a = -np.expm1(-budget / n_p)
    b = -np.expm1(-budget[::-1] / n_q)
    zero = np.zeros_like(a)
    p, q = np.stack([1 - a, a, zero]), np.stack([1 - b, zero, b])
    return float(js_terms(p, q).sum(axis=0).max())
