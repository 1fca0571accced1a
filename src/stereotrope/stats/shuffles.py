"""Counts of shuffled groups: random subsets of images, as bits or as numbers of each distinct row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Counts
from stereotrope.stats.counts import OneHot, one_hot, tally_of_rows
from stereotrope.stats.distinct_rows import DistinctRows
from stereotrope.stats.draw_costs import few, share_digits, shuffling, sums_cost
from stereotrope.stats.frequent import Frequent

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
        masks = _masks(hot.columns)
        groups = zip(draw(tuple(sizes), n_shuffles, seed), sizes, strict=False)
        return hot, iter([[_set_bits(one, size, hot, masks) for one, size in groups]])
    rows = DistinctRows.of(codes, np.zeros(len(codes), np.int64), 1)
    hot = one_hot(rows.codes, rows.totals)
    way, cost = shuffling(sizes, len(rows), len(hot.attribute))
    if (frequent := Frequent.of(hot, sizes[0] / sum(sizes))) is not None:
        rest = int(frequent.rest.weights.sum()) / sum(sizes)
        usual = [max(1, round(size * rest)) for size in sizes]
        of_rest, cost_of_rest = shuffling(usual, len(frequent.rest.weights), len(hot.attribute), least=0)
        if cost_of_rest + sums_cost(len(sizes), len(hot.attribute)) < cost:
            return hot, _counts_of_sums(frequent, of_rest, _sizes(sizes, n_shuffles), [seed, 12, *sizes])
    if way == "rows":
        return hot, _counts_of_rows(hot, _sizes(sizes, n_shuffles), [seed, 8, *sizes])
    return hot, _counts_of_bits(hot, _sizes(sizes, n_shuffles), [seed, 7, *sizes])


def _sizes(sizes: Sequence[int], n_shuffles: int) -> _Ints:
    return np.repeat(np.array(sizes, np.int64)[:, None], n_shuffles, axis=1)


def _counts_of_sums(
    frequent: Frequent, way: str, sizes: _Ints, key: Sequence[int]
) -> Iterator[list[NDArray[np.int32]]]:
    """Images with a rare label by bits or rows, as many as each group takes, and beside them the others."""
    rng, of, left = np.random.default_rng(key), sizes.sum(axis=0), frequent.rest.weights.sum()
    rare = np.zeros_like(sizes)
    for g, size in enumerate(sizes):
        rare[g] = rng.hypergeometric(left, of - left, size)
        left, of = left - rare[g], of - size
    counts_of, at = _counts_of_rows if way == "rows" else _counts_of_bits, 0
    for counts in counts_of(frequent.rest, rare, [*key, 1]):
        some = slice(at, at := at + counts[0].shape[1])
        others = frequent.counts((sizes - rare)[:, some], rng, again=False)
        yield [one + more for one, more in zip(counts, others, strict=False)]


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


def _set_bits(members: _Words, size: int | _Ints, hot: OneHot, masks: _Words) -> NDArray[np.int32]:
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


def _counts_of_bits(hot: OneHot, sizes: _Ints, key: Sequence[int]) -> Iterator[list[NDArray[np.int32]]]:
    """Counts by column of all groups but the last; ``sizes`` are images by group and shuffle."""
    masks, at = _masks(np.repeat(column, hot.weights) for column in hot.columns), 0
    for groups in _subsets(sizes, key):
        some = sizes[:, at : (at := at + groups[0].shape[1])]
        yield [_set_bits(one, size, hot, masks) for one, size in zip(groups, some, strict=False)]


def _subsets(sizes: _Ints, key: Sequence[int]) -> Iterator[list[_Words]]:
    """Random groups as bits: set by a share of few digits, then set or cleared one by one to their size."""
    n, usual = int(sizes[:, 0].sum()), sizes.mean(axis=1).round().astype(np.int64).tolist()
    n_words = max(1, -(-n // 64))
    rng = np.random.default_rng(key)
    every = np.full((n_words, 1), _ALL)
    every[-1] >>= np.uint64(n_words * 64 - n)
    n_shuffles = sizes.shape[1]
    at_once = min(n_shuffles, max(64, _AT_ONCE // n_words))
    for start in range(0, n_shuffles, at_once):
        some = sizes[:, start : start + at_once]
        free, left, groups = np.repeat(every, some.shape[1], axis=1), n, []
        for g, size in enumerate(usual[:-1]):
            numerator, digits, _ = share_digits(size, left, n)
            members = _bernoulli(rng, free.shape, numerator, digits) & free
            _settle(rng, members, None if g == 0 else free, some[g], n)
            groups.append(members)
            left -= size
            if g + 2 < len(usual):
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


def _settle(rng: np.random.Generator, members: _Words, free: _Words | None, size: _Ints, n: int) -> None:
    """Set or clear random bits of each column, those that are free, until ``size`` are set.

    Given how many were set, any subset of that size is as likely; one from which random members are taken
    away, or to which others are added, is so too.
    """
    width, one = members.shape[1], np.uint64(1)
    flat = members.reshape(-1)
    short = size - np.bitwise_count(members).sum(axis=0, dtype=np.int64)
    while (some := np.flatnonzero(short)).size:
        who = np.repeat(some, np.abs(short[some]))
        image = rng.integers(0, n, who.size)
        word, bit = (image >> 6) * width + who, one << (image & 63).astype(np.uint64)
        fits = ((flat[word] & bit) == 0) == (short[who] > 0)
        if free is not None:
            fits &= (free.reshape(-1)[word] & bit) != 0
        found = np.sort((word[fits] << 6) | (image[fits] & 63))
        found = found[np.diff(found, prepend=-1) > 0]
        word = found >> 6
        np.bitwise_xor.at(flat, word, one << (found & 63).astype(np.uint64))
        short -= np.sign(short) * np.bincount(word % width, minlength=width)


def _counts_of_rows(hot: OneHot, sizes: _Ints, key: Sequence[int]) -> Iterator[list[NDArray[np.int32]]]:
    """Numbers of each distinct row in a group are multivariate hypergeometric, drawn row after row."""
    rng, totals, n_shuffles = np.random.default_rng(key), hot.weights, sizes.shape[1]
    tallied, at_once = tally_of_rows(hot.columns.astype(np.float64)), max(1, _CELLS // max(1, len(totals)))
    for start in range(0, n_shuffles, at_once):
        some = sizes[:, start : start + at_once]
        left, counts = np.repeat(totals[:, None], some.shape[1], axis=1), []
        for size in some[:-1]:
            taken = np.empty_like(left)
            wanted, others = size.copy(), left.sum(axis=0)
            for row, each in enumerate(left):
                others -= each
                taken[row] = rng.hypergeometric(each, others, wanted)
                wanted -= taken[row]
            left -= taken
            counts.append(tallied(taken.astype(np.float64)).astype(np.int32))
        yield counts
