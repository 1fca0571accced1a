"""Means and shares of clusters, whose members are alike; which are clusters is for others to decide."""

from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import normal_quantile

_MOST_SUMS = 2_000
"""Different sums of residuals that are told apart."""
_ALIKE = 0.99
"""Greatest correlation that matched clusters are taken to have."""
_COUNTED_OUT = 160
"""Clusters of both sides up to which the ways to exchange them are counted out."""

_SHARE = 720_720
"""What a share of 1 is as a whole number: divisible by all sizes of a cluster up to 16."""
_LISTED = 13_000
"""Ways to exchange them up to which they are listed, eight of sixteen in 12,870: quicker than sums."""
_SUMS_AT_ONCE = 500_000

_Ints = NDArray[np.int64]


def cluster_permutation_test(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike
) -> tuple[Floats, Floats]:
    r"""Exact two-sided p-value that two sides are made of like clusters, by exchanging whole ones.

    With :math:`\bar p` the share of all, :math:`T = Σ_{c ∈ 1} (k_c - \bar p n_c)`; p is the part of all ways
    to choose the first side's clusters in which :math:`|T|` is as large. The ways are counted out, not drawn,
    so that p may be as small as :math:`1/\binom{m_1+m_2}{m_1}`; of more than 160 clusters :math:`T` is taken
    for normal. The level holds at any intra-class correlation.

    Where clusters of one side are larger, :math:`T` knows the sides by their sizes, and most where hardly
    any member counts: one success in eight clusters of five beside eight of ten would be p = 0.0002. There p
    is the greater of this and of the same test of the clusters' shares :math:`k_c / n_c`: of few and of small
    clusters on one side one of both is cautious.

    k1, n1, k2, n2: Successes and trials of each cluster of both sides, shapes ``(…, m1)`` and ``(…, m2)``:
        one comparison or many; whole numbers, at least one trial each. Clusters of unlike sizes are weighed
        to about a thousandth.
    Returns p, p_least: Of shape ``(…)``, in (0, 1], and the least p that some choice of these clusters would
        have had; NaN where a side has no cluster.
    Source: Gail, Mark, Carroll, Green and Pee (1996), Statistics in Medicine 15 (whole clusters exchanged);
        Pagano and Tritchler (1983), JASA 78 (counting out).
    """
    sides = [np.asarray(x, np.int64) for x in (k1, k2, n1, n2)]
    k, n = (np.concatenate(both, axis=-1) for both in (sides[:2], sides[2:]))
    shape, m, first = k.shape[:-1], k.shape[-1], sides[0].shape[-1]
    if not 0 < first < m:
        return np.full(shape, np.nan), np.full(shape, np.nan)
    k, n = k.reshape(-1, m), n.reshape(-1, m)
    p = _exchanged(n.sum(axis=1, keepdims=True) * k - n * k.sum(axis=1, keepdims=True), first)
    unlike = _unlike_sizes(n[:, :first], n[:, first:])
    p[:, unlike] = np.maximum(p[:, unlike], _exchanged(_shares(k[unlike], n[unlike]), first))
    return p[0].reshape(shape), p[1].reshape(shape)


def _unlike_sizes(n1: ArrayLike, n2: ArrayLike) -> NDArray[np.bool_]:
    """Whether clusters of two sides, shapes ``(…, m1)`` and ``(…, m2)``, differ in size; shape ``(…)``."""
    one, other = np.sort(n1, axis=-1), np.sort(n2, axis=-1)
    if one.shape[-1] == other.shape[-1]:
        return np.asarray((one != other).any(axis=-1))
    return np.asarray(np.ptp(np.concatenate([one, other], axis=-1), axis=-1) > 0)


def _shares(k: _Ints, n: _Ints) -> _Ints:
    """Shares as whole numbers, like ones alike."""
    return np.rint(k * (_SHARE / n)).astype(np.int64)


def even_clusters(k: ArrayLike, n: ArrayLike) -> tuple[_Ints, _Ints]:
    """Clusters of one size with the shares of these, so that exchanging them exchanges shares.

    k, n: Successes and trials of each cluster, at least one; shapes ``(…, m)``.
    Returns: Successes, :math:`720720·k/n` to the nearest, and trials, 720,720 each; whole numbers.
    """
    successes, trials = np.asarray(k, np.int64), np.asarray(n, np.int64)
    return _shares(successes, trials), np.full(trials.shape, _SHARE)


def _exchanged(scores: _Ints, first: int) -> Floats:
    """p and least p of the sum over the first clusters, shape ``(2, …)``."""
    m = scores.shape[1]
    smaller = slice(first) if 2 * first <= m else slice(first, m)
    chosen = min(first, m - first)
    if m > _COUNTED_OUT:
        apart = scores - scores.mean(axis=1, keepdims=True)
        ranked = np.sort(apart, axis=1)
        ends = [apart[:, smaller], ranked[:, :chosen], ranked[:, -chosen:]]
        sd = np.sqrt(chosen * (m - chosen) / m * apart.var(axis=1, ddof=1))
        seen, *extremes = (_beyond(np.abs(end.sum(axis=1)), sd) for end in ends)
        return np.stack([seen, np.minimum(*extremes)])
    steps = _steps(scores, chosen)
    # Times m, so that distances from the middle are whole numbers.
    middle = chosen * steps.sum(axis=1)
    far = np.abs(m * steps[:, smaller].sum(axis=1) - middle)
    if comb(m, chosen) <= _LISTED:
        return np.stack(_listed(m * steps, _choices(m, chosen), middle, far))
    return np.array([_counted(*of, chosen) for of in zip(steps, far, strict=True)]).reshape(-1, 2).T


def cluster_flip_test(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> tuple[Floats, Floats]:
    r"""Exact two-sided p-value that either side of matched clusters might be the other.

    As :func:`cluster_permutation_test`, but the sides of each pair are exchanged: p is the part of all
    :math:`2^m` ways to do so in which the difference of the sides' residuals is as large, so that what the
    sides of a pair have in common does not count; where the sides of a pair are unlike in size, the greater
    of this and of the differences of their shares. Of pairs of one member it is the exact test of McNemar.

    k1, n1, k2, n2: Successes and trials of each cluster, those of one pair at one place, shapes ``(…, m)``:
        one comparison or many; whole numbers.
    Returns p, p_least: Of shape ``(…)``, in (0, 1], and the least p of some of these ways; NaN without a
        pair.
    Source: Gail, Mark, Carroll, Green and Pee (1996), Statistics in Medicine 15.
    """
    k, n = (np.stack([np.asarray(x, np.int64) for x in both], axis=-2) for both in ((k1, k2), (n1, n2)))
    shape, m = k.shape[:-2], k.shape[-1]
    if not m:
        return np.full(shape, np.nan), np.full(shape, np.nan)
    k, n = k.reshape(-1, 2, m), n.reshape(-1, 2, m)
    both = (-2, -1)
    p = _exchanged_sides(n.sum(axis=both, keepdims=True) * k - n * k.sum(axis=both, keepdims=True))
    unlike = (n[:, 0] != n[:, 1]).any(axis=1)
    p[:, unlike] = np.maximum(p[:, unlike], _exchanged_sides(_shares(k[unlike], n[unlike])))
    return p[0].reshape(shape), p[1].reshape(shape)


def _exchanged_sides(scores: _Ints) -> Floats:
    """p and least p of the difference of the sides of pairs, shape ``(2, …)``."""
    gaps = scores[:, 1] - scores[:, 0]
    if gaps.shape[1] > _COUNTED_OUT:
        sd = np.maximum(1.0, np.sqrt(np.sum(gaps * gaps, axis=1)))
        return np.stack([_beyond(end, sd) for end in (np.abs(gaps.sum(axis=1)), np.abs(gaps).sum(axis=1))])
    steps = gaps // np.maximum(1, np.gcd.reduce(gaps, axis=1))[:, None]
    scale = np.minimum(1.0, _MOST_SUMS / np.maximum(1, np.abs(steps).sum(axis=1)))
    steps = np.rint(steps * scale[:, None]).astype(np.int64)
    seen = np.abs(steps.sum(axis=1))
    if 2 ** (gaps.shape[1] - 1) <= _LISTED:
        return np.stack(_listed(steps, _flips(gaps.shape[1]), np.zeros(len(steps)), seen))
    return np.array([_flipped(*of) for of in zip(np.abs(steps), seen, strict=True)]).reshape(-1, 2).T


def shared_correlation(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> Floats:
    """Correlation of the shares of matched clusters, one standard error below the one seen, at least 0.

    So little is believed for :func:`~stereotrope.stats.newcombe` to narrow an interval by: by all that is
    seen, intervals of 4 to 20 pairs would cover 0.82 to 0.96.

    k1, n1, k2, n2: Successes and trials of each cluster, those of one pair at one place, shapes ``(…, m)``.
    Returns: Of shape ``(…)``, in [0, 1); 0 where a side does not vary.
    """
    shares = [np.asarray(k, np.float64) / np.asarray(n, np.float64) for k, n in ((k1, n1), (k2, n2))]
    varies = np.minimum(*(np.ptp(side, axis=-1) for side in shares)) > 0
    one, other = (side - side.mean(axis=-1, keepdims=True) for side in shares)
    size = np.sqrt((one * one).sum(axis=-1) * (other * other).sum(axis=-1))
    seen = np.clip((one * other).sum(axis=-1) / np.where(varies, size, 1.0), -_ALIKE, _ALIKE)
    believed = np.tanh(np.arctanh(seen) - 1 / np.sqrt(max(1, one.shape[-1] - 3)))
    return np.asarray(np.where(varies, np.maximum(0.0, believed), 0.0), np.float64)


def _beyond(distance: Floats, sd: Floats) -> Floats:
    """How probable a normal variable is to be as far from its mean."""
    return np.asarray(np.where(sd > 0, 2 * special.ndtr(-distance / np.where(sd > 0, sd, 1.0)), 1.0))


def _listed(steps: _Ints, ways: Floats, middle: ArrayLike, seen: _Ints) -> tuple[Floats, Floats]:
    """p and least p by every way to choose, in columns; whole numbers, which floats hold exactly."""
    p, least = np.empty((2, len(steps)))
    at_once = max(1, _SUMS_AT_ONCE // ways.shape[1])
    middles = np.asarray(middle, np.float64)
    for start in range(0, len(steps), at_once):
        part = slice(start, start + at_once)
        far = np.abs(steps[part].astype(np.float64) @ ways - middles[part, None])
        p[part] = (far >= seen[part, None]).mean(axis=1)
        least[part] = (far >= far.max(axis=1, keepdims=True)).mean(axis=1)
    return p, least


@lru_cache(maxsize=32)
def _choices(m: int, chosen: int) -> Floats:
    """Every way to choose so many of ``m``, a column each."""
    listed = np.array(list(combinations(range(m), chosen)))
    ways = np.zeros((m, len(listed)))
    ways[listed.T, np.arange(len(listed))] = 1.0
    return ways


@lru_cache(maxsize=16)
def _flips(m: int) -> Floats:
    """Every way to exchange the sides of ``m`` pairs, but for the mirrored ones, a column each."""
    exchanged = (np.arange(2 ** (m - 1)) >> np.arange(m)[:, None]) & 1
    return 1.0 - 2.0 * exchanged.astype(np.float64)


def _counted(steps: _Ints, seen: int, chosen: int) -> tuple[float, float]:
    """p and least p of one comparison, by how many choices have each sum."""
    # Rare values of an open attribute come from clusters alike again and again.
    return _counted_out(np.sort(steps).tobytes(), int(seen), chosen)


@lru_cache(maxsize=50_000)
def _counted_out(rising: bytes, seen: int, chosen: int) -> tuple[float, float]:
    steps = np.frombuffer(rising, np.int64)
    ways = _chosen(steps, chosen)
    far = np.abs(steps.size * np.arange(ways.size) - chosen * steps.sum())
    p, least = (float(ways[far >= end].sum() / ways.sum()) for end in (seen, far[ways > 0].max()))
    return min(1.0, p), min(1.0, least)


def _flipped(steps: _Ints, seen: int) -> tuple[float, float]:
    """p and least p of one comparison of matched clusters, by how probable each sum is."""
    most = int(steps.sum())
    ways = np.zeros(most + 1)
    ways[0] = 1.0
    for step in steps.tolist():
        ways = 0.5 * (ways + np.concatenate([np.zeros(step), ways[: ways.size - step]]))
    far = np.abs(2 * np.arange(most + 1) - most)
    p, least = (float(ways[far >= end].sum()) for end in (seen, most))
    return min(1.0, p), min(1.0, least)


def _steps(residuals: _Ints, chosen: int) -> _Ints:
    """Residuals as small whole numbers from 0."""
    steps = residuals - residuals.min(axis=1, keepdims=True)
    steps //= np.maximum(1, np.gcd.reduce(steps, axis=1))[:, None]
    reach = np.sort(steps, axis=1)[:, -chosen:].sum(axis=1)
    return np.asarray(np.rint(steps * np.minimum(1.0, _MOST_SUMS / np.maximum(1, reach))[:, None]), np.int64)


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
