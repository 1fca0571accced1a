"""What stands next to a hit: the rest of a longer word, or a noun that a colour is said of."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.shipped import shipped

NOUN_KINDS = ("garment", "background", "hair")
"""Kinds of nouns that a colour or tone may be said of instead of a person."""
_HEAD, _LONGEST_FORM = 40, 12
_WORD = re.compile(rf"[\w’'-]{{0,{_HEAD}}}")
_STOPS = ".;!?\n\0"
_TOKEN = re.compile(rf"[^\W\d_]+|[{_STOPS}]")
"""A run of letters, or a sign that ends a search."""
_TAIL = re.compile(r"[^\W\d_]*")
_PLAIN, _END, _PERSON, _NOUN = 0, 1, 2, 3
"""What a word is: any, one that ends the search, one for a person, or from here on the nouns in order."""


@dataclass(frozen=True)
class Nouns:
    """The nouns of ``nouns.yaml``.

    kinds: Each noun, and its kind (:data:`NOUN_KINDS`).
    forms: Endings with which a term is still itself.
    reach: Words that may stand between a hit and its noun.
    meanings: Every word of the file, and what it is.
    """

    kinds: Mapping[str, str]
    forms: frozenset[str]
    reach: int
    meanings: Mapping[str, int]

    def after(
        self, captions: Sequence[str], caption: NDArray[np.int64], end: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the noun that each hit is likely said of, as its place in ``kinds``; -1 where none is.

        Up to ``reach`` words behind the end of a hit are looked at. The end of a sentence, a semicolon, a
        column glued to the next (``FairDark brown``), and words of ``person`` and ``end`` end the search. A
        hit that itself ends with a word for a person (``woman``, ``light skin``) or with such a noun
        (``blue eyes``) is said of that.

        caption, end: Of each hit: its caption, ascending, and where it ends there.
        """
        found = np.full(len(caption), -1, dtype=np.int64)
        having = pl.Series(captions, dtype=pl.String).str.contains_any(
            list(self.kinds), ascii_case_insensitive=True
        )
        hits = np.flatnonzero(having.to_numpy()[caption])
        read, words = -1, self._words("")
        for hit, number, stop in zip(hits.tolist(), caption[hits].tolist(), end[hits].tolist(), strict=True):
            if number != read:
                read, words = number, self._words(captions[number])
            starts, what = words
            at = bisect_left(starts, stop)
            if at and what[at - 1] >= _PERSON:
                continue
            meant = next(filter(None, what[at : at + self.reach + 1]), _PLAIN)
            if meant >= _NOUN:
                found[hit] = meant - _NOUN
        return found

    def _words(self, caption: str) -> tuple[list[int], list[int]]:
        """Return where words and what ends a search begin, and what they are."""
        starts: list[int] = []
        what: list[int] = []
        for token in _TOKEN.finditer(caption):
            text, first = token[0], token.start()
            if text in _STOPS:
                starts.append(first)
                what.append(_END)
                continue
            letters = [] if text.islower() else enumerate(pairwise(text), start=1)
            cuts = [at for at, (before, after) in letters if after.isupper() and not before.isupper()]
            for cut, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
                if cut:
                    starts.append(first + cut)
                    what.append(_END)
                starts.append(first + cut)
                what.append(self.meanings.get(text[cut:end].casefold(), _PLAIN))
        return starts, what


@cache
def nouns() -> Nouns:
    """Read ``nouns.yaml``."""
    data = shipped("lexicon", "nouns.yaml")
    kinds = {noun: kind for kind in NOUN_KINDS for noun in data[kind]}
    meanings = {noun: _NOUN + place for place, noun in enumerate(kinds)}
    meanings |= dict.fromkeys(data["person"], _PERSON) | dict.fromkeys(data["end"], _END)
    return Nouns(kinds, frozenset(data["forms"]), data["reach"], meanings)


def is_form(caption: str, start: int, end: int) -> bool:
    """Say whether a hit begins a word and only an ending of the same word follows, as in ``sarees``."""
    if start and caption[start - 1].isalnum() and not _glued(caption, start):
        return False
    tail = _TAIL.match(caption, end, end + _LONGEST_FORM)
    rest = tail[0] if tail else ""
    # A column glued behind is no part of the word.
    word_end = next((at for at in range(1, len(rest)) if _glued(rest, at)), len(rest))
    return rest[:word_end].casefold() in nouns().forms


def word_around(caption: str, start: int, end: int) -> str:
    """Return the word in which a hit stands, case-folded, without columns glued to it."""
    left, right = start, end
    while left > max(0, start - _HEAD) and caption[left - 1].isalpha() and not _glued(caption, left):
        left -= 1
    while right < min(len(caption), end + _HEAD) and caption[right].isalpha() and not _glued(caption, right):
        right += 1
    return caption[left:right].casefold()


def _glued(caption: str, at: int) -> bool:
    return caption[at - 1].islower() and caption[at].isupper()


def longer_word(caption: str, start: int, end: int) -> str:
    """Return the word in which a hit stands, case-folded; of a very long one what is near the hit."""
    before = caption[max(0, start - _HEAD) : start]
    head = re.search(r"\w*$", before)
    tail = _WORD.match(caption, end)
    return ((head[0] if head else "") + caption[start:end] + (tail[0] if tail else "")).casefold()
