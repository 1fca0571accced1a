"""Whether two annotators find the same divergences: the robustness of a result to its instrument."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import polars as pl

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.contract import register
from stereotrope.measure.divergence.scores import parts_by, read_scores
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.tidy import factor_names
from stereotrope.stats import fisher_z, normal_quantile, pearson, special
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATE_COLUMNS, LIKE_THESE

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
    closed={"half": "the scores of an audit are of all pictures; call it from Python on those of halves"},
    due=lambda given, setting, calls: setting.shared,
)
def judge_correlation(
    estimates: Any,
    judge: str = "annotator",
    *,
    within: Sequence[str] = ("generator", "object"),
    half: str | None = None,
    score: Literal["value", "excess", "adjusted"] = "excess",
    level: float = 0.95,
) -> pl.DataFrame:
    r"""Whether two annotators find the same divergences.

    Formula
    -------
    Within a combination Pearson's :math:`r = s_{xy} / (s_x s_y)`, the covariance of the BDS over the product
    of their standard deviations, over the points ``i``, such as groups, with :math:`x_i` and :math:`y_i` the
    scores from the labels of the one and of the other annotator. Over all combinations :math:`c` of
    :math:`n_c` points, :math:`\sum_c (n_c - 1) r_c / \sum_c (n_c - 1)`: how much these differ from one
    another does not enter. Over halves the mean of both ways to give them to the two annotators.

    Parameters
    ----------
    estimates
        What :func:`stereotrope.measure.bds` returns for several annotators, with the factor ``judge`` in its
        ``within``; rows for all attributes together are used.
    judge
        The factor whose levels are the annotators.
    within
        Factors whose combinations get a correlation each; the points are what is left, such as groups.
    half
        A factor with two levels, in the ``within`` of ``bds`` too, that parts the pictures of each condition
        at random: the one annotator's score is then of the one half, the other's of the other.
    score, level
        Column compared, the score less its noise floor by default; nominal coverage of the interval.

    Returns
    -------
    polars.DataFrame
        For each pair of annotators a row a combination and, first, one over all of them (null factors).
        ``value`` in [−1, 1]; 1 where the scores of one are a rising linear function of the other's.
        ``contrast`` is ``judge``, ``reference`` the other annotator, ``n`` the number of points. Over halves
        Fisher's interval, ``p_value``, two-sided for r = 0 by Student's t, and ``q_value``,
        Benjamini–Hochberg over all rows.

    Undefined
    ---------
    ``fewer than 4 scores known from both``; ``the scores of one do not vary``. Interval and p are null
    without ``half`` (``same_pictures``), and at |r| = 1 (``no_variation``): no point is off the line, so
    nothing says how far points may be off it.

    Notes
    -----
    Where both annotators look at the same pictures, both see what chance made of these: of pictures drawn
    without any effect, read without a mistake, r is 1. So nothing is tested there. Over halves 0.04 to 0.05
    of such pairs had p ≤ 0.05 over 3 and 12 combinations of nine groups (20 pictures; 0.04 to 0.06 within
    one), where raw scores pooled over combinations have an r of 0.65 to 0.81 even so: cells of many values
    have high floors. Halves show less: r is lower than that of all pictures. With nine groups an r of 0.80
    has the interval [0.29, 0.96]. A high r does not show that either reads rightly: both may share a fault,
    and a constant factor leaves r at 1.

    References
    ----------
    SODA, appendix E, Table 9; Fisher (1921), Metron 1.

    Examples
    --------
    >>> import polars as pl
    >>> estimates = pl.DataFrame({
    ...     "measure": "bds", "definition": "paper", "attribute": "all", "generator": "m", "object": "car",
    ...     "annotator": ["a"] * 4 + ["b"] * 4, "group": ["men", "women", "elderly", "young"] * 2,
    ...     "excess": [0.1, 0.2, 0.3, 0.4, 0.2, 0.3, 0.5, 0.4],
    ... })
    >>> found = judge_correlation(estimates).filter(object="car")
    >>> found.select("annotator", "reference", pl.col("value").round(2), "n").row(0)
    ('a', 'b', 0.8, 4)
    """
    normal_quantile(level)
    taken = (judge,) if half is None else (judge, half)
    inside = factor_names(within, measure="judge_correlation", taken=taken)
    table = read_scores(
        estimates, ("bds",), (*taken, score, *inside), reader="judge_correlation", score=score
    )
    keys = [c for c in table.columns if c not in ESTIMATE_COLUMNS and c not in taken]
    definition = table["definition"][0]
    table = table.select(*taken, *keys, pl.col(score).cast(pl.Float64).fill_null(np.nan).alias("_score"))
    if table.select(*taken, *keys).is_duplicated().any():
        raise TableError(f"estimates: several scores of one combination and {judge}; keep one row each")
    table = table.drop_nulls(taken).sort(taken)
    halves: list[str | None] = [None] if half is None else table[half].unique().sort().to_list()
    if half is not None and len(halves) != 2:
        raise UsageError(
            f"judge_correlation: {half!r} must part pictures in two halves, found "
            f"{', '.join(map(repr, halves)) or 'none'}"
        )
    judges = {
        name: [part.filter(half is None or pl.col(half) == at).drop(taken) for at in halves]
        for (name,), part in table.group_by([judge], maintain_order=True)
    }
    if len(judges) < 2:
        raise UsageError(
            f"judge_correlation: two annotators are needed, found {', '.join(map(repr, judges)) or 'none'}; "
            f"have the same pictures labelled by another one, and name {judge!r} in the within of bds"
        )
    rows: list[dict[str, Any]] = []
    for (one, x), (other, y) in combinations(judges.items(), 2):
        # Each half of the one beside the other half of the other.
        points = [
            a.join(b, on=keys, how="full", coalesce=True, nulls_equal=True, suffix="_of_other")
            for a, b in zip(x, reversed(y), strict=True)
        ]
        ordered = pl.concat(
            [part.sort(keys, nulls_last=True).with_columns(_way=pl.lit(at)) for at, part in enumerate(points)]
        )
        for levels, part in parts_by(ordered, inside, whole=True):
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
            rows.append({**shared, **_correlation(part, inside, score, level, tested=half is not None)})
    return with_q_values(estimate_frame(rows, factors=(*inside, judge)))


def _correlation(
    points: pl.DataFrame, inside: Sequence[str], score: str, level: float, *, tested: bool
) -> Mapping[str, Any]:
    """Mean correlation of all ways to give halves, each within combinations."""
    ways = [_within(way, inside) for _, way in parts_by(points, ["_way"])]
    n = min(known for known, _, _ in ways)
    total = max(way.height for _, way in parts_by(points, ["_way"]))
    row = {"n": n, "excluded": {"without a score from both": total - n}}
    if n < FEWEST_SCORES:
        return {**row, "undefined": FEW_POINTS}
    r = float(np.mean([one for _, one, _ in ways]))
    if np.isnan(r):
        return {**row, "undefined": NO_VARIANCE}
    certain = 1 - abs(r) < 1e-12
    r = float(np.sign(r)) if certain else r
    method = f"Pearson's r of {score} within combinations over {n} points"
    if not tested:
        same = "no test: both looked at the same pictures, and what chance made of these is seen by both"
        return {**row, "value": r, "flags": {"same_pictures": True}, "method": f"{method}; {same}"}
    free = min(freedom for _, _, freedom in ways)
    low, high = fisher_z(r, free + 1, level=level)
    t = np.nan if certain else abs(r) * np.sqrt((free - 1) / (1 - r * r))
    return {
        **row,
        "value": r,
        "low": float(low),
        "high": float(high),
        "holds_for": LIKE_THESE,
        "p_value": float(2 * special.stdtr(free - 1, -t)),
        "flags": {"no_variation": np.isnan(low)},
        "method": f"{method}, on halves of the pictures; Fisher's z; p: Student's t, two-sided",
    }


def _within(points: pl.DataFrame, inside: Sequence[str]) -> tuple[int, float, int]:
    """Points known from both, their correlation within combinations, and points less combinations."""
    n = free = 0
    total = 0.0
    for _, part in parts_by(points, inside):
        x, y = (part[side].fill_null(np.nan).to_numpy() for side in ("_score", "_score_of_other"))
        known = int((~np.isnan(x + y)).sum())
        r = pearson(x, y)
        n += known
        if not np.isnan(r):
            total, free = total + (known - 1) * r, free + known - 1
    return n, total / free if free else np.nan, free
