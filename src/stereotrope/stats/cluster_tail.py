"""How improbable a difference of clusters is beyond what exchanging whole ones can tell."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp, xlog1py, xlogy

from stereotrope.stats.arrays import Floats
from stereotrope.stats.icc import ICC_GRID

_EXACT, _POWER, _MOST_WAYS = 0.03, 1.5, 1_000
"""p down to which the exact test stands alone, the least that four clusters against four can give, 2/70; how
many digits a model may have for one of the exact test; and in how many ways clusters may be chosen, six of
twelve in 924, that there is a model: its digits would be too many where all of a cluster are alike."""
_POINTS = 1_000
"""Counts of a side that are weighed; of more, so many in equal steps, and p in between by interpolation."""
_INDEPENDENT = 1e-9
_TIE = 1e-9


def beta_binomial_test(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, *, weights: Floats
) -> tuple[float, float]:
    r"""Mid-p that two sides are made of like clusters, whose counts are beta-binomial.

    A side's sum :math:`X_i` is taken for beta-binomial too, with the variance that its clusters give it at an
    intra-class correlation :math:`ρ`, :math:`1 + ρ(Σn_c^2/Σn_c - 1)` times the binomial one. Given both sums
    :math:`p_ρ = P(|X_1 - E X_1| \ge |x_1 - E X_1|)`, ties half; :math:`p = Σ_ρ w_ρ p_ρ`. At :math:`ρ = 0` it
    is a mid-p of the hypergeometric distribution.

    k1, n1, k2, n2: Successes and trials of each cluster of both sides, shapes ``(m1,)`` and ``(m2,)``.
    weights: Probability of each :math:`ρ` of :data:`ICC_GRID` by what does not tell the sides apart, such as
        how clusters of one side differ; of several rows (:func:`icc_beliefs`) the one with the greatest p.
    Returns p, least: In (0, 1], and the least p that these sums could have had.
    Source: Williams (1975), Biometrics 31 (beta-binomial clusters); Lancaster (1961), JASA 56 (mid-p).

    >>> import numpy as np
    >>> independent = np.eye(16)[0]
    >>> p, _ = beta_binomial_test([5] * 4, [5] * 4, [0] * 4, [5] * 4, weights=independent)
    >>> f"{p:.3g}"  # 1 / binomial(40, 20)
    '7.25e-12'
    """
    sides = [(np.asarray(k, np.float64), np.asarray(n, np.float64)) for k, n in ((k1, n1), (k2, n2))]
    (k, n), (j, m) = ((float(k.sum()), float(n.sum())) for k, n in sides)
    alike = (round(float((n**2).sum() / max(1.0, n.sum())) - 1, 9) for _, n in sides)
    if not 0 < k + j < n + m:
        return 1.0, 1.0
    points, tails = _tails(k + j, n, m, *alike)
    step = (points[-1] - points[0]) / max(1, points.size - 1)
    at = (k - points[0]) / step if step else 0.0
    low = min(int(at + _TIE), points.size - 1)
    high = min(low + 1, points.size - 1)
    logs = tails[low] + (at - low) * (tails[high] - tails[low])
    found = (float((weights @ np.exp(one)).max()) for one in (logs, np.minimum(tails[0], tails[-1])))
    p, least = (min(1.0, max(x, float(np.finfo(np.float64).tiny))) for x in found)
    return p, least


def beyond_exact(exact: ArrayLike, model: ArrayLike, ways: float) -> Floats:
    r"""The p-value of an exact test of few clusters, carried on by that of a model where it cannot go.

    Only where one of all ways to choose the clusters tells the sides apart as well, or two that mirror each
    other, :math:`p` becomes :math:`\max(p^{3/2}, p_{model})`, if it is below 0.03: whatever the model says,
    there are half as many digits more at most. Every other p stands, as all beyond six clusters a side do.

    exact, model: p, and the least p that there could have been; shapes ``(2, …)``.
    ways: To choose the clusters.
    Returns: p and least p, shape ``(2, …)``, in (0, 1] and never above ``exact``. Down to ``2 / ways`` its
        size is that of the exact test; below, see docs/explanation/interval-coverage.md.
    """
    p, further = np.asarray(exact, np.float64), np.asarray(model, np.float64)
    ended = (p <= min(_EXACT, 2 * (1 + _TIE) / ways)) & (ways <= _MOST_WAYS)
    return np.where(ended, np.minimum(p, np.maximum(p**_POWER, further)), p)


@lru_cache(maxsize=1024)
def _tails(successes: float, n: float, m: float, alike: float, other: float) -> tuple[Floats, Floats]:
    """Counts of the first side, and the logarithm of their p at each intra-class correlation."""
    ends = max(0.0, successes - m), min(successes, n)
    x = np.linspace(*ends, int(min(_POINTS, ends[1] - ends[0] + 1)))
    share = successes / (n + m)
    weight = _log_probability(x, n, share, alike) + _log_probability(successes - x, m, share, other)
    weight = np.exp(weight - logsumexp(weight, axis=0))
    far = np.round(np.abs(x - n * share) / _TIE)
    order = np.argsort(-far, kind="stable")
    upto = np.vstack([np.zeros(ICC_GRID.size), np.cumsum(weight[order], axis=0)])
    first, past = (np.searchsorted(-far[order], -far, side=side) for side in ("left", "right"))
    p = np.clip((upto[first] + upto[past]) / 2, np.finfo(np.float64).tiny, 1.0)
    return x, np.log(p)


def _log_probability(x: Floats, n: float, share: float, alike: float) -> Floats:
    """Of ``x`` of ``n``, but for a constant, by count and intra-class correlation."""
    ways = (-gammaln(x + 1) - gammaln(n - x + 1))[:, None]
    rho = ICC_GRID * alike / max(1.0, n - 1)
    of_beta = rho > _INDEPENDENT
    odds = 1 / np.where(of_beta, rho, 0.5) - 1
    yes, no = share * odds, (1 - share) * odds
    alike_ones = gammaln(x[:, None] + yes) - gammaln(yes) + gammaln((n - x)[:, None] + no) - gammaln(no)
    alike_ones += gammaln(odds) - gammaln(n + odds)
    lone = (xlogy(x, share) + xlog1py(n - x, -share))[:, None]
    return np.asarray(ways + np.where(of_beta, alike_ones, lone))
