"""Whether a sample is a random part of what it was drawn from."""

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats


def stratified_shift_p(k: ArrayLike, n: ArrayLike, hits: ArrayLike, total: ArrayLike) -> Floats:
    r"""Two-sided p-values that members taken from each of several strata show a value as the others do.

    :math:`z = (|Σ_s k_s - n_s K_s/N_s| - \tfrac12) / \sqrt{Σ_s σ_s^2}`, a normal number, with
    :math:`σ_s^2 = n_s (N_s-n_s) K_s (N_s-K_s) / (N_s^2 (N_s-1))`. Strata that were
    taken whole, or not at all, say nothing.

    k, hits: Of those taken and of all, how many show each value; shape ``(S, V)``.
    n, total: How many were taken, and how many there are; shape ``(S,)``.
    Returns: Shape ``(V,)``, in [0, 1]; 1 where no stratum says anything.
    Source: Mantel and Haenszel (1959), JNCI 22.

    >>> stratified_shift_p([[5], [4]], [5, 5], [[5], [5]], [10, 10]).round(3).tolist()
    [0.003]
    """
    shown, all_shown = (np.asarray(of, np.float64) for of in (k, hits))
    taken, size = (np.asarray(of, np.float64)[:, None] for of in (n, total))
    away = np.abs((shown - taken * all_shown / size).sum(axis=0))
    apart = taken * (size - taken) * all_shown * (size - all_shown) / (size**2 * np.maximum(size - 1, 1))
    variance = apart.sum(axis=0)
    z = np.maximum(0.0, away - 0.5) / np.sqrt(np.where(variance > 0, variance, np.inf))
    return np.asarray(2 * special.ndtr(-z))
