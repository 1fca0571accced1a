"""How far a model's scores are from those of a named baseline model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import TableError, UsageError, did_you_mean
from stereotrope.inputs.options import shorten
from stereotrope.measure.captions.profile import RADAR_RANKS
from stereotrope.measure.contract import MeasureCall, MeasureInfo, register
from stereotrope.measure.definitions import definition_read, require_one_definition
from stereotrope.measure.setting import GENERATOR, MeasureSetting, require_model
from stereotrope.measure.tidy import estimate_frame, to_polars
from stereotrope.tables import ESTIMATES, warnings_of

NO_BASELINE = "no score of the baseline"
NO_SCORE = "no score to compare"

_BESIDE = frozenset(column.name for column in ESTIMATES)
_ALIKE = ("measure", "definition", "aggregate", "subset", "attribute", "category", "reference")

UNEQUAL_N = 1.5
"""Quotient of two numbers of captions from which their scores are no longer biased alike."""

BIASED = frozenset(
    {
        "bias_amplification",
        "cbs",
        "cbs_without_occluded",
        "contextual_diversity",
        "image_vendi",
        "image_vendi_normalised",
        "kl_from_uniform",
        "parity_difference",
        "shannon_entropy",
        "vendi",
        "vendi_normalised",
    }
)
"""Scores whose mean over samples depends on how many captions a sample has."""


def _called(
    info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting, calls: Sequence[MeasureCall]
) -> MeasureCall:
    """The call in an audit: on the scores that are named, else on those of all measures of the same suite."""
    names = given.get("measures") or given.get("measure")
    reads = _scores_read(info, [names] if isinstance(names, str) else names, calls)
    definition = definition_read(given, reads, calls)
    arguments = {"baseline": setting.model, **given}
    for name in ("measure", "measures", "definition"):
        arguments.pop(name, None)
    if arguments["baseline"] is None:
        raise UsageError(
            "compares with a baseline model; add `baseline: {generator: NAME}`, or write "
            "{delta: {baseline: NAME}}"
        )
    factor = arguments.get("factor", GENERATOR)
    if factor == GENERATOR:
        require_model(arguments["baseline"], setting.models)
    return MeasureCall(info.name, arguments, info.frame, reads, definition=definition, factor=factor)


def _scores_read(
    info: MeasureInfo, wanted: Sequence[str] | None, calls: Sequence[MeasureCall]
) -> tuple[str, ...]:
    others = [call for call in calls if call.name != info.name]
    if wanted is None:
        scores = [row for call in others if call.info.suite == info.suite for row in call.rows]
        if not scores:
            raise UsageError(
                "reads the scores of measures of captions, and none is listed before it; list some first, or "
                "name others that are: {delta: [bds]}"
            )
        return tuple(scores)
    scores = [row for call in others for row in call.rows]
    for name in wanted:
        if name not in scores:
            hint = did_you_mean(name, scores, otherwise=f"there is: {', '.join(scores) or 'none'}")
            raise UsageError(f"no score {shorten(name)} is computed before it; {hint}")
    return tuple(wanted)


@register(
    summary="How far a model's scores are from those of a baseline model.",
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
        Names of the scores to compare; all when None. Ranks are never compared.
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

    Raises
    ------
    UsageError
        The baseline is no level of ``factor``, or no score has one of the names of ``measures``.
    TableError
        A column is missing.
    DefinitionError
        A measure stands there under two definitions.

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
    frame = _asked(to_polars(estimates, what="estimates"), measures, factor)
    require_one_definition(frame)
    levels = frame[factor].cast(pl.String).unique().drop_nulls().sort().to_list()
    if baseline not in levels:
        hint = did_you_mean(baseline, levels, otherwise=f"found {', '.join(map(repr, levels))}")
        raise UsageError(f"delta: no {factor} {baseline!r}; {hint}")
    factors = [name for name in frame.columns if name not in _BESIDE]
    if factor not in factors:
        factors = [factor, *factors]
    alike = [name for name in (*_ALIKE, *factors) if name in frame.columns and name != factor]
    known = {tuple(row[name] for name in alike): row for row in _of(frame, factor, baseline)}
    rows = []
    for row in frame.iter_rows(named=True):
        if row[factor] is None or row[factor] == baseline:
            continue
        other = known.get(tuple(row[name] for name in alike))
        rows.append(_difference(row, other, baseline, factor, factors))
    return estimate_frame(rows, factors=factors)


def _asked(frame: pl.DataFrame, measures: Sequence[str] | None, factor: str) -> pl.DataFrame:
    """The scores that can be compared, and of these the ones asked for."""
    for name in ("measure", "definition", "value", factor):
        if name not in frame.columns:
            raise TableError(f"estimates: no column {name!r}; found {', '.join(map(repr, frame.columns))}")
    called = pl.col("measure")
    scores = frame.filter(~called.is_in(RADAR_RANKS))
    if "baseline" in scores.columns:
        scores = scores.filter(pl.col("baseline").is_null())
    if measures is None:
        return scores
    if isinstance(measures, str):
        raise UsageError(f"delta: measures must be a list of names, found the string {measures!r}")
    there = scores["measure"].unique(maintain_order=True).to_list()
    for wanted in measures:
        if wanted not in there:
            hint = did_you_mean(wanted, there, otherwise=f"found {', '.join(there) or 'none'}")
            raise UsageError(f"delta: no score {wanted!r}; {hint}")
    return scores.filter(called.is_in(list(measures)))


def _of(frame: pl.DataFrame, factor: str, level: str) -> list[dict[str, Any]]:
    return list(frame.filter(pl.col(factor) == level).iter_rows(named=True))


def _difference(
    row: dict[str, Any], other: dict[str, Any] | None, baseline: str, factor: str, factors: list[str]
) -> dict[str, Any]:
    kept = (*_ALIKE[:-1], "sides", "level", "n", "n_excluded", "excluded")
    made = {name: row.get(name) for name in (*kept, *factors)}
    made |= {
        "baseline": baseline,
        "contrast": factor,
        "reference": baseline,
        "n_reference": other.get("n") if other else None,
        "flags": _flags(row, other),
        "source": "T2I-BiasBench, eq. 25",
    }
    if row.get("reference") is not None and row.get("category") is not None:
        made["category"] = f"{row['category']} against {row['reference']}"
    if other is None or other["value"] is None:
        return {**made, "undefined": NO_BASELINE}
    if row["value"] is None:
        return {**made, "undefined": row.get("undefined") or NO_SCORE}
    made["value"] = row["value"] - other["value"]
    ends = [one.get(name) for one in (row, other) for name in ("low", "high")]
    if any(end is None for end in ends):
        return made
    low1, high1, low2, high2 = ends
    if row.get("level") != other.get("level"):
        return made
    below = np.hypot(max(0.0, row["value"] - low1), max(0.0, high2 - other["value"]))
    above = np.hypot(max(0.0, high1 - row["value"]), max(0.0, other["value"] - low2))
    return made | {
        "low": float(made["value"] - below),
        "high": float(made["value"] + above),
        "method": "interval: square-and-add of the two intervals",
    }


def _flags(row: dict[str, Any], other: dict[str, Any] | None) -> str | None:
    """Warnings of either score, and whether their numbers of captions let them be compared."""
    flags = list(dict.fromkeys(flag for one in (row, other or {}) for flag in warnings_of(one.get("flags"))))
    n = sorted(one["n"] for one in (row, other or {}) if one.get("n"))
    if row["measure"] in BIASED and len(n) == 2 and n[1] > UNEQUAL_N * n[0]:
        flags.append("unequal_n")
    return ",".join(flags) or None
