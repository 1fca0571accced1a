"""Pearson's correlations between the columns of a table, tested by shuffling."""

import numpy as np
from numpy.typing import ArrayLike

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
    orders: dict[int, np.ndarray[tuple[int, int], np.dtype[np.intp]]] = {}
    for i in range(m):
        for j in range(i + 1, m):
            rows = known[:, i] & known[:, j]
            x, y = data[rows, i], data[rows, j]
            r[i, j] = r[j, i] = pearson(x, y)
            if np.isnan(r[i, j]):
                continue
            size = x.size
            if size not in orders:
                rng = np.random.default_rng([seed, size])
                orders[size] = rng.permuted(np.tile(np.arange(size), (n_permutations, 1)), axis=1)
            apart = x - x.mean()
            shuffled = np.abs(apart[orders[size]] @ (y - y.mean()))
            seen = abs(float(apart @ (y - y.mean())))
            far = int((shuffled >= seen * (1 - _EQUAL)).sum())
            p[i, j] = p[j, i] = (1 + far) / (1 + n_permutations)
    return r, p, n
