"""Means of a score over the levels of a factor, such as a model's mean over objects."""

from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import special

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.cells import holds_few
from stereotrope.measure.contract import Bounds, bounds_of, register
from stereotrope.measure.definitions import require_one_definition
from stereotrope.measure.tidy import estimate_frame, excluded_json, to_polars
from stereotrope.stats import cluster_bootstrap_mean, normal_quantile
from stereotrope.tables import ESTIMATES, MARKS

_NAMES = {column.name for column in ESTIMATES}
_KEYS = ("measure", "definition", "contrast", "reference", "attribute", "category", "sides", *MARKS)


@register(
    summary="Mean of any score over the levels of a factor, missing ones counted and never 0.",
    suite="general",
    bounds=(None, None),
    direction="as the score that is averaged",
    source="SODA, Table 2",
    needs="estimates",
    marks={"aggregate": "over"},
    subsets=True,
)
def average(
    estimates: Any,
    over: str = "object",
    *,
    interval: Literal["t", "bootstrap"] = "t",
    level: float = 0.95,
    n_bootstrap: int = 2_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Mean of each score over the levels of a factor, everything else held equal.

    Formula
    -------
    :math:`\\bar s = \\frac1m Σ_o s_o` over the ``m`` levels that have a score; each level counts the
    same, whatever its n. The t interval is :math:`\\bar s ± t_{m-1}·sd/\\sqrt m`, cut at the least and the
    greatest value that the score can have.

    Parameters
    ----------
    estimates
        Estimates of one or more measures with the factor ``over`` as a column.
    over
        Factor to average over.
    interval
        ``t``, or ``bootstrap``: percentile, levels drawn with replacement.
    level
        Nominal coverage.
    n_bootstrap, seed
        Resamples, and the seed of ``numpy.random.default_rng``.

    Returns
    -------
    polars.DataFrame
        Estimates of the same measure without the column ``over``, which ``aggregate`` names (of a mean of
        means both factors, ``object, generator``). They hold means of ``value``, ``floor``,
        ``excess`` and ``adjusted`` (unclipped). ``n`` is the number of levels averaged; ``n_excluded``
        those without a score, by reason; they are never averaged in as 0. A level that has scores of other
        attributes and none of this one was not asked about it and is none of them. A mean that holds a
        score flagged ``small_n`` is flagged so itself.

    Undefined
    ---------
    ``no level of … has a score``. The interval is null with one level (flag ``one_level``) and where all
    levels are equal (``no_variation``).

    Raises
    ------
    TableError
        A column is missing, or a level of ``over`` stands twice in one mean.
    UsageError
        ``over`` is no factor, or ``interval`` is neither ``t`` nor ``bootstrap``.

    Notes
    -----
    The interval says how the mean would vary with other objects like these, not with other images of
    the same ones. Cutting it leaves its coverage as it is: no mean lies beyond the scale. A category that
    ``share_difference`` does not list for a level counts as missing there: name the categories with its
    ``value=``.

    References
    ----------
    SODA, Table 2 (means over objects of Table 11).

    Examples
    --------
    >>> import polars as pl
    >>> estimates = pl.DataFrame({
    ...     "measure": "bds", "definition": "paper", "generator": "m", "group": "women",
    ...     "object": ["car", "cup", "sofa"], "attribute": "all", "value": [0.2, 0.4, None],
    ... })
    >>> average(estimates).select("measure", "aggregate", "value", "n").row(0)
    ('bds', 'object', 0.30000000000000004, 2)
    """
    frame = to_polars(estimates, what="estimates")
    for name in ("measure", "definition", "value", over):
        if name not in frame.columns:
            raise TableError(f"estimates: no column {name!r}; found {', '.join(map(repr, frame.columns))}")
    if over in _NAMES:
        raise UsageError(f"average: {over!r} is a column of every estimate; name a factor such as 'object'")
    if interval not in ("t", "bootstrap"):
        raise UsageError(f"average: interval must be 't' or 'bootstrap', found {interval!r}")
    normal_quantile(level)
    require_one_definition(frame)
    factors = [c for c in frame.columns if c not in _NAMES and c != over]
    keys = [*factors, *(k for k in _KEYS if k in frame.columns)]
    if frame.select(*keys, over).is_duplicated().any():
        raise TableError(f"estimates: a level of {over!r} stands twice in one mean; keep one row a level")
    kinds = [name for name in ("measure", *MARKS) if name in frame.columns]
    asked = {key: part[over].n_unique() for key, part in frame.group_by(kinds)}
    elsewhere = _not_asked(frame, [k for k in keys if k != "category"], over)
    rows = []
    for key, part in frame.group_by(keys, maintain_order=True):
        scope = dict(zip(keys, key, strict=True))
        place = tuple(value for name, value in scope.items() if name != "category")
        levels = asked[tuple(scope[name] for name in kinds)] - elsewhere.get(place, 0)
        row = {**scope, "level": level, **_counts(part, levels), "source": _source(part)}
        row["aggregate"] = ", ".join(filter(None, (scope.get("aggregate"), over)))
        values = part["value"].drop_nulls().drop_nans().to_numpy()
        if not values.size:
            rows.append({**row, "undefined": f"no level of {over} has a score"})
            continue
        difference = scope.get("baseline") is not None
        scale = bounds_of(scope["measure"], scope["definition"], difference=difference)
        mean, low, high, how = _interval(values, interval, level, n_bootstrap, seed, scale)
        flags = ["one_level"] if values.size == 1 else ["no_variation"] * bool(np.isnan(low))
        flags += ["small_n"] * holds_few(part)
        row |= {"value": mean, "low": low, "high": high, "flags": ",".join(flags) or None}
        row |= {"method": f"mean over {values.size} levels of {over}; {how}"}
        for name in ("floor", "excess", "adjusted"):
            if name in part.columns and (known := part[name].drop_nulls()).len() == values.size:
                row[name] = known.mean()
                if name == "adjusted":
                    _, row["adjusted_low"], row["adjusted_high"], _ = _interval(
                        known.to_numpy(), interval, level, n_bootstrap, seed, (None, 1.0)
                    )
        rows.append(row)
    return estimate_frame(rows, factors=factors)


def _not_asked(frame: pl.DataFrame, keys: list[str], over: str) -> dict[tuple[Any, ...], int]:
    """Levels with scores of other attributes and none of this one: it was not asked about there."""
    if "attribute" not in keys:
        return {}
    shared = [name for name in keys if name != "attribute"]
    levels = frame.group_by(shared).agg(pl.col(over).n_unique().alias("_all"))
    own = frame.group_by(keys).agg(pl.col(over).n_unique().alias("_own"))
    counted = own.join(levels, on=shared, how="left", nulls_equal=True)
    return {
        tuple(row[:-1]): row[-1] for row in counted.select(*keys, pl.col("_all") - pl.col("_own")).iter_rows()
    }


def _counts(part: pl.DataFrame, asked: int) -> dict[str, Any]:
    scored = part["value"].drop_nulls().drop_nans().len()
    reasons: dict[str, int] = {"combination missing": asked - part.height}
    empty = part.filter(pl.col("value").is_null() | pl.col("value").is_nan())
    named = empty["undefined"].fill_null("no score").to_list() if "undefined" in part.columns else []
    for reason in named or ["no score"] * empty.height:
        reasons[reason] = reasons.get(reason, 0) + 1
    return {"n": scored, "n_excluded": asked - scored, "excluded": excluded_json(reasons)}


def _source(part: pl.DataFrame) -> str | None:
    if "source" not in part.columns:
        return None
    sources = part["source"].drop_nulls().unique(maintain_order=True)
    return sources[0] if sources.len() else None


def _interval(
    values: np.ndarray[Any, np.dtype[np.float64]],
    kind: str,
    level: float,
    n_bootstrap: int,
    seed: int,
    scale: Bounds,
) -> tuple[float, float, float, str]:
    if kind == "bootstrap":
        how = f"percentile bootstrap of levels, {n_bootstrap} resamples, seed {seed}"
        return (*cluster_bootstrap_mean(values, level=level, n_resamples=n_bootstrap, seed=seed), how)
    mean, how = float(values.mean()), "t interval over levels"
    if values.size < 2 or float(np.ptp(values)) <= 1e-12:
        return mean, np.nan, np.nan, how
    reach = float(
        special.stdtrit(values.size - 1, 0.5 + level / 2) * values.std(ddof=1) / np.sqrt(values.size)
    )
    low = max(mean - reach, -np.inf if scale[0] is None else scale[0])
    high = min(mean + reach, np.inf if scale[1] is None else scale[1])
    return mean, low, high, how + ", cut at the ends of the scale" * (high - low < 2 * reach)
