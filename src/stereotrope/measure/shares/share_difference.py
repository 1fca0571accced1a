"""How much a share differs between a group and the baseline, or between two groups."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cell_pairs import CellPairs, all_of, of_two_levels, with_baseline
from stereotrope.measure.cell_reading import flagged, read_cell_table
from stereotrope.measure.cell_table import CellTable
from stereotrope.measure.cells import NO_LABEL, NO_REFERENCE, PAIR, SMALL_N, as_names, require_text
from stereotrope.measure.compared_shares import compared_shares
from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_columns
from stereotrope.measure.named import Named, named_values
from stereotrope.measure.shares.share import share
from stereotrope.measure.tidy import count_alike, factor_names
from stereotrope.stats import (
    benjamini_hochberg,
    clusters_apart,
    fisher_exact,
    fisher_least,
    newcombe,
    shared_correlation,
)
from stereotrope.stats.arrays import Floats
from stereotrope.tables import LIKE_THESE, THESE_PROMPTS

_CLUSTERED = "Newcombe at effective n over prompts; p: whole prompts exchanged, counted out; {}"
_MATCHED = "Newcombe at effective n over prompts, correlation {:.2f}; p: sides of prompts exchanged; {}"
_FURTHER = "at its end beta-binomial, Behrens–Fisher where greater"
_FEWEST_FLIPPED = 6
"""Prompts from which on the sides of each are exchanged: with five, p could not be below 0.06."""
_SOURCE = "Newcombe 1998, method 10; Fisher 1934; Benjamini and Hochberg 1995"


@register(
    bounds=(-1.0, 1.0),
    direction="above 0: seen more often for the group; below 0: less often",
    source="Newcombe 1998, method 10; Fisher 1934",
    counted=True,
)
def share_difference(
    labels: Any,
    attribute: str | Sequence[str] | None = None,
    group: str = "group",
    *,
    baseline: str | None = "base",
    value: str | Sequence[str] | None = None,
    of: Sequence[str] | None = None,
    within: Sequence[str] = ("generator", "object"),
    pairs: bool = False,
    dimension: str | None = None,
    mid_p: bool = False,
    level: float = 0.95,
) -> pl.DataFrame:
    """How much more often a value is seen for a group than for the reference.

    Formula
    -------
    :math:`d_v = k_v^{g}/n^{g} - k_v^{r}/n^{r}` with ``g`` the group and ``r`` the reference.

    Parameters
    ----------
    labels, attribute, value, of, level
        As for :func:`stereotrope.measure.share`, ``of`` for both sides; without ``value`` every value that
        one of the two shows.
    group, baseline
        The factor compared, and its level that is the reference. ``baseline=None`` compares only pairs.
    within
        Factors held equal in each comparison. Name every other factor of the design, and use
        :func:`stereotrope.measure.average` afterwards, so that like is compared with like.
    pairs, dimension
        Also compare every two groups (not the baseline), inside one level of the factor ``dimension``.
    mid_p
        Count what is as probable as the counts seen by half in Fisher's test: more power at small n, and a
        level that holds on average, not always.

    Returns
    -------
    polars.DataFrame
        ``value`` in [−1, 1], positive where the group shows it more often than ``reference``. Where over 5%
        of a side's labels are missing, ``bound_low`` and ``bound_high`` are the differences that they allow.
        ``q_value`` is Benjamini–Hochberg over the whole table.

    Undefined
    ---------
    ``no usable label`` or ``no usable label of the reference`` where a side has none; ``no label is …`` where
    the labels have another word for a value that is named (see :func:`share`).

    Notes
    -----
    ``p_value`` is Fisher's exact test, two-sided: valid at any n, conservative at 20 against 20, and more so
    where both sides were drawn with the same seeds, which makes them alike.
    Where both sides span four prompts or more, interval and p hold for ``prompts like these``, flagged
    ``clustered``: Newcombe's interval at effective numbers (see :func:`share`), and a test that exchanges
    whole prompts (:func:`stereotrope.stats.cluster_permutation_test`), exact at any intra-class correlation.
    Four prompts a side cannot give p below 0.029, five 0.008: there p goes on, by half as many digits at
    most, by beta-binomial counts as alike within prompts as the sides, and conditions like them, show
    (:func:`stereotrope.stats.beyond_exact`). Where prompts differ in how many images they have, p is the
    greater of that test and of the same of prompts' shares; where those of one side have over 1.5 times as
    many, of the model, too. It is at least that of :func:`stereotrope.stats.behrens_fisher_test`: prompts of
    sides that vary unlike are told apart by exchange, though their shares be one. Where both sides have the
    same prompts, such as two models, what these have in common narrows the interval, and from six prompts on
    the sides of each are exchanged (:func:`stereotrope.stats.cluster_flip_test`).
    The interval covered 0.93 to 0.98 at an intra-class correlation of 0.1 and 0.3 (0.93 to 1 at 0).
    Over fewer than four prompts interval and p hold for ``these prompts`` alone. Where prompts share seeds
    (column ``seed``), what these do to one side alone widens the interval, and p grows as if its standard
    error were as much larger; what they do to both sides cancels. A frame without ``prompt_id`` cannot
    tell (``no_prompt_id``). ``p_least`` is the least p that the same counts could have had.

    References
    ----------
    Newcombe (1998), Statistics in Medicine 17, method 10; Fisher (1934), section 21.02; Gail et al. (1996),
    Statistics in Medicine 15, for the exchange of whole prompts.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "product_colour",
    ...     "value": ["pink"] * 20 + ["pink"] * 2 + ["grey"] * 18,
    ...     "generator": "m", "object": "car", "group": ["women"] * 20 + ["base"] * 20,
    ... })
    >>> row = share_difference(labels, value="pink").row(0, named=True)
    >>> round(row["value"], 2), round(row["low"], 2), row["p_value"] < 1e-6
    (0.9, 0.64, True)
    """
    if baseline is None and not pairs:
        raise UsageError("share_difference: nothing to compare; name a baseline or set pairs=True")
    if baseline is not None:
        require_text(baseline, what="share_difference: baseline")
    extra = (dimension,) if dimension is not None else ()
    within = factor_names(within, measure="share_difference", taken=(group, *extra))
    by = (*within, *extra, group)
    names = as_names(attribute, what="attribute") or None
    alike = count_alike(labels, factors=by, attributes=names, argument="within")
    meant = named_values(alike, names, value, of)
    table = read_cell_table(meant.labels, by=by, attributes=names, of=meant.allowed, argument="within")
    if baseline is not None and baseline not in table.levels[group]:
        found = ", ".join(map(repr, sorted({str(name) for name in table.levels[group]}))) or "none"
        raise UsageError(f"share_difference: no {group} {baseline!r}; found {found}")
    listed = [] if baseline is None else [with_baseline(table, baseline, len(within))]
    compared = all_of([*listed, *([of_two_levels(table, baseline)] if pairs else [])])
    rows = _rows(compared, meant, group)
    told = _differences(compared, rows, level=level, mid_p=mid_p)
    fixed = {"measure": "share_difference", "definition": "share", "contrast": group, "level": level}
    told = told.with_columns(
        sides=pl.when(pl.col("reference").ne_missing(baseline)).then(pl.lit(PAIR)),
        source=pl.lit(_SOURCE),
        **{name: pl.lit(given) for name, given in fixed.items()},
    )
    return estimate_columns(told, table.levels_of(compared.cell.gather(rows["pair"])))


def _rows(compared: CellPairs, meant: Named, group: str) -> pl.DataFrame:
    """A row a comparison and category, with what the counts of both sides are, and why there is no number."""
    attribute, name = compared.sides["attribute"], compared.name
    levels = compared.table.levels_of(compared.cell)
    annotator = levels["annotator"] if "annotator" in levels.columns else None
    whys = meant.why_nots(attribute, annotator)
    if group == "annotator":
        whys = whys.zip_with(whys.is_not_null(), meant.why_nots(attribute, name))
    pair = compared.sides.with_columns(
        compared.left_out(), cell=compared.cell, other=compared.other, reference=name, why=whys
    ).with_row_index("pair")
    values = pl.DataFrame({"category": meant.wanted}, schema={"category": pl.String})
    shown = pair.select("pair").join(values, how="cross") if meant.wanted else compared.shown()
    rows = shown.join(pair, on="pair", maintain_order="left").with_columns(pl.col("n_other").fill_null(0))
    k, j = (compared.table.count(rows[side], rows["category"]) for side in ("cell", "other"))
    none = (pl.col("n") == 0) | (pl.col("n_other") == 0) | pl.col("category").is_null()
    lacking = pl.when(pl.col("n") > 0).then(pl.lit(NO_REFERENCE)).otherwise(pl.lit(NO_LABEL))
    return rows.with_columns(k=k, j=j, undefined=pl.coalesce("why", pl.when(none).then(lacking)))


def _differences(compared: CellPairs, rows: pl.DataFrame, *, level: float, mid_p: bool) -> pl.DataFrame:
    """Differences with intervals, p and q, of the rows that have a number."""
    claims = compared.claims().select(pl.all().gather(rows["pair"]))
    known = pl.col("undefined").is_null()
    whole, whole_other = pl.col("n") + pl.col("missing"), pl.col("n_other") + pl.col("missing_other")
    k, n, j, m = (pl.col(name) for name in ("k", "n", "j", "n_other"))
    numbers = {
        "numerator": k,
        "denominator": n,
        "numerator_reference": j,
        "value": k / n - j / m,
        "holds_for": pl.when("prompts").then(pl.lit(LIKE_THESE)).otherwise(pl.lit(THESE_PROMPTS)),
        "flags": flagged(
            clustered=pl.col("by_prompt"),
            no_prompt_id=pl.col("unsure"),
            small_n=pl.min_horizontal(n, m) < SMALL_N,
        ),
    }
    bounds = {
        "bound_low": k / whole - (j + pl.col("missing_other")) / whole_other,
        "bound_high": (k + pl.col("missing")) / whole - j / whole_other,
    }
    lacking = known & (pl.col("lacks_much") | pl.col("lacks_much_other"))
    rows = rows.with_columns(claims.rename({"clustered": "by_prompt", "unknown": "unsure"}))
    told = rows.select(
        *("attribute", "category", "reference", "n", "n_excluded", "excluded", "undefined"),
        n_reference="n_other",
        method=pl.lit("Newcombe; p: Fisher exact" + ", mid-p" * mid_p),
        **{name: pl.when(known).then(of) for name, of in numbers.items()},
        **{name: pl.when(lacking).then(of) for name, of in bounds.items()},
    )
    at = rows.select(known.arg_true()).to_series()
    return _with_tests(told, at, compared.table, rows[at], level=level, mid_p=mid_p)


def _with_tests(
    told: pl.DataFrame, at: pl.Series, table: CellTable, rows: pl.DataFrame, *, level: float, mid_p: bool
) -> pl.DataFrame:
    """Intervals, p and q of some rows, all at once.

    at: Where the rows stand in what is told.
    """
    of_prompts = _of_prompts(table, rows)
    sides = compared_shares(table, rows, of_prompts.correlation, level=level)
    low, high = newcombe(*sides.effective, level=level, correlation=sides.correlation)
    p = np.empty((2, rows.height))
    p[:, of_prompts.rows] = of_prompts.p
    p[0, of_prompts.rows] = sides.weakened(of_prompts.p[0], of_prompts.rows)
    images = np.setdiff1d(np.arange(rows.height), of_prompts.rows)
    counts = [rows[name].to_numpy()[images] for name in ("k", "n", "j", "n_other")]
    p[:, images] = [test(*counts, mid=mid_p) for test in (fisher_exact, fisher_least)]
    columns = {
        "low": low,
        "high": high,
        "p_value": p[0],
        "p_least": p[1],
        "q_value": benjamini_hochberg(p[0]),
    }
    methods = [of + sides.words(row) for of, row in zip(of_prompts.methods, of_prompts.rows, strict=True)]
    method = told["method"].clone().scatter(at.gather(of_prompts.rows), methods)
    tested = method.gather(at) + f"; q: Benjamini–Hochberg over {len(at)} tests"
    spread = np.full((len(columns), told.height), np.nan)
    spread[:, at.to_numpy()] = list(columns.values())
    return told.with_columns(
        method.scatter(at, tested), **{name: pl.Series(of) for name, of in zip(columns, spread, strict=True)}
    )


class _OfPrompts(NamedTuple):
    """Tests of rows whose units are prompts: which ones, p and least p, what their method is, and of every
    row the correlation of both sides."""

    rows: NDArray[np.int64]
    p: Floats
    methods: list[str]
    correlation: Floats


def _of_prompts(table: CellTable, rows: pl.DataFrame) -> _OfPrompts:
    """Tests that exchange whole prompts, of rows whose units they are."""
    at = rows.select((pl.col("by_prompt") | pl.col("matched")).arg_true()).to_series()
    some, correlation = rows[at], np.zeros(rows.height)
    methods = [_CLUSTERED.format(_FURTHER)] * some.height
    p = np.ones((2, some.height))
    if some.is_empty():
        return _OfPrompts(at.to_numpy(), p, methods, correlation)
    sides = [table.clusters(some[side], some["category"]) for side in ("cell", "other")]
    # What tells the sides apart is left out of how alike pictures of a prompt are.
    own = [table.evidence(some[side], some["category"]) for side in ("cell", "other")]
    peers = np.stack([table.priors[some[side].to_numpy()] for side in ("cell", "other")], axis=1)
    alike = np.stack([*(side.sizes for side in sides), some["matched"].to_numpy()], axis=1)
    for m, other, matched in np.unique(alike, axis=0).tolist():
        here = np.flatnonzero((alike == (m, other, matched)).all(axis=1))
        counts = [*sides[0].of_size(here, m), *sides[1].of_size(here, other)]
        flipped = bool(matched) and m >= _FEWEST_FLIPPED
        told = own[0][here], own[1][here]
        p[:, here] = clusters_apart(*counts, own=told, peers=peers[here], matched=flipped)
        if matched:
            correlation[at.gather(here)] = shared_correlation(*counts)
        for row in here if flipped else ():
            methods[row] = _MATCHED.format(correlation[at[int(row)]], _FURTHER)
    return _OfPrompts(at.to_numpy(), p, methods, correlation)


def shares_and_differences(
    labels: pl.DataFrame,
    attributes: Sequence[str] | None,
    group: str | None,
    *,
    value: str,
    baseline: str,
    by: Sequence[str],
    level: float,
    definition: str,
) -> pl.DataFrame:
    """Shares of one value as rows ``<definition>_rate``; with a ``group`` also differences of these."""
    name = f"{definition}_rate"
    scope = (*by, group) if group is not None else by
    tables = {name: share(labels, attributes, value=value, by=scope, level=level)}
    if group is not None:
        tables[f"{name}_difference"] = share_difference(
            labels, attributes, group, baseline=baseline, value=value, within=by, level=level
        )
    common = {"definition": pl.lit(definition), "category": pl.lit(None, pl.String)}
    return pl.concat(table.with_columns(measure=pl.lit(row), **common) for row, table in tables.items())
