"""How often a generator refuses to draw: a refusal that depends on the group is a bias of its own."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.contract import register
from stereotrope.measure.shares.share import share
from stereotrope.measure.shares.share_difference import share_difference
from stereotrope.measure.tidy import factor_names, to_polars
from stereotrope.tables import ABSENT

_STATUSES = ("ok", "refused", "excluded", ABSENT)


@register(
    summary="How often the generator refuses to draw, and whether that depends on the group.",
    suite="objects",
    bounds=(0.0, 1.0),
    direction="higher: refuses more often",
    source="Wilson 1927; Newcombe 1998",
    needs="images",
    also=("refusal_rate_difference",),
    own_bounds={"refusal_rate_difference": (-1.0, 1.0)},
)
def refusal_rate(
    images: Any,
    group: str | None = None,
    *,
    baseline: str = "base",
    by: Sequence[str] = ("generator",),
    level: float = 0.95,
) -> pl.DataFrame:
    """Share of requests that the generator refused.

    Formula
    -------
    :math:`r = n_{refused} / (n_{refused} + n_{ok})`. Pictures that came but cannot be used
    (``status`` excluded), and those that are not at hand (``absent``: what was refused beside them is not
    known), stand in neither count; they are listed in ``excluded`` by their reason.

    Parameters
    ----------
    images
        One row a request: ``image_id``, ``status`` (``ok``, ``refused``, ``excluded`` or ``absent``) and the
        factors; optional ``reason`` and ``prompt_id``. See :func:`stereotrope.measure.with_factors`.
    group, baseline
        Where a factor is named, its levels are told apart, and every level is also compared with
        ``baseline``: rows of the measure ``refusal_rate_difference``.
    by
        Factors whose combinations are the cells (``group`` is added to them).
    level
        Nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates: ``refusal_rate`` in [0, 1] with Wilson's interval and, with ``group``,
        ``refusal_rate_difference`` in [−1, 1] with Newcombe's, Fisher's exact p and q over the
        differences. A row without ``group`` level is not made: rates stand a level each.

    Undefined
    ---------
    ``no request answered`` where no request of a cell (or of its reference) was drawn or refused.

    Raises
    ------
    TableError
        A column is missing, or a status is none of ``ok``, ``refused``, ``excluded``, ``absent``.
    UsageError
        The compared factor stands in ``by`` too.

    Notes
    -----
    0 refusals of 20 do not show that a model never refuses: the interval reaches to 0.16.

    References
    ----------
    Wilson (1927), JASA 22; Newcombe (1998), Statistics in Medicine 17, method 10.

    Examples
    --------
    >>> import polars as pl
    >>> images = pl.DataFrame({
    ...     "image_id": list("abcd"), "generator": "m", "status": ["ok", "ok", "ok", "refused"],
    ... })
    >>> refusal_rate(images)["value"].to_list()
    [0.25]
    """
    frame = to_polars(images, what="images")
    if absent := [name for name in ("image_id", "status") if name not in frame.columns]:
        raise TableError(f"images: no column {absent[0]!r}; found {', '.join(map(repr, frame.columns))}")
    by = factor_names(by, measure="refusal_rate", taken=(group,), what="by")
    if unknown := sorted(set(frame["status"].cast(pl.String).unique().to_list()) - set(_STATUSES), key=str):
        raise TableError(f"images: status {unknown[0]!r} is none of {', '.join(_STATUSES)}")
    reason = pl.col("reason") if "reason" in frame.columns else pl.lit(None, pl.String)
    drawn = frame.drop("excluded", strict=False).with_columns(
        pl.lit("refusal").alias("attribute"),
        pl.col("status")
        .replace_strict({"ok": "drawn", "refused": "refusal", "excluded": None, ABSENT: None})
        .alias("value"),
        pl.when(pl.col("status").is_in(["excluded", ABSENT]))
        .then(pl.coalesce(reason.cast(pl.String), "status"))
        .alias("excluded"),
    )
    scope = (*by, group) if group is not None else tuple(by)
    rates = share(drawn, value="refusal", by=scope, level=level)
    tables = [_renamed(rates, "refusal_rate")]
    if group is not None:
        differences = share_difference(
            drawn, group=group, baseline=baseline, value="refusal", within=by, level=level
        )
        tables.append(_renamed(differences, "refusal_rate_difference"))
    return pl.concat(tables)


def _renamed(estimates: pl.DataFrame, measure: str) -> pl.DataFrame:
    return estimates.with_columns(
        pl.lit(measure).alias("measure"),
        pl.lit("refusal").alias("definition"),
        pl.lit(None, pl.String).alias("attribute"),
        pl.lit(None, pl.String).alias("category"),
        pl.col("undefined").str.replace("no usable label", "no request answered", literal=True),
    )
