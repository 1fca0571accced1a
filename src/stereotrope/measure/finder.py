"""What a finder is: a function from what a run holds to the patterns that are worth a person's look."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl

from stereotrope.measure.cells import PAIR
from stereotrope.measure.evidence import FindingEvidence, counted, effective_sides, shift
from stereotrope.measure.sentences import Counted, Wording, span
from stereotrope.measure.units import FEWEST_PROMPTS
from stereotrope.plugins import Registry
from stereotrope.stats import clopper_pearson, newcombe, wilson
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATE_COLUMNS, warnings_of

_PLACE = ("measure", "attribute", "category", "reference")
_Compared = tuple[str, tuple[Counted, Counted]]
"""A value, and its counts on both sides."""


def scope_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The factors and the model of a row of estimates."""
    return {
        name: str(value) for name, value in row.items() if name not in ESTIMATE_COLUMNS and value is not None
    }


@dataclass(frozen=True)
class Candidate:
    """A pattern that may become a finding.

    With ``p`` it is a difference, and is told only where the whole list of differences supports it: a finder
    gives every comparison that is tested, whatever its p. Without, it describes what pictures have in common.
    With ``warning`` it is about an instrument.

    effect: Of a description, in [−1, 1]: the largest leads. Differences are led by what is left of them.
    sentence, images: What is said and the pictures that show it, as they are or as functions that give them
        when they are needed. Without a sentence it is how often ``category`` is labelled in the condition and
        in its reference, and ``tail`` behind that.
    wording: Words for the conditions of what annotators label: of such patterns one is told of an attribute
        and condition, with what other annotators see and what the run says against it. None: it is told by
        its sentence, beside those of other readers.
    p, p_least: p-value of its test, and the least that its counts could have given (NaN: any).
    labelled: Images of both sides whose labels a test compares.
    n: The same, where images are its units.
    interval, size: Size of what is told by its sentence, with the ends of its interval, and of a tested
        difference the words before it.
    of_shares: Whether that size is a difference of shares or ratios in [−1, 1], which the margin of “alike”
        is for. Of anything else, such as bits, cosines or several changes that must come together, nothing
        says within what sides are alike, and none is called so.
    apart: How many times its size two of those that are compared may be apart, which decides what is alike:
        2 where each is set beside the mean of all.
    apt: Whether its own numbers are so as its sentence's kind says; else it is a test alone, and another
        reader's leads.
    turned: Whether its sides stand in the order in which its size is positive, so that its sign says nothing.
    toward: What its sentence tells beyond its other fields: of turned sides the one that has more, where
        ``between`` does not say; of several levels the one that is told.
    units: Scenarios, queries or prompts that its size is a mean of, where it speaks of others too: those of a
        kind that is among none of these may differ by all there is.
    bounds: Of what its sentence tells, the least and greatest that missing labels allow; None where few are.
    level: Of the interval, where a finder widened that of a description for its having been chosen
        (:mod:`stereotrope.measure.selection`); the ranking widens all others.
    value: Of two with one effect, the larger value is told.
    category: The value of the attribute that is named; None for the one that moved most.
    parts: What tells it from others of its kind, scope, attribute and measure.
    scores: Scores that its measure compares, where the measure's name does not say.
    between: Factor that is compared, its level and the one compared with, where no wording says them.
    joins: Whether its sentence tells how shares of its attribute differ ``between`` two levels, which is one
        comparison with whatever else says so of the same pictures.
    leads: Whether it sums up others, such as those of single prompts, and is told before them.
    others, doubt, proven, q, place_p: What other annotators see, why it must not lead, whether its instrument
        is known to read it rightly, and how the list supports it: filled in by the ranking.
    """

    kind: str
    scope: Mapping[str, str]
    attribute: str | None
    effect: float
    measure: str
    sentence: str | Callable[[], str] = ""
    images: Sequence[str] | Callable[[], Sequence[str]] = ()
    wording: Wording | None = None
    value: float = 0.0
    category: str | None = None
    tail: str = ""
    warning: bool = False
    parts: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    between: tuple[str, str, str] | None = None
    joins: bool = False
    leads: bool = False
    p: float | None = None
    p_least: float = math.nan
    labelled: tuple[int, int] | None = None
    n: tuple[int, int] | None = None
    interval: tuple[float, float | None, float | None] | None = None
    size: str = "the difference is"
    of_shares: bool = False
    apart: float = 1.0
    apt: bool = True
    turned: bool = False
    toward: str | None = None
    units: int | None = None
    bounds: tuple[float, float] | None = None
    level: float | None = None
    others: tuple[str, ...] = ()
    doubt: str | None = None
    proven: bool = False
    q: float | None = None
    place_p: float | None = None

    @property
    def on_the_margin(self) -> bool:
        """Whether the margin of “alike” is for what it compares; of values of pictures their shares are."""
        return self.of_shares or (
            not self.sentence and self.wording is not None and self.attribute is not None
        )

    def pictures(self) -> Sequence[str]:
        """The images that show it."""
        return self.images() if callable(self.images) else self.images

    @property
    def compared(self) -> tuple[str | None, str | None]:
        """The factor whose levels are compared and the level compared with; None where nothing is."""
        if self.wording is not None:
            return self.wording.contrast, self.wording.reference
        return (self.between[0], self.between[2]) if self.between else (None, None)

    def written(self) -> Candidate:
        """Itself with its sentence as a text."""
        return replace(self, sentence=self.sentence()) if callable(self.sentence) else self

    @classmethod
    def warns(
        cls, scope: Mapping[str, str], attribute: str | None, sentence: str, measure: str, *parts: str,
        images: Sequence[str] = (),
    ) -> Candidate:  # fmt: skip
        """A warning about an instrument."""
        return cls("instrument", scope, attribute, 0.0, measure, sentence, images, warning=True, parts=parts)

    @classmethod
    def tested(cls, kind: str, row: Mapping[str, Any], **facts: Any) -> Candidate:
        """A difference of shares that a row of estimates tests; of another one give ``of_shares=False``."""
        least = row.get("p_least")
        images = (row["n"] or 0, row["n_reference"] or 0)
        usual = {
            "p": row["p_value"],
            "p_least": math.nan if least is None else least,
            "labelled": images,
            "n": None if "clustered" in warnings_of(row.get("flags")) else images,
            "of_shares": True,
        }
        scope, effect = scope_of(row), abs(row["value"])
        if (contrast := row["contrast"]) in scope and row["reference"] is not None:
            usual["between"] = contrast, scope[contrast], row["reference"]
        return cls(kind, scope, row["attribute"], effect, row["measure"], **{**usual, **facts})


@dataclass(frozen=True)
class Finder:
    """A function that finds patterns, and the ``kinds`` of these: the first says best what several say.

    Finders go by their ``place``. Of measures that it ``compares`` rows with a reference say which level a
    factor is usually compared with.
    """

    name: str
    function: Callable[[RunEvidence], Iterable[Candidate]]
    kinds: tuple[str, ...]
    place: int
    compares: tuple[str, ...] = ()


FINDERS: Registry[Finder] = Registry("finders", "stereotrope.measure", always=True)
"""Every finder by its name."""

_Function = TypeVar("_Function", bound=Callable[["RunEvidence"], Iterable[Candidate]])


def finder(*kinds: str, place: int, compares: tuple[str, ...] = ()) -> Callable[[_Function], _Function]:
    """Register a function as the finder of its name.

    Raises ValueError: Its place is no number.
    """
    if not isinstance(place, int):
        raise ValueError(f"place must be a whole number, such as 50, found {place!r}")

    def registered(function: _Function) -> _Function:
        FINDERS.add(function.__name__, Finder(function.__name__, function, kinds, place, compares))
        return function

    return registered


@dataclass(frozen=True)
class RunEvidence:
    """What finders read; for the arguments see :func:`stereotrope.measure.findings`."""

    estimates: pl.DataFrame
    labels: pl.DataFrame
    images: pl.DataFrame
    read: pl.DataFrame
    frames: Mapping[str, Sequence[pl.DataFrame]]
    said: Mapping[str, Any]
    failed: Collection[tuple[str, str | None]]
    proven: Collection[tuple[str, str]]
    compares: Collection[str]
    margin: float

    @cached_property
    def pictures(self) -> FindingEvidence:
        """Which pictures have which label in which condition."""
        return FindingEvidence(self.labels)

    def drawn(self, scope: Mapping[str, str]) -> Hashable:
        """The requests that a scope takes in, whoever looked; the scope itself where there are none."""
        here = frozenset((factor, level) for factor, level in scope.items() if factor != "annotator")
        if here not in self._drawn:
            self._drawn[here] = self.pictures.drawn_under(dict(here)) or here
        return self._drawn[here]

    @cached_property
    def _drawn(self) -> dict[Hashable, Hashable]:
        return {}

    @cached_property
    def level(self) -> float:
        """Nominal coverage of the intervals."""
        return float(next(iter(self.estimates["level"].drop_nulls()), 0.95))

    @cached_property
    def annotators(self) -> list[str]:
        """Annotators that estimates name."""
        has = "annotator" in self.estimates.columns
        return self.estimates["annotator"].drop_nulls().unique().sort().to_list() if has else []

    @cached_property
    def readers(self) -> dict[str, list[str]]:
        """Attribute → annotators that label it."""
        found: dict[str, list[str]] = {}
        if "annotator" in self.labels.columns:
            pairs = self.labels.lazy().select("attribute", "annotator").unique().drop_nulls()
            for attribute, name in pairs.sort("annotator").collect().iter_rows():
                found.setdefault(attribute, []).append(name)
        return found

    @cached_property
    def _values(self) -> dict[tuple[str, str], set[str]]:
        usable = self.labels.lazy().filter(pl.col("excluded").is_null())
        found: dict[tuple[str, str], set[str]] = {}
        for *who, value in usable.select("attribute", "annotator", "value").unique().collect().iter_rows():
            found.setdefault((who[0], who[1]), set()).add(value)
        return found

    def write_alike(self, attribute: str, *annotators: str) -> bool:
        """Whether annotators have a value of an attribute in common, and not each words of their own."""
        return bool(set.intersection(*(self._values.get((attribute, name), set()) for name in annotators)))

    @cached_property
    def wordings(self) -> dict[str, Wording]:
        """Each factor that is compared, with the level that most comparisons of it refer to."""
        compared = self.estimates.filter(
            pl.col("measure").is_in(list(self.compares)),
            pl.col("contrast").is_not_null(),
            pl.col("sides").ne_missing(PAIR),
        )
        ordered = (
            compared.group_by("contrast", "reference")
            .len()
            .sort("len", "contrast", "reference", descending=[True, False, False])
            .unique("contrast", keep="first", maintain_order=True)
        )
        varying = self.pictures.varying
        return {name: Wording(name, reference, varying) for name, reference, _ in ordered.iter_rows()}

    def compared(self, *measures: str) -> Iterator[tuple[dict[str, Any], Wording]]:
        """Rows of one attribute with a value, with words for their conditions.

        Of two definitions the paper's counts, since sizes of two do not compare; of several references of
        a factor the most frequent, and pairs only where nothing is compared with a baseline.
        """
        is_paper = pl.col("definition").eq_missing("paper")
        rows = self.estimates.filter(
            pl.col("measure").is_in(measures),
            is_paper | ~is_paper.any().over("measure"),
            pl.col("value").is_not_null(),
            pl.col("attribute").ne_missing(ALL_ATTRIBUTES),
        )
        for row in rows.iter_rows(named=True):
            scope = scope_of(row)
            contrast = row["contrast"] or next((name for name in self.wordings if name in scope), None)
            pair = row["reference"] if row["sides"] == PAIR else None
            wording = self.wordings.get(contrast or "", Wording(contrast, pair, self.pictures.varying, True))
            if row["contrast"] is None or row["reference"] == wording.reference:
                yield row, wording

    @cached_property
    def _differences(self) -> dict[Any, tuple[Counted, Counted]]:
        """Differences of shares → what they count on both sides."""
        found = {}
        for row in self.estimates.filter(pl.col("numerator_reference").is_not_null()).iter_rows(named=True):
            place = (*(row[name] for name in _PLACE), frozenset(scope_of(row).items()))
            found[place] = (row["numerator"], row["n"]), (row["numerator_reference"], row["n_reference"])
        return found

    def counted(self, c: Candidate, value: str) -> tuple[Counted, Counted]:
        """How often a value is seen in a candidate's condition and in its reference.

        The estimate of the difference says it, which may count some labels only; where there is none, labels.
        """
        if c.wording is None or c.attribute is None:
            return (0, 0), (0, 0)
        place = (c.measure, c.attribute, value, c.wording.reference, frozenset(c.scope.items()))
        if place in self._differences:
            return self._differences[place]
        here, before = self.pictures.sides(c.attribute, c.scope, c.wording)
        return counted(here, value), counted(before, value)

    def differences(
        self, asked: Iterable[tuple[Candidate, str]], level: float, *, exact: bool = False
    ) -> list[tuple[float, float, float] | None]:
        """How much more often values are seen than in the reference, with Newcombe's intervals.

        exact: Whether these are made of exact limits of each side.

        They speak of what differences of shares do (:mod:`stereotrope.measure.units`). None where a side has
        no image.
        """
        keys: list[tuple[Hashable, _Compared] | None] = []
        places: dict[Hashable, tuple[str, Mapping[str, str], Wording, dict[_Compared, None]]] = {}
        for c, value in asked:
            counts = self.counted(c, value)
            if c.wording is None or c.attribute is None or not all(n for _, n in counts):
                keys.append(None)
                continue
            place = c.attribute, frozenset(c.scope.items()), c.wording.contrast, c.wording.reference
            places.setdefault(place, (c.attribute, c.scope, c.wording, {}))[-1][value, counts] = None
            keys.append((place, (value, counts)))
        effective = [np.zeros((5, 0))]
        for attribute, scope, wording, some in places.values():
            scopes = scope, wording.reference_scope(scope)
            one, other = (self.pictures.cell(attribute, of) for of in scopes)
            values, each = zip(*some, strict=True)
            effective.append(effective_sides(one, other, values, each, level))
        *sides, correlation = np.concatenate(effective, axis=1)
        limits = clopper_pearson if exact else wilson
        ends = zip(*newcombe(*sides, level=level, correlation=correlation, limits=limits), strict=True)
        listed = [(place, one) for place, (*_, some) in places.items() for one in some]
        found = {
            (place, (value, counts)): (shift(*counts), float(low), float(high))
            for (place, (value, counts)), (low, high) in zip(listed, ends, strict=True)
        }
        return [None if key is None else found[key] for key in keys]

    def difference(self, c: Candidate, value: str, level: float) -> tuple[float, float, float] | None:
        """That of one value."""
        return self.differences([(c, value)], level)[0]

    def bounds(self, c: Candidate) -> tuple[float, float] | None:
        """What the difference of a candidate may be if labels that are missing count; None where few are.

        As far beyond the least and the greatest that these allow as its interval reaches beyond what is seen.
        """
        size = c.interval
        if size is None and not c.sentence and c.category is not None:
            size = self.difference(c, c.category, c.level or self.level)
        return None if size is None else self.bounds_of(c, c.category, size)

    def bounds_of(
        self, c: Candidate, category: str | None, size: tuple[float, float | None, float | None]
    ) -> tuple[float, float] | None:
        """The same of a value of a candidate whose difference has such an interval."""
        allowed = c.bounds
        if not c.sentence:
            if c.wording is None or c.attribute is None or category is None:
                return None
            scopes = c.scope, c.wording.reference_scope(c.scope)
            allowed = self.pictures.bounds(c.attribute, scopes, category)
        if allowed is None:
            return None
        value, *ends = size
        low, high = (0.0 if end is None else end - value for end in ends)
        return max(-1.0, allowed[0] + low), min(1.0, allowed[1] + high)

    def prompts_of_fewer(self, c: Candidate) -> int:
        """Of how many prompts a side is, if of too few to speak of others while the other is not; else 0."""
        if c.wording is None or c.attribute is None:
            return 0
        scopes = c.scope, c.wording.reference_scope(c.scope)
        sides = (self.pictures.cell(c.attribute, scope).prompts for scope in scopes)
        fewer, more = sorted(len(side) - (None in side) for side in sides)
        return fewer if fewer < FEWEST_PROMPTS <= more else 0

    def ends(self, c: Candidate, value: str, level: float) -> tuple[str, str]:
        """Wilson's intervals of the share of a value, in a condition and in its reference, as texts."""
        told = []
        if c.wording is not None and c.attribute is not None:
            scopes = c.scope, c.wording.reference_scope(c.scope)
            for (k, n), scope in zip(self.counted(c, value), scopes, strict=True):
                cell = self.pictures.cell(c.attribute, scope)
                part = cell.effective(value, level=level)[1] / cell.n if cell.n else 1.0
                low, high = wilson(k * part, n * part, level=level)
                told.append(span(float(low), float(high)) if n else "")
        return (told[0], told[1]) if told else ("", "")
