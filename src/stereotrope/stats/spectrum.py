"""How much of what varies among vectors lies along a direction: from sums over these, in one pass."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stereotrope.errors import UsageError
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import jackknife_interval

_AT_ONCE = 2_048
"""Vectors whose products are summed in their own precision before they enter the double-precision sums."""


@dataclass(frozen=True)
class GramSums:
    r"""Sums over vectors, by block: how many, :math:`Σ x`, and :math:`Σ x x^⊤`, in double precision.

    Memory is that of ``blocks`` matrices of ``d × d``, however many vectors there are.

    n, sums, products: Shapes ``(blocks,)``, ``(blocks, d)`` and ``(blocks, d, d)``.
    """

    n: Floats
    sums: Floats
    products: Floats

    @classmethod
    def empty(cls, d: int, blocks: int = 1) -> "GramSums":
        """Sums over no vectors of length ``d``."""
        return cls(np.zeros(blocks), np.zeros((blocks, d)), np.zeros((blocks, d, d)))

    def add(self, x: ArrayLike, blocks: ArrayLike = 0) -> None:
        """Add vectors, the rows of ``x``, each to its block."""
        rows = np.asarray(x)
        if not np.issubdtype(rows.dtype, np.floating):
            rows = rows.astype(np.float64)
        codes = np.broadcast_to(np.asarray(blocks, np.int64), len(rows))
        for block in np.unique(codes):
            part = rows if np.ndim(blocks) == 0 else rows[codes == block]
            self.n[block] += len(part)
            for start in range(0, len(part), _AT_ONCE):
                some = part[start : start + _AT_ONCE]
                self.sums[block] += some.sum(axis=0, dtype=np.float64)
                self.products[block] += some.T @ some

    def gram(self, *, centre: bool, without: int | None = None) -> Floats:
        r"""Return :math:`Σ x x^⊤` over all blocks but one; where centred, of vectors less their mean."""
        kept = np.arange(len(self.n)) != (-1 if without is None else without)
        n, whole = float(self.n[kept].sum()), self.products[kept].sum(axis=0)
        if not centre or n == 0:
            return np.asarray(whole)
        mean = self.sums[kept].sum(axis=0) / n
        return np.asarray(whole - n * np.outer(mean, mean))


def weighted_alignment(gram: ArrayLike, directions: ArrayLike) -> Floats:
    r"""WALS: :math:`Σ_i σ_i |δ^⊤ u_i| / Σ_j σ_j` of each direction, from :math:`G = X^⊤X`.

    :math:`σ_i^2` and :math:`u_i` are eigenvalues and eigenvectors of :math:`G`; the paper's :math:`δ^⊤u_i`
    has an arbitrary sign, so its size is taken. Eigenvalues within rounding of 0 count as 0.

    gram: Shape ``(d, d)``, symmetric (:meth:`GramSums.gram`).
    directions: Shape ``(d, m)``, a direction a column; any length.
    Returns: Shape ``(m,)``, each in [0, 1].
    Undefined: NaN where no vector varies, and for a direction of length 0.
    Source: Dehdashtian et al. (2025), OASIS, eq. 7.

    >>> weighted_alignment([[9.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 2.0]]).round(3).tolist()
    [0.75, 0.25]
    """
    g, of = np.asarray(gram, np.float64), np.asarray(directions, np.float64)
    values, vectors = np.linalg.eigh(g)
    return _alignment(values, vectors, of)


def alignment_of_vectors(x: ArrayLike, directions: ArrayLike, *, centre: bool) -> Floats:
    """:func:`weighted_alignment` of the rows of ``x``, where these are fewer than they are long."""
    rows = np.asarray(x, np.float64)
    rows = rows - rows.mean(axis=0) if centre and len(rows) else rows
    if not len(rows):
        return np.full(np.shape(directions)[1], np.nan)
    _, sizes, vectors = np.linalg.svd(rows, full_matrices=False)
    return _alignment(sizes**2, vectors.T, np.asarray(directions, np.float64))


def _alignment(values: Floats, vectors: Floats, directions: Floats) -> Floats:
    most, d = float(values.max(initial=0.0)), len(vectors)
    if most <= d * np.finfo(np.float64).tiny:
        return np.full(directions.shape[1], np.nan)
    sizes = np.sqrt(np.where(values > d * np.finfo(np.float64).eps * most, values, 0.0))
    lengths = np.linalg.norm(directions, axis=0)
    along = np.abs(
        vectors.T @ np.where(lengths > 0, directions / np.where(lengths > 0, lengths, 1.0), np.nan)
    )
    return np.asarray(np.minimum(sizes @ along / sizes.sum(), 1.0))


def alignment_interval(
    values: ArrayLike, left_out: ArrayLike, *, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Student's intervals of alignments by the jackknife over blocks, cut to [0, 1].

    values, left_out: Shapes ``(m,)`` and ``(blocks, m)``: the score of all, and without each block.
    Returns low, high: As :func:`~stereotrope.stats.jackknife_interval`, a number a direction.
    """
    ends = [
        jackknife_interval(float(value), without, level=level)
        for value, without in zip(np.asarray(values), np.asarray(left_out).T, strict=True)
    ]
    low, high = np.array(ends, np.float64).reshape(-1, 2).T
    return np.maximum(low, 0.0), np.minimum(high, 1.0)


def alignment_floor(d: int) -> float:
    r"""Mean of :func:`weighted_alignment` over all directions, whatever the vectors.

    :math:`E|δ^⊤u| = \frac{Γ(d/2)}{\sqrt π\, Γ((d+1)/2)}` for :math:`δ` even on the sphere and any :math:`u`.

    >>> round(alignment_floor(768), 4), alignment_floor(1)
    (0.0288, 1.0)
    """
    if d < 1:
        raise UsageError(f"alignment_floor: vectors must have at least one number, found {d}")
    return float(np.exp(special.gammaln(d / 2) - special.gammaln((d + 1) / 2)) / np.sqrt(np.pi))


def class_direction(x: ArrayLike, labels: ArrayLike) -> Floats:
    r"""Direction of the greatest change between classes: linear supervised PCA.

    The leading eigenvector of :math:`Z H K_Y H Z^⊤` with :math:`K_Y` 1 where two labels are the same. Of two
    classes it is that of the difference of their means, and points to the class whose label sorts last.

    x, labels: Shape ``(m, d)``, and ``(m,)``.
    Returns: Shape ``(d,)``, at unit length.
    Undefined: NaN where there are not two classes, or their means are the same.
    Source: Barshan et al. (2011), Pattern Recognition 44; OASIS, eq. 12 to 14.
    """
    z = np.asarray(x, np.float64)
    classes, code = np.unique(np.asarray(labels), return_inverse=True)
    centred = z - z.mean(axis=0) if len(z) else z
    sums = np.zeros((len(classes), z.shape[1]))
    np.add.at(sums, code, centred)
    scale = float(np.abs(z).max(initial=0.0)) * max(len(z), 1)
    if len(classes) < 2 or np.linalg.norm(sums) <= 1e-12 * scale:
        return np.full(z.shape[1], np.nan)
    direction = np.linalg.svd(sums, full_matrices=False)[2][0]
    return np.asarray(direction if sums[-1] @ direction > 0 else -direction)


def kernel_alignment(
    x: ArrayLike, aware: ArrayLike, labels: ArrayLike, *, width: float | None = None, centre: bool = False
) -> float:
    r"""WALS along a direction that bends: in the feature space of a Gaussian kernel.

    With :math:`K = k(Z, Z)` of the pictures that are labelled, :math:`v` the leading eigenvector of
    :math:`K H K_Y H K` and :math:`δ = Σ_j v_j φ(z_j)`; :math:`σ_i, α_i` from the kernel matrix of ``x``,
    whose :math:`u_i = Σ_n α_{in} φ(x_n)/σ_i`, so that :math:`σ_i δ^⊤u_i = v^⊤ k(Z, X) α_i`.

    x, aware: Vectors of the pictures, shape ``(n, d)``, and of those that are labelled, shape ``(m, d)``.
    labels: Of these, shape ``(m,)``.
    width: Of the kernel; the median distance of labelled pictures unless given.
    Returns: In [0, 1]. Memory and time grow with the square and the cube of ``n``.
    Undefined: NaN where there are not two classes or nothing varies.
    Source: OASIS, eq. 15 and 16; Schölkopf, Smola and Müller (1998), Neural Computation 10.
    """
    pictures, z = np.asarray(x, np.float64), np.asarray(aware, np.float64)
    classes, code = np.unique(np.asarray(labels), return_inverse=True)
    if len(classes) < 2 or not len(pictures):
        return float("nan")
    apart = _squares(z, z)
    if width is None:
        width = float(np.sqrt(np.median(apart[np.triu_indices(len(z), 1)])))
    if not width > 0:
        return float("nan")
    between, own, across = (
        np.exp(-squares / (2 * width**2))
        for squares in (apart, _squares(pictures, pictures), _squares(z, pictures))
    )
    one_hot = (code[:, None] == np.arange(len(classes))).astype(np.float64)
    spread = between @ (one_hot - one_hot.mean(axis=0))
    v = np.linalg.svd(spread, full_matrices=False)[0][:, 0]
    length = float(np.sqrt(max(v @ between @ v, 0.0)))
    if centre:
        across = across - across.mean(axis=1, keepdims=True)
        own = own - own.mean(axis=0) - own.mean(axis=1)[:, None] + own.mean()
    values, alpha = np.linalg.eigh(own)
    kept = values > len(own) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    total = float(np.sqrt(values[kept]).sum())
    if not length > 0 or not total > 0:
        return float("nan")
    along = np.abs(v @ across @ alpha[:, kept]) / length
    return float(min(along.sum() / total, 1.0))


def _squares(a: Floats, b: Floats) -> NDArray[np.float64]:
    """Squared distances of every two."""
    both = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.maximum(both, 0.0))
