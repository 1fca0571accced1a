"""Which measures an audit computes, with what arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope import measure
from stereotrope.annotate import Encoder, GivenEmbeddings
from stereotrope.audit.calls import AFTER_ESTIMATES, GENERATOR, PAPER, MeasureCall
from stereotrope.audit.captions import CaptionReader, caption_arguments, caption_reader
from stereotrope.audit.file import AuditSpec
from stereotrope.audit.rehearsal import as_texts, check_types, rehearse
from stereotrope.audit.several import SEVERAL, is_due, require_model, several_arguments
from stereotrope.confusables import reads_like
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.options import shorten
from stereotrope.inputs.yaml import Source
from stereotrope.tables import CONSTRAINTS, QUALITY_ATTRIBUTES, factors_of

__all__ = ["resolve_measures"]

NEEDS = {
    "labels": "labels of how pictures look, and no annotator gives any; add one, for example "
    "`annotators: [colour]`",
    "constraints": "to know which pictures break their prompt, and no annotator says so; add one, for "
    "example `annotators: [{constraints: openai:gpt-4o}]`",
    "embeddings": "vectors of the pictures, and no annotator gives any; add one, for example "
    "`annotators: [{encoder: clip:openai/clip-vit-base-patch32}]`, or `{embeddings: FILE, name: NAME}` for "
    "vectors made elsewhere",
}
"""What a measure that is asked for needs, and how to have it."""
DEFAULT_ON = {"default_rank": "bds", "judge_correlation": "bds"}


def resolve_measures(
    items: Sequence[str | Mapping[str, Any]] | None,
    *,
    prompts: pl.DataFrame,
    annotators: Sequence[Any],
    baseline: Mapping[str, str],
    spec: AuditSpec,
    source: Source,
    models: Sequence[str] = (),
    model: str | None = None,
) -> tuple[MeasureCall, ...]:
    """Fill in what an audit file leaves to its design, and refuse what does not fit.

    ``models`` are the names of all models, ``model`` that of the one that others are compared with.

    Raises
    ------
    AuditFileError
        An unknown measure or argument, a comparison without a baseline, an unknown factor or attribute, or
        arguments that the measure refuses.
    """
    if items is None:
        items = ["refusal_rate", "share", *(["share_difference", "bds"] if baseline else [])]
    listed = spec.measures is not None
    known = {**_defaults(prompts, annotators, baseline, spec), "models": models, "model": model}
    readers = _Readers(annotators, prompts)
    calls: list[MeasureCall] = []
    places: list[tuple[str | int, ...]] = []
    for index, item in enumerate(items):
        where: tuple[str | int, ...] = ("measures", index) if listed else ("suite",)
        name, given = _read(item, source, where)
        given = as_texts(name, given)
        if measure.REGISTRY[name].needs == "captions":
            calls.append(_of_captions(name, given, readers, known, (source, where)))
            places.append(where)
            continue
        if name in SEVERAL:
            if listed or is_due(name, calls):
                calls.append(_of_several(name, given, calls, known, (source, where)))
                places.append(where)
            continue
        if not _served(measure.REGISTRY[name].needs, known):
            if listed:
                needs = NEEDS.get(measure.REGISTRY[name].needs, NEEDS["labels"])
                raise source.error(f"measure {name!r} needs {needs}", *where)
            continue
        on = _earlier(name, given.pop("measure", None), calls, source, where)
        definition = given.pop("definition", None) if on is not None else None
        _refuse_definition(name, on, definition, calls, source, where)
        calls.append(MeasureCall(name, _arguments(name, given, known, source, where), on, definition))
        places.append(where)
    rehearse(list(zip(calls, places, strict=True)), prompts, annotators, source)
    return tuple(calls)


class _Readers:
    """One reader a lexicon, made when the first measure asks for it."""

    def __init__(self, annotators: Sequence[Any], prompts: pl.DataFrame) -> None:
        self.annotators, self.prompts = annotators, prompts
        self._made: dict[str | None, CaptionReader] = {}

    def __call__(self, lexicon: str | None) -> CaptionReader:
        if lexicon not in self._made:
            self._made[lexicon] = caption_reader(self.annotators, self.prompts, lexicon)
        return self._made[lexicon]


def _of_captions(
    name: str,
    given: dict[str, Any],
    readers: _Readers,
    known: Mapping[str, Any],
    place: tuple[Source, tuple[str | int, ...]],
) -> MeasureCall:
    source, where = place
    try:
        reader = readers(given.pop("lexicon", None))
        arguments = caption_arguments(name, given, known, reader)
    except UsageError as error:
        raise source.error(f"measure {name!r}: {error}", *where) from None
    check_types(name, given, source, where, needed=False)
    return MeasureCall(name, arguments, reader=reader)


def _of_several(
    name: str,
    given: dict[str, Any],
    calls: Sequence[MeasureCall],
    known: Mapping[str, Any],
    place: tuple[Source, tuple[str | int, ...]],
) -> MeasureCall:
    source, where = place
    try:
        arguments, among, definition = several_arguments(name, given, calls, known)
    except UsageError as error:
        raise source.error(f"measure {name!r}: {error}", *where) from None
    check_types(name, arguments, source, where)
    return MeasureCall(name, arguments, definition=definition, among=among)


def _served(needs: str, known: Mapping[str, Any]) -> bool:
    """Whether the annotators give what a measure reads."""
    if needs in ("constraints", "embeddings"):
        return bool(known[needs])
    return needs == "images" or bool(known["known_attributes"])


def _earlier(
    name: str, on: Any, calls: Sequence[MeasureCall], source: Source, where: tuple[str | int, ...]
) -> str | None:
    if measure.REGISTRY[name].needs != AFTER_ESTIMATES:
        return None
    on = on or DEFAULT_ON.get(name)
    if on not in [call.name for call in calls]:
        raise source.error(
            f"measure {name!r} reads the estimates of another measure listed before it, found "
            f"{shorten(on) if on else 'none'}; list that measure first, and name it: "
            f"{{{name}: {'cds' if name == 'change' else 'bds'}}}",
            *where,
        )
    return str(on)


def _refuse_definition(
    name: str,
    on: str | None,
    definition: Any,
    calls: Sequence[MeasureCall],
    source: Source,
    where: tuple[str | int, ...],
) -> None:
    """Refuse a definition by which the measure that is read was not computed."""
    there = [call.arguments.get("definition", PAPER) for call in calls if call.name == on]
    if definition is not None and definition not in there:
        raise source.error(
            f"measure {name!r}: {on} is computed by the definition {' and '.join(map(repr, there))}, found "
            f"{shorten(definition)}; list {{{on}: {{definition: …}}}} before it",
            *where,
        )


def _read(
    item: str | Mapping[str, Any], source: Source, where: tuple[str | int, ...]
) -> tuple[str, dict[str, Any]]:
    if isinstance(item, str):
        name, content, rest = item, None, {}
    else:
        named = [key for key in item if key in measure.REGISTRY] or [next(iter(item))]
        name, content = named[0], item[named[0]]
        rest = {key: value for key, value in item.items() if key != name}
    if name not in measure.REGISTRY:
        hint = did_you_mean(name, measure.REGISTRY, otherwise="see `stereotrope measures`")
        raise source.error(f"no measure {shorten(name)}; {hint}", *where)
    if isinstance(content, Mapping):
        rest = {**content, **rest}
    elif content is not None and measure.REGISTRY[name].needs == AFTER_ESTIMATES:
        rest["measure"] = content
    elif content is not None:
        rest["attributes" if isinstance(content, list) else "attribute"] = content
    return name, {str(key): value for key, value in rest.items()}


def _defaults(
    prompts: pl.DataFrame, annotators: Sequence[Any], baseline: Mapping[str, str], spec: AuditSpec
) -> dict[str, Any]:
    factors = factors_of(prompts.columns)
    attributes = {
        name: values
        for annotator in annotators
        for name, values in annotator.attributes.items()
        if name not in QUALITY_ATTRIBUTES
    }
    labelled = [n for a in annotators for n in a.attributes if n not in QUALITY_ATTRIBUTES]
    # Which attributes are discovered is known once pictures are there: then all that are labelled count.
    discovers = any(getattr(a, "discoverer", None) or getattr(a, "taxonomies", None) for a in annotators)
    scope = ["generator", *(["annotator"] if len(labelled) != len(set(labelled)) else [])]
    group = next(iter(baseline), None)
    return {
        "factors": factors,
        "levels": {f: prompts[f].drop_nulls().unique(maintain_order=True).to_list() for f in factors},
        "known_attributes": list(attributes),
        "discovers": discovers,
        "embeddings": [a.name for a in annotators if isinstance(a, Encoder | GivenEmbeddings)],
        "constraints": [n for a in annotators for n in a.attributes if n in CONSTRAINTS],
        "attributes": None if discovers else list(attributes),
        "taxonomy": {name: list(values) for name, values in attributes.items() if values is not None},
        "group": group,
        "baseline": baseline.get(group) if group else None,
        "dimension": "dimension" if "dimension" in factors else None,
        "by": [*scope, *(f for f in factors if f != "dimension")],
        "scope": scope,
        "over": "object" if "object" in factors else None,
        "level": spec.report.level,
        "n_permutations": spec.permutations,
        "n_bootstrap": spec.resamples,
        "seed": spec.seed,
    }


def _arguments(
    name: str,
    given: Mapping[str, Any],
    known: Mapping[str, Any],
    source: Source,
    where: tuple[str | int, ...],
) -> dict[str, Any]:
    parameters = list(inspect.signature(measure.REGISTRY[name].function).parameters)[1:]
    given = _one_or_many(given, parameters)
    for key in given:
        if key not in parameters:
            hint = did_you_mean(key, parameters, otherwise=f"it takes {', '.join(parameters)}")
            raise source.error(f"measure {name!r} takes no {shorten(key)}; {hint}", *where, key)
    if given.get("group") == GENERATOR:
        scope = [f for f in known["scope"] if f != GENERATOR]
        known = {**known, "scope": scope, "baseline": known["model"]}
    # Whatever is not compared is held equal, also where another factor is compared than the baseline's.
    compared = (given.get("group") or known["group"] or "group", "dimension")
    known = {**known, "within": [*known["scope"], *(f for f in known["factors"] if f not in compared)]}
    arguments = {p: known[p] for p in parameters if known.get(p) is not None}
    if "dimension" in parameters:
        arguments["dimension"] = known["dimension"]
    if "group" in parameters and "by" in parameters:
        arguments["by"] = known["scope"] if "within" in parameters else known["within"]
    if name == "change":  # its own default is the phrasing, not the object
        arguments.pop("over", None)
    if "over" in parameters and "within" in parameters:
        over = given.get("over", "phrasing" if name == "change" else known["over"])
        arguments["within"] = [f for f in known["within"] if f != over]
    if "judge" in parameters:
        arguments["within"] = [f for f in known["within"] if f != given.get("judge", "annotator")]
    check_types(name, given, source, where)
    arguments |= given
    if measure.REGISTRY[name].needs in ("images", "embeddings"):
        arguments = _without_annotator(arguments)
    _check(name, arguments, parameters, known, source, where)
    return arguments


def _one_or_many(given: Mapping[str, Any], parameters: Sequence[str]) -> dict[str, Any]:
    changed = dict(given)
    if "attribute" in changed and "attribute" not in parameters:
        changed["attributes"] = [changed.pop("attribute")]
    if "attributes" in changed and "attributes" not in parameters and "attribute" in parameters:
        changed["attribute"] = changed.pop("attributes")
    for key in ("within", "by", "attributes", "of"):
        if isinstance(changed.get(key), str):
            changed[key] = [changed[key]]
    return changed


def _without_annotator(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: [f for f in value if f != "annotator"] if key in ("by", "within") else value
        for key, value in arguments.items()
    }


def _check(
    name: str,
    arguments: Mapping[str, Any],
    parameters: Sequence[str],
    known: Mapping[str, Any],
    source: Source,
    where: tuple[str | int, ...],
) -> None:
    factors = ["generator", "annotator", *known["factors"]]
    named = [arguments.get("group"), arguments.get("dimension")]
    for factor in [*arguments.get("within", []), *arguments.get("by", []), *named]:
        if factor is not None and factor not in factors:
            raise source.error(
                f"measure {name!r}: no factor {shorten(factor)}; the prompts have "
                f"{', '.join(known['factors']) or 'none'}{reads_like([factor], factors)}",
                *where,
            )
    wanted = arguments.get("attribute")
    for attribute in [
        *arguments.get("attributes", []),
        *([wanted] if isinstance(wanted, str) else wanted or []),
    ]:
        if attribute not in known["known_attributes"] and not known["discovers"]:
            raise source.error(
                f"measure {name!r}: no annotator labels {shorten(attribute)}; labelled are "
                f"{', '.join(known['known_attributes']) or 'none'}"
                f"{reads_like([attribute], known['known_attributes'])}",
                *where,
            )
    signature = inspect.signature(measure.REGISTRY[name].function).parameters
    compares = "baseline" in parameters and all(
        signature[p].default is not None for p in ("baseline", "group")
    )
    without = "baseline" in arguments and "None" in str(signature["baseline"].annotation)
    if arguments.get("group") == GENERATOR and isinstance(arguments.get("baseline"), str):
        try:
            require_model(arguments["baseline"], known["models"])
        except UsageError as error:
            raise source.error(f"measure {name!r}: {error}", *where) from None
    if compares and not without and arguments.get("baseline") is None:
        raise source.error(
            f"measure {name!r} compares with a baseline; add `baseline: {{factor: level}}`", *where
        )
