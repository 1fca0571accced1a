"""Means and shares of clusters, whose members are alike; which are clusters is for others to decide."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from stereotrope.errors import UsageError
from stereotrope.stats.agreement import pearson
from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import normal_quantile

_MOST_SUMS = 2_000
"""Different sums of residuals that are told apart."""
_ALIKE = 0.99
"""Greatest correlation that matched clusters are taken to have."""
_COUNTED_OUT = 160
"""Clusters of both sides up to which the ways to exchange them are counted out."""

_Ints = NDArray[np.int64]


def cluster_permutation_test(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike
) -> tuple[float, float]:
    r"""Exact two-sided p-value that two sides are made of like clusters, by exchanging whole ones.

    With :math:`\bar p` the share of all, :math:`T = Σ_{c ∈ 1} (k_c - \bar p n_c)`; p is the part of all ways
    to choose the first side's clusters in which :math:`|T|` is as large. The ways are counted out, not drawn,
    so that p may be as small as :math:`1/\binom{m_1+m_2}{m_1}`; of more than 160 clusters :math:`T` is taken
    for normal. The level holds at any intra-class correlation.

    k1, n1, k2, n2: Successes and trials of each cluster of both sides, shapes ``(m1,)`` and ``(m2,)``; whole
        numbers, at least one trial each. Clusters of unlike sizes are weighed to about a thousandth.
    Returns p, p_least: In (0, 1], and the least p that some choice of these clusters would have had; NaN
        where a side has no cluster.
    Source: Gail, Mark, Carroll, Green and Pee (1996), Statistics in Medicine 15 (whole clusters exchanged);
        Pagano and Tritchler (1983), JASA 78 (counting out).
    """
    k, n = (np.concatenate([np.asarray(x, np.int64) for x in both]) for both in ((k1, k2), (n1, n2)))
    m, first = k.size, np.size(k1)
    if not 0 < first < m:
        return float("nan"), float("nan")
    residuals = n.sum() * k - n * k.sum()
    smaller = slice(first) if 2 * first <= m else slice(first, m)
    chosen = min(first, m - first)
    if m > _COUNTED_OUT:
        ends = residuals[smaller].sum(), np.sort(residuals)[:chosen].sum(), np.sort(residuals)[-chosen:].sum()
        sd = np.sqrt(chosen * (m - chosen) / m * residuals.var(ddof=1))
        seen, *extremes = (2 * special.ndtr(-abs(end) / sd) if sd else 1.0 for end in ends)
        return float(seen), float(min(extremes))
    steps = _steps(residuals, chosen)
    ways = _chosen(steps, chosen)
    # Times m, so that distances from the middle are whole numbers.
    far = np.abs(m * np.arange(ways.size) - chosen * steps.sum())
    distances = abs(m * steps[smaller].sum() - chosen * steps.sum()), far[ways > 0].max()
    p, least = (float(ways[far >= distance].sum() / ways.sum()) for distance in distances)
    return min(1.0, p), min(1.0, least)


def cluster_flip_test(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> tuple[float, float]:
    r"""Exact two-sided p-value that either side of matched clusters might be the other.

    As :func:`cluster_permutation_test`, but the sides of each pair are exchanged: p is the part of all
    :math:`2^m` ways to do so in which the difference of the sides' residuals is as large, so that what the
    sides of a pair have in common does not count. Of pairs of one member it is the exact test of McNemar.

    k1, n1, k2, n2: Successes and trials of each cluster, those of one pair at one place, shapes ``(m,)``;
        whole numbers.
    Returns p, p_least: In (0, 1], and the least p of some of these ways; NaN without a pair.
    Source: Gail, Mark, Carroll, Green and Pee (1996), Statistics in Medicine 15.
    """
    k, n = (np.array(both, np.int64) for both in ((k1, k2), (n1, n2)))
    if not k.size:
        return float("nan"), float("nan")
    gaps = np.diff(n.sum() * k - n * k.sum(), axis=0)[0]
    if gaps.size > _COUNTED_OUT:
        reach = np.array([abs(gaps.sum()), np.abs(gaps).sum()]) / max(1.0, np.sqrt(np.sum(gaps * gaps)))
        seen, least = (2 * special.ndtr(-reach)).tolist()
        return seen, least
    steps = gaps // max(1, int(np.gcd.reduce(gaps)))
    steps = np.rint(steps * min(1.0, _MOST_SUMS / max(1, int(np.abs(steps).sum())))).astype(np.int64)
    most = int(np.abs(steps).sum())
    ways = np.zeros(most + 1)
    ways[0] = 1.0
    for step in np.abs(steps).tolist():
        ways = 0.5 * (ways + np.concatenate([np.zeros(step), ways[: ways.size - step]]))
    far = np.abs(2 * np.arange(most + 1) - most)
    p, least = (float(ways[far >= distance].sum()) for distance in (abs(steps.sum()), most))
    return min(1.0, p), min(1.0, least)


def shared_correlation(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> float:
    """Correlation of the shares of matched clusters, one standard error below the one seen, at least 0.

    So little is believed for :func:`~stereotrope.stats.newcombe` to narrow an interval by: by all that is
    seen, intervals of 4 to 20 pairs would cover 0.82 to 0.96.

    k1, n1, k2, n2: Successes and trials of each cluster, those of one pair at one place, shapes ``(m,)``.
    Returns: In [0, 1); 0 where a side does not vary.
    """
    shares = [np.asarray(k, np.float64) / np.asarray(n, np.float64) for k, n in ((k1, n1), (k2, n2))]
    if min(map(np.ptp, shares)) <= 0:
        return 0.0
    seen = np.clip(float(pearson(*shares)), -_ALIKE, _ALIKE)
    return max(0.0, float(np.tanh(np.arctanh(seen) - 1 / np.sqrt(max(1, shares[0].size - 3)))))


def _steps(residuals: _Ints, chosen: int) -> _Ints:
    """Residuals as small whole numbers from 0."""
    steps = residuals - residuals.min()
    steps //= max(1, int(np.gcd.reduce(steps)))
    reach = int(np.sort(steps)[-chosen:].sum())
    return np.asarray(np.rint(steps * min(1.0, _MOST_SUMS / max(1, reach))), np.int64)


def _chosen(steps: _Ints, chosen: int) -> Floats:
    """In proportion, the ways in which so many chosen ones have each sum."""
    most = int(np.sort(steps)[-chosen:].sum())
    ways = np.zeros((chosen + 1, most + 1))
    ways[0, 0], odds, reach = 1.0, chosen / steps.size, 0
    for left, step in zip(range(steps.size - 1, -1, -1), np.sort(steps).tolist(), strict=True):
        # Only what can still become a choice of so many, and sums that are reached by now.
        low, high = max(0, chosen - left), min(chosen, steps.size - left)
        reach = min(most, reach + step)
        # In with a probability, so that neither many nor few ways leave the range of a float.
        more = odds * ways[max(0, low - 1) : high, : reach + 1 - step]
        ways[low : high + 1, : reach + 1] *= 1 - odds
        ways[max(1, low) : high + 1, step : reach + 1] += more
    return np.asarray(ways[chosen])


def cluster_bootstrap_mean(
    values: ArrayLike,
    cluster: ArrayLike | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = 2_000,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Mean and percentile interval by drawing whole clusters with replacement.

    values: Shape ``(n,)``; NaN values are left out.
    cluster: Cluster of each value, shape ``(n,)``; each value its own cluster when None.
    n_resamples, seed: Number of resamples, and the seed of ``numpy.random.default_rng``.
    Returns mean, low, high: The mean of all values (large clusters count more), and the percentile interval
        of that mean.
    Undefined: All NaN without a value; ``low`` and ``high`` NaN with fewer than two clusters, or where all
        clusters are the same and the interval would have no width.
    Source: Davison and Hinkley (1997), Bootstrap Methods and their Application, sections 3.8 and 5.3.
    """
    data = np.asarray(values, np.float64).ravel()
    member = np.arange(data.size) if cluster is None else np.asarray(cluster).astype(str).ravel()
    if member.shape != data.shape:
        raise UsageError(f"clusters: one cluster a value is needed, found {member.size} for {data.size}")
    alpha = 1 - level
    normal_quantile(level)
    kept = ~np.isnan(data)
    if not kept.any():
        return np.nan, np.nan, np.nan
    _, codes = np.unique(member[kept], return_inverse=True)
    sums, sizes = np.bincount(codes, data[kept]), np.bincount(codes).astype(np.float64)
    mean, m = float(sums.sum() / sizes.sum()), sums.size
    if m < 2:
        return mean, np.nan, np.nan
    weights = np.random.default_rng(seed).multinomial(m, np.full(m, 1 / m), size=n_resamples)
    low, high = np.quantile((weights @ sums) / (weights @ sizes), [alpha / 2, 1 - alpha / 2])
    if high - low <= 1e-12 * max(1.0, abs(mean)):
        return mean, np.nan, np.nan
    return mean, float(low), float(high)
