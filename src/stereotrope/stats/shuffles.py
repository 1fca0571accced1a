"""Counts of shuffled groups: random subsets of images, as bits or as numbers of each distinct row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Counts
from stereotrope.stats.counts import OneHot, one_hot, tally_of_rows
from stereotrope.stats.distinct_rows import DistinctRows
from stereotrope.stats.draw_costs import few, share_digits, shuffling

_Ints = NDArray[np.int64]
_Words = NDArray[np.uint64]
_AT_ONCE = 1 << 17
"""Words that are drawn together."""
_BLOCK = 1 << 15
"""Words that are counted together: with what is made of them they stay in the cache of a processor."""
_KEPT_WORDS = 1 << 17
"""Words up to which what was drawn is kept for further groups of the same sizes: 1 MB each."""
_CELLS = 1 << 20
"""Numbers of rows that are drawn together."""
_CHUNK = 1000
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


def shuffled_counts(
    codes: NDArray[np.integer], sizes: Sequence[int], *, n_shuffles: int, seed: int
) -> tuple[OneHot, Iterator[list[NDArray[np.int32]]]]:
    """Counts by column of all groups but the last, for some shuffles at a time.

    codes: Value codes of the images, shape (n_images, n_attributes), −1 where there is no label.
    sizes: Images in each group, rising.
    Returns: The columns, of distinct rows or of images, each with how many images it stands for in
        ``weights``; and the counts, of each group of shape (n_columns, ≤ n_shuffles).
    """
    if few(sizes):
        hot = one_hot(codes)
        words = -(-sum(sizes) // 64) * (len(sizes) - 1) * n_shuffles
        draw = _one_by_one if words <= _KEPT_WORDS else _one_by_one.__wrapped__
        drawn = iter([draw(tuple(sizes), n_shuffles, seed)])
        return hot, _set_bits_of(drawn, sizes, hot, _masks(hot.columns))
    rows = DistinctRows.of(codes, np.zeros(len(codes), np.int64), 1)
    hot = one_hot(rows.codes, rows.totals)
    way, _ = shuffling(sizes, len(rows), len(hot.attribute))
    if way == "rows":
        return hot, _counts_of_rows(hot, rows.totals, sizes, n_shuffles, seed)
    masks = _masks(np.repeat(column, rows.totals) for column in hot.columns)
    return hot, _set_bits_of(_subsets(sizes, n_shuffles, seed), sizes, hot, masks)


def _set_bits_of(
    drawn: Iterable[Sequence[_Words]], sizes: Sequence[int], hot: OneHot, masks: _Words
) -> Iterator[list[NDArray[np.int32]]]:
    for groups in drawn:
        yield [_set_bits(group, size, hot, masks) for group, size in zip(groups, sizes, strict=False)]


@lru_cache(maxsize=256)
def _one_by_one(sizes: tuple[int, ...], n_shuffles: int, seed: int) -> tuple[_Words, ...]:
    """Memberships by group, each of shape (n_words, n_shuffles), kept for further groups of these sizes."""
    rng = np.random.default_rng([seed, 0, *sizes])
    unshuffled = np.repeat(np.arange(len(sizes), dtype=np.uint8 if len(sizes) < 256 else np.int64), sizes)
    parts = []
    for start in range(0, n_shuffles, _CHUNK):
        rows = np.tile(unshuffled, (min(_CHUNK, n_shuffles - start), 1))
        shuffled = rng.permuted(rows, axis=1)
        parts.append([_words(np.asarray(shuffled == g)) for g in range(len(sizes) - 1)])
    return tuple(np.concatenate(part, axis=1) for part in zip(*parts, strict=True))


def _words(bits: NDArray[np.bool_]) -> _Words:
    """Bits along the last axis as words along the first: shape (n_words, …)."""
    n = bits.shape[-1]
    padded = np.zeros((*bits.shape[:-1], -(-n // 64) * 64), bool)
    padded[..., :n] = bits
    packed = np.packbits(padded, axis=-1, bitorder="little").view("<u8").astype(np.uint64, copy=False)
    return np.ascontiguousarray(packed.T)


def _masks(columns: Iterable[Counts]) -> _Words:
    """Words of each column, shape (n_columns, n_words)."""
    found = [_words(np.asarray(column > 0)) for column in columns]
    return np.stack(found) if found else np.zeros((0, 1), np.uint64)


def _set_bits(members: _Words, size: int, hot: OneHot, masks: _Words) -> NDArray[np.int32]:
    """How many images of each column are among the ``size`` members, shape (n_columns, n_shuffles)."""
    n_words, n = members.shape
    counts = np.zeros((len(masks), n), np.int32)
    # Where every image has a label, its last value is what the others leave.
    left = [part for attribute, part in hot.parts if hot.complete[attribute]]
    counted = np.setdiff1d(np.arange(len(masks)), [part.stop - 1 for part in left]).tolist()
    step = min(max(1, _BLOCK // n), 1000, n_words)
    both, ones = np.empty((step, n), np.uint64), np.empty((step, n), np.uint8)
    for start in range(0, n_words, step):
        block, some = members[start : start + step], masks[:, start : start + step]
        height = len(block)
        for column in counted:
            if some[column].any():
                np.bitwise_and(block, some[column, :, None], out=both[:height])
                np.bitwise_count(both[:height], out=ones[:height])
                counts[column] += np.add.reduce(ones[:height], axis=0, dtype=np.uint16)
    for part in left:
        counts[part.stop - 1] = size - counts[part.start : part.stop - 1].sum(axis=0)
    return counts


def _subsets(sizes: Sequence[int], n_shuffles: int, seed: int) -> Iterator[list[_Words]]:
    """Random groups as bits: set by a share of few digits, then set or cleared one by one to their size."""
    n = sum(sizes)
    n_words = -(-n // 64)
    rng = np.random.default_rng([seed, 7, *sizes])
    every = np.full((n_words, 1), _ALL)
    every[-1] >>= np.uint64(n_words * 64 - n)
    at_once = min(n_shuffles, max(64, _AT_ONCE // n_words))
    for start in range(0, n_shuffles, at_once):
        width = min(at_once, n_shuffles - start)
        free, left, groups = np.repeat(every, width, axis=1), n, []
        for size in sizes[:-1]:
            numerator, digits, _ = share_digits(size, left, n)
            members = _bernoulli(rng, free.shape, numerator, digits) & free
            _settle(rng, members, free, size, n)
            groups.append(members)
            left -= size
            if left > sizes[-1]:
                free &= ~members
        yield groups


def _bernoulli(rng: np.random.Generator, shape: tuple[int, ...], numerator: int, digits: int) -> _Words:
    """Bits that are set with probability ``numerator / 2**digits``: its digits from the last to the first."""
    bits = np.full(shape, _ALL if numerator == 1 << digits else 0, np.uint64)
    if numerator in (0, 1 << digits):
        return bits
    while not numerator & 1:
        numerator, digits = numerator >> 1, digits - 1
    for at in range(digits):
        random = rng.integers(0, 1 << 64, size=shape, dtype=np.uint64)
        if numerator >> at & 1:
            bits |= random
        else:
            bits &= random
    return bits


def _settle(rng: np.random.Generator, members: _Words, free: _Words, size: int, n: int) -> None:
    """Set or clear random bits of each column until ``size`` are set.

    Given how many were set, any subset of that size is as likely; one from which random members are taken
    away, or to which others are added, is so too.
    """
    width, one = members.shape[1], np.uint64(1)
    flat, freed = members.reshape(-1), free.reshape(-1)
    whole = int(np.bitwise_count(free[:, 0]).sum()) == n
    short = size - np.bitwise_count(members).sum(axis=0, dtype=np.int64)
    while (some := np.flatnonzero(short)).size:
        who = np.repeat(some, np.abs(short[some]))
        image = rng.integers(0, n, who.size)
        word, bit = (image >> 6) * width + who, one << (image & 63).astype(np.uint64)
        fits = ((flat[word] & bit) == 0) == (short[who] > 0)
        if not whole:
            fits &= (freed[word] & bit) != 0
        found = np.sort((word[fits] << 6) | (image[fits] & 63))
        found = found[np.diff(found, prepend=-1) > 0]
        word = found >> 6
        np.bitwise_xor.at(flat, word, one << (found & 63).astype(np.uint64))
        short -= np.sign(short) * np.bincount(word % width, minlength=width)


def _counts_of_rows(
    hot: OneHot, totals: _Ints, sizes: Sequence[int], n_shuffles: int, seed: int
) -> Iterator[list[NDArray[np.int32]]]:
    """Numbers of each distinct row in a group are multivariate hypergeometric, drawn row after row."""
    rng = np.random.default_rng([seed, 8, *sizes])
    tallied, at_once = tally_of_rows(hot.columns.astype(np.float64)), max(1, _CELLS // len(totals))
    for start in range(0, n_shuffles, at_once):
        width = min(at_once, n_shuffles - start)
        left, counts = np.repeat(totals[:, None], width, axis=1), []
        for size in sizes[:-1]:
            taken = np.empty_like(left)
            wanted, others = np.full(width, size), left.sum(axis=0)
            for row, each in enumerate(left):
                others -= each
                taken[row] = rng.hypergeometric(each, others, wanted)
                wanted -= taken[row]
            left -= taken
            counts.append(tallied(taken.astype(np.float64)).astype(np.int32))
        yield counts
