"""Entropies of counts in bits: as they are, corrected for values not seen, and expected of fewer things."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.binomial import binomial

_TINY = np.finfo(np.float64).tiny
_TOGETHER = 1 << 14
"""Counts whose rarefied terms are computed together."""
_SPARSE = 8
"""Whole numbers up to so many times as great as they are many are told apart by counting them."""


def plogp(p: Floats) -> Floats:
    """``p · log2 p`` with ``0 · log2 0 = 0``."""
    terms: Floats = p * np.log2(np.maximum(p, _TINY))
    return terms


def checked_counts(counts: ArrayLike, name: str) -> Floats:
    """Counts as an array of real numbers, none of them below 0; ``name`` is what they are given to."""
    array = np.asarray(counts, dtype=np.float64)
    if array.ndim == 0:
        raise UsageError(f"{name}: expected an array of counts, found a single number {array.item():g}")
    if not array.shape[-1]:
        raise UsageError(f"{name}: expected counts of one value or more along the last axis, found none")
    if not np.all(array >= 0):
        raise UsageError(f"{name}: counts must be 0 or more, found {np.nanmin(array):g} or a missing number")
    return array


def parts_of_sum(counts: Floats) -> Floats:
    """Parts of the sum along the last axis; NaN where that is 0."""
    total: Floats = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)


def _summed(counts: ArrayLike, alike: NDArray[np.number], term: Callable[[Floats, Floats], Floats]) -> Floats:
    """Sum over values of a term of each count, computed once for whole counts and rows that are alike.

    counts: Shape (…, values).
    alike: A number a row, shape (…), what the term depends on besides.
    term: From counts and such numbers, broadcast together, to terms.
    """
    table = np.asarray(counts)
    rows, each = table.reshape(-1, table.shape[-1]), np.asarray(alike).ravel()
    if rows.size and rows.dtype.kind in "iu":
        (known, row), (there, at) = _distinct(each.astype(np.int64)), _distinct(rows.T)
        if len(known) * len(there) < rows.size:
            terms = term(there.astype(np.float64), known[:, None].astype(np.float64)).ravel()
            if len(known) > 1:
                at += row * len(there)
            return np.asarray(terms[at].sum(axis=0).reshape(np.shape(alike)))
    summed = term(rows.astype(np.float64), each[:, None].astype(np.float64)).sum(axis=1)
    return np.asarray(summed.reshape(np.shape(alike)))


def _distinct(numbers: NDArray[np.integer]) -> tuple[NDArray[np.integer], NDArray[np.intp]]:
    """The numbers that there are, from 0, rising, and the place of each among them."""
    if numbers.max() > _SPARSE * numbers.size:
        known, places = np.unique(numbers, return_inverse=True)
        return known, places.reshape(numbers.shape)
    there = np.flatnonzero(np.bincount(numbers.ravel()))
    places = np.zeros(there[-1] + 1, np.intp)
    places[there] = np.arange(len(there))
    return there, places[numbers]


def entropy(counts: ArrayLike) -> Floats:
    r"""Plug-in Shannon entropy of counts, in bits.

    :math:`H = -\sum_v p_v \log_2 p_v`, :math:`p_v = x_v / \sum_u x_u`, with :math:`0 \log 0 = 0`.

    counts: Counts :math:`x_v \ge 0`, shape ``(…, K)``.
    Returns: Shape ``(…)``, in [0, log2 K]. NaN where the counts sum to 0. Biased downward at small n by about
        (K − 1)/(2n) nats; see :func:`stereotrope.stats.chao_shen_entropy`.
    """
    totals = checked_counts(counts, "entropy").sum(axis=-1)

    def term(x: Floats, n: Floats) -> Floats:
        return -plogp(x / np.where(n > 0, n, np.nan))

    return np.asarray(np.maximum(_summed(counts, totals, term), 0.0))


def chao_shen_entropy(counts: ArrayLike) -> Floats:
    r"""Entropy in bits with Chao and Shen's correction for values that the sample has not shown.

    :math:`-Σ_v \tilde p_v \log_2 \tilde p_v / (1 - (1 - \tilde p_v)^n)` with
    :math:`\tilde p_v = C x_v/n` and the coverage :math:`C = 1 - f_1/n`, :math:`f_1` being the number
    of values seen once (``n − 1`` in its place where every value was seen once, so that ``C > 0``).

    counts: Shape ``(…, K)``: how often each value was seen.
    Returns: Shape ``(…)``, 0 or more: not bounded by ``log2 K``, because values may be unseen.
    Undefined: NaN where the counts sum to 0.
    Source: Chao and Shen (2003), Environmental and Ecological Statistics 10, eq. 8.
    """
    table = checked_counts(counts, "chao_shen_entropy")
    totals, singles = table.sum(axis=-1), (table == 1).sum(axis=-1)
    width = table.shape[-1] + 1

    def term(x: Floats, both: Floats) -> Floats:
        n, once = np.divmod(both, width)
        n = np.where(n > 0, n, np.nan)
        covered = 1 - np.where(once == n, n - 1, once) / n
        # One value has p = 1 and log 1 = 0; no row has a count above its n.
        p = np.where(x > 0, covered * np.minimum(x, n) / n, np.where(n > 0, 1.0, np.nan))
        return np.asarray(-p * np.log2(p) / (1 - (1 - p) ** n))

    return _summed(counts, totals * width + singles, term) + 0.0


def rarefied_entropy(counts: ArrayLike, m: int) -> Floats:
    r"""Plug-in entropy expected of ``m`` things drawn from those counted, without replacement, in bits.

    :math:`-\sum_v \sum_{j=0}^m \mathrm{Hyp}(j; n, x_v, m)\, \tfrac jm \log_2 \tfrac jm`: the mean of
    :func:`entropy` over all subsets of ``m``. Over samples of any :math:`n \ge m` its mean is the entropy
    expected of ``m`` things from the population: no bias, whatever ``n`` and however many values there are.

    counts: Whole counts, shape ``(…, K)``.
    m: Things drawn, at least 1.
    Returns: Shape ``(…)``, in [0, log2 min(K, m)]; that of the counts themselves where they sum to ``m``. NaN
        where they sum to less.
    Source: Hurlbert (1971), Ecology 52 (rarefaction of the number of values, eq. 4), of the entropy.
    """
    if m < 1:
        raise UsageError(f"rarefied_entropy: m must be at least 1, found {m}")
    totals = checked_counts(counts, "rarefied_entropy").sum(axis=-1)
    return _summed(counts, totals, lambda x, n: _rarefied(x, np.where(n >= m, n, np.nan), m))


def _rarefied(x: Floats, n: Floats, m: int) -> Floats:
    """What a value that was counted ``x`` times of ``n`` adds to the entropy of ``m`` of these."""
    x, n = np.broadcast_arrays(x, n)
    j = np.arange(m + 1)
    few = special.gammaln(m + 1.0) - special.gammaln(j + 1.0) - special.gammaln(m - j + 1.0)
    bits, flat = np.empty(x.size), (x.ravel(), n.ravel())
    for start in range(0, x.size, _TOGETHER):
        seen, every = (one[start : start + _TOGETHER] for one in flat)
        shown, others = _log_falling(seen, m), _log_falling(every - seen, m)[:, ::-1]
        ways = np.exp(few + shown + others - _log_falling(every, m)[:, m:])
        bits[start : start + _TOGETHER] = -ways @ plogp(j / m)
    return bits.reshape(x.shape)


def _log_falling(x: Floats, m: int) -> Floats:
    """Logarithms of ``x (x - 1) … (x - j + 1)`` for ``j = 0 … m``, shape (n, m + 1)."""
    left = x[:, None] - np.arange(m)
    with np.errstate(divide="ignore"):
        return np.concatenate([np.zeros((len(x), 1)), np.cumsum(np.log(np.maximum(left, 0)), axis=1)], axis=1)


def even_entropy(m: int, k: int | None) -> float:
    """Plug-in entropy expected of ``m`` things from ``k`` equally frequent values, in bits.

    k: None where there is no end of values, so that no two of the ``m`` are alike: log2 m.
    """
    return float(np.log2(m)) if k is None else expected_sum(lambda p: -plogp(p), m, k)


def expected_sum(term: Callable[[Floats], Floats], n: int, k: int) -> float:
    r"""Mean of a sum over groups when ``n`` images fall on ``k`` groups with equal probability.

    :math:`E\left[\sum_{j=1}^k f(x_j/n)\right] = k \sum_{x=0}^n \binom{n}{x} k^{-x} (1 - 1/k)^{n-x} f(x/n)`,
    because each count is binomial.

    term: The function :math:`f` of a share, on arrays.
    n, k: Images and groups, at least one group.
    Returns: The mean; NaN where ``n`` is 0.
    """
    if k < 1:
        raise UsageError(f"expected_sum: k must be at least 1, found {k}")
    if n < 1:
        return float("nan")
    x = np.arange(n + 1.0)
    return float(k * (binomial(x, n, 1.0 / k) * term(x / n)).sum())


def expected_tie(n_both: int, n: int) -> float:
    r"""Mean of :math:`|p_a - p_b|` when the ``n_both`` images of two sides fall on either equally often.

    :math:`\sum_x \binom{m}{x} 2^{-m}\,|2x - m| / n` with :math:`m` = ``n_both`` held fixed.

    n_both, n: Images of the two sides, and all images.
    Returns: The mean; NaN where ``n`` is 0.
    """
    if n < 1:
        return float("nan")
    x = np.arange(n_both + 1.0)
    return float((binomial(x, n_both, 0.5) * np.abs(2 * x - n_both)).sum() / n)
