"""Values that take over: conditions that show one value only, and dominant values that change."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cell_pairs import CellPairs, with_baseline
from stereotrope.measure.cell_reading import flagged, read_cell_table
from stereotrope.measure.cell_table import CellTable
from stereotrope.measure.cells import NO_LABEL, NO_REFERENCE, SMALL_N, require_text
from stereotrope.measure.contract import register
from stereotrope.measure.estimates import estimate_columns, excluded_json
from stereotrope.measure.tidy import factor_names
from stereotrope.stats import effective_counts, special, wilson
from stereotrope.stats.arrays import Floats
from stereotrope.tables import ALL_ATTRIBUTES, LIKE_THESE

_SODA = "SODA, section on deterministic cases and dominance shifts"


_NUMBER = "\0number"
"""A column's name that no factor has."""


@register(
    suite="objects",
    bounds=(0.0, 1.0),
    direction="higher: more of the design has one look only",
    source="SODA, deterministic cases",
    also=("dominant_share",),
    counted=True,
)
def deterministic_share(
    labels: Any,
    group: str = "group",
    *,
    within: Sequence[str] = ("generator", "object"),
    by: Sequence[str] = ("generator",),
    attributes: Collection[str] | None = None,
    min_n: int = SMALL_N,
    level: float = 0.95,
) -> pl.DataFrame:
    """Share of condition × attribute cells in which every image shows the same value.

    Formula
    -------
    A cell with values :math:`x_v` out of ``n`` is deterministic when :math:`\\max_v x_v = n ≥` ``min_n``;
    the score is the number of deterministic cells over the number of cells with ``n ≥ min_n``. The
    ``floor`` is what it would read if the group changed nothing: with the images of all groups of one
    ``within`` shuffled, a cell is deterministic with probability
    :math:`Σ_v \\binom{c_v}{n} / \\binom{N}{n}`, :math:`c_v` of the :math:`N` images showing ``v``.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`stereotrope.measure.share`.
    group, within
        A condition is a level of ``group`` in a combination of ``within``.
    by
        Factors (some of ``within``) whose levels get one share each.
    attributes, level
        Keep only these attributes, all when None; nominal coverage.
    min_n
        Cells with fewer usable labels are left out of the share and counted.

    Returns
    -------
    polars.DataFrame
        Two kinds of rows. ``deterministic_share``: one a level of ``by``, for all attributes together
        and for each; ``n`` is the number of cells; Wilson's interval at the effective number of cells,
        conditions being the clusters. ``dominant_share``: one a condition and attribute, ``category``
        the dominant value and ``value`` its share with Wilson's interval, flagged ``deterministic``
        where it is 1 and ``n ≥ min_n``: 20 of 20 reads [0.84, 1].

    Undefined
    ---------
    ``no cell with enough usable labels`` for a share; ``no usable label`` for a cell.

    Notes
    -----
    The dominant value is chosen after looking, so at small ``n`` its share is biased upward. A floor
    near the score says that one value rules everywhere, cue or not.

    References
    ----------
    SODA: deterministic cases (852 of 3,200 cells, 26.6%); Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "product_colour",
    ...     "value": ["pink"] * 20 + ["grey", "blue"] * 10,
    ...     "generator": "m", "object": "car", "group": ["women"] * 20 + ["base"] * 20,
    ... })
    >>> found = deterministic_share(labels)
    >>> found.filter(measure="deterministic_share", attribute="all")["value"].to_list()
    [0.5]
    """
    _check_min_n("deterministic_share", min_n)
    within = factor_names(within, measure="deterministic_share", taken=(group,))
    by = factor_names(by, measure="deterministic_share", what="by")
    factors = (*within, group)
    if outside := [name for name in by if name not in factors]:
        raise UsageError(
            f"deterministic_share: by must list factors of within, found {outside[0]!r} beside "
            f"within={list(within)}; give by= some of these, or [] for one share over all"
        )
    table = read_cell_table(labels, by=factors, attributes=attributes, argument="within")
    shares = _shares_of_cells(table, within=within, by=by, min_n=min_n, level=level)
    each = _dominant_shares(table, min_n=min_n, level=level)
    fixed = {"definition": "paper", "level": level, "source": _SODA}
    return (
        pl.concat([shares, each], how="diagonal")
        .select(each.columns)
        .with_columns(pl.lit(given).alias(name) for name, given in fixed.items())
    )


def dominants(table: CellTable) -> pl.DataFrame:
    """The most frequent value of each cell (ties by name), a row a cell.

    Columns: ``value``, its count ``k`` and ``share``; ``n_values``, and how many are ``as_frequent``.
    """
    cells = table.cells.select("n").with_row_index("cell")
    values = table.values.sort("cell", "k", "value", descending=[False, True, False])
    first = values.group_by("cell", maintain_order=True).agg(
        pl.col("value", "k").first(),
        n_values=pl.len(),
        as_frequent=(pl.col("k") == pl.col("k").first()).sum(),
    )
    found = cells.join(first, on="cell", how="left", maintain_order="left")
    return found.with_columns(share=pl.col("k") / pl.col("n"))


def _with_attribute(table: CellTable, factors: Sequence[str]) -> pl.DataFrame:
    """The attribute of each cell behind some of its factors."""
    return pl.concat([table.levels.select(factors), table.cells.select("attribute")], how="horizontal")


def _numbered(levels: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """The different rows in the order in which they first appear, and which of them each row is."""
    known = levels.unique(maintain_order=True)
    numbers = known.with_row_index(_NUMBER)
    found = levels.join(numbers, on=levels.columns, how="left", nulls_equal=True, maintain_order="left")
    return known, found[_NUMBER].to_numpy().astype(np.int64)


def _chance(table: CellTable, within: Sequence[str]) -> Floats:
    """Probability that each cell shows one value only when its images are drawn from all groups'."""
    _, pool = _numbered(_with_attribute(table, within))
    shown = table.values.with_columns(pool=pool[table.values["cell"].to_numpy()])
    # In one order always: sums of numbers in another differ in their last digits.
    counts = shown.group_by("pool", "value").agg(pl.col("k").sum()).sort("pool", "value")
    counts = counts.with_columns(total=pl.col("k").sum().over("pool"))
    cells = pl.DataFrame({"pool": pool, "n": table.cells["n"]}).with_row_index("cell")
    able = (
        cells.filter(pl.col("n") > 0)
        .join(counts, on="pool", maintain_order="left_right")
        .filter(pl.col("k") >= pl.col("n"))
    )
    n, k, total = (able[name].to_numpy() for name in ("n", "k", "total"))

    def log_choose(of: NDArray[np.int64]) -> Any:
        return special.gammaln(of + 1) - special.gammaln(n + 1) - special.gammaln(of - n + 1)

    ways = np.exp(log_choose(k) - log_choose(total))
    return np.bincount(able["cell"].to_numpy(), ways, minlength=cells.height).astype(np.float64)


def _shares_of_cells(
    table: CellTable, *, within: Sequence[str], by: Sequence[str], min_n: int, level: float
) -> pl.DataFrame:
    """A row a combination of ``by``, for all attributes together and for each."""
    own = _with_attribute(table, by)
    rows, group = _numbered(pl.concat([own.with_columns(attribute=pl.lit(ALL_ATTRIBUTES)), own]))
    _, condition = _numbered(table.levels)
    enough = table.cells["n"].to_numpy() >= min_n
    hit = enough & (dominants(table)["n_values"].fill_null(0).to_numpy() == 1)
    members = pl.DataFrame(
        {
            "group": group,
            "condition": np.tile(condition, 2),
            "enough": np.tile(enough, 2),
            "hit": np.tile(hit, 2),
            "chance": np.tile(_chance(table, within), 2),
        }
    )
    left = np.bincount(group, ~members["enough"].to_numpy(), minlength=rows.height).astype(np.int64)
    clusters = members.filter("enough").group_by("group", "condition").agg(pl.col("hit").sum(), n=pl.len())
    clusters = clusters.sort("group", "condition")
    found = (
        members.filter("enough")
        .group_by("group")
        .agg(pl.len().alias("n"), value=pl.col("hit").mean(), floor=pl.col("chance").mean())
        .sort("group")
    )
    starts = np.searchsorted(clusters["group"].to_numpy(), found["group"].to_numpy())
    effective = effective_counts(clusters["hit"], clusters["n"], level=level, starts=starts)
    low, high = wilson(*effective, level=level)
    value, floor = pl.col("value"), pl.col("floor")
    at_maximum = floor >= 1 - 1e-12
    found = found.with_columns(
        low=low,
        high=high,
        holds_for=pl.lit(LIKE_THESE),
        excess=value - floor,
        adjusted=pl.when(~at_maximum).then((value - floor) / (1 - floor)),
        flags=flagged(floor_at_maximum=at_maximum),
        method=pl.lit(
            "Wilson at the effective number of cells; n: cells; floor: images shuffled over groups"
        ),
    )
    few = f"cell with fewer than {min_n} usable labels"
    told = pl.DataFrame({"group": np.arange(rows.height), "n_excluded": left}).join(
        found, on="group", how="left", maintain_order="left"
    )
    return estimate_columns(
        told.drop("group").with_columns(
            pl.col("n").fill_null(0),
            rows["attribute"],
            measure=pl.lit("deterministic_share"),
            excluded=pl.Series([excluded_json({few: n}) for n in left.tolist()], dtype=pl.String),
            undefined=pl.when(value.is_null()).then(pl.lit("no cell with enough usable labels")),
        ),
        rows.select(by),
    )


def _dominant_shares(table: CellTable, *, min_n: int, level: float) -> pl.DataFrame:
    """A row a cell."""
    rows = pl.concat([table.cells, dominants(table).select(pl.exclude("n", "cell"))], how="horizontal")
    trials = np.where(rows["clustered"], table.trials(level), rows["n"])
    k, n = (rows[name].fill_null(0).to_numpy().astype(np.float64) for name in ("k", "n"))
    low, high = wilson(np.where(trials == n, k, k / np.maximum(n, 1.0) * trials), trials, level=level)
    raised = flagged(
        deterministic=(pl.col("n_values") == 1) & (pl.col("n") >= min_n), tie=pl.col("as_frequent") > 1
    )
    told: dict[str, Any] = {
        "category": pl.col("value"),
        "value": pl.col("share"),
        "low": low,
        "high": high,
        "holds_for": pl.col("holds_for"),
        "flags": pl.concat_str(raised, "flags", separator=",", ignore_nulls=True).replace("", None),
    }
    known = pl.col("n") > 0
    return estimate_columns(
        rows.select(
            *("attribute", "n", "n_excluded", "excluded"),
            measure=pl.lit("dominant_share"),
            method=pl.when("clustered")
            .then(pl.lit("Wilson at effective n over prompts"))
            .otherwise(pl.lit("Wilson")),
            undefined=pl.when(~known).then(pl.lit(NO_LABEL)),
            **{name: pl.when(known).then(of) for name, of in told.items()},
        ),
        table.levels,
    )


@register(
    suite="objects",
    bounds=(0.0, 1.0),
    direction="1: the dominant value changes with the group; 0: it does not",
    source="SODA, dominance shifts",
    counted=True,
)
def dominance_shift(
    labels: Any,
    group: str = "group",
    *,
    baseline: str = "base",
    within: Sequence[str] = ("generator", "object"),
    attributes: Collection[str] | None = None,
    threshold: float = 0.70,
    min_n: int = SMALL_N,
) -> pl.DataFrame:
    """Whether one value dominates the baseline and another one the group.

    Formula
    -------
    1 where :math:`\\arg\\max_v p_v^{base} ≠ \\arg\\max_v p_v^{g}` and both maxima are at least
    ``threshold``, else 0.

    Parameters
    ----------
    labels
        Tidy frame as for :func:`stereotrope.measure.share`.
    group, baseline, within
        The factor compared; the level of ``group`` that is the reference; the factors held equal.
    attributes
        Keep only these; all when None.
    threshold, min_n
        Share from which a value dominates; usable labels that each side needs.

    Returns
    -------
    polars.DataFrame
        One row a group and attribute: ``value`` 1 or 0, ``category`` the two dominant values as ``silver →
        rose gold``; ``method`` says their shares.

    Undefined
    ---------
    Without enough usable labels on a side, and without a baseline.

    Notes
    -----
    A yes or no has no interval. Two dominances of 0.70 at ``n = 20`` have the intervals [0.48, 0.85]:
    near the threshold another 20 images may say otherwise.

    References
    ----------
    SODA: dominance shifts, both dominances at least 0.70.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "product_colour",
    ...     "value": ["pink"] * 20 + ["silver"] * 20,
    ...     "generator": "m", "object": "car", "group": ["women"] * 20 + ["base"] * 20,
    ... })
    >>> dominance_shift(labels).select("value", "category").row(0)
    (1.0, 'silver → pink')
    """
    _check_min_n("dominance_shift", min_n)
    require_text(baseline, what="dominance_shift: baseline")
    if not 0 < threshold <= 1:
        raise UsageError(
            f"dominance_shift: threshold must lie above 0 and at most at 1, found {threshold}; 0.7 is usual"
        )
    factors = (*factor_names(within, measure="dominance_shift", taken=(group,)), group)
    table = read_cell_table(labels, by=factors, attributes=attributes, argument="within")
    if table.cells.height and baseline not in table.levels[group]:
        found = ", ".join(map(repr, sorted({str(name) for name in table.levels[group]})))
        raise UsageError(f"dominance_shift: no {group} {baseline!r}; found {found}; name it with baseline=")
    pairs = with_baseline(table, baseline, len(factors) - 1)
    told = _shifts(pairs, threshold=threshold, min_n=min_n).with_columns(
        measure=pl.lit("dominance_shift"),
        definition=pl.lit("paper"),
        contrast=pl.lit(group),
        reference=pl.lit(baseline),
        source=pl.lit(_SODA),
    )
    return estimate_columns(told, table.levels_of(pairs.cell))


def _check_min_n(measure: str, min_n: int) -> None:
    if min_n < 1:
        raise UsageError(f"{measure}: min_n must be at least 1, found {min_n}; {SMALL_N} is usual")


def _shifts(pairs: CellPairs, *, threshold: float, min_n: int) -> pl.DataFrame:
    """Whether each cell has another dominant value than its baseline."""
    best = dominants(pairs.table).select(pl.col("value", "share"))
    now, was = (best.select(pl.all().gather(side)) for side in (pairs.cell, pairs.other))
    rows = pl.concat(
        [
            pairs.sides.select("attribute", "n", n_reference=pl.col("n_other").fill_null(0)),
            pairs.left_out(),
            now,
        ],
        how="horizontal",
    ).with_columns(was["value"].alias("before"), was["share"].alias("was"))
    few = pl.min_horizontal("n", "n_reference") < min_n
    rows = rows.with_columns(
        undefined=pl.when(pl.col("n_reference") == 0)
        .then(pl.lit(NO_REFERENCE))
        .when(pl.col("n") == 0)
        .then(pl.lit(NO_LABEL))
        .when(few)
        .then(pl.lit(f"fewer than {min_n} usable labels"))
    )
    known = pl.col("undefined").is_null()
    dominate = (pl.col("share") >= threshold) & (pl.col("was") >= threshold)
    told = rows["share"], rows["was"], rows.select(known).to_series()
    methods = [
        f"threshold {threshold}"
        + (f"; dominance {share:.2f}, in the reference {before:.2f}" if given else "")
        for share, before, given in zip(*told, strict=True)
    ]
    small = (pl.col("n") > 0) & (pl.col("n_reference") > 0) & few
    return rows.select(
        *("attribute", "n", "n_reference", "n_excluded", "excluded", "undefined"),
        value=pl.when(known).then((pl.col("before") != pl.col("value")) & dominate).cast(pl.Float64),
        category=pl.when(known).then(pl.format("{} → {}", "before", "value")),
        flags=flagged(small_n=small),
        method=pl.Series(methods, dtype=pl.String),
    )
