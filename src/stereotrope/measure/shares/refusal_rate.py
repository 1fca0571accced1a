"""How often a generator refuses to draw: a refusal that depends on the group is a bias of its own."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.contract import register
from stereotrope.measure.shares.share_difference import shares_and_differences
from stereotrope.measure.tidy import factor_names, to_polars
from stereotrope.tables import ABSENT, MADE, N_SUBJECTS

_STATUSES = ("ok", "refused", "excluded", ABSENT)


@register(
    suite="objects",
    bounds=(0.0, 1.0),
    direction="higher: refuses more often",
    source="Wilson 1927; Newcombe 1998",
    needs="images",
    also=("refusal_rate_difference",),
    own_bounds={"refusal_rate_difference": (-1.0, 1.0)},
    counted=True,
)
def refusal_rate(
    images: Any,
    group: str | None = None,
    *,
    baseline: str = "base",
    by: Sequence[str] = ("generator",),
    level: float = 0.95,
) -> pl.DataFrame:
    """How often the generator refuses to draw, and whether that depends on the group.

    Formula
    -------
    :math:`r = n_{refused} / (n_{refused} + n_{ok})`. Pictures that came but cannot be used
    (``status`` excluded), and those that are not at hand (``absent``, where nothing says what was refused
    beside them), stand in neither count; they are listed in ``excluded`` by their reason.

    Parameters
    ----------
    images
        One row a request: ``image_id``, ``status`` (``ok``, ``refused``, ``excluded`` or ``absent``) and the
        factors; optional ``reason`` and ``prompt_id``, or counted as of :func:`share`. See
        :func:`stereotrope.measure.with_factors`.
    group, baseline
        Where a factor is named, its levels are told apart, and every level is also compared with
        ``baseline``: rows of the measure ``refusal_rate_difference``.
    by, level
        Factors whose combinations are the cells (``group`` is added to them); nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates: ``refusal_rate`` in [0, 1] with Wilson's interval and, with ``group``,
        ``refusal_rate_difference`` in [−1, 1] with Newcombe's, Fisher's exact p and q over the
        differences.

    Undefined
    ---------
    ``no request answered`` where no request of a cell (or of its reference) was drawn or refused.

    Notes
    -----
    0 refusals of 20 do not show that a model never refuses: the interval reaches to 0.16.
    Over four prompts or more the interval holds for ``prompts like these``, as that of
    :func:`stereotrope.measure.share`, which says how often it covers, and
    differences are tested as in :func:`stereotrope.measure.share_difference`.

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
    frame = to_polars(images, what="images", needs=("status",))
    to_polars(frame, what="images", needs=() if N_SUBJECTS in frame.columns else ("image_id",))
    by = factor_names(by, measure="refusal_rate", taken=(group,), what="by")
    if unknown := sorted(set(frame["status"].cast(pl.String).unique().to_list()) - set(_STATUSES), key=str):
        raise TableError(f"images: status {unknown[0]!r} is none of {', '.join(_STATUSES)}")
    status, reason = pl.col("status"), pl.col("reason") if "reason" in frame.columns else pl.lit(None)
    made = (status == ABSENT) & (reason == MADE).fill_null(False)
    unusable = status.is_in(["excluded", ABSENT]) & ~made
    known = status.replace_strict({"ok": "drawn", "refused": "refusal", "excluded": None, ABSENT: None})
    drawn = frame.drop("excluded", strict=False).with_columns(
        attribute=pl.lit("refusal"),
        value=pl.when(made).then(pl.lit("drawn")).otherwise(known),
        excluded=pl.when(unusable).then(pl.coalesce(reason.cast(pl.String), status)),
    )
    rates = shares_and_differences(
        drawn, None, group, value="refusal", baseline=baseline, by=by, level=level, definition="refusal"
    )
    return rates.with_columns(
        pl.lit(None, pl.String).alias("attribute"),
        pl.col("undefined").str.replace("no usable label", "no request answered", literal=True),
    )
