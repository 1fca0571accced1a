"""How often pictures break what the prompt asks of all of them: one product only, no people."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.contract import register
from stereotrope.measure.shares.share_difference import shares_and_differences
from stereotrope.measure.tidy import factor_names, read_labels, to_polars
from stereotrope.tables import ALL_ATTRIBUTES, CONSTRAINTS

_ORDER = {name: at for at, name in enumerate((ALL_ATTRIBUTES, *CONSTRAINTS))}


@register(
    suite="objects",
    bounds=(0.0, 1.0),
    direction="higher: breaks its prompt more often; the variety of such pictures is no diversity",
    source="SODA, section 5.3; Wilson 1927; Newcombe 1998",
    needs="constraints",
    also=("violation_rate_difference",),
    own_bounds={"violation_rate_difference": (-1.0, 1.0)},
)
def violation_rate(
    labels: Any,
    group: str | None = None,
    *,
    baseline: str = "base",
    by: Sequence[str] = ("generator",),
    level: float = 0.95,
) -> pl.DataFrame:
    """How often pictures break what every prompt asks, and whether that depends on the group.

    Formula
    -------
    :math:`r = n_{broken} / n`, with :math:`n` the pictures of which it is known whether they break any
    constraint: one that is broken is enough, and none only where each is labelled.

    Parameters
    ----------
    labels
        Tidy labels (:func:`stereotrope.measure.tidy_labels`) of the attributes
        :data:`stereotrope.tables.CONSTRAINTS`: ``yes`` where the picture breaks it, else ``no``. Other
        attributes are passed over, so that a whole tidy frame may be given.
    group, baseline
        Where a factor is named, its levels are told apart, and every level is also compared with
        ``baseline``: rows of the measure ``violation_rate_difference``.
    by, level
        Factors whose combinations are the cells (``group`` is added to them); nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates: ``violation_rate`` in [0, 1] with Wilson's interval, a row with ``attribute`` = ``all``
        for any constraint and one for each that was labelled; with ``group``, ``violation_rate_difference``
        in [−1, 1] with Newcombe's, Fisher's exact p and q over the differences. ``excluded`` counts
        pictures not known to break or keep it, by reason (``unclear``, ``not labelled``,
        ``refused by the generator`` …); where these are over 5%, ``bound_low`` and ``bound_high`` are the
        rate if none, and if all, of them broke it.

    Undefined
    ---------
    ``no usable label`` where no picture of a cell (or of its reference) is known to break or to keep it.

    Notes
    -----
    0 of 20 has an interval that reaches to 0.16. A picture with one label ``unclear`` counts where the other
    is ``yes`` and is left out where it is ``no``, which raises the rate a little; see the bounds.
    Over four prompts or more the interval holds for ``prompts like these``, as that of
    :func:`stereotrope.measure.share`, which says how often it covers, and
    differences are tested as in :func:`stereotrope.measure.share_difference`.

    References
    ----------
    SODA, section 5.3, footnote 2; Wilson (1927), JASA 22; Newcombe (1998), Statistics in Medicine 17,
    method 10.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": ["a", "b", "c", "d"] * 2, "generator": "m",
    ...     "attribute": ["people_present"] * 4 + ["several_products"] * 4,
    ...     "value": ["yes", "no", "no", "no", "yes", "yes", "no", "unclear"],
    ... })
    >>> found = violation_rate(labels)
    >>> found.select("attribute", pl.col("value").round(2), "n", "excluded").row(0)
    ('all', 0.67, 3, '{"unclear": 1}')
    """
    by = factor_names(by, measure="violation_rate", taken=(group,), what="by")
    pictures, listed = _pictures(labels, (*by, group) if group is not None else by)
    rates = shares_and_differences(
        pictures, listed, group, value="yes", baseline=baseline, by=by, level=level, definition="violation"
    )
    order = pl.col("measure") == "violation_rate_difference", pl.col("attribute").replace_strict(_ORDER)
    return rates.sort(order, maintain_order=True)


def _pictures(labels: Any, scope: Sequence[str]) -> tuple[pl.DataFrame, list[str]]:
    """Labels of the constraints, and one more a picture: whether it breaks any."""
    frame = to_polars(labels, needs=("image_id", "attribute", "value", *scope))
    said = frame.filter(pl.col("attribute").is_in(list(CONSTRAINTS)))
    if frame.height and not said.height:
        raise TableError(
            f"labels: no label of {' or '.join(map(repr, CONSTRAINTS))}; have them labelled, for example "
            "with the annotator {constraints: openai:gpt-4o}"
        )
    said = read_labels(said, factors=scope)
    odd = pl.col("excluded").is_null() & ~pl.col("value").is_in(["yes", "no"])
    said = said.with_columns(excluded=pl.when(odd).then(pl.lit("neither yes nor no")).otherwise("excluded"))
    keys = ["image_id", "prompt_id", *scope]
    counts, broken = pl.col("excluded").is_null(), pl.col("value") == "yes"
    listed = [name for name in CONSTRAINTS if name in said["attribute"]]
    whole = said.group_by(keys, maintain_order=True).agg(
        broken=(counts & broken).any(),
        known=counts.all() & (pl.col("attribute").n_unique() == len(listed)),
        reason=pl.col("excluded").drop_nulls().sort().first().fill_null("not labelled"),
    )
    whole = whole.with_columns(
        attribute=pl.lit(ALL_ATTRIBUTES),
        value=pl.when("broken").then(pl.lit("yes")).otherwise(pl.lit("no")),
        excluded=pl.when(~(pl.col("broken") | pl.col("known"))).then("reason"),
    ).select(said.columns)
    return pl.concat([whole, said]), [ALL_ATTRIBUTES, *listed] if said.height else []
