"""The pictures behind a finding: which ones show a value in a part of the design."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property

import polars as pl

from stereotrope.measure.join import PICTURE_EXCLUDED, PICTURE_REFUSED
from stereotrope.measure.sentences import Counted, Wording
from stereotrope.tables import LABELS, SCOPES

_NOT_FACTORS = ({column.name for column in LABELS} | {"image_id", "prompt_id", "excluded"}) - SCOPES
_Levels = tuple[str | None, ...]
Conditions = tuple[_Levels, ...]
"""Combinations of factor levels, in the order of the labels."""


def counted(values: Mapping[str, list[str]], value: str) -> Counted:
    """How many images have a value, of how many."""
    return len(values.get(value, ())), sum(map(len, values.values()))


def shift(here: Mapping[str, list[str]], before: Mapping[str, list[str]], value: str) -> float:
    """Share of a value less that in the reference, where there is one."""
    (k, n), (j, m) = counted(here, value), counted(before, value)
    return (k / n if n else 0.0) - (j / m if m else 0.0)


class FindingEvidence:
    """Images by condition, attribute and value of tidy labels, for quick look-up."""

    def __init__(self, labels: pl.DataFrame) -> None:
        self.factors = tuple(c for c in labels.columns if c not in _NOT_FACTORS)
        self._values: dict[str, dict[_Levels, dict[str, list[str]]]] = defaultdict(dict)
        self._requests: dict[_Levels, dict[str, bool]] = defaultdict(dict)
        self._index: dict[tuple[str | None, tuple[int, ...]], dict[_Levels, list[_Levels]]] = {}
        columns = labels.select("image_id", "attribute", "value", "excluded", *self.factors)
        for image, attribute, value, excluded, *levels in columns.iter_rows():
            condition = tuple(levels)
            if excluded is None and value is not None:
                here = self._values[attribute].setdefault(condition, {})
                here.setdefault(str(value), []).append(image)
            if excluded != PICTURE_EXCLUDED:
                self._requests[condition][image] = excluded == PICTURE_REFUSED

    @cached_property
    def varying(self) -> list[str]:
        """Factors with more than one level among the pictures."""
        conditions = set(self._requests) | {c for a in self._values.values() for c in a}
        return [f for i, f in enumerate(self.factors) if len({c[i] for c in conditions}) > 1]

    def conditions(self, attribute: str | None, scope: Mapping[str, str]) -> Conditions:
        """The combinations of levels that a scope takes in, of an attribute or (None) of all requests."""
        return tuple(sorted(self._fitting(attribute, scope), key=str))

    def agreed(self, attribute: str | None, scope: Mapping[str, str]) -> dict[str, str | None]:
        """The factors in which all these pictures have one level, or all have none."""
        there = self._fitting(attribute, scope)
        levels = {factor: {c[place] for c in there} for place, factor in enumerate(self.factors)}
        return {factor: found.pop() for factor, found in levels.items() if len(found) == 1}

    def drawn_under(self, scope: Mapping[str, str]) -> Conditions:
        """The combinations of levels of all requests that a scope takes in, whoever looked at them."""
        place = self.factors.index("annotator") if "annotator" in self.factors else len(self.factors)
        kept = {levels[:place] + levels[place + 1 :] for levels in self._fitting(None, scope)}
        return tuple(sorted(kept, key=str))

    def sides(
        self, attribute: str, scope: Mapping[str, str], wording: Wording
    ) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Images by value in a condition and in its reference, where it has one."""
        other = wording.reference_scope(scope)
        return self.values(attribute, scope), self.values(attribute, other) if other else {}

    def moved(self, attribute: str, scope: Mapping[str, str], wording: Wording, value: str) -> float:
        """Share of a value less that in the reference; 0 where there is nothing to compare with."""
        here, before = self.sides(attribute, scope, wording)
        return shift(here, before, value) if here and before else 0.0

    def values(self, attribute: str, scope: Mapping[str, str]) -> dict[str, list[str]]:
        """Images by value of the attribute in a scope; a null level of a condition fits when none does."""
        found: dict[str, list[str]] = defaultdict(list)
        here = self._values.get(attribute, {})
        for condition in self._fitting(attribute, scope):
            for value, images in here[condition].items():
                found[value] += images
        return dict(found)

    def refused(self, scope: Mapping[str, str]) -> tuple[Counted, list[str]]:
        """Refused requests of all answered ones, and which they are."""
        answered: dict[str, bool] = {}
        for condition in self._fitting(None, scope):
            answered |= self._requests[condition]
        images = [image for image, refused in answered.items() if refused]
        return (len(images), len(answered)), images

    def drawn(self, scope: Mapping[str, str]) -> list[str]:
        """Every picture of a scope."""
        conditions = self._fitting(None, scope)
        return [image for c in conditions for image, refused in self._requests[c].items() if not refused]

    def _fitting(self, attribute: str | None, scope: Mapping[str, str]) -> list[_Levels]:
        used = [(self.factors.index(f), level) for f, level in scope.items() if f in self.factors]
        places, levels = tuple(i for i, _ in used), tuple(level for _, level in used)
        known = list(self._requests if attribute is None else self._values.get(attribute, ()))
        if (attribute, places) not in self._index:
            index = self._index[attribute, places] = defaultdict(list)
            for condition in known:
                index[tuple(condition[i] for i in places)].append(condition)
        exact = self._index[attribute, places].get(levels)
        return exact or [c for c in known if all(c[i] in (level, None) for i, level in used)]
