"""Bootstrap of counts: images drawn again within their condition, as weights times one-hot columns."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.stats.arrays import Counts, Floats
from stereotrope.stats.counts import (
    OneHot,
    attribute_columns,
    hot_columns,
    mean_pair_floor,
    mean_pair_js,
    one_hot,
    tally_draws,
)
from stereotrope.stats.distinct_rows import DistinctRows
from stereotrope.stats.divergence import js_terms
from stereotrope.stats.draw_costs import ONE_BY_ONE, few
from stereotrope.stats.packed import PackedWeights
from stereotrope.stats.redraws import redrawn_counts

_DEGENERATE = 1e-12
_PSEUDO_IMAGES = 2.0
"""Images' worth of the pool that each group is smoothed with; chosen by simulation (tests/stats)."""


def resampled_counts(
    codes: ArrayLike, *, n_resamples: int, seed: int = 0, stream: int = 0
) -> list[NDArray[np.int32]]:
    """Counts of each value when the images are drawn again with replacement, all attributes together.

    codes: As in :func:`stereotrope.stats.shuffled_js`.
    seed, stream: Seed of the draws, and a number that keeps groups drawn with one seed independent.
    Returns: Of each attribute, by value that occurs (rising), shape (n_values, n_resamples).
    """
    matrix = np.asarray(codes)
    n, n_attributes = matrix.shape
    if not n:
        return [np.zeros((0, n_resamples), np.int32)] * n_attributes
    if n <= ONE_BY_ONE:
        columns, attribute, _ = hot_columns(matrix)
        counts = _kept_draws(n, n_resamples, seed, stream).counts(columns)
    else:
        rows = DistinctRows.of(matrix, np.zeros(n, np.int64), 1)
        hot = one_hot(rows.codes)
        attribute, counts = hot.attribute, redrawn_counts(hot, rows.totals, n_resamples, (seed, 9, n, stream))
    return [counts[place] for place in attribute_columns(attribute, n_attributes)]


def _drawn(n: int, n_resamples: int, seed: int, stream: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, 1, n, stream]).integers(0, n, size=(n_resamples, n))


_KEPT_CELLS = 1 << 19
"""Numbers up to which weights are kept for further groups of the same sizes."""


@lru_cache(maxsize=32)
def _kept_draws(n: int, n_resamples: int, seed: int, stream: int) -> PackedWeights:
    return PackedWeights.of(tally_draws(_drawn(n, n_resamples, seed, stream), n), n)


@lru_cache(maxsize=256)
def _kept_weights(
    first: int, n: int, total: int, n_resamples: int, seed: int, stream: int, attribute: int
) -> PackedWeights:
    own = _drawn(n, n_resamples, seed, stream) + first
    rng = np.random.default_rng([seed, 2, n, total, stream, attribute])
    borrowed = rng.integers(0, total, size=(n_resamples, n))
    mixed = np.where(rng.random((n_resamples, n)) < _borrowed_share(n), borrowed, own)
    return PackedWeights.of(tally_draws(mixed, total), n)


def _borrowed_share(n: int) -> float:
    return _PSEUDO_IMAGES / (n + _PSEUDO_IMAGES)


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
    sizes = np.bincount(group).tolist()
    of_images = _one_by_one if few(sizes) and len(matrix) * n_resamples <= _KEPT_CELLS else _by_rows
    hot, counts = of_images(matrix, group, sizes, n_resamples, seed)
    return ResampledJS(
        js=mean_pair_js(counts, sizes, hot).T,
        floor=mean_pair_floor(counts, sizes, hot).T,
    )


def _one_by_one(
    codes: NDArray[np.integer], group: NDArray[np.int64], sizes: list[int], n_resamples: int, seed: int
) -> tuple[OneHot, list[Counts]]:
    """Counts of each group; its images are drawn by numbers that further groups of these sizes share."""
    hot = one_hot(codes[np.argsort(group, kind="stable")])
    if not hot.parts:
        return hot, [np.zeros((0, n_resamples), np.float32)] * len(sizes)
    counts = []
    for g, (first, n) in enumerate(zip(accumulate(sizes, initial=0), sizes, strict=False)):
        kept = [_kept_weights(first, n, len(codes), n_resamples, seed, g, k) for k in range(len(hot.parts))]
        products = [one.product(hot.columns[part]) for one, (_, part) in zip(kept, hot.parts, strict=True)]
        counts.append(kept[0].unpacked(np.concatenate(products, axis=-1)).astype(np.float32, order="C"))
    return hot, counts


def _by_rows(
    codes: NDArray[np.integer], group: NDArray[np.int64], sizes: list[int], n_resamples: int, seed: int
) -> tuple[OneHot, list[Counts]]:
    """Counts of each group, first as they are drawn, then with the labels that are borrowed."""
    rows = DistinctRows.of(codes, group, len(sizes))
    hot = one_hot(rows.codes, rows.totals)
    counts = []
    for g, (n, own) in enumerate(zip(sizes, rows.counts, strict=True)):
        drawn = redrawn_counts(hot, own, n_resamples, (seed, 10, n, g))
        for rank, (_, part) in enumerate(hot.parts):
            pool = np.append(hot.totals[part], len(codes) - hot.totals[part].sum())
            borrowed = _borrowed(n, len(codes), n_resamples, (seed, 11, n, g, len(codes), rank))
            _borrow(drawn[part], pool, borrowed)
        counts.append(drawn.astype(np.float32, order="C"))
    return hot, counts


class _Borrowed(NamedTuple):
    """Which draws take their label from the pool: ``place`` of resample ``of``, that of image ``pick``."""

    of: NDArray[np.int64]
    place: NDArray[np.int64]
    pick: NDArray[np.int64]


@lru_cache(maxsize=128)
def _borrowed(n: int, total: int, n_resamples: int, key: tuple[int, ...]) -> _Borrowed:
    """Each of ``n`` draws borrows with a probability from the ``total`` images of all groups."""
    rng = np.random.default_rng(key)
    of = np.repeat(np.arange(n_resamples), rng.binomial(n, _borrowed_share(n), size=n_resamples))
    place = np.sort(of * n + rng.integers(0, n, len(of)))
    while (twice := np.diff(place, prepend=-1) == 0).any():
        place[twice] = of[twice] * n + rng.integers(0, n, int(twice.sum()))
        place.sort()
    return _Borrowed(of, place - of * n, rng.integers(0, total, len(of)))


def _borrow(counts: NDArray[np.int32], pool: NDArray[np.int64], borrowed: _Borrowed) -> None:
    """Have counts of an attribute gain and lose what is borrowed.

    Which draws borrow does not depend on what they show, so draws may be taken to lie in the order of their
    values: each loses that of its place, and gains that of an image of the pool.

    counts: By value and resample; they are changed.
    pool: Images of all groups by value, and last those without a label.
    """
    own = np.append(np.flatnonzero(counts.any(axis=1)), len(counts))
    up_to = np.cumsum(counts[own[:-1]], axis=0).take(borrowed.of, axis=1)
    lost = own[(borrowed.place >= up_to).sum(axis=0)]
    gained = np.searchsorted(np.cumsum(pool), borrowed.pick, side="right")
    for value, by in ((lost, -1), (gained, 1)):
        some = value < len(counts)
        np.add.at(counts, (value[some], borrowed.of[some]), np.int32(by))


def js_interval(
    value: ArrayLike, floor: ArrayLike, js: Floats, floors: Floats, *, reach: float
) -> tuple[Floats, Floats]:
    r"""Bootstrap interval of the JS of two populations, in bits.

    From :math:`v - f - z\,sd(JS^* - f^*)` to
    :math:`\frac{v - f}{1 - f} + z\,sd\left(\frac{JS^* - f^*}{1 - f^*}\right)`. With many values the excess
    over the floor is too low where sides differ, for the floor is what sides of one population read; the
    adjusted score is too high. What is true lies between, and so do both where there are few values. Below
    the floor the adjusted score is the lower one, and both ends are from it.

    value, floor: Divergence seen and its noise floor, shape (…).
    js, floors: Those of resamples, shape (R, …); NaN ones are left out.
    reach: How many standard deviations, such as the normal quantile.
    Returns: Lower and upper end, not cut at 0 and 1. NaN without two resamples, or without room above the
        floor.
    """
    seen, null = np.asarray(value, np.float64), np.asarray(floor, np.float64)
    excess = js - floors
    adjusted = (seen - null) / _room(null)
    low = np.minimum(seen - null, adjusted) - reach * _sd(excess)
    high = adjusted + reach * _sd(excess / _room(floors))
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
