"""Which differences a test supports, the error controlled over the whole list that a reader sees."""

import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import median_low
from typing import Any

import numpy as np

from stereotrope.measure.finder import Candidate, RunEvidence
from stereotrope.measure.interim import ONLY_LOOK, InterimLook
from stereotrope.measure.places import (
    Place,
    Tested,
    Widest,
    most_labelled,
    place_of,
    tested_place,
    tests_of,
    widest_differences,
)
from stereotrope.measure.selection import Size, at_level, chosen_level
from stereotrope.measure.sentences import decimals_of
from stereotrope.stats import benjamini_hochberg, count_able, fewest_told, smallest_shift
from stereotrope.stats.arrays import Floats

_ONE_SIDED = 0.85
"""Part of α that each end of an interval is given for “alike”. Newcombe's interval of exact limits then errs
in at most α of samples, counted out (sides of 4 to 1,000 images, margins of 0.05 to 0.4, any shares)."""

ALIKE_WITHIN = 0.2
"""Difference of shares within which sides are called alike where nobody says another: one picture in five."""

_POWER = 0.8
"""Probability with which a shift that “would have been found” is found."""

_DIFFERING = 0.05
"""Part of the places that, differing as clearly as they can, must be enough for a look to tell anything."""


@dataclass(frozen=True)
class Differences:
    """The list of differences that tests support.

    The hypothesis of a place is that no test of it finds anything but chance. Of one measure and annotator
    its p-value is the least of the place's tests (such as one a value), times their number as far as their
    counts could have given as small a p; those of several are combined (:func:`cauchy_combined`).
    An annotator that labelled less than half of the images that another did is a sample, and tests nothing.
    Benjamini and Hochberg's procedure runs over all places of all finders, of which those count that could
    have given as small a p (:func:`benjamini_hochberg` with ``p_least``). What is told of a place has an
    interval at the level 1 − α·R/m, with R the places that are told and m those that could have given as
    small a p as these (Benjamini and Yekutieli 2005, JASA 100): it covers though it was selected.

    Of a run that grows this is one look, with an α of its own. What a look before told is told here too,
    with the numbers of the pictures that are there now and the q of the look that told it.

    places: Every place that was tested.
    every_q: q-value of each place.
    alpha: Error of this look; with 0 nothing is told but what was told before.
    """

    places: Mapping[Place, Tested]
    every_q: Mapping[Place, float]
    alpha: float
    margin: float
    look: InterimLook = ONLY_LOOK

    @cached_property
    def found(self) -> dict[Place, float]:
        """q-value of each place that this look tells."""
        return {place: q for place, q in self.every_q.items() if q <= self.alpha and self.able}

    @cached_property
    def kept(self) -> dict[Place, float]:
        """q-value of each further place that is told since a look before told it."""
        told = self.look.told
        known = {
            place: next((told[key] for key in (tested.key, *tested.earlier) if key in told), None)
            for place, tested in self.places.items()
            if place not in self.found
        }
        return {place: q for place, q in known.items() if q is not None}

    @cached_property
    def q(self) -> dict[Place, float]:
        """q-value of each place that is told."""
        return {**self.found, **self.kept}

    @property
    def able(self) -> bool:
        """Whether this look could tell anything if one place in twenty differed as clearly as its counts can.

        Else it tells nothing, so that a first handful of pictures spends no error.
        """
        return 0 < self._fewest <= max(1.0, _DIFFERING * len(self.places))

    @cached_property
    def _fewest(self) -> int:
        return fewest_told(self._floors, alpha=self.alpha) if self.alpha else 0

    @cached_property
    def _floors(self) -> Floats:
        return np.array([tested.p_least for tested in self.places.values()])

    def _family(self, n_told: int) -> int:
        """The least k such that no more than k places could have given a p of α·told/k (Tarone 1990)."""
        k = np.arange(1, max(1, len(self.places)) + 1)
        return int(k[count_able(self._floors, self.alpha * max(1, n_told) / k) <= k][0])

    def verdict(self, place: Place) -> str:
        """How a comparison ends: ``differs``, ``alike`` or ``not enough``.

        Only differences of shares can be alike: of others the margin says nothing. Neither labels that are
        missing nor scenarios, queries or prompts of a kind that none of those asked is of may allow more than
        the margin (:meth:`~stereotrope.measure.places.Widest.inside`).
        """
        tested = self.places[place]
        if place in self.q:
            return "differs"
        if not tested.on_the_margin:
            return "not enough"
        margin = self.margin / tested.example.apart
        return "alike" if tested.widest is not None and tested.widest.inside(margin) else "not enough"

    def rows(self, findings: Mapping[Place, str]) -> list[dict[str, Any]]:
        """Every comparison as a row of :data:`stereotrope.tables.COMPARISONS`, the least p first.

        findings: Id of the finding of each place that is told.
        """
        rows = []
        for place, tested in self.places.items():
            c, widest = tested.example, tested.widest or (None,) * len(Widest._fields)
            scope = {name: level for name, level in c.scope.items() if name != "annotator"}
            contrast, reference = (c.wording.contrast, c.wording.reference) if c.wording else (None, None)
            if c.between and not c.wording:
                contrast, level, reference = c.between
                scope[contrast] = level
            rows.append(
                {
                    "kind": c.kind,
                    "scope": json.dumps(scope, ensure_ascii=False, sort_keys=True),
                    "contrast": contrast,
                    "reference": reference,
                    "attribute": c.attribute,
                    "measure": ", ".join(tested.measures),
                    "scores": ", ".join(tested.scores) or None,
                    "verdict": self.verdict(place),
                    "margin": self.margin / c.apart if tested.on_the_margin else None,
                    **dict(zip(Widest._fields, widest, strict=True)),
                    "level": _alike_level(self.alpha) if self.alpha else None,
                    "p_value": tested.p,
                    "p_least": tested.p_least,
                    "q_value": self.q.get(place, self.every_q.get(place)),
                    "finding_id": findings.get(place),
                }
            )
        return sorted(
            rows,
            key=lambda row: (
                *(row["p_value"], row["kind"], row["scope"], row["attribute"] or ""),
                *(row["measure"], row["scores"] or ""),
            ),
        )

    @property
    def level(self) -> float:
        """Level of the intervals of what is told; 1 where no error is left for any."""
        return chosen_level(1 - self.alpha, len(self.q), self._family(len(self.q)))

    def widened(self, size: Size, level: float) -> Size:
        """A size with its interval of a usual level, widened for having been selected."""
        if not self.alpha:
            return size[0], None, None
        return at_level(size, level, self.level, least=-1.0)

    def sentence(self) -> str:
        """How many comparisons differ, and how large a difference would have been found."""
        if not self.alpha:
            return self.look.silent
        told = self._at_this_look()
        return self.look.lead + (told[0].lower() + told[1:] if self.look.lead else told)

    def _at_this_look(self) -> str:
        times = "1 comparison" if len(self.places) == 1 else f"{_thousands(len(self.places))} comparisons"
        if not self.able:
            few = self._of_pictures()
            why = "even the most extreme counts could not be told from chance"
            if few and math.isnan(self._least()):
                why = f"with {few} even a complete shift is not told from chance"
            elif self._fewest:
                why = f"at least {_thousands(self._fewest)} would have to differ as clearly as they can"
            new = "new " if self.kept else ""
            free = " It spends no error and is not counted." if self.look.lead else ""
            return f"No {new}difference could have been found in {times}: {why}.{free}{self._kept()}"
        found = len(self.found)
        if not found:
            told = f"No difference beyond chance in {times}{self._beside()}"
        else:
            verb = "differs" if found == 1 else "differ"
            told = f"{found} of {times} {verb} beyond chance (false discovery rate {self.alpha:.2g} over all)"
        return f"{told}{self._found_from()}{self._never()}.{self._kept()}{self._alike()}"

    def _beside(self) -> str:
        """That one place alone could not be told, whatever its counts, where it could not."""
        among = "; one is told only where at least {} differ as clearly as they can"
        return among.format(_thousands(self._fewest)) if self._fewest > 1 else ""

    def _never(self) -> str:
        """How many could not have been told beside the others as they are."""
        p = np.array([tested.p for tested in self.places.values()])
        left = sorted(set(self.places) - set(self.q), key=lambda one: self.places[one].p_least)
        at = {place: number for number, place in enumerate(self.places)}

        def silent(place: Place) -> bool:
            least = np.where(np.arange(p.size) == at[place], self._floors, p)
            return bool(benjamini_hochberg(least, self._floors)[at[place]] > self.alpha)

        n = len(left) - bisect_left(left, True, key=silent)
        if not n or (self._fewest > 1 and not self.found):
            return ""
        return f"; {_thousands(n)} could not have been told: too few pictures or prompts, or too much alike"

    def _kept(self) -> str:
        """How many were told before and are not found by this look."""
        n = len(self.kept)
        more = " more" if self.found else ""
        return f" {_thousands(n)}{more} {'was' if n == 1 else 'were'} found at an earlier look." if n else ""

    def _alike(self) -> str:
        """How many of the others are alike, and how many of these not in refusals, say, but in labels."""
        verdicts = {place: self.verdict(place) for place in self.places}
        n, rest = (list(verdicts.values()).count(one) for one in ("alike", "not enough"))
        within = f"within ±{decimals_of(self.margin)}"
        if not n:
            some = sum(self.places[one].on_the_margin for one, how in verdicts.items() if how == "not enough")
            told = f" Of {_thousands(some)} these pictures cannot say whether they are alike {within}."
            return told if some and self.found and self.margin else ""
        labelled = {place for place, one in self.places.items() if one.example.attribute is not None}
        seen = sum(how == "alike" and place in labelled for place, how in verdicts.items())
        many = "none" if not seen else _thousands(seen)
        several = 0 < len(labelled) < len(self.places) and seen < n
        which = f", {many} of them in what is labelled" if several else ""
        others = f" Of {_thousands(rest)} these pictures cannot say which." if rest else ""
        return f" {_thousands(n)} {'is' if n == 1 else 'are'} alike on average, {within}{which}.{others}"

    @cached_property
    def sizes(self) -> list[tuple[int, int]]:
        """Images of both sides of each tested place whose units are images; none where most have others."""
        found = [one.n for one in self.places.values() if one.n is not None and min(one.n)]
        return found if 2 * len(found) >= len(self.places) else []

    def _of_pictures(self) -> str:
        if not self.sizes:
            return ""
        n, m = (median_low(side) for side in zip(*self.sizes, strict=True))
        typically = "typically " if len(set(self.sizes)) > 1 else ""
        pictures = f"{typically}{n} picture{'s' * (n != 1)} a condition"
        return pictures if n == m else f"{pictures} and {m} of what it is compared with"

    def _least(self) -> float:
        """The least shift that this many pictures show four times in five."""
        n, m = (median_low(side) for side in zip(*self.sizes, strict=True))
        level = self.alpha * max(1, len(self.found)) / self._family(len(self.found))
        return smallest_shift(n, m, alpha=level, power=_POWER)

    def _found_from(self) -> str:
        """From which shift on this many pictures show one, where images are the units."""
        if not self.sizes:
            return ""
        least = self._least()
        if math.isnan(least):
            what = "not even a complete shift would have been found four times in five"
        elif self.found:
            what = f"shifts above {decimals_of(least)} are found four times in five"
        else:
            what = f"only shifts above {decimals_of(least)} would have been found"
        some = len(self.sizes)
        where = f"in the {_thousands(some)} of single pictures, " if some < len(self.places) else ""
        return f"; {where}with {self._of_pictures()} {what}"


def differing(
    candidates: Iterable[Candidate],
    evidence: RunEvidence,
    *,
    alpha: float,
    margin: float = ALIKE_WITHIN,
    look: InterimLook = ONLY_LOOK,
) -> Differences:
    """Run all tests against one another."""
    tested: dict[Place, list[Candidate]] = {}
    for one in candidates:
        if one.p is not None:
            tested.setdefault(place_of(one, evidence), []).append(one)
    counting = {place: most_labelled(tests_of(some)) for place, some in tested.items()}
    # Within nothing nobody is alike.
    level = _alike_level(alpha) if alpha else evidence.level
    widest = widest_differences(counting, evidence, level=level) if margin else {}
    if not alpha:  # No error is left for an interval.
        widest = {place: Widest(*one[:2], None, None) for place, one in widest.items()}
    places = {
        place: tested_place(place, by, evidence, widest.get(place), look) for place, by in counting.items()
    }
    listed = list(places)
    p, least = np.array([(places[one].p, places[one].p_least) for one in listed]).reshape(-1, 2).T
    every_q = dict(zip(listed, benjamini_hochberg(p, least).tolist(), strict=True))
    return Differences(places, every_q, alpha, margin, look)


def _alike_level(alpha: float) -> float:
    """Level of the intervals that must lie within the margin."""
    return 1 - 2 * _ONE_SIDED * alpha


def _thousands(n: int) -> str:
    return f"{n:,}".replace(",", "\N{THIN SPACE}") if n >= 10_000 else str(n)
