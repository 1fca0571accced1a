"""Whether two annotators find the same divergences: the robustness of a result to its instrument."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import special

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.contract import register
from stereotrope.measure.divergence.scores import parts_by, read_scores, with_q_values
from stereotrope.measure.tidy import estimate_frame, factor_names
from stereotrope.stats import fisher_z, normal_quantile, pearson
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATE_COLUMNS

FEWEST_SCORES = 4
"""Points below which Fisher's interval does not exist."""

FEW_POINTS = f"fewer than {FEWEST_SCORES} scores known from both"
NO_VARIANCE = "the scores of one do not vary"


@register(
    suite="objects",
    bounds=(-1.0, 1.0),
    direction="1: the same pattern; 0: none in common; says nothing on whether either is right",
    source="SODA, appendix E, Table 9; Fisher 1921",
    needs="estimates",
    on="bds",
    due=lambda given, setting, calls: setting.shared,
)
def judge_correlation(
    estimates: Any,
    judge: str = "annotator",
    *,
    within: Sequence[str] = ("generator", "object"),
    score: Literal["value", "excess", "adjusted"] = "value",
    level: float = 0.95,
) -> pl.DataFrame:
    r"""Whether two annotators find the same divergences.

    Formula
    -------
    Pearson's :math:`r = s_{xy} / (s_x s_y)`, the covariance of the BDS over the product of their standard
    deviations, over the points ``i``, such as groups, with :math:`x_i` and :math:`y_i` the scores from the
    labels of the one and of the other annotator.

    Parameters
    ----------
    estimates
        What :func:`stereotrope.measure.bds` returns for several annotators, with the factor ``judge`` in its
        ``within``; rows for all attributes together are used.
    judge
        The factor whose levels are the annotators.
    within
        Factors whose combinations get a correlation each; the points are what is left, such as groups.
    score, level
        Column compared, ``adjusted`` without the noise floor; nominal coverage of Fisher's interval.

    Returns
    -------
    polars.DataFrame
        For each pair of annotators a row a combination and, first, one over all of them (null factors).
        ``value`` in [−1, 1]; 1 where the scores of one are a rising linear function of the
        other's. ``contrast`` is ``judge``, ``reference`` the other annotator, ``n`` the number of points,
        ``p_value`` two-sided for r = 0 by Student's t, ``q_value`` Benjamini–Hochberg over all rows.

    Undefined
    ---------
    ``fewer than 4 scores known from both``; ``the scores of one do not vary``. Interval and p are null at
    |r| = 1 (``no_variation``): no point is off the line, so nothing says how far points may be off it.

    Notes
    -----
    With nine groups an r of 0.80 has the interval [0.29, 0.96]. Both annotators look at the same pictures:
    r says whether they agree on this sample. The row over all combinations also counts how much models
    and objects differ, and takes points as independent that are not. A high r does not show that either
    reads rightly: both may share a fault, and a constant factor leaves r at 1.

    References
    ----------
    SODA, appendix E, Table 9; Fisher (1921), Metron 1.

    Examples
    --------
    >>> import polars as pl
    >>> estimates = pl.DataFrame({
    ...     "measure": "bds", "definition": "paper", "attribute": "all", "generator": "m", "object": "car",
    ...     "annotator": ["a"] * 4 + ["b"] * 4, "group": ["men", "women", "elderly", "young"] * 2,
    ...     "value": [0.1, 0.2, 0.3, 0.4, 0.2, 0.3, 0.5, 0.4],
    ... })
    >>> found = judge_correlation(estimates).filter(object="car")
    >>> found.select("annotator", "reference", pl.col("value").round(2), "n").row(0)
    ('a', 'b', 0.8, 4)
    """
    normal_quantile(level)
    inside = factor_names(within, measure="judge_correlation", taken=(judge,))
    columns = (judge, score, *inside)
    table = read_scores(estimates, ("bds",), columns, reader="judge_correlation", score=score)
    keys = [c for c in table.columns if c not in ESTIMATE_COLUMNS and c != judge]
    definition = table["definition"][0]
    table = table.select(judge, *keys, pl.col(score).cast(pl.Float64).fill_null(np.nan).alias("_score"))
    if table.select(judge, *keys).is_duplicated().any():
        raise TableError(f"estimates: several scores of one combination and {judge}; keep one row each")
    judges = {
        name: part.drop(judge)
        for (name,), part in table.drop_nulls(judge).sort(judge).group_by([judge], maintain_order=True)
    }
    if len(judges) < 2:
        raise UsageError(
            f"judge_correlation: two annotators are needed, found {', '.join(map(repr, judges)) or 'none'}; "
            f"have the same pictures labelled by another one, and name {judge!r} in the within of bds"
        )
    rows: list[dict[str, Any]] = []
    for (one, x), (other, y) in combinations(judges.items(), 2):
        points = x.join(y, on=keys, how="full", coalesce=True, nulls_equal=True, suffix="_of_other")
        for levels, part in parts_by(points.sort(keys, nulls_last=True), inside, whole=True):
            shared = {
                "measure": "judge_correlation",
                "definition": definition,
                **levels,
                judge: one,
                "contrast": judge,
                "reference": other,
                "attribute": ALL_ATTRIBUTES,
                "level": level,
                "source": "SODA, appendix E, Table 9; Fisher 1921",
            }
            rows.append({**shared, **_correlation(part, score, level)})
    return with_q_values(estimate_frame(rows, factors=(*inside, judge)))


def _correlation(part: pl.DataFrame, score: str, level: float) -> Mapping[str, Any]:
    x, y = (part[side].fill_null(np.nan).to_numpy() for side in ("_score", "_score_of_other"))
    n = int((~np.isnan(x + y)).sum())
    row = {"n": n, "excluded": {"without a score from both": len(x) - n}}
    if n < FEWEST_SCORES:
        return {**row, "undefined": FEW_POINTS}
    r = pearson(x, y)
    if np.isnan(r):
        return {**row, "undefined": NO_VARIANCE}
    certain = 1 - abs(r) < 1e-12
    r = float(np.sign(r)) if certain else r
    low, high = fisher_z(r, n, level=level)
    t = np.nan if certain else abs(r) * np.sqrt((n - 2) / (1 - r * r))
    return {
        **row,
        "value": r,
        "low": float(low),
        "high": float(high),
        "p_value": float(2 * special.stdtr(n - 2, -t)),
        "flags": {"no_variation": np.isnan(low)},
        "method": f"Pearson's r of {score} over {n} points; Fisher's z; p: Student's t, two-sided",
    }
