"""Which group each caption names, and the sides that a parity sets against each other."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.lexicon.model import AND
from stereotrope.lexicon.parts import OTHERS, REST
from stereotrope.measure.captions.frame import Captions
from stereotrope.measure.cells import require_text
from stereotrope.stats.arrays import Floats
from stereotrope.tables import UNKNOWN

DOUBLE = "several groups named"
"""Reason where a caption names several groups and no priority decides."""

FOREIGN = "not a declared group"
"""Reason where a label is no group that was declared."""

NO_GROUP = "no caption with a usable group"
"""Why a score is null where no caption of the cell has a group that counts."""

NO_SIDE = "no group of either side is seen"
"""Why a score is null where the groups are those seen, and those of a parity are not among them."""


@dataclass(frozen=True)
class Groups:
    """The groups of one attribute in one cell.

    names: The groups that share the captions: those declared, and ``unknown`` unless it is left out.
    columns: Shape (k, n), 1 where the caption names the group.
    excluded: Captions with a label that does not count, by reason.
    declared: Whether the groups were declared, or are those seen.
    """

    attribute: str
    names: tuple[str, ...]
    columns: Floats
    excluded: Counter[str]
    declared: bool

    @property
    def n(self) -> int:
        """Captions with a group that counts."""
        return int(self.columns.sum())

    @property
    def k(self) -> int:
        """Number of groups, at least 1."""
        return max(len(self.names), 1)

    @property
    def mostly_unknown(self) -> bool:
        """Whether ``unknown`` is a group that more than half of the captions are of."""
        return UNKNOWN in self.names and 2 * self.columns[self.names.index(UNKNOWN)].sum() > self.n

    @property
    def method(self) -> str:
        """Which groups are counted."""
        inside = f"{UNKNOWN} in" if UNKNOWN in self.names else f"{UNKNOWN} out"
        return f"groups {'declared' if self.declared else 'seen'}, {inside}"


@dataclass(frozen=True)
class Sides:
    """Two sides of a parity: rows of the groups on each, and what they are called."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    of: str
    against: str
    chosen: str | None
    """Groups on each as JSON where they were asked for, or are the only two groups there are."""


def count_groups(cell: Captions, attribute: str, groups: Sequence[str] | None, unknown: bool) -> Groups:
    """Count the captions of each group; under the released definition the groups are those seen.

    Raises UsageError: ``groups`` is a string, or names a group twice or the label ``unknown``.
    """
    declared = _declared(groups, attribute)
    labels = cell.labels(attribute).to_list()
    seen = Counter(label for label in labels if label is not None)
    known = declared if declared is not None else tuple(sorted(v for v in seen if v != UNKNOWN))
    names = (*known, UNKNOWN) if unknown else known
    excluded: Counter[str] = Counter(missing=labels.count(None))
    for label, count in seen.items():
        if label not in names:
            double = set(label.split(AND)) <= set(known)
            excluded[UNKNOWN if label == UNKNOWN else DOUBLE if double else FOREIGN] += count
    if cell.released:
        names = tuple(name for name in names if seen[name])
    columns = np.array([[label == name for label in labels] for name in names], np.float64)
    return Groups(
        attribute,
        names,
        columns.reshape(len(names), len(labels)),
        excluded,
        declared is not None and not cell.released,
    )


def read_elements(elements: Sequence[str], what: str) -> tuple[str, ...]:
    """Check declared elements.

    Raises UsageError: A string where a list belongs, or an element twice.
    """
    if isinstance(elements, str):
        raise UsageError(f"{what} must be a list, found the string {elements!r}; write [{elements!r}]")
    listed = tuple(elements)
    for name in listed:
        require_text(name, what=what)
    if twice := [name for name in listed if listed.count(name) > 1]:
        raise UsageError(f"{what}: {twice[0]!r} is given twice; give it once")
    return listed


def _declared(groups: Sequence[str] | None, attribute: str) -> tuple[str, ...] | None:
    if groups is None:
        return None
    names = read_elements(groups, f"groups of {attribute!r}")
    if not names:
        raise UsageError(f"groups: {attribute!r} has no group; list them, or pass None for those seen")
    if UNKNOWN in names:
        raise UsageError(f"groups: {UNKNOWN!r} is no group of {attribute!r}; leave it out and use unknown=")
    return names


def sides_of(
    counted: Groups,
    of: Sequence[str] | None,
    against: Sequence[str] | str | None,
    groups: Sequence[str] | None,
) -> list[Sides]:
    """The sides asked for; without any, every pair of groups.

    Raises UsageError: A side names a group that was not declared, or one that is on the other side.
    """
    if of is None:
        pairs = [name for name in counted.names if name != UNKNOWN] if groups is None else list(groups)
        only = groups is not None and len(pairs) == 2
        return [_sides(counted, (a,), (b,), b, declared=only) for a, b in combinations(pairs, 2)]
    first = read_elements(of, "of")
    if against in (None, REST, OTHERS):
        away = (*first, UNKNOWN) if against == OTHERS else first
        second = tuple(name for name in counted.names if name not in away)
        named = OTHERS if against == OTHERS else REST
    else:
        second = (against,) if isinstance(against, str) else tuple(against or ())
        named = " + ".join(second)
    if both := [name for name in first if name in second]:
        raise UsageError(f"parity: {both[0]!r} is on both sides; leave it on one")
    strangers = [name for name in (*first, *second) if groups and name not in (*groups, UNKNOWN)]
    if groups and strangers:
        hint = did_you_mean(strangers[0], groups, otherwise=f"groups are {', '.join(map(repr, groups))}")
        raise UsageError(f"parity: {strangers[0]!r} is no group of {counted.attribute!r}; {hint}")
    return [_sides(counted, first, second, named, declared=True)]


def _sides(
    counted: Groups, first: tuple[str, ...], second: tuple[str, ...], named: str, *, declared: bool
) -> Sides:
    place = {name: at for at, name in enumerate(counted.names)}
    a, b = (tuple(place[name] for name in side if name in place) for side in (first, second))
    chosen = [first, [named] if named in (OTHERS, REST) else second]
    told = json.dumps(chosen, ensure_ascii=False) if declared else None
    return Sides(a, b, " + ".join(first), named, told)
