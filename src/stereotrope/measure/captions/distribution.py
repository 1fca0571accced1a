"""How the groups of an attribute share the captions: shares, amplification, entropy, divergence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from stereotrope.measure.captions.formulas import (
    amplification_of,
    divergence_of,
    entropy_of,
    group_score,
    xlog2,
)
from stereotrope.measure.captions.frame import BY, Captions, register_caption
from stereotrope.measure.captions.groups import NO_GROUP, Groups, count_groups
from stereotrope.measure.captions.rows import (
    How,
    ScoreRow,
    above_floor,
    estimates_of,
    group_row,
    scored,
    shared,
    undefined,
)
from stereotrope.stats import expected_sum

ONE_GROUP = "only one group is possible"

_SOURCE = "T2I-BiasBench, eq. {}"


@register_caption(
    summary="How often captions name each group of an attribute.",
    bounds=(0.0, 1.0),
    direction="equal shares: 1/k each; higher: named more often",
    source="T2I-BiasBench, eq. 5; Wilson 1927",
)
def representation_parity(
    captions: Any,
    attribute: str,
    *,
    groups: Sequence[str] | None = None,
    unknown: bool = True,
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
) -> pl.DataFrame:
    r"""Share of captions that name each group of an attribute.

    Formula
    -------
    :math:`p_g = N_g / N`, with :math:`N_g` the captions that name group :math:`g` and :math:`N` those
    with a group that counts.

    Parameters
    ----------
    captions
        Captions frame (:func:`captions_frame`): ``image_id``, ``caption``, a column named as
        ``attribute`` and the factors in ``by``; optional ``prompt_id`` and ``excluded`` (a reason).
    attribute
        Column of labels: a group, ``unknown`` where the caption names none, or several groups joined by
        `` and ``.
    groups
        The declared groups, ``unknown`` left out; those seen in the cell when None.
    unknown
        Whether ``unknown`` is a group of its own; else such captions are left out. ``method`` says which.
    by
        Factors whose combinations are the cells.
    definition
        ``paper``: a row for each declared group. ``released``: for each group seen.
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell and ``category``; ``value`` in [0, 1], summing to 1 in a cell, with
        Wilson's interval. ``n`` counts captions with a group that counts; ``excluded`` the others:
        ``several groups named``, ``not a declared group``, ``missing``, ``unknown`` where it is out,
        ``empty caption`` …

    Undefined
    ---------
    ``no caption with a usable group`` where ``N = 0``.

    Raises
    ------
    TableError
        A column is missing, or an image stands in the frame twice.
    UsageError
        ``definition`` is unknown, or a string stands where a list belongs.

    Notes
    -----
    A group seen in 0 of 100 captions may have a share of up to 0.04. Where a cell spans several prompts
    the interval is Wilson's at the effective number, flagged ``clustered``.

    References
    ----------
    T2I-BiasBench, eq. 5; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "gender": ["female", "female", "male", "unknown"],
    ... })
    >>> found = representation_parity(frame, "gender", groups=["female", "male"])
    >>> found.select("category", "value").rows()
    [('female', 0.5), ('male', 0.25), ('unknown', 0.25)]
    """

    def rows(cell: Captions, how: How) -> list[ScoreRow]:
        counted = count_groups(cell, attribute, groups=groups, unknown=unknown, released=how.released)
        return share_rows(cell, counted, how)

    name = "representation_parity"
    return estimates_of(name, captions, rows, by, definition, level, columns=[attribute])


def share_rows(cell: Captions, counted: Groups, how: How) -> list[ScoreRow]:
    """Rows of :func:`representation_parity` of one cell."""
    row = group_row(cell, counted, how, "representation_parity", f"{_SOURCE.format(5)}; Wilson 1927")
    if not counted.n:
        return [undefined({**row, "category": name}, NO_GROUP) for name in counted.names or (None,)]
    among = counted.columns.sum(axis=0)
    made = [
        shared({**row, "category": name}, cell, how, hits, among)
        for name, hits in zip(counted.names, counted.columns, strict=True)
    ]
    return [{**found, "method": f"{counted.method}; {found['method']}"} for found in made]


@register_caption(
    summary="How far the shares of all groups are from equal ones, summed.",
    bounds=(0.0, 2.0),
    direction="0: all groups equally often; 2(1 − 1/k): one group only; too high at small n",
    source="T2I-BiasBench, eq. 9",
)
def bias_amplification(
    captions: Any,
    attribute: str,
    *,
    groups: Sequence[str] | None = None,
    unknown: bool = True,
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Summed distance of the groups' shares from equal shares.

    Formula
    -------
    :math:`BA = \sum_{j=1}^k |p_j - 1/k|`.

    Parameters
    ----------
    captions, attribute, groups, unknown, by
        As for :func:`representation_parity`; :math:`k` counts the declared groups and, unless it is left
        out, ``unknown``.
    definition
        ``paper``: as above. ``released``: :math:`k` counts the groups seen, and one group seen gives 0.
    level, n_bootstrap, seed
        As for :func:`parity_difference`.

    Returns
    -------
    polars.DataFrame
        Estimates: ``value`` in [0, 2(1 − 1/k)]; 0: all groups equally frequent. ``floor`` is its mean at
        this n when they are, in closed form; ``adjusted`` is 1 where one group has all captions.

    Undefined
    ---------
    ``no caption with a usable group``; ``only one group is possible`` (k = 1).

    Notes
    -----
    Distance from equal shares; whatever its name, it says nothing about training data. The greatest value
    grows with k (1 for two groups, 1.71 for seven). Too high at small n: 0.50 at 15 captions of seven equally
    frequent groups. The interval reaches 0 where a likelihood-ratio test does not tell the shares from
    equal ones. Under ``released`` one group only scores as all groups equally often.

    References
    ----------
    T2I-BiasBench, eq. 9.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "gender": "female",
    ... })
    >>> found = bias_amplification(frame, "gender", groups=["female", "male"], unknown=False, n_bootstrap=99)
    >>> found["value"].to_list()
    [1.0]
    """
    return _spread(
        "bias_amplification", captions, attribute, groups, unknown, by, definition, level, n_bootstrap, seed
    )


@register_caption(
    summary="How evenly captions spread over the groups.",
    bounds=(0.0, 1.0),
    direction="1: all groups equally often; 0: one group only; too low at small n",
    source="T2I-BiasBench, eq. 7",
)
def shannon_entropy(
    captions: Any,
    attribute: str,
    *,
    groups: Sequence[str] | None = None,
    unknown: bool = True,
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""How evenly the groups share the captions: entropy over its greatest.

    Formula
    -------
    :math:`H = -\frac{1}{\log_2 k} \sum_{j=1}^k p_j \log_2 p_j`.

    Parameters
    ----------
    captions, attribute, groups, unknown, by
        As for :func:`bias_amplification`.
    definition
        ``paper``: as above. ``released``: :math:`k` counts the groups seen, and one group seen gives 0.
        (Their tables print the sum in bits, not divided.)
    level, n_bootstrap, seed
        As for :func:`parity_difference`.

    Returns
    -------
    polars.DataFrame
        Estimates: ``value`` in [0, 1]; 1: all groups equally frequent, 0: one group only. ``floor`` is
        what it reads at this n when they are equally frequent; ``excess`` is below 0 where they are less
        even than that.

    Undefined
    ---------
    ``no caption with a usable group``; ``only one group is possible`` (k = 1).

    Notes
    -----
    Too low at small n, by about (k − 1)/(2n ln k): 0.12 at 15 captions of seven groups. Under
    ``released`` two groups of seven seen equally often have the entropy of seven.

    References
    ----------
    T2I-BiasBench, eq. 7.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "gender": ["female", "female", "male", "male"],
    ... })
    >>> found = shannon_entropy(frame, "gender", groups=["female", "male"], unknown=False, n_bootstrap=99)
    >>> found["value"].to_list()
    [1.0]
    """
    return _spread(
        "shannon_entropy", captions, attribute, groups, unknown, by, definition, level, n_bootstrap, seed
    )


@register_caption(
    summary="Divergence of the groups' shares from equal ones.",
    bounds=(0.0, None),
    direction="0: all groups equally often; log2 k: one group only; too high at small n",
    source="T2I-BiasBench, eq. 8",
)
def kl_from_uniform(
    captions: Any,
    attribute: str,
    *,
    groups: Sequence[str] | None = None,
    unknown: bool = True,
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Divergence of the groups' shares from equal shares, in bits.

    Formula
    -------
    :math:`KL(P \| U) = \sum_{j=1}^k p_j \log_2 (p_j k)`.

    Parameters
    ----------
    captions, attribute, groups, unknown, by
        As for :func:`bias_amplification`.
    definition
        ``paper``: as above. ``released``: in nats, and :math:`k` counts the groups seen.
    level, n_bootstrap, seed
        As for :func:`parity_difference`.

    Returns
    -------
    polars.DataFrame
        Estimates: ``value`` in [0, log2 k]; 0: all groups equally frequent. ``floor`` is its mean at this
        n when they are, in closed form; ``adjusted`` is 1 where one group has all captions.

    Undefined
    ---------
    ``no caption with a usable group``; ``only one group is possible`` (k = 1).

    Notes
    -----
    Equal to :math:`(1 - H) \log_2 k`: entropy on another scale, not further evidence. Too high at small
    n: 0.33 bits at 15 captions of seven equally frequent groups.

    References
    ----------
    T2I-BiasBench, eq. 8.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "gender": "female",
    ... })
    >>> found = kl_from_uniform(frame, "gender", groups=["female", "male"], unknown=False, n_bootstrap=99)
    >>> found["value"].to_list()
    [1.0]
    """
    return _spread(
        "kl_from_uniform", captions, attribute, groups, unknown, by, definition, level, n_bootstrap, seed
    )


def _spread(
    measure: str, captions: Any, attribute: str, groups: Sequence[str] | None, unknown: bool, *cells: Any
) -> pl.DataFrame:
    def rows(cell: Captions, how: How) -> list[ScoreRow]:
        counted = count_groups(cell, attribute, groups=groups, unknown=unknown, released=how.released)
        return spread_rows(cell, counted, how, only=measure)

    return estimates_of(measure, captions, rows, *cells, columns=[attribute])


def spread_rows(cell: Captions, counted: Groups, how: How, *, only: str | None = None) -> list[ScoreRow]:
    """Rows of bias amplification, entropy and divergence of one cell, or of one of them."""
    k = len(counted.names)
    most = np.log2(max(k, 1))
    n = counted.n
    released = how.released
    kinds = {
        "bias_amplification": (amplification_of, 9, 2.0 - 2.0 / max(k, 1)),
        "shannon_entropy": (entropy_of, 7, 1.0),
        "kl_from_uniform": (divergence_of, 8, most * np.log(2.0) if released else most),
    }
    even = bool(n) and _could_be_even(cell, counted, how)
    rows = []
    for measure, (make, equation, greatest) in kinds.items():
        if only not in (None, measure):
            continue
        row = group_row(cell, counted, how, measure, _SOURCE.format(equation))
        if not n:
            rows.append(undefined(row, NO_GROUP))
            continue
        if k < 2 and not released:
            rows.append(undefined(row, ONE_GROUP))
            continue
        score = group_score(counted.columns, make(released=released))
        limits = (0.0, float(greatest))
        row = scored(row, cell, how, score, limits=limits, method=counted.method, curved=True)
        if even and not released and row["low"] == row["low"]:
            row["high" if measure == "shannon_entropy" else "low"] = float(measure == "shannon_entropy")
        rows.append(row if released else above_floor(row, _floor(measure, n, k), float(greatest)))
    return rows


def _could_be_even(cell: Captions, counted: Groups, how: How) -> bool:
    """Whether a likelihood-ratio test does not tell the shares from equal ones."""
    bits = float(divergence_of(released=False)(counted.columns.sum(axis=1, keepdims=True))[0])
    independent = counted.n * cell.resample.n_units / cell.n
    greatest = float(special.chdtri(max(len(counted.names) - 1, 1), (1.0 - how.level) / 2.0))
    return bool(2.0 * independent * np.log(2.0) * bits <= greatest)


def _floor(measure: str, n: int, k: int) -> float:
    if measure == "bias_amplification":
        return expected_sum(lambda p: np.asarray(np.abs(p - 1.0 / k)), n, k)
    bits = -expected_sum(xlog2, n, k)
    return bits / float(np.log2(k)) if measure == "shannon_entropy" else float(np.log2(k)) - bits
