"""True shares behind the labels of an annotator whose errors are known from a sample."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats

_PRIOR = 0.5
"""Jeffreys' prior of two classes: of what a share or an error rate is about, and of all else together."""

_SINGULAR = 1e-6
"""Least singular value, against the greatest, from which rows of error rates count as different."""


def corrected_shares(counts: ArrayLike, confusion: ArrayLike) -> Floats:
    """Shares of the true values, from counts of labels and the annotator's confusion matrix.

    With :math:`q_v` the share of label ``v`` and :math:`M_{rv}` the share of label ``v`` among the checked
    things that truly are ``r``, labels have :math:`q = πM`, so that :math:`π = qM^{+}` (pseudo-inverse), then
    the nearest point with shares that are not negative and sum to 1. For two values this is Rogan and
    Gladen's :math:`(q + Sp - 1)/(Se + Sp - 1)`, cut at 0 and 1.

    counts: Shape ``(C,)``: how often each label was given.
    confusion: Shape ``(R, C)``: how often, in the checked sample, each label was given to each true value.
    Returns: Shape ``(R,)``, in [0, 1], sum 1.
    Undefined: NaN where nothing was labelled, a true value was never checked, or the matrix cannot be
        inverted (:func:`is_invertible`): the annotator labels some true values alike.
    Raises UsageError: The shapes do not fit, or a count is negative.
    Source: Rogan and Gladen (1978), Am. J. Epidemiology 107; Tenenbein (1972), Technometrics 14.
    """
    seen, matrix = _tables(counts, confusion)
    if seen.sum() <= 0 or not is_invertible(matrix):
        return np.full(len(matrix), np.nan)
    return onto_simplex(seen / seen.sum() @ np.linalg.pinv(matrix / matrix.sum(axis=1, keepdims=True)))


def is_invertible(confusion: ArrayLike) -> bool:
    """Whether every true value was checked and no mixture of true values is labelled like another one.

    confusion: Shape ``(R, C)``, counts of labels (columns) by true value (rows).
    """
    matrix = np.asarray(confusion, dtype=np.float64)
    if not matrix.size or matrix.shape[1] < matrix.shape[0] or (matrix.sum(axis=1) <= 0).any():
        return False
    singular = np.linalg.svd(matrix / matrix.sum(axis=1, keepdims=True), compute_uv=False)
    return bool(singular[-1] > _SINGULAR * singular[0])


def resampled_shares(
    counts: ArrayLike,
    confusion: ArrayLike,
    *,
    own: Sequence[int] | None = None,
    n_resamples: int = 2_000,
    seed: int = 0,
) -> Floats:
    """Corrected shares that the counts of both samples are compatible with, for intervals.

    Label shares and each row of error rates are drawn independently from their Dirichlet distributions
    given the counts, with a prior that weighs one thing in all. Of error rates it is spread evenly. Of label
    shares it is Jeffreys' for two classes, drawn for each true value in turn: half for the label that names
    it, half spread over the others; spread evenly, it would press a share down that no label showed. Each
    share of a draw is cut at 0 and 1 by itself: moving a draw to the nearest shares would press small ones
    down. Quantiles of a column are an interval of its share; it has a width where an error was never seen.

    counts, confusion: As for :func:`corrected_shares`; effective numbers are allowed.
    own: Column of the label that names each true value; the first ``R`` in order when None.
    Returns: Shape ``(n_resamples, R)``, in [0, 1]; NaN where :func:`corrected_shares` is undefined.
    Source: Flor, Weiß, Selhorst, Müller-Graf and Greiner (2020), BMC Public Health 20.
    """
    seen, matrix = _tables(counts, confusion)
    if seen.sum() <= 0 or not is_invertible(matrix):
        return np.full((n_resamples, len(matrix)), np.nan)
    n_true, n_labels = matrix.shape
    named = list(range(n_true)) if own is None else list(own)
    others = _PRIOR / max(n_labels - 1, 1)
    rng = np.random.default_rng([seed, 1])
    # Dirichlet shares are gammas over their sum; one that is added raises the prior of a single label.
    drawn = rng.standard_gamma(seen + others, size=(n_resamples, n_labels))
    added = rng.standard_gamma(_PRIOR - others, size=(n_resamples, n_true))
    inverses = _inverses(tuple(map(tuple, matrix.tolist())), n_resamples, seed)
    weighed = (drawn[:, None, :] @ inverses)[:, 0, :] + added * inverses[:, named, range(n_true)]
    return np.asarray(np.clip(weighed / (drawn.sum(axis=1, keepdims=True) + added), 0.0, 1.0))


@lru_cache(maxsize=8)
def _inverses(rows: tuple[tuple[float, ...], ...], n_resamples: int, seed: int) -> Floats:
    """Inverses of drawn error rates; every cell of an attribute uses the same ones."""
    matrix = np.asarray(rows)
    prior = 2 * _PRIOR / matrix.shape[1]
    rng = np.random.default_rng([seed, 2])
    rates = np.stack([rng.dirichlet(row + prior, size=n_resamples) for row in matrix], axis=1)
    inverses = np.linalg.pinv(rates).astype(np.float64)
    inverses.flags.writeable = False
    return inverses


def onto_simplex(points: ArrayLike) -> Floats:
    """The nearest shares to each point: none negative, sum 1.

    points: Shape ``(…, R)``.
    Source: Held, Wolfe and Crowder (1974), Mathematical Programming 6, section 2.
    """
    given = np.asarray(points, dtype=np.float64)
    falling = -np.sort(-given, axis=-1)
    over = (np.cumsum(falling, axis=-1) - 1) / np.arange(1, given.shape[-1] + 1)
    kept = (falling > over).sum(axis=-1, keepdims=True)
    return np.maximum(given - np.take_along_axis(over, np.maximum(kept - 1, 0), axis=-1), 0.0)


def _tables(counts: ArrayLike, confusion: ArrayLike) -> tuple[Floats, Floats]:
    seen, matrix = np.asarray(counts, np.float64), np.asarray(confusion, np.float64)
    if matrix.ndim != 2 or seen.ndim != 1 or seen.size != matrix.shape[1]:
        raise UsageError(
            "corrected_shares: the confusion matrix needs one row a true value and one column a label, found "
            f"shape {matrix.shape} for {seen.size} counts"
        )
    if (seen < 0).any() or (matrix < 0).any():
        raise UsageError("corrected_shares: counts must be 0 or more; pass counts, not differences")
    return seen, matrix
