"""What stands next to a hit: the rest of a longer word, or a noun that a colour is said of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ruamel.yaml import YAML

__all__ = ["NOUN_KINDS", "longer_word", "noun_after"]

NOUN_KINDS = ("garment", "background", "hair")
"""Kinds of nouns that a colour or tone may be said of instead of a person."""
_TOKENS = re.compile(r"[.;!?\n]|[^\W\d_][^\W\d_A-Z]*")
_WORD = re.compile(r"[\w’'-]*")
_TAIL, _HEAD = 120, 40


@dataclass(frozen=True)
class _Nouns:
    kinds: dict[str, str]
    people: frozenset[str]
    reach: int


@cache
def _nouns() -> _Nouns:
    text = resources.files("stereotrope.annotate.lexicon").joinpath("nouns.yaml").read_text("utf-8")
    data = YAML(typ="safe").load(text)
    kinds = {noun: kind for kind in NOUN_KINDS for noun in data[kind]}
    return _Nouns(kinds, frozenset(data["person"]), data["reach"])


def noun_after(caption: str, end: int) -> tuple[str, str] | None:
    """Return the noun that a hit ending at ``end`` is likely said of, and its kind.

    Up to ``reach`` words after the hit are looked at (``nouns.yaml``); the end of a sentence, a semicolon
    and a word for a person end the search. A hit that itself ends with a word for a person (``woman``,
    ``white woman``, ``light skin``) is said of that person.
    """
    nouns = _nouns()
    own = _TOKENS.findall(caption, max(0, end - _HEAD), end)
    if own and own[-1].casefold() in nouns.people:
        return None
    for at, token in enumerate(_TOKENS.findall(caption, end, end + _TAIL)):
        word = token.casefold()
        if at > nouns.reach or word in ".;!?\n" or word in nouns.people:
            return None
        if word in nouns.kinds:
            return word, nouns.kinds[word]
    return None


def longer_word(caption: str, start: int, end: int) -> str:
    """Return the word in which a hit stands, case-folded."""
    before = caption[max(0, start - _HEAD) : start]
    head = re.search(r"\w*$", before)
    tail = _WORD.match(caption, end)
    whole = (head[0] if head else "") + caption[start:end] + (tail[0] if tail else "")
    return whole.casefold()
