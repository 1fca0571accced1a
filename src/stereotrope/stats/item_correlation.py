"""Pearson's correlations between the columns of a table, tested by shuffling."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.stats.agreement import pearson
from stereotrope.stats.arrays import Floats

_EQUAL = 1e-9


def shuffled_pearson(
    table: ArrayLike, *, n_permutations: int = 10_000, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Pearson's r of every two columns, with the share of shuffles of one of them that are as far from 0.

    Rows are the units. p is :math:`(1 + k)/(1 + B)`, two-sided, over the rows in which both columns are known
    (k shuffles as far from 0); of columns of 0 and 1 it is what the hypergeometric distribution gives,
    but for the error of the shuffles.

    table: Shape ``(n, m)``; NaN where a value is not known.
    n_permutations, seed: Number of shuffles B, and the seed of ``numpy.random.default_rng``.
    Returns r, p, n: Shape ``(m, m)``, symmetric; n is the number of rows in which both are known.
    Undefined: r and p are NaN where either column does not vary in these rows, and on the diagonal.
    Source: Pearson (1895), Proc. R. Soc. 58; Phipson and Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9.
    """
    data = np.asarray(table, np.float64)
    m = data.shape[1]
    known = ~np.isnan(data)
    r, p = np.full((m, m), np.nan), np.full((m, m), np.nan)
    n = (known.T.astype(np.int64) @ known).astype(np.float64)
    for i in range(m):
        # Columns that are known in the same rows as this one share its shuffles.
        later = np.arange(i + 1, m)
        both = known[:, [i]] & known[:, later]
        for rows in np.unique(both, axis=1).T if later.size else ():
            with_it = later[(both == rows[:, None]).all(axis=0)]
            x, others = data[rows, i], data[np.ix_(rows, with_it)]
            r[i, with_it] = [pearson(x, y) for y in others.T]
            if not x.size or np.isnan(r[i, with_it]).all():
                continue
            apart, away = x - x.mean(), others - others.mean(axis=0)
            shuffled = np.abs(apart[_orders(x.size, n_permutations, seed)] @ away)
            far = (shuffled >= np.abs(apart @ away) * (1 - _EQUAL)).sum(axis=0)
            p[i, with_it] = np.where(np.isnan(r[i, with_it]), np.nan, (1 + far) / (1 + n_permutations))
    lower = np.tril_indices(m, -1)
    r[lower], p[lower] = r.T[lower], p.T[lower]
    return r, p, n


@lru_cache(maxsize=4)
def _orders(size: int, n_permutations: int, seed: int) -> NDArray[np.intp]:
    rng = np.random.default_rng([seed, size])
    return rng.permuted(np.tile(np.arange(size, dtype=np.intp), (n_permutations, 1)), axis=1)
