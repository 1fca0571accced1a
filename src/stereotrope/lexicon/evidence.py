"""The hits of a lexicon that count, and what there is against each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stereotrope.lexicon.forms import forms_of
from stereotrope.lexicon.matching import Matcher, Matches
from stereotrope.lexicon.model import Reading
from stereotrope.lexicon.parts import THINGS, Matching
from stereotrope.lexicon.spelling import folded
from stereotrope.lexicon.surroundings import is_form, longer_word, nouns, word_around

INSIDE, GLUED = 2, 1
"""Seams of a hit: inside a longer word, and set off only by case or a digit."""
_MANY = 200
"""Places of a term that its longer words are counted at: bounds the time."""


class Grouping:
    """Numbers 0 … n-1 of things, and the places at which each stands."""

    def __init__(self, numbers: NDArray[np.int64], n: int) -> None:
        self._order = np.argsort(numbers, kind="stable")
        self._first = np.searchsorted(numbers[self._order], np.arange(n + 1))

    def of(self, number: int) -> NDArray[np.int64]:
        """Return the places of a number, ascending."""
        return self._order[self._first[number] : self._first[number + 1]]


class Evidence:
    """The hits that count for a caption of their prompt, and what stands around them.

    hits: Hits of their caption's prompt.
    inside: Those within a longer word.
    noun: The noun each is likely said of, -1 where none is; those inside longer words have none.
    doubt_inside, doubt_noun: What of it is to be doubted: not where a term asks for longer words by ``*`` or
        the longer word is a form of the term (``sarees``), and not a noun behind the terms of a list of
        things.
    form: Hits inside a longer word that is a form of their term.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading, self.lexicon = reading, reading.lexicon
        self.hits = reading.counted(reading.matches)
        self.inside = self.hits.seam == INSIDE
        self.noun = np.full(len(self.hits), -1, dtype=np.int64)
        open_ = ~self.inside
        self.noun[open_] = nouns().after(
            self.hits.captions, self.hits.caption[open_], self.hits.end[open_].astype(np.int64)
        )
        terms = self.lexicon.terms
        starred = np.array(["*" in entry.term for entry in terms], dtype=bool)
        things = np.array([entry.attribute in THINGS for entry in terms], dtype=bool)
        self.form = np.zeros(len(self.hits), dtype=bool)
        own = [frozenset(forms_of(folded(entry.term, split=False))) for entry in terms]
        for hit in np.flatnonzero(self.inside & ~starred[self.hits.term]).tolist():
            where = _at(self.hits, hit)
            self.form[hit] = is_form(*where) or word_around(*where) in own[self.hits.term[hit]]
        self.doubt_inside = self.inside & ~starred[self.hits.term] & ~self.form
        self.doubt_noun = (self.noun >= 0) & ~things[self.hits.term]

    @cached_property
    def by_term(self) -> Grouping:
        """The hits of each term."""
        return Grouping(self.hits.term, len(self.lexicon.terms))

    @property
    def excluded(self) -> NDArray[np.int64]:
        """The terms of the hits that phrases ruled out."""
        gone = self.reading.matches.excluded
        return self.hits.term[:0] if gone is None else self.reading.counted(gone).term

    @cached_property
    def beyond(self) -> Matches:
        """What letters anywhere would hit and the lexicon does not: glued words, and inside longer words."""
        how = self.lexicon.matching
        if how.boundary == "substring" and not how.split_case:
            return self.hits.only(np.zeros(len(self.hits), dtype=bool))
        plain = Matcher(self.lexicon.terms, Matching(boundary="substring"))
        possible = self.reading.counted(self.reading.matched(plain.match, self.hits.captions))
        elements: dict[tuple[str, str | None, str], int] = {}
        of = [
            elements.setdefault((e.attribute, e.prompt, e.element), len(elements)) for e in self.lexicon.terms
        ]
        return possible.only(~self.hits.hold(possible, np.array(of, dtype=np.int64)))

    def words(self, hits: Sequence[int] | NDArray[np.int64], most: int) -> list[str]:
        """The longer words that some hits stand in, the most frequent first."""
        return self._frequent(self.hits, hits, most)

    def words_left(self, hits: NDArray[np.int64], most: int) -> list[str]:
        """The longer words that some places of ``beyond`` stand in, the most frequent of the first many."""
        return self._frequent(self.beyond, hits[:_MANY], most)

    def _frequent(self, matches: Matches, hits: Sequence[int] | NDArray[np.int64], most: int) -> list[str]:
        counted = Counter(longer_word(*_at(matches, hit)) for hit in hits)
        return [word for word, _ in counted.most_common(most)]

    def named(self, hits: Sequence[int] | NDArray[np.int64], most: int) -> list[str]:
        """The nouns that some hits stand before, the most frequent first."""
        if not len(hits):  # as of most terms
            return []
        counted = Counter(self.noun[hits].tolist())
        names = list(nouns().kinds)
        return [names[place] for place, _ in counted.most_common() if place >= 0][:most]

    def places(self, hits: NDArray[np.int64], most: int) -> list[dict[str, int]]:
        """Where some hits are, one a caption."""
        if not len(hits):  # as of most terms
            return []
        _, first = np.unique(self.hits.caption[hits], return_index=True)
        return [place(self.hits, hit) for hit in hits[np.sort(first)[:most]].tolist()]

    def firm(self, caption_value: NDArray[np.int64], of_value: NDArray[np.bool_], name: str) -> Firm:
        """Say on which hits the value of each caption of a grouped attribute rests.

        caption_value: Number of each caption's value, -1 where it has none.
        of_value: Row a value, column a group: whether the value names the group.
        """
        group = self.lexicon.groups_of_terms(name)[self.hits.term]
        value = caption_value[self.hits.caption]
        own = (group >= 0) & (value >= 0) & (value < len(of_value))
        own[own] = of_value[value[own], group[own]]

        def without(doubt: NDArray[np.bool_]) -> NDArray[np.bool_]:
            alone: NDArray[np.bool_] = (
                np.bincount(self.hits.caption[own & ~doubt], minlength=len(caption_value)) == 0
            )
            return alone

        inside, noun = self.doubt_inside, self.doubt_noun
        return Firm(own, without(inside), without(noun), without(inside | noun), without(self.hits.seam > 0))


class Firm(NamedTuple):
    """Hits that values rest on, and captions whose value rests on doubtful ones alone."""

    own: NDArray[np.bool_]
    inside_only: NDArray[np.bool_]
    noun_only: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]
    no_word: NDArray[np.bool_]


def _at(matches: Matches, hit: int) -> tuple[str, int, int]:
    return matches.captions[matches.caption[hit]], int(matches.start[hit]), int(matches.end[hit])


def place(matches: Matches, hit: int) -> dict[str, int]:
    """Caption, start and end of a hit."""
    return {name: int(getattr(matches, name)[hit]) for name in ("caption", "start", "end")}
