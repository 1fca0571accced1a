"""How far a model's scores are from those of a named baseline model."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.options import shorten
from stereotrope.measure.captions.difference import OVER_PROMPTS
from stereotrope.measure.captions.groups import read_elements
from stereotrope.measure.captions.profile import RADAR_RANKS
from stereotrope.measure.contract import REGISTRY, Calls, MeasureCall, MeasureInfo, register
from stereotrope.measure.definitions import definition_read, require_one_definition
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.setting import GENERATOR, MeasureSetting, require_model
from stereotrope.measure.tidy import to_polars
from stereotrope.tables import ESTIMATES, THESE_PROMPTS, polars_types

NO_BASELINE = "no score of the baseline"
NO_SCORE = "no score to compare"

_TYPES = polars_types(ESTIMATES)
_TEXTS = pl.List(pl.String)
_ALIKE = ("measure", "definition", "aggregate", "subset", "attribute", "category", "reference")
_JOINED = ("value", "low", "high", "level", "n", "flags", "holds_for")

UNEQUAL_N = 1.5
"""Quotient of two numbers of captions from which their scores are no longer biased alike."""


def _called(
    info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting, calls: Calls
) -> MeasureCall:
    """The call in an audit: on the scores that are named, else on those of all measures of the same suite."""
    names = given.get("measures") or given.get("measure")
    reads = _scores_read(info, [names] if isinstance(names, str) else names, calls)
    definition = definition_read(given, reads, calls)
    named = ("measure", "measures", "definition")
    arguments = {"baseline": setting.model} | {k: v for k, v in given.items() if k not in named}
    if arguments["baseline"] is None:
        raise UsageError(
            "compares with a baseline model; add `baseline: {generator: NAME}`, or write "
            "{delta: {baseline: NAME}}"
        )
    factor = arguments.get("factor", GENERATOR)
    if factor == GENERATOR:
        require_model(arguments["baseline"], setting.models)
    return MeasureCall(info.name, arguments, info.frame, reads, definition=definition, factor=factor)


def _scores_read(info: MeasureInfo, wanted: Sequence[str] | None, calls: Calls) -> tuple[str, ...]:
    others = [call for call in calls if call.name != info.name]
    if wanted is None:
        others = [call for call in others if call.info.suite == info.suite]
    scores = tuple(row for call in others for row in call.rows)
    if wanted is None and not scores:
        raise UsageError(
            "reads the scores of measures of captions, and none is listed before it; list some first, or "
            "name others that are: {delta: [bds]}"
        )
    for name in wanted or ():
        if name not in scores:
            hint = did_you_mean(name, scores, otherwise=f"there is: {', '.join(scores) or 'none'}")
            raise UsageError(f"no score {shorten(name)} is computed before it; {hint}")
    variants = {call.name: call.info.variants for call in others}
    named = tuple(row for name in wanted or () for row in (name, *variants.get(name, ())))
    return scores if wanted is None else named


@register(
    suite="biasbench",
    bounds=(None, None),
    direction="above 0: higher than the baseline model, which is no better for being the baseline",
    source="T2I-BiasBench, eq. 25",
    needs="estimates",
    marks={"baseline": "baseline"},
    several=True,
    due=lambda given, setting, calls: setting.model is not None,
    call=_called,
)
def delta(
    estimates: Any, baseline: str, *, measures: Sequence[str] | None = None, factor: str = "generator"
) -> pl.DataFrame:
    r"""Difference of every score from that of a baseline model.

    Formula
    -------
    :math:`Δμ_m = μ_m - μ_{baseline}`.

    Parameters
    ----------
    estimates
        Estimates of several models, as the measures of captions give them.
    baseline
        Level of ``factor`` to compare with.
    measures
        Names of the scores to compare; all when None. Ranks and differences are never compared.
    factor
        Column that names the model.

    Returns
    -------
    polars.DataFrame
        Estimates: one row for each row of another model whose measure, definition, further factors,
        attribute, category and reference the baseline has too; ``contrast`` is ``factor``,
        ``reference`` and ``baseline`` the baseline. The category of a parity names both of its
        sides. ``flags`` has ``unequal_n`` where a score that depends on the number of captions is compared
        between numbers that differ by more than half of the smaller. The interval joins those of the two
        scores by the square-and-add rule (Newcombe's for two Wilson intervals), which takes the models'
        captions as independent; null where either has none.

    Undefined
    ---------
    ``no score of the baseline``; ``no score to compare``: the one or the other is null.

    Notes
    -----
    Above 0 says *further from equal shares than the baseline* for most measures, not more harmful: the
    baseline is a model like others. Scores that read too high at small n are not comparable with a
    baseline of fewer captions: 15 against 100 alone moves BA of seven groups by 0.3. The prompts being the
    same, captions of two models may still be alike; the interval leaves that out.

    References
    ----------
    T2I-BiasBench, eq. 25; Newcombe (1998), Statistics in Medicine 17; Zou and Donner (2008), Statistics in
    Medicine 27.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({
    ...     "measure": "cbs", "definition": "paper", "generator": ["a", "b"], "prompt": "doctor",
    ...     "value": [0.5, 0.2], "low": [0.4, 0.1], "high": [0.6, 0.3],
    ... })
    >>> delta(rows, "b").select("measure", "generator", "baseline", pl.col("value").round(6)).rows()
    [('cbs', 'a', 'b', 0.3)]
    """
    needed = ("measure", "definition", "value", factor)
    frame = _asked(to_polars(estimates, what="estimates", needs=needed), measures)
    require_one_definition(frame)
    levels = frame[factor].cast(pl.String).unique().drop_nulls().sort().to_list()
    if baseline not in levels:
        hint = did_you_mean(baseline, levels, otherwise=f"found {', '.join(map(repr, levels))}")
        raise UsageError(f"delta: no {factor} {baseline!r}; {hint}")
    factors = [name for name in frame.columns if name not in _TYPES or name == factor]
    absent = [pl.lit(None).alias(name) for name in _TYPES if name not in frame.columns]
    frame = frame.with_columns(absent).cast({name: _TYPES[name] for name in (*_ALIKE, *_JOINED)})
    alike = [*_ALIKE, *(name for name in factors if name not in (*_ALIKE, factor))]
    known = frame.filter(pl.col(factor).cast(pl.String) == baseline).unique(alike, keep="last")
    known = known.select(*alike, *(pl.col(name).alias(f"{name}_of_baseline") for name in _JOINED))
    others = frame.filter(pl.col(factor).cast(pl.String) != baseline)
    pairs = others.join(known, on=alike, how="left", nulls_equal=True, maintain_order="left")
    made = pairs.select(
        *(name for name in _ALIKE if name not in ("category", "reference")),
        *(name for name in factors if name not in _ALIKE),
        *("sides", "level", "n", "n_excluded", "excluded"),
        **_differences(),
        baseline=pl.lit(baseline),
        contrast=pl.lit(factor),
        reference=pl.lit(baseline),
        source=pl.lit("T2I-BiasBench, eq. 25"),
    )
    return estimate_frame(made.iter_rows(named=True), factors=factors)


def _asked(frame: pl.DataFrame, measures: Sequence[str] | None) -> pl.DataFrame:
    """The scores that can be compared, and of these the ones asked for."""
    scores = frame.filter(~pl.col("measure").is_in([*RADAR_RANKS, OVER_PROMPTS]))
    if "baseline" in scores.columns:
        scores = scores.filter(pl.col("baseline").is_null())
    if measures is None:
        return scores
    there = scores["measure"].unique(maintain_order=True).to_list()
    for wanted in read_elements(measures, "delta: measures"):
        if wanted not in there:
            hint = did_you_mean(wanted, there, otherwise=f"found {', '.join(there) or 'none'}")
            raise UsageError(f"delta: no score {wanted!r}; {hint}")
    return scores.filter(pl.col("measure").is_in(list(measures)))


def _differences() -> dict[str, pl.Expr]:
    """The columns of a difference, from those of a score and of the baseline's."""
    (value, low, high, level, n, flags, scope), (value2, low2, high2, level2, n2, flags2, scope2) = (
        [pl.col(f"{name}{of}") for name in _JOINED] for of in ("", "_of_baseline")
    )
    below = ((value - low).clip(0) ** 2 + (high2 - value2).clip(0) ** 2).sqrt()
    above = ((high - value).clip(0) ** 2 + (value2 - low2).clip(0) ** 2).sqrt()
    with_ends = level.eq_missing(level2) & below.is_not_null() & above.is_not_null()
    both = pl.concat_str("category", "reference", separator=" against ")
    biased = [row for info in REGISTRY.values() for row in info.biased]
    unequal = pl.col("measure").is_in(biased) & (n * n2 > 0) & (pl.max_horizontal(n / n2, n2 / n) > UNEQUAL_N)
    said = [one.str.split(",").fill_null([]) for one in (flags, flags2)]
    told = pl.concat_list(*said, pl.when(unequal).then(pl.lit(["unequal_n"])).otherwise(pl.lit([], _TEXTS)))
    return {
        "category": pl.coalesce(both, "category"),
        "value": value - value2,
        "low": pl.when(with_ends).then(value - value2 - below),
        "high": pl.when(with_ends).then(value - value2 + above),
        "holds_for": pl.when(with_ends).then(
            pl.when(scope == scope2).then(scope).when(scope != scope2).then(pl.lit(THESE_PROMPTS))
        ),
        "method": pl.when(with_ends).then(pl.lit("interval: square-and-add of the two intervals")),
        "n_reference": n2,
        "flags": pl.when(told.list.len() > 0).then(told.list.unique(maintain_order=True).list.join(",")),
        "undefined": pl.when(value2.is_null())
        .then(pl.lit(NO_BASELINE))
        .when(value.is_null())
        .then(pl.coalesce("undefined", pl.lit(NO_SCORE))),
    }
