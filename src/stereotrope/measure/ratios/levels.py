"""Models, or levels of another factor, beside each other: how alike their ratios are, and which is higher."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from stereotrope.measure.contract import Calls, register
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.ratios.reading import NO_SHARE, LevelTable, level_tables
from stereotrope.measure.setting import GENERATOR, MeasureSetting
from stereotrope.measure.units import scope_of_levels
from stereotrope.stats import normal_quantile, spearman_interval, spearman_p

_FEWEST = 3
"""Scenarios below which an order says nothing."""


def _due(factor: str) -> Callable[[Mapping[str, Any], MeasureSetting, Calls], bool]:
    """Whether an audit has several levels to set beside each other, of ``factor`` where no other is named."""

    def several(given: Mapping[str, Any], setting: MeasureSetting, calls: Calls) -> bool:
        among = given.get("among", factor)
        return len(setting.models) > 1 if among == GENERATOR else setting.varies(among)

    return several


@register(
    suite="everyday",
    bounds=(-1.0, 1.0),
    direction="1: the same order of scenarios; 0: none in common",
    source="everyday gender, appendix F.1; Bonett and Wright 2000",
    needs="estimates",
    on="female_ratio",
    due=_due(GENERATOR),
)
def model_agreement(
    estimates: Any,
    over: str = "scenario",
    *,
    among: str = "generator",
    within: Sequence[str] = (),
    common: bool = True,
    kept: float = 0.5,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""Whether two models show a value in the same scenarios: the rank correlation of their ratios.

    Formula
    -------
    Spearman's :math:`ρ`: Pearson's correlation of the ranks of :math:`R_a(p)` and :math:`R_b(p)` over the
    scenarios ``p``, ties having their mean rank.

    Parameters
    ----------
    estimates, over
        Ratios by scenario (:func:`stereotrope.measure.female_ratio`, or ``share``); the factor that tells
        scenarios apart.
    among
        The factor whose levels are compared, each with each other one.
    within
        Factors whose combinations get a correlation each, such as groups of prompts.
    common
        Only scenarios that every model kept; else those that both of a pair kept.
    kept, level
        Part of its pictures that a scenario must have a definite label of; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Estimates, a row a pair: the one in the column of ``among``, the other in ``reference``. ``value`` in
        [−1, 1], ``n`` the scenarios. The interval and p hold for other scenarios like these, p of three for
        these; ``p_value`` is
        two-sided for no common order, ``q_value`` Benjamini–Hochberg over the rows.

    Undefined
    ---------
    ``fewer than 3 scenarios kept by both``; ``the ratios of one do not vary``; ``a single level of …``. The
    interval is null below 5 scenarios (``few_levels``) and at \|ρ\| = 1 (``no_variation``). A model that kept
    no scenario is not waited for by the other pairs, which are flagged ``few_groups``.

    Notes
    -----
    A high ρ says that the order is alike, not the ratios: see :func:`stereotrope.measure.model_deviation`.
    Ratios of few pictures stray, which brings ρ down: 0.97 between true ratios read 0.77 with 20 pictures a
    scenario where ratios differ little, and 0.88 where they differ much. The interval is Bonett and Wright's
    or, where it is wider, the infinitesimal jackknife's (:func:`stereotrope.stats.spearman_interval`): it
    covered 0.95 to 0.98 over 15 to 400 scenarios, with most ratios near 0 too, and 0.97 to 1.00 over 5 and 8;
    Bonett and Wright's alone came down to 0.86.

    References
    ----------
    “Large-scale gender analysis”, appendix F.1; Spearman (1904), Am. J. Psychology 15; Bonett and Wright
    (2000), Psychometrika 65.

    Examples
    --------
    >>> import polars as pl
    >>> ratios = pl.DataFrame({
    ...     "measure": "female_ratio", "definition": "everyday", "attribute": "gender", "n": 200,
    ...     "generator": ["a"] * 4 + ["b"] * 4, "scenario": ["cook", "drive", "read", "swim"] * 2,
    ...     "value": [0.9, 0.1, 0.5, 0.4, 0.7, 0.2, 0.3, 0.6],
    ... })
    >>> model_agreement(ratios).select("generator", "reference", pl.col("value").round(6), "n").row(0)
    ('a', 'b', 0.8, 4)
    """
    normal_quantile(level)
    factors, tables = level_tables(
        estimates, over=over, among=among, within=within, kept=kept, reader="model_agreement"
    )
    rows: list[dict[str, Any]] = []
    for table in tables:
        shared = {**_shared("model_agreement", table, "F.1", level), "contrast": among}
        counting = [at for at, some in enumerate(table.some) if some]
        for one, other in combinations(range(len(table.names)), 2):
            asked = {one, other, *(counting if common else ())}
            pair = {**shared, among: table.names[one], "reference": table.names[other]}
            rows.append(pair | _correlation(table, (one, other), sorted(asked), level))
        if len(table.names) == 1:
            alone = f"a single level of {among} agrees with none"
            rows.append({**shared, among: table.names[0], "n": 0, "undefined": alone})
    return with_q_values(estimate_frame(rows, factors=(*factors, among)))


def _correlation(
    table: LevelTable, pair: tuple[int, int], asked: Sequence[int], level: float
) -> dict[str, Any]:
    """What a row says of two levels, on the scenarios that all levels that are asked for kept."""
    shares = table.shares_at(asked)
    n = len(shares)
    row = {"n": n, "excluded": {"not kept by each": len(table.shares) - n}}
    if n < _FEWEST:
        return {**row, "undefined": f"fewer than {_FEWEST} scenarios kept by both"}
    one, other = (shares[:, asked.index(at)] for at in pair)
    rho, low, high = spearman_interval(one, other, level=level)
    if np.isnan(rho):
        return {**row, "undefined": "the ratios of one do not vary"}
    none, certain = bool(np.isnan(low)), abs(rho) > 1 - 1e-9
    flags = {"few_levels": none and not certain, "no_variation": certain, "few_groups": not all(table.some)}
    numbers = {"value": rho, "low": low, "high": high, "p_value": spearman_p(one, other)}
    how = f"Spearman's rho over {n} scenarios; Fisher's z, the wider of Bonett–Wright and the jackknife"
    return {**row, **numbers, "holds_for": scope_of_levels(n), "flags": flags, "method": how}


@register(
    suite="everyday",
    bounds=(-1.0, 1.0),
    direction="above 0: shown more often than by the mean of the models; below: less",
    source="everyday gender, appendix F.2; Student 1908; Fisher 1935",
    needs="estimates",
    on="female_ratio",
    due=_due(GENERATOR),
)
def model_deviation(
    estimates: Any,
    over: str = "scenario",
    *,
    among: str = "generator",
    within: Sequence[str] = (),
    kept: float = 0.5,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How far the ratios of a model lie above or below those of all models, on average over scenarios.

    Formula
    -------
    :math:`D_a = \frac1m Σ_p \left(R_a(p) - \frac1k Σ_b R_b(p)\right)` over the ``m`` scenarios that all ``k``
    models kept.

    Parameters
    ----------
    estimates, over, among, within, kept, level
        As for :func:`stereotrope.measure.model_agreement`.

    Returns
    -------
    polars.DataFrame
        Estimates, a row a model; ``value`` in [−1, 1], those of all models add up to 0; ``n`` the scenarios.
        The interval (:func:`stereotrope.stats.mean_interval`) and ``p_value`` hold for other scenarios like
        these, over two and three for these alone, by Wilson's interval of each ratio
        (:func:`stereotrope.stats.linear_interval`); p is two-sided, of models that are alike: in each
        scenario any of the ratios might have been the model's, which is exact where all have as many pictures
        (where one has more than 1.5 times as many as another, of some drawn from them). ``q_value`` is
        Benjamini–Hochberg over the rows.
        ``bound_low`` and ``bound_high`` are what missing labels allow, where over 5% of a scenario's are.

    Undefined
    ---------
    ``no scenario is kept by each``; ``no scenario has a share`` for a model that kept none, with which the
    others are then not compared (``few_groups``); ``a single level of …``. The interval is null with one
    scenario (``one_level``) and where all deviations are equal (``no_variation``).

    Notes
    -----
    A model is part of the mean that it is compared with: of two, each deviates by half their difference. 0 on
    average may hide scenarios that lie far above and far below. The interval covered 0.93 to 0.98 over 4 to
    100 scenarios (of two and three 0.94 to 0.99, 20 to 100 pictures), most ratios near 0 and few that deviate
    among them, where it is three to five times as wide as Student's. Where four scenarios or more share four
    seeds or more (``by_seed``), interval and p reach further by what these do to one model and not to all;
    with fewer they are of these seeds, and flagged ``few_seeds``. With ``m`` scenarios p of two models is
    never below :math:`2^{1-m}`: six can reach 0.05, ten 0.002.

    References
    ----------
    “Large-scale gender analysis”, appendix F.2, bias direction; Student (1908), Biometrika 6; Fisher
    (1935), The Design of Experiments.

    Examples
    --------
    >>> import polars as pl
    >>> ratios = pl.DataFrame({
    ...     "measure": "female_ratio", "definition": "everyday", "attribute": "gender", "n": 200,
    ...     "generator": ["a", "a", "b", "b"], "scenario": ["cook", "drive"] * 2,
    ...     "value": [0.9, 0.3, 0.5, 0.1],
    ... })
    >>> model_deviation(ratios).select("generator", pl.col("value").round(6)).rows()
    [('a', 0.15), ('b', -0.15)]
    """
    read = {"over": over, "among": among, "within": within, "kept": kept}
    return _deviations("model_deviation", estimates, read, level, "F.2")


@register(
    suite="everyday",
    bounds=(-1.0, 1.0),
    direction="above 0: shown more often with this wording than with the mean of all; below: less",
    source="everyday gender, appendix D.4; Student 1908; Fisher 1935",
    needs="estimates",
    on="female_ratio",
    due=_due("variation"),
)
def variation_effect(
    estimates: Any,
    over: str = "scenario",
    *,
    among: str = "variation",
    within: Sequence[str] = ("generator",),
    kept: float = 0.5,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How far a wording of the subject moves the ratio of a scenario, on average over scenarios.

    Formula
    -------
    :math:`\frac1m Σ_p \left(R_v(p) - \frac1k Σ_u R_u(p)\right)` over the ``m`` scenarios of which all ``k``
    variations have a ratio.

    Parameters
    ----------
    estimates, over, among, within, kept, level
        Ratios by scenario and variation; otherwise as for :func:`stereotrope.measure.model_agreement`.

    Returns
    -------
    polars.DataFrame
        Estimates, a row a variation; ``value`` in [−1, 1], those of a combination add up to 0; ``n`` the
        scenarios. Interval, ``p_value`` (for wordings that are alike), ``q_value`` and bounds as of
        :func:`stereotrope.measure.model_deviation`.

    Undefined
    ---------
    As of :func:`stereotrope.measure.model_deviation`.

    Notes
    -----
    A prompt has few pictures (40 in the paper), so that single deviations stray; their mean does not. Seeds
    are counted as of :func:`stereotrope.measure.model_deviation`. Effects
    near 0 say that the choice of subject decides little, not that every wording does.

    References
    ----------
    “Large-scale gender analysis”, appendix D.4; Student (1908), Biometrika 6; Fisher (1935), The Design of
    Experiments.

    Examples
    --------
    >>> import polars as pl
    >>> ratios = pl.DataFrame({
    ...     "measure": "female_ratio", "definition": "everyday", "attribute": "gender", "n": 40,
    ...     "generator": "m", "variation": ["a friend", "a friend", "someone", "someone"],
    ...     "scenario": ["cook", "drive"] * 2, "value": [0.9, 0.3, 0.7, 0.3],
    ... })
    >>> variation_effect(ratios).select("variation", pl.col("value").round(6)).rows()
    [('a friend', 0.05), ('someone', -0.05)]
    """
    read = {"over": over, "among": among, "within": within, "kept": kept}
    return _deviations("variation_effect", estimates, read, level, "D.4")


def _deviations(name: str, estimates: Any, read: dict[str, Any], level: float, place: str) -> pl.DataFrame:
    """Mean deviations of each level from the mean of all, a row a level."""
    normal_quantile(level)
    factors, tables = level_tables(estimates, **read, reader=name)
    among = read["among"]
    rows = []
    for table in tables:
        shared = {**_shared(name, table, place, level), "contrast": among}
        counting = [at for at, some in enumerate(table.some) if some]
        kept = len(table.kept_by(counting))
        for at, level_name in enumerate(table.names):
            counts = at in counting
            n = kept if counts else 0
            row = {**shared, among: level_name, "n": n}
            row["excluded"] = {"not kept by each": len(table.shares) - n}
            if not counts or len(counting) < 2 or not n:
                alone = f"a single level of {among} deviates from none"
                no = "no scenario is kept by each" if len(counting) > 1 else alone
                rows.append({**row, "undefined": no if counts else NO_SHARE})
                continue
            column = counting.index(at)
            weights = (np.eye(len(counting))[column] - 1 / len(counting)).tolist()
            seeds = table.seeds(counting, weights, level)
            p, least, exchanged = table.exchanged(counting, column)
            mean = table.mean(counting, weights, level, seeds)
            flags = {**mean["flags"], "few_groups": not all(table.some)}
            if n > 1:
                row["p_value"] = seeds.weakened(p)
                row["p_least"] = least
            how = f"{mean['method']}; p: levels exchanged within scenarios, {exchanged}"
            bounds = table.bounds(counting, weights)
            rows.append({**row, **mean, **bounds, "flags": flags, "method": how})
    return with_q_values(estimate_frame(rows, factors=(*factors, among)))


def _shared(name: str, table: LevelTable, place: str, level: float) -> dict[str, Any]:
    """What all rows of one combination say."""
    return {**table.levels, "measure": name, "level": level, "source": f"everyday gender, appendix {place}"}
