"""What stands next to a hit: the rest of a longer word, or a noun that a colour is said of."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from stereotrope.shipped import shipped

NOUN_KINDS = ("garment", "background", "hair")
"""Kinds of nouns that a colour or tone may be said of instead of a person."""
_HEAD = 40
_WORD = re.compile(rf"[\w’'-]{{0,{_HEAD}}}")
_STOPS = ".;!?\n\0"
_TAIL = re.compile(r"[^\W\d_]*")
_CHUNK = 2_000_000
"""Characters looked at at a time: bounds the memory."""
_LONGEST = 12
"""Letters of the longest word that is told apart: what a 64-bit number holds, five bits a letter."""
_OTHER = 27
"""Stands for every letter that is none of a to z."""
_PLAIN, _END, _PERSON, _NOUN = 0, 1, 2, 3
"""What a word is: any, one that ends the search, one for a person, or from here on the nouns in order."""


@dataclass(frozen=True)
class Nouns:
    """The nouns of ``nouns.yaml``.

    names, kinds: Each noun, and its kind (:data:`NOUN_KINDS`).
    forms: Endings with which a term is still itself.
    reach: Words that may stand between a hit and its noun.
    codes, meanings: Every word of the file as a number, sorted, and what it is.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    forms: frozenset[str]
    reach: int
    codes: NDArray[np.int64]
    meanings: NDArray[np.int64]

    def after(
        self, captions: Sequence[str], caption: NDArray[np.int64], end: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the noun that each hit is likely said of, as its place in ``names``; -1 where none is.

        Up to ``reach`` words behind the end of a hit are looked at. The end of a sentence, a semicolon, a
        column glued to the next (``FairDark brown``), and words of ``person`` and ``end`` end the search. A
        hit that itself ends with a word for a person (``woman``, ``light skin``) or with such a noun
        (``blue eyes``) is said of that.

        caption, end: Of each hit: its caption, ascending, and where it ends there.
        """
        found = np.full(len(caption), -1, dtype=np.int64)
        for first, last, texts, numbers in _chunks(captions, caption):
            at = np.searchsorted(numbers, caption[first:last])
            offsets = np.cumsum([0, *(len(text) + 1 for text in texts[:-1])])
            found[first:last] = self._after("\0".join(texts) + "\0", offsets[at] + end[first:last])
        return found

    def _after(self, text: str, end: NDArray[np.int64]) -> NDArray[np.int64]:
        places, what = self._words(text)
        found = np.full(len(end), -1, dtype=np.int64)
        at = np.searchsorted(places, end)
        going = (at == 0) | (what[at - 1] < _PERSON)
        for step in range(self.reach + 1):
            here = np.minimum(at + step, len(places) - 1)
            meaning = what[here]
            going &= (at + step < len(places)) & (meaning != _END) & (meaning != _PERSON)
            noun = going & (meaning >= _NOUN)
            found[noun] = meaning[noun] - _NOUN
            going &= ~noun
            if not going.any():
                break
        return found

    def _words(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where words and signs that end a search begin, and what they are."""
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        there = np.zeros(0x110000, dtype=bool)
        there[points] = True
        present = np.flatnonzero(there)
        table = np.zeros(0x110000, dtype=np.uint8)
        table[present] = [_sign(chr(point)) for point in present.tolist()]
        signs = table[points]
        letter = (signs & 31) > 0
        lower, upper, stop = letter & (signs < 64), (signs & 64) > 0, (signs & 128) > 0
        starts = letter.copy()
        starts[1:] &= ~letter[:-1] | (lower[:-1] & upper[1:])
        glued = np.zeros(len(points), dtype=bool)
        glued[1:] = letter[:-1] & starts[1:]
        places = np.flatnonzero(starts | stop)
        what = np.full(len(places), _END, dtype=np.int64)
        words = np.flatnonzero(letter[places])
        what[words] = self._meant(places[words], signs & 31, letter, starts)
        ends = glued[places]
        if ends.any():  # what ends is one more place, before the word itself
            before = np.flatnonzero(ends)
            places = np.insert(places, before, places[before])
            what = np.insert(what, before, _END)
        return places, what

    def _meant(
        self,
        places: NDArray[np.int64],
        codes: NDArray[np.uint8],
        letter: NDArray[np.bool_],
        starts: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        values = np.zeros(len(places), dtype=np.int64)
        going = np.arange(len(places))
        for step in range(_LONGEST + 1):
            at = places[going] + step
            within = at < len(codes)
            going, at = going[within], at[within]
            if step:
                same = letter[at] & ~starts[at]
                going, at = going[same], at[same]
            if not len(going):
                break
            values[going] = values[going] * 32 + codes[at] if step < _LONGEST else 0
        near = np.minimum(np.searchsorted(self.codes, values), len(self.codes) - 1)
        return np.where(self.codes[near] == values, self.meanings[near], _PLAIN)


def _sign(character: str) -> int:
    """Return a letter's number, 64 more where it is upper case; 128 for what ends a sentence, else 0."""
    if character in _STOPS:
        return 128
    if not character.isalnum() or character.isdecimal():
        return 0
    folded = character.casefold()
    code = ord(folded) - 96 if len(folded) == 1 and "a" <= folded <= "z" else _OTHER
    return code + (64 if character.isupper() else 0)


def _code(word: str) -> int:
    value = 0
    for letter in word:
        value = value * 32 + ord(letter) - 96
    return value


def _chunks(
    captions: Sequence[str], caption: NDArray[np.int64]
) -> Iterator[tuple[int, int, list[str], NDArray[np.int64]]]:
    """Yield slices of the hits with the captions they are in, and the numbers of these."""
    numbers = np.unique(caption)
    first, size = 0, 0
    texts: list[str] = []
    for place, number in enumerate(numbers.tolist()):
        texts.append(captions[number])
        size += len(captions[number]) + 1
        if size >= _CHUNK or place == len(numbers) - 1:
            own = numbers[first : place + 1]
            low, high = np.searchsorted(caption, [own[0], own[-1] + 1])
            yield int(low), int(high), texts, own
            first, size, texts = place + 1, 0, []


@cache
def nouns() -> Nouns:
    """Read ``nouns.yaml``."""
    data = shipped("lexicon", "nouns.yaml")
    kinds = {noun: kind for kind in NOUN_KINDS for noun in data[kind]}
    meant = {_code(noun): _NOUN + place for place, noun in enumerate(kinds)}
    meant |= {_code(word): _PERSON for word in data["person"]}
    meant |= {_code(word): _END for word in data["end"]}
    ordered = sorted(meant.items())
    return Nouns(
        tuple(kinds),
        tuple(kinds.values()),
        frozenset(data["forms"]),
        data["reach"],
        np.array([code for code, _ in ordered], dtype=np.int64),
        np.array([meaning for _, meaning in ordered], dtype=np.int64),
    )


def noun_after(caption: str, end: int) -> tuple[str, str] | None:
    """Return the noun that a hit ending at ``end`` is likely said of, and its kind (:meth:`Nouns.after`)."""
    one = np.zeros(1, dtype=np.int64)
    place = int(nouns().after([caption], one, one + end)[0])
    return None if place < 0 else (nouns().names[place], nouns().kinds[place])


def is_form(caption: str, start: int, end: int) -> bool:
    """Say whether a hit begins a word and only an ending of the same word follows, as in ``sarees``."""
    if start and caption[start - 1].isalnum() and not _glued(caption, start):
        return False
    tail = _TAIL.match(caption, end, end + _LONGEST)
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
    whole = (head[0] if head else "") + caption[start:end] + (tail[0] if tail else "")
    return whole.casefold()
