"""Areas of polygons with corners on equally spaced axes, as radar charts draw them."""

import math
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import normal_quantile

MOST_EXACT = 8
"""Axes up to which every order is looked at: 2,520 of them."""

SAMPLED = 5_000
"""Orders drawn where there are more axes."""


def radar_weights(m: int) -> Floats:
    r"""Weights of the products of two corners in the area of a polygon on ``m`` axes, at least 3.

    The area is :math:`\frac12 \sin(2π/m) Σ_i x_i x_{i+1}`. As a share of the polygon whose corners are
    all 1 it is :math:`\frac1m Σ_i x_i x_{i+1}`: every pair of neighbours weighs 1/m, any other 0.

    Returns: Shape (m, m), symmetric, for :func:`pairwise_score`.
    """
    _check(m)
    weights = np.zeros((m, m))
    at = np.arange(m)
    weights[at, (at + 1) % m] = weights[(at + 1) % m, at] = 1.0 / m
    return weights


def any_order_weights(m: int) -> Floats:
    """Weights of the products in the mean of that area over all orders of the ``m`` axes.

    In a random order any two axes are neighbours equally often, so that the mean is that of
    :math:`x_i x_j` over all :math:`i ≠ j`.

    Returns: Shape (m, m), symmetric, for :func:`pairwise_score`.
    """
    _check(m)
    return (np.ones((m, m)) - np.eye(m)) * (2.0 / (m * (m - 1)))


def _check(m: int) -> None:
    if m < 3:
        raise UsageError(f"a polygon needs at least 3 axes, found {m}")


def pairwise_score(weights: Floats, scores: ArrayLike) -> Floats:
    """Sum over pairs of their weight times their product; ``scores`` of shape (…, m)."""
    x = np.asarray(scores, np.float64)
    summed: Floats = np.einsum("...i,ij,...j->...", x, weights, x) / 2.0
    return summed


def pairwise_interval(
    linear: ArrayLike,
    weights: Floats,
    low: ArrayLike,
    high: ArrayLike,
    *,
    scores: ArrayLike | None = None,
    limits: tuple[float, float] = (-math.inf, math.inf),
    level: float = 0.95,
) -> tuple[float, float]:
    """Interval of a sum of independent scores and of products of two of them, by square-and-add.

    Around the middles :math:`c_i` of the intervals with half-widths :math:`h_i`, the half-width is the
    root of :math:`Σ_i g_i^2 h_i^2 + Σ_{i<j} w_{ij}^2 h_i^2 h_j^2` with the gradient :math:`g = a + Wc`: the
    variance of the sum, each variance taken from its interval.

    Chance errors of several scores cancel, biases add up. The middle of a ``curved``
    :meth:`Resample.interval <stereotrope.stats.Resample.interval>` is half a bias below the score: with
    :math:`b_i = 2(x_i - c_i)` the parts :math:`z^2 b_i^2` of :math:`h_i^2` enter together, as
    :math:`z^2 (Σ_i g_i b_i)^2`. An interval that was cut at a limit shows no bias: such a score stands at the
    limit for that end of the sum.

    linear: Weights :math:`a` of the scores, shape (m,).
    weights: Weights :math:`W` of the pairs, shape (m, m), symmetric with zeros in the diagonal.
    low, high: Ends of the scores' intervals, shape (m,), all of one level.
    scores: The scores :math:`x_i`; the middles of their intervals, no bias, when None.
    limits: Least and greatest score, at which intervals were cut.
    Returns low, high: Of the sum, at that level; NaN where an end is.
    Source: Zou and Donner (2008), Statistics in Medicine 27 (variance estimates recovered from intervals).
    """
    a, below, above = (np.asarray(ends, np.float64) for ends in (linear, low, high))
    middle, half = (below + above) / 2.0, (above - below) / 2.0
    x = middle if scores is None else np.asarray(scores, np.float64)
    lowest, highest = below <= limits[0], above >= limits[1]
    bias = normal_quantile(level) * np.where(lowest | highest, 0.0, 2.0 * (x - middle))
    spread = np.sqrt(np.maximum(half**2 - bias**2, 0.0))
    least, reach = _around(a, weights, np.where(lowest, below, middle), np.where(lowest, 0.0, spread), bias)
    most, rise = _around(a, weights, np.where(highest, above, middle), np.where(highest, 0.0, spread), bias)
    return least - reach, most + rise


def _around(a: Floats, weights: Floats, middle: Floats, spread: Floats, bias: Floats) -> tuple[float, float]:
    gradient = a + weights @ middle
    squares = (gradient * spread) ** 2
    pairs = (weights * np.outer(spread, spread)) ** 2 / 2.0
    together = float(gradient @ bias) ** 2
    score = float(a @ middle + pairwise_score(weights, middle))
    return score, math.sqrt(float(squares.sum() + pairs.sum()) + together)


def axis_orders(m: int, *, seed: int = 0) -> NDArray[np.int64]:
    """Circular orders of ``m`` axes, at least 3, those that a turn or a mirror makes alike once.

    Returns: Shape (k, m), the first axis always first: all (m − 1)!/2 of them up to 8 axes, above that 5,000
        drawn at random.
    """
    _check(m)
    if m <= MOST_EXACT:
        rest = [order for order in permutations(range(1, m)) if order[0] < order[-1]]
        return np.array([(0, *order) for order in rest], np.int64)
    rng = np.random.default_rng([seed, 5, m])
    drawn = rng.permuted(np.tile(np.arange(1, m), (SAMPLED, 1)), axis=1)
    return np.column_stack([np.zeros(SAMPLED, np.int64), drawn])
