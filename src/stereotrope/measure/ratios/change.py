"""How far ratios change between two settings, beside what chance alone would change."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.contract import Calls, register
from stereotrope.measure.estimates import estimate_frame, with_q_values
from stereotrope.measure.ratios.reading import LevelTable, level_tables, mean_over_scenarios
from stereotrope.measure.setting import GENERATOR, MeasureSetting
from stereotrope.stats import normal_quantile, shuffled_difference, special
from stereotrope.stats.arrays import Floats
from stereotrope.tables import THESE_PROMPTS

_NONE = "no scenario is kept by both"
"""Why a change is null."""


def _due(given: Mapping[str, Any], setting: MeasureSetting, calls: Calls) -> bool:
    """Whether an audit names the level that others are compared with."""
    group = given.get("group", GENERATOR)
    return setting.model is not None if group == GENERATOR else setting.group == group


@register(
    suite="everyday",
    bounds=(-1.0, 1.0),
    direction="0: the same ratios; ratio_change −1 to 1, its absolute value 0 to 1 with a noise floor",
    source="everyday gender, appendix D.2; Student 1908; Fisher 1935",
    needs="estimates",
    also=("ratio_change_absolute",),
    own_bounds={"ratio_change_absolute": (0.0, 1.0)},
    biased=("ratio_change_absolute",),
    on="female_ratio",
    due=_due,
)
def ratio_change(
    estimates: Any,
    over: str = "scenario",
    *,
    group: str = "generator",
    baseline: str | None = None,
    within: Sequence[str] = (),
    kept: float = 0.5,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How far the ratios of scenarios change between two settings, on average and in absolute value.

    Formula
    -------
    :math:`\frac1m Σ_p (R_a(p) - R_b(p))` and :math:`\frac1m Σ_p |R_a(p) - R_b(p)|` over the ``m`` scenarios
    that both settings kept.

    Parameters
    ----------
    estimates, over
        Ratios by scenario and setting (:func:`stereotrope.measure.female_ratio`); the factor that tells
        scenarios apart.
    group, baseline
        The factor whose levels are the settings, such as models with other guidance; the level that each
        other one is compared with, every two with each other when None.
    within
        Factors whose combinations are compared by themselves, such as groups of prompts.
    kept, level
        Part of its pictures that a scenario must have a definite label of; nominal coverage.

    Returns
    -------
    polars.DataFrame
        Two rows a pair: ``ratio_change`` in [−1, 1], above 0 where the setting shows more than its
        ``reference``, with p for settings that are alike: in each scenario either ratio might have been the
        setting's, which is exact where both have as many pictures (where one has more than 1.5 times as many,
        of some drawn from them); ``ratio_change_absolute`` in [0, 1] with its ``floor``, what pictures
        shuffled between the two settings would read, ``excess``, ``z`` and a one-sided ``p_value`` for no
        more than the floor, which holds for these prompts. Intervals are those of
        :func:`stereotrope.stats.mean_interval`; over two and three scenarios that of ``ratio_change``, and
        its p, are of these alone, by Wilson's of each ratio (``holds_for`` = ``these prompts``;
        :func:`stereotrope.stats.linear_interval`). ``n`` is the number of scenarios; ``q_value``
        Benjamini–Hochberg over the rows of one name. ``bound_low`` and ``bound_high`` of ``ratio_change`` are
        what missing labels allow, where over 5% of a scenario's are.

    Undefined
    ---------
    ``no scenario is kept by both``. Intervals are null with one scenario (``one_level``) and where all
    changes are equal (``no_variation``); that of the absolute change below four (``few_levels``): each
    reads too high by chance, and these errors do not cancel.

    Notes
    -----
    Ratios of few pictures differ by chance: of scenarios that show both equally often, settings alike read
    an absolute change of 0.12 with 20 pictures each and of 0.04 with 200. Read ``excess``. The floor is exact
    where the pictures of a scenario are independent, and somewhat too high where its prompts differ. Its p is
    by the gamma distribution with the mean and variance of all shuffles: at 0.05 it rejected 0.02 to 0.06 of
    settings alike, at 0.001 0.000 to 0.002, 3 to 400 scenarios of 20 and 200 pictures. It holds for these
    prompts alone: settings that draw each wording of a scenario in a way of their own differ on these
    prompts, and p says so. Where pictures of a wording correlated by 0.1, it was at most 0.05 in 0.18 to 0.46
    of pairs of settings whose scenarios are alike. In the signed mean shared seeds are counted as in
    :func:`stereotrope.measure.model_deviation`, in the absolute one they are not. Changes up and
    down cancel in the signed mean, whose p is that of scenarios like these, and never below :math:`2^{1-m}`
    over ``m`` scenarios. Over two and three scenarios of 20 to 100 pictures its interval covered 0.92 to
    1.00, 0.95 on average; scenarios count as independent there, seeds that they share are not in it.

    References
    ----------
    “Large-scale gender analysis”, appendix D.2; Student (1908), Biometrika 6; Fisher (1935), The Design of
    Experiments.

    Examples
    --------
    >>> import polars as pl
    >>> ratios = pl.DataFrame({
    ...     "measure": "female_ratio", "definition": "everyday", "attribute": "gender", "n": 40,
    ...     "generator": ["off", "off", "usual", "usual"], "scenario": ["cook", "drive"] * 2,
    ...     "value": [0.5, 0.2, 0.7, 0.1],
    ... })
    >>> found = ratio_change(ratios, baseline="usual")
    >>> found.select("measure", pl.col("value").round(3), pl.col("floor").round(3)).rows()
    [('ratio_change', -0.05, None), ('ratio_change_absolute', 0.15, 0.074)]
    """
    normal_quantile(level)
    factors, tables = level_tables(
        estimates, over=over, among=group, within=within, kept=kept, reader="ratio_change"
    )
    rows: list[dict[str, Any]] = []
    seen: set[str] = set()
    for table in tables:
        seen |= set(table.names)
        for one, other in _pairs(table.names, baseline):
            shared = {
                **table.levels,
                group: table.names[one],
                "contrast": group,
                "reference": table.names[other],
                "level": level,
                "source": "everyday gender, appendix D.2",
            }
            rows += [{**shared, **row} for row in _changed(table, one, other, level)]
    if baseline is not None and seen and baseline not in seen:
        raise TableError(
            f"estimates: no level {baseline!r} of {group!r} to compare with; found "
            f"{', '.join(map(repr, sorted(seen)))}"
        )
    return with_q_values(estimate_frame(rows, factors=(*factors, group)), "measure")


def _pairs(names: Sequence[str], baseline: str | None) -> Iterator[tuple[int, int]]:
    """Places of the levels that are compared, the reference last."""
    if baseline is None:
        yield from ((other, one) for one, other in combinations(range(len(names)), 2))
    elif baseline in names:
        yield from ((at, names.index(baseline)) for at, name in enumerate(names) if name != baseline)


def _changed(table: LevelTable, one: int, other: int, level: float) -> Iterator[dict[str, Any]]:
    """The mean change and the mean absolute change between two levels."""
    known = table.kept_by([one, other])
    m = len(known)
    asked = int((~np.isnan(table.shares[:, [one, other]])).any(axis=1).sum())
    row = {"n": m, "excluded": {"not kept by both": asked - m}}
    if not m:
        names = ("ratio_change", "ratio_change_absolute")
        yield from ({**row, "measure": name, "undefined": _NONE} for name in names)
        return
    columns, weights = [one, other], [1.0, -1.0]
    seeds = table.seeds(columns, weights, level)
    signed = table.mean(columns, weights, level, seeds)
    p, least, exchanged = table.exchanged(columns, 0)
    tested = {"p_value": seeds.weakened(p), "p_least": least} if m > 1 else {}
    how = f"{signed['method']}; p: settings exchanged within scenarios, {exchanged}"
    bounds = table.bounds(columns, weights)
    yield {**row, "measure": "ratio_change", **signed, **tested, **bounds, "method": how}
    here, there = (table.shares[known, at] for at in columns)
    n_here, n_there = (table.n[known, at] for at in columns)
    by_chance = shuffled_difference(np.rint(here * n_here), n_here, np.rint(there * n_there), n_there)
    absolute = mean_over_scenarios(np.abs(here - there), level, (0.0, 1.0))
    beyond = _beyond(float(absolute["value"]), *by_chance)
    yield {
        **row,
        "measure": "ratio_change_absolute",
        **absolute,
        **beyond,
        "holds_for": absolute["holds_for"] if beyond["p_value"] is None else THESE_PROMPTS,
        "method": f"{absolute['method']}; floor: all shuffles of pictures of the two; p: gamma, one-sided",
    }


def _beyond(value: float, means: Floats, variances: Floats) -> dict[str, Any]:
    """What a mean over scenarios reads beyond its own mean by chance, from means and variances of each."""
    floor, variance = float(means.mean()), float(variances.mean()) / means.size
    numbers = {"floor": floor, "excess": value - floor, "z": None, "p_value": None}
    if variance > 0:
        p = float(special.gammaincc(floor**2 / variance, value * floor / variance))
        numbers |= {"z": (value - floor) / np.sqrt(variance), "p_value": max(p, np.finfo(np.float64).tiny)}
    return numbers
