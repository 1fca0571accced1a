"""Rows of estimates for divergences between groups: score, floor, interval and permutation test."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cells import NO_LABEL, NO_REFERENCE, SMALL_N
from stereotrope.measure.divergence.coded import CodedLabels, Ints
from stereotrope.measure.tidy import excluded_json
from stereotrope.stats import benjamini_hochberg
from stereotrope.stats.bootstrap import normal_interval, resampled_js, unanimous_js
from stereotrope.stats.counts import pairwise_js
from stereotrope.stats.divergence import greatest_js
from stereotrope.stats.intervals import normal_quantile
from stereotrope.stats.permutation import permutation_p, shuffled_js
from stereotrope.tables import ALL_ATTRIBUTES

Floats = NDArray[np.float64]

NOT_SHARED = "no attribute with a usable label of two groups"

_DEGENERATE = 1e-12
_LN2 = float(np.log(2.0))


@dataclass(frozen=True)
class Resampling:
    """How intervals and p-values are made.

    Raises
    ------
    UsageError
        A number of resamples is negative, or the level is not between 0 and 1.
    """

    measure: str
    level: float
    n_permutations: int
    n_bootstrap: int
    seed: int
    distance: bool = False
    """Score the Jensen–Shannon distance in nats (SciPy's) instead of the divergence in bits."""

    def __post_init__(self) -> None:
        for name in ("n_permutations", "n_bootstrap", "seed"):
            given = getattr(self, name)
            if not isinstance(given, int | np.integer) or given < 0:
                raise UsageError(f"{self.measure}: {name} must be 0 or more and whole, found {given}")
        if not 0 < self.level < 1:
            raise UsageError(
                f"{self.measure}: level must lie between 0 and 1, found {self.level}; 0.95 is usual"
            )
        if self.distance and not self.n_permutations:
            raise UsageError(
                f"{self.measure}: the released definition has its floor from shuffles; "
                "n_permutations must be at least 1, found 0"
            )

    @property
    def maximum(self) -> float:
        """What disjoint distributions score."""
        return float(np.sqrt(_LN2)) if self.distance else 1.0

    @property
    def method(self) -> str:
        """The text for the column ``method``."""
        floor = "mean of the shuffles" if self.distance else "closed form (hypergeometric)"
        parts = [f"floor: {floor}"]
        if self.n_bootstrap:
            parts.append(f"interval: smoothed normal bootstrap, {self.n_bootstrap} resamples of images")
        if self.n_permutations:
            parts.append(f"p: {self.n_permutations} shuffles of whole images; q: Benjamini–Hochberg")
        return "; ".join([*parts, f"seed {self.seed}"])

    def score(self, js: Floats) -> Floats:
        """The score of divergences in bits."""
        return np.sqrt(js * _LN2) if self.distance else js


@dataclass(frozen=True)
class Comparison:
    """Groups that are compared, each with its rows of the coded labels."""

    groups: Sequence[Ints]
    attributes: Ints
    reference: bool
    """The last group is a reference, counted apart."""


@dataclass(frozen=True)
class _Scores:
    """Scores of attributes or of their mean: one entry each."""

    value: Floats
    floor: Floats
    p: Floats
    sd: Floats
    low: Floats
    high: Floats


def compare(coded: CodedLabels, comparison: Comparison, how: Resampling) -> list[dict[str, Any]]:
    """Rows of one comparison: the mean over attributes, then each attribute.

    An attribute enters where at least two groups have a usable label of it; the mean leaves out the
    others and is flagged ``few_attributes``.
    """
    columns = comparison.attributes
    labelled = np.array([[(coded.codes[g][:, c] >= 0).sum() for c in columns] for g in comparison.groups])
    labelled = labelled.reshape(len(comparison.groups), len(columns))
    defined = (labelled > 0).sum(axis=0) > 1
    used = columns[defined]
    rows = [_frame_row(coded, comparison, columns, None, labelled, used, how)]
    rows += [_frame_row(coded, comparison, columns, at, labelled, used, how) for at in range(len(columns))]
    if not len(used):
        return rows
    pooled, group = _pool(coded, comparison.groups, used)
    mean, single = _scores(coded.codes[np.ix_(pooled, used)], group, how)
    rows[0].update(_numbers(mean, 0, how))
    positions = np.flatnonzero(defined)
    for index, at in enumerate(positions.tolist()):
        rows[1 + at].update(_numbers(single, index, how))
    return rows


def _pool(coded: CodedLabels, groups: Sequence[Ints], used: Ints) -> tuple[Ints, Ints]:
    """Rows with a usable label, in the order of the image ids whatever their group, and their groups."""
    rows = np.concatenate(groups)
    group = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    kept = (coded.codes[np.ix_(rows, used)] >= 0).any(axis=1)
    rows, group = rows[kept], group[kept]
    order = np.argsort(rows, kind="stable")
    _, renumbered = np.unique(group[order], return_inverse=True)
    return rows[order], renumbered.astype(np.int64)


def _scores(codes: NDArray[np.int32], group: Ints, how: Resampling) -> tuple[_Scores, _Scores]:
    """Scores of the mean over attributes, and of each attribute."""
    js, floor_bits = pairwise_js(codes, group)
    floor = floor_bits
    value = how.score(js)
    mean_value, mean_floor = value.mean(keepdims=True), floor.mean(keepdims=True)
    p = sd = low = high = np.full(len(value), np.nan)
    mean_p = mean_sd = mean_low = mean_high = p[:1]
    if how.n_permutations:
        null = how.score(shuffled_js(codes, group, n_shuffles=how.n_permutations, seed=how.seed))
        mean_null = _mean(null, axis=1)[:, None]
        sd, mean_sd = _sd(null), _sd(mean_null)
        p, mean_p = permutation_p(value, null), permutation_p(mean_value, mean_null)
        if how.distance:
            floor, mean_floor = _mean(null, axis=0), _mean(mean_null, axis=0)
    if how.n_bootstrap:
        drawn = resampled_js(codes, group, n_resamples=how.n_bootstrap, seed=how.seed)
        unseen = np.where(floor_bits <= _DEGENERATE, how.score(_unanimous(codes, group, how.level)), 0.0)
        scores = how.score(drawn.js)
        low, high = _interval(value, floor, scores, drawn.floor, drawn.truth, unseen, how)
        mean_low, mean_high = _interval(
            mean_value,
            mean_floor,
            _mean(scores, axis=1)[:, None],
            _mean(drawn.floor, axis=1)[:, None],
            drawn.truth.mean(keepdims=True),
            unseen.mean(keepdims=True),
            how,
        )
        if not how.distance:
            reached = floor + _room(floor, how) * _greatest(codes, group, how.level)
            missed = np.fmax(reached - high, 0.0)
            high = high + missed
            mean_high = np.minimum(mean_high + missed.mean(keepdims=True), how.maximum)
        low, mean_low = _tested(low, floor, p, how), _tested(mean_low, mean_floor, mean_p, how)
    return (
        _Scores(mean_value, mean_floor, mean_p, mean_sd, mean_low, mean_high),
        _Scores(value, floor, p, sd, low, high),
    )


def _mean(scores: Floats, *, axis: int) -> Floats:
    """Mean of the defined scores; NaN where none is."""
    known = ~np.isnan(scores)
    n = known.sum(axis=axis)
    total: Floats = np.asarray(np.where(known, scores, 0.0).sum(axis=axis))
    return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0), dtype=np.float64)


def _sd(scores: Floats) -> Floats:
    return np.asarray(np.sqrt(_mean((scores - _mean(scores, axis=0)) ** 2, axis=0)))


def _unanimous(codes: NDArray[np.int32], group: Ints, level: float) -> Floats:
    sizes = np.bincount(group).tolist()
    pairs = [(m, n) for i, m in enumerate(sizes) for n in sizes[i + 1 :]]
    return np.asarray(np.mean([unanimous_js(m, n, level=level) for m, n in pairs]))


def _greatest(codes: NDArray[np.int32], group: Ints, level: float) -> Floats:
    """By attribute, how far JS may reach by the shares of the most frequent value."""
    sizes = range(int(group.max()) + 1)
    found = []
    for column in codes.T:
        kept = column >= 0
        most = np.bincount(column[kept]).argmax()
        k = [int((column[group == g] == most).sum()) for g in sizes]
        found.append(greatest_js(k, [int((kept & (group == g)).sum()) for g in sizes], level=level))
    return np.array(found)


def _interval(
    value: Floats,
    floor: Floats,
    scores: Floats,
    floors: Floats,
    truth: Floats,
    unseen: Floats,
    how: Resampling,
) -> tuple[Floats, Floats]:
    """Interval on the scale of the raw score at this n.

    A divergence: that of the adjusted score, which the bootstrap shows to estimate the divergence in
    the long run. A distance: that of the score expected at this n. ``unseen`` is how much higher the
    score may be although all images agree; it is added to the upper reach in quadrature.
    """
    if how.distance:
        half = normal_quantile(how.level) * _sd(scores)
        low, high = value - half, value + half
    else:
        room = _room(floor, how)
        adjusted = (value - floor) / room
        low, high = normal_interval(adjusted, (scores - floors) / _room(floors, how), truth, level=how.level)
        low, high = floor + room * low, floor + room * high
    high = np.where(unseen > 0, value + np.hypot(np.maximum(high - value, 0.0), unseen), high)
    return np.clip(low, 0.0, how.maximum), np.clip(high, 0.0, how.maximum)


def _room(floor: Floats, how: Resampling) -> Floats:
    """What lies between floor and maximum; NaN where every shuffle scores the maximum (one image a side)."""
    room = how.maximum - floor
    return np.where(room > _DEGENERATE, room, np.nan)


def _tested(low: Floats, floor: Floats, p: Floats, how: Resampling) -> Floats:
    """Lower end, no higher than the floor unless the exact test rejects at the same error."""
    return np.where(p > (1.0 - how.level) / 2.0, np.minimum(low, floor), low)


def _numbers(scores: _Scores, at: int, how: Resampling) -> dict[str, Any]:
    value, floor, sd = float(scores.value[at]), float(scores.floor[at]), float(scores.sd[at])
    low, high = float(scores.low[at]), float(scores.high[at])
    room = float(_room(scores.floor, how)[at])
    return {
        "value": value,
        "low": low,
        "high": high,
        "p_value": float(scores.p[at]),
        "floor": floor,
        "excess": value - floor,
        "z": (value - floor) / sd if sd > _DEGENERATE else None,
        "adjusted": (value - floor) / room,
        "adjusted_low": (low - floor) / room,
        "adjusted_high": (high - floor) / room,
    }


def _frame_row(
    coded: CodedLabels,
    comparison: Comparison,
    columns: Ints,
    at: int | None,
    labelled: NDArray[np.int64],
    used: Ints,
    how: Resampling,
) -> dict[str, Any]:
    """A row without its numbers: attribute, counts, what is left out and why it may be undefined."""
    mine = columns if at is None else columns[at : at + 1]
    entered = used if at is None and len(used) else mine
    counts = [int((coded.codes[np.ix_(g, entered)] >= 0).any(axis=1).sum()) for g in comparison.groups]
    n, n_reference = (sum(counts[:-1]), counts[-1]) if comparison.reference else (sum(counts), None)
    excluded = coded.excluded(np.concatenate(comparison.groups), mine)
    several = any(len(np.unique(coded.prompts[g])) > 1 for g in comparison.groups)
    flags = ["several_prompts"] * several + _flags(
        counts, labelled if at is None else labelled[:, at : at + 1], at is None
    )
    return {
        "attribute": ALL_ATTRIBUTES if at is None else coded.attributes[columns[at]],
        "level": how.level,
        "n": n,
        "n_reference": n_reference,
        "n_excluded": sum(excluded.values()),
        "excluded": excluded_json(excluded),
        "undefined": _undefined(counts, comparison.reference, shared=at is not None or len(used) > 0),
        "flags": ",".join(flags) or None,
        "method": how.method,
    }


def _undefined(counts: Sequence[int], reference: bool, *, shared: bool) -> str | None:
    if sum(n > 0 for n in counts) > 1:
        return None if shared else NOT_SHARED
    if not reference:
        return "fewer than two groups with a usable label"
    return NO_REFERENCE if not counts[-1] and any(counts[:-1]) else NO_LABEL


def _flags(counts: Sequence[int], labelled: NDArray[np.int64], mean: bool) -> list[str]:
    flags = []
    if mean and ((labelled > 0).sum(axis=0) < 2).any():
        flags.append("few_attributes")
    if len(labelled) > 2 and (labelled == 0).any():
        flags.append("few_groups")
    entering = labelled[:, (labelled > 0).sum(axis=0) > 1] if mean else labelled
    if min(counts) < SMALL_N or (entering[entering > 0] < SMALL_N).any():
        flags.append("small_n")
    return flags


def add_q_values(rows: Sequence[dict[str, Any]], *, family: Sequence[Any] | None = None) -> None:
    """Add Benjamini–Hochberg q-values: means over attributes are one family, single attributes another.

    Parameters
    ----------
    rows
        Rows with ``attribute`` and ``p_value``.
    family
        A further mark of each row that keeps families apart.
    """
    marks = list(family) if family is not None else [None] * len(rows)
    families: dict[Any, list[dict[str, Any]]] = {}
    for row, mark in zip(rows, marks, strict=True):
        families.setdefault((mark, row["attribute"] == ALL_ATTRIBUTES), []).append(row)
    for members in families.values():
        p = np.array([np.nan if row.get("p_value") is None else row["p_value"] for row in members])
        for row, q in zip(members, benjamini_hochberg(p), strict=True):
            row["q_value"] = float(q)
