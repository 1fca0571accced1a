"""Whom the prompt without a cue stands for: groups ranked by how near they are to the baseline."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.cells import holds_few
from stereotrope.measure.contract import register
from stereotrope.measure.divergence.scores import parts_by, read_scores, with_q_values
from stereotrope.measure.tidy import estimate_frame, factor_names
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
    score: Literal["value", "excess", "adjusted"] = "value",
    level: float = 0.95,
    n_bootstrap: int = 2_000,
    n_permutations: int = 10_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Groups ranked by how near their pictures are to the prompt without a cue.

    Formula
    -------
    :math:`r_g` = rank of :math:`\\frac1m Σ_o BDS_o(g)` among the groups, ascending, over the ``m``
    levels of ``over``. Agreement: mean of Spearman's ρ over all pairs of levels of ``over``.

    Parameters
    ----------
    estimates
        What :func:`stereotrope.measure.bds` returns; its rows for all attributes together are used.
    group, over
        The factor whose levels are ranked; the factor over which scores are averaged and rankings compared.
    within
        One ranking for each combination of these factors.
    score
        Column ranked. ``adjusted`` takes the noise floor out, which matters where groups differ in n.
    level, n_bootstrap, n_permutations, seed
        Nominal coverage; resamples of the levels of ``over``; shuffles of each ranking; seed of all draws.

    Returns
    -------
    polars.DataFrame
        ``default_rank``: a row a group, ``value`` from 1, the implicit default, to the number of groups, ties
        sharing their mean rank. ``default_rank_agreement``: a row a ranking, ``value`` in [−1, 1], p
        one-sided towards agreement. ``n`` is the number of levels of ``over`` that entered.

    Undefined
    ---------
    ``no object with a score for every group``; agreement also with fewer than two. Intervals are null
    with fewer than three levels (``few_levels``) and where resampling never changes the score
    (``no_variation``). A ranking that holds a score flagged ``small_n`` is flagged so itself.

    Notes
    -----
    A level of ``over`` in which a group has no score is left out for all, and counted: means over
    different objects do not compare. Ranks make much of small differences; read the intervals.

    References
    ----------
    SODA, section 5.1 and appendix G; Kendall and Babington Smith (1939), Ann. Math. Statist. 10.

    Examples
    --------
    >>> import polars as pl
    >>> estimates = pl.DataFrame({
    ...     "measure": "bds", "definition": "paper", "generator": "m", "attribute": "all",
    ...     "object": ["car", "car", "cup", "cup"], "group": ["men", "women"] * 2,
    ...     "value": [0.1, 0.3, 0.2, 0.4],
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
    options: dict[str, Any] = {"level": level, "n_bootstrap": n_bootstrap, "seed": seed}
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
        how = f"bootstrap of {over}, percentile, {n_bootstrap} resamples, seed {seed}; ranks {score}"
        small = holds_few(part)
        ranks = mean_ranks(complete.to_numpy(), **options)
        for name, *interval in zip(complete.columns, *ranks, strict=True):
            row = {**shared, "measure": "default_rank", group: name, "method": how}
            reason = None if n else f"no {over} with a score for every group"
            rows.append(row | _numbers(interval, n, small, reason))
        *interval, p = rank_agreement(complete.to_numpy(), n_permutations=n_permutations, **options)
        row = {**shared, "measure": "default_rank_agreement", "p_value": p, "method": how}
        reason = f"fewer than two rankings of {over} that vary" if np.isnan(interval[0]) else None
        if reason is None:
            row["method"] += f"; p: {n_permutations} shuffles of each ranking, one-sided"
        rows.append(row | _numbers(interval, n, small, reason))
    return with_q_values(estimate_frame(rows, factors=(*within, group)))


def _numbers(interval: Sequence[float], n: int, small: bool, reason: str | None) -> dict[str, Any]:
    if reason is not None:
        return {"undefined": reason}
    value, low, high = map(float, interval)
    flags = {"few_levels": n < 3, "no_variation": n > 2 and np.isnan(low), "small_n": small}
    return {"value": value, "low": low, "high": high, "flags": flags}
