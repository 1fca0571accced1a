"""How alike the members of a cluster are, and how much of them is left where they are alike."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import normal_quantile

ICC_GRID: Floats = np.array(
    [0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.26, 0.32, 0.4, 0.48, 0.57, 0.66, 0.75, 0.85, 0.95]
)
"""Intra-class correlations that are weighed against one another."""
_STEPS = np.log(np.gradient(ICC_GRID))
_N_SHARES = 48
"""Shares that are averaged over, even on the arcsine scale (Jeffreys' prior)."""
_UNALIKE = 0.15
"""How far correlations of cells of one attribute differ: a standard deviation of their square roots."""
_MOST_MEMBERS = 400
"""Members from which the share of a cluster is as good as known; larger clusters are taken to scale."""


def icc_evidence(k: ArrayLike, n: ArrayLike) -> Floats:
    r"""Log-likelihood of each intra-class correlation :math:`ρ` of :data:`ICC_GRID`.

    Counts are beta-binomial, :math:`P(k) ∝ \frac{\prod_{i<k}(μ(1-ρ)+iρ) \prod_{i<n-k}((1-μ)(1-ρ)+iρ)}
    {\prod_{i<n}(1-ρ+iρ)}`, and the share :math:`μ` is averaged out with Jeffreys' prior.

    k, n: Successes and trials of each cluster, shape ``(m,)``.
    Returns: Shape ``(16,)``; all 0 where the counts cannot tell: no cluster has two members, or all members
        agree.
    Source: Williams (1975), Biometrics 31.
    """
    successes, trials = _scaled(k, n)
    if not 0 < successes.sum() < trials.sum() or trials.max() < 2:
        return np.zeros(ICC_GRID.size)
    # Measures of one run ask for the same cells again.
    return _evidence(tuple(successes.tolist()), tuple(trials.tolist())).copy()


def icc_weights(evidence: Sequence[Floats]) -> Floats:
    """Probability of each intra-class correlation in each of several cells that are like one another.

    Every correlation is as likely before. What the other cells say together is believed up to a standard
    deviation of 0.15 of the square root of the correlation, by which cells differ.

    evidence: Of each cell its log-likelihoods (:func:`icc_evidence`).
    Returns: Shape ``(cells, 16)``, rows sum to 1.
    """
    own = np.asarray(evidence, np.float64).reshape(-1, ICC_GRID.size)
    if len(own) < 2:
        return _normalised(own + _STEPS)
    others = _normalised(own.sum(axis=0) - own + _STEPS) @ _kernel()
    return _normalised(own + np.log(others))


def effective_trials(n: ArrayLike, weights: Floats | None, *, level: float = 0.95) -> float:
    r"""Trials that carry as much information as independent ones would.

    The variance of a share over clusters is :math:`1 + ρ(Σn_c^2/Σn_c - 1)` times that over independent
    trials. :math:`n^* = (z/z^*)^2 Σn_c`, :math:`z` the normal quantile and :math:`z^*` the one of normal
    variables with these variances, each as probable as its :math:`ρ`: few clusters so widen the interval.

    n: Trials of each cluster, shape ``(m,)``.
    weights: Probability of each correlation (:func:`icc_weights`), shape ``(16,)``.
    level: Nominal coverage of the interval it is meant for.
    Source: Kish (1965), Survey Sampling, section 5.4; Dean and Pagano (2015), J. Survey Statistics and
        Methodology 3 (Wilson with the effective sample size).
    """
    trials = np.asarray(n, np.float64)
    total = float(trials.sum())
    alike = float(np.sum(trials**2)) / total - 1 if total else 0.0
    return total if weights is None else widened_number(total, alike, weights, level=level)


def widened_number(n: float, alike: float, weights: Floats, *, level: float = 0.95) -> float:
    r"""Trials left of ``n`` where the variance is :math:`1 + aρ` times that of independent ones.

    n, alike: Independent trials that would tell as much at :math:`ρ = 0`, and :math:`a`.
    weights, level: As of :func:`effective_trials`.
    """
    if alike <= 0:
        return n
    z, sd = normal_quantile(level), np.sqrt(1 + alike * ICC_GRID)

    def beyond(limit: float) -> float:
        return float(weights @ special.ndtr(-limit / sd)) - (1 - level) / 2

    return n * (z / float(optimize.brentq(beyond, 0.9 * z, 1.1 * z * sd[-1], xtol=1e-9))) ** 2


def effective_counts(k: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[float, float]:
    """Successes and trials that carry as much information as independent ones would.

    What the counts themselves say of the intra-class correlation (:func:`icc_evidence`) makes the effective
    number (:func:`effective_trials`). Give the result to :func:`~stereotrope.stats.wilson` or ``newcombe``.

    k, n: Successes and trials of each cluster, shape ``(m,)``.
    level: Nominal coverage of the interval it is meant for.
    Returns k_effective, n_effective: Their quotient is that of the sums. Where all members agree every
        correlation remains as likely, and 0 of 200 in ten clusters counts like 0 of 16. With one cluster,
        or clusters of one member, the plain sums.
    """
    successes, trials = np.asarray(k, np.float64), np.asarray(n, np.float64)
    total = float(trials.sum())
    weights = icc_weights([icc_evidence(successes, trials)])[0] if np.sum(trials > 0) > 1 else None
    effective = effective_trials(trials, weights, level=level)
    return float(successes.sum()) * (effective / total if total else 0.0), effective


def _scaled(k: ArrayLike, n: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    successes, trials = np.asarray(k, np.float64), np.asarray(n, np.float64)
    scale = np.minimum(1.0, _MOST_MEMBERS / np.maximum(trials, 1.0))
    return np.rint(successes * scale).astype(np.int64), np.rint(trials * scale).astype(np.int64)


@lru_cache(maxsize=20_000)
def _evidence(k: tuple[int, ...], n: tuple[int, ...]) -> Floats:
    """:func:`icc_evidence` of counts that can tell."""
    successes, trials = np.array(k), np.array(n)
    rising, whole = _rising(1 << int(trials.max() - 1).bit_length())
    found = rising[successes].sum(axis=0) + rising[trials - successes].sum(axis=0)[::-1]
    return np.asarray(special.logsumexp(found, axis=0) - whole[trials].sum(axis=0) - np.log(_N_SHARES))


@lru_cache(maxsize=8)
def _rising(most: int) -> tuple[Floats, Floats]:
    """Logarithms of the rising products up to ``most``, by share and correlation, and those of the whole."""
    shares = np.sin((np.arange(_N_SHARES) + 0.5) / _N_SHARES * np.pi / 2) ** 2
    steps = np.arange(most)[:, None, None]
    of_share = np.log(shares[:, None] * (1 - ICC_GRID) + steps * ICC_GRID)
    whole = np.log(1 - ICC_GRID + steps[:, 0] * ICC_GRID)
    return tuple(np.concatenate([np.zeros_like(x[:1]), np.cumsum(x, axis=0)]) for x in (of_share, whole))  # type: ignore[return-value]


@lru_cache(maxsize=1)
def _kernel() -> Floats:
    """How probable each correlation is in a cell where another cell has this one."""
    roots = np.sqrt(ICC_GRID)
    steps = np.gradient(ICC_GRID) / np.maximum(2 * roots, roots[1])
    near = np.exp(-0.5 * ((roots[:, None] - roots) / _UNALIKE) ** 2) * steps
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def _normalised(logarithms: Floats) -> Floats:
    return np.asarray(special.softmax(logarithms, axis=-1))
