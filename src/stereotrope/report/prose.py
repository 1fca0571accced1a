"""Words of the report: how a measure is explained, what perceived means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from stereotrope.report.escape import visible
from stereotrope.report.numbers import count
from stereotrope.tables import ALL_ATTRIBUTES, AVERAGE, DELTA, WITHOUT_VIOLATIONS

__all__ = ["PERCEIVED", "SECTIONS", "SUFFIXES", "MeasureProse", "Prose", "listing"]

SECTIONS = ("divergence", "shares", "captions", "cases", "missing", "other")

PERCEIVED = (
    "Where labels speak of people (gender, age, skin tone, ethnicity …), they are perceived presentation "
    "as labelled by an annotator, never identity. The pictures show no one: there is no person behind them "
    "who has a gender or an origin. The categories are those of the label set, they are coarse, and another "
    "label set would give other numbers."
)


_SHORT_NAME = re.compile(r"\(([^()]+)\)\s*$")


@dataclass(frozen=True)
class MeasureProse:
    """Title, definition and reading of a measure; ``beneath`` names the one below which it is shown.

    ``scale`` is ``rank``, ``signed`` where the sign is a direction, or nothing.
    ``left_out`` is what ``n_excluded`` counts, in the singular, and ``left_out_of_all`` what it counts in
    rows over all attributes where that is something else.
    """

    name: str
    section: str = "other"
    title: str = ""
    short: str = ""
    unit: str = ""
    scale: str = ""
    definition: str = ""
    reads: str = ""
    source: str = ""
    beneath: str = ""
    left_out: str = "picture"
    left_out_of_all: str = ""

    @property
    def abbreviation(self) -> str:
        """``CBS`` of ``Composite bias score (CBS)``; the short name where it has no abbreviation."""
        found = _SHORT_NAME.search(self.short)
        return found.group(1) if found else self.short

    @property
    def sense(self) -> str:
        """What a high score means where its name says otherwise: ``high is low diversity``; else empty."""
        return self.unit.partition(";")[2].strip()

    @property
    def heading(self) -> str:
        """The short name, with a capital."""
        return f"{self.short[:1].upper()}{self.short[1:]}"

    def counts_left_out(self, attribute: str | None) -> str:
        """What ``n_excluded`` of a row counts, in the singular; empty where it is not known."""
        return (self.left_out_of_all if attribute == ALL_ATTRIBUTES else "") or self.left_out


_FIELDS = {field.name for field in fields(MeasureProse)} - {"name"}


class Prose:
    """The words that a run stores for its measures.

    Parameters
    ----------
    stored
        ``words`` of ``run.json``: by name of the rows, in the order in which they are read.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self._explained: dict[tuple[str, str | None], MeasureProse] = {}
        self._stored = {str(name): told for name, told in stored.items() if isinstance(told, Mapping)}

    def explain(self, measure: str, definition: str | None = None) -> MeasureProse:
        """Words for rows, of one definition where these differ; without any they go by their own name.

        A name that ends in :data:`SUFFIXES` gets the words of what stands before, and what the suffix says.
        """
        if (measure, definition) not in self._explained:
            self._explained[measure, definition] = self._explain(measure, definition)
        return self._explained[measure, definition]

    def _explain(self, measure: str, definition: str | None) -> MeasureProse:
        base, suffixes = self.split_name(measure)
        known = self._stored.get(base)
        if known is None:
            name = measure.replace("_", " ")
            return MeasureProse(measure, title=name[:1].upper() + name[1:], short=name, left_out="")
        definitions = known.get("definitions")
        differs = definitions.get(definition) if isinstance(definitions, Mapping) else None
        told = {**known, **(differs if isinstance(differs, Mapping) else {})}
        prose = MeasureProse(measure, **{k: visible(str(v)) for k, v in told.items() if k in _FIELDS})
        for suffix in suffixes:
            prose = _MODIFIED[suffix](prose)
        return prose

    def split_name(self, measure: str) -> tuple[str, tuple[str, ...]]:
        """The measure before its suffixes, and these in the order in which they were put on.

        ``bds_without_violations_average`` → ``bds``, (``_without_violations``, ``_average``).
        """
        name, found = measure, []
        while name not in self._stored and (end := next((s for s in SUFFIXES if name.endswith(s)), None)):
            name = name.removesuffix(end)
            found.append(end)
        return (name, tuple(reversed(found))) if name in self._stored else (measure, ())

    def in_order(self, present: list[str]) -> list[str]:
        """Measures in the order of the sections and of their words, each before what derives from it."""
        order = list(self._stored)

        def place(measure: str) -> tuple[int, int, int, str]:
            name, suffixes = self.split_name(measure)
            derived = sum((1, 2)[suffix == WITHOUT_VIOLATIONS] for suffix in suffixes)
            at = order.index(name) if name in order else len(order)
            section = self.explain(name).section
            return (SECTIONS.index(section) if section in SECTIONS else len(SECTIONS), at, derived, measure)

        return sorted(present, key=place)


def _averaged(of: MeasureProse) -> MeasureProse:
    return replace(
        of,
        title=f"{of.title}, on average",
        short=f"{of.short}, average",
        definition=f"Mean of {of.short}, every level counting the same; the tables say of how many.",
        reads="The interval says how the mean would vary with other such levels, not with other pictures.",
        left_out="score",
        left_out_of_all="",
    )


def _without_violations(of: MeasureProse) -> MeasureProse:
    return replace(
        of,
        title=f"{of.title}, without pictures that break the prompt",
        short=f"{of.short}, without violations",
        definition=(
            f"{of.definition} Computed a second time without the pictures that an annotator says break their "
            "prompt (people, or several products); these are counted as left out."
        ).strip(),
    )


def _compared(of: MeasureProse) -> MeasureProse:
    return replace(
        of,
        title=f"{of.title}, less that of the baseline model",
        short=f"{of.short}, difference from the baseline model",
        unit="difference of two scores",
        scale="signed",
        definition=(
            f"{of.short} of a model less that of the baseline model, for the same prompt and group. The "
            "interval joins those of the two scores by square-and-add."
        ),
        reads=(
            "Above 0 the score is higher than the baseline model's, which is a model like the others and no "
            "standard. Scores that depend on the number of captions do not compare where that differs; the "
            "warnings say where."
        ),
    )


_MODIFIED: Mapping[str, Callable[[MeasureProse], MeasureProse]] = {
    AVERAGE: _averaged,
    DELTA: _compared,
    WITHOUT_VIOLATIONS: _without_violations,
}
SUFFIXES = tuple(_MODIFIED)
"""Endings of a measure's name that say how it was derived from the one before them."""


def listing(items: list[str], *, most: int = 8) -> str:
    """``a, b and c``; a long list is cut and counted."""
    shown = (
        items if len(items) <= most else [*items[: most - 1], count(len(items) - most + 1, "more", "more")]
    )
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
