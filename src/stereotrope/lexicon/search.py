"""All occurrences of many terms in many texts, in one pass."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stereotrope.lexicon.spelling import Spelt, folded, spell

_CHUNK = 2_000_000
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

    def find(self, texts: Sequence[str]) -> Found:
        """Find every pattern in texts that are in normal form C."""
        parts = []
        done = 0
        for chunk in _chunks(texts):
            found = self._find(spell(chunk, split=self.split))
            parts.append((found[0] + done, *found[1:]))
            done += len(chunk)
        empty = np.zeros(0, dtype=np.int64)
        columns = [np.concatenate(c) for c in zip(*parts, strict=True)] if parts else [empty] * 5
        return Found(columns[0], columns[1], columns[2], columns[3], columns[4].astype(np.uint8))

    def _find(self, spelt: Spelt) -> tuple[NDArray[np.int64], ...]:
        begins, ends, texts = self._walk(spelt)
        n = self._first[texts + 1] - self._first[texts]
        row = np.repeat(np.arange(len(texts)), n)
        nth = np.arange(len(row)) - np.repeat(np.cumsum(n) - n, n)
        pattern = self._members[self._first[texts[row]] + nth]
        begins, ends = begins[row], ends[row]
        fits = spelt.edge[begins] | ~self._left[pattern]
        fits &= spelt.edge[ends] | ~self._right[pattern]
        begins, ends, pattern = begins[fits], ends[fits], pattern[fits]
        start, end = spelt.origin[begins], spelt.origin[ends - 1] + 1
        text = np.searchsorted(spelt.starts, start, side="right") - 1
        seam = np.maximum(spelt.seam[start], spelt.seam[end])
        keep = _apart(pattern, start, end)
        text, pattern, start, end, seam = (c[keep] for c in (text, pattern, start, end, seam))
        order = np.lexsort((pattern, start, text))
        offset = spelt.starts[text]
        columns = (text, pattern, start - offset, end - offset, seam.astype(np.int64))
        return tuple(column[order] for column in columns)

    def _step(self, node: NDArray[np.int32], letter: NDArray[np.uint32]) -> NDArray[np.int32]:
        key = node.astype(np.int64) * self._width + letter
        if self._table is not None:
            return np.take(self._table, key)
        place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
        found: NDArray[np.int32] = np.where(self._keys[place] == key, place + 1, 0).astype(np.int32)
        return found

    def _walk(self, spelt: Spelt) -> tuple[NDArray[np.int64], ...]:
        """Return where terms begin and end among the characters, and which."""
        steps = np.append(self._class[spelt.characters], np.uint32(0))
        letters = np.arange(self._width, dtype=np.uint32)
        first = self._step(np.zeros(self._width, dtype=np.int32), letters)
        begins, ends, texts = [], [], []
        for places, nodes in zip((spelt.edge[:-1], ~spelt.edge[:-1]), self._nodes, strict=True):
            start = at = np.flatnonzero(nodes[first][steps[:-1]] & places)
            node = np.zeros(len(at), dtype=np.int32)
            while len(at):
                node = self._step(node, steps[at])
                alive = nodes[node]
                at, node, start = at[alive] + 1, node[alive], start[alive]
                number = self._ends[node]
                done = number >= 0
                begins.append(start[done])
                ends.append(at[done])
                texts.append(number[done])
        none = [np.zeros(0, dtype=np.int64)]
        return tuple(np.concatenate(part or none) for part in (begins, ends, texts))


def _apart(pattern: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the occurrences to keep, so that those of one pattern do not overlap."""
    order = np.lexsort((start, pattern))
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
