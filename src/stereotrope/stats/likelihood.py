"""How far a divergence may reach where one value is nearly always seen, by the likelihood itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
from scipy.special import rel_entr

from stereotrope.stats.arrays import Floats
from stereotrope.stats.divergence import js_terms
from stereotrope.stats.intervals import normal_quantile

_SPLITS = np.linspace(0.0, 1.0, 33)
_HALVINGS = 45


def greatest_js(k: Sequence[int], n: Sequence[int], *, level: float = 0.95) -> float:
    r"""Upper end of the profile-likelihood interval of the JS between shares of groups, in bits.

    The greatest mean over pairs of :math:`JS((a_g, 1-a_g), (a_h, 1-a_h))` over the shares for which
    :math:`\sum_g n_g\,KL(k_g/n_g \,\|\, a_g) \le z^2/2`, in nats, with :math:`z` the normal quantile of
    the level. JS is convex in the shares, so the greatest lies where the whole budget is spent; it is
    looked for with the budget spent on every two groups, split between them in 33 ways.

    k, n: Images with the value, of all with a label, in each group. Groups without a label are left out.
    level: Nominal coverage of the two-sided interval that the bound ends.
    Returns: In (0, 1]: 0.11 for 20 of 20 against 19 of 20. NaN with fewer than two groups.
    Source: Wilks (1938), The large-sample distribution of the likelihood ratio, Ann. Math. Statist. 9.
    """
    groups = [(one, total) for one, total in zip(k, n, strict=True) if total > 0]
    if len(groups) < 2:
        return float("nan")
    seen = [np.full((1, 1, 1), one / total) for one, total in groups]
    reached = [_shares_at(one, total, level) for one, total in groups]
    best = 0.0
    for g, h in combinations(range(len(groups)), 2):
        shares = list(seen)
        shares[g], shares[h] = reached[g][:, None, :], reached[h][None, :, ::-1]
        pairs = [_js(a, b) for a, b in combinations(shares, 2)]
        best = max(best, float(np.max(sum(pairs[1:], start=pairs[0]))) / len(pairs))
    return min(best, 1.0)


def _js(a: Floats, b: Floats) -> Floats:
    return js_terms(a, b) + js_terms(1 - a, 1 - b)


@lru_cache(maxsize=4096)
def _shares_at(k: int, n: int, level: float) -> Floats:
    """Shares below and above ``k / n`` that spend each split of the budget, shape (2, splits)."""
    seen = k / n
    budget = _SPLITS * normal_quantile(level) ** 2 / (2 * n)
    ends = []
    for far in (0.0, 1.0):
        near_end, far_end = np.full_like(budget, seen), np.full_like(budget, far)
        for _ in range(_HALVINGS):
            middle = (near_end + far_end) / 2
            spent = rel_entr(seen, middle) + rel_entr(1 - seen, 1 - middle)
            near_end = np.where(spent <= budget, middle, near_end)
            far_end = np.where(spent <= budget, far_end, middle)
        ends.append(near_end)
    return np.stack(ends)
