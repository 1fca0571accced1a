"""Ratios beside a reference distribution: who is shown less than there, and whether majorities grow."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.ratios.reading import (
    NO_SHARE,
    Scenarios,
    Unit,
    check_unit,
    mean_over_scenarios,
    scenarios_of,
    share_of_scenarios,
)
from stereotrope.measure.ratios.references import call_with_reference, checked_reference, has_reference
from stereotrope.measure.units import FEWEST_PROMPTS, scope_of_levels
from stereotrope.stats import mean_p, normal_quantile, sign_test, special
from stereotrope.stats.arrays import Floats
from stereotrope.tables import THESE_PROMPTS

_EQUAL = 1e-9
_NO_REFERENCE = "no share in the reference"


@register(
    suite="everyday",
    bounds=(-1.0, 1.0),
    direction="above 0: shown less often than in the reference; below: more often",
    source="everyday gender, eq. 4 and appendix I.5; Student 1908; Dixon and Mood 1946",
    needs="estimates",
    also=("amplification_mean", "amplified_share"),
    own_bounds={"amplified_share": (0.0, 1.0)},
    on="female_ratio",
    call=call_with_reference,
    due=has_reference,
)
def amplification(
    estimates: Any,
    reference: Any,
    over: str = "scenario",
    *,
    column: str = "reference",
    within: Sequence[str] = ("generator",),
    least: int = 50,
    unit: Unit = "picture",
    kept: float = 0.5,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How ratios differ from those of a reference, and whether the majority there has grown.

    Formula
    -------
    :math:`Δ(p) = R_{ref}(p) - R(p)` of each scenario, and their mean. Where :math:`R_{ref}(p) > \frac12` the
    value is the majority's, and it is amplified if :math:`R(p) > R_{ref}(p)`, reduced if it is smaller; where
    :math:`R_{ref}(p) < \frac12` the majority is of the others, amplified if :math:`R(p) < R_{ref}(p)`.

    Parameters
    ----------
    estimates, over, within, kept, level
        As for :func:`stereotrope.measure.stability`.
    reference
        A frame with ``over``, the share in ``column``, ``source`` and ``year``; optionally ``n``, what the
        share is of, and ``category``. In an audit file the name of a CSV file, or of a reference that comes
        with stereotrope: ``cps_2022``, women's share in U.S. occupations.
    column
        Where the share stands in the reference.
    least
        What the share in the reference must be of, where it says so in ``n``.
    unit
        What the interval of a single scenario is of, as for :func:`stereotrope.measure.dominated`.

    Returns
    -------
    polars.DataFrame
        Estimates. ``amplification``: Δ of each scenario that counts, in [−1, 1], its interval that of the
        ratio alone: the reference is taken as known. ``amplification_mean``: with the interval of
        :func:`stereotrope.stats.mean_interval` and p for 0; over two and three scenarios of these alone, by
        each one's (:func:`stereotrope.stats.linear_interval`), without p. ``amplified_share``: two rows, of
        the scenarios in which the value is the ``majority`` of the reference and in which it is the
        ``minority``, how many are amplified; ``numerator`` of ``denominator``, the others being reduced;
        ``floor`` is what pictures drawn with just the shares of the reference would read, 0.66 at ten
        pictures and shares of 0.88, and p that of the binomial test against it; below four scenarios it has
        no interval (``few_levels``), and p is of these alone. ``q_value`` is Benjamini–Hochberg over the rows
        of one name.

    Undefined
    ---------
    ``no scenario has a share``; ``no scenario has a share in the reference``; ``no scenario with that
    majority that differs``. A scenario without a reference, or with one of too few, is left out and counted;
    of ``amplified_share`` also one that equals its reference (``unchanged``) or whose reference is exactly
    one half (``no majority``), and those of the other majority.

    Notes
    -----
    It says what differs from *this* reference, of its year and place, not what would be right. A majority
    near one half in the reference is amplified or reduced by little. Where the reference itself is a sample
    (captions), its chance makes it look more extreme than it is, and the pictures seem to reduce it: ask for
    many, by ``least``. A scenario whose prompts say the same as the reference's is the user's claim.
    Over 5 to 100 scenarios, wordings alike or not, intervals of single scenarios covered 0.95 to 0.99 (of the
    prompts that were asked), of the mean 0.93 to 0.99, and of ``amplified_share`` 0.91 to 1.00: of what so
    many pictures read, not of what pictures without end would (down to 0.77 with 20 a scenario).

    References
    ----------
    “Large-scale gender analysis”, eq. 4, appendices I.4 and I.5; Student (1908), Biometrika 6; Dixon and Mood
    (1946), JASA 41.

    Examples
    --------
    >>> import polars as pl
    >>> ratios = pl.DataFrame({
    ...     "measure": "female_ratio", "definition": "everyday", "generator": "m", "attribute": "gender",
    ...     "category": "female", "scenario": ["nurse", "cook", "welder"], "value": [1.0, 0.3, 0.0], "n": 200,
    ... })
    >>> known = pl.DataFrame({
    ...     "scenario": ["nurse", "cook", "welder"], "reference": [0.88, 0.4, 0.05],
    ...     "source": "a survey", "year": 2022,
    ... })
    >>> found = amplification(ratios, known)
    >>> found.select("measure", "category", pl.col("value").round(3)).tail(3).rows()[1:]
    [('amplified_share', 'female: majority', 1.0), ('amplified_share', 'female: minority', 1.0)]
    """
    normal_quantile(level)
    check_unit(estimates, unit, reader="amplification")
    table = checked_reference(reference, estimates, over=over, column=column)
    factors, cells = scenarios_of(estimates, over=over, within=within, kept=kept, reader="amplification")
    rows: list[dict[str, Any]] = []
    single = [estimate_frame([], factors=(*factors, over))]
    for cell in cells:
        known, excluded = _known(cell, table, over, least)
        told = known.rows["_told"].unique().sort().to_list()
        shared = {
            **cell.levels,
            "n": known.rows.height,
            "excluded": excluded,
            "level": level,
            "source": f"everyday gender, eq. 4; reference: {'; '.join(told) or 'none'}",
        }
        single.append(_each(known, shared, over, unit, level))
        rows += _over_all(known, shared, level, known.interval(unit, level))
    together = estimate_frame(rows, factors=(*factors, over))
    return with_q_values(pl.concat([*single, together], how="diagonal"), "measure")


def _known(cell: Scenarios, table: pl.DataFrame, over: str, least: int) -> tuple[Scenarios, dict[str, int]]:
    """The scenarios that a reference has a share of, and how many are left out by reason."""
    if "category" in table.columns:
        table = table.filter(category=cell.levels.get("category")).drop("category")
    joined = cell.rows.with_columns(pl.col(over).cast(pl.String)).join(
        table, on=over, how="left", maintain_order="left"
    )
    few = pl.col("_of") < least if "_of" in table.columns else pl.lit(False)
    reason = pl.when(pl.col("_share").is_null()).then(pl.lit(_NO_REFERENCE))
    joined = joined.with_columns(_left=reason.when(few).then(pl.lit(f"fewer than {least} in the reference")))
    left = Counter(joined["_left"].drop_nulls())
    rows = joined.filter(pl.col("_left").is_null())
    return Scenarios(cell.levels, rows, {}), {**cell.excluded, **left}


def _each(known: Scenarios, shared: dict[str, Any], over: str, unit: Unit, level: float) -> pl.DataFrame:
    """A row a scenario."""
    low, high = known.interval(unit, level)
    rows = known.rows
    columns: dict[str, pl.Expr | pl.Series] = {
        **{name: pl.lit(text, pl.String) for name, text in known.levels.items()},
        "measure": pl.lit("amplification"),
        "value": pl.col("_share") - pl.col("value"),
        "low": (rows["_share"] - pl.Series(high)).fill_nan(None),
        "high": (rows["_share"] - pl.Series(low)).fill_nan(None),
        "level": pl.lit(level),
        "holds_for": pl.lit(THESE_PROMPTS if unit == "picture" else None, pl.String),
        "n": pl.col("n").cast(pl.Int64),
        "n_reference": pl.col("_of") if "_of" in rows.columns else pl.lit(None, pl.Int64),
        "method": pl.lit("the reference as known; Wilson" if unit == "picture" else "the reference as known"),
        "source": pl.concat_str(pl.lit("everyday gender, eq. 4; reference: "), "_told"),
    }
    return rows.select(over, **columns)


def _over_all(
    known: Scenarios, shared: dict[str, Any], level: float, ends: tuple[Floats, Floats]
) -> Iterator[dict[str, Any]]:
    """The mean over scenarios, and how many of each majority are amplified."""
    m = known.rows.height
    mean = {**shared, "measure": "amplification_mean"}
    if not m:
        reference = _NO_REFERENCE in shared["excluded"]
        yield {**mean, "undefined": "no scenario has a share in the reference" if reference else NO_SHARE}
        return
    share, value, n = (known.rows[name].to_numpy() for name in ("_share", "value", "n"))
    gap = share - value
    low, high = ends
    told = mean_over_scenarios(gap, level, (-1.0, 1.0), (share - high, share - low))
    if m < FEWEST_PROMPTS or np.isnan(told["low"]):
        yield mean | told
    else:
        how = f"{told['method']}; p: of the same test"
        yield {**mean, **told, "p_value": mean_p(gap, 0.0, scale=(-1.0, 1.0)), "method": how}
    grown = np.where(share > 0.5, -gap, gap)
    changed, split = np.abs(gap) > _EQUAL, np.abs(share - 0.5) <= _EQUAL
    below, above = _by_chance(share, n)
    for name, of in (("majority", (share > 0.5) & ~split), ("minority", (share < 0.5) & ~split)):
        used = of & changed
        k, total = int((grown[used] > 0).sum()), int(used.sum())
        left = {"unchanged": int((of & ~changed).sum()), "no majority": int(split.sum())}
        row = {
            **shared,
            "measure": "amplified_share",
            "category": known.part(name),
            "n": total,
            "excluded": {**shared["excluded"], **left, "the other majority": m - int((of | split).sum())},
        }
        if not total:
            yield {**row, "undefined": "no scenario with that majority that differs"}
            continue
        row |= share_of_scenarios(k, total, level)
        larger, smaller = (above, below) if name == "majority" else (below, above)
        changing = float((larger + smaller)[of].sum())
        floor = float(larger[of].sum()) / changing if changing else np.nan
        p = sign_test(k, total, floor) if floor == floor else np.nan
        numbers = {"p_value": p, "floor": floor, "excess": row["value"] - floor}
        numbers["holds_for"] = scope_of_levels(total) if p == p else row.get("holds_for")
        yield {**row, **numbers, "method": f"{row['method']}; p: binomial test against the floor"}


def _by_chance(share: Floats, n: Floats) -> tuple[Floats, Floats]:
    """How probable ratios below and above a share are in pictures drawn with just this share."""
    expected = np.round(n * share, 9)
    below = np.where(expected > 0, special.bdtr(np.maximum(np.ceil(expected) - 1, 0), n, share), 0.0)
    above = np.where(expected < n, special.bdtrc(np.floor(expected), n, share), 0.0)
    return below, above
