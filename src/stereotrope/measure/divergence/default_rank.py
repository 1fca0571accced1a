"""Whom the prompt without a cue stands for: groups ranked by how near they are to the baseline."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.cells import holds_few
from stereotrope.measure.contract import register
from stereotrope.measure.divergence.scores import parts_by, read_scores
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.tidy import factor_names
from stereotrope.measure.units import FEWEST_PROMPTS, scope_of_levels
from stereotrope.stats import mean_ranks, normal_quantile, rank_agreement
from stereotrope.tables import ALL_ATTRIBUTES


@register(
    suite="objects",
    bounds=(-1.0, None),
    direction="rank 1: nearest to the baseline, the implicit default; agreement 1: same ranking everywhere",
    source="SODA, section 5.1",
    needs="estimates",
    also=("default_rank_agreement",),
    own_bounds={"default_rank": (1.0, None), "default_rank_agreement": (-1.0, 1.0)},
    on="bds",
)
def default_rank(
    estimates: Any,
    group: str = "group",
    *,
    within: Sequence[str] = ("generator",),
    over: str = "object",
    score: Literal["value", "excess", "adjusted"] = "excess",
    level: float = 0.95,
    n_permutations: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Groups ranked by how near their pictures are to the prompt without a cue.

    Formula
    -------
    :math:`r_g` = rank of :math:`\\frac1m Σ_o BDS_o(g)` among the groups, ascending, over the ``m`` levels of
    ``over``, of each BDS its excess over the noise floor. Agreement: mean of Spearman's ρ over all pairs of
    levels of ``over``.

    Parameters
    ----------
    estimates
        What :func:`stereotrope.measure.bds` returns; its rows for all attributes together are used.
    group, over
        The factor whose levels are ranked; the factor over which scores are averaged and rankings compared.
    within
        One ranking for each combination of these factors.
    score
        Column ranked. ``value`` holds the noise floor, which differs where groups differ in n.
    level, n_permutations, seed
        Nominal coverage; shuffles of each ranking; seed of all draws.

    Returns
    -------
    polars.DataFrame
        ``default_rank``: a row a group, ``value`` from 1, the implicit default, to the number of groups, ties
        sharing their mean rank; its intervals hold all ranks of a ranking together.
        ``default_rank_agreement``: a row a ranking, ``value`` in [−1, 1], p one-sided towards agreement. Both
        hold for other levels of ``over`` like these. ``n`` is the number of levels of ``over`` that entered.

    Undefined
    ---------
    ``no object with a score for every group``; agreement also with fewer than two. Intervals of ranks are
    null with fewer than six levels at a level of 0.95 (``few_levels``): with five, no comparison of two
    groups can reach it. That of the agreement is null with fewer than four, where p is of these alone, and
    where leaving out any level leaves the same agreement (``no_variation``). A ranking that holds a score
    flagged ``small_n`` is flagged so itself.

    Notes
    -----
    A level of ``over`` in which a group has no score is left out for all, and counted: means over
    different objects do not compare. Ranks make much of small differences; read the intervals. Simulated with
    3 and 9 groups on 6 to 10 objects, of equal, unequal and skewed spread, all ranks were held together in
    0.94 to 1.00; with 3 groups of five prompts of four pictures, correlated by 0 to 0.3, on 6 and 8 objects
    in 0.92 to 1.00 (60 studies each). Of nine groups whose means differ clearly an interval spans 3 of 8
    steps on eight objects, of equal groups all. The interval of the agreement held it in 0.93 to 0.99, 5 to
    20 objects.

    References
    ----------
    SODA, section 5.1 and appendix G; Kendall and Babington Smith (1939), Ann. Math. Statist. 10; Mogstad,
    Romano, Shaikh and Wilhelm (2024), Rev. Econ. Stud. 91.

    Examples
    --------
    >>> import polars as pl
    >>> estimates = pl.DataFrame({
    ...     "measure": "bds", "definition": "paper", "generator": "m", "attribute": "all",
    ...     "object": ["car", "car", "cup", "cup"], "group": ["men", "women"] * 2,
    ...     "excess": [0.1, 0.3, 0.2, 0.4],
    ... })
    >>> default_rank(estimates).select("group", pl.col("value").round(6)).rows()
    [('men', 1.0), ('women', 2.0), (None, 1.0)]
    """
    normal_quantile(level)
    within = factor_names(within, measure="default_rank", taken=(group, over))
    used = read_scores(estimates, ("bds",), (group, over, score, *within), reader="default_rank", score=score)
    if used.select(*within, over, group).is_duplicated().any():
        raise TableError(
            f"estimates: several scores of one {group} and {over}; name every other factor in within"
        )
    rows: list[dict[str, Any]] = []
    for levels, part in parts_by(used, within):
        table = part.rename({over: "_over"}).pivot(on=group, index="_over", values=score)
        complete = table.drop("_over").cast(pl.Float64).fill_nan(None).drop_nulls()
        n = complete.height
        shared = {
            "definition": used["definition"][0],
            **levels,
            "contrast": group,
            "attribute": ALL_ATTRIBUTES,
            "level": level,
            "n": n,
            "excluded": {f"{over} without a score for every group": table.height - n},
            "source": "SODA, section 5.1 (implicit demographic defaults)",
        }
        small = holds_few(part.with_columns(value=score))
        ranks = mean_ranks(complete.to_numpy(), level=level, seed=seed)
        how = f"ranks {score}; interval: simultaneous, step-down of sign flips of {over}"
        for name, *interval in zip(complete.columns, *ranks, strict=True):
            row = {**shared, "measure": "default_rank", group: name, "method": how}
            reason = None if n else f"no {over} with a score for every group"
            rows.append(row | _numbers(interval, n, small, reason))
        *interval, p = rank_agreement(
            complete.to_numpy(), level=level, n_permutations=n_permutations, seed=seed
        )
        how = f"ranks {score}; interval: jackknife over {over}, t on the logit scale"
        row = {**shared, "measure": "default_rank_agreement", "p_value": p, "method": how}
        reason = f"fewer than two rankings of {over} that vary" if np.isnan(interval[0]) else None
        if reason is None:
            row["method"] += f"; p: {n_permutations} shuffles of each ranking, one-sided, seed {seed}"
        rows.append(row | _numbers(interval, n, small, reason, least=FEWEST_PROMPTS))
    return with_q_values(estimate_frame(rows, factors=(*within, group)))


def _numbers(
    interval: Sequence[float], n: int, small: bool, reason: str | None, least: int = 1
) -> dict[str, Any]:
    """What a row says; ``least`` levels have an interval where anything varies, without one all do."""
    if reason is not None:
        return {"undefined": reason}
    value, low, high = map(float, interval)
    if n < least:
        low = high = np.nan
    none = bool(np.isnan(low))
    unvaried = none and 1 < least <= n
    flags = {"few_levels": none and not unvaried, "no_variation": unvaried, "small_n": small}
    row = {"value": value, "low": low, "high": high, "flags": flags}
    return row if none and least == 1 else {**row, "holds_for": scope_of_levels(n)}
