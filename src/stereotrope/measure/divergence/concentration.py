"""Scores of concentration: how much a set of labels repeats itself, and how far that may be off."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereotrope.measure.divergence.coded import Codes
from stereotrope.measure.divergence.leave_outs import LeaveOuts, jackknife_bias, jackknife_sd
from stereotrope.stats import chao_shen_entropy, entropy, even_entropy, rarefied_entropy, special
from stereotrope.stats.arrays import Floats

_BEYOND = 1.3
"""How far above a score its interval ends at most, in reaches: near 0 the logit scale has no end."""
_EQUAL = 1e-12
_NOTHING: Floats = np.zeros(3)


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
    """Shape (3, 1 + resamples): of the images as they are, then of the resamples, or without each prompt in
    turn. NaN: there is none."""
    unseen: Floats
    """How much lower they may be although all images agree, or most do of few prompts; else 0. Shape (3,)."""
    moved: Callable[[Floats], Floats]
    """By how much each image moves the rarefied score where images weigh as told, shape (n, k); 0 without a
    label."""
    least: float
    """What the rarefied score is where the images show as many values as they can."""
    few: bool = False
    """Whether a rarefied mean leaves out attributes that the others hold."""
    prompts: NDArray[np.bool_] | None = None
    """Where prompts are the units, which of those left out have a label."""
    bent: Floats = _NOTHING
    """What the curve of each score adds to its standard error by prompts, shape (3,)."""

    @property
    def sd(self) -> Floats:
        """Standard error of each score, shape (3,); NaN where there is none."""
        if self.prompts is not None:
            return np.hypot(jackknife_sd(self.scores, self.prompts), self.bent)
        known = ~np.isnan(self.scores[:, 1:])
        many = known.sum(axis=1) > 1
        drawn = zip(self.scores[:, 1:], known, many, strict=True)
        return np.array([float(of[some].std(ddof=1)) if enough else np.nan for of, some, enough in drawn])

    def freedom(self, n: int) -> int:
        """Units less one; ``n``: images, where these are the units."""
        return (n if self.prompts is None else int(self.prompts.sum())) - 1


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
    unseen /= np.maximum(n[:, 0], 1)
    found = Scored(mean, unseen, moved, float(np.mean(least)) if least else 0.0, few)
    if any(result.prompts is None for result in results):
        return found
    prompts = np.asarray(np.any([np.asarray(result.prompts) for result in results], axis=0))
    return found._replace(prompts=prompts, bent=_bent_mean(results, jackknife_sd(mean, prompts)))


def _bent_mean(results: Sequence[Scored], sd: Floats) -> Floats:
    """What curves add to the standard errors ``sd`` of means: they are as alike as the slopes are."""
    bent, slopes, n = np.zeros((3, 3))
    for result in results:
        has = ~np.isnan(result.scores[:, 0])
        bent += np.where(has, result.bent, 0.0)
        slopes += np.where(has, jackknife_sd(result.scores, np.asarray(result.prompts)), 0.0)
        n += has
    return np.asarray(bent * np.divide(sd, slopes, out=1.0 / np.maximum(n, 1), where=slopes > _EQUAL))


def _moved_mean(of: Sequence[Callable[[Floats], Floats]], weights: Floats) -> Floats:
    return np.asarray(sum(moved(weights) for moved in of) / len(of))


def score(
    codes: Codes,
    drawn: NDArray[np.int32] | LeaveOuts | None,
    n_values: int,
    how: Scoring,
    *,
    listed: bool,
) -> Scored:
    """Score the labels, and those of resamples.

    drawn: Counts of the resamples by value that occurs, rising; images without a label are drawn too, so that
        n varies as it would. Or the labels by prompt, each of which is left out in turn: the rarefied score
        is then less what labels of one prompt have in common. None where there are none.
    """
    present, seen = np.unique(codes[codes >= 0], return_counts=True)
    more = drawn.without if isinstance(drawn, LeaveOuts) else drawn
    counts = seen[:, None] if more is None else np.concatenate([seen[:, None], more], axis=1)
    table, n = counts.T, int(seen.sum())
    whole = n if isinstance(drawn, LeaveOuts) else None
    plain = _concentration(table, entropy(table), n_values, how, whole)
    corrected = _concentration(table, chao_shen_entropy(table), n_values, how, whole)
    m, k = how.pictures, n_values if listed else None
    even = even_entropy(m, k)
    rarefied = 1.0 - rarefied_entropy(table, m) / even
    most = how.most(max(n_values, 2), n)

    def agreed(other: float) -> Floats:
        """How far below 1 scores are where other values have this share."""
        return np.array([*[_unseen(other, most, max(n_values, 2))] * 2, _unseen_of(m, other, k) / even])

    unseen = agreed(_share_unseen(n, how.level)) if len(present) == 1 else np.zeros(3)
    least = 1.0 - np.log2(m if k is None else min(k, m)) / even
    moved = partial(_moved, codes, n * float(even))
    found = Scored(np.stack([plain, corrected, rarefied]), unseen, moved, float(least))
    if not isinstance(drawn, LeaveOuts):
        return found
    scale = 1.0 / np.array([np.log2(most), np.log2(most), even])
    return _by_prompts(found, drawn, agreed, scale * (len(present) - 1) / (2 * np.log(2.0) * n), how.level)


def _by_prompts(
    found: Scored, labels: LeaveOuts, agreed: Callable[[float], Floats], bias: Floats, level: float
) -> Scored:
    """Scores whose units are prompts; ``bias``: of each, that of as many independent images."""
    scores, prompts = found.scores.copy(), labels.labelled
    off = jackknife_bias(scores, prompts)
    if not np.isnan(off[2]):
        scores[2, 0] = min(1.0, scores[2, 0] - off[2])
    # The variance of a sum of squares in so many dimensions, twice, as its mean is estimated as well.
    bent = 2 * np.sqrt(labels.likeness) * np.maximum(np.abs(off), bias)
    found = found._replace(scores=scores, prompts=prompts, bent=np.where(np.isnan(off), np.nan, bent))
    unseen, others = np.zeros(3), labels.others(level)
    if others is not None:
        half = found.sd * special.stdtrit(found.freedom(0), 0.5 + level / 2)
        ended = zip(scores[:, 0], half, (0.0, 0.0, found.least), strict=True)
        lows = np.array([ends(value, reach, 0.0, least)[0] for value, reach, least in ended])
        unseen = np.fmax(0.0, lows - 1.0 + agreed(others))
    return found._replace(unseen=unseen)


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


def _concentration(
    counts: NDArray[np.int64], bits: Floats, n_values: int, how: Scoring, whole: int | None
) -> Floats:
    """whole: How many images the greatest entropy is of; as many as are counted when None."""
    n = counts.sum(axis=1)
    possible = (counts > 0).sum(axis=1) if how.released else np.full(len(counts), n_values)
    greatest = np.log2(np.maximum(how.most(possible, n if whole is None else whole), 1))
    ratio = np.divide(bits, greatest, out=np.zeros(len(counts)), where=greatest > 0)
    return np.where(n > 1, 1.0 - ratio, np.nan)


def _share_unseen(n: int, level: float) -> float:
    """The greatest share of other values that ``n`` images with one value are compatible with."""
    return float(-np.expm1(np.log((1.0 - level) / 2.0) / n))


def _unseen(other: float, most: int, n_values: int) -> float:
    """By how much a score is below 1 where other values have this share, evenly."""
    shares = np.array([1.0 - other] + [other / (n_values - 1)] * (n_values - 1))
    return float(min(1.0, entropy(shares) / np.log2(most)))


def _unseen_of(m: int, other: float, k: int | None) -> float:
    """Entropy expected of ``m`` images where other values than one have this share."""
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
