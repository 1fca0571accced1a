"""Rows of estimates for divergences between groups: score, floor, interval and permutation test."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cells import NO_LABEL, NO_REFERENCE, SMALL_N
from stereotrope.measure.divergence.chance import chance_of
from stereotrope.measure.divergence.coded import CodedLabels, Codes, Ints
from stereotrope.stats import (
    greatest_js,
    normal_interval,
    normal_quantile,
    pairwise_js,
    resampled_js,
    shuffled_js,
    unanimous_js,
)
from stereotrope.stats.arrays import Floats
from stereotrope.tables import ALL_ATTRIBUTES

NOT_SHARED = "no attribute with a usable label of two groups"

_DEGENERATE = 1e-12
_LN2 = float(np.log(2.0))


@dataclass(frozen=True)
class Resampling:
    """How intervals and p-values are made.

    distance: Score the Jensen–Shannon distance in nats (SciPy's) instead of the divergence in bits.
    Raises UsageError: A number of resamples is negative, or the level is not between 0 and 1.
    """

    measure: str
    level: float
    n_permutations: int
    n_bootstrap: int
    seed: int
    distance: bool = False

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
            tests = "mid-p of JS and of the greatest shift, Cauchy's combination"
            parts.append(f"p: {tests}; {self.n_permutations} shuffles of whole images; q: Benjamini–Hochberg")
        return "; ".join([*parts, f"seed {self.seed}"])

    def score(self, js: Floats) -> Floats:
        """The score of divergences in bits."""
        return np.sqrt(js * _LN2) if self.distance else js


@dataclass(frozen=True)
class Comparison:
    """Groups that are compared, each with its rows of the coded labels; a reference is the last one."""

    groups: Sequence[Ints]
    attributes: Ints
    reference: bool


def compare_groups(coded: CodedLabels, comparison: Comparison, how: Resampling) -> list[dict[str, Any]]:
    """Rows of one comparison: the mean over attributes, then each attribute.

    An attribute enters where at least two groups have a usable label of it; the mean leaves out the
    others and is flagged ``few_attributes``.
    """
    columns, groups = comparison.attributes, comparison.groups
    labelled = np.array([coded.labelled(g, columns).sum(axis=0) for g in groups])
    defined = (labelled > 0).sum(axis=0) > 1
    names = [coded.attributes[column] for column in columns]
    rows = [_counted(coded, comparison, ALL_ATTRIBUTES, columns, labelled, how)]
    for at, name in enumerate(names):
        one = slice(at, at + 1)
        rows.append(_counted(coded, comparison, name, columns[one], labelled[:, one], how))
    if defined.any():
        scored = [rows[0], *(row for row, known in zip(rows[1:], defined, strict=True) if known)]
        pooled, group = _pool(coded, groups, columns[defined])
        numbers = _scores(coded.codes[np.ix_(pooled, columns[defined])], group, how)
        for row, found in zip(scored, numbers, strict=True):
            row |= found
    return rows


def _counted(
    coded: CodedLabels,
    comparison: Comparison,
    attribute: str,
    columns: Ints,
    labelled: NDArray[np.int64],
    how: Resampling,
) -> dict[str, Any]:
    """A row without its numbers: attribute, counts, what is left out and why it may be undefined."""
    groups, defined = comparison.groups, (labelled > 0).sum(axis=0) > 1
    entered = columns[defined] if defined.any() else columns
    counts: list[int] = labelled.sum(axis=1).tolist()
    if len(columns) > 1:
        counts = [int(coded.labelled(g, entered).any(axis=1).sum()) for g in groups]
    entering = labelled[:, defined]
    flags = {
        "several_prompts": any((coded.prompts[g] != coded.prompts[g[:1]]).any() for g in groups),
        "few_attributes": attribute == ALL_ATTRIBUTES and not defined.all(),
        "few_groups": len(groups) > 2 and (labelled == 0).any(),
        "small_n": min(counts) < SMALL_N or (entering[entering > 0] < SMALL_N).any(),
    }
    return {
        "attribute": attribute,
        "level": how.level,
        "n": sum(counts[:-1] if comparison.reference else counts),
        "n_reference": counts[-1] if comparison.reference else None,
        "excluded": coded.excluded(np.concatenate(groups), columns),
        "undefined": _undefined(counts, comparison.reference, shared=bool(defined.any())),
        "flags": flags,
        "method": how.method,
    }


def _undefined(counts: Sequence[int], reference: bool, *, shared: bool) -> str | None:
    if sum(n > 0 for n in counts) > 1:
        return None if shared else NOT_SHARED
    if not reference:
        return "fewer than two groups with a usable label"
    return NO_REFERENCE if not counts[-1] and any(counts[:-1]) else NO_LABEL


def _pool(coded: CodedLabels, groups: Sequence[Ints], used: Ints) -> tuple[Ints, Ints]:
    """Rows with a usable label, in the order of the image ids whatever their group, and their groups."""
    rows = np.concatenate(groups)
    group = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    kept = coded.labelled(rows, used).any(axis=1)
    rows, group = rows[kept], group[kept]
    order = np.argsort(rows, kind="stable")
    _, renumbered = np.unique(group[order], return_inverse=True)
    return rows[order], renumbered.astype(np.int64)


def _scores(codes: Codes, group: Ints, how: Resampling) -> list[dict[str, Any]]:
    """Numbers of the mean over attributes, then of each attribute."""
    js, floor_bits = pairwise_js(codes, group)
    value, floor = _led_by_mean(how.score(js)), _led_by_mean(floor_bits)
    p = least = sd = low = high = np.full(len(value), np.nan)
    if how.n_permutations:
        shuffled = shuffled_js(codes, group, n_shuffles=how.n_permutations, seed=how.seed)
        null = _led_by_mean(how.score(shuffled))
        (p, least), sd = chance_of(codes, group, value, null), _sd(null)
        floor = _mean(null, axis=0) if how.distance else floor
    room = _room(floor, how)
    if how.n_bootstrap:
        drawn = resampled_js(codes, group, n_resamples=how.n_bootstrap, seed=how.seed)
        unseen = np.where(floor_bits <= _DEGENERATE, how.score(_unanimous(group, how.level)), 0.0)
        scores, floors, truth, unseen = map(
            _led_by_mean, (how.score(drawn.js), drawn.floor, drawn.truth, unseen)
        )
        low, high = _interval(value, floor, scores, floors, truth, unseen, how)
        if not how.distance:
            reached = floor[1:] + room[1:] * _greatest(codes, group, how.level)
            high = np.minimum(high + _led_by_mean(np.fmax(reached - high[1:], 0.0)), how.maximum)
        # No higher than the floor unless the test rejects at the same error.
        low = np.where(p > (1.0 - how.level) / 2.0, np.minimum(low, floor), low)
    excess = value - floor
    numbers = {
        "value": value,
        "low": low,
        "high": high,
        "p_value": p,
        "p_least": least,
        "floor": floor,
        "excess": excess,
        "z": np.divide(excess, sd, out=np.full_like(sd, np.nan), where=sd > _DEGENERATE),
        "adjusted": excess / room,
        "adjusted_low": (low - floor) / room,
        "adjusted_high": (high - floor) / room,
    }
    return pl.DataFrame(numbers).to_dicts()


def _led_by_mean(scores: Floats) -> Floats:
    """Scores of attributes, along the last axis, after their mean."""
    return np.concatenate([_mean(scores, axis=-1)[..., None], scores], axis=-1)


def _mean(scores: Floats, *, axis: int) -> Floats:
    """Mean of the defined scores; NaN where none is."""
    known = ~np.isnan(scores)
    n = known.sum(axis=axis)
    total = np.asarray(np.where(known, scores, 0.0).sum(axis=axis))
    return np.asarray(np.divide(total, n, out=np.full(total.shape, np.nan), where=n > 0))


def _sd(scores: Floats) -> Floats:
    return np.asarray(np.sqrt(_mean((scores - _mean(scores, axis=0)) ** 2, axis=0)))


def _unanimous(group: Ints, level: float) -> Floats:
    pairs = combinations(np.bincount(group).tolist(), 2)
    return np.asarray(np.mean([unanimous_js(m, n, level=level) for m, n in pairs]))


def _greatest(codes: Codes, group: Ints, level: float) -> Floats:
    """By attribute, how far JS may reach by the shares of the most frequent value."""
    found = []
    for column in codes.T:
        most = column == np.bincount(column[column >= 0]).argmax()
        k, n = (np.bincount(group, which).tolist() for which in (most, column >= 0))
        found.append(greatest_js(k, n, level=level))
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
    """Of a divergence about the adjusted score, of a distance about that at this n; ``unseen`` adds above."""
    if how.distance:
        half = normal_quantile(how.level) * _sd(scores)
        low, high = value - half, value + half
    else:
        room = _room(floor, how)
        adjusted = (scores - floors) / _room(floors, how)
        ends = normal_interval((value - floor) / room, adjusted, truth, level=how.level)
        low, high = (floor + room * end for end in ends)
    high = np.where(unseen > 0, value + np.hypot(np.maximum(high - value, 0.0), unseen), high)
    return np.clip(low, 0.0, how.maximum), np.clip(high, 0.0, how.maximum)


def _room(floor: Floats, how: Resampling) -> Floats:
    """What lies between floor and maximum; NaN where every shuffle scores the maximum (one image a side)."""
    room = how.maximum - floor
    return np.where(room > _DEGENERATE, room, np.nan)
