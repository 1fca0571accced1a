"""The gap between two groups' shares, with and without its sign."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from stereotrope.measure.captions.formulas import group_score, signed_gaps
from stereotrope.measure.captions.frame import Captions
from stereotrope.measure.captions.groups import NO_GROUP, NO_SIDE, Groups, Sides, count_groups, sides_of
from stereotrope.measure.captions.rows import (
    ScoreRow,
    above_floor,
    caption_measure,
    clipped,
    described,
    group_row,
    undefined,
)
from stereotrope.measure.units import SEEDS_COUNTED
from stereotrope.stats import expected_tie, mean_over_units


@caption_measure(
    bounds=(0.0, 1.0),
    direction="0: equally often; 1: one group only; says nothing of which",
    source="T2I-BiasBench, eq. 6",
    biased=("parity_difference",),
)
def parity_difference(
    cell: Captions,
    attribute: str,
    *,
    groups: Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    against: Sequence[str] | str | None = None,
    unknown: bool = True,
) -> list[ScoreRow]:
    r"""Distance between the shares of two groups, whichever is the larger.

    Formula
    -------
    :math:`PD(a, b) = |p_a - p_b|`.

    Parameters
    ----------
    captions, attribute, groups, unknown, by, level, n_bootstrap, seed
        As for :func:`representation_parity`.
    of, against
        Groups of the first and of the second side, their shares added up; ``against="rest"`` (or None):
        every group that is not in ``of``, ``unknown`` included; ``"others"``: every declared one. Without
        ``of``, a row for every pair of groups.
    definition
        Name of the definition that the rows stand with; the formula is the same. (The authors' scripts take
        ``of=["white"]`` against the rest, and ``of=["dark", "medium"], against=["fair"]``.)

    Returns
    -------
    polars.DataFrame
        Estimates: the first side in ``category``, the second in ``reference``. ``value`` in [0, 1];
        0: equally frequent, 1: one side only. ``floor`` is its mean when the captions of both sides fall
        on either equally often, ``excess`` what is above it. ``sides`` are the groups on each side
        as JSON, where they were asked for or the declared groups are two.

    Undefined
    ---------
    ``no caption with a usable group``; ``no group of either side is seen`` where groups are those seen
    (``released``, or none declared) and none of both sides is.

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
    >>> frame = pl.DataFrame({"image_id": list("abcd"), "caption": "text", "gender": [*"ffm", "unknown"]})
    >>> found = parity_difference(frame, "gender", groups=["f", "m"], by=(), n_bootstrap=200)
    >>> found.select("category", "reference", "value").rows()
    [('f', 'm', 0.25)]
    """
    counted = count_groups(cell, attribute, groups, unknown)
    rows, of_groups = [], counted.columns.sum(axis=1)
    every = sides_of(counted, of, against, groups)
    for sides, row in zip(every, _signed_rows(cell, counted, every), strict=True):
        if "undefined" not in row:
            row = _folded(row)
            if not cell.released:
                both = int(of_groups[[*sides.first, *sides.second]].sum())
                row = above_floor(row, expected_tie(both, counted.n), 1.0)
        rows.append(row)
    return rows


@caption_measure(
    bounds=(-1.0, 1.0),
    direction="above 0: the first group is named more often; below 0: the second",
    source="T2I-BiasBench, sections 4.4 and 6",
)
def signed_parity(
    cell: Captions,
    attribute: str,
    *,
    groups: Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    against: Sequence[str] | str | None = None,
    unknown: bool = True,
) -> list[ScoreRow]:
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
    Not biased at any n. Over four prompts or more the interval is Student's over prompts, on the logit scale
    (:func:`stereotrope.stats.mean_over_units`). The paper recommends a signed term because its composite
    score calls a model that shows only women as biased as one that shows only men; no released script has it.

    References
    ----------
    T2I-BiasBench, sections 4.4 and 6.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"image_id": list("abcd"), "caption": "text", "gender": [*"ffm", "unknown"]})
    >>> signed_parity(frame, "gender", of=["m"], against=["f"], by=(), n_bootstrap=200)["value"].to_list()
    [-0.25]
    """
    counted = count_groups(cell, attribute, groups, unknown)
    return _signed_rows(cell, counted, sides_of(counted, of, against, groups))


def _signed_rows(cell: Captions, counted: Groups, every: Sequence[Sides]) -> list[ScoreRow]:
    """Rows of all sides, whose scores are made together."""
    whole = group_row(cell, counted)
    rows = [{**whole, "category": of.of, "reference": of.against, "sides": of.chosen} for of in every]
    if not counted.n:
        return [undefined(row, NO_GROUP) for row in rows]
    score = group_score(counted.columns, partial(signed_gaps, sides=every))
    ends = cell.resample.percentiles(score, level=cell.level).tolist()
    method = described(cell, counted.method, "percentile")
    for at, (sides, value, (low, high)) in enumerate(zip(every, score.values.tolist(), ends, strict=True)):
        if not sides.first and not sides.second:
            rows[at] = undefined(rows[at], NO_SIDE)
            continue
        rows[at] |= {"value": value, **clipped(low, high, (-1.0, 1.0)), "method": method}
        if cell.clustered and cell.resample.n_resamples:
            rows[at] |= _over_prompts(cell, counted, sides)
    return rows


def _over_prompts(cell: Captions, counted: Groups, sides: Sides) -> ScoreRow:
    """Student's interval over prompts, where these differ: the bootstrap of few ones is much wider."""
    named = counted.columns.any(axis=0)
    first, second = (counted.columns[list(side)].sum(axis=0) for side in (sides.first, sides.second))
    gaps, units = (first - second)[named], cell.resample.units[named]
    across = cell.resample.across and cell.resample.across.among(named)
    reach = across.reach(gaps, level=cell.level) if across else 1.0
    _, low, high, how = mean_over_units(gaps, units, level=cell.level, scale=(-1.0, 1.0), reach=reach)
    if np.isnan(low):
        return {}
    how += f", over prompts{f', {SEEDS_COUNTED}' * (across is not None)}"
    return {"low": low, "high": high, "method": f"{counted.method}; interval: {how}"}


def _folded(row: ScoreRow) -> ScoreRow:
    """Size of a signed score: its interval reaches 0 where the signed one holds 0."""
    low, high = row["low"], row["high"]
    least = max(0.0, low, -high) if low == low else low
    return {**row, "value": abs(row["value"]), "low": least, "high": max(abs(low), abs(high))}
