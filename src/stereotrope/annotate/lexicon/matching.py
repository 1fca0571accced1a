"""Matching the terms of a lexicon: hits, without those in phrases where a term does not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereotrope.annotate.lexicon.parts import Entry, Matching
from stereotrope.annotate.lexicon.search import Found, Pattern, Search
from stereotrope.annotate.lexicon.spelling import composed, folded

__all__ = ["Matcher", "Matches", "bare"]

WILD, PLACE = "*", "{}"


@dataclass(frozen=True)
class Matches:
    """Where terms were found: arrays of one length, sorted by caption, start and term.

    Attributes
    ----------
    captions
        The captions as they were matched: in normal form C, empty where there was none.
    caption
        Index into ``captions``.
    term
        Index into :attr:`Lexicon.terms`.
    start, end
        The hit is ``captions[caption][start:end]``.
    seam
        0 a whole word; 1 one that only its case or a digit sets off (``MaleFair``); 2 inside a longer word.
    excluded
        Hits that did not count, because they stand in a phrase that rules their term out; None in these
        themselves.
    """

    captions: tuple[str, ...]
    caption: NDArray[np.int64]
    term: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    seam: NDArray[np.uint8]
    excluded: Matches | None = None

    def __len__(self) -> int:
        """Return the number of hits."""
        return len(self.caption)

    def only(self, keep: NDArray[np.bool_]) -> Matches:
        """Return the hits for which ``keep`` is true."""
        return Matches(
            self.captions,
            self.caption[keep],
            self.term[keep],
            self.start[keep],
            self.end[keep],
            self.seam[keep],
            self.excluded,
        )


def bare(term: str) -> str:
    """Return a term without the ``*`` at its ends."""
    return term.removeprefix(WILD).removesuffix(WILD)


class Matcher:
    """The compiled terms of a lexicon.

    Parameters
    ----------
    entries
        The terms and where they stand.
    matching
        How they are found.
    """

    def __init__(self, entries: Sequence[Entry], matching: Matching) -> None:
        self._n = len(entries)
        whole = matching.boundary == "word"
        patterns = [_pattern(entry.term, whole) for entry in entries]
        owners: list[int] = []
        for number, entry in enumerate(entries):
            for phrase in entry.exclude:
                filled = phrase.replace(PLACE, bare(entry.term))
                if _holds(filled, entry.term, matching.split_case):
                    patterns.append(_pattern(filled, whole))
                    owners.append(number)
        self._owners = np.array(owners, dtype=np.int64)
        self._search = Search(patterns, split=matching.split_case)

    def match(self, captions: Sequence[str | None]) -> Matches:
        """Find every term in every caption (see :meth:`Lexicon.match`)."""
        texts = tuple(composed(caption or "") for caption in captions)
        found = self._search.find(texts)
        term = found.pattern < self._n
        hits = Matches(
            texts,
            found.text[term],
            found.pattern[term],
            found.start[term],
            found.end[term],
            found.seam[term],
        )
        out = self._ruled_out(hits, found, ~term)
        kept = hits.only(~out)
        return Matches(
            texts, kept.caption, kept.term, kept.start, kept.end, kept.seam, excluded=hits.only(out)
        )

    def _ruled_out(self, hits: Matches, found: Found, phrase: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Say which hits lie within a phrase of their own term."""
        out = np.zeros(len(hits), dtype=bool)
        if not phrase.any():
            return out
        owner = self._owners[found.pattern[phrase] - self._n]
        at = {term: np.flatnonzero(owner == term) for term in np.unique(owner).tolist()}
        text, start, end = found.text[phrase], found.start[phrase], found.end[phrase]
        longest = 1 + max(int(end.max()), int(hits.end.max(initial=0)))
        for term, rows in at.items():
            own = np.flatnonzero(hits.term == term)
            begins = text[rows] * longest + start[rows]
            reach = np.maximum.accumulate(text[rows] * longest + end[rows])
            before = np.searchsorted(begins, hits.caption[own] * longest + hits.start[own], side="right") - 1
            covered = (before >= 0) & (reach[before] >= hits.caption[own] * longest + hits.end[own])
            out[own] = covered
        return out


def _pattern(term: str, whole: bool) -> Pattern:
    return Pattern(
        bare(term), left=whole and not term.startswith(WILD), right=whole and not term.endswith(WILD)
    )


def _holds(phrase: str, term: str, split: bool) -> bool:
    """Say whether a phrase holds a term and more."""
    within, around = folded(bare(term), split=split), folded(bare(phrase), split=split)
    return within in around and within != around
