"""How alike the members of a cluster are, and how much of them is left where they are alike."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import normal_quantile

ICC_GRID: Floats = np.array(
    [0, 0.01, 0.03, 0.06, 0.1, 0.15, 0.2, 0.26, 0.32, 0.4, 0.48, 0.57, 0.66, 0.75, 0.85, 0.95]
)
"""Intra-class correlations that are weighed against one another."""
_STEPS = np.log(np.gradient(ICC_GRID))
_N_SHARES = 48
"""Shares that are averaged over, even on the arcsine scale (Jeffreys' prior)."""
_Levels = Sequence[ArrayLike] | NDArray[np.int64]
_UNALIKE, MORE_UNALIKE = 0.15, 0.35
"""How far correlations of cells differ, and may differ: standard deviations of their square roots."""
_WAYS = np.log([0.5, 0.25, 0.25])
"""How probable it is beforehand that they differ so, so, and by anything; by simulation."""
_BY_ALL = 0.5
"""How probable it is beforehand that all other cells tell of a cell, not those of its level alone."""
_AT_ONCE = 2_000
"""Cells whose likelihoods are held in memory together, 6 kB each."""
_MOST_STEPS, _CLOSE = 100, 1e-14
FEW_TOGETHER = 1.5
"""Members of a cluster, weighed by these, below which clusters can hardly be told from their members."""
_NOTHING = 1e-9
"""Log-likelihood that says nothing."""
_MOST_MEMBERS = 400
"""Members from which the share of a cluster is as good as known; larger clusters are taken to scale."""


def icc_evidence(k: ArrayLike, n: ArrayLike, starts: ArrayLike | None = None) -> Floats:
    r"""Log-likelihood of each intra-class correlation :math:`ρ` of :data:`ICC_GRID`.

    Counts are beta-binomial, :math:`P(k) ∝ \frac{\prod_{i<k}(μ(1-ρ)+iρ) \prod_{i<n-k}((1-μ)(1-ρ)+iρ)}
    {\prod_{i<n}(1-ρ+iρ)}`, and the share :math:`μ` is averaged out with Jeffreys' prior.

    k, n: Successes and trials of each cluster, shape ``(m,)``.
    starts: Where each of several cells, of a cluster or more, begins; they are of one cell when None.
    Returns: Shape ``(16,)``, with ``starts`` ``(cells, 16)``; all 0 where the counts cannot tell: no cluster
        has two members, or all members agree.
    Source: Williams (1975), Biometrics 31.
    """
    successes, trials = _scaled(k, n)
    if starts is not None:
        return _evidence_of_cells(successes, trials, np.asarray(starts, np.int64))
    if not 0 < successes.sum() < trials.sum() or trials.max() < 2:
        return np.zeros(ICC_GRID.size)
    # Measures of one run ask for the same cells again.
    return _evidence(tuple(successes.tolist()), tuple(trials.tolist())).copy()


def joint_evidence(evidence: Floats, cell: ArrayLike, n_cells: int) -> Floats:
    """What the values of each cell together say of a correlation.

    Of K values that add up to n only K − 1 say something of their own: their sum times 1 − 1/K; a lone one
    counts whole.

    evidence: Log-likelihoods of each value, shape ``(values, …)``.
    cell: The cell of each, as a number from 0 on, shape ``(values,)``.
    Returns: Shape ``(n_cells, …)``; 0 of a cell without values.
    """
    of = np.asarray(cell, np.int64)
    found, values = np.zeros((n_cells, *evidence.shape[1:])), np.bincount(of, minlength=n_cells)
    np.add.at(found, of, evidence)
    own = np.where(values > 1, 1 - 1 / np.maximum(values, 1), 1.0)
    return np.asarray(found * own.reshape(-1, *np.ones(evidence.ndim - 1, int)))


def icc_weights(evidence: Sequence[Floats] | Floats, levels: _Levels = ()) -> Floats:
    """Probability of each intra-class correlation in each of several cells that are like one another.

    What its own clusters say, and what other cells do (:func:`icc_priors`).

    evidence: Of each cell its log-likelihoods (:func:`icc_evidence`).
    levels: As of :func:`icc_priors`.
    Returns: Shape ``(cells, 16)``, rows sum to 1.
    """
    own = np.asarray(evidence, np.float64).reshape(-1, ICC_GRID.size)
    return _normalised(own + np.log(icc_priors(own, levels)))


def icc_priors(evidence: Sequence[Floats] | Floats, levels: _Levels = ()) -> Floats:
    r"""How probable each intra-class correlation is in each of several cells, by what the others say.

    Every correlation is as likely before. What other cells say together is believed up to a standard
    deviation of 0.15 of the square root of the correlation, by which cells differ, or of 0.35, or not at all:
    as each of these foretells what cells say by what the others do (:func:`as_foretold`), which makes
    :math:`π_{0c}`. Cells that have a level of one of :math:`F` factors in common, such as those of a
    baseline, may tell of one another instead, up to 0.15 or 0.35: such a way :math:`w` is as probable in each
    cell of level :math:`l` as :math:`\frac{0.5}{2F} Π_{c ∈ l} L_{wc}/L_{0c}` beside 0.5 for :math:`π_{0c}`,
    with :math:`L` as of :func:`as_foretold`.

    evidence: Of each cell its log-likelihoods (:func:`icc_evidence`).
    levels: Of each factor the level of each cell, as a number from 0 on; shape ``(factors, cells)``.
    Returns: Shape ``(cells, 16)``, rows sum to 1; one row of a cell of which nothing is known where there is
        no evidence.
    Source: Hoeting, Madigan, Raftery and Volinsky (1999), Statistical Science 14 (averages over models);
        Gelfand (1996), Markov chain Monte Carlo in practice, chapter 9 (cross-validated likelihoods).
    """
    own = np.asarray(evidence, np.float64).reshape(-1, ICC_GRID.size)
    even = np.tile(_normalised(_STEPS), (max(len(own), 1), 1))
    if len(own) < 2:
        return even
    by_all = as_foretold(own, np.stack([*_ways_like(own.sum(axis=0) - own), even]), _WAYS)
    ways, gains = [by_all], [np.full(len(own), np.log(_BY_ALL))]
    factors = [np.asarray(of, np.int64) for of in levels if np.min(of) < np.max(of)]
    for level in factors:
        together = np.zeros((level.max() + 1, ICC_GRID.size))
        np.add.at(together, level, own)
        for way in _ways_like(together[level] - own):
            gain = np.bincount(level, _foretold(own, way) - _foretold(own, by_all))[level]
            ways.append(way)
            gains.append(gain + np.log((1 - _BY_ALL) / (2 * len(factors))))
    share = special.softmax(np.array(gains), axis=0)
    return np.asarray((share[..., None] * np.array(ways)).sum(axis=0))


def as_foretold(own: Floats, ways: Floats, before: Floats) -> Floats:
    r"""Probability of each correlation in each cell, averaged over ways to believe what other cells say.

    Of way :math:`w` cell :math:`c` is foretold with :math:`L_{wc} = Σ_ρ e^{ℓ_c(ρ)} π_{wc}(ρ)`; ways are as
    probable as :math:`π_w Π_c L_{wc}`.

    own: Of each cell its log-likelihoods :math:`ℓ_c`, shape ``(cells, 16)``.
    ways: What the other cells say of each by each way, shape ``(ways, cells, 16)``.
    before: Logarithms of how probable each way is beforehand, shape ``(ways,)``.
    Returns: Shape ``(cells, 16)``, rows sum to 1; what the cell itself says is not in it.
    """
    likely = np.maximum(ways, np.finfo(np.float64).tiny)
    return np.asarray(np.tensordot(_normalised(_foretold(own, likely).sum(axis=-1) + before), likely, axes=1))


def _foretold(own: Floats, way: Floats) -> Floats:
    """Logarithm of how well each cell is foretold."""
    return np.asarray(special.logsumexp(own + np.log(way), axis=-1))


def _ways_like(others: Floats) -> Floats:
    """What cells are, by how far they may differ from others of which this is the log-likelihood."""
    told = _normalised(others + _STEPS)
    ways = np.stack([like_others(told), like_others(told, MORE_UNALIKE)])
    return np.maximum(ways, np.finfo(np.float64).tiny)


def icc_beliefs(own: Floats, peers: Floats) -> Floats:
    """Two ways to weigh intra-class correlations, of which the more careful one is to be believed.

    own: Log-likelihoods of the clusters at hand (:func:`icc_evidence`), by which their peers are believed by
        a third, and all correlations are even for the rest; shape ``(…, 16)``.
    peers: What other cells say (:func:`icc_priors`), alone: where clusters are of two kinds, a few of them
        look more alike than they are.
    Returns: Shape ``(…, 2, 16)``, rows sum to 1.
    """
    believed = _believed(own, (peers + 2 * _normalised(_STEPS)) / 3)
    return np.stack([believed, np.broadcast_to(peers, believed.shape)], axis=-2)


def icc_by_group(own: Floats, peers: Floats) -> Floats:
    """Probability of each intra-class correlation in each of some groups that are compared.

    A group whose clusters all agree says nothing of its own: it is believed to be like the others, up to a
    standard deviation of 0.35 of the square root of the correlation, instead of like its peers.

    own: Of each group its log-likelihoods (:func:`icc_evidence`), shape ``(…, G, 16)``.
    peers: What other cells say of each (:func:`icc_priors`), of the shape of ``own``.
    Returns: Shape ``(…, G, 16)``, rows sum to 1.
    """
    known = np.asarray(peers)
    others = _believed(own.sum(axis=-2, keepdims=True) - own, known.mean(axis=-2, keepdims=True))
    silent = np.ptp(own, axis=-1, keepdims=True) <= _NOTHING
    return _believed(own, np.where(silent, like_others(others, MORE_UNALIKE), known))


def _believed(own: Floats, before: Floats) -> Floats:
    return _normalised(own + np.log(before))


class Crossed(NamedTuple):
    """Groups across clusters, whose members are alike too.

    alike: :math:`Σm_s^2/n - 1` over the members :math:`m_s` of each group; of each cell.
    weights: How probable each of their correlations is, within clusters; the grid along the last axis.
    """

    alike: Floats
    weights: Floats


def effective_trials(
    n: ArrayLike,
    weights: Floats | None,
    *,
    level: float = 0.95,
    starts: ArrayLike | None = None,
    crossed: Crossed | None = None,
) -> Floats:
    r"""Trials that carry as much information as independent ones would.

    The variance of a share over clusters is :math:`1 + ρ(Σn_c^2/Σn_c - 1)` times that over independent
    trials. :math:`n^* = (z/z^*)^2 Σn_c`, :math:`z` the normal quantile and :math:`z^*` the one of normal
    variables with these variances, each as probable as its :math:`ρ`: few clusters so widen the interval.

    n: Trials of each cluster, shape ``(m,)``.
    weights: Probability of each correlation (:func:`icc_weights`), shape ``(16,)``.
    level: Nominal coverage of the interval it is meant for.
    starts: Where each of several cells begins among the clusters, with weights of shape ``(cells, 16)``.
    crossed: Groups across clusters that make members alike as well, such as pictures of one seed.
    Returns: One number, with ``starts`` shape ``(cells,)``.
    Source: Kish (1965), Survey Sampling, section 5.4; Dean and Pagano (2015), J. Survey Statistics and
        Methodology 3 (Wilson with the effective sample size).
    """
    trials = np.asarray(n, np.float64)
    if not trials.size:
        return np.zeros(np.shape(starts if starts is not None else 0.0))
    begins = np.atleast_1d(np.asarray(0 if starts is None else starts, np.int64))
    total, squares = (np.add.reduceat(part, begins) for part in (trials, trials**2))
    if starts is None:
        total, squares = total[0], squares[0]
    alike = np.where(total > 0, squares / np.where(total > 0, total, 1.0) - 1, 0.0)
    if weights is None:
        return np.asarray(total)
    return widened_number(total, alike, weights, level=level, crossed=crossed)


def widened_number(
    n: ArrayLike, alike: ArrayLike, weights: Floats, *, level: float = 0.95, crossed: Crossed | None = None
) -> Floats:
    r"""Trials left of ``n`` where the variance is :math:`1 + aρ` times that of independent ones.

    n, alike: Independent trials that would tell as much at :math:`ρ = 0`, and :math:`a`; one or many.
    weights, level: As of :func:`effective_trials`; the weights of each along the last axis.
    crossed: Groups across clusters, with :math:`a'` and a correlation :math:`r` within clusters: the variance
        is then :math:`1 + aρ + a'(1-ρ)r` times as large. Where :math:`a < 0.5` hardly a cluster has two
        members, and :math:`r` is of all that varies: :math:`1 + aρ + a'r`.
    Returns: Of the shape of ``n``; ``n`` itself where :math:`a ≤ 0` and :math:`a' ≤ 0`.
    Source: Cameron, Gelbach and Miller (2011), J. Business and Economic Statistics 29 (two-way clusters).
    """
    number, grown = np.asarray(n, np.float64), np.maximum(np.asarray(alike, np.float64), 0.0)
    variance = 1 + grown[..., None] * ICC_GRID
    if crossed is None:
        return _widened(number, variance, weights, grown > 0, level)
    across = np.maximum(np.asarray(crossed.alike, np.float64), 0.0)
    some = np.flatnonzero(across > 0)
    left = number.copy()
    if some.size < left.size:
        left = _widened(number, variance, weights, grown > 0, level)
    for part in np.split(some, range(_AT_ONCE, some.size, _AT_ONCE)):
        inside = np.where(grown[part, None] < FEW_TOGETHER - 1, 1.0, 1 - ICC_GRID)
        both = variance[part, :, None] + (across[part, None] * inside)[..., None] * ICC_GRID
        product = weights[part, :, None] * crossed.weights[part, None, :]
        flat = (part.size, ICC_GRID.size**2)
        every = np.ones(part.size, bool)
        left[part] = _widened(number[part], both.reshape(flat), product.reshape(flat), every, level)
    return left


def _widened(
    number: Floats, variance: Floats, weights: Floats, some: NDArray[np.bool_], level: float
) -> Floats:
    """``number`` less what a mixture of variances takes, where ``some``."""
    z, sd = normal_quantile(level), np.sqrt(variance)
    # The tail is convex beyond 0, and no variance is below 1: Newton's steps from z never pass the root.
    at = np.full(number.shape, z)
    for _ in range(_MOST_STEPS):
        over = at[..., None] / sd
        excess = np.sum(weights * special.ndtr(-over), axis=-1) - (1 - level) / 2
        slope = np.sum(weights * np.exp(-0.5 * over * over) / sd, axis=-1) / np.sqrt(2 * np.pi)
        step = excess / slope
        at = at + step
        if not np.any(np.abs(step) > _CLOSE * at):
            break
    return np.asarray(np.where(some, number * (z / at) ** 2, number))


def effective_counts(
    k: ArrayLike,
    n: ArrayLike,
    *,
    level: float = 0.95,
    starts: ArrayLike | None = None,
    crossed: Crossed | None = None,
) -> tuple[Floats, Floats]:
    """Successes and trials that carry as much information as independent ones would.

    What the counts themselves say of the intra-class correlation (:func:`icc_evidence`) makes the effective
    number (:func:`effective_trials`). Give the result to :func:`~stereotrope.stats.wilson` or ``newcombe``.

    k, n: Successes and trials of each cluster, shape ``(m,)``.
    level: Nominal coverage of the interval it is meant for.
    starts: Where each of several cells, of a cluster or more, begins; they are of one cell when None.
    crossed: As of :func:`effective_trials`, of one cell or of each.
    Returns k_effective, n_effective: Numbers, with ``starts`` of shape ``(cells,)``. Their quotient is that
        of the sums. Where all members agree every correlation remains as likely, and 0 of 200 in ten clusters
        counts like 0 of 16. With one cluster, or clusters of one member, the plain sums.
    """
    successes, trials = np.asarray(k, np.float64), np.asarray(n, np.float64)
    if not trials.size:
        none = np.zeros(np.shape(0.0 if starts is None else starts))
        return none, none
    begins = np.asarray([0] if starts is None else starts, np.int64)
    total, hits, several = (np.add.reduceat(part, begins) for part in (trials, successes, 1 * (trials > 0)))
    weights = _normalised(icc_evidence(successes, trials, begins) + _STEPS)
    across = crossed and Crossed(np.atleast_1d(crossed.alike), np.atleast_2d(crossed.weights))
    widened = effective_trials(trials, weights, level=level, starts=begins, crossed=across)
    effective = np.where(several > 1, widened, total)
    counts = np.stack([hits * np.where(total > 0, effective / np.maximum(total, 1.0), 0.0), effective])
    return tuple(counts if starts is not None else counts[:, 0])


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


def _evidence_of_cells(
    successes: NDArray[np.int64], trials: NDArray[np.int64], starts: NDArray[np.int64]
) -> Floats:
    """:func:`icc_evidence` of several cells: how many clusters have a count, times what that count says."""
    found = np.zeros((starts.size, ICC_GRID.size))
    if not trials.size:
        return found
    k, n = np.add.reduceat(successes, starts), np.add.reduceat(trials, starts)
    telling = np.flatnonzero((k > 0) & (k < n) & (np.maximum.reduceat(trials, starts) > 1))
    sizes = np.diff(starts, append=trials.size)
    rising, whole = _rising(1 << int(max(trials.max(), 2) - 1).bit_length())
    # No more counts than there are: the table goes on to a power of two.
    most = int(trials.max()) + 1
    of_share, of_whole = rising.reshape(len(rising), -1)[:most], whole[:most]
    for part in np.split(telling, range(_AT_ONCE, telling.size, _AT_ONCE)):
        each = sizes[part]
        cell = np.repeat(np.arange(part.size), each)
        own = np.arange(cell.size) + np.repeat(starts[part] + each - np.cumsum(each), each)
        of_k, of_rest, of_n = (
            _times(cell, counts[own], (part.size, most)) for counts in (successes, trials - successes, trials)
        )
        both = (of_k @ of_share, of_rest @ of_share)
        hits, rest = (one.reshape(part.size, *rising.shape[1:]) for one in both)
        total = hits + rest[:, ::-1]
        peak = total.max(axis=1, keepdims=True)
        mean = np.log(np.exp(total - peak).mean(axis=1)) + peak[:, 0]
        found[part] = mean - of_n @ of_whole
    return found


def _times(cell: NDArray[np.int64], counts: NDArray[np.int64], shape: tuple[int, int]) -> Floats:
    """How many clusters of each cell have each count."""
    found = np.bincount(cell * shape[1] + counts, minlength=shape[0] * shape[1])
    return found.reshape(shape).astype(np.float64)


@lru_cache(maxsize=8)
def _rising(most: int) -> tuple[Floats, Floats]:
    """Logarithms of the rising products up to ``most``, by share and correlation, and those of the whole."""
    shares = np.sin((np.arange(_N_SHARES) + 0.5) / _N_SHARES * np.pi / 2) ** 2
    steps = np.arange(most)[:, None, None]
    of_share = np.log(shares[:, None] * (1 - ICC_GRID) + steps * ICC_GRID)
    whole = np.log(1 - ICC_GRID + steps[:, 0] * ICC_GRID)
    return tuple(np.concatenate([np.zeros_like(x[:1]), np.cumsum(x, axis=0)]) for x in (of_share, whole))  # type: ignore[return-value]


def like_others(weights: Floats, unalike: float = _UNALIKE) -> Floats:
    """Probability of each correlation in a cell where other cells have those of these probabilities.

    unalike: How far they differ: a standard deviation of their square roots.
    """
    return np.asarray(weights @ _kernel(unalike))


@lru_cache(maxsize=2)
def _kernel(unalike: float) -> Floats:
    """How probable each correlation is in a cell where another cell has this one."""
    roots = np.sqrt(ICC_GRID)
    steps = np.gradient(ICC_GRID) / np.maximum(2 * roots, roots[1])
    near = np.exp(-0.5 * ((roots[:, None] - roots) / unalike) ** 2) * steps
    return np.asarray(near / near.sum(axis=1, keepdims=True))


def _normalised(logarithms: Floats) -> Floats:
    return np.asarray(special.softmax(logarithms, axis=-1))
