"""The scores as functions of sums over captions, so that one product resamples all of them."""

from collections.abc import Callable, Sequence

import numpy as np

from stereotrope.measure.captions.groups import Sides
from stereotrope.stats import ScoreOfSums
from stereotrope.stats.arrays import Floats

Score = Callable[[Floats], Floats]

_TINY = np.finfo(np.float64).tiny


def xlog2(p: Floats) -> Floats:
    """``p · log2 p`` with ``0 · log2 0 = 0``."""
    return np.asarray(p * np.log2(np.maximum(p, _TINY)), np.float64)


def shares(counts: Floats) -> Floats:
    """Counts, groups along the first axis, as shares; NaN where they sum to 0."""
    total = counts.sum(axis=0)
    shared: Floats = np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)
    return shared


def _seen(counts: Floats) -> Floats:
    return np.asarray((counts > 1e-9).sum(axis=0), np.float64)


def signed_gap(counts: Floats, *, sides: Sides) -> Floats:
    """Share of the first side less that of the second."""
    return np.asarray(signed_gaps(counts, sides=[sides])[0], np.float64)


def signed_gaps(counts: Floats, *, sides: Sequence[Sides]) -> Floats:
    """:func:`signed_gap` of several sides, along the first axis."""
    p, gaps = shares(counts), np.full((len(sides), counts.shape[1]), np.nan)
    if not len(p):
        return gaps
    single = [at for at, one in enumerate(sides) if len(one.first) == len(one.second) == 1]
    gaps[single] = p[[sides[at].first[0] for at in single]] - p[[sides[at].second[0] for at in single]]
    for at in set(range(len(sides))).difference(single):
        gaps[at] = p[list(sides[at].first)].sum(axis=0) - p[list(sides[at].second)].sum(axis=0)
    return np.asarray(np.where(np.isnan(p[0]), np.nan, gaps), np.float64)


def bias_score(counts: Floats, *, released: bool) -> Floats:
    """Sum of the distances of the shares from 1/k; k is the number of groups seen where released."""
    p = shares(counts)
    if not released:
        return np.asarray(np.abs(p - 1.0 / max(len(p), 1)).sum(axis=0), np.float64)
    k = np.maximum(_seen(counts), 1.0)
    gaps = np.where(counts > 1e-9, np.abs(p - 1.0 / k), 0.0).sum(axis=0)
    return np.asarray(np.where(counts.sum(axis=0) > 0, gaps, np.nan), np.float64)


def evenness(counts: Floats, *, released: bool) -> Floats:
    """Entropy over its greatest; that of the groups seen where released, 0 where one was seen."""
    bits = np.maximum(-xlog2(shares(counts)).sum(axis=0), 0.0)
    k = _seen(counts) if released else np.full(counts.shape[1], float(len(counts)))
    most = np.log2(np.maximum(k, 1.0))
    empty = np.zeros_like(bits) if released else np.full_like(bits, np.nan)
    value = np.divide(bits, most, out=empty, where=most > 0)
    return np.asarray(np.where(counts.sum(axis=0) > 0, value, np.nan), np.float64)


def divergence(counts: Floats, *, released: bool) -> Floats:
    """Divergence from equal shares in bits; in nats and over the groups seen where released."""
    k = np.maximum(_seen(counts), 1.0) if released else float(max(len(counts), 1))
    bits = np.maximum(xlog2(shares(counts)).sum(axis=0) + np.log2(k), 0.0)
    bits = np.where(counts.sum(axis=0) > 0, bits, np.nan)
    return np.asarray(bits * np.log(2.0) if released else bits, np.float64)


def association(sums: Floats, *, epsilon: float) -> Floats:
    """Stereotype hits over all hits and ``epsilon``; NaN where all these are 0."""
    below = sums.sum(axis=0) + epsilon
    part: Floats = np.divide(sums[0], below, out=np.full_like(below, np.nan), where=below > 0)
    return part


def mean_of(sums: Floats) -> Floats:
    """The first sum over the second; NaN where that is 0."""
    mean: Floats = np.divide(sums[0], sums[1], out=np.full(sums.shape[1], np.nan), where=sums[1] > 0)
    return mean


def group_score(columns: Floats, score: Score) -> ScoreOfSums:
    """A score of the counts of groups; a made-up caption names each group as likely."""
    return ScoreOfSums(columns, score, np.eye(len(columns)))


def combined(parts: Sequence[ScoreOfSums], join: Callable[[Sequence[Floats]], Floats]) -> ScoreOfSums:
    """A score made of others: sums side by side, and every combination of their made-up captions."""
    sizes = [len(part.features) for part in parts]
    ends = np.cumsum(sizes).tolist()
    starts = [0, *ends[:-1]]

    def score(sums: Floats) -> Floats:
        return join([part.score(sums[a:b]) for part, a, b in zip(parts, starts, ends, strict=True)])

    pseudo = np.zeros((0, 1))
    for part in parts:
        added = part.pseudo if part.pseudo.shape[1] else part.features.mean(axis=1, keepdims=True)
        pseudo = np.vstack([np.repeat(pseudo, added.shape[1], axis=1), np.tile(added, (1, pseudo.shape[1]))])
    return ScoreOfSums(np.vstack([part.features for part in parts]), score, pseudo)
