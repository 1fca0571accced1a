"""The scores that a change is of: each with what exceeds its noise floor, and the error of that."""

from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.divergence.scores import read_scores
from stereotrope.measure.divergence.vac import RAREFIED
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.tidy import to_polars
from stereotrope.stats import normal_quantile
from stereotrope.tables import ESTIMATE_COLUMNS

EXCESS = "excess"
"""Which score is changed, and the name of the definition that such a change follows."""


def scores_above_floor(estimates: Any, over: str, score: str) -> pl.DataFrame:
    """The scores with ``_score``, ``_above`` (what exceeds the floor) and ``_error`` (its standard error)."""
    frame = read_scores(
        estimates,
        ("cds", "vac"),
        (over,),
        reader="change",
        score=score,
        scores=("value", EXCESS),
        beside=(RAREFIED,),
    )
    rarefied, used = frame.filter(measure=RAREFIED), frame.filter(pl.col("measure") != RAREFIED)
    cds = pl.col("measure") == "cds"
    if score == "value" or used.filter(cds).height:
        to_polars(used, what="estimates", needs=[score])
    if score == EXCESS and used.filter(~cds).height and not rarefied.height:
        raise TableError(
            f"estimates: 'vac' has no noise floor of its own, and no row of {RAREFIED!r} stands beside it; "
            "pass what vac returns by the definition 'paper' or 'capped', or set score='value'"
        )
    used, rarefied = (
        pl.concat([estimate_frame([], factors=()), one], how="diagonal_relaxed") for one in (used, rarefied)
    )
    keys = ["measure", "definition", *(c for c in frame.columns if c not in ESTIMATE_COLUMNS)]
    beside = rarefied.with_columns(measure=pl.lit("vac"), _above="value", _error=_ERROR)
    beside = beside.select(*keys, "_above", "_error")
    table = used.join(beside, on=keys, how="left", nulls_equal=True, maintain_order="left").with_columns(
        _above=pl.when(cds).then("excess").otherwise("_above"),
        _error=pl.when(cds).then(_ERROR).otherwise("_error"),
    )
    return table.with_columns(_score="_above" if score == EXCESS else "value")


def _quantiles(levels: pl.Series) -> pl.Series:
    return pl.Series([normal_quantile(level) for level in levels], dtype=pl.Float64)


_ERROR = (pl.col("high") - pl.col("low")) / (
    2 * pl.col("level").fill_null(0.95).map_batches(_quantiles, return_dtype=pl.Float64)
)
"""The standard error of a score, of its interval."""
