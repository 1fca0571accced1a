"""Permutation tests of Jensen–Shannon divergences: whole images change groups, all attributes together."""

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Counts, Floats
from stereotrope.stats.counts import mean_pair_js, one_hot, tally

_CHUNK = 1000
_CACHED_CELLS = 1 << 22
_TIE = 1e-12


def shuffled_js(codes: ArrayLike, groups: ArrayLike, *, n_shuffles: int, seed: int = 0) -> Floats:
    """Divergence of each attribute when the group labels of whole images are shuffled.

    The shuffles depend on the seed and the group sizes only: tests of the same sizes share them, which leaves
    each p-value valid and couples their Monte-Carlo errors.

    codes: Value codes, shape (n_images, n_attributes): 0, 1, … within an attribute, −1 where the image has no
        usable label of it. The order of the images decides which shuffle meets which image, so pass them in
        an order that does not depend on the groups.
    groups: Group of each image, shape (n_images,), coded 0 … G − 1. Every group has an image.
    Returns: Shape (n_shuffles, n_attributes), bits: the mean JS of the unordered pairs of groups. NaN where a
        shuffle leaves fewer than two groups with a label.
    Raises UsageError: Fewer than two groups hold an image.
    """
    matrix = np.asarray(codes)
    group = np.asarray(groups, dtype=np.int64)
    sizes = tuple(sorted(np.bincount(group).tolist()))
    if len(sizes) < 2 or sizes[0] < 1:
        raise UsageError(f"shuffled_js: at least two groups with an image are needed, found sizes {sizes}")
    hot = one_hot(matrix)
    total = hot.columns.sum(axis=1, keepdims=True)
    result = np.empty((n_shuffles, matrix.shape[1]))
    at = 0
    small = len(group) * n_shuffles * (len(sizes) - 1) <= _CACHED_CELLS
    draw: Callable[..., Iterable[tuple[Counts, ...]]] = _kept_memberships if small else _draw_memberships
    for members in draw(sizes, n_shuffles, seed):
        counts: list[Counts] = [tally(hot.columns, one) for one in members]
        counts.append(total - sum(counts[1:], start=counts[0]))
        js = mean_pair_js(counts, sizes, hot)
        result[at : at + js.shape[1]] = js.T
        at += js.shape[1]
    return result


@lru_cache(maxsize=8)
def _kept_memberships(sizes: tuple[int, ...], n_shuffles: int, seed: int) -> tuple[tuple[Counts, ...], ...]:
    return tuple(_draw_memberships(sizes, n_shuffles, seed))


def _draw_memberships(sizes: tuple[int, ...], n_shuffles: int, seed: int) -> Iterator[tuple[Counts, ...]]:
    """Chunks of memberships in all groups but the last, each of shape (n_images, ≤ 1000)."""
    rng = np.random.default_rng([seed, 0, *sizes])
    unshuffled = np.repeat(np.arange(len(sizes), dtype=np.uint8 if len(sizes) < 256 else np.int64), sizes)
    for start in range(0, n_shuffles, _CHUNK):
        rows = np.tile(unshuffled, (min(_CHUNK, n_shuffles - start), 1))
        shuffled = rng.permuted(rows, axis=1).T
        yield tuple(np.ascontiguousarray(shuffled == g, dtype=np.float32) for g in range(len(sizes) - 1))


def permutation_p(observed: ArrayLike, null: ArrayLike) -> Floats:
    """One-sided p-value of a score against its shuffles.

    ``p = (1 + #{null ≥ observed}) / (1 + B)``; a shuffle within 1e-12 of the observed score counts as
    equal to it.

    observed: Scores, shape (…).
    null: Scores of the shuffles, shape (B, …). NaN shuffles, in which the score is undefined, count neither
        above nor below the line, so B is the number of the others.
    Returns: p in (0, 1]. NaN where the score is NaN or no shuffle gives one.
    """
    score = np.asarray(observed, dtype=np.float64)
    shuffles = np.asarray(null, dtype=np.float64)
    given = (~np.isnan(shuffles)).sum(axis=0)
    above = (shuffles >= score - _TIE).sum(axis=0)
    undefined = np.isnan(score) | (given == 0)
    return np.asarray(np.where(undefined, np.nan, (1 + above) / (1 + given)), dtype=np.float64)
