"""Shares of what people would say, from their labels of a few things and an annotator's of many."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from stereotrope.errors import UsageError
from stereotrope.stats.arrays import Floats
from stereotrope.stats.intervals import normal_quantile


class PoweredShare(NamedTuple):
    """A prediction-powered share.

    value: In [0, 1].
    n_effective: Independent labels of people that would tell as much.
    tuning: λ, how far the annotator's labels are used: 0 not at all, 1 as those of people.
    """

    value: Floats
    n_effective: Floats
    tuning: Floats


def prediction_powered_share(
    labelled: ArrayLike, unlabelled: ArrayLike, *, clustered: bool = False, level: float = 0.95
) -> PoweredShare:
    r"""Share of things that people would say are so, by PPI++ with λ tuned to the least variance.

    With :math:`y` what people say (0 or 1), :math:`f` what the annotator says, ``n`` things that both saw and
    ``N`` that the annotator alone did, :math:`θ = \bar y_n + λ(\bar f_N - \bar f_n)` with
    :math:`λ = \frac{Cov(y, f)}{Var(f)} · \frac{N}{n + N}`: the mean of the annotator's labels, put right by
    what people say where both are known. Its variance is
    :math:`V = \frac{Var(y)}{n}(1 - ρ^2 \frac{N}{n + N})`, :math:`ρ` the correlation of both; the effective
    number is :math:`n^* = Var(y)/V`, which grows from ``n`` to :math:`n + N` with :math:`ρ`.
    Give :math:`θ n^*` and :math:`n^*` to :func:`~stereotrope.stats.wilson` or ``newcombe``.

    Variances and λ are those of the table of both with :math:`z^2` made-up things added that are shared out
    as if :math:`y` and :math:`f` had nothing to do with each other (3.84 at 0.95, after Agresti and Coull).
    Errors that few labels did not show are so not taken for absent, and λ is shrunk to 0 where few labels
    speak for it. Clusters add to V what the variance between the clusters' sums
    :math:`Σ_{lab}(y - λf - \bar r)/n + λ Σ_{unlab}(f - \bar f_N)/N` has beyond that of things alone, and
    :math:`n^*` is multiplied by :math:`(z/t_{m-1})^2`, ``m`` the clusters with labels of people.

    labelled: Shape ``(…, M, 2, 2)``: how often, in each unit, people (rows) and the annotator (columns) said
        0 and 1.
    unlabelled: Shape ``(…, M, 2)``: how often the annotator said 0 and 1 of things that people did not label.
    clustered: Whether the ``M`` units are clusters, whose things are alike. Else only their sum counts.
    level: Nominal coverage of the interval that it is for.
    Returns: Arrays of shape ``(…)``. With N = 0, or where :math:`y` and :math:`f` have nothing to do with
        each other, the share of the labels of people and about ``n``.
    Undefined: NaN without a labelled thing, and, where ``clustered``, with fewer than two clusters of them.
    Coverage, in 225 cases of 20 to 200 labels, 200 to 5,000 things, shares 0.05 to 0.9 and accuracies of 0.6
        to 0.99: at least 0.91, 0.93 in all but three (share 0.05, accuracy 0.95 and more); above 0.97 in a
        quarter, where the annotator errs least. Intervals are never wider than Wilson's of the labels alone
        (docs/explanation/annotator-errors.md).
    Source: Angelopoulos, Duchi and Zrnic (2023), PPI++, arXiv:2311.01453 (power tuning of a mean);
        Agresti and Coull (1998), The American Statistician 52 (made-up things).

    >>> both, alone = [[[9, 1], [2, 8]]], [[200, 200]]
    >>> powered = prediction_powered_share(both, alone)
    >>> round(float(powered.value), 3), round(float(powered.n_effective), 1)
    (0.528, 29.9)
    """
    both, alone = _counted(labelled, unlabelled)
    table, machine = both.sum(axis=-3), alone.sum(axis=-2)
    n, more = table.sum(axis=(-2, -1)), machine.sum(axis=-1)
    yes, said = table[..., 1, :].sum(axis=-1), table[..., :, 1].sum(axis=-1)
    safe, others = np.where(n > 0, n, 1.0), np.where(more > 0, more, 1.0)
    p, q, weight = _moments(table, (said + machine[..., 1] + 0.5) / (n + more + 1), level)
    covariance = weight[..., 1, 1] - p * q
    used = more / (safe + more)
    tuning = covariance / (q * (1 - q)) * used
    far = machine[..., 1] / others
    value = np.clip(yes / safe + tuning * (far - said / safe), 0.0, 1.0)
    spread = p * (1 - p)
    variance = spread / safe * (1 - covariance**2 / (spread * q * (1 - q)) * used)
    factor = np.where(n > 0, 1.0, np.nan)
    if clustered:
        with_labels = (both.sum(axis=(-2, -1)) > 0).sum(axis=-1)
        variance = variance + _between(both, alone, tuning)
        t = special.stdtrit(np.maximum(with_labels - 1, 1), 0.5 + level / 2)
        factor = np.where(with_labels > 1, (normal_quantile(level) / t) ** 2, np.nan) * factor
    n_effective = np.minimum(spread / variance, n + more) * factor
    return PoweredShare(value + 0 * factor, n_effective, tuning + 0 * factor)


def _moments(table: Floats, q: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """Shares of y and f and the table of both, with made-up things in which they are independent."""
    n = table.sum(axis=(-2, -1))
    p = (table[..., 1, :].sum(axis=-1) + 0.5) / (n + 1)
    made_up = np.stack([1 - p, p], axis=-1)[..., :, None] * np.stack([1 - q, q], axis=-1)[..., None, :]
    weight = normal_quantile(level) ** 2
    joint = (table + weight * made_up) / (n + weight)[..., None, None]
    return joint[..., 1, :].sum(axis=-1), joint[..., :, 1].sum(axis=-1), joint


def _between(both: Floats, alone: Floats, tuning: Floats) -> Floats:
    """Variance of the sums of clusters beyond that of things alone, at least 0."""
    table, machine = both.sum(axis=-3), alone.sum(axis=-2)
    n = np.maximum(table.sum(axis=(-2, -1)), 1.0)
    more = np.maximum(machine.sum(axis=-1), 1.0)
    tuned, far = tuning[..., None], (machine[..., 1] / more)[..., None]
    mean = (table[..., 1, :].sum(axis=-1) - tuning * table[..., :, 1].sum(axis=-1)) / n
    residual = both[..., 1, :].sum(axis=-1) - tuned * both[..., :, 1].sum(axis=-1)
    residual = (residual - mean[..., None] * both.sum(axis=(-2, -1))) / n[..., None]
    residual += tuned * (alone[..., 1] - far * alone.sum(axis=-1)) / more[..., None]
    m = both.shape[-3]
    of_clusters = m / max(m - 1, 1) * (residual**2).sum(axis=-1)
    squares = (table[..., 1, 0] + table[..., 1, 1] * (1 - tuning) ** 2 + table[..., 0, 1] * tuning**2) / n
    of_things = (squares - mean**2) / n + tuning**2 * (far * (1 - far))[..., 0] / more
    return np.asarray(np.maximum(of_clusters - of_things, 0.0))


def _counted(labelled: ArrayLike, unlabelled: ArrayLike) -> tuple[Floats, Floats]:
    both, alone = np.asarray(labelled, np.float64), np.asarray(unlabelled, np.float64)
    if both.ndim < 3 or both.shape[-2:] != (2, 2) or alone.shape != both.shape[:-1]:
        raise UsageError(
            "prediction_powered_share: labelled needs shape (…, M, 2, 2) and unlabelled (…, M, 2), found "
            f"{both.shape} and {alone.shape}"
        )
    if (both < 0).any() or (alone < 0).any():
        raise UsageError("prediction_powered_share: counts must be 0 or more; pass counts, not differences")
    return both, alone
