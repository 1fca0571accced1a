"""Scores of compared groups with what makes them believable: floor, interval and test."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.divergence.chance import chance_of, chance_of_prompts, chance_of_unlike
from stereotrope.measure.divergence.coded import Codes, Ints
from stereotrope.measure.divergence.rare import likely_ends
from stereotrope.measure.divergence.shared_seeds import SeedsApart, seed_noise
from stereotrope.measure.tidy import require_whole
from stereotrope.stats import (
    Clustered,
    cluster_js_interval,
    greatest_js,
    js_interval,
    normal_quantile,
    pairwise_js,
    resampled_js,
    shuffled_js,
    special,
    unanimous_js,
)
from stereotrope.stats.arrays import Floats

_DEGENERATE = 1e-12
_LN2 = float(np.log(2.0))
_ALIKE = 1.25
"""How many times as many images a prompt of one side may have as one of another, on average."""
_FLOOR_SHUFFLES = 2_000
"""Shuffles of prompts for the floor where none are asked for p."""


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
        numbers = {name: getattr(self, name) for name in ("n_permutations", "n_bootstrap", "seed")}
        require_whole(self.measure, **numbers)
        normal_quantile(self.level)
        if self.distance and not self.n_permutations:
            raise UsageError(
                f"{self.measure}: the released definition has its floor from shuffles; "
                "n_permutations must be at least 1, found 0"
            )

    @property
    def maximum(self) -> float:
        """What disjoint distributions score."""
        return float(np.sqrt(_LN2)) if self.distance else 1.0

    def method(self, *, whole_prompts: bool, matched: bool = False) -> str:
        """The text for the column ``method``; matched prompts are those that both sides have."""
        unit = "whole prompts" if whole_prompts else "images"
        moved = "exchanges of the sides of " if matched else "shuffles of whole "
        shuffles = "mean of the shuffles" if self.distance else "closed form (hypergeometric)"
        of_prompts = "mean of prompts with their sides exchanged" if matched else "mean of shuffled prompts"
        parts = [f"floor: {of_prompts if whole_prompts else shuffles}"]
        if self.n_bootstrap:
            drawn = f"{self.n_bootstrap} resamples of {unit}"
            made = f"smoothed normal bootstrap, {drawn}"
            if whole_prompts:
                by_scatter = f"unified (Feldman and Cousins), by the scatter of {'matched ' * matched}prompts"
                made = f"smoothed t bootstrap, {drawn}" if self.distance else by_scatter
            parts.append(f"interval: {made}")
        if self.n_permutations:
            exact = "mid-p of JS and of the greatest shift, Cauchy's combination; "
            drawn = f"{'at most ' if whole_prompts else ''}{self.n_permutations} {moved}"
            tests = (
                f"{drawn}prompts, at their end beta-binomial, Behrens–Fisher where greater"
                if whole_prompts
                else f"{exact}{drawn}images"
            )
            parts.append(f"p: {tests}; q: Benjamini–Hochberg")
        return "; ".join([*parts, f"seed {self.seed}"])

    def score(self, js: Floats) -> Floats:
        """The score of divergences in bits."""
        return np.sqrt(js * _LN2) if self.distance else js


def image_scores(codes: Codes, group: Ints, how: Resampling) -> list[dict[str, Any]]:
    """Numbers of the mean over attributes, then of each attribute; images are the units."""
    js, floor_bits = pairwise_js(codes, group)
    value, floor = _led_by_mean(how.score(js)), _led_by_mean(floor_bits)
    p = least = sd = low = high = np.full(len(value), np.nan)
    if how.n_permutations:
        shuffled = shuffled_js(codes, group, n_shuffles=how.n_permutations, seed=how.seed)
        null = _led_by_mean(how.score(shuffled))
        (p, least), sd = chance_of(codes, group, value, null), _sd(null)
        floor = _mean(null, axis=0) if how.distance else floor
    if how.n_bootstrap:
        drawn = resampled_js(codes, group, n_resamples=how.n_bootstrap, seed=how.seed)
        scores, floors = _led_by_mean(how.score(drawn.js)), _led_by_mean(drawn.floor)
        low, high = _interval(value, floor, scores, floors, normal_quantile(how.level), how)
        sizes = np.bincount(group).astype(np.float64)
        seen = _Seen(codes, group, floor_bits, sizes, how.level)
        low, high = _beyond(value, floor, low, high, p, seen, how)
    return _numbers(value, floor, p, least, sd, low, high, how)


def prompt_scores(
    codes: Codes,
    group: Ints,
    prompts: Ints,
    peers: Floats,
    how: Resampling,
    seeds: Sequence[SeedsApart | None] = (),
) -> list[dict[str, Any]]:
    """Numbers of the mean over attributes, then of each attribute; whole prompts are the units.

    peers: By attribute and group, how probable each intra-class correlation is by what other conditions say,
        shape (n_attributes, n_groups, 16).
    seeds: By attribute, what seeds that prompts share do to groups apart: noise that shuffled prompts lack.

    Prompts can be exchanged where they have about as many images on each side: shuffled, those with few
    images give too little chance to the side that has them all. Elsewhere a score has its value alone. Where
    these numbers differ at all, p is the greater of that of images and that of shares of prompts. Where two
    groups have the same prompts (:attr:`Clustered.matched`), the sides of each are exchanged, and ``method``
    says so.
    """
    js, floor_bits = pairwise_js(codes, group)
    value, clustered = _led_by_mean(how.score(js)), Clustered.of(codes, group, prompts)
    shuffled, every = clustered.shuffled(n_shuffles=how.n_permutations or _FLOOR_SHUFFLES, seed=how.seed)
    noise = seed_noise(clustered, shuffled, seeds, level=how.level)
    null, usual, plain = (
        _led_by_mean(how.score(np.minimum(shuffled * of, 1.0))) for of in (noise.shuffled, noise.floor, 1.0)
    )
    with_seen = np.vstack([value, usual])
    floor, sd = _mean(with_seen, axis=0), _sd(with_seen)
    p = least = low = high = np.full(len(value), np.nan)
    if how.n_permutations:
        of_prompts = clustered, peers, noise.shuffled
        p, least = chance_of_prompts(value, (null, plain), *of_prompts, every=every)
        if (even := clustered.even()) is not None:
            again, _ = even.shuffled(n_shuffles=how.n_permutations, seed=how.seed)
            of_shares, alone = (
                _led_by_mean(how.score(np.minimum(again * of, 1.0))) for of in (noise.shuffled, 1.0)
            )
            seen = _led_by_mean(how.score(even.js))
            further = chance_of_prompts(seen, (of_shares, alone), *of_prompts, every=every)
            p, least = np.maximum(p, further[0]), np.maximum(least, further[1])
        shown = _mean(_led_by_mean(np.vstack([js, shuffled])), axis=0)
        p = chance_of_unlike(p, shown, clustered, floor_bits, peers)
    if how.n_bootstrap and how.distance:
        scores = _led_by_mean(how.score(clustered.resampled(n_resamples=how.n_bootstrap, seed=how.seed)))
        reach = float(special.stdtrit(clustered.freedom, 0.5 + how.level / 2))
        half = reach * _sd(scores) * np.sqrt(np.append(noise.near.mean(), noise.near))
        low, high = (np.clip(value + end, 0.0, how.maximum) for end in (-half, half))
    elif how.n_bootstrap:
        room = _room(floor, how)
        low, high = cluster_js_interval(clustered, js, floor_bits, noise.near, noise.far, level=how.level)
        nearest, furthest = likely_ends(
            clustered,
            peers,
            [of and of.of_divergence for of in seeds or [None] * len(peers)],
            level=how.level,
        )
        low = low - _led_by_mean(np.maximum(0.0, low[1:] - nearest))
        high = high + _led_by_mean(np.maximum(0.0, furthest - high[1:]))
        low, high = (floor + room * np.clip(end, 0.0, 1.0) for end in (low, high))
        low, high = np.minimum(low, value), np.maximum(high, value)
        low = np.where(p > 1.0 - how.level, np.minimum(low, floor), low)
    apart = unlike_prompts(codes, group, prompts)
    floor, p, least, sd, low, high = (np.where(apart, np.nan, x) for x in (floor, p, least, sd, low, high))
    numbers = _numbers(value, floor, p, least, sd, low, high, how)
    matched = {"method": how.method(whole_prompts=True, matched=True)} if clustered.matched else {}
    return [matched | row for row in numbers]


def unlike_prompts(codes: Codes, group: Ints, prompts: Ints) -> NDArray[np.bool_]:
    """Whether prompts of the groups have unlike numbers of usable images: of any attribute, then of each."""
    apart = []
    for column in codes.T:
        usable = column >= 0
        images = np.bincount(group[usable])
        pairs = np.unique(np.stack([group[usable], prompts[usable]]), axis=1)[0]
        each = images[images > 0] / np.bincount(pairs)[images > 0]
        apart.append(bool(each.size and each.max() > _ALIKE * each.min()))
    return np.array([any(apart), *apart])


def _numbers(
    value: Floats,
    floor: Floats,
    p: Floats,
    least: Floats,
    sd: Floats,
    low: Floats,
    high: Floats,
    how: Resampling,
) -> list[dict[str, Any]]:
    excess, room = value - floor, _room(floor, how)
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


@dataclass(frozen=True)
class _Seen:
    """What was seen, where few units leave much that was not.

    sizes: Independent images of each group, in effect.
    level: Coverage of the two-sided intervals that the bounds end.
    """

    codes: Codes
    group: Ints
    floor_bits: Floats
    sizes: Floats
    level: float

    def unseen(self, how: Resampling) -> Floats:
        """By attribute, how far groups may be apart that show one same value; 0 where they show several."""
        pairs = combinations(self.sizes.tolist(), 2)
        reach = np.asarray(np.mean([unanimous_js(m, n, level=self.level) for m, n in pairs]))
        return np.where(self.floor_bits <= _DEGENERATE, how.score(reach), 0.0)

    def greatest(self) -> Floats:
        """By attribute, how far JS may reach by the shares of the most frequent value."""
        found, images = [], np.bincount(self.group)
        for column in self.codes.T:
            most = column == np.bincount(column[column >= 0]).argmax()
            k, n = (np.bincount(self.group, which) * self.sizes / images for which in (most, column >= 0))
            found.append(greatest_js(k.tolist(), n.tolist(), level=self.level))
        return np.array(found)


def _beyond(
    value: Floats, floor: Floats, low: Floats, high: Floats, p: Floats, seen: _Seen, how: Resampling
) -> tuple[Floats, Floats]:
    """An interval that reaches what was not seen, and lies above the floor only where the test agrees."""
    unseen = _led_by_mean(seen.unseen(how))
    high = np.where(unseen > 0, value + np.hypot(np.maximum(high - value, 0.0), unseen), high)
    low, high = np.clip(low, 0.0, how.maximum), np.clip(high, 0.0, how.maximum)
    if not how.distance:
        reached = floor[1:] + _room(floor, how)[1:] * seen.greatest()
        high = np.minimum(high + _led_by_mean(np.fmax(reached - high[1:], 0.0)), how.maximum)
    return np.where(p > (1.0 - how.level) / 2.0, np.minimum(low, floor), low), high


def _interval(
    value: Floats, floor: Floats, scores: Floats, floors: Floats, reach: float, how: Resampling
) -> tuple[Floats, Floats]:
    """Of a divergence, on a scale with true 0 at the floor; of a distance about that at this n."""
    if how.distance:
        half = reach * _sd(scores)
        return value - half, value + half
    room = _room(floor, how)
    low, high = (floor + room * end for end in js_interval(value, floor, scores, floors, reach=reach))
    return low, high


def _room(floor: Floats, how: Resampling) -> Floats:
    """What lies between floor and maximum; NaN where every shuffle scores the maximum (one image a side)."""
    room = how.maximum - floor
    return np.where(room > _DEGENERATE, room, np.nan)
