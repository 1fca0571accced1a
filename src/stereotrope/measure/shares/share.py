"""How often each value of an attribute is seen: shares, and the female ratio."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cell_reading import read_cell_table
from stereotrope.measure.cell_table import CellTable
from stereotrope.measure.cells import NO_LABEL, as_names
from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_columns
from stereotrope.measure.named import Named, named_values
from stereotrope.measure.tidy import count_alike, factor_names
from stereotrope.stats import ICC_GRID, normal_quantile, wilson
from stereotrope.stats.arrays import Floats

_SOURCE = "Wilson 1927; simultaneous: Goodman 1965"
_EVERYWHERE = 100
"""Values of an attribute, the most frequent, that have a row in every cell, seen there or not."""


@register(
    bounds=(0.0, 1.0),
    direction="higher: seen more often",
    source="Wilson 1927; Goodman 1965",
    counted=True,
)
def share(
    labels: Any,
    attribute: str | Sequence[str] | None = None,
    *,
    value: str | Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    by: Sequence[str] = ("generator",),
    simultaneous: bool = False,
    level: float = 0.95,
) -> pl.DataFrame:
    """How often each value of an attribute is seen.

    Formula
    -------
    :math:`s_v = k_v / n`, with :math:`k_v` the images labelled ``v`` and :math:`n` the images with a
    usable label (of the values in ``of``, where given). Simultaneous intervals of :math:`K` values are
    Wilson's at level :math:`1 - (1 - level)/K` (Goodman, eq. 1.3 and the Bonferroni quantile of section 3).

    Parameters
    ----------
    labels
        Tidy frame: ``image_id, attribute, value`` and the factors in ``by``; optional ``excluded`` (a
        reason) and ``prompt_id``. With ``n_subjects`` instead of ``image_id`` a row stands for so many.
    attribute, value
        One or several, all when None; values to count, all that are seen in the frame when None.
    of
        Restrict the denominator to these values; others are left out as ``labelled …``.
    by, level
        Factors whose combinations are the cells; nominal coverage.
    simultaneous
        Goodman's intervals, which cover all categories of a cell together, instead of Wilson's.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell, attribute and ``category``; ``value`` in [0, 1]. A value that only other
        cells show has share 0 with its interval; where none are named, beyond the 100 most frequent values of
        an attribute a cell has rows of those that it shows. ``n`` below 10 is flagged ``small_n``. Where more
        than 5% of a cell's labels are missing (labels outside ``of`` are not), ``bound_low`` and
        ``bound_high`` are the share if none, and if all, of these were the category.

    Undefined
    ---------
    ``no usable label`` where ``n = 0``; ``no label is …`` where the labels have another word for a value that
    is named, or none of those in ``of``; ``labels are both …`` where one annotator has two words for it, such
    as ``female`` and ``f``. What an annotator writes otherwise in capitals, in joints between letters, as a
    plural or with other zeros of a number (``1.0``) is taken for it; signs and amounts must be alike.

    Notes
    -----
    Where a cell spans four prompts or more, its interval holds for ``prompts like these``: it is Wilson's at
    the effective number (:func:`stereotrope.stats.effective_trials`), flagged ``clustered``. How alike the
    pictures of a prompt are is learned from all cells of the attribute in the frame that one annotator
    labelled, and from those of the same level of a factor, such as the baseline, as far as these foretell one
    another (:func:`stereotrope.stats.icc_weights`); where there is but one, the likelihood of its own counts
    makes the interval (:func:`stereotrope.stats.cluster_share_interval`). How often they cover is in
    docs/explanation/interval-coverage.md. Over three prompts or fewer it holds for ``these prompts`` alone.
    Without a column ``prompt_id`` a frame cannot tell (``no_prompt_id``). Where a column ``seed`` says that
    four prompts or more share four seeds or more, pictures of
    one seed are taken to be as alike as they look (:func:`stereotrope.stats.crossed_weights`), and the
    interval is of other seeds too.

    References
    ----------
    Wilson (1927), JASA 22; Goodman (1965), Technometrics 7, eq. 1.3; Dean and Pagano (2015), J. Survey
    Statistics and Methodology 3.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": ["a", "b", "c", "d"], "attribute": "product_colour",
    ...     "value": ["pink", "pink", "pink", "grey"], "generator": "m",
    ... })
    >>> share(labels, "product_colour", value="pink")["value"].to_list()
    [0.75]
    """
    by = factor_names(by, measure="share", what="by")
    if of is not None and (outside := [v for v in as_names(value, what="value") if v not in of]):
        raise UsageError(f"share: value {outside[0]!r} is not in of={list(of)}; add it to of")
    names = as_names(attribute, what="attribute") or None
    meant = named_values(count_alike(labels, factors=by, attributes=names, across=True), names, value, of)
    return _shares(meant, names, by=by, simultaneous=simultaneous, level=level)


def _shares(
    meant: Named, names: Sequence[str] | None, *, by: Sequence[str], simultaneous: bool = False, level: float
) -> pl.DataFrame:
    normal_quantile(level)
    table = read_cell_table(meant.labels, by=by, attributes=names, of=meant.allowed)
    named = meant.wanted or meant.allowed
    listed = {name: named or seen for name, seen in table.categories().items()}
    most = None if named else _EVERYWHERE
    asked = pl.DataFrame(
        [(name, list(of[:most]), len(of)) for name, of in listed.items()],
        schema={"attribute": pl.String, "category": pl.List(pl.String), "n_categories": pl.Int64},
        orient="row",
    )
    fewer = pl.lit(1 - level) / (pl.col("n_categories").clip(1) if simultaneous else 1)
    cells = table.cells.with_row_index("cell").join(asked, on="attribute", maintain_order="left")
    annotators = table.levels["annotator"] if "annotator" in by else None
    trouble = meant.why_nots(table.cells["attribute"], annotators)
    cells = cells.with_columns(
        undefined=pl.coalesce(trouble, pl.when(pl.col("n") == 0).then(pl.lit(NO_LABEL))),
        each=1 - fewer,
    )
    cells = cells.with_columns(trials=_trials(table, cells["each"].to_numpy()))
    method = pl.when(pl.Series(table.alone)).then(pl.lit("Beta-binomial")).otherwise(pl.lit("Wilson"))
    if simultaneous:
        method = pl.format("Goodman, simultaneous over {} categories", "n_categories")
    cells = cells.with_columns(method=pl.concat_str(method, _clusters(table, cells["trials"])))
    rows = cells.explode("category", empty_as_null=True)
    rare = [
        (name, value, at) for name, of in listed.items() for at, value in enumerate(of[most or len(of) :])
    ]
    if rare:
        kept = {"attribute": pl.String, "category": pl.String, "rank": pl.Int64}
        rows = _with_rare(rows, table, pl.DataFrame(rare, schema=kept, orient="row"))
    rows = rows.with_columns(numerator=table.count(rows["cell"], rows["category"]))
    low, high = _intervals(rows, table)
    k, n, missing = pl.col("numerator"), pl.col("n"), pl.col("missing")
    bounds = {"bound_low": k / (n + missing), "bound_high": (k + missing) / (n + missing)}
    told: dict[str, Any] = {
        "value": k / n,
        "numerator": k,
        "denominator": n,
        "low": low,
        "high": high,
        **{name: pl.when("lacks_much").then(bound) for name, bound in bounds.items()},
        **{name: pl.col(name) for name in ("holds_for", "flags", "method")},
        "by_seed": table.by_seed(rows["cell"], rows["category"]),
    }
    known = pl.col("undefined").is_null()
    fixed = {"measure": "share", "definition": "share", "source": _SOURCE, "level": level}
    return estimate_columns(
        rows.select(
            *("attribute", "category", "n", "n_excluded", "excluded", "undefined"),
            **{name: pl.when(known).then(of) for name, of in told.items()},
            **{name: pl.lit(value) for name, value in fixed.items()},
        ),
        table.levels_of(rows["cell"]),
    )


@register(
    suite="everyday",
    bounds=(0.0, 1.0),
    direction="0.5: both equally often; 1: only figures labelled female",
    source="everyday gender, R_f",
    counted=True,
)
def female_ratio(
    labels: Any,
    *,
    attribute: str = "gender",
    female: str = "female",
    male: str = "male",
    by: Sequence[str] = ("generator",),
    level: float = 0.95,
) -> pl.DataFrame:
    """Share labelled female among figures labelled female or male.

    The labels are an annotator's perception of a drawn figure, never anybody's identity.

    Formula
    -------
    :math:`R_f = |F| / (|F| + |M|)`.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`share`.
    attribute, female, male
        The attribute, and its two values that count. Every other value is left out and counted.
    by, level
        Factors whose combinations are the cells; nominal coverage of Wilson's interval.

    Returns
    -------
    polars.DataFrame
        Estimates, one row a cell; ``value`` in [0, 1], 0.5 where both are equally often seen.

    Undefined
    ---------
    ``no usable label`` where no image is labelled female or male; never 0.5. ``no label is …`` where the
    labels have other words, such as ``F`` and ``M``; capitals may differ.

    Notes
    -----
    ``n`` is the number of female or male images; with few left, read ``n_excluded`` first.
    Over four prompts or more the interval holds for ``prompts like these``, as that of :func:`share`.

    References
    ----------
    “Large-scale gender analysis” of the suite ``everyday``, :math:`R_f(p)` in its section on metrics;
    Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": ["a", "b", "c", "d"], "attribute": "gender",
    ...     "value": ["female", "female", "male", "unclear"], "generator": "m",
    ... })
    >>> row = female_ratio(labels).row(0, named=True)
    >>> round(row["value"], 3), row["n"], row["excluded"]
    (0.667, 3, '{"unclear": 1}')
    """
    by = factor_names(by, measure="female_ratio", what="by")
    names, both = (attribute,), as_names((female, male), what="female and male")
    alike = count_alike(labels, factors=by, attributes=names, across=True)
    meant = named_values(alike, names, female, both, arguments={female: "female", male: "male"})
    found = _shares(meant, names, by=by, level=level)
    return found.with_columns(
        measure=pl.lit("female_ratio"),
        definition=pl.lit("everyday"),
        source=pl.lit("everyday gender, R_f; interval Wilson 1927"),
    )


def _with_rare(rows: pl.DataFrame, table: CellTable, rare: pl.DataFrame) -> pl.DataFrame:
    """The rows and, of each cell, those of the ``rare`` values that it shows.

    A row of every value in every cell would be as many as the square of what was labelled.
    """
    cells = rows.unique("cell", maintain_order=True)
    shown = table.values.select("cell", category="value").join(cells.drop("category"), on="cell")
    shown = shown.join(rare, on=["attribute", "category"]).select(*rows.columns, "rank")
    together = pl.concat([rows.with_columns(rank=pl.lit(-1, pl.Int64)), shown])
    return together.sort("cell", "rank", maintain_order=True).drop("rank")


def _trials(table: CellTable, level: Floats) -> pl.Series:
    """Effective number of images of each cell, for an interval of its level."""
    found = np.zeros(len(level))
    for one in np.unique(level):
        found = np.where(level == one, table.trials(float(one)), found)
    return pl.Series(found)


def _clusters(table: CellTable, trials: pl.Series) -> pl.Series:
    """What the method says of cells whose units are prompts."""
    at = table.cells["clustered"].arg_true().to_numpy()
    told = zip(trials[at], table.sizes[at], table.weights[at] @ ICC_GRID, strict=True)
    words = [
        f"; effective n {n:.1f} over {units} units, intra-class correlation {icc:.2f}"
        for n, units, icc in told
    ]
    if table.seeds is not None and table.seed_weights is not None:
        seeds = (table.seed_weights @ ICC_GRID)[at]
        shared = table.seeds.alike[at] > 0
        words = [
            f"{told}, {of:.2f} of shared seeds" if some else told
            for told, of, some in zip(words, seeds, shared, strict=True)
        ]
    words = [
        f"; likelihood over {units} units" if alone else told
        for told, units, alone in zip(words, table.sizes[at], table.alone[at], strict=True)
    ]
    return pl.repeat("", table.cells.height, eager=True).scatter(at, words)


def _intervals(rows: pl.DataFrame, table: CellTable) -> tuple[pl.Series, pl.Series]:
    """Both ends of the interval of each row."""
    clustered = rows["clustered"].to_numpy()
    k, n, trials, level = (
        rows[c].to_numpy().astype(np.float64) for c in ("numerator", "n", "trials", "each")
    )
    k = np.where(clustered, k / np.where(n > 0, n, 1.0) * trials, k)
    ends = np.full((2, len(k)), np.nan)
    for one in np.unique(level):
        ends[:, level == one] = wilson(k[level == one], trials[level == one], level=float(one))
    alone = table.alone[rows["cell"].to_numpy()] & rows["category"].is_not_null().to_numpy()
    some = rows.filter(alone)
    ends[:, alone] = table.intervals_alone(some["cell"], some["category"], level[alone])
    return pl.Series(ends[0]), pl.Series(ends[1])
