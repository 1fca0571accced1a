"""Ratios of clusters of scenarios, and which clusters are first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import TableError, UsageError
from stereotrope.inputs.options import shorten
from stereotrope.measure.contract import Calls, MeasureCall, MeasureInfo, register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.ratios.reading import NO_SHARE, LevelTable, level_tables, mean_over_scenarios
from stereotrope.measure.setting import MeasureSetting
from stereotrope.measure.tidy import as_text, factor_names, to_polars
from stereotrope.measure.units import FEWEST_PROMPTS
from stereotrope.stats import clustered_ranks, normal_quantile
from stereotrope.stats.arrays import Floats
from stereotrope.tables import LIKE_THESE


def _call(info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls) -> MeasureCall:
    """The call of an audit, with the cluster that its design gives each scenario."""
    over, cluster = (given.get(name, info.parameters[name].default) for name in ("over", "cluster"))
    for name in (over, cluster):
        if name not in setting.factors:
            there = ", ".join(setting.factors) or "none"
            raise UsageError(f"no factor {shorten(name)}; the prompts have {there}; give them that factor")
    call = info.frame.call(info, given, setting, calls)
    return replace(call, tables={"clusters": setting.prompts.select(over, cluster)})


def _due(given: Mapping[str, Any], setting: MeasureSetting, calls: Calls) -> bool:
    return given.get("cluster", "cluster") in setting.factors


@register(
    suite="everyday",
    bounds=(0.0, None),
    direction="ratio 0.5: both equally often; rank 1: the cluster with the greatest mean ratio",
    source="everyday gender, section 4.1; Student 1908; Tukey 1953",
    needs="estimates",
    also=("cluster_spread", "cluster_rank"),
    own_bounds={"cluster_ratio": (0.0, 1.0), "cluster_spread": (0.0, 1.0), "cluster_rank": (1.0, None)},
    on="female_ratio",
    closed={"clusters": "those of an audit are a factor of its prompts, which `cluster` names"},
    call=_call,
    due=_due,
)
def cluster_ratio(
    estimates: Any,
    clusters: Any = None,
    over: str = "scenario",
    *,
    cluster: str = "cluster",
    among: str = "generator",
    within: Sequence[str] = (),
    kept: float = 0.5,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""Ratios of clusters of scenarios, how far their scenarios lie apart, and which clusters are first.

    Formula
    -------
    :math:`\bar R_c = \frac{1}{n_c} Σ_{p ∈ c} R(p)` over the :math:`n_c` scenarios of cluster ``c``, their
    standard deviation :math:`s_c` (over :math:`n_c - 1`), and the rank of :math:`\bar R_c` among clusters,
    descending. Over all models :math:`R(p)` is their mean ratio of a scenario that each of them kept.

    Parameters
    ----------
    estimates, over
        Ratios by scenario and model (:func:`stereotrope.measure.female_ratio`); the factor that tells
        scenarios apart.
    clusters
        A frame with ``over`` and ``cluster``; None where the estimates have the column ``cluster``.
    cluster
        The factor that names clusters. A scenario is of one.
    among
        The factor that names models: each has its rows, and their mean has the rows without a model.
    within
        Factors whose combinations are ranked by themselves, such as groups of prompts.
    kept, level
        Part of its pictures that a scenario must have a definite label of; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Three rows a cluster and model, and over all models: ``cluster_ratio`` in [0, 1] with the interval of
        :func:`stereotrope.stats.mean_interval`; ``cluster_spread``, the standard deviation;
        ``cluster_rank`` from 1, ties sharing their mean rank, whose intervals hold all ranks of a ranking
        together. ``n`` is the number of scenarios; all hold for other scenarios like these, but
        ``cluster_ratio`` of two and three for these alone (``holds_for`` = ``these prompts``;
        :func:`stereotrope.stats.linear_interval`).

    Undefined
    ---------
    ``no scenario has a share``: of its cluster, there; ``a single scenario has no spread``. A cluster of a
    single scenario is flagged ``one_level`` and has no interval; nor has one whose ratios are all equal
    (``no_variation``). Ranks have no intervals with fewer than two clusters or four scenarios in all, and
    where the scenarios of no cluster differ.

    Notes
    -----
    A list of the first clusters is chosen after looking: read the ranks. Two clusters are told apart by how
    scenarios vary within clusters, which small ones borrow from all
    (:func:`stereotrope.stats.clustered_ranks`): with 5 to 76 clusters of 1 to 12 scenarios, as varied as each
    other or some three times as varied, all ranks were held together in 0.94 to 1.00. With 76 such clusters
    an interval spans three quarters of all ranks and more, with 76 of 3 to 30 scenarios about half: more
    scenarios a cluster narrow it, more pictures hardly. How clusters were made is in no interval.

    References
    ----------
    “Large-scale gender analysis”, section 4.1, figures 3 and 4; Student (1908), Biometrika 6; Tukey (1953).

    Examples
    --------
    >>> import polars as pl
    >>> ratios = pl.DataFrame({
    ...     "measure": "female_ratio", "definition": "everyday", "attribute": "gender", "generator": "m",
    ...     "scenario": ["nurse", "carer", "welder"], "value": [1.0, 0.8, 0.1], "n": 200,
    ... })
    >>> jobs = pl.DataFrame({"scenario": ["nurse", "carer", "welder"], "cluster": ["care", "care", "metal"]})
    >>> found = cluster_ratio(ratios, jobs).filter(pl.col("generator").is_null())
    >>> found.select("measure", "cluster", pl.col("value").round(3)).head(3).rows()
    [('cluster_ratio', 'care', 0.9), ('cluster_spread', 'care', 0.141), ('cluster_rank', 'care', 1.0)]
    """
    normal_quantile(level)
    frame = to_polars(estimates, what="estimates", needs=(over,))
    factor_names(within, measure="cluster_ratio", taken=(over, among, cluster))
    named = _named(frame, clusters, over, cluster)
    if clusters is None:
        frame = frame.filter(pl.col(cluster).is_not_null())
    read = frame.drop(cluster, strict=False)
    factors, tables = level_tables(
        read, over=over, among=among, within=within, kept=kept, reader="cluster_ratio"
    )
    rows: list[dict[str, Any]] = []
    for table in tables:
        scenarios = pl.DataFrame({over: table.scenarios.cast(pl.String)}).with_row_index("_at")
        placed = scenarios.join(named, on=over).sort("_at").group_by(cluster).agg("_at").sort(cluster)
        members = {name: np.array(places) for name, places in placed.iter_rows()}
        shared = {**table.levels, "level": level, "source": "everyday gender, section 4.1"}
        for name, shares, ends in _of_models(table, level):
            for row in _clusters(members, shares, ends, level):
                rows.append({**shared, among: name, cluster: row.pop("cluster"), **row})
    return estimate_frame(rows, factors=(*factors, among, cluster))


def _named(frame: pl.DataFrame, clusters: Any, over: str, cluster: str) -> pl.DataFrame:
    """The cluster of each scenario."""
    source = frame if clusters is None else to_polars(clusters, what="clusters", needs=(over, cluster))
    if cluster not in source.columns:
        raise TableError(
            f"estimates: no column {cluster!r}, and no clusters are given; pass a frame with {over!r} and "
            f"{cluster!r} as clusters"
        )
    named = (
        source.select(as_text(source, over), as_text(source, cluster))
        .drop_nulls()
        .unique()
        .sort(over, cluster)
    )
    if (twice := named.filter(pl.col(over).is_duplicated())).height:
        raise TableError(
            f"clusters: {over} {twice[over][0]!r} is in {twice[cluster][0]!r} and in {twice[cluster][1]!r}; "
            "keep it in one"
        )
    return named


def _of_models(table: LevelTable, level: float) -> Iterator[tuple[str | None, Floats, tuple[Floats, Floats]]]:
    """Shares of scenarios over all models, and by each, with their intervals: NaN where they do not count."""
    counting = np.flatnonzero(table.some)
    parts = [(None, counting), *((name, np.array([at])) for at, name in enumerate(table.names))]
    for name, columns in parts:
        found = np.full((3, len(table.shares)), np.nan)
        if columns.size:
            known, by = table.kept_by(columns), np.full(columns.size, 1 / columns.size)
            found[0, known] = table.shares[known][:, columns] @ by
            found[1:, known] = table.ends(known, columns.tolist(), by, level)
        yield name, found[0], (found[1], found[2])


def _clusters(
    members: Mapping[str, NDArray[np.int64]], shares: Floats, ends: tuple[Floats, Floats], level: float
) -> Iterator[dict[str, Any]]:
    """Rows of all clusters; ``members`` are the places of their scenarios in ``shares``."""
    places = [where[~np.isnan(shares[where])] for where in members.values()]
    known = [shares[where] for where in places]
    some = [at for at, own in enumerate(known) if own.size]
    ranked: dict[int, tuple[float, ...]] = {}
    if some:
        code = np.repeat(np.arange(len(some)), [known[at].size for at in some])
        ranks = clustered_ranks(np.concatenate([known[at] for at in some]), code, level=level)
        if len(code) < FEWEST_PROMPTS:
            none = np.full(len(some), np.nan)
            ranks = ranks[0], none, none
        ranked = dict(zip(some, zip(*(x.tolist() for x in ranks), strict=True), strict=True))
    for at, (name, asked) in enumerate(members.items()):
        own, of = known[at], tuple(end[places[at]] for end in ends)
        shared = {"cluster": name, "n": own.size, "excluded": {"not kept": asked.size - own.size}}
        for kind, numbers in _numbers(own, (of[0], of[1]), ranked.get(at, ()), level).items():
            yield {**shared, "measure": kind, **numbers}


def _numbers(
    own: Floats, ends: tuple[Floats, Floats], ranked: Sequence[float], level: float
) -> dict[str, dict[str, Any]]:
    """What the rows of one cluster say, by their names."""
    n = own.size
    if not n:
        return {name: {"undefined": NO_SHARE} for name in ("cluster_ratio", "cluster_spread", "cluster_rank")}
    alone = {"one_level": n == 1}
    spread = {"value": float(own.std(ddof=1))} if n > 1 else {"undefined": "a single scenario has no spread"}
    order = "ranks means; interval: simultaneous, Tukey–Kramer, variances that borrow from all clusters"
    return {
        "cluster_ratio": mean_over_scenarios(own, level, (0.0, 1.0), ends),
        "cluster_spread": {**spread, "flags": alone},
        "cluster_rank": {**_interval(*ranked), "flags": alone, "method": order},
    }


def _interval(value: float, low: float, high: float) -> dict[str, Any]:
    holds_for = None if np.isnan(low) else LIKE_THESE
    return {"value": value, "low": low, "high": high, "holds_for": holds_for}
