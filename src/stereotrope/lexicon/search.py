"""All occurrences of many terms in many texts, in one pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereotrope.lexicon.plain import Plain
from stereotrope.lexicon.spelling import Spelt, folded, spell

_CHUNK = 800_000
"""Characters matched at a time: bounds the memory."""
_TABLE = 50_000_000
"""Cells up to which the steps of the trie are a table, of every node and letter; beyond, a sorted list."""


@dataclass(frozen=True)
class Pattern:
    """A text to find, and whether a word must begin (``left``) and end (``right``) at its ends."""

    text: str
    left: bool = True
    right: bool = True


@dataclass(frozen=True)
class Found:
    """Occurrences, sorted by text, start and pattern; ends are exclusive.

    ``seam``: 0 a whole word, 1 one that only its case or a digit sets off (``MaleFair``), 2 inside a
    longer word.
    """

    text: NDArray[np.int64]
    pattern: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    seam: NDArray[np.uint8]


class Search:
    """A trie of terms that is walked from all places at once.

    Every term is found wherever it stands, also inside and across other terms; occurrences of one
    pattern do not overlap each other (the first counts). The walk goes as deep as the longest term; after
    two or three characters few places are left, so that time grows with the text and hardly with the
    number of terms.

    patterns: What is looked for. Their texts are folded as the texts are.
    split: Whether glued columns are split (see :func:`~stereotrope.lexicon.spelling.spell`).
    """

    def __init__(self, patterns: Sequence[Pattern], *, split: bool) -> None:
        self.split = split
        texts: dict[str, int] = {}
        ids = [texts.setdefault(folded(p.text, split=split), len(texts)) for p in patterns]
        order = np.argsort(ids, kind="stable")
        counts = np.bincount(np.array(ids, dtype=np.int64), minlength=len(texts))
        self._members = order.astype(np.int64)
        self._first = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
        self._left = np.array([p.left for p in patterns], dtype=bool)
        self._right = np.array([p.right for p in patterns], dtype=bool)
        self._grow(list(texts), np.unique(np.array(ids, dtype=np.int64)[~self._left]))

    def _grow(self, texts: Sequence[str], inside: NDArray[np.int64]) -> None:
        """Make the trie; the texts numbered ``inside`` may begin within a word."""
        points = np.array(texts, dtype=np.str_).reshape(-1, 1).view(np.uint32)  # a row a text, then zeros
        letters = np.unique(points[points > 0])
        self._class = np.zeros(0x110000, dtype=np.uint32)
        self._class[letters] = np.arange(1, len(letters) + 1)
        self._width = len(letters) + 1
        # Nodes are numbered by depth, so that the steps taken most lie together.
        at, n = np.zeros(len(texts), dtype=np.int64), 1
        levels, opened = [at[:0]], [at[:0]]
        for letter in self._class[points].T:
            on = letter > 0
            keys, place = np.unique(at[on] * self._width + letter[on], return_inverse=True)
            at[on] = n + place
            levels.append(keys)
            opened.append(at[inside])
            n += len(keys)
        self._keys = np.concatenate(levels)
        self._table: NDArray[np.int32] | None = None
        if n * self._width <= _TABLE or n == 1:
            self._table = np.zeros(n * self._width, dtype=np.int32)
            self._table[self._keys] = np.arange(1, n)
        self._ends = np.full(n, -1, dtype=np.int64)
        self._ends[at] = np.arange(len(texts))
        self._nodes = np.arange(2 * n).reshape(2, n) % n > 0  # that lead anywhere, that do from within a word
        self._nodes[1] &= np.isin(np.arange(n), np.concatenate(opened))
        self._heads, self._within = _heads_of(texts), len(inside) > 0

    def find(self, texts: Sequence[str]) -> Found:
        """Find every pattern in texts that are in normal form C."""
        parts = []
        done = 0
        for chunk in _chunks(texts):
            plain = Plain.of(chunk, split=self.split)
            found = self._find(plain)
            found = [column[~plain.odd[found[0]]] for column in found]
            parts.append((found[0] + done, *found[1:]))
            if plain.odd.any():
                odd = np.flatnonzero(plain.odd)
                found = self._find(spell([chunk[at] for at in odd.tolist()], split=self.split))
                parts.append((odd[found[0]] + done, *found[1:]))
            done += len(chunk)
        empty = np.zeros(0, dtype=np.int64)
        columns = [np.concatenate(c) for c in zip(*parts, strict=True)] if parts else [empty] * 5
        order = _ordered(columns[0], columns[2], columns[1])
        text, pattern, start, end, seam = (column[order] for column in columns)
        return Found(text, pattern, start, end, seam.astype(np.uint8))

    def _find(self, spelt: Spelt | Plain) -> list[NDArray[np.int64]]:
        begins, ends, texts = self._walk(spelt)
        n = self._first[texts + 1] - self._first[texts]
        row = np.repeat(np.arange(len(texts)), n)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(n) - n, n)
        pattern = self._members[self._first[texts[row]] + nth]
        begins, ends = begins[row], ends[row]
        fits = spelt.edge[begins] | ~self._left[pattern]
        fits &= spelt.edge[ends] | ~self._right[pattern]
        begins, ends, pattern = begins[fits], ends[fits], pattern[fits]
        start, end = spelt.sources(begins), spelt.sources(ends - 1) + 1
        text = np.searchsorted(spelt.starts, start, side="right") - 1
        keep = _apart(pattern, start, end)
        text, pattern, start, end = (c[keep] for c in (text, pattern, start, end))
        seam, offset = np.maximum(spelt.seams(start), spelt.seams(end)), spelt.starts[text]
        return [text, pattern, start - offset, end - offset, seam.astype(np.int64)]

    def _step(self, node: NDArray[np.int32], letter: NDArray[np.uint32]) -> NDArray[np.int32]:
        key = node.astype(np.int64) * self._width + letter
        if self._table is not None:
            return np.take(self._table, key)
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        found: NDArray[np.int32] = np.where(self._keys[place] == key, place + 1, 0).astype(np.int32)
        return found

    def _walk(self, spelt: Spelt | Plain) -> tuple[NDArray[np.int64], ...]:
        """Return where terms begin and end among the characters, and which."""
        begins, ends, texts = [], [], []
        begun = _begun(spelt.characters, self._heads)
        for inside, nodes in enumerate(self._nodes if self._within else self._nodes[:1]):
            start = at = np.flatnonzero(begun & (spelt.edge[:-1] != inside))
            node = np.zeros(len(at), dtype=np.int32)
            while len(at):
                node = self._step(node, self._class.take(spelt.characters.take(at)))
                alive = nodes.take(node).nonzero()[0]
                at, node, start = at.take(alive) + 1, node.take(alive), start.take(alive)
                number = self._ends.take(node)
                done = (number >= 0).nonzero()[0]
                begins.append(start.take(done))
                ends.append(at.take(done))
                texts.append(number.take(done))
        none = [np.zeros(0, dtype=np.int64)]
        return tuple(np.concatenate(part or none) for part in (begins, ends, texts))


def _heads_of(texts: Sequence[str]) -> NDArray[np.bool_]:
    """Which letters texts begin with, up to three of 5 bits: what begins with others is none of them."""
    heads = np.zeros((32, 32, 32), bool)
    for text in texts:
        heads[tuple(ord(letter) & 31 for letter in text[:3])] = True
    return heads.reshape(-1)


def _begun(characters: NDArray[Any], heads: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Say where one of the texts may begin."""
    bits = (characters & 31).astype(np.uint16)
    head = bits << 10
    head[:-1] |= bits[1:] << 5
    head[:-2] |= bits[2:]
    begun: NDArray[np.bool_] = heads.take(head)
    return begun


def _ordered(*columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of rows, ordered by the first column, then by the next."""
    key = columns[0]
    for column in columns[1:]:
        key = key * (1 + column.max(initial=0)) + column
    return np.argsort(key)


def _apart(pattern: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the occurrences to keep, so that those of one pattern do not overlap."""
    order = _ordered(pattern, start)
    same = pattern[order][1:] == pattern[order][:-1]
    if not (same & (start[order][1:] < end[order][:-1])).any():
        return order
    kept = []
    last, until = -1, 0
    for one in order.tolist():
        if pattern[one] == last and start[one] < until:
            continue
        last, until = pattern[one], end[one]
        kept.append(one)
    return np.array(kept, dtype=np.int64)


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    first, size = 0, 0
    for number, text in enumerate(texts):
        size += len(text) + 1
        if size >= _CHUNK:
            yield texts[first : number + 1]
            first, size = number + 1, 0
    if first < len(texts):
        yield texts[first:]
