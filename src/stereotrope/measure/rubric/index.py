"""The Social Stereotype Index: the share of a rubric's items that sets of images reinforce."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.rubric.reading import NO_ANSWER, call_of_items, read_sets
from stereotrope.measure.rubric.rows import rows_of

_SOURCE = "Barve et al. 2026, eq. 1"
_SHARE = "item_share"


@register(
    suite="ssi",
    bounds=(0.0, 1.0),
    direction="0: no item of the rubric; 1: every one",
    source="Barve et al. 2026, eq. 1; Student 1908; Wilson 1927",
    subject="set",
    also=(_SHARE,),
    call=call_of_items,
)
def ssi(
    labels: Any,
    *,
    items: str | Sequence[str] | None = None,
    by: Sequence[str] = ("generator",),
    query: str | None = None,
    raters: Sequence[str] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""Which share of a rubric's items sets of images reinforce, and how often each item.

    Formula
    -------
    Of a set of images :math:`SSI = \frac{1}{N} Σ_{i=1}^N x_i`, with :math:`x_i` 1 where it reinforces the
    stereotype of item ``i`` and 0 where not, over the ``N`` items that apply and were answered; of a set that
    was judged several times :math:`x_i` is the share of the answers that say so. Of a cell the mean over its
    queries, each the mean of its sets. The share of an item is the mean of its :math:`x_i` likewise.

    Parameters
    ----------
    labels
        Tidy frame of sets: ``image_id`` (of the set), ``attribute`` (an item), ``value`` (``yes`` or ``no``)
        and the factors in ``by``; optional ``excluded``. Rows with the same ``images`` are repetitions of one
        look.
    items
        One or several, all when None.
    by, level
        Factors whose combinations are the cells: queries are pooled in each; nominal coverage.
    query
        Column that says which sets are of one query; when None ``scenario`` where there is one, else
        ``prompt_id``.
    raters
        Annotators whose labels count, all when None; in an audit those that are no control of another.

    Returns
    -------
    polars.DataFrame
        A row ``ssi`` a cell, with ``attribute`` ``all`` and the number of items as ``n_categories``, and a
        row ``item_share`` a cell and item; ``value`` in [0, 1]. ``n`` counts sets, ``excluded`` answers that
        cannot be used, by reason. Where more than 5% of the answers are missing, ``bound_low`` and
        ``bound_high`` are the value if all of these were ``no``, and ``yes``.

    Undefined
    ---------
    ``no usable answer``. The index has no interval below four queries (``few_queries``), nor where all
    queries have the same index (``no_variation``).

    Notes
    -----
    Queries are the units: sets of one query are alike. The interval of the index is Student's over queries,
    drawn between 0 and 1 (:func:`stereotrope.stats.mean_interval`); that of an item Wilson's with a query as
    one observation, which is cautious where a query has several sets or answers (below four queries with a
    set as one). Where queries share four seeds or more (column ``seed``, of a set its least) both reach
    further by what these do; with fewer they are of these seeds, as ``method`` says. An item that was
    answered of some queries only counts in their sets alone, so that an index over other items is of other
    items: read ``excluded``. What the index says is what a judge says; how far that is right stands in its
    agreement with people, in the flip rates of its items and in its controls.

    References
    ----------
    Barve et al. (2026), Social stereotypes in AI text-to-image generation, eq. 1 and Table 2; Student (1908),
    Biometrika 6; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> said = [("a", "gender", "yes"), ("a", "age", "no"), ("b", "gender", "yes"), ("b", "age", "yes")]
    >>> labels = pl.DataFrame(said, schema=["image_id", "attribute", "value"], orient="row")
    >>> ssi(labels.with_columns(generator=pl.lit("m"))).select("measure", "attribute", "value").rows()
    [('ssi', 'all', 0.75), ('item_share', 'age', 0.5), ('item_share', 'gender', 1.0)]
    """
    cells = list(read_sets(labels, measure="ssi", by=by, items=items, query=query, raters=raters))
    told = {"measure": "ssi", "level": level, "source": _SOURCE}
    shares = {"measure": _SHARE, "level": level, "source": f"{_SOURCE}; Wilson 1927"}
    pairs = zip(
        rows_of(cells, by, told, NO_ANSWER, "student", parts=["all"], bounds=True),
        rows_of(cells, by, shares, NO_ANSWER, "wilson", parts=["items"], bounds=True),
        strict=True,
    )
    return estimate_frame([row for pair in pairs for one in pair for row in one], factors=tuple(by))
