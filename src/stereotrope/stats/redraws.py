"""Counts of images drawn again with replacement, as weights of images or as numbers of distinct rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from stereotrope.stats.arrays import Counts
from stereotrope.stats.counts import ONE_THREAD, OneHot, tally_of_rows
from stereotrope.stats.draw_costs import redrawing, sums_cost
from stereotrope.stats.frequent import Frequent
from stereotrope.stats.packed import PackedWeights

_Ints = NDArray[np.int64]
_Weights = NDArray[np.uint8]
_CELLS = 1 << 22
"""Numbers that are drawn together: so many are also kept for groups of the same size, 8 MB each at most."""
_KEPT_FOR = 10
"""Groups of the same size that what is kept is taken to serve, when the way is chosen."""
_TOGETHER = 64
"""Resamples whose weights are counted together, at least."""
_BLOCK = 1 << 18
"""Weights that are made together: with their random numbers they stay in the cache of a processor."""
_BITS, _IMAGES = 12, 1 << 11
"""Bits of a count, and images that are counted together at most: about half as many as these can count."""
_SHORT = 3.0
"""Standard deviations by which Poisson numbers are short of the images on average."""


def redrawn_counts(hot: OneHot, weights: _Ints, n_resamples: int, key: tuple[int, ...]) -> NDArray[np.int32]:
    """Counts by column when images are drawn again, as many as there are, all attributes together.

    hot: Columns of distinct rows.
    weights: How many images each row stands for.
    key: What the random numbers depend on besides the number of images: a seed, and what keeps groups apart.
    Returns: Shape (n_columns, n_resamples).
    """
    n = int(weights.sum())
    if not n or not n_resamples:
        return np.zeros((len(hot.columns), n_resamples), np.int32)
    hot, n_columns = replace(hot, weights=weights), len(hot.columns)
    groups = _KEPT_FOR if n * n_resamples <= _CELLS else 1
    way, cost = redrawing(n, int(np.count_nonzero(weights)), n_columns, groups=groups)
    if (frequent := Frequent.of(hot)) is not None:
        rest = frequent.rest
        of_rest, cost_of_rest = redrawing(int(rest.weights.sum()), len(rest.weights), n_columns)
        if cost_of_rest + sums_cost(1, n_columns) < cost:
            rng = np.random.default_rng((*key, 1))
            drawn = rng.binomial(n, frequent.n / n, size=n_resamples)
            counts = (_of_rows if of_rest == "rows" else _of_images)(rest, n - drawn, key)
            counts += frequent.counts(drawn[None], rng, again=True)[0]
            return counts
    if way == "images" and n * n_resamples <= _CELLS:
        return _kept_weights(n, n_resamples, key).counts(_each_image(hot))
    return (_of_rows if way == "rows" else _of_images)(hot, np.full(n_resamples, n), key)


def _each_image(hot: OneHot) -> Counts:
    """Columns of images, those of one row side by side."""
    return hot.columns[:, np.repeat(np.arange(len(hot.weights)), hot.weights)]


def _of_rows(hot: OneHot, sizes: _Ints, key: tuple[int, ...]) -> NDArray[np.int32]:
    """Numbers of each row, multinomial: the most frequent first, which leaves few draws for the others.

    sizes: Images of each resample.
    """
    n = int(hot.weights.sum())
    order = np.argsort(-hot.weights, kind="stable")[: np.count_nonzero(hot.weights)]
    if not len(order):
        return np.zeros((len(hot.columns), len(sizes)), np.int32)
    drawn = np.random.default_rng(key).multinomial(sizes, hot.weights[order] / n)
    counts = tally_of_rows(hot.columns[:, order])(np.ascontiguousarray(drawn.T, dtype=np.float32))
    return np.asarray(counts.astype(np.int32))


def _of_images(hot: OneHot, sizes: _Ints, key: tuple[int, ...]) -> NDArray[np.int32]:
    """Weights of images, as many as each resample has, times the columns."""
    n, n_resamples = int(hot.weights.sum()), len(sizes)
    blocks, width = _blocks(n, n_resamples)
    tallied = tally_whole(_each_image(hot), width)
    rng = np.random.default_rng(key)
    parts = np.resize(sizes, (blocks, 1, width))
    drawn = [tallied(drawn_weights(n, some, rng)) for some in parts]
    return np.concatenate(drawn, axis=1)[:, :n_resamples]


def _blocks(n: int, n_resamples: int) -> tuple[int, int]:
    """How many blocks of weights are drawn, and of how many resamples each."""
    blocks = -(-n_resamples // max(_TOGETHER, _BLOCK // n))
    return blocks, -(-n_resamples // blocks)


@lru_cache(maxsize=16)
def _kept_weights(n: int, n_resamples: int, key: tuple[int, ...]) -> PackedWeights:
    weights = drawn_weights(n, np.full(_blocks(n, n_resamples), n), np.random.default_rng(key))
    return PackedWeights.of(weights.transpose(1, 0, 2).reshape(n, -1)[:, :n_resamples], n)


def drawn_weights(n: int, sizes: _Ints, rng: np.random.Generator) -> _Weights:
    """How often each of ``n`` images is drawn when some, about as many, are drawn with replacement.

    Independent Poisson numbers whose sum is t are, given t, those of t draws; the draws that are missing are
    added. Where t is above what is to be drawn, which is rare, all are drawn one by one.

    sizes: Images of each resample, shape (blocks, width).
    Returns: Shape (blocks, n, width): blocks of resamples, which sum to their sizes.
    """
    blocks, width = sizes.shape
    mean = max(0.0, 1 - _SHORT / math.sqrt(n))
    weights = _poisson(mean, blocks * n * width, rng).reshape(blocks, n, width)
    missing = sizes - weights.sum(axis=1, dtype=np.int32)
    for at in np.argwhere(missing < 0).tolist():
        weights[at[0], :, at[1]], missing[*at] = 0, sizes[*at]
    block, one = (np.repeat(of.ravel(), missing.ravel()) for of in np.indices(missing.shape))
    image = rng.integers(0, n, len(block))
    np.add.at(weights.reshape(-1), (block * n + image) * width + one, np.uint8(1))
    return weights


def tally_whole(columns: Counts, width: int) -> Callable[[_Weights], NDArray[np.int32]]:
    """Counts by column and resample, in whole numbers, of blocks of resamples.

    Two columns are added up in one number, as single precision holds 24 bits exactly. Images are counted some
    at a time, so few that their counts hardly exceed the bits that they have; whether they do is seen by
    counting all of them too.

    columns: Zeros and ones, shape (n_columns, n).
    width: Resamples of a block.
    Returns: What makes, of weights of shape (blocks, n, width), counts of shape (n_columns, blocks · width).
    """
    n_columns, n = columns.shape
    packed = np.zeros((-(-n_columns // 2) + 1, n), np.float32)
    for at in range(2):
        some = columns[at::2]
        packed[: len(some)] += some * np.float32(1 << _BITS * at)
    packed[-1] = 1.0
    most = max(1, ONE_THREAD // (len(packed) * width))
    parts = [(images, _stack(packed[:, images], most)) for images in _slices(n, _IMAGES)]

    def counted(weights: _Weights) -> NDArray[np.int32]:
        counts = np.zeros((n_columns, len(weights), width), np.int32)
        for images, stacked in parts:
            by = np.zeros((len(stacked), stacked.shape[2], width), np.float32)
            for block, drawn in enumerate(weights[:, images]):
                by.reshape(-1, width)[: len(drawn)] = drawn
                whole = np.matmul(stacked, by).sum(axis=0).astype(np.int32)
                if whole[-1].max() >> _BITS:
                    counts[:, block] += (columns[:, images] @ drawn.astype(np.float32)).astype(np.int32)
                    continue
                for at in range(2):
                    part = counts[at::2, block]
                    part += whole[: len(part)] >> _BITS * at & ((1 << _BITS) - 1)
        return counts.reshape(n_columns, -1)

    return counted


def _slices(n: int, most: int) -> list[slice]:
    """As few slices of ``n`` things as have at most so many each, of about the same length."""
    height = -(-n // -(-n // most))
    return [slice(start, start + height) for start in range(0, n, height)]


def _stack(columns: Counts, most: int) -> Counts:
    """Images side by side as images one below the other, at most so many, in the end filled up with none."""
    n_columns, n = columns.shape
    parts = -(-n // max(1, most))
    padded = np.zeros((n_columns, parts * -(-n // parts)), np.float32)
    padded[:, :n] = columns
    return np.ascontiguousarray(padded.reshape(n_columns, parts, -1).transpose(1, 0, 2))


def _poisson(mean: float, size: int, rng: np.random.Generator) -> _Weights:
    """Poisson numbers by 16 random bits each; what 65,536ths cannot say is drawn by itself."""
    p = [math.exp(-mean)]
    while p[-1] > 1e-18:
        p.append(p[-1] * mean / len(p))
    parts = np.array(p) * (1 << 16)
    whole = np.floor(parts)
    ends = np.cumsum(whole[whole > 0]).astype(np.int64).tolist()
    rest = np.cumsum(parts - whole)
    numbers = np.zeros(size, np.uint8)
    for start in range(0, size, _BLOCK):
        some = numbers[start : start + _BLOCK]
        words = rng.integers(0, 1 << 64, size=-(-some.size // 4), dtype=np.uint64)
        random = words.view(np.uint16)[: some.size]
        for end in ends:
            some += (above := random >= end)
        odd = np.flatnonzero(above)
        some[odd] = np.searchsorted(rest, rng.random(len(odd)) * rest[-1], side="right")
    return numbers
