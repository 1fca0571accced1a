"""Scores of concentration: how much a set of labels repeats itself, and how far that may be off."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereotrope.measure.divergence.coded import Codes
from stereotrope.stats import chao_shen_entropy, entropy, even_entropy, rarefied_entropy, special
from stereotrope.stats.arrays import Floats

_BEYOND = 1.3
"""How far above a score its interval ends at most, in reaches: near 0 the logit scale has no end."""
_EQUAL = 1e-12


class Scoring(NamedTuple):
    """How labels are scored.

    definition: Of the greatest entropy: ``paper``, ``capped`` or ``released``.
    pictures: What scores are rarefied to.
    """

    definition: str
    level: float
    n_bootstrap: int
    seed: int
    pictures: int

    @property
    def released(self) -> bool:
        """Whether it is as the authors' scripts do it."""
        return self.definition == "released"

    def most(self, n_values: Any, n: Any) -> Any:
        """How many values the greatest entropy is of."""
        return n_values if self.definition == "paper" else np.minimum(n_values, n)


class Scored(NamedTuple):
    """Scores of an attribute, or their mean: plain, corrected and rarefied."""

    scores: Floats
    """Shape (3, 1 + resamples): of the images as they are, then of the resamples. NaN: there is none."""
    unseen: Floats
    """How much lower they may be although all images agree; 0 where they do not. Shape (3,)."""
    moved: Callable[[Floats], Floats]
    """By how much each image moves the rarefied score where images weigh as told, shape (n, k); 0 without a
    label."""
    least: float
    """What the rarefied score is where the images show as many values as they can."""
    few: bool = False
    """Whether a rarefied mean leaves out attributes that the others hold."""


def together(results: Sequence[Scored]) -> Scored:
    """The means over attributes of each score, over those that have it."""
    scores = np.stack([result.scores for result in results])
    has = ~np.isnan(scores[:, :, :1])
    n = has.sum(axis=0)
    mean = np.divide(
        np.where(has, scores, 0.0).sum(axis=0), n, out=np.full(scores.shape[1:], np.nan), where=n > 0
    )
    unseen = np.where(has[..., 0], np.stack([result.unseen for result in results]), 0.0).sum(axis=0)
    least = [result.least for result, one in zip(results, has[:, 2, 0], strict=True) if one]
    few = not has[:, 2].all()
    rarefied = [result.moved for result, one in zip(results, has[:, 2, 0], strict=True) if one]
    moved = partial(_moved_mean, rarefied or [result.moved for result in results])
    return Scored(mean, unseen / np.maximum(n[:, 0], 1), moved, float(np.mean(least)) if least else 0.0, few)


def _moved_mean(of: Sequence[Callable[[Floats], Floats]], weights: Floats) -> Floats:
    return np.asarray(sum(moved(weights) for moved in of) / len(of))


def score(
    codes: Codes, drawn: NDArray[np.int32] | None, n_values: int, how: Scoring, *, listed: bool
) -> Scored:
    """Score the labels, and those of resamples.

    drawn: Counts of the resamples by value that occurs, rising; images without a label are drawn too, so that
        n varies as it would. None where there are none.
    """
    present, seen = np.unique(codes[codes >= 0], return_counts=True)
    counts = seen[:, None] if drawn is None else np.concatenate([seen[:, None], drawn], axis=1)
    table = counts.T
    plain = _concentration(table, entropy(table), n_values, how)
    corrected = _concentration(table, chao_shen_entropy(table), n_values, how)
    m, k = how.pictures, n_values if listed else None
    even = even_entropy(m, k)
    rarefied = 1.0 - rarefied_entropy(table, m) / even
    n, unseen = int(table[0].sum()), np.zeros(3)
    if len(present) == 1:
        unseen[:2] = _unseen(n, how.most(max(n_values, 2), n), max(n_values, 2), how.level)
        unseen[2] = _unseen_of(m, n, k, how.level) / even
    least = 1.0 - np.log2(m if k is None else min(k, m)) / even
    moved = partial(_moved, codes, n * float(even))
    return Scored(np.stack([plain, corrected, rarefied]), unseen, moved, float(least))


def _moved(codes: Codes, scale: float, weights: Floats) -> Floats:
    """By how much each label moves the entropy, of labels that weigh as told; over ``scale``."""
    labelled = np.flatnonzero(codes >= 0)
    present, which = np.unique(codes[labelled], return_inverse=True)
    shares = np.zeros((len(present), weights.shape[1]))
    np.add.at(shares, which, weights[labelled])
    shares /= shares.sum(axis=0)
    bits = -np.log2(shares)
    found = np.zeros(weights.shape)
    found[labelled] = (bits - (shares * bits).sum(axis=0))[which] / scale
    return found


def _concentration(counts: NDArray[np.int64], bits: Floats, n_values: int, how: Scoring) -> Floats:
    n = counts.sum(axis=1)
    possible = (counts > 0).sum(axis=1) if how.released else np.full(len(counts), n_values)
    greatest = np.log2(np.maximum(how.most(possible, n), 1))
    ratio = np.divide(bits, greatest, out=np.zeros(len(counts)), where=greatest > 0)
    return np.where(n > 1, 1.0 - ratio, np.nan)


def _share_unseen(n: int, level: float) -> float:
    """The greatest share of other values that ``n`` images with one value are compatible with."""
    return float(-np.expm1(np.log((1.0 - level) / 2.0) / n))


def _unseen(n: int, most: int, n_values: int, level: float) -> float:
    other = _share_unseen(n, level)
    shares = np.array([1.0 - other] + [other / (n_values - 1)] * (n_values - 1))
    return float(min(1.0, entropy(shares) / np.log2(most)))


def _unseen_of(m: int, n: int, k: int | None, level: float) -> float:
    """Entropy expected of ``m`` images where ``n`` show one value and others have what share they may."""
    other = _share_unseen(n, level)
    j = np.arange(m + 1)
    ways = special.comb(m, j) * other**j * (1.0 - other) ** (m - j)
    of_other = np.array([even_entropy(int(i), None if k is None else max(k - 1, 1)) if i else 0.0 for i in j])
    split = np.array([float(entropy([m - i, i])) for i in j])
    return float(ways @ (split + j / m * of_other))


def ends(value: float, reach: float, unseen: float, least: float) -> tuple[float, float]:
    """The ends of an interval between ``least`` and 1, drawn on the logit scale."""
    below, above = value - least, 1.0 - value
    if above < _EQUAL:
        return value - unseen, 1.0
    below = max(below, _EQUAL)
    slope, at = 1.0 / below + 1.0 / above, np.log(below / above)
    low, high = special.expit([at - float(np.hypot(reach, unseen)) * slope, at + reach * slope])
    low, high = (least + (1.0 - least) * end for end in (low, high))
    return max(float(low), min(least, 0.0)), max(min(float(high), value + _BEYOND * reach), 0.0)
