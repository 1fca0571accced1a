"""Jensen–Shannon divergence of counts, what it reads by chance, and how far it may reach."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.entropies import checked_counts, parts_of_sum, plogp
from stereotrope.stats.intervals import normal_quantile

_EVERY_COUNT = 256
"""Pooled counts up to which floors are tabulated for each of them."""
_FAR = 10.0
"""Standard deviations beyond which a count is left out: its probability is under 1e-21 (Hoeffding)."""
_ROWS = 64
"""Counts whose floors are summed together."""


def js_terms(p: Floats, q: Floats) -> Floats:
    """Each value's part of JS in bits; exactly 0 where ``p`` equals ``q``."""
    terms: Floats = 0.5 * (plogp(p) + plogp(q)) - plogp(0.5 * (p + q))
    return terms


def js_divergence(counts_p: ArrayLike, counts_q: ArrayLike) -> Floats:
    r"""Jensen–Shannon divergence of two sets of counts, in bits.

    :math:`JS(P, Q) = H\left(\frac{P+Q}{2}\right) - \frac{H(P) + H(Q)}{2}`: each side weighs one half
    whatever its n. ``scipy.spatial.distance.jensenshannon`` gives the root, in nats: ``sqrt(JS · ln 2)``.

    counts_p, counts_q: Counts over the same values along the last axis; leading axes broadcast.
    Returns: Divergence in [0, 1]: 0 for equal distributions, 1 for disjoint ones. NaN where a side has no
        count. Biased upward at small n; :func:`expected_js` gives what it reads when nothing differs.
    Raises UsageError: Counts are below 0, or the two are of different values.
    Source: Lin (1991), Divergence measures based on the Shannon entropy, eq. 4.1.
    """
    p = parts_of_sum(checked_counts(counts_p, "js_divergence"))
    q = parts_of_sum(checked_counts(counts_q, "js_divergence"))
    if p.shape[-1] != q.shape[-1]:
        raise UsageError(
            f"js_divergence: both must count the same values, found {p.shape[-1]} of counts_p and "
            f"{q.shape[-1]} of counts_q; give a value that one lacks the count 0"
        )
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
    counts = checked_counts(pooled_counts, "expected_js")
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
