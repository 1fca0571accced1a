"""Means and shares of clusters, whose members are alike; which are clusters is for others to decide."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from stereotrope.errors import UsageError
from stereotrope.stats.intervals import normal_quantile


def effective_counts(k: ArrayLike, n: ArrayLike, *, level: float | None = 0.95) -> tuple[float, float]:
    r"""Successes and trials that carry as much information as independent images would.

    The ratio estimate :math:`p = Σk_c/Σn_c` over ``m`` clusters has the linearised variance
    :math:`v = \frac{m}{m-1} Σ_c (k_c - p n_c)^2 / (Σn_c)^2`. The effective number of trials is
    :math:`n^* = p(1-p)/v`, at most ``n``, times :math:`(z/t_{m-1})^2` so that few clusters widen the
    interval. Give the result to :func:`~stereotrope.stats.wilson` or ``newcombe``.

    k, n: Successes and trials of each cluster, shape ``(m,)``.
    level: Nominal coverage of the interval it is meant for; None leaves the factor for few clusters out.
    Returns k_effective, n_effective: Their quotient is ``p``. With one cluster, or clusters of one image
        each, the plain sums: the caller has no more than images there. Where no cluster varies (``p`` is 0 or
        1), ``v`` is 0 and only the factor for few clusters applies.
    Source: Korn and Graubard (1998), Survey Methodology 24; Dean and Pagano (2015), J. Survey Statistics and
        Methodology 3 (Wilson with the effective sample size).
    """
    successes, trials = np.asarray(k, np.float64), np.asarray(n, np.float64)
    successes, trials = successes[trials > 0], trials[trials > 0]
    total, m = float(trials.sum()), trials.size
    if m < 2 or np.all(trials == 1):
        return float(successes.sum()), total
    p = float(successes.sum()) / total
    variance = m / (m - 1) * float(np.sum((successes - p * trials) ** 2)) / total**2
    effective = min(total, p * (1 - p) / variance) if variance > 0 else total
    if level is not None:
        effective *= (normal_quantile(level) / float(special.stdtrit(m - 1, 0.5 + level / 2))) ** 2
    return p * effective, effective


def score_test(k1: float, n1: float, k2: float, n2: float, *, freedom: int) -> float:
    r"""Two-sided p-value that two shares known at effective numbers are equal.

    :math:`t = |p_1 - p_2| / \sqrt{\bar p(1-\bar p)(1/n_1 + 1/n_2)}` with the pooled share
    :math:`\bar p`, referred to Student's t: clusters less one, summed over the sides.

    k1, n1, k2, n2: Effective successes and trials (:func:`effective_counts` with ``level=None``).
    freedom: Degrees of freedom, at least 1.
    Returns: In [0, 1]; 1 where neither side varies, NaN where a side has no trial.
    Source: Rao and Scott (1992), Biometrics 48.
    """
    if freedom < 1:
        raise UsageError(f"score_test: freedom must be at least 1, found {freedom}")
    if min(n1, n2) <= 0:
        return float("nan")
    pooled = (k1 + k2) / (n1 + n2)
    variance = pooled * (1 - pooled) * (1 / n1 + 1 / n2)
    if variance <= 0:
        return 1.0
    return float(2 * special.stdtr(freedom, -abs(k1 / n1 - k2 / n2) / np.sqrt(variance)))


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
