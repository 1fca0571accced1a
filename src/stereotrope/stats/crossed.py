"""How alike the members of a second grouping are that crosses the clusters: pictures of one seed."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.icc import (
    FEW_TOGETHER,
    ICC_GRID,
    MORE_UNALIKE,
    Crossed,
    as_foretold,
    joint_evidence,
    like_others,
    widened_number,
)

_NONE = 0.2
"""How probable it is beforehand that groups across clusters make nothing alike; by simulation."""
_STEPS = np.gradient(ICC_GRID)
_BEFORE = np.log((1 - _NONE) * _STEPS / _STEPS.sum() + _NONE * (ICC_GRID == 0))
_MOST_BENT = 40
"""Groups up to which it counts that a score bends within what they do: of more it hardly does."""
_LEAST = 1e-6
"""Part of W that is left of it at least."""


class Scatter(NamedTuple):
    """How members of groups across clusters are scattered, inside clusters; of one cell or many.

    between: :math:`B = Σ_s R_s^2`, with :math:`R_s` what the members of group ``s`` show more than the shares
        of their clusters.
    within: :math:`W = Σ_c n_c p_c (1-p_c)`, what B is on average where groups make nothing alike.
    width: Members of the group that a member is of, on average; see :meth:`of`.
    groups: Groups that would be as wide, in effect.
    """

    between: Floats
    within: Floats
    width: Floats
    groups: Floats

    @classmethod
    def of(cls, between: Floats, within: Floats, free: Floats, squares: Floats) -> "Scatter":
        r"""Scatter of groups of which clusters have a part only, too.

        What the share of its cluster leaves of a member is :math:`1 - n_{cs}/n_c` of what its group does,
        nothing of a cluster of one. With :math:`d_s` the sum of these, :math:`G = (Σd)^2/Σd^2` and
        :math:`m = \frac{Σd^2}{Σd} \frac{G}{G-1}`: where each cluster has one member of each group, the groups
        and the clusters.

        free, squares: :math:`Σ_s d_s` and :math:`Σ_s d_s^2`.
        Source: John (1980), Incomplete Block Designs, section 2.2 (groups adjusted for clusters).
        """
        groups = free**2 / np.maximum(squares, 1e-300)
        width = squares / np.maximum(free, 1e-300) * groups / np.maximum(groups - 1, 1e-9)
        return cls(between, within, width, groups)

    @property
    def freedom(self) -> Floats:
        """Degrees of freedom of E: 0 where there is one group, or none has several members."""
        return np.asarray(np.maximum(self.groups - 1, 0) * np.maximum(self.width - 1, 0))

    @property
    def residual(self) -> Floats:
        """:math:`E`: what W would be without what the members of a group have in common."""
        wide = np.maximum(self.width, 1 + 1e-9)
        return np.asarray((self.within - self.between / wide) * wide / (wide - 1))


def crossed_evidence(one: Scatter, other: Scatter | None = None, between: Floats | None = None) -> Floats:
    r"""Log-likelihood of each correlation :math:`r` of :data:`ICC_GRID` in groups across clusters.

    In an analysis of variance of the groups within clusters, :math:`F = B/E` is
    :math:`1 + mr/(1-r)` times a variable of Fisher's distribution with :math:`G - 1` and
    :math:`(G-1)(m-1)` degrees of freedom: ``m`` the width, ``G`` the groups. Of a difference of two shares
    over the same groups, so far as these act alike on both sides, B is that of the differences of both
    :math:`R_s/n`, and E the sum of both sides' :math:`E/n^2`: what cancels is so left out.

    one, other: Scatter of a cell, and of the cell it is compared with; of the latter two B and W are in parts
        of :math:`n^2`.
    between: B of the differences, where there is an other.
    Returns: Shape ``(…, 16)``; all 0 where there is one group, or nothing varies.
    Source: Cochran (1950), Biometrika 37 (B/W is his Q over :math:`G - 1`); Searle, Casella and McCulloch
        (1992), Variance Components, section 4.4.
    """
    seen, left, wide, groups, within = one.between, one.residual, one.width, one.groups, one.within
    freedom = one.freedom
    if other is not None and between is not None:
        share = one.within / np.maximum(one.within + other.within, 1e-300)
        seen, left, groups = between, left + other.residual, np.minimum(groups, other.groups)
        within = within + other.within
        freedom = freedom + other.freedom
        wide = share * wide + (1 - share) * other.width
    known = (within > 0) & (wide > 1) & (groups > 1) & (freedom > 0)
    left = np.maximum(left, _LEAST * within)  # of groups that decide all there is nothing but rounding
    first = np.where(known, groups - 1, 1.0)[..., None]
    second = np.where(known, freedom, 1.0)[..., None]
    grown = 1 + np.where(known, wide, 1.0)[..., None] * ICC_GRID / (1 - ICC_GRID)
    at = (np.where(known, seen, 1.0) / np.where(known, left, 1.0))[..., None] / grown
    at = np.maximum(at, 1e-12)
    told = (first / 2 - 1) * np.log(at) - np.log(grown) - (first + second) / 2 * np.log1p(first * at / second)
    return np.asarray(np.where(known[..., None], told - told.max(axis=-1, keepdims=True), 0.0))


def crossed_weights(
    evidence: Sequence[Floats] | Floats, *, alike: bool = True, told: Floats | None = None
) -> Floats:
    """Probability of each correlation of members of groups across clusters, in cells that are alike.

    Beforehand there is none with a probability of 0.2, and all others are as likely. What the other cells say
    together is believed as it is, up to a standard deviation of 0.15 or 0.35 of the square root of the
    correlation, by which cells differ, or not at all: each as likely beforehand, and as it foretells what
    cells say by what the others do (:func:`stereotrope.stats.icc_weights`).

    evidence: Of each cell (:func:`crossed_evidence`).
    alike: Whether the cells are; else each is told by itself.
    told: How probable each is by what else is known, shape ``(16,)``, instead of that.
    Returns: Shape ``(cells, 16)``, rows sum to 1.
    """
    own = np.asarray(evidence, np.float64).reshape(-1, ICC_GRID.size)
    if told is not None or len(own) < 2 or not alike:
        before = _BEFORE if told is None else np.log(np.maximum(told, np.finfo(np.float64).tiny))
        return np.asarray(special.softmax(own + before, axis=-1))
    others = special.softmax(own.sum(axis=0) - own + _BEFORE, axis=-1)
    even = np.broadcast_to(special.softmax(_BEFORE), own.shape)
    ways = np.stack([others, like_others(others), like_others(others, MORE_UNALIKE), even])
    return np.asarray(special.softmax(own + np.log(as_foretold(own, ways, np.zeros(len(ways)))), axis=-1))


class Across(NamedTuple):
    """Members of one cell that are of clusters and, across these, of groups.

    cluster, group: Of each member as a number of 0 or more, shape ``(n,)``.
    """

    cluster: NDArray[np.int64]
    group: NDArray[np.int64]

    @property
    def alike(self) -> float:
        """How much the variance of a share grows with the correlation of members of a group."""
        sizes = np.bincount(self.group)
        return float(sizes @ sizes) / len(self.group) - 1

    def crossed(self, *shown: ArrayLike) -> Crossed:
        """How alike members of a group look, in a cell that stands alone.

        shown: What each member adds to a sum, shape ``(n,)``: 1 where it shows a value, say, and that of each
            value (:func:`~stereotrope.stats.joint_evidence`).
        """
        evidence = evidence_apart([(self, np.stack(shown, axis=1))])
        joint = joint_evidence(evidence, np.zeros(len(shown), np.int64), 1)
        return Crossed(np.asarray(self.alike), crossed_weights(joint)[0])

    def scatter(self, moved: ArrayLike) -> tuple[Floats, Scatter]:
        """By how much each group moves a sum more than its clusters lead one to expect, and their scatter.

        moved: What each member adds to it, shape ``(n,)``, or to each of several sums, ``(n, k)``.
        Returns: Shapes ``(groups,)`` and ``()``, or ``(groups, k)`` and ``(k,)``.
        """
        of, cluster = np.asarray(moved, np.float64), self.cluster
        sizes = np.bincount(cluster)
        if sizes @ sizes < FEW_TOGETHER * sizes.sum():  # clusters that can hardly be told from their members
            cluster = np.zeros_like(cluster)
            sizes = np.bincount(cluster)
        shares = (_sums(cluster, of).T / np.maximum(sizes, 1)).T
        left = of - shares[cluster]
        _, at, both = np.unique(
            cluster * (self.group.max() + 1) + self.group, return_inverse=True, return_counts=True
        )
        free = np.bincount(self.group, 1 - both[at] / sizes[cluster])
        about = (len(of) - np.count_nonzero(sizes)) / max(float(free.sum()), 1e-9)
        more = _sums(self.group, left) * np.sqrt(about)
        squares = (more**2).sum(axis=0), (left**2).sum(axis=0)
        return more, Scatter.of(*map(np.asarray, (*squares, free.sum(), free @ free)))

    def reach(self, moved: ArrayLike, *, level: float = 0.95, of_members: bool = False) -> float:
        """How many times as far an interval by the clusters' scatter reaches with that of groups.

        moved: By how much each member moves the score, shape ``(n,)``.
        of_members: Whether the interval is by the members' scatter, of these clusters alone.
        Returns: At least 1; 1 where no member moves it.
        """
        return float(np.sqrt(self._variance(np.asarray(moved, np.float64)[:, None], level, of_members)[1][0]))

    def bend(
        self, moved: Callable[[Floats], Floats], *, level: float = 0.95, of_members: bool = False
    ) -> float:
        r"""Standard error to be added in quadrature to what groups do, as they change by how much they do it.

        The slope of a score that bends is another a standard error away: its square is, on average,
        :math:`f'^2 + f''^2 σ^2` where groups move what the score is of by :math:`σ`. That is moved by each of
        ``G`` groups in turn that counts twice, in squares summed over groups by
        :math:`\frac{G(G-1)}{(G+1)^2} σ^2`.

        moved: Takes weights of members, shape ``(n, k)``, and gives by how much each member moves the score
            where members weigh so, of the same shape, in units of the score.
        Returns: At least 0; 0 of two groups or fewer, and of more than forty.
        """
        groups = np.unique(self.group)
        g = len(groups)
        if not 2 < g <= _MOST_BENT:
            return 0.0
        weights = np.ones((len(self.group), 1 + g))
        weights[:, 1:] += self.group[:, None] == groups
        found = np.prod(self._variance(moved(weights), level, of_members), axis=0)
        more = np.sum(found[1:]) - g * found[0]
        return float(np.sqrt(max(more, 0.0) * (g + 1) ** 2 / (g * (g - 1))))

    def _variance(self, moved: Floats, level: float, of_members: bool) -> tuple[Floats, Floats]:
        """Variance of each sum by the clusters' scatter, and how many times as large groups make it."""
        known = np.isfinite(moved)
        mean = np.where(known, moved, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        away = np.nan_to_num(moved - mean)
        m, alone = int(np.count_nonzero(np.bincount(self.cluster))), (away**2).sum(axis=0)
        varies = (alone > 0) & (m > 1)
        each = (_sums(self.cluster, away) ** 2).sum(axis=0) * m / max(m - 1, 1)
        alike = np.ones(len(alone)) if of_members else np.maximum(1.0, each / np.where(varies, alone, np.inf))
        weights = crossed_weights(evidence_apart([(self, away)]), alike=False)
        crossed = Crossed(np.asarray(self.alike), weights)
        growth = noise_growth(alike, len(away) / max(m, 1), crossed, level=level)
        return np.where(varies, alike * alone, 0.0), np.where(varies, growth, 1.0)

    def among(self, kept: ArrayLike) -> "Across":
        """Of some members alone."""
        some = np.asarray(kept, bool)
        cluster, group = (np.unique(of[some], return_inverse=True)[1].astype(np.int64) for of in self)
        return Across(cluster, group)


def evidence_apart(sides: Sequence[tuple[Across, ArrayLike]]) -> Floats:
    """What is to be seen of what groups do to a sum over one cell, or over two that may share groups.

    sides: Of each cell what its members add to the sum, to a difference of shares ``1 / n`` and ``-1 / n``;
        or to each of several, shape ``(n, k)``.
    Returns: Shape ``(16,)``, or ``(k, 16)``.
    """
    more, scatters = zip(*(across.scatter(moved) for across, moved in sides), strict=True)
    gaps = np.zeros((max(map(len, more)), *more[0].shape[1:]))
    for of in more:
        gaps[: len(of)] += of
    between = (gaps**2).sum(axis=0)
    return crossed_evidence(scatters[0], scatters[1] if len(sides) > 1 else None, between)


def _sums(of: NDArray[np.int64], numbers: Floats) -> Floats:
    """By cluster or group, the sum of numbers, or of each column of them."""
    if numbers.ndim == 1:
        return np.asarray(np.bincount(of, numbers), np.float64)
    return np.stack([np.bincount(of, column) for column in numbers.T], axis=1)


def noise_growth(
    alike: ArrayLike, size: ArrayLike, crossed: Crossed, *, level: float | None = 0.95
) -> Floats:
    """How many times as large the variance over clusters is where groups across them are alike too.

    alike, size: How many times as much clusters scatter as independent members would, and their members; one
        or many.
    level: Of the interval that it is meant for: how uncertain the correlation is widens it. None: on average.
    """
    scatter = np.asarray(alike, np.float64)
    icc = np.clip((scatter - 1) / np.maximum(np.asarray(size, np.float64) - 1, 1.0), 0.0, 1.0)
    more = (1 - icc) * crossed.alike / scatter
    if level is None:
        return np.asarray(1 + more * (crossed.weights @ ICC_GRID))
    return 1 / widened_number(np.ones_like(more), more, crossed.weights, level=level)
