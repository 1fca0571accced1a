"""Places: what one comparison is about, with all its tests together."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stereotrope.measure.finder import Candidate, RunEvidence
from stereotrope.measure.interim import InterimLook, earlier_key, place_key
from stereotrope.measure.selection import at_level
from stereotrope.stats import cauchy_combined

_SAMPLE = 0.5
"""Part of the images that another annotator labelled, below which an annotator's are a sample of a place."""


class Widest(NamedTuple):
    """What the sides of a place may differ by.

    category, value, low, high: The value whose difference may be largest, its difference and the ends of its
        interval.
    bound_low, bound_high: Between what the difference of any value may be if labels that are missing count,
        as far beyond what they allow as its interval reaches; None where few are missing.
    unseen: By how much scenarios, queries or prompts of a kind that is among none of those asked could move
        the mean that it is.
    """

    category: str | None
    value: float
    low: float | None
    high: float | None
    bound_low: float | None = None
    bound_high: float | None = None
    unseen: float = 0.0

    def inside(self, margin: float) -> bool:
        """Whether all of it lies within ± a margin."""
        bounds = [end for end in (self.bound_low, self.bound_high) if end is not None]
        ends = self.low, self.high, *bounds, self.unseen
        return all(end is not None and abs(end) <= margin for end in ends)


_Tests = Mapping[tuple[str, str | None], Sequence[Candidate]]
"""Tests of a place by measure and annotator."""

Place = tuple[Any, ...]
"""What one finding is about: pictures of one condition, what they are compared with, and in what."""


@dataclass(frozen=True)
class Tested:
    """One place, all its tests together.

    example: One of its candidates, which says what is compared.
    p, p_least: p-value of its hypothesis, and the least that its counts could have given.
    n: Images of both sides, where images are the units of its tests.
    widest: What its sides may differ by; None where a test has no interval.
    on_the_margin: Whether all its tests are of differences that the margin is for.
    measures, scores: What tests it, and the scores that these compare.
    key: What stands for the place from one look to the next.
    earlier: What stood for it before factors joined the design.
    """

    example: Candidate
    p: float
    p_least: float
    n: tuple[int, int] | None
    widest: Widest | None
    on_the_margin: bool
    measures: tuple[str, ...]
    scores: tuple[str, ...]
    key: str
    earlier: Sequence[str] = ()


def place_of(c: Candidate, evidence: RunEvidence) -> Place:
    """What a candidate is about, whoever looked at it and by whatever measure."""
    if c.joins and c.between is not None:
        contrast, _, reference = c.between
        return evidence.drawn(c.scope), contrast, reference, c.attribute
    if c.wording is None:
        scope = sorted((name, level) for name, level in c.scope.items() if name != "annotator")
        return c.kind, c.attribute, c.measure, json.dumps(scope, ensure_ascii=False), c.parts
    about = c.kind if c.sentence else c.attribute
    return evidence.drawn(c.scope), c.wording.contrast, c.wording.reference, about


def keys_of(place: Place, evidence: RunEvidence, look: InterimLook) -> list[str]:
    """What stands for a place from one look to the next, and what stood for it before factors joined."""
    of_kind = isinstance(place[0], str)  # not of the conditions that are compared
    factors = [] if of_kind else [f for f in evidence.pictures.factors if f != "annotator"]
    before = (earlier_key(*place, factors=factors, joined=joined) for joined in look.joined)
    return [place_key(*place, factors=factors), *(key for key in before if key is not None)]


def tests_of(candidates: Iterable[Candidate]) -> _Tests:
    """Tests of a place by measure and annotator."""
    by: dict[tuple[str, str | None], list[Candidate]] = {}
    for one in candidates:
        by.setdefault((one.measure, one.scope.get("annotator")), []).append(one)
    return by


def most_labelled(by: _Tests) -> _Tests:
    """Tests of a place but those of a sample, whose chance would hide what the other annotators show.

    How many images were labelled decides, never what was seen in them: the list keeps its level.
    """
    images: dict[str | None, int] = {}
    for (_, annotator), some in by.items():
        if some[0].labelled is not None:
            # What is set beside a known number has one side alone.
            fewest = min(filter(None, some[0].labelled), default=0)
            images[annotator] = max(images.get(annotator, 0), fewest)
    most = max(images.values(), default=0)
    return {key: some for key, some in by.items() if images.get(key[1], most) >= _SAMPLE * most}


def tested_place(
    place: Place, by: _Tests, evidence: RunEvidence, widest: Widest | None, look: InterimLook
) -> Tested:
    """A place with all its tests together."""
    p, least = _of_place(by.values())
    every = [one for some in by.values() for one in some]
    key, *earlier = keys_of(place, evidence, look)
    return Tested(
        every[0],
        p,
        least,
        max((c.n for c in every if c.n), key=min, default=None),
        widest,
        all(c.on_the_margin for c in every),
        tuple(sorted({c.measure for c in every})),
        tuple(dict.fromkeys(score for c in every for score in c.scores)),
        key,
        earlier,
    )


def widest_differences(
    tests: Mapping[Place, _Tests], evidence: RunEvidence, *, level: float
) -> dict[Place, Widest]:
    """Of each place the value whose difference may be largest, among those that are tested, or else all."""
    sizes: dict[Place, list[Widest]] = {place: [] for place in tests}
    asked: list[tuple[Place, Candidate, str]] = []
    for place, by in tests.items():
        for some in by.values():
            one, sized = some[0], [(c.category, c.interval) for c in some if c.interval is not None]
            if one.wording is not None and one.attribute is not None and not one.sentence:
                sides = evidence.pictures.sides(one.attribute, one.scope, one.wording)
                tested = sorted({name for name, _ in sized if name is not None}) or sorted(
                    {*sides[0], *sides[1]}
                )
                asked += [(place, one, name) for name in tested]
                continue
            sizes[place] += [
                _sized(one, name, at_level(size, evidence.level, level, least=-1.0), evidence, level)
                for name, size in sized
            ]
    found = evidence.differences([(one, name) for _, one, name in asked], level, exact=True) if asked else []
    for (place, one, name), difference in zip(asked, found, strict=True):
        if difference is not None:
            sizes[place].append(_sized(one, name, difference, evidence, level))
    # Where a test has no interval, nothing says that its sides are alike.
    known = {
        place: some
        for place, some in sizes.items()
        if some and all(one.low is not None and one.high is not None for one in some)
    }
    return {place: _widest(some) for place, some in known.items()}


def _sized(
    c: Candidate,
    name: str | None,
    size: tuple[float, float | None, float | None],
    evidence: RunEvidence,
    level: float,
) -> Widest:
    # A kind that makes up this part of all would be among none of so many once in 2 / (1 − level) times.
    unseen = 1 - ((1 - level) / 2) ** (1 / c.units) if c.units else 0.0
    low, high = evidence.bounds_of(c, name, size) or (None, None)
    return Widest(name, *size, bound_low=low, bound_high=high, unseen=unseen)


def _widest(some: Sequence[Widest]) -> Widest:
    # Of two values that are the two sides of one, the one that came.
    furthest = max(some, key=lambda one: (round(max(-(one.low or 0.0), one.high or 0.0), 9), one.value > 0))
    low, high = [one.bound_low for one in some], [one.bound_high for one in some]
    return furthest._replace(
        unseen=max(one.unseen for one in some),
        bound_low=min((end for end in low if end is not None), default=None),
        bound_high=max((end for end in high if end is not None), default=None),
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
