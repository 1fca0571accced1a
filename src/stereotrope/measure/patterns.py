"""Patterns: told differences that say the same of several models, objects or other places."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereotrope.measure.differences import Differences
from stereotrope.measure.finder import Candidate, RunEvidence
from stereotrope.measure.places import Place, place_of
from stereotrope.measure.sentences import clean, quoted

_MOST_NAMED = 6
"""Levels of a factor that one sentence names."""

_NOUNS = {"generator": "model"}
"""What a factor is called where not by its name."""
_PLAIN = ("generator", "object", "scenario", "mitigation", "phrasing", "group", "prompt")
"""Factors whose names are a noun in English; levels of others are called so."""

_Levels = Mapping[str, str]


@dataclass(frozen=True)
class FindingPattern:
    """Told differences that say the same: a grouping of them, without a test or a number of its own.

    name: A short hash of what they say, the same from one computation to the next.
    members: The differences, in their order in the list: the clearest first.
    same, tested, opposite: Levels of each place that says it, of each where it was tested, and of each of
        which the other way is told.
    varies: The factors that tell these places apart.
    """

    name: str
    members: Sequence[Candidate]
    same: Sequence[_Levels]
    tested: Sequence[_Levels]
    opposite: Sequence[_Levels]
    varies: Sequence[str]

    def sentence(self) -> str:
        """In how many of the places where it was tested the same is told, and in which."""
        same = {factor: _levels(self.same, factor) for factor in self.varies}
        alone = [factor for factor in self.varies if len(same[factor]) == 1]
        across = [factor for factor in self.varies if factor not in alone]
        asked = [one for one in self.tested if all(one[factor] in same[factor] for factor in alone)]
        each = "; ".join(_counted(factor, same[factor], _levels(asked, factor)) for factor in across)
        if len(across) > 1:
            nouns = _listing([_noun(factor) for factor in across])
            n, m = (_combinations(places, across) for places in (self.same, asked))
            each = f"{n} of {m} combinations of {nouns} ({each})"
        parts = [f"The same in {each}"]
        for factor in alone:
            levels = _nouns(factor, len(_levels(self.tested, factor)))
            parts.append(f"of {levels} in {_level(factor, *same[factor])} alone")
        if self.opposite:
            some = {f: _levels(self.opposite, f) for f in self.varies}
            named = [
                _listing([_level(factor, level) for level in levels])
                for factor, levels in some.items()
                if len(levels) < len(_levels(self.tested, factor))
            ]
            where = f" ({'; '.join(named)})" if named else ""
            n = _combinations(self.opposite, self.varies)
            what = f" combination{'s' if n > 1 else ''}" if len(self.varies) > 1 else ""
            parts.append(f"told the other way in {n}{what}{where}")
        elif _combinations(self.same, self.varies) < _combinations(self.tested, self.varies):
            parts.append("none is told the other way")
        return f"{'; '.join(parts)}."

    def extent(self) -> dict[str, Any]:
        """What varies and how often the same is told, as plain data."""
        return {
            "varies": list(self.varies),
            "n_same": _combinations(self.same, self.varies),
            "n_tested": _combinations(self.tested, self.varies),
            "n_opposite": _combinations(self.opposite, self.varies),
        }


def patterns_of(
    told: Sequence[Candidate], found: Iterable[Candidate], differences: Differences, evidence: RunEvidence
) -> list[FindingPattern]:
    """Patterns among differences that are told, each of two or more of them.

    They agree in what is told (attribute and value, or what a sentence of its own is about), in its
    direction, in the two sides that are compared, and in which factors their places have: they differ in
    levels of these alone, whoever labels them. Tested is the same in each place where a candidate
    compares these sides in the same terms; of a value of an attribute, where the attribute is compared. The
    other way are told differences of these: of the same value, or of another while this one is beyond 0 on
    the other side.

    told: Differences, in the order of the list.
    found: All candidates.
    """
    groups: dict[str, list[Candidate]] = {}
    families: dict[str, list[Candidate]] = {}
    spots = {id(c): place_of(c, evidence) for c in told}
    for c in told:
        if c.apt:
            family = _family(c, spots[id(c)], differences)
            families.setdefault(family, []).append(c)
            groups.setdefault(json.dumps([family, c.category, *_direction(c)]), []).append(c)
    several = {key: members for key, members in groups.items() if len(members) > 1}
    asked = _asked(found, differences, evidence) if several else {}
    made = []
    for key, members in several.items():
        family = json.loads(key)[0]
        same = [_where(spots[id(c)], differences) for c in members]
        other = [c for c in families[family] if _is_opposite(c, members[0], evidence)]
        opposite = [_where(spots[id(c)], differences) for c in other]
        tested = [*same, *(_where(place, differences) for place in asked.get(family, ()))]
        varies = _varying(tested, evidence)
        if _combinations(same, varies) > 1:
            name = hashlib.sha256(key.encode()).hexdigest()[:12]
            made.append(FindingPattern(name, members, same, tested, opposite, varies))
    return made


def says(c: Candidate) -> str | None:
    """What a description of a value says, wherever; None of one with a sentence of its own."""
    return None if c.sentence else json.dumps([_about(c), c.category, _sides(c), sorted(c.scope)])


def _about(c: Candidate) -> list[Any]:
    """What is compared: the values of an attribute, or what a sentence of its own is about."""
    return [c.kind, c.attribute, c.measure, c.parts, c.scores] if c.sentence else [c.attribute]


def _sides(c: Candidate) -> list[str | None]:
    """The factor that is compared and its two levels, in any order where sides are turned."""
    if c.between is not None:
        contrast, *levels = c.between
        return [contrast, *(sorted(levels) if c.turned else levels)]
    factor, reference = c.compared
    return [factor, c.scope.get(factor or ""), reference]


def _family(c: Candidate, place: Place, differences: Differences) -> str:
    """What is compared, and of whom with whom, wherever and by whomever it is labelled."""
    example = differences.places[place].example
    return json.dumps([_about(c), _sides(example), sorted(_where(place, differences))])


def _where(place: Place, differences: Differences) -> _Levels:
    """The levels of a place that are not compared. Measures may name a factor more, so one of them says."""
    example = differences.places[place].example
    apart = {"annotator", _sides(example)[0]}
    return {name: level for name, level in example.scope.items() if name not in apart}


def _asked(
    found: Iterable[Candidate], differences: Differences, evidence: RunEvidence
) -> dict[str, dict[Place, None]]:
    """Family → the places where it is tested."""
    asked: dict[str, dict[Place, None]] = {}
    for c in found:
        if c.p is not None:
            place = place_of(c, evidence)
            asked.setdefault(_family(c, place, differences), {})[place] = None
    return asked


def _size(c: Candidate) -> float:
    return c.value if c.interval is None else c.interval[0]


def _direction(c: Candidate) -> tuple[str | None, bool]:
    """The side that has more where sides are turned, or the level that is told, and whether it has more."""
    toward = c.between[1] if c.turned and c.between and c.toward is None else c.toward
    return toward, c.turned or _size(c) > 0


def _is_opposite(c: Candidate, lead: Candidate, evidence: RunEvidence) -> bool:
    """Whether a difference of the same family is told that goes the other way."""
    (toward, more), (of_lead, lead_more) = _direction(c), _direction(lead)
    if c.category == lead.category or c.sentence:
        return toward != of_lead if c.turned else toward == of_lead and more != lead_more
    if lead.category is None:
        return False
    moved = evidence.difference(c, lead.category, c.level or evidence.level)
    return moved is not None and (moved[2] < 0 if lead_more else moved[1] > 0)


def _varying(places: Sequence[_Levels], evidence: RunEvidence) -> list[str]:
    """The factors that tell places apart, without those that follow from others."""
    known = ["generator", *evidence.pictures.factors]
    names = sorted(places[0], key=lambda f: (known.index(f) if f in known else len(known), f))
    n_levels = {f: len({one[f] for one in places}) for f in names}
    kept = [f for f in names if n_levels[f] > 1]
    n = _combinations(places, kept)
    for factor in sorted(kept, key=n_levels.__getitem__):
        rest = [f for f in kept if f != factor]
        if rest and _combinations(places, rest) == n:
            kept = rest
    return kept


def _combinations(places: Sequence[_Levels], factors: Sequence[str]) -> int:
    return len({tuple(one[f] for f in factors) for one in places})


def _levels(places: Sequence[_Levels], factor: str) -> list[str]:
    return list(dict.fromkeys(one[factor] for one in places))


def _counted(factor: str, same: Sequence[str], tested: Sequence[str]) -> str:
    """In how many levels of a factor, and in which."""
    named = _listing([_level(factor, level) for level in same])
    return f"{len(same)} of {_nouns(factor, len(tested))}: {named}"


def _nouns(factor: str, n: int) -> str:
    many = "s" if n > 1 else ""
    noun = _noun(factor)
    return f"{n} {noun}{many}" if factor in _PLAIN else f"{n} level{many} of {noun}"


def _noun(factor: str) -> str:
    if factor in _PLAIN:
        return _NOUNS.get(factor, factor)
    return quoted(factor.replace("_", " "))


def _level(factor: str, level: str) -> str:
    return clean(level) if factor in ("generator", "object") else quoted(level)


def _listing(names: Sequence[str]) -> str:
    left = len(names) - _MOST_NAMED if len(names) > _MOST_NAMED + 1 else 0
    shown = [*names[: len(names) - left], *([f"{left} more"] if left else [])]
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))
