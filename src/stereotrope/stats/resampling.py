"""Smoothed multinomial weights: the bootstrap of any score that is made of sums over images."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Counts, Floats
from stereotrope.stats.counts import tally, tally_draws
from stereotrope.stats.crossed import Across
from stereotrope.stats.intervals import normal_quantile

_STEP = 0.5
"""Part of an image that is added and taken away to see by how much it moves a score."""
_PSEUDO_UNITS = 2.0
"""Units' worth of made-up ones that a resample holds on average; coverage is simulated in tests/measure."""


@dataclass(frozen=True)
class ScoreOfSums:
    """A score that depends on images through sums only.

    features: Shape (F, n): what each image adds to each sum.
    score: Takes sums of shape (F, B) and gives scores of shape (B,), or (S, B) of several of them; NaN where
        undefined.
    pseudo: Shape (F, M): images that might have been seen and were not, each as likely. Without any (M = 0) a
        sample in which all images agree never varies.
    """

    features: Floats
    score: Callable[[Floats], Floats]
    pseudo: Floats

    @property
    def value(self) -> float:
        """The score of the images as they are."""
        return float(self.score(self.features.sum(axis=1, keepdims=True))[0])

    @property
    def values(self) -> Floats:
        """The scores of the images as they are, shape (S,): of one score as of several."""
        found: Floats = np.atleast_2d(self.score(self.features.sum(axis=1, keepdims=True)))[:, 0]
        return found

    @property
    def moved(self) -> Floats:
        """By how much each image moves the score, shape (…, n); 0 where that is not to be had."""
        sums = self.features.sum(axis=1, keepdims=True)
        ends = (self.score(np.maximum(sums + step * self.features, 0.0)) for step in (_STEP, -_STEP))
        return np.nan_to_num(np.subtract(*ends) / (2 * _STEP))


@dataclass(frozen=True)
class Resample:
    """Images of one cell drawn again, ``n_resamples`` times: one set of weights for all its scores.

    Each draw of a unit (an image, or the cluster it belongs to) is a made-up unit instead with
    probability :math:`2/(m + 2)`, :math:`m` the number of units.

    units: Unit of each image, numbers from 0, shape (n,).
    across: The units and, across them, the seeds that these share; None where they share none.
    n_resamples, seed, stream: Number of resamples, their seed, and a number that keeps cells drawn with one
        seed apart.
    """

    units: NDArray[np.int64]
    n_resamples: int
    seed: int = 0
    stream: int = 0
    across: Across | None = None

    @property
    def n(self) -> int:
        """Number of images."""
        return len(self.units)

    @cached_property
    def n_units(self) -> int:
        """Number of units drawn from."""
        return int(self.units.max()) + 1 if len(self.units) else 0

    @cached_property
    def weights(self) -> Counts:
        """How often each image was drawn, shape (n, n_resamples)."""
        drawn = self._drawn[: self.n_units]
        return drawn if np.array_equal(self.units, np.arange(self.n_units)) else drawn[self.units]

    @property
    def made_up(self) -> Floats:
        """Made-up units of each resample, shape (n_resamples,)."""
        return np.asarray(self._drawn[self.n_units], np.float64)

    @cached_property
    def _drawn(self) -> Counts:
        m, b = self.n_units, self.n_resamples
        rng = np.random.default_rng([self.seed, 3, m, self.stream])
        drawn = rng.integers(0, m, size=(b, m)) if m else np.zeros((b, 0), np.int64)
        drawn[rng.random((b, m)) < self._share] = m
        return tally_draws(drawn, m + 1)

    @cached_property
    def _of_kind(self) -> dict[int, NDArray[np.int64]]:
        return {}

    def _kinds(self, kinds: int) -> NDArray[np.int64]:
        """How many made-up units of each resample are of each kind, shape (kinds, n_resamples)."""
        if kinds not in self._of_kind:
            rng = np.random.default_rng([self.seed, 4, self.n_units, self.stream, kinds])
            drawn = rng.multinomial(self.made_up.astype(np.int64), np.full(kinds, 1.0 / kinds))
            self._of_kind[kinds] = drawn.T
        return self._of_kind[kinds]

    @property
    def _share(self) -> float:
        return _PSEUDO_UNITS / (self.n_units + _PSEUDO_UNITS)

    def replicates(self, of: ScoreOfSums) -> tuple[Floats, float]:
        """Scores of the resamples, shape (n_resamples,), and the score that they are drawn around."""
        sums, truth = self._sums(of)
        return of.score(sums), float(of.score(truth)[0])

    def _sums(self, of: ScoreOfSums) -> tuple[Floats, Floats]:
        """Sums of the resamples, shape (F, n_resamples), and those that they are drawn around."""
        # Whole numbers are summed without rounding; others would be rounded as each processor does.
        if (of.features == np.rint(of.features)).all():
            sums = tally(of.features.astype(np.float32), self.weights).astype(np.float64)
        else:
            sums = tally(of.features, self.weights)
        whole = of.features.sum(axis=1)
        kinds = of.pseudo.shape[1]
        if not kinds:
            return sums, whole[:, None]
        which = self._kinds(kinds)
        size = self.n / self.n_units
        truth = (1.0 - self._share) * whole + self._share * self.n * of.pseudo.mean(axis=1)
        return sums + size * (of.pseudo @ which), truth[:, None]

    def percentiles(self, of: ScoreOfSums, *, level: float) -> Floats:
        """Percentile intervals of one score or several, as :meth:`interval` gives them, shape (S, 2)."""
        values = of.values
        undefined = np.full((len(values), 2), np.nan)
        if not self.n_resamples or not self.n:
            return undefined
        sums, truth = self._sums(of)
        # NaN stands last.
        drawn, around = np.sort(np.atleast_2d(of.score(sums)), axis=1), np.atleast_2d(of.score(truth))[:, 0]
        known = (~np.isnan(drawn)).sum(axis=1)
        last = np.take_along_axis(drawn, np.maximum(known - 1, 0)[:, None], axis=1)[:, 0]
        varied = (known > 1) & ~(last - drawn[:, 0] < 1e-12) & ~np.isnan(around)
        at = np.array([0.5 - level / 2.0, 0.5 + level / 2.0]) * (np.maximum(known, 2)[:, None] - 1)
        before = at.astype(np.int64)
        places = (np.minimum(before + step, self.n_resamples - 1) for step in (0, 1))
        lower, upper = (np.take_along_axis(drawn, place, axis=1) for place in places)
        ends = (upper - lower) * (at - before) + lower
        ends[:, 0], ends[:, 1] = np.minimum(ends[:, 0], values), np.maximum(ends[:, 1], values)
        if self.across:
            moved = zip(np.atleast_2d(of.moved), varied, strict=True)
            reach = np.array([self.across.reach(by, level=level) if some else 1.0 for by, some in moved])
            ends += (reach - 1)[:, None] * (ends - values[:, None])
        return np.where(varied[:, None], ends, undefined)

    def interval(self, of: ScoreOfSums, *, level: float, curved: bool = False) -> tuple[float, float]:
        """Bootstrap interval of a score.

        curved: False, for means, differences and quotients: the percentiles of the resamples. True, for
            scores that are biased at small n (entropies, distances): the score, corrected for half of the
            bias that the resamples show, ± z times the root of their variance and that bias squared.
        Returns low, high: NaN where there are no resamples, or where none of them differs from another. Both
            lie further off by what seeds across the units do (:meth:`Across.reach`).
        """
        if not self.n_resamples or not self.n:
            return float("nan"), float("nan")
        if not curved:
            low, high = self.percentiles(of, level=level)[0].tolist()
            return low, high
        drawn, truth = self.replicates(of)
        known = drawn[~np.isnan(drawn)]
        if len(known) < 2 or np.ptp(known) < 1e-12 or np.isnan(truth):
            return float("nan"), float("nan")
        reach = self.across.reach(of.moved, level=level) if self.across else 1.0
        bias = float(known.mean()) - truth
        half = reach * normal_quantile(level) * float(np.hypot(known.std(ddof=1), bias))
        return of.value - bias / 2.0 - half, of.value - bias / 2.0 + half
