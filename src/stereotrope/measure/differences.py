"""Which differences a test supports, the error controlled over the whole list that a reader sees."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import numpy as np

from stereotrope.measure.finder import Candidate, RunEvidence
from stereotrope.measure.sentences import two_decimals
from stereotrope.stats import benjamini_hochberg, cauchy_combined, normal_quantile, reachable, smallest_shift

_POWER = 0.8
"""Probability with which a shift that “would have been found” is found."""

Place = tuple[Any, ...]
"""What one finding is about: pictures of one condition, what they are compared with, and in what."""


@dataclass(frozen=True)
class Differences:
    """The list of differences that tests support.

    The hypothesis of a place is that no test of it finds anything but chance. Of one measure and annotator
    its p-value is the least of the place's tests (such as one a value), times their number as far as their
    counts could have given as small a p; those of several are combined (:func:`cauchy_combined`).
    Benjamini and Hochberg's procedure runs over all places of all finders whose counts could have mattered
    (:func:`reachable`). What is told of a place has an interval at the level 1 − α·R/m, with R the places
    that are told and m the family (Benjamini and Yekutieli 2005, JASA 100): it covers though it was selected.

    q: q-value of each place that is told.
    p: Its p-value.
    n_tested, n_reachable: Places that were tested, and the family.
    sizes: Images of both sides of each tested place whose units are images.
    """

    q: Mapping[Place, float]
    p: Mapping[Place, float]
    n_tested: int
    n_reachable: int
    sizes: Sequence[tuple[int, int]]
    alpha: float

    @property
    def level(self) -> float:
        """Level of the intervals of what is told."""
        return 1 - self.alpha * len(self.q) / max(1, self.n_reachable)

    def widened(
        self, size: tuple[float, float | None, float | None], level: float
    ) -> tuple[float, float | None, float | None]:
        """A size with its interval of a usual level, widened for having been selected."""
        value, low, high = size
        wider = normal_quantile(self.level) / normal_quantile(level)

        def moved(end: float | None) -> float | None:
            return None if end is None else max(-1.0, min(1.0, value + wider * (end - value)))

        return value, moved(low), moved(high)

    def sentence(self) -> str:
        """How many comparisons differ, and how large a difference would have been found."""
        times = "1 comparison" if self.n_tested == 1 else f"{self.n_tested:,} comparisons".replace(",", " ")
        if not self.n_reachable:
            few = self._of_pictures()
            why = (
                f"with {few} even a complete shift is not told from chance"
                if few
                else "none has the pictures"
            )
            return f"No difference could have been found in {times}: {why}."
        found = len(self.q)
        if not found:
            told = f"No difference beyond chance in {times}"
        else:
            verb = "differs" if found == 1 else "differ"
            told = f"{found} of {times} {verb} beyond chance (false discovery rate {self.alpha:g} over all)"
        return f"{told}{self._found_from()}."

    def _of_pictures(self) -> str:
        if not self.sizes:
            return ""
        n, m = (median_low(side) for side in zip(*self.sizes, strict=True))
        pictures = f"{n} picture{'s' * (n != 1)} a condition"
        return pictures if n == m else f"{pictures} and {m} of what it is compared with"

    def _found_from(self) -> str:
        """From which shift on this many pictures show one, where images are the units."""
        if not self.sizes:
            return ""
        n, m = (median_low(side) for side in zip(*self.sizes, strict=True))
        level = self.alpha * max(1, len(self.q)) / self.n_reachable
        least = smallest_shift(n, m, alpha=level, power=_POWER)
        if math.isnan(least):
            what = "not even a complete shift would have been found four times in five"
        elif self.q:
            what = f"shifts above {two_decimals(least)} are found four times in five"
        else:
            what = f"only shifts above {two_decimals(least)} would have been found"
        return f"; with {self._of_pictures()} {what}"


def place_of(c: Candidate, evidence: RunEvidence) -> Place:
    """What a candidate is about, whoever looked at it and by whatever measure."""
    if c.wording is None:
        scope = sorted((name, level) for name, level in c.scope.items() if name != "annotator")
        return c.kind, c.attribute, c.measure, json.dumps(scope, ensure_ascii=False), c.parts
    about = c.kind if c.sentence else c.attribute
    return evidence.drawn(c.scope), c.wording.contrast, c.wording.reference, about


def differing(candidates: Iterable[Candidate], evidence: RunEvidence, *, alpha: float) -> Differences:
    """Run all tests against one another."""
    tests: dict[Place, dict[tuple[str, str | None], list[Candidate]]] = {}
    for one in candidates:
        if one.p is not None:
            by = tests.setdefault(place_of(one, evidence), {})
            by.setdefault((one.measure, one.scope.get("annotator")), []).append(one)
    places = list(tests)
    p, least = np.array([_of_place(tests[place].values()) for place in places]).reshape(-1, 2).T
    family = np.flatnonzero(reachable(least, alpha=alpha))
    q = benjamini_hochberg(p[family])
    told = {
        places[at]: float(own) for at, own in zip(family.tolist(), q.tolist(), strict=True) if own <= alpha
    }
    sizes = [next((t.n for some in tests[place].values() for t in some if t.n), None) for place in places]
    return Differences(
        told,
        {places[at]: float(p[at]) for at in family.tolist() if places[at] in told},
        len(places),
        len(family),
        [size for size in sizes if size is not None and min(size)],
        alpha,
    )


def _of_place(several: Iterable[Sequence[Candidate]]) -> tuple[float, float]:
    """p-value of a place, and the least that it could have had."""
    # Sorted, so that no number depends on the order of the estimates.
    each = np.array(sorted(_of_one(tests) for tests in several))
    # A test that could not have shown anything says nothing for or against the others.
    able = each[each[:, 1] < 1] if (each[:, 1] < 1).any() else each
    return float(cauchy_combined(able[:, 0])), float(cauchy_combined(able[:, 1]))


def _of_one(tests: Sequence[Candidate]) -> tuple[float, float]:
    """Tarone's correction of the least p of several tests, and the least that it could have been."""
    p = np.array([1.0 if t.p is None else t.p for t in tests])
    least = np.nan_to_num([t.p_least for t in tests], nan=0.0)
    if len(tests) == 2 and abs(p[0] - p[1]) <= 1e-12 and abs(least[0] - least[1]) <= 1e-12:
        # Two values that are all there is are one test, told twice.
        p, least = p.min(keepdims=True), least.min(keepdims=True)
    own, floor = float(p.min()), float(least.min())
    by_own, by_floor = (min(1.0, x * max(1, int((least <= x).sum()))) for x in (own, floor))
    return by_own, by_floor
