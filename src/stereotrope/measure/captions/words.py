"""Words of captions in any script."""

import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

_UNSPACED = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"})
"""Scripts, by the first word of their characters' names, that are written without spaces between words."""

_RELEASED_SPACES = str.maketrans("/-;", "   ")


def words_in(text: str) -> list[str]:
    """Words of a text: case-folded runs of two or more letters, digits, marks and underscores.

    In scripts without marks these are the words of scikit-learn's default pattern. Combining marks are
    part of a word, so that Hindi or Tamil are not cut at their vowels.

    >>> words_in("A Doctor's X-ray in हिंदी")
    ['doctor', 'ray', 'in', 'हिंदी']
    """
    return [word for word in _pattern(text.isascii()).findall(text.casefold()) if len(word) > 1]


def released_words(text: str) -> frozenset[str]:
    """The set of words that the authors' script compares: lower case, split at space, ``/``, ``-``, ``;``."""
    return frozenset(text.lower().translate(_RELEASED_SPACES).split())


def scripts(text: str) -> frozenset[str]:
    """Scripts of a text's letters, such as ``LATIN`` or ``DEVANAGARI``.

    >>> sorted(scripts("Holi होली 2024"))
    ['DEVANAGARI', 'LATIN']
    """
    if text.isascii():
        return frozenset({"LATIN"}) if any(map(str.isalpha, text)) else frozenset()
    return frozenset(script for character in set(text) if (script := _script(character)))


def is_spaced(text: str) -> bool:
    """Whether spaces part the words of at least some of the text's letters."""
    found = scripts(text)
    return not found or bool(found - _UNSPACED)


@cache
def _script(character: str) -> str | None:
    if not character.isalpha():
        return None
    return unicodedata.name(character, "UNKNOWN").partition(" ")[0].partition("-")[0]


@cache
def _pattern(ascii_only: bool) -> re.Pattern[str]:
    if ascii_only:
        return re.compile(r"\w+")
    marks = (c for c in range(0x300, sys.maxunicode + 1) if unicodedata.category(chr(c)).startswith("M"))
    runs = [list(run) for _, run in groupby(enumerate(marks), key=lambda pair: pair[1] - pair[0])]
    ranges = "".join(f"{chr(run[0][1])}-{chr(run[-1][1])}" for run in runs)
    return re.compile(rf"[\w{ranges}]+")


def readable(texts: Sequence[str], terms: Iterable[str]) -> NDArray[np.float64]:
    """1 where a text shares a script with any term, or has no letters; else no term could stand there."""
    known = scripts(" ".join(terms))
    if not known:
        return np.ones(len(texts))
    return np.array([float(not (found := scripts(text)) or bool(found & known)) for text in texts])
