"""Entropy and Jensen–Shannon divergence of counts, what they read by chance, and how far they may reach."""

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import normal_quantile

_TINY = np.finfo(np.float64).tiny
_EVERY_COUNT = 256
"""Pooled counts up to which floors are tabulated for each of them."""
_FAR = 10.0
"""Standard deviations beyond which a count is left out: its probability is under 1e-21 (Hoeffding)."""
_ROWS = 64
"""Counts whose floors are summed together."""


def plogp(p: Floats) -> Floats:
    """``p · log2 p`` with ``0 · log2 0 = 0``."""
    terms: Floats = p * np.log2(np.maximum(p, _TINY))
    return terms


def js_terms(p: Floats, q: Floats) -> Floats:
    """Each value's part of JS in bits; exactly 0 where ``p`` equals ``q``."""
    terms: Floats = 0.5 * (plogp(p) + plogp(q)) - plogp(0.5 * (p + q))
    return terms


def _counts(counts: ArrayLike, name: str) -> Floats:
    array = np.asarray(counts, dtype=np.float64)
    if array.ndim == 0:
        raise UsageError(f"{name}: expected an array of counts, found a single number {array.item():g}")
    if not np.all(array >= 0):
        raise UsageError(f"{name}: counts must be 0 or more, found {np.nanmin(array):g} or a missing number")
    return array


def _shares(counts: Floats) -> Floats:
    total: Floats = counts.sum(axis=-1, keepdims=True)
    return np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)


def entropy(counts: ArrayLike) -> Floats:
    r"""Plug-in Shannon entropy of counts, in bits.

    :math:`H = -\sum_v p_v \log_2 p_v`, :math:`p_v = x_v / \sum_u x_u`, with :math:`0 \log 0 = 0`.

    counts: Counts :math:`x_v \ge 0`, shape ``(…, K)``.
    Returns: Shape ``(…)``, in [0, log2 K]. NaN where the counts sum to 0. Biased downward at small n by about
        (K − 1)/(2n) nats; see :func:`stereotrope.stats.chao_shen_entropy`.
    """
    bits = -plogp(_shares(_counts(counts, "entropy"))).sum(axis=-1)
    return np.asarray(np.maximum(bits, 0.0), dtype=np.float64)


def js_divergence(counts_p: ArrayLike, counts_q: ArrayLike) -> Floats:
    r"""Jensen–Shannon divergence of two sets of counts, in bits.

    :math:`JS(P, Q) = H\left(\frac{P+Q}{2}\right) - \frac{H(P) + H(Q)}{2}`: each side weighs one half
    whatever its n. ``scipy.spatial.distance.jensenshannon`` gives the root, in nats: ``sqrt(JS · ln 2)``.

    counts_p, counts_q: Counts over the same values along the last axis; leading axes broadcast.
    Returns: Divergence in [0, 1]: 0 for equal distributions, 1 for disjoint ones. NaN where a side has no
        count. Biased upward at small n; :func:`expected_js` gives what it reads when nothing differs.
    Source: Lin (1991), Divergence measures based on the Shannon entropy, eq. 4.1.
    """
    p = _shares(_counts(counts_p, "js_divergence"))
    q = _shares(_counts(counts_q, "js_divergence"))
    return np.asarray(np.clip(js_terms(p, q).sum(axis=-1), 0.0, 1.0), dtype=np.float64)


def expected_js(pooled_counts: ArrayLike, n_p: ArrayLike, n_q: ArrayLike) -> Floats:
    r"""Mean of :func:`js_divergence` when the labels of the two sides are shuffled, in closed form.

    JS is a sum over values v of a function of the count :math:`x_v` alone, and under shuffling
    :math:`x_v` is hypergeometric, so

    .. math:: E[JS] = \sum_v \sum_x \mathrm{Hyp}(x; n_p + n_q, c_v, n_p)\, f_v(x), \qquad
              f_v(x) = \tfrac12 (p \log_2 p + q \log_2 q) - m \log_2 m

    with :math:`p = x / n_p`, :math:`q = (c_v - x) / n_q`, :math:`m = (p + q) / 2`. Exact to rounding: only
    terms with a probability under 1e-21 (Hoeffding) are left out.

    pooled_counts: Whole counts :math:`c_v` of both sides together, values along the last axis.
    n_p, n_q: Sizes of the two sides; broadcast against the leading axes. ``n_p + n_q`` must equal the sum of
        the counts.
    Returns: The floor in bits, in [0, 1]; 0 where the pool holds one value. NaN where a side is empty.
    Source: for equal sizes, Vinh, Epps and Bailey (2010), eq. 24a (adjusted mutual information).
    """
    counts = _counts(pooled_counts, "expected_js")
    whole = counts.astype(np.int64)
    if np.any(whole != counts):
        raise UsageError("expected_js: counts must be whole numbers")
    sizes_p, sizes_q = np.broadcast_arrays(np.asarray(n_p, dtype=np.int64), np.asarray(n_q, dtype=np.int64))
    if np.any(whole.sum(axis=-1) != sizes_p + sizes_q):
        raise UsageError("expected_js: the pooled counts must sum to n_p + n_q")
    shape = whole.shape[:-1]
    pairs = np.stack([np.broadcast_to(sizes, shape).ravel() for sizes in (sizes_p, sizes_q)], axis=1)
    flat = whole.reshape(len(pairs), -1)
    result = np.full(len(pairs), np.nan)
    for n_one, n_other in np.unique(pairs, axis=0).tolist():
        if min(n_one, n_other) > 0:
            here = (pairs == (n_one, n_other)).all(axis=1)
            result[here] = floor_terms(flat[here], n_one, n_other, exact=True).sum(axis=-1)
    return np.asarray(result.reshape(shape), dtype=np.float64)


def floor_terms(pooled: NDArray[np.int64], n_p: int, n_q: int, *, exact: bool = False) -> Floats:
    """Each value's part of the expected divergence, by its pooled count.

    exact: Whether it is summed for each count. Else, where there are more than 256, it is interpolated
        between some of them, which errs by less than 1e-5 of it.
    """
    counts, table = _floor_curve(min(n_p, n_q), max(n_p, n_q))
    if len(counts) == n_p + n_q + 1:
        return table.take(pooled, mode="clip")
    if not exact:
        every = np.arange(min(n_p + n_q, pooled.size) + 1)
        few = len(every) > n_p + n_q
        return np.interp(every, counts, table)[pooled] if few else np.interp(pooled, counts, table)
    found, which = np.unique(pooled, return_inverse=True)
    return _summed(found, min(n_p, n_q), max(n_p, n_q))[which.reshape(pooled.shape)]


@lru_cache(maxsize=8192)
def _floor_curve(n_p: int, n_q: int) -> tuple[Floats, Floats]:
    """Pooled counts, all of them or in steps of 3% from either end, and what they add to the floor."""
    total = n_p + n_q
    counts = np.arange(min(total, _EVERY_COUNT) + 1.0)
    if total > _EVERY_COUNT:
        far = np.geomspace(_EVERY_COUNT / 2, total / 2, int(np.log(total / _EVERY_COUNT) / 0.03) + 2)
        half = np.unique(np.append(np.arange(_EVERY_COUNT / 2), np.round(far)))
        counts = np.unique(np.append(half, total - half))
    table = _summed(counts.astype(np.int64), n_p, n_q)
    table.setflags(write=False)
    return counts, table


def _summed(c: NDArray[np.int64], n_p: int, n_q: int) -> Floats:
    """Each value's part of the expected divergence, by pooled counts ``c``, shape (n,)."""
    total = n_p + n_q
    mean = c * (n_p / total)
    sd = np.sqrt(mean * (1 - c / total) * n_q / max(1, total - 1))
    room = np.minimum(mean - np.maximum(0, c - n_q), np.minimum(c, n_p) - mean)
    # Far from its ends a distribution is so smooth that a sum in steps of 0.4 sd has every digit.
    step = np.where(room > _FAR * sd + 3, np.maximum(1, (0.4 * sd).astype(np.int64)), 1)
    result = np.empty(len(c))
    reach = np.ceil((_FAR * sd + 3) / step).astype(np.int64)
    order = np.argsort(reach, kind="stable")
    for some in np.array_split(order, -(-len(c) // _ROWS)):
        k = np.arange(-reach[some].max(initial=0), reach[some].max(initial=0) + 1)
        x = np.round(mean[some]).astype(np.int64)[:, None] + step[some, None] * k
        result[some] = _mean_term(x, c[some, None], n_p, n_q)
    return result


def _mean_term(x: NDArray[np.int64], c: NDArray[np.int64], n_p: int, n_q: int) -> Floats:
    y = c - x
    possible = (x >= 0) & (x <= n_p) & (y >= 0) & (y <= n_q)
    x, y = np.where(possible, x, 0), np.where(possible, y, 0)
    ways = (
        special.gammaln(x + 1.0)
        + special.gammaln(n_p - x + 1.0)
        + special.gammaln(y + 1.0)
        + special.gammaln(n_q - y + 1.0)
    )
    ways = np.where(possible, -ways, -np.inf)
    probability = np.exp(ways - ways.max(axis=1, keepdims=True))
    terms = (probability * js_terms(x / n_p, y / n_q)).sum(axis=1)
    return np.asarray(terms / probability.sum(axis=1))


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
    table = _counts(counts, "chao_shen_entropy")
    n = table.sum(axis=-1, keepdims=True)
    singles = (table == 1).sum(axis=-1, keepdims=True)
    singles = np.where(singles == n, n - 1, singles)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = (1 - singles / n) * table / n
        seen = table > 0
        safe = np.where(seen, p, 0.5)
        term = np.where(seen, safe * np.log(safe) / (1 - (1 - safe) ** n), 0.0)
    # A single value has p = 1 and log 1 = 0; the sign of that zero is of no interest.
    return np.where(n[..., 0] > 0, -term.sum(axis=-1) / np.log(2.0) + 0.0, np.nan)


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
    whole = _counts(counts, "rarefied_entropy").astype(np.int64)
    totals = whole.sum(axis=-1)
    result = np.full(totals.shape, np.nan)
    for n in np.unique(totals[(totals >= m) & (totals <= _EVERY_COUNT)]).tolist():
        result[totals == n] = _rarefied_table(n, m)[whole[totals == n]].sum(axis=-1)
    many = totals > max(_EVERY_COUNT, m - 1)
    result[many] = _rarefied(whole[many], totals[many], m)
    return result


def _rarefied(counts: NDArray[np.int64], n: NDArray[np.int64], m: int) -> Floats:
    """Entropy of ``m`` of ``n`` from rows of counts, value by value: for numbers too great to tabulate."""
    j = np.arange(m + 1)
    few = special.gammaln(m + 1.0) - special.gammaln(j + 1.0) - special.gammaln(m - j + 1.0)
    among, terms, bits = _log_falling(n, m)[:, m], plogp(j / m), np.zeros(len(counts))
    for x in counts.T:
        shown, others = _log_falling(x, m), _log_falling(n - x, m)[:, ::-1]
        bits -= np.exp(few + shown + others - among[:, None]) @ terms
    return bits


def _log_falling(x: NDArray[np.int64], m: int) -> Floats:
    """Logarithms of ``x (x - 1) … (x - j + 1)`` for ``j = 0 … m``, shape (n, m + 1)."""
    left = x[:, None] - np.arange(m)
    with np.errstate(divide="ignore"):
        return np.concatenate([np.zeros((len(x), 1)), np.cumsum(np.log(np.maximum(left, 0)), axis=1)], axis=1)


@lru_cache(maxsize=512)
def _rarefied_table(n: int, m: int) -> Floats:
    """Each value's part of the entropy of ``m`` of ``n``, by its count ``x = 0 … n``."""
    log_factorial = special.gammaln(np.arange(n + 2) + 1.0)
    x, j = np.arange(n + 1)[:, None], np.arange(m + 1)[None, :]
    possible = (j <= x) & (m - j <= n - x)
    seen, other = np.where(possible, x - j, 0), np.where(possible, n - x - m + j, 0)
    ways = log_factorial[x] - log_factorial[j] - log_factorial[seen]
    rest = log_factorial[n - x] - log_factorial[m - j] - log_factorial[other]
    every = log_factorial[n] - log_factorial[m] - log_factorial[n - m]
    probability = np.where(possible, np.exp(np.where(possible, ways + rest - every, 0.0)), 0.0)
    table: Floats = -(probability * plogp(j / m)).sum(axis=1)
    table.setflags(write=False)
    return table


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
    return float(k * (_binomial(x, n, 1.0 / k) * term(x / n)).sum())


def expected_tie(n_both: int, n: int) -> float:
    r"""Mean of :math:`|p_a - p_b|` when the ``n_both`` images of two sides fall on either equally often.

    :math:`\sum_x \binom{m}{x} 2^{-m}\,|2x - m| / n` with :math:`m` = ``n_both`` held fixed.

    n_both, n: Images of the two sides, and all images.
    Returns: The mean; NaN where ``n`` is 0.
    """
    if n < 1:
        return float("nan")
    x = np.arange(n_both + 1.0)
    return float((_binomial(x, n_both, 0.5) * np.abs(2 * x - n_both)).sum() / n)


def _binomial(x: Floats, n: int, p: float) -> Floats:
    ways = special.gammaln(n + 1.0) - special.gammaln(x + 1.0) - special.gammaln(n - x + 1.0)
    return np.asarray(np.exp(ways + special.xlogy(x, p) + special.xlog1py(n - x, -p)), np.float64)


_SPLITS = np.linspace(0.0, 1.0, 33)
_HALVINGS = 45


def greatest_js(k: Sequence[float], n: Sequence[float], *, level: float = 0.95) -> float:
    r"""Upper end of the profile-likelihood interval of the JS between shares of groups, in bits.

    The greatest mean over pairs of :math:`JS((a_g, 1-a_g), (a_h, 1-a_h))` over the shares for which
    :math:`\sum_g n_g\,KL(k_g/n_g \,\|\, a_g) \le z^2/2`, in nats, with :math:`z` the normal quantile of
    the level. JS is convex in the shares, so the greatest lies where the whole budget is spent; it is
    looked for with the budget spent on every two groups, split between them in 33 ways.

    k, n: Images with the value, of all with a label, in each group. Groups without a label are left out.
    level: Nominal coverage of the two-sided interval that the bound ends.
    Returns: In (0, 1]: 0.11 for 20 of 20 against 19 of 20. NaN with fewer than two groups.
    Source: Wilks (1938), Ann. Math. Statist. 9.
    """
    groups = [(one, total) for one, total in zip(k, n, strict=True) if total > 0]
    if len(groups) < 2:
        return float("nan")
    reached = [_shares_at(one, total, level) for one, total in groups]
    if len(groups) == 2:
        found = _two_valued(reached[0][:, None], reached[1][None, :, ::-1])
    else:
        found = _spent_on_pairs(np.array([one / total for one, total in groups]), np.stack(reached))
    return float(np.clip(found.max(), 0.0, 1.0))


def _spent_on_pairs(seen: Floats, reached: Floats) -> Floats:
    """Mean divergence where each two groups spend the budget and all others are as seen.

    reached: Shares that each part of the budget leads to, down and up, shape ``(n_groups, 2, n_splits)``.
    """
    still = _two_valued(seen[:, None], seen)
    # Each group as far as it gets from what every other shows.
    moved = _two_valued(reached[:, None], seen[:, None, None])
    moved[range(len(seen)), range(len(seen))] = 0.0
    g, h = np.triu_indices(len(seen), 1)
    rest = still.sum() / 2 - still.sum(axis=1)[g] - still.sum(axis=1)[h] + still[g, h]
    one, other = (moved.sum(axis=1)[a] - moved[a, b] for a, b in ((g, h), (h, g)))
    apart = _two_valued(reached[g][:, :, None], reached[h][:, None, :, ::-1])
    found = rest[:, None, None, None] + one[:, :, None] + other[:, None, :, ::-1] + apart
    return np.asarray(found / len(g))


def _two_valued(a: Floats, b: Floats) -> Floats:
    """Divergence between shares of a value and its absence."""
    return js_terms(a, b) + js_terms(1 - a, 1 - b)


def least_js(k: Sequence[float], n: Sequence[float], *, level: float = 0.95) -> float:
    r"""Lower end of the profile-likelihood interval of the JS between shares of two groups, in bits.

    The mirror of :func:`greatest_js`, with which two groups that have no value in common may still have one
    each in a while.

    k, n: Images with the value, of all with a label, of both groups.
    Returns: In [0, 1): 0.73 for 20 of 20 against 0 of 20.

    >>> round(least_js([20, 0], [20, 20]), 2)
    0.73
    """
    (below, above), (under, over) = (_shares_at(one, total, level) for one, total in zip(k, n, strict=True))
    first, other = (below, over[::-1]) if k[0] / n[0] >= k[1] / n[1] else (above, under[::-1])
    reached = js_terms(first, other) + js_terms(1 - first, 1 - other)
    crossed = ((first < other) == (k[0] / n[0] >= k[1] / n[1])).any()
    return 0.0 if crossed else float(np.clip(reached.min(), 0.0, 1.0))


@lru_cache(maxsize=4096)
def _shares_at(k: float, n: float, level: float) -> Floats:
    """Shares below and above ``k / n`` that spend each split of the budget, shape (2, splits)."""
    seen = k / n
    budget = _SPLITS * normal_quantile(level) ** 2 / (2 * n)
    ends = []
    for far in (0.0, 1.0):
        near_end, far_end = np.full_like(budget, seen), np.full_like(budget, far)
        for _ in range(_HALVINGS):
            middle = (near_end + far_end) / 2
            spent = special.rel_entr(seen, middle) + special.rel_entr(1 - seen, 1 - middle)
            near_end = np.where(spent <= budget, middle, near_end)
            far_end = np.where(spent <= budget, far_end, middle)
        ends.append(near_end)
    return np.stack(ends)
