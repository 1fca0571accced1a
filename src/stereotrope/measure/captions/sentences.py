"""Findings from captions in words: what captions call, name and leave out, with counts and intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stereotrope.measure.captions.evidence import Levels
from stereotrope.measure.sentences import Counted, clean, decimals_of, quoted, span
from stereotrope.tables import ESTIMATE_COLUMNS, THESE_PROMPTS, UNKNOWN

SELDOM = 0.5
"""Share of captions without a group above which a sentence says so: parity of the few says little."""

_TERMS = 3
"""Terms named in a sentence."""

_LISTS = {"gmr": "which the prompt names", "iemr": "which the lexicon takes as implied"}
_COMPOSITES = {
    "cbs": "the composite of parity, evenness and association",
    "cbs_without_association": "the composite of parity and evenness",
    "contextual_diversity": "the composite of what lacks in variety, keywords and nearness to the prompt",
}


@dataclass(frozen=True)
class Gap:
    """Two sides of a parity and how often captions name each, the more frequent first.

    together: Whether the other side is every other group.
    """

    attribute: str
    first: tuple[tuple[str, ...], int]
    second: tuple[tuple[str, ...], int]
    n: int
    unnamed: int
    value: float
    low: float | None
    high: float | None
    together: bool
    clustered: bool


@dataclass(frozen=True)
class Side:
    """Captions of one model: those that name a side, of how many, and those that name it or the other."""

    attribute: str
    groups: tuple[str, ...]
    scope: Levels
    k: int
    n: int
    either: int


class CaptionWording:
    """How cells of captions are put into words.

    rows: Estimates of captions: factors with one level are not said.
    """

    def __init__(self, rows: pl.DataFrame) -> None:
        factors = [name for name in rows.columns if name not in ESTIMATE_COLUMNS]
        self.shown = [name for name in factors if rows[name].drop_nulls().n_unique() > 1]

    def one_group(self, row: Mapping[str, Any], scope: Levels, groups: Mapping[str, int]) -> str:
        """Nearly all captions have one group."""
        what = f"{_words(row['attribute'])} {quoted(row['category'])}"
        text = f"{self._lead(scope)} call the {what} in {_share(row)}"
        rest = {group: n for group, n in groups.items() if group not in (UNKNOWN, row["category"]) and n}
        if rest:
            most = max(sorted(rest), key=lambda group: rest[group])
            text += f"; the next most frequent, {quoted(most)}, is in {rest[most]}"
        elif groups:
            text += " and name no other"
        return f"{text}."

    def gap(self, gap: Gap, scope: Levels) -> str:
        """One side is named more often than the other."""
        (of, k), (against, less) = gap.first, gap.second
        other = "any other" if gap.together else _either(against)
        counted = f"{less} of {gap.n}" if less else "none"
        text = (
            f"{self._lead(scope)} call the {_words(gap.attribute)} {_either(of)} in "
            f"{k} of {gap.n} and {other} in {counted}"
        )
        if gap.clustered:
            text += f"; the difference is {decimals_of(gap.value)}{span(gap.low, gap.high)}"
        if gap.unnamed > SELDOM * gap.n:
            text += f"; {gap.unnamed} of {gap.n} name no {_words(gap.attribute)}, which leaves "
            text += f"{gap.n - gap.unnamed} to compare"
        return f"{text}."

    def difference(self, more: Side, less: Side) -> str:
        """Two models differ in how often captions of their pictures name a side."""
        return (
            f"{self._lead(more.scope)} call the {_words(more.attribute)} {_either(more.groups)} in "
            f"{more.k} of {more.n}, those by {clean(less.scope['generator'])} in "
            f"{less.k} of {less.n}; among those that name either side it is {more.k} of "
            f"{more.either} and {less.k} of {less.either}."
        )

    def difference_over_prompts(
        self, row: Mapping[str, Any], scope: Levels, models: Sequence[str], groups: Sequence[str]
    ) -> str:
        """Two models differ in how often captions of their pictures name a side, on average over prompts."""
        these = "these " if row["holds_for"] == THESE_PROMPTS else ""
        return (
            f"{self._lead({**scope, 'generator': models[0]})} call the {_words(row['attribute'])} "
            f"{_either(groups)} more often than those by {clean(models[1])}, over {these}{row['n']} prompts."
        )

    def association(self, row: Mapping[str, Any], scope: Levels, terms: Sequence[tuple[str, int]]) -> str:
        """Stereotype terms outnumber diversity terms."""
        of = row["denominator"]
        what = decimals_of(row["value"]) if of is None else f"{row['numerator']} of {of}"
        things = "captions with a hit" if row["definition"] == "released" else "term hits"
        return (
            f"{self._lead(scope)} hold terms of two lists, and {what}{span(row['low'], row['high'])} "
            f"{things} are on the list of stereotypes{_most(terms)}, over {row['n']} captions."
        )

    def out_of_place(self, row: Mapping[str, Any], scope: Levels, terms: Sequence[tuple[str, int]]) -> str:
        """Captions hold what the prompt does not call for."""
        what = "what the prompt does not call for"
        return f"{self._lead(scope)} mention {what} in {_share(row)}{_most(terms)}."

    def omission(self, row: Mapping[str, Any], scope: Levels) -> str:
        """An element that captions lack."""
        what = f"{quoted(row['category'])}, {_LISTS[row['measure']]},"
        return f"{self._lead(scope)} do not mention {what} in {_share(row)}."

    def composite(self, row: Mapping[str, Any], scope: Levels, groups: Mapping[str, int], edge: float) -> str:
        """A composite in the highest band."""
        text = (
            f"{self._lead(scope)} score {decimals_of(row['value'])}{span(row['low'], row['high'])} on "
            f"{_COMPOSITES[row['measure']]}, over {row['n']} captions, all of the interval above "
            f"{decimals_of(edge)}, where the band “high” begins"
        )
        unnamed, n = groups.get(UNKNOWN, 0), sum(groups.values())
        if n and unnamed > SELDOM * n:
            text += f"; {unnamed} of {n} name no {_words(row['attribute'])}, which by itself makes it high"
        return f"{text}."

    def occlusion(
        self,
        attribute: str,
        scope: Levels,
        counted: Sequence[Counted],
        ends: tuple[float, float],
        explains: bool,
    ) -> str:
        """Whether covers have to do with captions that name no group."""
        hidden, bare = counted
        size = hidden[0] / hidden[1] - bare[0] / bare[1]
        verdict = "may explain a part of it" if explains else "do not explain what is left unnamed"
        return (
            f"{self._lead(scope)} name no {_words(attribute)} in {hidden[0]} of {hidden[1]} that mention "
            f"what covers a person and in {bare[0]} of {bare[1]} that do not; the difference is "
            f"{decimals_of(size)}{span(*ends)}: covers {verdict}."
        )

    def _lead(self, scope: Levels) -> str:
        """“For “doctor”, captions of pictures by sd15”, and every other factor that varies."""
        rest = [
            f"{clean(f)} {quoted(scope[f])}"
            for f in self.shown
            if f in scope and f not in ("prompt", "generator")
        ]
        by = f" by {clean(scope['generator'])}" if "generator" in scope and "generator" in self.shown else ""
        more = f" ({', '.join(rest)})" if rest else ""
        if "prompt" in scope:
            return f"For {quoted(scope['prompt'])}{more}, captions of pictures{by}"
        return f"Captions of pictures{by}{more}"


def _share(row: Mapping[str, Any]) -> str:
    return f"{round(row['value'] * row['n'])} of {row['n']}{span(row['low'], row['high'])}"


def _words(attribute: str) -> str:
    return clean(attribute).replace("_", " ")


def _either(groups: Sequence[str]) -> str:
    return " or ".join(quoted(group.replace("_", " ")) for group in groups)


def _most(terms: Sequence[tuple[str, int]]) -> str:
    """“, most often “young” (31), “pale” (12)”: the captions that hold each."""
    named = ", ".join(f"{quoted(term)} ({n})" for term, n in terms[:_TERMS])
    return f", most often {named}" if named else ""
