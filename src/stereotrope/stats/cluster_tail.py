"""How improbable a difference of clusters is beyond what exchanging whole ones can tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.behrens_fisher import behrens_fisher_test, part_apart
from stereotrope.stats.clusters import (
    cluster_flip_test,
    cluster_permutation_test,
    even_clusters,
    shared_correlation,
)
from stereotrope.stats.icc import ICC_GRID, icc_beliefs, icc_by_group

_EXACT, _POWER, MOST_WAYS = 0.03, 1.5, 1_000
"""p down to which the exact test stands alone, the least that four clusters against four can give, 2/70; how
many digits a model may have for one of the exact test; and in how many ways clusters may be chosen, six of
twelve in 924, that there is a model: its digits would be too many where all of a cluster are alike."""
_UNLIKE = 1.5
"""How many times as large clusters of one side may be, on average, without the model."""
_POINTS = 1_000
"""Counts of a side that are weighed; of more, so many in equal steps, and p in between by interpolation."""
_BOUNDLESS = 1e20
"""Members of a beta distribution that no count adds to."""
_AT_ONCE = 4_000
"""Counts that are weighed together, at each intra-class correlation."""
_INDEPENDENT = 1e-9
_TIE = 1e-9


def beta_binomial_test(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, *, weights: Floats
) -> Floats:
    r"""Mid-p that two sides are made of like clusters, whose counts are beta-binomial.

    A side's sum :math:`X_i` is taken for beta-binomial too, with the variance that its clusters give it at an
    intra-class correlation :math:`ρ`, :math:`1 + ρ(Σn_c^2/Σn_c - 1)` times the binomial one. Given both sums
    :math:`p_ρ = P(|X_1 - E X_1| \ge |x_1 - E X_1|)`, ties half; :math:`p = Σ_ρ w_ρ p_ρ`. At :math:`ρ = 0` it
    is a mid-p of the hypergeometric distribution.

    k1, n1, k2, n2: Successes and trials of each cluster of both sides, shapes ``(…, m1)`` and ``(…, m2)``:
        one comparison or many.
    weights: Probability of each :math:`ρ` of :data:`ICC_GRID` by what does not tell the sides apart, such as
        how clusters of one side differ, shape ``(…, 16)``; of several rows (:func:`icc_beliefs`), shape
        ``(…, rows, 16)``, the one with the greatest p.
    Returns: p of shape ``(…)``, in (0, 1].
    Source: Williams (1975), Biometrics 31 (beta-binomial clusters); Lancaster (1961), JASA 56 (mid-p).

    >>> import numpy as np
    >>> independent = np.eye(16)[0]
    >>> p = beta_binomial_test([5] * 4, [5] * 4, [0] * 4, [5] * 4, weights=independent)
    >>> f"{p:.3g}"  # 1 / binomial(40, 20)
    '7.25e-12'
    """
    sides = [(np.asarray(k, np.float64), np.asarray(n, np.float64)) for k, n in ((k1, n1), (k2, n2))]
    shape = sides[0][0].shape[:-1]
    columns = []
    for k, n in sides:
        total = n.sum(axis=-1)
        columns += [k.sum(axis=-1), total, np.round((n**2).sum(axis=-1) / np.maximum(1.0, total) - 1, 9)]
    sums = _Sums(*(np.reshape(column, -1) for column in columns))
    p = np.ones((sums.k.size, ICC_GRID.size))
    successes = sums.k + sums.j
    open_ = np.flatnonzero((successes > 0) & (successes < sums.n + sums.m))
    counted = np.minimum(successes, sums.n) - np.maximum(0.0, successes - sums.m) < _POINTS
    for of, some in ((_counted, open_[counted[open_]]), (_interpolated, open_[~counted[open_]])):
        if some.size:
            p[some] = of(sums.some(some))
    each = np.reshape(weights, (sums.k.size if np.ndim(weights) > 2 or len(shape) else 1, -1, ICC_GRID.size))
    found = (p[:, None, :] * each).sum(axis=-1).max(axis=-1)
    return np.asarray(np.clip(found, np.finfo(np.float64).tiny, 1.0).reshape(shape))


def beyond_exact(exact: ArrayLike, model: ArrayLike, ways: ArrayLike) -> Floats:
    r"""The p-value of an exact test of few clusters, carried on by that of a model where it cannot go.

    Only where one of all ways to choose the clusters tells the sides apart as well, or two that mirror each
    other, :math:`p` becomes :math:`\max(p^{3/2}, p_{model})`, if it is below 0.03: whatever the model says,
    there are half as many digits more at most. Every other p stands, as all beyond six clusters a side do.

    exact: p, and the least p that there could have been; shape ``(2, …)``.
    model: p by the model, shape ``(…)``.
    ways: To choose the clusters, shape ``(…)``.
    Returns: p and least p, shape ``(2, …)``, in (0, 1] and never above ``exact``. Down to ``2 / ways`` its
        size is that of the exact test; below, see docs/explanation/interval-coverage.md. The least p is that
        of a model that says nothing against it: what the model says hangs on which clusters each side has,
        and whether a test could have mattered must not hang on what was seen.
    """
    p, n = np.asarray(exact, np.float64), np.asarray(ways, np.float64)
    ended = (p <= np.minimum(_EXACT, 2 * (1 + _TIE) / n)) & (n <= MOST_WAYS)
    found = np.where(ended, p**_POWER, p)
    found[0] = np.maximum(found[0], np.minimum(p[0], model))
    return found


def clusters_apart(
    k1: ArrayLike,
    n1: ArrayLike,
    k2: ArrayLike,
    n2: ArrayLike,
    *,
    own: tuple[Floats, Floats],
    peers: Floats,
    matched: bool = False,
) -> Floats:
    """p-value that shares of two sides of clusters are alike: by exchange, and by models where it misleads.

    k1, n1, k2, n2: As of :func:`beta_binomial_test`.
    own: Log-likelihoods of each intra-class correlation in the clusters of either side
        (:func:`icc_evidence`), shape ``(…, 16)`` each.
    peers: What other cells say of either side (:func:`icc_priors`), shape ``(…, 2, 16)``.
    matched: Exchange the sides of each pair of clusters (:func:`~stereotrope.stats.cluster_flip_test`), not
        whole ones (:func:`~stereotrope.stats.cluster_permutation_test`).
    Returns: p, and the least p that there could have been (:func:`beyond_exact`), shape ``(2, …)``; where
        clusters of one side are over 1.5 times as large, shares of clusters are exchanged alone, and p is at
        least that of the model: a rare success is likelier in a larger cluster, so that sides with few large
        ones differ by their sizes too. Up to there the exact tests, of members and of shares, kept their
        level by themselves (shares of 0.01 to 0.5, correlations to 0.3, 4 to 40 clusters). Exchanged, sides
        that vary to unlike degrees are not alike, though their shares be: p is at least that of
        :func:`behrens_fisher_test`, of ``matched`` clusters less what these have in common.
    """
    exchanged = cluster_flip_test if matched else cluster_permutation_test
    exact = np.stack(exchanged(k1, n1, k2, n2))
    m, other = np.shape(n1)[-1], np.shape(n2)[-1]
    ways = min(2**m if matched else comb(m + other, m), MOST_WAYS + 1)
    unlike = _much_unlike(np.asarray(n1, np.float64), np.asarray(n2, np.float64))
    if unlike.any():  # Sums of sides whose clusters are unlike in size would hardly ever tell.
        shares = [of[unlike] for k, n in ((k1, n1), (k2, n2)) for of in even_clusters(k, n)]
        exact[:, unlike] = exchanged(*shares)
    found = exact
    if ways <= MOST_WAYS or unlike.any():
        model = beta_binomial_test(
            k1, n1, k2, n2, weights=icc_beliefs(own[0] + own[1], np.mean(peers, axis=-2))
        )
        greater = np.stack([np.maximum(exact[0], model), exact[1]])
        found = np.where(unlike, greater, beyond_exact(exact, model, ways))
    correlation = shared_correlation(k1, n1, k2, n2) if matched else np.zeros(())
    found[0] = np.maximum(found[0], _vary_unlike([k1, k2], [n1, n2], own, peers, correlation))
    return found


def _vary_unlike(
    k: Sequence[ArrayLike],
    n: Sequence[ArrayLike],
    own: tuple[Floats, Floats],
    peers: Floats,
    correlation: Floats,
) -> Floats:
    """p of the difference of shares where clusters of each side vary in their own way."""
    trials = [np.asarray(of, np.float64) for of in n]
    total = np.stack([of.sum(axis=-1) for of in trials], axis=-1)
    share = np.stack([np.sum(of, axis=-1) for of in k], axis=-1) / total
    alike = np.stack([(of * of).sum(axis=-1) for of in trials], axis=-1) / total - 1
    weights = icc_by_group(np.stack(own, axis=-2), peers)
    # Where nothing differs both shares are one, which the side that varies less tells better.
    variance = (1 + alike * (weights @ ICC_GRID)) / total
    common = (share / variance).sum(axis=-1) / (1 / variance).sum(axis=-1)
    left = part_apart(variance, correlation)
    parts = (common * (1 - common) * left)[..., None] / total
    return behrens_fisher_test((share[..., 0] - share[..., 1]) ** 2, parts, alike, weights)


def _much_unlike(n1: Floats, n2: Floats) -> NDArray[np.bool_]:
    """Whether clusters of one side are much larger, on average over clusters or over members."""
    averages = ((n.mean(axis=-1), (n * n).sum(axis=-1) / n.sum(axis=-1)) for n in (n1, n2))
    one, other = map(np.stack, averages)
    return np.asarray((np.maximum(one, other) > _UNLIKE * np.minimum(one, other)).any(axis=0))


@dataclass(frozen=True)
class _Sums:
    """Successes and trials of both sides, and how much clusters add to their variance."""

    k: Floats
    n: Floats
    alike: Floats
    j: Floats
    m: Floats
    other: Floats

    def some(self, which: NDArray[np.int64]) -> "_Sums":
        return _Sums(*(column[which] for column in vars(self).values()))


def _interpolated(sums: _Sums) -> Floats:
    """p by intra-class correlation, of sums with too many counts to weigh each."""
    found = []
    for k, n, alike, j, m, other in zip(*vars(sums).values(), strict=True):
        points, tails = _tails(k + j, n, m, alike, other)
        step = (points[-1] - points[0]) / (points.size - 1)
        at = (k - points[0]) / step
        low = min(int(at + _TIE), points.size - 1)
        high = min(low + 1, points.size - 1)
        found.append(np.exp(tails[low] + (at - low) * (tails[high] - tails[low])))
    return np.array(found)


def _counted(sums: _Sums) -> Floats:
    """p by intra-class correlation, every count weighed, comparisons with like many together."""
    successes = sums.k + sums.j
    low = np.maximum(0.0, successes - sums.m)
    lengths = (np.minimum(successes, sums.n) - low).astype(np.int64) + 1
    order = np.argsort(lengths, kind="stable")
    found = np.empty((len(order), ICC_GRID.size))
    start = 0
    while start < len(order):
        some = max(1, _AT_ONCE // int(lengths[order[start]]))
        # Few that are much longer than the first would make all as long.
        part = order[start : start + some]
        part = part[lengths[part] <= 2 * lengths[part[0]]]
        found[part] = _weighed(sums.some(part), low[part], lengths[part])
        start += part.size
    return found


def _weighed(sums: _Sums, low: Floats, lengths: NDArray[np.int64]) -> Floats:
    successes, share = sums.k + sums.j, (sums.k + sums.j) / (sums.n + sums.m)
    x = low[:, None] + np.arange(int(lengths.max()))
    at = x[:, :-1]
    # Of both sides those that are not among the successes, and of the second side its successes.
    left, rest = np.maximum(sums.n[:, None] - at, 0.0), np.maximum(successes[:, None] - at, 0.0)
    other = (sums.m - successes)[:, None] + at
    # From each count to the next: how many times as probable it is, by correlation; 0 beyond the last.
    yes, no = _beta(sums.n, share, sums.alike)
    grown = (yes + at[..., None]) / (no + np.maximum(left - 1, 0.0)[..., None])
    yes, no = _beta(sums.m, share, sums.other)
    grown *= no + other[..., None]
    grown /= yes + np.maximum(rest - 1, 0.0)[..., None]
    grown *= (left * rest / ((at + 1) * (other + 1)))[..., None]
    weight = np.zeros((*x.shape, ICC_GRID.size))
    with np.errstate(divide="ignore"):
        np.cumsum(np.log(grown, out=grown), axis=1, out=weight[:, 1:])
    weight -= weight.max(axis=1, keepdims=True)
    np.exp(weight, out=weight)
    far = np.round(np.abs(x - (sums.n * share)[:, None]) / _TIE)
    limit = np.take_along_axis(far, (sums.k - low).astype(np.int64)[:, None], axis=1)
    beyond = ((far > limit) + 1.0 * (far >= limit)) / 2
    p = (beyond[:, None] @ weight)[:, 0] / weight.sum(axis=1)
    return np.asarray(np.clip(p, np.finfo(np.float64).tiny, 1.0))


def _beta(n: Floats, share: Floats, alike: Floats) -> tuple[Floats, Floats]:
    """Parameters of a side's beta distribution by correlation: beyond all counts where there is none."""
    rho = (alike / np.maximum(1.0, n - 1))[:, None] * ICC_GRID
    of_beta = rho > _INDEPENDENT
    odds = np.where(of_beta, 1 / np.where(of_beta, rho, 0.5) - 1, _BOUNDLESS)
    return (share[:, None] * odds)[:, None], ((1 - share)[:, None] * odds)[:, None]


@lru_cache(maxsize=1024)
def _tails(successes: float, n: float, m: float, alike: float, other: float) -> tuple[Floats, Floats]:
    """Counts of the first side, and the logarithm of their p at each intra-class correlation."""
    ends = max(0.0, successes - m), min(successes, n)
    x = np.linspace(*ends, int(min(_POINTS, ends[1] - ends[0] + 1)))
    share = successes / (n + m)
    weight = _log_probability(x, n, share, alike) + _log_probability(successes - x, m, share, other)
    weight = np.exp(weight - special.logsumexp(weight, axis=0))
    far = np.round(np.abs(x - n * share) / _TIE)
    order = np.argsort(-far, kind="stable")
    upto = np.vstack([np.zeros(ICC_GRID.size), np.cumsum(weight[order], axis=0)])
    first, past = (np.searchsorted(-far[order], -far, side=side) for side in ("left", "right"))
    p = np.clip((upto[first] + upto[past]) / 2, np.finfo(np.float64).tiny, 1.0)
    return x, np.log(p)


def _log_probability(x: Floats, n: float, share: float, alike: float) -> Floats:
    """Of ``x`` of ``n``, but for a constant, by count and intra-class correlation."""
    ways = (-special.gammaln(x + 1) - special.gammaln(n - x + 1))[:, None]
    rho = ICC_GRID * alike / max(1.0, n - 1)
    of_beta = rho > _INDEPENDENT
    odds = 1 / np.where(of_beta, rho, 0.5) - 1
    yes, no = share * odds, (1 - share) * odds
    alike_ones = (
        special.gammaln(x[:, None] + yes)
        - special.gammaln(yes)
        + special.gammaln((n - x)[:, None] + no)
        - special.gammaln(no)
    )
    alike_ones += special.gammaln(odds) - special.gammaln(n + odds)
    lone = (special.xlogy(x, share) + special.xlog1py(n - x, -share))[:, None]
    return np.asarray(ways + np.where(of_beta, alike_ones, lone))
