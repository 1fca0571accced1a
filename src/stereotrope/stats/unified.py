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

_NEAR = 0.2
"""Part of the noise that a divergence is weighed against, where its own error is taken for that near 0."""
_TINY = 1e-9
_WIDEST, _NARROWEST = 4.0, 0.02
"""Bounds of the variance far from 0, in parts of that near 0."""


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


def divergence_interval(
    value: Floats,
    noise: Floats,
    dimensions: Floats,
    error: Floats,
    freedom: int,
    *,
    level: float = 0.95,
) -> tuple[Floats, Floats]:
    r"""Interval of divergences, taken for lengths :math:`φ = \arcsin\sqrt D` of vectors seen with error.

    Near 0 a dimension has the variance that makes the noise, and further away that of the error; between both
    it is weighed by how far the divergence lies above the noise. The degrees of freedom go from
    :math:`f\sqrt ν` to :math:`f`. The weights were chosen by simulation.

    value, noise: Divergences in [0, 1], and what noise adds to each on average; shape ``(n,)``.
    dimensions: :math:`ν` of the noise (:func:`noise_dimensions`), shape ``(n,)``.
    error: Variance of :math:`φ` far from 0.
    freedom: :math:`f`, clusters less groups.
    Returns low, high: In [0, 1].
    Source: Feldman and Cousins (1998), Physical Review D 57.
    """
    # By how much the noise moves the square of what is seen: more, the further away that is.
    above = np.clip(np.maximum(value, noise), 0.0, 1.0)
    near = (_angle(above) ** 2 - _angle(np.maximum(above - noise, 0.0)) ** 2) / dimensions
    far = np.clip(error, near * _NARROWEST, near * _WIDEST)
    part = value / (value + _NEAR * near * dimensions)
    a = np.sqrt(near)
    b = np.exp((1 - part) * np.log(a) + part * np.log(far) / 2)
    known = freedom * ((1 - part) * np.sqrt(dimensions) + part)
    seen = _angle(np.clip(value, 0.0, 1.0))
    # The error goes from a at 0 to b at what is seen, and lengths are counted in errors: so is what noise
    # of ν dimensions leaves of what is seen, of which that much is noise whatever the error there. What lies
    # beyond may be in the direction with most noise: there the error is at least that near 0.
    apart = np.abs(b - a) > _TINY * a
    step = np.where(apart, b - a, 1.0)
    rise = step / np.maximum(seen, _TINY)
    left = seen**2 - (dimensions - 1) * near
    length = np.sqrt(np.maximum(left, 0.0))
    whole, beyond = (np.where(apart, np.log1p(rise * of / a) / rise, of / a) for of in (seen, length))
    x = np.where(left > 0, np.hypot(np.sqrt(dimensions - 1), beyond), seen / a)
    ends = []
    for end in unified_interval(x, dimensions, known, level=level):
        within = np.where(apart, a * np.expm1(np.clip(end * rise, -50.0, 50.0)) / rise, end * a)
        at = np.where(end > whole, seen + (end - whole) * np.maximum(a, b), within)
        ends.append(np.sin(np.clip(at, 0.0, np.pi / 2)) ** 2)
    return ends[0], ends[1]


def noise_dimensions(likeness: Floats, most: Floats, freedom: int, others: int) -> Floats:
    """Of how many dimensions the noise of divergences is, by Satterthwaite's rule.

    likeness: How few the clusters' deviations have (:func:`scatter_likeness`), shape ``(n,)``.
    most: Dimensions at most.
    freedom, others: Clusters less groups; groups less one, or 1.
    Returns: At least 1, shape ``(n,)``.
    Source: Satterthwaite (1946), Biometrics Bulletin 2.
    """
    # Right on average for what a Wishart matrix of so many degrees of freedom has.
    free = max(freedom, 2)
    inverse = free**2 / ((free - 1) * (free + 2)) * (likeness - 1 / free) / others
    return np.asarray(1 / np.clip(inverse, 1 / most, 1.0))


def scatter_likeness(deviations: Floats) -> float:
    r"""One over the dimensions of deviations, :math:`Σ_j λ_j^2 / (Σ_j λ_j)^2` of their products' eigenvalues.

    deviations: Of each cluster, shape ``(k, m)``.
    Returns: In [0, 1]; 0 where there are none.
    """
    k, m = deviations.shape
    products = deviations @ deviations.T if k <= m else deviations.T @ deviations
    total = float(np.trace(products))
    return float((products**2).sum()) / total**2 if total > _TINY**2 else 0.0


def _angle(divergence: Floats) -> Floats:
    return np.asarray(np.arcsin(np.sqrt(divergence)))


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
