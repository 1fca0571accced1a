"""Unified intervals of a length: one-sided where nothing may be there, two-sided further away."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats

_DIMENSIONS = np.array([1, 1.25, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10, 12, 15, 19, 24, 30])
_FREEDOM = np.array([2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 60, np.inf])
"""What is worked out; others are taken for the nearest, degrees of freedom by their inverses."""
_FARTHEST, _LENGTHS, _POINTS, _VARIANCES = 8.0, 51, 500, 24
"""Lengths up to which acceptance is worked out, of which two thirds are used; how many; at how many readings;
and how many variances are averaged over."""


def unified_interval(
    seen: ArrayLike, dimensions: ArrayLike, freedom: ArrayLike, *, level: float = 0.95
) -> tuple[Floats, Floats]:
    r"""Interval of the length of a vector of which a noisy one is seen.

    Seen is :math:`x = |μ + Z/\sqrt c|` with :math:`Z` standard normal of :math:`ν` dimensions and
    :math:`c = χ^2_f/f`, since the error is known by :math:`f` degrees of freedom only: of one dimension
    :math:`|t|`. Each length accepts the readings with the greatest
    :math:`p(x | μ) / \max_{μ'} p(x | μ')`, and the interval holds those that accept the one seen. It
    begins at 0 just where the F test of :math:`μ = 0` has :math:`p > 1 - level`, so that 0 is held in 0.95
    too and not in 0.975, and is the two-sided one further away.

    seen, dimensions, freedom: :math:`x`, :math:`ν` (1 or more, not necessarily whole) and :math:`f`.
    Returns low, high: Of the shape of all together.
    Source: Feldman and Cousins (1998), Physical Review D 57.

    >>> low, high = unified_interval([1.0, 3.0, 20.0], 1, float("inf"))
    >>> low.round(1).tolist(), high.round(1).tolist()
    ([0.0, 1.4, 18.1], [2.9, 4.9, 22.0])
    """
    x, nu, f = np.broadcast_arrays(*(np.asarray(one, np.float64) for one in (seen, dimensions, freedom)))
    nearest = np.abs(np.log(_DIMENSIONS) - np.log(np.maximum(nu, 1.0))[..., None]).argmin(axis=-1)
    known = np.abs(1 / _FREEDOM - 1 / np.maximum(f, 1.0)[..., None]).argmin(axis=-1)
    low, high = np.full(x.shape, np.nan), np.full(x.shape, np.nan)
    for at, by in set(zip(nearest.ravel().tolist(), known.ravel().tolist(), strict=True)):
        here = (nearest == at) & (known == by)
        low[here], high[here] = _inverted(x[here], float(_DIMENSIONS[at]), float(_FREEDOM[by]), level)
    return low, high


def _inverted(x: Floats, nu: float, f: float, level: float) -> tuple[Floats, Floats]:
    lengths, least, most = _accepted(nu, f, level)
    # Ties, as all lengths that accept 0, to the length that is furthest from what is seen.
    apart = np.arange(lengths.size) * 1e-9
    ends = []
    for reading, shift in ((most, 0.0), (least, apart[-1])):
        beyond = lengths[-1] + _debiased(x, nu) - _debiased(reading[-1:], nu)
        ends.append(np.where(x > reading[-1], beyond, np.interp(x, reading + apart - shift, lengths)))
    return ends[0], ends[1]


def _debiased(x: Floats, nu: float) -> Floats:
    return np.asarray(np.sqrt(np.maximum(x * x - nu + 1, 0.0)))


@lru_cache(maxsize=1024)
def _accepted(nu: float, f: float, level: float) -> tuple[Floats, Floats, Floats]:
    """Lengths, and the least and greatest reading that each accepts."""
    lengths = np.linspace(0.0, 1.0, _LENGTHS) ** 1.3 * _FARTHEST
    parts = (np.arange(_VARIANCES) + 0.5) / _VARIANCES
    scales = np.ones(1) if np.isinf(f) else special.gammaincinv(f / 2, parts) * 2 / f
    end = _FARTHEST + 3 + np.sqrt(nu) + 4 / np.sqrt(scales.min())
    part = (np.arange(_POINTS) + 0.5) / _POINTS
    x, width = end * part**1.4, end * 1.4 * part**0.4 / _POINTS
    density = np.mean([_density(x, lengths, nu, c) for c in scales], axis=0)
    ratio = density / np.maximum(density.max(axis=0), np.finfo(np.float64).tiny)
    found = []
    for weight, best in zip(density * width, ratio, strict=True):
        order = np.argsort(-best, kind="stable")
        last = int(np.searchsorted(np.cumsum(weight[order]), level))
        taken = order[: last + 1]
        found.append((x[taken.min()] if taken.min() else 0.0, x[taken.max()]))
    used = lengths <= _FARTHEST * 2 / 3
    least, most = np.maximum.accumulate(np.array(found), axis=0)[used].T
    return lengths[used], least, most


def _density(x: Floats, lengths: Floats, nu: float, c: float) -> Floats:
    """Of each reading at each length, where the variance is 1/c: Poisson mixture of central ones."""
    half, reading = c * lengths[:, None] ** 2 / 2, c * x**2
    terms = np.arange(int(half.max() + 9 * np.sqrt(half.max()) + 15))
    shape = nu / 2 + terms[:, None]
    central = np.exp((shape - 1) * np.log(reading / 2) - reading / 2 - special.gammaln(shape)) * c * x
    poisson = np.exp(terms * np.log(np.maximum(half, 1e-300)) - half - special.gammaln(terms + 1))
    return np.asarray(poisson @ central)
