"""How improbable a distance between groups is where clusters of each group may vary in their own way."""

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.icc import ICC_GRID

_LEAST_APART = 0.02
"""Part of the variance of a difference that matched clusters leave at least."""
_AT_ONCE = 4_000
"""Comparisons that are worked out together."""


def behrens_fisher_test(
    seen: ArrayLike, parts: ArrayLike, alike: ArrayLike, weights: Floats, dimensions: ArrayLike = 1.0
) -> Floats:
    r"""p-value that groups differ no more than clusters do, of which each group's vary in their own way.

    A squared distance :math:`X` has, where nothing differs, the mean :math:`E = Σ_g c_g (1 + a_g ρ_g)`, and
    :math:`νX/E` is about :math:`χ^2_ν`. Exchanged, clusters of all groups would have to vary alike
    (Behrens and Fisher's problem). :math:`p` is averaged over the correlations :math:`ρ_g`, all groups at the
    same quantile of what is believed of theirs: what misleads of one group misleads of the others too.

    seen: :math:`X`, such as a squared difference of shares or a divergence; shape ``(…)``.
    parts: What each group's members would add to it if they were independent, :math:`c_g`, shape ``(…, G)``.
    alike: :math:`a_g = Σn_c^2/Σn_c - 1` over the members of each cluster, shape ``(…, G)``.
    weights: How probable each correlation of :data:`ICC_GRID` is in each group, shape ``(…, G, 16)``.
    dimensions: :math:`ν`, shape ``(…)``.
    Returns: p of shape ``(…)``, in [0, 1]; 1 where nothing is seen.
    Source: Fisher (1935), Annals of Eugenics 6 (the problem); Satterthwaite (1946), Biometrics Bulletin 2
        (sums of variances).

    >>> import numpy as np
    >>> independent = np.eye(16)[[0, 0]]
    >>> round(float(behrens_fisher_test(0.2**2, [0.005, 0.005], [0, 0], independent)), 4)  # z = 2
    0.0455
    """
    x = np.asarray(seen, np.float64)
    shape, groups = x.shape, np.shape(parts)[-1]
    of_groups = [np.reshape(np.asarray(of, np.float64), (-1, groups)) for of in (parts, alike)]
    every = np.reshape(weights, (-1, groups, ICC_GRID.size))
    nu = np.broadcast_to(np.asarray(dimensions, np.float64), shape).ravel()
    flat, p = x.ravel(), np.empty(x.size)
    for start in range(0, x.size, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        noise, steps = _noise(*(of[some] for of in (*of_groups, every)))
        half = nu[some, None] / 2
        far = np.divide(flat[some, None], noise, out=np.zeros_like(noise), where=noise > 0)
        # Of one dimension the tail is the normal one, which is found sooner.
        one = bool((half == 0.5).all())
        tail = special.erfc(np.sqrt(far / 2)) if one else special.gammaincc(half, half * far)
        p[some] = (steps * tail).sum(axis=1)
    return np.asarray(np.clip(p, 0.0, 1.0).reshape(shape))


def part_apart(variance: Floats, correlation: Floats) -> Floats:
    r"""Part of the variance of a difference that is left where clusters are matched; the rest they share.

    :math:`1 - 2r\sqrt{V_1 V_2}/(V_1 + V_2)`.

    variance: :math:`V` of both sides, above 0, shape ``(…, 2)``.
    correlation: :math:`r` of their shares (:func:`shared_correlation`), shape ``(…)``.
    Returns: Shape ``(…)``, in [0.02, 1].
    """
    shared = 2 * correlation * np.sqrt(variance.prod(axis=-1)) / variance.sum(axis=-1)
    return np.asarray(np.maximum(1 - shared, _LEAST_APART))


def _noise(parts: Floats, alike: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Means of the distance where nothing differs, and how probable each is."""
    # Where a group's quantile passes from one correlation to the next, its part of the mean grows.
    ends = np.cumsum(weights, axis=-1)[..., :-1].reshape(len(parts), -1)
    steps = ((parts * alike)[..., None] * np.diff(ICC_GRID)).reshape(ends.shape)
    order = np.argsort(ends, axis=1, kind="stable")
    grown = np.cumsum(np.take_along_axis(steps, order, axis=1), axis=1)
    least = (parts * (1 + alike * ICC_GRID[0])).sum(axis=1, keepdims=True)
    noise = np.concatenate([least, least + grown], axis=1)
    edge = np.zeros((len(parts), 1))
    ends = np.concatenate([edge, np.take_along_axis(ends, order, axis=1), edge + 1], axis=1)
    return noise, np.diff(ends, axis=1)
