"""How far annotators, scores and rankings agree."""

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats, known_pairs, mid_ranks

MIN_ROWS = 3
"""Fewer rows than this give no bootstrap interval: two rows have three resamples."""


def cohen_kappa(confusion: ArrayLike) -> Floats:
    """Cohen's κ of two annotators: agreement beyond what their value shares alone would give.

    :math:`κ = (p_o - p_e)/(1 - p_e)` with :math:`p_o` the share on the diagonal and
    :math:`p_e = Σ_v p_{v·} p_{·v}`.

    confusion: Counts of shape ``(…, K, K)``: rows one annotator, columns the other.
    Returns: Shape ``(…)``, in [−1, 1]; 0 is chance, 1 full agreement.
    Undefined: NaN without a pair, and where both gave one and the same value throughout (:math:`p_e = 1`).
    Source: Cohen (1960), Educ. Psychol. Meas. 20, eq. 1.
    """
    table = np.asarray(confusion, np.float64)
    if table.ndim < 2 or table.shape[-1] != table.shape[-2]:
        raise UsageError(f"a confusion matrix has as many rows as columns, found the shape {table.shape}")
    if np.any(table < 0):
        raise UsageError("a confusion matrix holds counts, found a negative one")
    total = table.sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = np.trace(table, axis1=-2, axis2=-1) / total
        expected = (table.sum(axis=-1) * table.sum(axis=-2)).sum(axis=-1) / total**2
        kappa = (observed - expected) / (1 - expected)
    return np.where(np.isclose(expected, 1.0, rtol=0, atol=1e-12), np.nan, kappa)


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    """Pearson's correlation of the pairs in which both values are known.

    x, y: Shape ``(n,)``; pairs with NaN are left out.
    Returns: In [−1, 1]; NaN with fewer than two pairs or where one side does not vary.
    """
    return _correlate(*known_pairs(x, y))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation, mean ranks for ties; as :func:`pearson` of the ranks of known pairs."""
    return _correlate(*map(mid_ranks, known_pairs(x, y)))


def _correlate(x: Floats, y: Floats) -> float:
    if x.size < 2:
        return float("nan")
    a, b = x - x.mean(), y - y.mean()
    spread = float(np.sqrt(a @ a) * np.sqrt(b @ b))
    # A constant side leaves rounding noise of the order of eps × its size, not a true spread.
    if spread <= 1e-13 * max(1.0, float(np.abs(x).max() * np.abs(y).max())):
        return float("nan")
    return float(np.clip(a @ b / spread, -1.0, 1.0))


def mean_ranks(
    scores: ArrayLike, *, level: float = 0.95, n_bootstrap: int = 2_000, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Rank columns by their mean over rows, with percentile intervals from resampled rows.

    scores: Shape ``(m, k)``: the score of ``k`` groups on ``m`` things, without NaN.
    n_bootstrap, seed: Resamples of rows, and the seed of ``numpy.random.default_rng``.
    Returns rank, low, high: Shape ``(k,)``. Rank 1 has the smallest mean; ties share their mean rank.
    Undefined: NaN ranks without a row; NaN intervals with fewer than three rows, and where a rank is the same
        in every resample.
    """
    table = _table(scores)
    m, k = table.shape
    none = np.full(k, np.nan)
    if m == 0:
        return none, none.copy(), none.copy()
    # Rounding ties groups whose scores are equal but for the order in which they were added.
    ranks = mid_ranks(np.round(table.mean(axis=0), 12))
    if m < MIN_ROWS:
        return ranks, none, none.copy()
    weights = np.random.default_rng(seed).multinomial(m, np.full(m, 1 / m), size=n_bootstrap)
    drawn = mid_ranks(np.round(weights @ table / m, 12))
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    constant = high - low <= 0
    return ranks, np.where(constant, np.nan, low), np.where(constant, np.nan, high)


def rank_agreement(
    scores: ArrayLike,
    *,
    level: float = 0.95,
    n_bootstrap: int = 2_000,
    n_permutations: int = 10_000,
    seed: int = 0,
) -> tuple[float, float, float, float]:
    r"""Mean pairwise Spearman correlation between rows, with interval and test.

    With each row's ranks centred and scaled to length 1, :math:`z_i`,
    :math:`\bar ρ = (\lVert Σ_i z_i \rVert^2 - m)/(m(m-1))`. The interval resamples rows, leaving out
    pairs of a row with its own copy, which would correlate at 1. The test shuffles each row; it is
    one-sided, towards agreement.

    scores: Shape ``(m, k)``, without NaN. Rows that do not vary are left out.
    Returns agreement, low, high, p: Agreement in [−1/(m−1), 1]; 0 is expected of rows that have nothing to do
        with one another.
    Undefined: All NaN with fewer than two rows that vary; the interval with fewer than three, or where all
        rows agree exactly.
    Source: Kendall and Babington Smith (1939), Ann. Math. Statist. 10.
    """
    table = _table(scores)
    ranks = mid_ranks(np.round(table, 12))
    centred = ranks - ranks.mean(axis=1, keepdims=True) if table.size else ranks
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    z = (centred / np.where(length > 0, length, 1.0))[length[:, 0] > 0]
    m = z.shape[0]
    if m < 2:
        return np.nan, np.nan, np.nan, np.nan
    observed = _mean_correlation(z[None])[0]
    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(np.broadcast_to(z, (n_permutations, *z.shape)).copy(), axis=2)
    p = (1 + int(np.sum(_mean_correlation(shuffled) >= observed - 1e-12))) / (1 + n_permutations)
    if m < MIN_ROWS:
        return float(observed), np.nan, np.nan, p
    between = z @ z.T
    np.fill_diagonal(between, 0.0)
    weights = rng.multinomial(m, np.full(m, 1 / m), size=n_bootstrap).astype(np.float64)
    pairs = weights.sum(axis=1) ** 2 - (weights**2).sum(axis=1)
    sums = np.einsum("bi,ij,bj->b", weights, between, weights)
    drawn = sums[pairs > 0] / pairs[pairs > 0]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    if high - low <= 1e-12:
        return float(observed), np.nan, np.nan, p
    return float(observed), float(low), float(high), p


def _mean_correlation(z: Floats) -> Floats:
    m = z.shape[1]
    return np.asarray(((z.sum(axis=1) ** 2).sum(axis=1) - m) / (m * (m - 1)))


def _table(scores: ArrayLike) -> Floats:
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or np.isnan(table).any():
        raise UsageError("scores must be a table of rows and columns without missing values")
    return table
