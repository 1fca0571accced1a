"""Whom the prompt without a cue stands for: groups ranked by how near they are to the baseline."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.cells import holds_few
from stereotrope.measure.contract import register
from stereotrope.measure.definitions import require_one_definition
from stereotrope.measure.tidy import estimate_frame, excluded_json, factor_names, to_polars
from stereotrope.stats import benjamini_hochberg, mean_ranks, normal_quantile, rank_agreement
from stereotrope.tables import ALL_ATTRIBUTES, plain_scores

_SOURCE = "SODA, section 5.1 (implicit demographic defaults)"
INCOMPLETE = "without a score for every group"


@register(
    summary="Groups ranked by how near their pictures are to the prompt without a cue.",
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
    """Rank groups by their divergence from the baseline; rank 1 is the implicit default.

    Formula
    -------
    :math:`r_g` = rank of :math:`\\frac1m Σ_o BDS_o(g)` among the groups, ascending, over the ``m``
    levels of ``over``. Agreement: mean of Spearman's ρ over all pairs of levels of ``over``.

    Parameters
    ----------
    estimates
        What :func:`stereotrope.measure.bds` returns; its rows for all attributes together are used.
    group
        The factor whose levels are ranked.
    within
        One ranking for each combination of these factors.
    over
        The factor over whose levels scores are averaged and rankings compared.
    score
        Column ranked. ``adjusted`` takes the noise floor out, which matters where groups differ in n.
    level
        Nominal coverage.
    n_bootstrap, n_permutations, seed
        Resamples of the levels of ``over``, shuffles of each ranking, and the seed.

    Returns
    -------
    polars.DataFrame
        ``default_rank``: a row a group, ``value`` from 1 to the number of groups, ties sharing their
        mean rank. ``default_rank_agreement``: a row a ranking, ``value`` in [−1, 1], p one-sided towards
        agreement. ``n`` is the number of levels of ``over`` that entered.

    Undefined
    ---------
    ``no object with a score for every group``; agreement also with fewer than two. Intervals are null
    with fewer than three levels (``few_levels``) and where resampling never changes the score
    (``no_variation``). A ranking that holds a score flagged ``small_n`` is flagged so itself.

    Raises
    ------
    TableError
        A column is missing, or no row is of ``bds`` over all attributes.

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
    frame = to_polars(estimates, what="estimates")
    needed = ["measure", "definition", "attribute", group, over, score, *within]
    if absent := [name for name in needed if name not in frame.columns]:
        raise TableError(f"estimates: no column {absent[0]!r}; found {', '.join(map(repr, frame.columns))}")
    used = plain_scores(frame).filter(measure="bds", attribute=ALL_ATTRIBUTES)
    if not used.height:
        raise TableError("estimates: no row of measure 'bds' for attribute 'all'; pass what bds returns")
    require_one_definition(used)
    if used.select(*within, over, group).is_duplicated().any():
        raise TableError(
            f"estimates: several scores of one {group} and {over}; name every other factor in within"
        )
    options = {"level": level, "n_bootstrap": n_bootstrap, "seed": seed}
    rows: list[dict[str, Any]] = []
    for key, part in used.group_by(list(within), maintain_order=True) if within else [((), used)]:
        shared = {
            "definition": used["definition"][0],
            **dict(zip(within, key, strict=True)),
            "contrast": group,
            "attribute": ALL_ATTRIBUTES,
            "level": level,
            "method": f"bootstrap of {over}, percentile, {n_bootstrap} resamples, seed {seed}; ranks {score}",
            "source": _SOURCE,
        }
        rows += _ranking(part, shared, group, over, score, options, n_permutations)
    agreements = [row for row in rows if row["measure"] == "default_rank_agreement"]
    q = benjamini_hochberg([row.get("p_value", np.nan) for row in agreements])
    for row, adjusted in zip(agreements, q, strict=True):
        row["q_value"] = float(adjusted)
    return estimate_frame(rows, factors=(*within, group))


def _ranking(
    part: pl.DataFrame,
    shared: dict[str, Any],
    group: str,
    over: str,
    score: str,
    options: dict[str, Any],
    n_permutations: int,
) -> list[dict[str, Any]]:
    groups = part[group].unique(maintain_order=True).to_list()
    wide = {(o, g): v for o, g, v in part.select(over, group, score).iter_rows()}
    things = part[over].unique(maintain_order=True).to_list()
    table = np.array([[wide.get((o, g)) for g in groups] for o in things], dtype=np.float64)
    complete = table[~np.isnan(table).any(axis=1)]
    left = len(things) - len(complete)
    shared = {
        **shared,
        "n": len(complete),
        "n_excluded": left,
        "excluded": excluded_json({f"{over} {INCOMPLETE}": left}),
    }
    ranks, low, high = mean_ranks(complete, **options)
    undefined = f"no {over} with a score for every group"
    few = ["few_levels"] * (len(complete) < 3)
    small = ["small_n"] * holds_few(part)
    rows = []
    for i, name in enumerate(groups):
        row = {**shared, "measure": "default_rank", group: name}
        if not len(complete):
            rows.append({**row, "undefined": undefined})
            continue
        flags = ",".join([*(few or ["no_variation"] * bool(np.isnan(low[i]))), *small]) or None
        rows.append({**row, "value": float(ranks[i]), "low": low[i], "high": high[i], "flags": flags})
    agreement, below, above, p = rank_agreement(complete, n_permutations=n_permutations, **options)
    row = {**shared, "measure": "default_rank_agreement"}
    if np.isnan(agreement):
        return [*rows, {**row, "undefined": f"fewer than two rankings of {over} that vary"}]
    flags = ",".join([*(few or ["no_variation"] * bool(np.isnan(below))), *small]) or None
    method = f"{row['method']}; p: {n_permutations} shuffles of each ranking, one-sided"
    numbers = {
        "value": agreement,
        "low": below,
        "high": above,
        "p_value": p,
        "flags": flags,
        "method": method,
    }
    return [*rows, {**row, **numbers}]
