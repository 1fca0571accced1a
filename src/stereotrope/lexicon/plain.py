"""Texts in ASCII read as bytes: as long as they are, and each character where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereotrope.lexicon.spelling import ASCII_FOLDS, ASCII_KINDS, seams_between

_BLANK = 0x20
_AROUND = np.arange(-1, 3)


@dataclass(frozen=True)
class Plain:
    """Texts one behind the other, as :class:`~stereotrope.lexicon.spelling.Spelt` has them.

    characters: Bytes after folding, in the texts joined by one character.
    edge: Whether a word can begin or end before each, and behind the last.
    starts: Where each text begins.
    odd: Which texts are not read rightly so: not in ASCII (left out), with blanks side by side, or with words
        that are to be split.
    """

    characters: NDArray[np.uint8]
    edge: NDArray[np.bool_]
    starts: NDArray[np.int64]
    odd: NDArray[np.bool_]
    _bytes: NDArray[np.uint8]

    @classmethod
    def of(cls, texts: Sequence[str], *, split: bool) -> Plain:
        """Read texts."""
        odd = np.fromiter((not text.isascii() for text in texts), bool, len(texts))
        kept = [text if text.isascii() else "" for text in texts] if odd.any() else texts
        joined = "\0".join([*kept, ""]).encode()
        original, characters = (np.frombuffer(b, np.uint8) for b in (joined, joined.translate(ASCII_FOLDS)))
        lengths = np.fromiter(map(len, kept), np.int64, len(kept)) + 1
        starts = np.cumsum(lengths) - lengths
        digit = characters - np.uint8(0x30) < 10
        word = (characters - np.uint8(0x61) < 26) | digit
        edge = np.ones(len(word) + 1, bool)
        edge[1:-1] = ~(word[1:] & word[:-1])
        made = cls(characters, edge, starts, odd, original)
        blank = characters == _BLANK
        strange = [np.flatnonzero(blank[1:] & blank[:-1])]
        if split:
            near = np.flatnonzero(digit | (original != characters) & word)
            near = np.union1d(near, np.minimum(near + 1, len(word) - 1))
            strange.append(near[made.seams(near) == 1])
        odd[np.searchsorted(starts, np.concatenate(strange), side="right") - 1] = True
        return made

    def sources(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where characters stand in the joined texts."""
        return at

    def seams(self, at: NDArray[np.int64]) -> NDArray[np.uint8]:
        """What parts the characters before and at these places of the joined texts."""
        around = np.clip(at[:, None] + _AROUND, 0, len(self._bytes) - 1)  # the last is in no text
        found = seams_between(*ASCII_KINDS[self._bytes[around]].T)
        found[at == 0] = 0
        return found
