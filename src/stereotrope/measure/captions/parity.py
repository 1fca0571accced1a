"""The gap between two groups' shares, with and without its sign."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.measure.captions.formulas import group_score, parity_of
from stereotrope.measure.captions.frame import BY, Captions, register_caption
from stereotrope.measure.captions.groups import NO_GROUP, NO_SIDE, Groups, Sides, count_groups, sides_of
from stereotrope.measure.captions.rows import (
    How,
    ScoreRow,
    above_floor,
    estimates_of,
    group_row,
    scored,
    undefined,
)
from stereotrope.stats import expected_tie

DECLARED = "declared"
"""``sides`` of a parity whose sides were asked for, or are the only two groups: others compare any two."""


@register_caption(
    summary="How far apart two groups are in how often captions name them.",
    bounds=(0.0, 1.0),
    direction="0: equally often; 1: one group only; says nothing of which",
    source="T2I-BiasBench, eq. 6",
)
def parity_difference(
    captions: Any,
    attribute: str,
    *,
    groups: Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    against: Sequence[str] | str | None = None,
    unknown: bool = True,
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Distance between the shares of two groups, whichever is the larger.

    Formula
    -------
    :math:`PD(a, b) = |p_a - p_b|`.

    Parameters
    ----------
    captions, attribute, groups, unknown, by
        As for :func:`representation_parity`.
    of, against
        Groups of the first and of the second side, their shares added up; ``against="rest"`` (or None):
        every group that is not in ``of``, ``unknown`` included; ``"others"``: every declared one. Without
        ``of``, a row for every pair of groups.
    definition
        Name of the definition that the rows stand with; the formula is the same. (The authors' scripts
        take white against the rest, ``of=["white"]``, and dark and medium against fair skin,
        ``of=["dark", "medium"], against=["fair"]``, where the paper's formula has two groups.)
    level, n_bootstrap, seed
        Nominal coverage of the interval, and the resamples and their seed; 0 resamples leave it null.

    Returns
    -------
    polars.DataFrame
        Estimates: the first side in ``category``, the second in ``reference``. ``value`` in [0, 1];
        0: equally frequent, 1: one side only. ``floor`` is its mean when the captions of both sides fall
        on either equally often, ``excess`` what is above it. ``sides`` is ``declared`` where the
        sides were asked for or the declared groups are two.

    Undefined
    ---------
    ``no caption with a usable group``; ``no group of either side is seen`` where groups are those seen
    (``released``, or none declared) and none of both sides is.

    Raises
    ------
    TableError, UsageError
        As for :func:`representation_parity`; a side names a group that is not declared.

    Notes
    -----
    Reads too high at small n: 0.21 on average at 15 captions of two equally frequent groups. It cannot say
    which side leads; :func:`signed_parity` does. Two sides seldom named at all are at parity: read it beside
    the share of ``unknown``. The bootstrap makes up 2 captions on average that name any group, so that
    unanimous captions still have an interval.

    References
    ----------
    T2I-BiasBench, eq. 6.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "gender": ["female", "female", "male", "unknown"],
    ... })
    >>> found = parity_difference(frame, "gender", groups=["female", "male"], n_bootstrap=200)
    >>> found.select("category", "reference", "value").rows()
    [('female', 'male', 0.25)]
    """
    return _parity(
        "parity_difference",
        captions,
        attribute,
        groups,
        of,
        against,
        unknown,
        by,
        definition,
        level,
        n_bootstrap,
        seed,
    )


@register_caption(
    summary="How much more often captions name one group than another.",
    bounds=(-1.0, 1.0),
    direction="above 0: the first group is named more often; below 0: the second",
    source="T2I-BiasBench, sections 4.4 and 6",
)
def signed_parity(
    captions: Any,
    attribute: str,
    *,
    groups: Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    against: Sequence[str] | str | None = None,
    unknown: bool = True,
    by: Sequence[str] = BY,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""Share of one group less that of another, with its sign.

    Formula
    -------
    :math:`p_a - p_b`.

    Parameters
    ----------
    captions, attribute, groups, of, against, unknown, by, definition, level, n_bootstrap, seed
        As for :func:`parity_difference`.

    Returns
    -------
    polars.DataFrame
        Estimates: ``value`` in [−1, 1]; above 0 where the side in ``category`` is more frequent than the
        one in ``reference``. Swapping the sides flips the sign.

    Undefined
    ---------
    As for :func:`parity_difference`.

    Notes
    -----
    Not biased at any n. The paper recommends a signed term because its composite score calls a model that
    shows only women as biased as one that shows only men; no released script has it.

    References
    ----------
    T2I-BiasBench, sections 4.4 and 6.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({
    ...     "image_id": list("abcd"), "caption": "text", "generator": "m", "prompt": "doctor",
    ...     "gender": ["female", "female", "male", "unknown"],
    ... })
    >>> signed_parity(frame, "gender", of=["male"], against=["female"], n_bootstrap=200)["value"].to_list()
    [-0.25]
    """
    return _parity(
        "signed_parity",
        captions,
        attribute,
        groups,
        of,
        against,
        unknown,
        by,
        definition,
        level,
        n_bootstrap,
        seed,
    )


def _parity(
    measure: str,
    captions: Any,
    attribute: str,
    groups: Sequence[str] | None,
    of: Sequence[str] | None,
    against: Sequence[str] | str | None,
    unknown: bool,
    *cells: Any,
) -> pl.DataFrame:
    def rows(cell: Captions, how: How) -> list[ScoreRow]:
        counted = count_groups(cell, attribute, groups=groups, unknown=unknown, released=how.released)
        sides = sides_of(counted, of, against, groups)
        return [parity_row(cell, counted, one, how, signed=measure == "signed_parity") for one in sides]

    return estimates_of(measure, captions, rows, *cells, columns=[attribute])


def parity_row(cell: Captions, counted: Groups, sides: Sides, how: How, *, signed: bool) -> ScoreRow:
    """One row of :func:`parity_difference` or :func:`signed_parity`."""
    measure = "signed_parity" if signed else "parity_difference"
    source = "T2I-BiasBench, sections 4.4 and 6" if signed else "T2I-BiasBench, eq. 6"
    row = group_row(cell, counted, how, measure, source)
    row |= {"category": sides.of, "reference": sides.against, "sides": DECLARED if sides.declared else None}
    if not counted.n:
        return undefined(row, NO_GROUP)
    if not sides.first and not sides.second:
        return undefined(row, NO_SIDE)
    score = group_score(counted.columns, parity_of(sides, signed=True))
    row = scored(row, cell, how, score, limits=(-1.0, 1.0), method=counted.method)
    if signed:
        return row
    row |= _folded(row)
    if how.released:
        return row
    both = int(counted.columns[[*sides.first, *sides.second]].sum())
    return above_floor(row, expected_tie(both, counted.n), 1.0)


def _folded(row: ScoreRow) -> ScoreRow:
    """Size of a signed score: its interval reaches 0 where the signed one holds 0."""
    low, high = row["low"], row["high"]
    least = max(0.0, low, -high) if low == low else low
    return {"value": abs(row["value"]), "low": least, "high": max(abs(low), abs(high))}
