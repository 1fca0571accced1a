"""The prompts that an audit file and its suite design, and what they are compared with."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope import design
from stereotrope.audit.file import AuditSpec
from stereotrope.design.prompts import own_prompts
from stereotrope.errors import InputError, UsageError
from stereotrope.inputs.options import shorten
from stereotrope.inputs.yaml import Source
from stereotrope.measure import GENERATOR, require_model
from stereotrope.tables import factors_of


def designed_prompts(spec: AuditSpec, suite: Mapping[str, Any], source: Source) -> pl.DataFrame | None:
    """The prompts of the audit file, else of its suite; None where generators bring their own.

    Raises AuditFileError: Parts of the design do not fit together, or a part is missing.
    """
    things = spec.objects or suite.get("objects")
    try:
        if spec.prompts is not None:
            if spec.objects or spec.dimensions:
                raise source.error(
                    "prompts: give either `prompts` or `objects` and `dimensions`, not both", "prompts"
                )
            return own_prompts(spec.prompts, source.base)
        if not things:
            return own_prompts(suite["prompts"], source.base) if "prompts" in suite else None
        templates = spec.templates.model_dump() if spec.templates else suite.get("templates")
        if templates is None:
            raise source.error(
                "objects: need `templates: {baseline: …, cue: …}` or `suite: objects`", "objects"
            )
        return design.cued_prompts(
            things,
            spec.dimensions or suite.get("dimensions") or {},
            phrasings=spec.phrasings or suite.get("phrasings") or ["for"],
            mitigations=_mitigations(spec, suite, source),
            **templates,
        )
    except (UsageError, InputError) as error:
        key = "prompts" if spec.prompts is not None else _key_of(str(error))
        raise source.error(f"{key}: {error}", key) from None


def _key_of(message: str) -> str:
    for word, key in (("template", "templates"), ("phrasings", "phrasings"), ("objects", "objects")):
        if word in message.split(";")[0]:
            return key
    return "dimensions"


def _mitigations(spec: AuditSpec, suite: Mapping[str, Any], source: Source) -> dict[str, str]:
    given = spec.mitigations
    if isinstance(given, dict):
        return given
    if given is None:
        return dict(suite.get("mitigations") or {"none": ""})
    known: dict[str, str] = suite.get("known_mitigations") or {"none": ""}
    for name in given:
        if name not in known:
            raise source.error(
                f"mitigations: {name!r} has no wording; known are {', '.join(known)}; write `{name}: suffix`",
                "mitigations",
            )
    return {name: known[name] for name in given}


def baseline_model_of(spec: AuditSpec, models: Sequence[str], source: Source) -> str | None:
    """The model that others are compared with, where the audit names one.

    Raises AuditFileError: It is none of the models, or the only one.
    """
    name = (spec.baseline or {}).get(GENERATOR)
    if name is not None:
        try:
            require_model(name, models)
        except UsageError as error:
            raise source.error(f"baseline: {error}", "baseline", GENERATOR) from None
    return name


def baseline_of(spec: AuditSpec, prompts: pl.DataFrame, source: Source) -> dict[str, str]:
    """Factor and level that other levels are compared with; models are compared apart from that.

    Raises AuditFileError: The prompts have no such factor or level, or several are named.
    """
    given = {factor: level for factor, level in (spec.baseline or {}).items() if factor != GENERATOR}
    if not given and spec.baseline != {}:
        cued = "group" in prompts.columns and (prompts["group"] == design.BASE).any()
        return {"group": design.BASE} if cued else {}
    factors = factors_of(prompts.columns)
    for factor, level in given.items():
        if factor not in factors:
            raise source.error(
                f"baseline: no factor {shorten(factor)}; the prompts have {', '.join(factors) or 'none'}",
                "baseline",
                factor,
            )
        levels = prompts[factor].drop_nulls().unique().sort().to_list()
        if level not in levels:
            raise source.error(
                f"baseline: factor {factor!r} has no level {shorten(level)}; it has {shorten(levels, 200)}",
                "baseline",
                factor,
            )
    if len(given) != 1:
        raise source.error("baseline: name one factor and its level, for example {group: base}", "baseline")
    return given
