"""What a finder is: a function from what a run holds to the patterns that are worth a person's look."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl

from stereotrope.measure.cells import PAIR, Cell, Peers, bound_columns
from stereotrope.measure.join import PICTURE_EXCLUDED, PICTURE_REFUSED
from stereotrope.measure.sentences import Counted, Wording, span
from stereotrope.measure.units import claim_of
from stereotrope.plugins import Registry
from stereotrope.stats import clopper_pearson, newcombe, shared_correlation, wilson
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATE_COLUMNS, LABELS, SCOPES, warnings_of

_NOT_FACTORS = ({column.name for column in LABELS} | {"image_id", "prompt_id", "seed", "excluded"}) - SCOPES
_PLACE = ("measure", "attribute", "category", "reference")
_Levels = tuple[str | None, ...]
Conditions = tuple[_Levels, ...]
"""Combinations of factor levels, in the order of the labels."""


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
    n: Images of both sides that a test compares, where they are its units.
    interval, size: Size of a tested difference that is told by its sentence, with the ends of its interval,
        and the words before it.
    value: Of two with one effect, the larger value is told.
    category: The value of the attribute that is named; None for the one that moved most.
    parts: What tells it from others of its kind, scope, attribute and measure.
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
    p: float | None = None
    p_least: float = math.nan
    n: tuple[int, int] | None = None
    interval: tuple[float, float | None, float | None] | None = None
    size: str = "the difference is"
    others: tuple[str, ...] = ()
    doubt: str | None = None
    proven: bool = False
    q: float | None = None
    place_p: float | None = None

    def pictures(self) -> Sequence[str]:
        """The images that show it."""
        return self.images() if callable(self.images) else self.images

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
        """A difference that a row of estimates tests."""
        least = row.get("p_least")
        images = (row["n"] or 0, row["n_reference"] or 0)
        usual = {
            "p": row["p_value"],
            "p_least": math.nan if least is None else least,
            "n": None if "clustered" in warnings_of(row.get("flags")) else images,
        }
        scope, effect = scope_of(row), abs(row["value"])
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
    """Register a function as the finder of its name."""

    def registered(function: _Function) -> _Function:
        FINDERS.add(function.__name__, Finder(function.__name__, function, kinds, place, compares))
        return function

    return registered


def counted(values: Mapping[str, list[str]], value: str) -> Counted:
    """How many images have a value, of how many."""
    return len(values.get(value, ())), sum(map(len, values.values()))


def shift(here: Counted, before: Counted) -> float:
    """Share of a value less that in the reference, where there is one."""
    (k, n), (j, m) = here, before
    return (k / n if n else 0.0) - (j / m if m else 0.0)


def difference_of(one: Cell, other: Cell, value: str, *, level: float) -> tuple[float, float, float]:
    """Difference of the shares of a value with Newcombe's interval, as ``share_difference`` has it."""
    counts = (one.count(value), one.n), (other.count(value), other.n)
    *sides, correlation = _effective(one, other, value, counts, level)
    low, high = newcombe(*sides, level=level, correlation=correlation)
    return shift(*counts), float(low), float(high)


def _effective(
    one: Cell, other: Cell, value: str, counts: tuple[Counted, Counted], level: float
) -> tuple[float, float, float, float, float]:
    """Effective successes and trials of both sides, and the correlation of their shares.

    counts: Counts of both sides, which may be of other labels than those of the cells.
    """
    both = one, other
    claim = claim_of(*(cell.prompts for cell in both))
    parts = [cell.effective(value, level=level, claim=claim)[1] / cell.n if cell.n else 1.0 for cell in both]
    by_prompt = (side for cell in both for side in (cell.by_prompt(value), list(cell.prompts.values())))
    correlation = shared_correlation(*by_prompt) if claim.matched else 0.0
    (k, n), (j, m) = ((k * part, n * part) for (k, n), part in zip(counts, parts, strict=True))
    return k, n, j, m, correlation


class FindingEvidence:
    """Images by condition, attribute and value of tidy labels, for quick look-up."""

    def __init__(self, labels: pl.DataFrame) -> None:
        self.factors = tuple(c for c in labels.columns if c not in _NOT_FACTORS)
        self._values: dict[str, dict[_Levels, dict[str, list[str]]]] = defaultdict(dict)
        self._requests: dict[_Levels, dict[str, bool]] = defaultdict(dict)
        self._missing: dict[str, dict[_Levels, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        self._counted: dict[str, Mapping[_Levels, Cell]] = {}
        self._index: dict[tuple[str | None, tuple[int, ...]], dict[_Levels, list[_Levels]]] = {}
        asked = labels.select("image_id", "prompt_id") if "prompt_id" in labels.columns else None
        self._prompts: dict[str, str] = {} if asked is None else dict(asked.drop_nulls().iter_rows())
        columns = labels.select("image_id", "attribute", "value", "excluded", *self.factors)
        for image, attribute, value, excluded, *levels in columns.iter_rows():
            condition = tuple(levels)
            if excluded is None and value is not None:
                here = self._values[attribute].setdefault(condition, {})
                here.setdefault(str(value), []).append(image)
            elif excluded is not None:
                self._missing[attribute][condition][excluded] += 1
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

    def agreed(self, attribute: str | None, scope: Mapping[str, str] | None) -> dict[str, str | None]:
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
        return self.values(attribute, scope), self.values(attribute, wording.reference_scope(scope))

    def moved(self, attribute: str, scope: Mapping[str, str], wording: Wording, value: str) -> float:
        """Share of a value less that in the reference; 0 where there is nothing to compare with."""
        here, before = self.sides(attribute, scope, wording)
        return shift(counted(here, value), counted(before, value)) if here and before else 0.0

    def values(self, attribute: str, scope: Mapping[str, str] | None) -> dict[str, list[str]]:
        """Images by value of the attribute in a scope; a null level of a condition fits when none does."""
        found: dict[str, list[str]] = defaultdict(list)
        here = self._values.get(attribute, {})
        for condition in self._fitting(attribute, scope):
            for value, images in here[condition].items():
                found[value] += images
        return dict(found)

    def cell(self, attribute: str, scope: Mapping[str, str] | None) -> Cell:
        """The images of a scope by value and prompt."""
        here = self._fitting(attribute, scope)
        return (
            self._cells(attribute)[here[0]] if len(here) == 1 else self.cell_of(self.values(attribute, scope))
        )

    def bounds(
        self, attribute: str, scopes: Sequence[Mapping[str, str] | None], value: str
    ) -> dict[str, float]:
        """What a difference of shares may be where labels are missing; none where few are."""
        cells = []
        for scope in scopes:
            missing = sum(
                (self._missing[attribute][one] for one in self._fitting(attribute, scope)), Counter()
            )
            cells.append(replace(self.cell_of(self.values(attribute, scope)), excluded=missing))
        return bound_columns(value, *cells)

    def cell_of(self, values: Mapping[str, Sequence[str]]) -> Cell:
        """Images by value, counted by prompt."""
        seen = {value: Counter(map(self._prompts.get, images)) for value, images in values.items() if images}
        return Cell((), "", seen)

    def _cells(self, attribute: str) -> Mapping[_Levels, Cell]:
        if attribute not in self._counted:
            cells = {one: replace(self.cell_of(of), key=one) for one, of in self._values[attribute].items()}
            peers = Peers(list(cells.values()))
            for cell in cells.values():
                cell.peers = peers
            self._counted[attribute] = cells
        return self._counted[attribute]

    def elsewhere(self, attribute: str, scope: Mapping[str, str]) -> dict[str, list[str]]:
        """Images by value of the attribute in every condition that a scope does not take in."""
        inside = set(self._fitting(attribute, scope))
        found: dict[str, list[str]] = defaultdict(list)
        for condition, values in self._values.get(attribute, {}).items():
            if condition not in inside:
                for value, images in values.items():
                    found[value] += images
        return dict(found)

    def requested(self, scope: Mapping[str, str], *, refused: bool = False) -> list[str]:
        """Every picture that was asked for in a scope and drawn, or every one that was refused."""
        asked = [self._requests[condition] for condition in self._fitting(None, scope)]
        return list(dict.fromkeys(image for one in asked for image, was in one.items() if was is refused))

    def _fitting(self, attribute: str | None, scope: Mapping[str, str] | None) -> list[_Levels]:
        if scope is None:
            return []
        used = [(self.factors.index(f), level) for f, level in scope.items() if f in self.factors]
        places, levels = tuple(i for i, _ in used), tuple(level for _, level in used)
        known = list(self._requests if attribute is None else self._values.get(attribute, ()))
        if (attribute, places) not in self._index:
            index = self._index[attribute, places] = defaultdict(list)
            for condition in known:
                index[tuple(condition[i] for i in places)].append(condition)
        exact = self._index[attribute, places].get(levels)
        return exact or [c for c in known if all(c[i] in (level, None) for i, level in used)]


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
            pairs = self.labels.select("attribute", "annotator").drop_nulls().unique().sort("annotator")
            for attribute, name in pairs.iter_rows():
                found.setdefault(attribute, []).append(name)
        return found

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
        here, before = self.pictures.sides(c.attribute, c.scope, c.wording)
        return self._differences.get(place, (counted(here, value), counted(before, value)))

    def differences(
        self, asked: Iterable[tuple[Candidate, str]], level: float, *, exact: bool = False
    ) -> list[tuple[float, float, float] | None]:
        """How much more often values are seen than in the reference, with Newcombe's intervals.

        exact: Whether these are made of exact limits of each side.

        They speak of what differences of shares do (:mod:`stereotrope.measure.units`). None where a side has
        no image.
        """
        told: list[tuple[float, int] | None] = []
        effective: list[tuple[float, ...]] = []
        for c, value in asked:
            counts = self.counted(c, value)
            if c.wording is None or c.attribute is None or not all(n for _, n in counts):
                told.append(None)
                continue
            told.append((shift(*counts), len(effective)))
            scopes = c.scope, c.wording.reference_scope(c.scope)
            one, other = (self.pictures.cell(c.attribute, scope) for scope in scopes)
            effective.append(_effective(one, other, value, counts, level))
        *sides, correlation = np.array(effective).reshape(-1, 5).T
        limits = clopper_pearson if exact else wilson
        low, high = newcombe(*sides, level=level, correlation=correlation, limits=limits)
        return [None if one is None else (one[0], float(low[one[1]]), float(high[one[1]])) for one in told]

    def difference(self, c: Candidate, value: str, level: float) -> tuple[float, float, float] | None:
        """That of one value."""
        return self.differences([(c, value)], level)[0]

    def bounds(self, c: Candidate) -> tuple[float, float] | None:
        """What the difference of a candidate may be if labels that are missing count; None where few are."""
        if c.wording is None or c.attribute is None or c.category is None or c.sentence:
            return None
        scopes = c.scope, c.wording.reference_scope(c.scope)
        told = self.pictures.bounds(c.attribute, scopes, c.category)
        return (told["bound_low"], told["bound_high"]) if told else None

    def ends(self, c: Candidate, value: str) -> tuple[str, str]:
        """Wilson's intervals of the share of a value, in a condition and in its reference, as texts."""
        told = []
        if c.wording is not None and c.attribute is not None:
            scopes = c.scope, c.wording.reference_scope(c.scope)
            for (k, n), scope in zip(self.counted(c, value), scopes, strict=True):
                cell = self.pictures.cell(c.attribute, scope)
                part = cell.effective(value, level=self.level)[1] / cell.n if cell.n else 1.0
                low, high = wilson(k * part, n * part, level=self.level)
                told.append(span(float(low), float(high)) if n else "")
        return (told[0], told[1]) if told else ("", "")
