"""Measures that read the estimates of several others: profiles of models, differences from one of them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope import measure
from stereotrope.audit.calls import GENERATOR, MeasureCall
from stereotrope.audit.captions import BESIDE
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.options import shorten

__all__ = [
    "SEVERAL",
    "is_due",
    "pretended",
    "require_model",
    "rows_of",
    "several_arguments",
]

SEVERAL = ("delta", "profile")
"""Measures whose calls read the rows of all measures before them that they are made for."""

FEWEST = 3
"""Prompts with a composite score from which a suite draws a profile."""


def is_due(name: str, calls: Sequence[MeasureCall]) -> bool:
    """Whether a suite's measure can be computed after these: a profile needs three composites a model."""
    return name != "profile" or len(_composed(calls)) >= FEWEST


def _composed(calls: Sequence[MeasureCall]) -> set[str]:
    """Prompts for which a composite score is computed."""
    readers = [call.reader for call in calls if call.name in measure.REGISTRY["profile"].reads]
    declared = [(name, one) for reader in readers if reader for name, one in reader.declared.items()]
    return {name for name, one in declared if one.attribute is not None}


def several_arguments(
    name: str,
    given: Mapping[str, Any],
    calls: Sequence[MeasureCall],
    known: Mapping[str, Any],
) -> tuple[dict[str, Any], tuple[str, ...], str | None]:
    """What such a measure is called with, the names of the rows it reads, and their definition.

    ``definition`` is None where each that there is makes rows of its own.

    Raises
    ------
    UsageError
        There is nothing to read before it, an argument is none, or the baseline is no model.
    """
    given = dict(given)
    definition = given.pop("definition", None)
    named = given.pop("measure", None)
    if named is not None:
        given.setdefault("measures", named)
    if isinstance(given.get("measures"), str):
        given["measures"] = [given["measures"]]
    takes = list(inspect.signature(measure.REGISTRY[name].function).parameters)[1:]
    for key in given:
        if key not in takes:
            hint = did_you_mean(key, takes, otherwise=f"it takes {', '.join(takes)}")
            raise UsageError(f"takes no {shorten(key)}; {hint}")
    among = _of_profile(calls) if name == "profile" else _of_delta(calls, given.get("measures"))
    _require_definition(definition, among, calls)
    if name == "profile":
        return _profile(given, calls, known), among, definition
    given.pop("measures", None)
    return _delta(given, known), among, definition


def _of_profile(calls: Sequence[MeasureCall]) -> tuple[str, ...]:
    reads = measure.REGISTRY["profile"].reads
    if not any(call.name in reads for call in calls):
        raise UsageError(
            f"reads the estimates of {' and '.join(reads)}, and neither is listed before it; list one first"
        )
    return reads


def _of_delta(calls: Sequence[MeasureCall], measures: Any) -> tuple[str, ...]:
    there = [row for call in calls if call.name != "delta" for row in rows_of(call)]
    if measures is None:
        of = measure.REGISTRY["delta"].suite
        scores = [c for c in calls if measure.REGISTRY[c.name].suite == of and c.name != "delta"]
        if not scores:
            raise UsageError(
                "reads the scores of measures of captions, and none is listed before it; list some first, or "
                "name others that are: {delta: [bds]}"
            )
        return tuple(row for call in scores for row in rows_of(call))
    if not isinstance(measures, list):
        raise UsageError(f"measures must be a list of scores, found {shorten(measures)}")
    for wanted in measures:
        if wanted not in there:
            hint = did_you_mean(str(wanted), there, otherwise=f"there is: {', '.join(there) or 'none'}")
            raise UsageError(f"no score {shorten(wanted)} is computed before it; {hint}")
    return tuple(measures)


def rows_of(call: MeasureCall) -> tuple[str, ...]:
    """Names in the column ``measure`` of a call's estimates."""
    info = measure.REGISTRY[call.name]
    if info.suffix and call.on is not None:
        return (f"{call.on}{info.suffix}",)
    own = () if info.reads else (call.name,)
    return (*own, *info.also, *BESIDE.get(call.name, ()))


def _require_definition(definition: Any, among: Sequence[str], calls: Sequence[MeasureCall]) -> None:
    there = {call.arguments.get("definition", "paper") for call in calls if set(rows_of(call)) & set(among)}
    if definition is not None and definition not in there:
        raise UsageError(
            f"reads scores by the definition {' and '.join(map(repr, sorted(there)))}, found "
            f"{shorten(definition)}; list them by it before, such as {{cbs: {{definition: …}}}}"
        )


def _profile(given: dict[str, Any], calls: Sequence[MeasureCall], known: Mapping[str, Any]) -> dict[str, Any]:
    reader = next(call.reader for call in calls if call.name in measure.REGISTRY["profile"].reads)
    prompt = given.get("prompt", reader.factor if reader else "prompt")
    axes = list(known["levels"].get(prompt, []))
    for axis in given.get("axes") or []:
        if axis not in axes:
            hint = did_you_mean(str(axis), axes, otherwise=f"there is: {', '.join(axes) or 'none'}")
            raise UsageError(f"no {prompt} {shorten(axis)}; {hint}")
    return {"prompt": prompt, "axes": axes, "seed": known["seed"], **given}


def _delta(given: dict[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    baseline = given.get("baseline", known["model"])
    if baseline is None:
        raise UsageError(
            "compares with a baseline model; add `baseline: {generator: NAME}`, or write "
            "{delta: {baseline: NAME}}"
        )
    if given.get("factor", GENERATOR) == GENERATOR:
        require_model(baseline, known["models"])
    return {**given, "baseline": baseline}


def require_model(name: Any, models: Sequence[str]) -> None:
    """Refuse a baseline that is no model, or that is alone.

    Raises
    ------
    UsageError
        With the nearest name, or what to add.
    """
    if not models:
        return
    if name not in models:
        hint = did_you_mean(str(name), models, otherwise=f"there is: {', '.join(models)}")
        raise UsageError(f"no generator {shorten(name)} to compare with; {hint}")
    if len(models) == 1:
        raise UsageError(
            f"{name!r} is the only model, and there is none to compare with it; list another under "
            "`generators`, or leave the comparison out"
        )


def pretended(call: MeasureCall, estimates: pl.DataFrame) -> pl.DataFrame:
    """Made-up estimates for a rehearsal, in which the baseline model is there."""
    if call.name != "delta" or call.arguments.get("factor", GENERATOR) != GENERATOR:
        return estimates
    return estimates.with_columns(pl.lit(call.arguments["baseline"]).alias(GENERATOR))
