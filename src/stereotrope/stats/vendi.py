"""How many different things there are: the Vendi score, plain and resampled, and vectors of texts."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.stats import special
from stereotrope.stats.arrays import Floats

_UNBLOCKED = 200
"""Rows up to which eigenvalues are taken without blocks: LAPACK's blocked reduction wakes threads that cost
more than they save, twenty times more at 64 to 100 rows on a busy machine."""

_ONE_THREAD = 8_000
"""Elements of a matrix that BLAS multiplies with a vector on one thread."""

MOST_PARTS = 100
"""Parts of its items that a score is computed without for its interval: units of more are put together."""
_GRID = np.linspace(np.log(1e-13), np.log(1e13), 121)
"""Logarithms at which an integral is summed: singularities lie π from the real line, so that steps of 0.5 err
by exp(−2π²/0.5); beyond the ends less than rounding is left."""


def vendi_score(vectors: ArrayLike) -> float:
    r"""Vendi score of unit vectors: the effective number of different ones.

    :math:`\exp(-\sum_j λ_j \ln λ_j)` with :math:`λ_j` the eigenvalues of :math:`XX^T/n`. They are those
    of :math:`X^TX/n` but for zeros, so the smaller of the two is taken, and all its eigenvalues.

    vectors: Unit vectors :math:`X`, shape (n, d); any embedding, of captions or of pictures.
    Returns: In [1, n]: 1 where all are the same, n where all are orthogonal. NaN where n = 0.
    Source: Friedman and Dieng (2023), The Vendi Score, TMLR, eq. 1.
    """
    x = np.asarray(vectors, np.float64)
    if not len(x):
        return float("nan")
    gram = x @ x.T if x.shape[0] <= x.shape[1] else x.T @ x
    return float(np.exp(_entropy(_eigenvalues(gram / len(x)))))


def vendi_of_kernel(kernel: ArrayLike) -> float:
    """Vendi score of items known by their similarities, positive semi-definite, ones on the diagonal."""
    k = np.asarray(kernel, np.float64)
    return float(np.exp(_entropy(_eigenvalues(k / len(k))))) if len(k) else float("nan")


def vendi_scores(kernel: ArrayLike, weights: ArrayLike) -> Floats:
    r"""Vendi scores of resamples of one kernel.

    The score of the items with weights :math:`w_i/W`, :math:`W = \sum_i w_i`, is that of the kernel
    :math:`\sqrt{w_i w_j} K_{ij} / W` over the items that were drawn: an item drawn twice is one item of
    weight 2, so that about 63% of the rows of a bootstrap remain, and all their eigenvalues are taken.

    kernel: Similarities :math:`K` with ones on the diagonal, shape (n, n).
    weights: How often each item was drawn, shape (n, B).
    Returns: Shape (B,). NaN where nothing was drawn.
    """
    k = np.asarray(kernel, np.float64)
    w = np.asarray(weights, np.float64)
    scores = np.full(w.shape[1], np.nan)
    for column, weight in enumerate(w.T):
        drawn = np.flatnonzero(weight > 0)
        if len(drawn):
            root = np.sqrt(weight[drawn] / weight.sum())
            part = k[np.ix_(drawn, drawn)] * np.outer(root, root)
            scores[column] = np.exp(_entropy(_eigenvalues(part)))
    return scores


def vendi_without(vectors: ArrayLike, parts: ArrayLike) -> Floats:
    """Vendi scores without each part of the items in turn.

    vectors: Unit vectors, shape (n, d).
    parts: Of each item, numbers from 0 on, shape (n,).
    Returns: Shape (number of parts,). NaN where nothing is left.
    """
    x, part = np.asarray(vectors, np.float64), np.asarray(parts, np.int64)
    if x.shape[0] <= x.shape[1]:
        return vendi_scores(x @ x.T, part[:, None] != np.arange(part.max() + 1))
    gram, scores = x.T @ x, []
    for of in range(part.max() + 1):
        own = x[part == of]
        left = len(x) - len(own)
        without = (gram - own.T @ own) / max(left, 1)
        scores.append(np.exp(_entropy(_eigenvalues(without))) if left else np.nan)
    return np.array(scores)


def vendi_left_out(kernel: ArrayLike, unseen: int = 0) -> Floats:
    r"""Vendi scores with each item left out once, all from one decomposition.

    With :math:`λ_j` and :math:`u_j` the eigenvalues and eigenvectors of :math:`K`, the eigenvalues
    :math:`μ_j` of :math:`K` without item :math:`i` satisfy

    .. math:: \sum_j μ_j \ln μ_j = \sum_j λ_j \ln λ_j
              - \int_0^\infty \ln\Bigl(1 + \sum_j \frac{u_{ij}^2 (1 - λ_j)}{x + λ_j}\Bigr)\,dx,

    since :math:`\det(x + K_{-i}) = \det(x + K)\,[(x + K)^{-1}]_{ii}` and
    :math:`\int_0^X \ln(x + λ)\,dx` is known. In :math:`\ln x` the integrand is smooth and vanishes at both
    ends, so that the sum over a grid is exact to rounding.

    kernel: Similarities :math:`K` with ones on the diagonal, shape (n, n).
    unseen: Made-up items beside the others, like no other; each is left out once too.
    Returns: Shape (n + unseen,), the made-up ones last. Empty where n = 0, NaN where nothing is left.
    Source: Horn and Johnson (2013), Matrix Analysis, 2nd ed., section 0.8.4, for the determinant.
    """
    k = np.asarray(kernel, np.float64)
    n = len(k)
    left = n + unseen - 1
    if not n:
        return np.empty(0)
    if not left:
        return np.full(n, np.nan)
    values, vectors = _eigenvectors(k)
    values = np.maximum(values, 0.0)
    x = np.exp(_GRID)
    # Not by BLAS: the threads it wakes for products of this size cost more than they save.
    inside = np.einsum("ij,jx->ix", vectors**2 * (1.0 - values), 1.0 / (x[None, :] + values[:, None]))
    whole = float(special.xlogy(values, values).sum())
    sums = np.full(n + unseen, whole)
    sums[:n] -= np.einsum("ix,x->i", np.log1p(inside), x) * (_GRID[1] - _GRID[0])
    return np.asarray(np.exp(np.log(left) - sums / left), np.float64)


def vendi_influence(vectors: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    r"""By how much each item moves :func:`vendi_score`: its derivative by the item's part of all weight.

    :math:`V\,(-\sum_j (x_i^T r_j)^2 \ln λ_j - \ln V)`, with :math:`r_j` the eigenvectors of
    :math:`\sum_i w_i x_i x_i^T / \sum_i w_i`. One decomposition.

    vectors: Unit vectors, shape (n, d).
    weights: Of the items, above 0, shape (n,); all alike when None.
    Returns: Shape (n,).
    """
    x = np.asarray(vectors, np.float64)
    part = np.ones(len(x)) if weights is None else np.asarray(weights, np.float64)
    part = (part / part.sum())[:, None]
    scaled = x * np.sqrt(part)
    if len(x) <= x.shape[1]:
        values, left = np.linalg.eigh(scaled @ scaled.T)
        squares = left**2 * np.maximum(values, 0.0) / part
    else:
        values, right = np.linalg.eigh(scaled.T @ scaled)
        kept = values > 1e-12
        values, squares = values[kept], (x @ right[:, kept]) ** 2
    positive = np.maximum(values, np.finfo(np.float64).tiny)
    logarithms = np.log(positive)
    entropy = -float(positive @ logarithms)
    return np.asarray(np.exp(entropy) * (-(squares @ logarithms) - entropy))


def vendi_influences(vectors: ArrayLike, weights: Floats) -> Floats:
    """:func:`vendi_influence` over the number of items, with each column of weights, shape ``(n, k)``."""
    each = [vendi_influence(vectors, column) for column in weights.T]
    return np.stack(each, axis=1) / len(weights)


def vendi_standard_error(vectors: ArrayLike) -> float:
    """Standard error of :func:`vendi_score` by the infinitesimal jackknife.

    The root sum of squares of :func:`vendi_influence` over n: for samples too large to resample.

    vectors: Unit vectors, shape (n, d).
    Returns: 0 where all items stand alike to the others; too small below about 100 items.
    """
    influence = vendi_influence(vectors)
    error = float(np.sqrt(np.sum(influence**2)) / len(influence))
    return error if error > 1e-12 else 0.0


def _eigenvalues(symmetric: Floats) -> Floats:
    if 1 < len(symmetric) <= _UNBLOCKED:
        from scipy.linalg import lapack  # noqa: PLC0415

        _, diagonal, beside, _, _ = lapack.dsytrd(symmetric.T, lower=1, lwork=1)
        values, failed = lapack.dsterf(diagonal, beside)
        if not failed:
            return np.asarray(values, np.float64)
    return np.asarray(np.linalg.eigvalsh(symmetric), np.float64)


def _eigenvectors(symmetric: Floats) -> tuple[Floats, Floats]:
    """All eigenvalues of a symmetric matrix and, in columns, its eigenvectors."""
    n = len(symmetric)
    if not 2 < n <= _UNBLOCKED:
        values, vectors = np.linalg.eigh(symmetric)
        return np.asarray(values, np.float64), np.asarray(vectors, np.float64)
    from scipy.linalg import eigh_tridiagonal, lapack  # noqa: PLC0415

    reflectors, diagonal, beside, tau, _ = lapack.dsytrd(symmetric.T, lower=1, lwork=1)
    values, inner = eigh_tridiagonal(diagonal, beside)
    vectors = np.asfortranarray(inner)
    step = max(1, _ONE_THREAD // n)
    for start in range(0, n, step):
        part = vectors[1:, start : start + step]
        part[:] = lapack.dormqr("L", "N", reflectors[1:, : n - 1], tau, part, max(1, part.shape[1]))[0]
    return np.asarray(values, np.float64), np.asarray(vectors, np.float64)


def _entropy(eigenvalues: Floats) -> float:
    positive = np.maximum(eigenvalues, np.finfo(np.float64).tiny)
    return -float(positive @ np.log(positive))


def tfidf(documents: Sequence[Sequence[str]]) -> Any:
    r"""Unit vectors of texts by term frequency and inverse document frequency.

    Text :math:`i` has the weight :math:`t_{iw}\,(1 + \ln\frac{1 + n}{1 + d_w})` on word :math:`w`, with
    :math:`t_{iw}` the times it occurs there and :math:`d_w` the texts in which it occurs; the vector is
    then divided by its length. These are the defaults of scikit-learn's ``TfidfVectorizer``.

    documents: The words of each of :math:`n` texts.
    Returns: Shape (n, words); a text without a word is a row of zeros. ``vectors @ vectors.T`` is the cosine
        kernel.
    Source: Manning, Raghavan and Schütze (2008), Introduction to Information Retrieval, section 6.2.
    """
    from scipy import sparse  # noqa: PLC0415

    vocabulary: dict[str, int] = {}
    counted = [
        (row, vocabulary.setdefault(word, len(vocabulary)), count)
        for row, words in enumerate(documents)
        for word, count in Counter(words).items()
    ]
    n = len(documents)
    row_of, column, times = np.asarray(counted, np.int64).reshape(-1, 3).T
    held = np.bincount(column, minlength=len(vocabulary))
    weights = times * (1.0 + np.log((1.0 + n) / (1.0 + held)))[column]
    lengths = np.sqrt(np.bincount(row_of, weights**2, minlength=n))
    values = weights / lengths[row_of] if len(weights) else weights
    return sparse.csr_array((values, (row_of, column)), shape=(n, len(vocabulary)))
