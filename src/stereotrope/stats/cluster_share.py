"""Interval of a share over clusters that stand alone: nothing else says how alike their members are."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.icc import ICC_GRID, Crossed, effective_counts
from stereotrope.stats.intervals import wilson

_NONE = 0.3
"""How probable it is beforehand that members are not alike at all; by simulation."""
_PRIOR = (1 - _NONE) * np.gradient(ICC_GRID) / np.gradient(ICC_GRID).sum()
_PRIOR[0] += _NONE
_UNLIKE = 0.1
"""Squared coefficient of variation up to which sizes of clusters are alike."""
_NODES, _PASSES, _LEFT_OUT = 64, 3, 1e-6
"""Shares that are weighed at once, how often these close in, and what each time leaves out at an end."""


def sizes_alike(m: ArrayLike, n: ArrayLike, squares: ArrayLike) -> NDArray[np.bool_]:
    """Whether clusters are so alike in size that a share of members is one of clusters, too.

    m, n, squares: Clusters, their members, and the sum of squares of these; of one cell or many.
    """
    clusters, members, of = (np.asarray(x, np.float64) for x in (m, n, squares))
    return np.asarray(clusters * of <= (1 + _UNLIKE) * members**2, np.bool_)


def cluster_share_interval(
    k: ArrayLike,
    n: ArrayLike,
    *,
    level: float = 0.95,
    told: ArrayLike = 0.0,
    crossed: Crossed | None = None,
) -> tuple[float, float]:
    r"""Interval of the share of which clusters are drawn, by the likelihood of their counts.

    Counts are beta-binomial with share :math:`μ` and intra-class correlation :math:`ρ`
    (:func:`~stereotrope.stats.icc_evidence`). The ends are the quantiles ``(1 − level)/2`` and
    ``(1 + level)/2`` of :math:`μ`, with Jeffreys' prior of a binomial share, averaged over :math:`ρ`: none
    with a probability of 0.3, all others as likely. What counts that read alike say of :math:`μ` and of
    :math:`ρ` is so believed together, and a rare value has its longer side where its clusters may lie.

    k, n: Successes and trials of each cluster, shape ``(m,)``.
    told: What others say of the correlation, log-likelihoods of shape ``(16,)``.
    crossed: Groups across clusters that make members alike as well, such as pictures of one seed.
    Returns low, high: In [0, 1]; exactly 0 where ``k`` is 0, 1 where all are successes. Wilson's interval
        at the effective number (:func:`~stereotrope.stats.effective_counts`) where no cluster has two
        members, there is but one, or sizes are unlike: the likelihood is of the mean of clusters, and the
        share of members may lie elsewhere; and where groups cross the clusters.
    Undefined: NaN without a trial.
    Source: Williams (1975), Biometrics 31 (the counts); Brown, Cai and DasGupta (2001), Statistical
        Science 16 (Jeffreys' interval, which covers where Wilson's does).

    >>> low, high = cluster_share_interval([3, 5, 9, 2], [10] * 4)
    >>> round(low, 2), round(high, 2)
    (0.24, 0.75)
    """
    successes, trials = (np.asarray(of, np.float64)[np.asarray(n) > 0] for of in (k, n))
    hits, total = float(successes.sum()), float(trials.sum())
    if crossed is None and trials.size and trials.min() == trials.max() == 1.0:
        return _independent(hits, total, level)
    alike = sizes_alike(trials.size, total, float(trials @ trials))
    if trials.size < 2 or trials.max() < 2 or not alike or crossed is not None:
        counted = effective_counts(successes, trials, level=level, crossed=crossed)
        low, high = wilson(*counted, level=level)
        return float(low), float(high)
    counts, times = np.unique(np.stack([successes, trials]), axis=1, return_counts=True)
    weighed = np.log(_PRIOR) + np.asarray(told, np.float64)
    tail = (1 - level) / 2
    ends, at, below = (0.0, np.pi / 2), np.zeros(1), np.zeros(1)
    for _ in range(_PASSES):
        at = np.linspace(*ends, _NODES + 1)
        middle = (at[1:] + at[:-1]) / 2
        by_icc = _log_likelihood(counts, times, np.sin(middle) ** 2) + weighed
        below = np.append(0.0, np.cumsum(special.softmax(special.logsumexp(by_icc, axis=1))))
        first, last = np.searchsorted(below, [_LEFT_OUT, 1 - _LEFT_OUT])
        ends = float(at[max(first - 1, 0)]), float(at[min(last, _NODES)])
    low, high = np.sin(np.interp([tail, 1 - tail], below, at)) ** 2
    return 0.0 if hits <= 0 else float(low), 1.0 if hits >= total else float(high)


@lru_cache(maxsize=4096)
def _independent(k: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's interval; cells of captions that stand alone ask for few different ones, each often."""
    low, high = wilson(k, n, level=level)
    return float(low), float(high)


def _log_likelihood(counts: Floats, times: NDArray[np.int64], share: Floats) -> Floats:
    """Of each share and correlation, the latter along the last axis; without the binomial coefficients.

    counts, times: Successes and trials that occur, and in how many clusters.
    """
    k, n = counts
    spread = (1 - ICC_GRID[1:]) / ICC_GRID[1:]
    a, b = share[:, None] * spread, (1 - share)[:, None] * spread
    alike = special.gammaln(spread) - special.gammaln(a) - special.gammaln(b)
    found = np.zeros((share.size, ICC_GRID.size))
    for hits, of, often in zip(k, n, times, strict=True):
        rising = special.gammaln(a + hits) + special.gammaln(b + of - hits) - special.gammaln(spread + of)
        found[:, 1:] += often * (rising + alike)
        found[:, 0] += often * (hits * np.log(share) + (of - hits) * np.log1p(-share))
    return found
