"""Texts as the matching reads them: folded characters, and where a word begins and ends."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SPACE, _NONE = 0x20, 0x110000
_SHORT = 50_000
"""Characters below which sorting them is quicker than a table of all of Unicode."""
_JOINTS = "-/;_\u2010\u2011\u2012\u2013\u2014\u2212"
"""Characters read as a blank, as every white space is: ``light-skinned`` and ``light skinned`` are one."""
_ASCII_JOINTS = str.maketrans(dict.fromkeys("-/;_", " "))
_SEAM = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z][a-z]{2})")
"""Where only the case or a digit shows that a word ends, in ASCII; ``20s`` and ``3D`` are one word."""
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # iteration marks
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)
"""Scripts written without blanks between words: any character begins and ends a word."""
_WORD, _LOWER, _UPPER, _LETTER, _DIGIT = 1, 2, 4, 8, 16


@dataclass(frozen=True)
class Spelt:
    """Texts in one row of folded characters.

    characters: Code points after folding; runs of blanks and joints are one blank, texts are kept apart by a
        character that no term has.
    origin: Where each of them stands in the texts joined by one character, and behind the last.
    edge: Whether a word can begin or end before each of ``characters``, and behind the last.
    seam: Before each character of the joined texts, and behind the last: 0 where words meet blanks or signs,
        1 where only the case or a digit shows that one ends, 2 inside a word.
    starts: Where each text begins in the joined texts.
    """

    characters: NDArray[np.uint32]
    origin: NDArray[np.int64]
    edge: NDArray[np.bool_]
    seam: NDArray[np.uint8]
    starts: NDArray[np.int64]

    def sources(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where characters stand in the joined texts."""
        return self.origin[at]

    def seams(self, at: NDArray[np.int64]) -> NDArray[np.uint8]:
        """What parts the characters before and at these places of the joined texts."""
        return self.seam[at]


def composed(text: str) -> str:
    """Return a text in Unicode's normal form C, in which it is matched."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def folded(text: str, *, split: bool) -> str:
    """Write one text as :func:`spell` does, without outer blanks."""
    if text.isascii() and "\0" not in text:  # as :func:`spell` does it, without its tables
        parted = _SEAM.sub(" ", text) if split else text
        return " ".join(parted.translate(_ASCII_JOINTS).lower().split())
    return "".join(map(chr, spell([composed(text)], split=split).characters[:-1].tolist())).strip()


def spell(texts: Sequence[str], *, split: bool) -> Spelt:
    """Fold texts and mark where words begin and end.

    texts: In normal form C.
    split: Whether words also end where a lower-case letter is followed by an upper-case one, a letter by a
        digit, and a digit by a letter and two lower-case ones, as in columns that were glued together
        (``MaleFair``, ``Female20s``, ``45light``).
    """
    joined = "\0".join(texts) + "\0"
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    lengths = np.fromiter((len(text) + 1 for text in texts), dtype=np.int64, count=len(texts))
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(texts) else lengths
    codes, present = _coded(points)
    table = _Table(present)
    kinds = table.kinds[codes]
    seams = _seams(kinds)
    characters, origin = _expanded(table, codes, seams == 1 if split else np.zeros(len(codes), dtype=bool))
    blank = characters == _SPACE
    keep = np.ones(len(characters), dtype=bool)
    keep[1:] = ~(blank[1:] & blank[:-1])
    characters, origin = characters[keep], origin[keep]
    again, present = _coded(characters)
    word = (_Table(present).kinds[again] & _WORD) > 0
    edge = np.ones(len(word) + 1, dtype=bool)
    edge[1:-1] = ~(word[1:] & word[:-1])
    return Spelt(characters, np.append(origin, len(points)), edge, np.append(seams, np.uint8(0)), starts)


def _coded(points: NDArray[np.uint32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return each character's place among those present, and those present."""
    if len(points) < _SHORT:
        few, places = np.unique(points, return_inverse=True)
        return places, few.astype(np.intp)
    there = np.zeros(_NONE, dtype=bool)
    there[points] = True
    places = np.cumsum(there) - 1
    return places[points], np.flatnonzero(there)


class _Table:
    def __init__(self, present: NDArray[np.intp]) -> None:
        texts = [chr(point) for point in present.tolist()]
        folds = [_fold(text) for text in texts]
        self.kinds = np.array([_kind(text) for text in texts], dtype=np.uint8)
        self.lengths = np.array([len(fold) for fold in folds], dtype=np.int64)
        self.folds = np.zeros((len(folds), max(map(len, folds), default=1)), dtype=np.uint32)
        for row, fold in enumerate(folds):
            self.folds[row, : len(fold)] = [ord(character) for character in fold]


def _fold(character: str) -> str:
    return " " if character in _JOINTS or character.isspace() else character.casefold()


def _kind(character: str) -> int:
    if character in _JOINTS or character.isspace():
        return 0
    category = unicodedata.category(character)
    point = ord(character)
    word = category[0] in "LMN" and not any(low <= point <= high for low, high in _UNSPACED)
    return (
        _WORD * word
        + _LOWER * (category == "Ll")
        + _UPPER * (category in ("Lu", "Lt"))
        + _LETTER * (category[0] == "L")
        + _DIGIT * (category == "Nd")
    )


def _seams(kinds: NDArray[np.uint8]) -> NDArray[np.uint8]:
    following = np.append(kinds, np.zeros(2, np.uint8))
    seams = np.zeros(len(kinds), dtype=np.uint8)
    seams[1:] = seams_between(kinds[:-1], kinds[1:], following[2:-1], following[3:])
    return seams


def seams_between(
    before: NDArray[np.uint8], at: NDArray[np.uint8], after: NDArray[np.uint8], further: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """What parts characters of the kinds ``before`` and ``at``, whom two more follow."""
    inside = (before & at & _WORD) > 0
    glued = ((before & _LOWER) > 0) & ((at & _UPPER) > 0)
    glued |= ((before & _LETTER) > 0) & ((at & _DIGIT) > 0)
    begins = ((at & _LETTER) > 0) & ((after & further & _LOWER) > 0)
    glued |= ((before & _DIGIT) > 0) & begins
    return np.where(inside, np.where(glued, 1, 2), 0).astype(np.uint8)


def _expanded(
    table: _Table, codes: NDArray[np.intp], split: NDArray[np.bool_]
) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """Return folded characters, a blank put in where words are split, and where each comes from."""
    lengths = table.lengths[codes] + split
    if (lengths == 1).all():
        return table.folds[codes, 0], np.arange(len(codes))
    origin = np.repeat(np.arange(len(codes)), lengths)
    first = np.cumsum(lengths) - lengths
    nth = np.arange(len(origin)) - first[origin] - split[origin]
    characters = table.folds[codes[origin], np.maximum(nth, 0)]
    characters[nth < 0] = _SPACE
    return characters, origin


ASCII_KINDS = np.array([_kind(chr(point)) for point in range(128)], dtype=np.uint8)
"""Of each of its characters."""
ASCII_FOLDS = bytes(ord(_fold(chr(point))) for point in range(128)) + bytes(range(128, 256))
"""What each is folded to, as a table of bytes."""
