"""What a finder is: a function from what a run holds to the patterns that are worth a person's look."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import polars as pl

from stereotrope.measure.evidence import FindingEvidence
from stereotrope.measure.sentences import Wording
from stereotrope.plugins import Registry
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATES

_NAMES = {column.name for column in ESTIMATES}


def scope_of(row: Mapping[str, Any]) -> dict[str, str]:
    """The factors and the model of a row of estimates."""
    return {name: str(value) for name, value in row.items() if name not in _NAMES and value is not None}


@dataclass(frozen=True)
class Candidate:
    """A pattern that may become a finding.

    effect: In [−1, 1]: the largest leads.
    sentence, images: What is said and the pictures that show it. Without a sentence it is how often
        ``category`` is labelled in the condition and in its reference, and ``tail`` behind that.
    wording: Words for the conditions of what annotators label: of such patterns one is told of an attribute
        and condition, with what other annotators see and what the run says against it. None: it is told by
        its sentence, beside those of other readers.
    value: Of two with one effect, the larger value is told.
    category: The value of the attribute that is named; None for the one that moved most.
    warning: It is about an instrument: it comes last, unranked, and is never cut off.
    parts: What tells it from others of its kind, scope, attribute and measure.
    others, doubt: What other annotators see, and why it must not lead: filled in by the ranking.
    """

    kind: str
    scope: Mapping[str, str]
    attribute: str | None
    effect: float
    measure: str
    sentence: str = ""
    images: Sequence[str] = ()
    wording: Wording | None = None
    value: float = 0.0
    category: str | None = None
    tail: str = ""
    warning: bool = False
    parts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    doubt: str | None = None

    @classmethod
    def warns(
        cls, scope: Mapping[str, str], attribute: str | None, sentence: str, measure: str, *parts: str,
        images: Sequence[str] = (),
    ) -> Candidate:  # fmt: skip
        """A warning about an instrument."""
        return cls("instrument", scope, attribute, 0.0, measure, sentence, images, warning=True, parts=parts)


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


FINDERS: Registry[Finder] = Registry("finders", "stereotrope.measure")
"""Every finder by its name."""

Function = TypeVar("Function", bound=Callable[["RunEvidence"], Iterable[Candidate]])


def finder(*kinds: str, place: int, compares: tuple[str, ...] = ()) -> Callable[[Function], Function]:
    """Register a function as the finder of its name."""

    def registered(function: Function) -> Function:
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
    alpha: float
    compares: Collection[str]

    @cached_property
    def pictures(self) -> FindingEvidence:
        """Which pictures have which label in which condition."""
        return FindingEvidence(self.labels)

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
    def wordings(self) -> dict[str, Wording]:
        """Each factor that is compared, with the level that most comparisons of it refer to."""
        compared = self.estimates.filter(
            pl.col("measure").is_in(list(self.compares)), pl.col("contrast").is_not_null()
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
        a factor the most frequent.
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
            wording = self.wordings.get(contrast or "", Wording(contrast, None, self.pictures.varying))
            if row["contrast"] is None or row["reference"] == wording.reference:
                yield row, wording

    def significant(self, row: Mapping[str, Any]) -> bool:
        """Whether a row stands out over all that are tested together."""
        return row["q_value"] is not None and row["q_value"] <= self.alpha
