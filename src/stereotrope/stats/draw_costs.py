"""Which way to draw images costs least: the one place that chooses it, by sizes, rows and what is kept.

Three ways draw from the same distribution. Few images are drawn one by one, as they always were. More are
drawn as bits of words, 64 at a time, or as weights of each image; or each distinct row of codes is drawn with
the number of its images, whatever that number. A fourth counts labels that are frequent as normal numbers,
and draws the other images in one of these ways (:mod:`stereotrope.stats.frequent`).
Costs are of one replicate in nanoseconds, as measured on one processor of 2.8 GHz; only their ratios matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

ONE_BY_ONE = 32
"""Images a group up to which they are drawn one by one."""
_HYPERGEOMETRIC, _BINOMIAL = 130.0, 45.0
_WORD, _MASKED_WORD, _FLIP = 3.5, 2.0, 80.0
_IMAGE, _PRODUCT, _NORMAL = 2.5, 0.03, 25.0
_MOST_DIGITS = 12


def few(sizes: Sequence[int]) -> bool:
    """Whether images are drawn one by one: where there are 32 a group or fewer on average."""
    return sum(sizes) <= ONE_BY_ONE * len(sizes)


class Digits(NamedTuple):
    """A share in binary digits, ``numerator / 2**digits``, and what drawing a subset by it costs."""

    numerator: int
    digits: int
    cost: float


@lru_cache(maxsize=1024)
def share_digits(size: int, of: int, among: int) -> Digits:
    """By which share to set each bit, so that ``size`` of ``of`` images are nearly set.

    Fewer digits of the share cost fewer random words, and leave more bits to be set or cleared afterwards.
    among: Bits that are drawn, of which ``of`` are images that may be set.
    """
    share, best = size / of, Digits(0, 0, math.inf)
    for digits in range(_MOST_DIGITS + 1):
        scaled = share * 2**digits
        for numerator in {int(scaled), min(2**digits, int(scaled) + 1)}:
            p = numerator / 2**digits
            sd = math.sqrt(of * p * (1 - p)) if 0 < p < 1 else 0.0
            short = size - of * p
            # Mean of what is to be set, and to be cleared, where the number set is about normal.
            at = short / sd if sd else math.copysign(math.inf, short)
            density = math.exp(-at * at / 2) / math.sqrt(2 * math.pi)
            to_set = sd * density + short * (1 + math.erf(at / math.sqrt(2))) / 2
            to_clear = to_set - short
            tries = to_set / max(1 - share, 1 / of) + to_clear / share
            cost = _WORD * digits * among / 64 + _FLIP * tries * among / of
            best = min(best, Digits(numerator, digits, cost), key=lambda found: found.cost)
    return best


def shuffling(
    sizes: Sequence[int], n_rows: int, n_columns: int, *, least: int = ONE_BY_ONE
) -> tuple[Literal["one by one", "bits", "rows"], float]:
    """How groups of these sizes are shuffled, and what one shuffle costs.

    n_rows, n_columns: Distinct rows of codes, and columns that are counted.
    least: Images a group up to which they are drawn one by one.
    """
    n, words = sum(sizes), -(-sum(sizes) // 64)
    counting = (len(sizes) - 1) * words * n_columns * _MASKED_WORD
    if n <= least * len(sizes):
        return "one by one", n * 20.0 + counting
    by_bits, left = counting, n
    for size in sizes[:-1]:
        by_bits += share_digits(size, left, n).cost
        left -= size
    by_rows = (len(sizes) - 1) * n_rows * (_HYPERGEOMETRIC + n_columns * _PRODUCT)
    return ("rows", by_rows) if by_rows <= by_bits else ("bits", by_bits)


def redrawing(
    n: int, n_rows: int, n_columns: int, *, groups: int = 1
) -> tuple[Literal["images", "rows"], float]:
    """How ``n`` images are drawn again with replacement, and what one resample costs.

    groups: For how many groups of images what is drawn of images is kept; of rows nothing can be.
    """
    by_images = n * (_IMAGE / groups + n_columns * _PRODUCT)
    by_rows = n_rows * (_BINOMIAL + n_columns * _PRODUCT)
    return ("rows", by_rows) if by_rows <= by_images else ("images", by_images)


def sums_cost(n_groups: int, n_columns: int) -> float:
    """What normal numbers cost for the counts of frequent labels, and numbers of images for the others."""
    return n_groups * (_HYPERGEOMETRIC + n_columns * (_NORMAL + n_columns * _PRODUCT))
