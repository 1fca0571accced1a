"""Which items of a rubric come together."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.rubric.reading import Sets, call_of_items, read_sets
from stereotrope.measure.units import FEWEST_PROMPTS
from stereotrope.stats import fisher_z, shuffled_pearson
from stereotrope.tables import LIKE_THESE

NONE_YES, ALL_YES, NO_VARIANCE_OF_SHARES = (
    "an item was found in no set",
    "an item was found in every set",
    "an item does not vary",
)
NOT_TOGETHER = "fewer than 4 queries with an answer to both"
_RARE = 5
"""Queries with and without an item below which a correlation rests on a few."""


@register(
    suite="ssi",
    bounds=(-1.0, 1.0),
    direction="1: found in the same sets; 0: unrelated; −1: never together",
    source="Barve et al. 2026, Figure 7; Pearson 1895; Fisher 1921; Phipson and Smyth 2010",
    subject="set",
    call=call_of_items,
)
def item_correlation(
    labels: Any,
    *,
    items: str | Sequence[str] | None = None,
    by: Sequence[str] = ("generator",),
    query: str | None = None,
    raters: Sequence[str] | None = None,
    n_permutations: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How far two items of a rubric are found in the same sets.

    Formula
    -------
    Pearson's :math:`r_{ij}` over queries between :math:`x_i` and :math:`x_j`, the shares of a query's sets
    and repetitions in which items ``i`` and ``j`` were found: 0 or 1 where each query has one set, judged
    once.

    Parameters
    ----------
    labels, items, by, query, raters, level
        As for :func:`stereotrope.measure.ssi`.
    n_permutations, seed
        Shuffles of each test, and their seed.

    Returns
    -------
    polars.DataFrame
        One row a cell and pair of items, ``attribute`` the one and ``category`` the other, as they stand in
        the rubric; ``value`` in [−1, 1] with Fisher's interval. ``p_value`` is the share of shuffles of one
        item among the queries whose r is as far from 0, ``q_value`` after Benjamini–Hochberg over all of
        them. ``n`` counts queries with an answer to both, ``excluded`` others. Where either was found in
        fewer than five queries, or in all but fewer, the row is flagged ``rare``: r then rests on these.

    Undefined
    ---------
    ``an item was found in no set``: that is no correlation of 0, and grey in the chart; ``an item was found
    in every set``; ``an item does not vary``; ``fewer than 4 queries with an answer to both``. The interval
    is null at ±1.

    Notes
    -----
    Some of the pairs of a rubric come together by chance: compare how many q-values are small with how many
    p-values are, of how many. Items that always come together say one thing twice, and the index counts it
    twice. The paper tests with Student's t, which overstates what few sets with an item show.

    References
    ----------
    Barve et al. (2026), Social stereotypes in AI text-to-image generation, Figure 7; Pearson (1895), Proc. R.
    Soc. 58; Fisher (1921), Metron 1; Phipson and Smyth (2010), Stat. Appl. Genet. Mol. Biol. 9.

    Examples
    --------
    >>> import polars as pl
    >>> said = [(q, item, value) for q, (one, two) in enumerate(["yy", "yy", "nn", "nn", "yn"])
    ...         for item, value in (("hat", one), ("suit", two))]
    >>> labels = pl.DataFrame(said, schema=["image_id", "attribute", "value"], orient="row")
    >>> labels = labels.with_columns(pl.col("value").replace({"y": "yes", "n": "no"}), generator=pl.lit("m"))
    >>> item_correlation(labels).select("attribute", "category", pl.col("value").round(3), "n").rows()
    [('hat', 'suit', 0.667, 5)]
    """
    rows = []
    for cell in read_sets(labels, measure="item_correlation", by=by, items=items, query=query, raters=raters):
        rows += _pairs(cell, by, n_permutations, seed, level)
    return with_q_values(estimate_frame(rows, factors=tuple(by)), "measure")


def _pairs(
    cell: Sets, by: Sequence[str], n_permutations: int, seed: int, level: float
) -> list[dict[str, Any]]:
    """A row a pair of items of a cell."""
    items = cell.items
    wide = cell.of_queries().pivot("item", index="query", values="yes").sort("query")
    wide = wide.with_columns(
        pl.lit(None, pl.Float64).alias(name) for name in items if name not in wide.columns
    )
    table = wide.select(items).to_numpy().astype(np.float64)
    total = cell.answers["query"].n_unique()
    r, p, n = shuffled_pearson(table, n_permutations=n_permutations, seed=seed)
    low, high = fisher_z(np.nan_to_num(r), n, level=level)
    rows = []
    for i, one in enumerate(items):
        for j in range(i + 1, len(items)):
            both = table[~np.isnan(table[:, i] + table[:, j])][:, [i, j]]
            row = {
                "measure": "item_correlation",
                "definition": "paper",
                **cell.shared(by),
                "attribute": one,
                "category": items[j],
                "n": int(n[i, j]),
                "excluded": {"not answered": total - int(n[i, j])},
                "level": level,
                "flags": _flags(both),
                "source": "Barve et al. 2026, Figure 7; p: Phipson and Smyth 2010",
            }
            rows.append(
                {**row, **_told(both, r[i, j], (low[i, j], high[i, j]), p[i, j], n_permutations, seed)}
            )
    return rows


def _told(
    both: np.ndarray[Any, Any], r: float, ends: tuple[float, float], p: float, n_permutations: int, seed: int
) -> Mapping[str, Any]:
    """The numbers of a pair, or why there are none."""
    if both.shape[0] < FEWEST_PROMPTS:
        return {"undefined": NOT_TOGETHER}
    if np.isnan(r):
        if (both.max(axis=0) == 0).any():
            return {"undefined": NONE_YES}
        return {"undefined": ALL_YES if (both.min(axis=0) == 1).any() else NO_VARIANCE_OF_SHARES}
    return {
        "value": float(np.clip(r, -1.0, 1.0)),
        "low": ends[0],
        "high": ends[1],
        "p_value": p,
        "p_least": 1 / (1 + n_permutations),
        "holds_for": LIKE_THESE,
        "method": f"Fisher's z; p: {n_permutations:,} shuffles of queries, seed {seed}",
    }


def _flags(both: np.ndarray[Any, Any]) -> dict[str, bool]:
    """Whether a few queries decide."""
    found = (both > 0).sum(axis=0), (both < 1).sum(axis=0)
    return {"rare": bool((np.minimum(*found) < _RARE).any())}
