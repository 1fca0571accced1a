"""Rankings of groups over things: which ranks are certain, and how far rankings agree."""

from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats, mid_ranks

_ENUMERATED = 13
"""Most rows whose signs are all gone through."""
_FLIPS = 4096
_CHUNK = 256
_EQUAL = 1e-12
_MIN_ROWS = 3
"""Fewer rows than this have no jackknife that varies."""


def mean_ranks(scores: ArrayLike, *, level: float = 0.95, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    r"""Rank columns by their mean over rows, with simultaneous intervals of all ranks.

    Every two columns are compared by the mean of their differences. A comparison counts where at most a share
    ``1 − level`` of the sign flips of whole rows gives a greatest :math:`|\bar d|`, over the comparisons that
    do not count yet, as great; then the others are looked at again (step-down). The rank of a column lies
    between 1 + the number of columns that are surely smaller and k − the number that are surely greater. With
    rows that vary about the means of their columns symmetrically, whatever their spread and dependence, all
    ranks are held together with probability ``level``, at any number of rows.

    scores: Shape ``(m, k)``: the score of ``k`` groups on ``m`` things, without NaN.
    seed: Of the flips drawn where there are more than 13 rows; up to that all are gone through.
    Returns rank, low, high: Shape ``(k,)``. Rank 1 has the smallest mean; ties share their mean rank.
    Undefined: NaN ranks without a row; NaN intervals with so few rows that no flip could be rare enough:
        under 6 at a level of 0.95.
    Source: Mogstad, Romano, Shaikh and Wilhelm (2024), Rev. Econ. Stud. 91, with the sign flips of Romano and
        Wolf (2005), JASA 100.
    """
    table = _table(scores)
    m, k = table.shape
    none = np.full(k, np.nan)
    if m == 0:
        return none, none.copy(), none.copy()
    # Rounding ties groups whose scores are equal but for the order in which they were added.
    ranks = mid_ranks(np.round(table.mean(axis=0), 12))
    if 2.0 ** (1 - m) > 1 - level + _EQUAL or k < 2:
        return ranks, none, none.copy()
    one, other = np.triu_indices(k, 1)
    # Rows in an order of their values, so that no name decides which flip meets which.
    ordered = table[np.lexsort(np.sort(table, axis=1).T)]
    differences = np.round(ordered[:, one] - ordered[:, other], 12)
    total = differences.sum(axis=0)
    sure = _certain(differences, _signs(m, seed), 1 - level)
    greater = np.zeros((k, k), dtype=bool)
    greater[one, other], greater[other, one] = sure & (total > 0), sure & (total < 0)
    return ranks, 1.0 + greater.sum(axis=1), k - greater.sum(axis=0, dtype=np.float64)


def _signs(m: int, seed: int) -> Floats:
    """Signs of rows, the rows as they are first; to turn all of them changes no absolute mean."""
    if m <= _ENUMERATED:
        return np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=m - 1)])
    drawn = np.random.default_rng(seed).choice([1.0, -1.0], size=(_FLIPS, m))
    drawn[0] = 1.0
    return drawn


def _certain(differences: Floats, signs: Floats, alpha: float) -> NDArray[np.bool_]:
    """Which comparisons count, errors of any kind being made with probability ``alpha`` at most."""
    seen = np.abs(differences.sum(axis=0))
    sure = np.zeros(seen.size, dtype=bool)
    while not sure.all():
        open_ = differences[:, ~sure]
        parts = [signs[start : start + _CHUNK] for start in range(0, len(signs), _CHUNK)]
        greatest = np.sort(np.concatenate([np.abs(part @ open_).max(axis=1) for part in parts]))
        as_great = len(signs) - np.searchsorted(greatest, seen - _EQUAL)
        more = ~sure & (as_great <= alpha * len(signs) + _EQUAL)
        if not more.any():
            break
        sure |= more
    return sure


def clustered_ranks(
    values: ArrayLike, cluster: ArrayLike, *, level: float = 0.95
) -> tuple[Floats, Floats, Floats]:
    r"""Rank clusters by the mean share of their members, with simultaneous intervals of all ranks.

    Two clusters differ where :math:`|\bar x_c - \bar x_d|` exceeds :math:`t\sqrt{v_c/n_c + v_d/n_d}`: the
    tail beyond :math:`t`, with Satterthwaite's degrees of freedom, is that of a normal variable beyond
    :math:`q/\sqrt2`, :math:`q` the quantile of the range of as many normal variables (Tukey and Kramer). What
    varies within a cluster is learned from all: :math:`u_c = φ\tilde x_c(1-\tilde x_c)` with
    :math:`φ = Σ(n_c-1)s_c^2 / Σ(n_c-1)(\bar x_c(1-\bar x_c) + s_c^2/n_c)` and
    :math:`\tilde x_c = (n_c\bar x_c + \frac12)/(n_c + 1)`; :math:`v_c` is the larger of it and of
    :math:`(2u_c + (n_c-1)s_c^2)/(n_c+1)`, on :math:`n_c + 1` degrees of freedom.

    values, cluster: A share in [0, 1] and a cluster, numbered from 0, of each member, shapes ``(m,)``.
    Returns rank, low, high: Shape ``(clusters,)``. Rank 1 has the greatest mean; ties share their mean rank.
    Undefined: NaN intervals with fewer than two clusters, and where no cluster has members that differ.
    Source: Tukey (1953) and Kramer (1956), Biometrics 12; Smyth (2004), Stat. Appl. Genet. Mol. Biol. 3
        (variances that borrow); Klein, Wright and Wieczorek (2020), JRSS C 69 (ranks of all at once).
    """
    x, code = np.asarray(values, np.float64), np.asarray(cluster, np.int64)
    n = np.bincount(code).astype(np.float64)
    mean = np.bincount(code, x) / n
    ranks = mid_ranks(-np.round(mean, 12))
    none = np.full(n.size, np.nan)
    squares = np.bincount(code, (x - mean[code]) ** 2)
    if n.size < 2 or float(squares.sum()) <= _EQUAL:
        return ranks, none, none.copy()
    own = squares / np.maximum(n - 1, 1)
    spread = float(squares.sum()) / float(((n - 1) * (mean * (1 - mean) + own / n)).sum())
    middle = (n * mean + 0.5) / (n + 1)
    pooled = spread * middle * (1 - middle)
    freedom = n + 1
    error = np.maximum(pooled, (2 * pooled + squares) / freedom) / n
    both = error[:, None] + error
    of_both = both**2 / (error[:, None] ** 2 / freedom[:, None] + error**2 / freedom)
    reach = -special.stdtrit(of_both, special.ndtr(-_range_quantile(n.size, level) / np.sqrt(2))) * np.sqrt(
        both
    )
    greater = mean[:, None] - mean > reach
    return ranks, 1.0 + greater.sum(axis=0), n.size - greater.sum(axis=1, dtype=np.float64)


@lru_cache(maxsize=256)
def _range_quantile(k: int, level: float) -> float:
    """Quantile of the range of ``k`` independent standard normal variables."""
    from scipy import optimize  # noqa: PLC0415

    z = np.linspace(-8.5, 8.5, 1701)
    density = k * np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    below = special.ndtr(z)

    def beyond(q: float) -> float:
        return float((density * (below - special.ndtr(z - q)) ** (k - 1)).sum()) - level

    return float(optimize.brentq(beyond, 0.0, 17.0))


def rank_agreement(
    scores: ArrayLike, *, level: float = 0.95, n_permutations: int = 10_000, seed: int = 0
) -> tuple[float, float, float, float]:
    r"""Mean pairwise Spearman correlation between rows, with interval and test.

    With each row's ranks centred and scaled to length 1, :math:`z_i`,
    :math:`\bar ρ = (\lVert Σ_i z_i \rVert^2 - m)/(m(m-1))`. The interval is the jackknife over rows with t on
    m − 1 degrees of freedom, on the logit scale between −1/(m − 1) and 1. The test shuffles each row; it is
    one-sided, towards agreement, and depends on no order of rows or columns.

    scores: Shape ``(m, k)``, without NaN. Rows that do not vary are left out.
    Returns agreement, low, high, p: Agreement in [−1/(m−1), 1]; 0 is expected of rows that have nothing to do
        with one another.
    Undefined: All NaN with fewer than two rows that vary; the interval with fewer than three, or where
        leaving out any row leaves the same.
    Source: Kendall and Babington Smith (1939), Ann. Math. Statist. 10; Arvesen (1969), the same 40.
    """
    table = _table(scores)
    ranks = mid_ranks(np.round(table, 12))
    centred = ranks - ranks.mean(axis=1, keepdims=True) if table.size else ranks
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    z = (centred / np.where(length > 0, length, 1.0))[length[:, 0] > 0]
    m = z.shape[0]
    if m < 2:
        return np.nan, np.nan, np.nan, np.nan
    observed = float(_mean_correlation(z.sum(axis=0), m))
    # What is shuffled starts in the order of its values: names of columns and rows decide nothing.
    sorted_ = np.sort(np.round(z, 12), axis=1)
    start = sorted_[np.lexsort(sorted_.T)]
    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(np.broadcast_to(start, (n_permutations, *z.shape)).copy(), axis=2)
    p = (1 + int(np.sum(_mean_correlation(shuffled.sum(axis=1), m) >= observed - _EQUAL))) / (
        1 + n_permutations
    )
    if m < _MIN_ROWS:
        return observed, np.nan, np.nan, p
    left = _mean_correlation(z.sum(axis=0) - z, m - 1)
    reach = (m - 1) * float(left.std(ddof=1)) / np.sqrt(m) * float(special.stdtrit(m - 1, 0.5 + level / 2))
    if reach <= _EQUAL:
        return observed, np.nan, np.nan, p
    least = -1.0 / (m - 1)
    below, above = max(observed - least, _EQUAL), max(1.0 - observed, _EQUAL)
    at, far = np.log(below / above), reach * (1 / below + 1 / above)
    low, high = least + (1 - least) * special.expit([at - far, at + far])
    return observed, float(low), float(high), p


def _mean_correlation(sums: Floats, m: int) -> Floats:
    """Mean pairwise correlation of ``m`` rows of length 1, from their sums, shape ``(…, k)``."""
    return np.asarray(((sums**2).sum(axis=-1) - m) / (m * (m - 1)))


def _table(scores: ArrayLike) -> Floats:
    table = np.asarray(scores, np.float64)
    if table.ndim != 2 or np.isnan(table).any():
        raise UsageError("scores must be a table of rows and columns without missing values")
    return table
