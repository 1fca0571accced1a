"""Matching the terms of a lexicon: hits, without those in phrases where a term does not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from stereotrope.lexicon.forms import Variants, variants
from stereotrope.lexicon.parts import PLACE, WILD, Matching, Term, bare_term
from stereotrope.lexicon.search import Found, Pattern, Search
from stereotrope.lexicon.spelling import composed, folded


@dataclass(frozen=True)
class Matches:
    """Where terms were found: arrays of one length, sorted by caption, start and term.

    captions: The captions as they were matched: in normal form C, empty where there was none.
    caption: Index into ``captions``.
    term: Index into :attr:`Lexicon.terms`.
    start, end: The hit is ``captions[caption][start:end]``.
    seam: 0 a whole word; 1 one that only its case or a digit sets off (``MaleFair``); 2 inside a longer word.
    form: Whether it is a form of the term and not the term as written: ``skinned``, ``labcoat``.
    excluded: Hits that did not count, because they stand in a phrase that rules their term out; None in these
        themselves.
    """

    captions: tuple[str, ...]
    caption: NDArray[np.int64]
    term: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    seam: NDArray[np.uint8]
    form: NDArray[np.bool_]
    excluded: Matches | None = None

    def __len__(self) -> int:
        """Return the number of hits."""
        return len(self.caption)

    def only(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> Matches:
        """Return the hits for which ``keep`` is true, or those at some places, in that order."""
        columns = ("caption", "term", "start", "end", "seam", "form")
        return replace(self, **{name: getattr(self, name)[keep] for name in columns})

    @classmethod
    def joined(cls, parts: Sequence[Matches]) -> Matches:
        """Return the hits of several matchings, the captions of one behind those of the other."""
        first = np.cumsum([0, *(len(part.captions) for part in parts)])
        columns = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("term", "start", "end", "seam", "form")
        }
        caption = np.concatenate([part.caption + at for part, at in zip(parts, first, strict=False)])
        gone = [part.excluded for part in parts if part.excluded is not None]
        excluded = cls.joined(gone) if gone else None
        return cls(
            tuple(text for part in parts for text in part.captions), caption, **columns, excluded=excluded
        )

    def hold(self, other: Matches, of: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which hits of another matching of the captions lie within a hit of a term of the same kind.

        of: Number of each term's kind.
        """
        if not len(self) or not len(other):
            return np.zeros(len(other), dtype=bool)
        length = 1 + max(map(len, self.captions))
        mine, theirs = (
            (of[each.term] * len(self.captions) + each.caption) * length for each in (self, other)
        )
        order = np.argsort(mine + self.start, kind="stable")
        reach = np.maximum.accumulate((mine + self.end)[order])
        before = np.searchsorted((mine + self.start)[order], theirs + other.start, side="right") - 1
        held: NDArray[np.bool_] = (before >= 0) & (reach[np.maximum(before, 0)] >= theirs + other.end)
        return held


class Matcher:
    """The compiled terms of a lexicon."""

    def __init__(self, entries: Sequence[Term], matching: Matching) -> None:
        self._n = len(entries)
        whole = matching.boundary == "word"
        patterns = [_pattern(entry.term, whole) for entry in entries]
        owners = list(range(self._n))
        with_forms = variants(entries) if whole and matching.forms else [Variants()] * self._n
        for number, one in enumerate(with_forms):
            patterns += [_pattern(form, whole) for form in one.forms]
            owners += [number] * len(one.forms)
        self._n_terms = len(patterns)
        for number, (entry, one) in enumerate(zip(entries, with_forms, strict=True)):
            filled = [
                phrase.replace(PLACE, form)
                for phrase in entry.exclude
                for form in ((bare_term(entry.term), *one.forms) if PLACE in phrase else ("",))
            ]
            held = (bare_term(entry.term), *one.forms)
            for phrase in dict.fromkeys([*filled, *one.apart]):
                if any(_holds(phrase, form, matching.split_case) for form in held):
                    patterns.append(_pattern(phrase, whole))
                    owners.append(number)
        self._owners = np.array(owners, dtype=np.int64)
        self._search = Search(patterns, split=matching.split_case)

    def match(self, captions: Sequence[str | None]) -> Matches:
        """Find every term in every caption (see :meth:`Lexicon.match`)."""
        texts = tuple(composed(caption or "") for caption in captions)
        found = self._search.find(texts)
        is_term = found.pattern < self._n_terms
        hits, phrases = self._owned(texts, found, is_term), self._owned(texts, found, ~is_term)
        if hits.form.any():
            hits = hits.only(np.lexsort((hits.term, hits.start, hits.caption)))
        out = phrases.hold(hits, np.arange(self._n))
        return replace(hits.only(~out), excluded=hits.only(out))

    def _owned(self, texts: tuple[str, ...], found: Found, which: NDArray[np.bool_]) -> Matches:
        """Some occurrences of patterns as hits of the terms they belong to."""
        pattern, text, seam = found.pattern[which], found.text[which], found.seam[which]
        start, end = found.start[which], found.end[which]
        return Matches(texts, text, self._owners[pattern], start, end, seam, pattern >= self._n)


def _pattern(term: str, whole: bool) -> Pattern:
    return Pattern(
        bare_term(term), left=whole and not term.startswith(WILD), right=whole and not term.endswith(WILD)
    )


def _holds(phrase: str, term: str, split: bool) -> bool:
    within, around = folded(bare_term(term), split=split), folded(bare_term(phrase), split=split)
    return within in around and within != around
