"""p-values of divergences: what shuffled images read, and exact tails where shuffles cannot go."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from stereotrope.measure.divergence.coded import Codes, Ints
from stereotrope.stats import (
    ICC_GRID,
    MOST_WAYS,
    Clustered,
    behrens_fisher_test,
    beyond_exact,
    cauchy_combined,
    cluster_scatter,
    clusters_apart,
    greatest_shift,
    icc_by_group,
    icc_evidence,
    joint_evidence,
    js_tail,
    part_apart,
    permutation_p,
    shared_correlation,
    special,
)
from stereotrope.stats.arrays import Counts, Floats

_Mask = NDArray[np.bool_]
_TIE = 1e-12
_ALL = 1 - 1e-9
_SURE = 10
"""Shuffles with the greatest score from which on it is taken for the greatest that there is."""


def chance_of(codes: Codes, group: Ints, value: Floats, null: Floats) -> tuple[Floats, Floats]:
    r"""Test that groups show values alike: p-values, and the least that the counts could have given.

    An attribute: its divergence, and the value that shifts most between a group and the others, combined by
    :func:`cauchy_combined`. Of two groups both tests are exact (:func:`js_tail`, :func:`greatest_shift`) and
    mid-p; the divergence of more than two is tested by the shuffles. All attributes: the shuffles of their
    mean, those of :math:`Σ_a \max(0, z_a)^2`, which sees that few attributes differ, and the tests of all
    attributes, combined likewise.

    codes, group: As in :func:`stereotrope.stats.shuffled_js`; every attribute is known of two groups.
    value, null: Scores of the mean over attributes, then of each; and those of shuffles, shape (B, …).
    Returns p, least: Of the mean, then of each attribute.
    """
    shuffled, floors = permutation_p(value, null), _least(null)
    of_attributes = _of_attributes(codes, group, shuffled[1:], floors[1:])
    of_mean = _combined(*of_attributes)
    if of_attributes.shape[1] > 1:
        seen, sparse = _sparse(value[1:], null[:, 1:])
        of_shuffles = np.array([[shuffled[0], permutation_p(seen, sparse)], [floors[0], _least(sparse)]])
        # The tests of all attributes are one of three.
        of_mean = _combined(*np.column_stack([of_shuffles, of_mean]))
    p, least = np.column_stack([of_mean, of_attributes])
    return p, np.minimum(p, least)


def chance_of_prompts(
    value: Floats,
    shuffles: tuple[Floats, Floats],
    clustered: Clustered,
    peers: Floats,
    grown: Floats,
    *,
    every: bool,
) -> tuple[Floats, Floats]:
    r"""Test that groups show values alike where whole prompts are shuffled, or their sides exchanged.

    An attribute: the part of the shuffles, the one seen among them, that score as high. All attributes: the
    lesser of such p of their mean and of :math:`Σ_a \max(0, z_a)^2`, referred to what it is in the shuffles.
    The least p that shuffles can give is carried on by the value that shifts most, by exchanging prompts and,
    where that ends too, beta-binomial counts (:func:`beyond_exact`); and by those of all attributes combined.

    value: As in :func:`chance_of`.
    shuffles: As ``null`` there, with the noise that seeds add, and without: what could be seen hangs on none.
    clustered: Counts by prompt.
    peers: By attribute and group how probable each intra-class correlation is, by what other conditions say,
        shape ``(n_attributes, n_groups, 16)``.
    grown: By attribute, how many times as large the noise is with seeds as by prompts alone.
    every: Whether the shuffles are all that there are.
    Returns p, least: Of the mean, then of each attribute.
    """
    null, plain = shuffles
    found = _ranked(value, null)[0]
    # Hardly ever is more seen than any shuffle drawn shows, where several show their most.
    least = _ranked(value, plain).min(axis=0) if every else np.minimum(found, _least(plain))
    ways = (1 if every else 2) * (1 + len(null))
    if ways > MOST_WAYS:
        return found, least
    # What seeds do to one group is left as it is where prompts are exchanged.
    of_each = _of_counts(clustered, peers)
    of_each[0] = 2 * special.ndtr(special.ndtri(of_each[0] / 2) / np.sqrt(grown))
    p, least = beyond_exact([found, least], np.append(_combined(*of_each)[0], of_each[0]), ways)
    return p, least


def chance_of_unlike(p: Floats, usual: Floats, clustered: Clustered, floor: Floats, peers: Floats) -> Floats:
    r"""p that groups show values alike, where the prompts of each group vary in their own way.

    Exchanged, prompts of groups that vary unlike are not alike, though all show values as often. What is seen
    is taken for the reading of :math:`χ^2_ν` that has the p of the exchange, whose mean is that of shuffles,
    and set against the noise that each group's own prompts make (:func:`behrens_fisher_test`). Seeds that
    prompts share are in p already, and add as much to both.

    p, usual: p of shuffled prompts, and the divergence of these on average, in bits; of the mean, then of
        each attribute.
    clustered, peers: As of :func:`chance_of_prompts`.
    floor: What independent images add to the divergence of each attribute, in bits.
    Returns: Of the shape of ``p``, and never below.
    """
    counts, starts, attribute = clustered.counts, clustered.hot.starts, clustered.hot.attribute
    labelled = np.add.reduceat(np.asarray(counts, np.float64), starts, axis=0)
    images, alike = np.zeros((2, len(peers), len(clustered.sizes)))
    own = np.empty((*images.shape, ICC_GRID.size))
    for g in range(len(clustered.sizes)):
        side = clustered.group == g
        n = labelled[:, side]
        images[:, g] = n.sum(axis=1)
        alike[:, g] = (n * n).sum(axis=1) / np.maximum(images[:, g], 1.0) - 1
        own[:, g] = joint_evidence(_evidence_of_values(counts[:, side], n[attribute]), attribute, len(peers))
    weights = icc_by_group(own, peers)
    each = np.divide(1.0, images, out=np.zeros_like(images), where=images > 0)
    if clustered.matched:
        variance = each * (1 + alike * (weights @ ICC_GRID))
        floor = floor * part_apart(variance, _correlations(clustered, labelled))
    parts = each / each.sum(axis=1, keepdims=True) * floor[:, None]
    half = cluster_scatter(clustered).dimensions / 2
    seen = special.gammainccinv(half, np.clip(p, np.finfo(np.float64).tiny, 1.0)) / half * usual
    # All attributes together are groups of one distance.
    together, every = parts.ravel() / len(peers), weights.reshape(-1, ICC_GRID.size)
    of_mean = behrens_fisher_test(seen[0], together, alike.ravel(), every, 2 * half[0])
    of_each = behrens_fisher_test(seen[1:], parts, alike, weights, 2 * half[1:])
    return np.maximum(p, np.append(of_mean, of_each))


def _correlations(clustered: Clustered, labelled: Floats) -> Floats:
    """Of the values' shares on both sides of matched prompts, averaged by how they vary."""
    attribute, starts = clustered.hot.attribute, clustered.hot.starts
    k, n = np.asarray(clustered.counts, np.float64), labelled[attribute]
    share = k.sum(axis=1) / n.sum(axis=1)
    weight = share * (1 - share) + _TIE
    seen = shared_correlation(k[:, ::2], n[:, ::2], k[:, 1::2], n[:, 1::2])
    return np.asarray(np.add.reduceat(seen * weight, starts) / np.add.reduceat(weight, starts))


def _evidence_of_values(k: Counts, n: Counts) -> Floats:
    """What the prompts of a side, along the last axis, say of how alike pictures of one are, by value."""
    if not k.size:
        return np.zeros((len(k), ICC_GRID.size))
    return icc_evidence(k.ravel(), n.ravel(), np.arange(len(k)) * k.shape[1])


def _of_counts(clustered: Clustered, peers: Floats) -> Floats:
    """p and least p of each attribute, shape (2, n_attributes): of the value that shifts most, corrected."""
    hot, groups, p = clustered.hot, range(len(clustered.sizes)), np.ones((2, len(peers)))
    for at, others in enumerate(peers):
        counts = clustered.counts[hot.attribute == at]
        trials = counts.sum(axis=0)
        sides = [(clustered.group == g) & (trials > 0) for g in groups]
        tests = [
            _shifts(counts, sides, g, others, matched=clustered.matched)
            for g in (groups[:1] if len(sides) == 2 else groups)
            if sides[g].any()
        ]
        p[:, at] = _combined(*np.transpose(tests))
    return p


def _shifts(
    counts: Counts, sides: Sequence[_Mask], g: int, peers: Floats, *, matched: bool
) -> tuple[float, float]:
    """Tarone's correction of the least p of the values of one side and all others."""
    k = counts if len(counts) > 2 else counts[:1]
    if not len(k):
        return 1.0, 1.0
    n, side, other = np.broadcast_to(counts.sum(axis=0), k.shape), sides[g], np.any(sides, axis=0) & ~sides[g]
    evidence = [_evidence_of_values(k[:, one], n[:, one]) for one in sides]
    of = k[:, side], n[:, side], k[:, other], n[:, other]
    own = evidence[g], np.sum(evidence, axis=0) - evidence[g]
    told = np.stack([peers[g], np.delete(peers, g, axis=0).mean(axis=0)])
    p, least = clusters_apart(*of, own=own, peers=told, matched=matched)
    lowest, floor = (min(1.0, x * max(1, int((least <= x).sum()))) for x in (p.min(), least.min()))
    return lowest, floor


def _ranked(value: Floats, null: Floats) -> Floats:
    """By row, what was seen first: p of the mean and the sparse statistic as one, then of each attribute."""
    scores = np.vstack([value, null])
    sparse = np.append(*_sparse(value[1:], null[:, 1:]))[:, None]
    scores[:, 0] = -np.minimum(_upper(scores[:, :1]), _upper(sparse))[:, 0]
    return _upper(scores)


def _upper(scores: Floats) -> Floats:
    """By column, the part of the rows that score as high as each row; rows without a score do not count."""
    known = ~np.isnan(scores)
    found = np.ones_like(scores)
    for at, column in enumerate(scores.T):
        order = np.argsort(column)
        # Sorted numbers are found fast in sorted ones; NaN stands last.
        rising = column[order]
        n = int(known[:, at].sum())
        found[order, at] = 1 - np.searchsorted(rising[:n], rising - _TIE) / max(1, n)
    return np.where(known, found, 1.0)


def _of_attributes(codes: Codes, group: Ints, p: Floats, least: Floats) -> Floats:
    """p and least p of each attribute, shape (2, n_attributes)."""
    n_values, n_groups = int(codes.max(initial=0)) + 1, int(group.max()) + 1
    counts = np.zeros((n_groups, codes.shape[1], n_values), np.int64)
    for at, column in enumerate(codes.T):
        cell = (group * n_values + column)[column >= 0]
        counts[:, at] = np.bincount(cell, minlength=n_groups * n_values).reshape(n_groups, n_values)
    others = counts.sum(axis=0) - counts
    if len(counts) == 2:
        p, least = _halved(js_tail(*counts))
        counts, others = counts[:1], others[:1]
    shifts = _halved(greatest_shift(counts.reshape(-1, n_values), others.reshape(-1, n_values)))
    shift = _combined(*(x.reshape(len(counts), -1).T for x in shifts))
    return _combined(*np.stack([(p, least), shift], axis=-1))


def _halved(found: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats]:
    """The mid-p of a test and the least that it can be: half of the least p, where there is another."""
    _, mid_p, least = found
    return mid_p, np.where(least < _ALL, least / 2, least)


def _combined(p: Floats, least: Floats) -> Floats:
    """Tests along the last axis as one, of p and of the least p; those that tell nothing are left out."""
    able = least < _ALL
    both = cauchy_combined(np.where(able, [p, least], np.nan))
    return np.where(able.any(axis=-1), both, 1.0)


def _sparse(value: Floats, null: Floats) -> tuple[Floats, Floats]:
    """Sum of the squared positive z of attributes, of the images as they are and of their shuffles."""
    every = np.vstack([value, null])
    known = ~np.isnan(every)
    n = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, every, 0.0).sum(axis=0) / n
    sd = np.sqrt(np.where(known, (every - mean) ** 2, 0.0).sum(axis=0) / n)
    z = np.maximum(0.0, np.nan_to_num((every - mean) / np.where(sd > _TIE, sd, np.inf)))
    found = (z**2).sum(axis=1)
    return found[0], found[1:]


def _least(null: Floats) -> Floats:
    """Least p that shuffles can give: the share of those with their greatest score."""
    known = (~np.isnan(null)).sum(axis=0)
    greatest = np.max(np.nan_to_num(null, nan=-1.0), axis=0)
    ties = (null >= greatest - _TIE).sum(axis=0)
    return np.asarray((1 + np.where(ties > _SURE, ties, 0)) / (1 + known))
