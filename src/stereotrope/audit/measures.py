"""Which measures an audit computes, with what arguments."""

import hashlib
import inspect
import pickle
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import is_
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope import measure
from stereotrope.audit.file import AuditSpec
from stereotrope.audit.mitigated import FACTOR
from stereotrope.errors import AuditFileError, DefinitionError, InputError, UsageError, did_you_mean
from stereotrope.inputs.options import options_of, shorten
from stereotrope.inputs.yaml import Source
from stereotrope.measure import GENERATOR, MeasureCall, MeasureFrame, MeasureInfo, MeasureSetting
from stereotrope.measure.contract import scope_columns
from stereotrope.suites.reading import suite_mistake
from stereotrope.tables import CONSTRAINTS, QUALITY_ATTRIBUTES

Where = tuple[str | int, ...]

_ATTRIBUTES = ("attribute", "attributes")
_FEW = {"n_permutations": 99, "n_bootstrap": 100}
"""Shuffles and resamples of a rehearsal, whose numbers nobody reads."""
_TOLD = 4
"""Things that a suite lacks that one message names."""
_LEVELS = 50
"""Levels of a factor that measures of sets are tried on: these refuse no level, and queries are many."""
_REHEARSED: dict[bytes, list[MeasureInfo | MeasureFrame]] = {}
"""Rehearsals that this process came through: an audit is planned to be shown, run, and measured again."""


def setting_of(
    spec: AuditSpec,
    *,
    prompts: pl.DataFrame,
    annotators: Sequence[Any],
    baseline: Mapping[str, str],
    models: Sequence[str] = (),
    model: str | None = None,
    base: Path = Path(),
) -> MeasureSetting:
    """What an audit decides that its measures take their arguments from.

    ``models`` are the names of all models, ``model`` that of the one that others are compared with. Paths
    start from ``base``.
    """
    labelled = [(a.subject, name, values) for a in annotators for name, values in a.attributes.items()]
    looks: dict[str, dict[str, Any]] = {}
    for annotator in annotators:
        for name, values in annotator.attributes.items():
            if name not in QUALITY_ATTRIBUTES:
                known = looks.setdefault(annotator.subject, {})
                # One that takes any value, or reads the labels of others, takes no list away.
                both = dict.fromkeys([*(known.get(name) or ()), *(values or ())])
                known[name] = tuple(both) or None
    names = [(subject, name) for subject, name, _ in labelled if name not in QUALITY_ATTRIBUTES]
    group = next(iter(baseline), None)
    return MeasureSetting(
        prompts,
        annotators,
        attributes=looks,
        shared=len(names) != len(set(names)),
        # Which attributes are discovered is known once pictures are there: then all that are labelled count.
        discovers=any(a.discovers for a in annotators),
        constraints=[name for _, name, _ in labelled if name in CONSTRAINTS],
        encoders=[a.name for a in annotators if "embeddings" in a.gives],
        group=group,
        baseline=baseline.get(group) if group else None,
        models=models,
        model=model,
        level=spec.report.level,
        n_permutations=spec.permutations,
        n_bootstrap=spec.resamples,
        seed=spec.seed,
        base=base,
        counted=spec.counted,
    )


def resolve_measures(
    items: Sequence[str | Mapping[str, Any]] | None,
    setting: MeasureSetting,
    source: Source,
    *,
    listed: bool,
    apart: str | None = None,
) -> tuple[MeasureCall, ...]:
    """Fill in what an audit file leaves to its design, and refuse what does not fit.

    apart: Factor whose levels no measure pools, whatever it is told to be by.

    What is not ``listed`` in the file but by its suite is left out where the audit has nothing for it, or
    where an entry before gives the same of every mitigation.

    Raises AuditFileError: A measure or the design refuses it, nothing tells the scores of two apart, or the
        audit has what it takes for none of those of its suite.
    Raises PluginError: What the suite lists is no measure, or has options that do not fit.
    """
    if items is None:
        of_looks = ["share", *(["share_difference", "bds"] if setting.group else [])]
        items = ["refusal_rate", *(of_looks if setting.discovers or setting.attributes_of("image") else [])]
    calls: list[MeasureCall] = []
    places: list[Where] = []
    lacking: dict[str, None] = {}
    for index, item in enumerate(items):
        where: Where = ("measures", index) if listed else ("suite",)
        try:
            info, given = _read(item, source, where)
        except AuditFileError as error:
            if listed or not isinstance(suite := source.tree.get("suite"), str):
                raise
            raise suite_mistake(
                suite, str(error).removeprefix(f"{error.file}:{error.line}: "), index
            ) from None
        try:
            asked = (given, setting, calls)
            if not listed and (lacks := info.frame.lacks(info, *asked) or _lacks(info, given, setting)):
                lacking[lacks] = None
                continue
            if not listed and setting.counted and not (info.counted or info.frame.counted):
                continue
            if not listed and info.due is not None and not info.due(*asked):
                continue
            if not listed and info.frame.several_annotators(info, *asked):
                given = _by_annotator(given)
            call = (info.call or info.frame.call)(info=info, given=given, setting=setting, calls=calls)
            call = _held_apart(call, apart)
            if not listed and _is_among(_held_apart(call, FACTOR), calls):
                continue
            calls.append(call)
        except UsageError as error:
            raise source.error(f"measure {info.name!r}: {error}", *where) from None
        places.append(where)
    if lacking and not calls:
        named = ", ".join(list(lacking)[:_TOLD])
        raise source.error(
            f"no measure of this suite has all that it needs; of this there is not: {named}; "
            "add what your question needs, or list `measures:`",
            "suite",
        )
    _rehearse(list(zip(calls, places, strict=True)), setting, source)
    return tuple(calls)


def uncompared(
    items: Sequence[str | Mapping[str, Any]] | None, calls: Sequence[MeasureCall], setting: MeasureSetting
) -> list[str]:
    """Note which measures of a suite would compare levels of a factor, where the audit names no baseline."""
    if setting.baseline is not None:
        return []
    there, left = {call.name for call in calls}, dict[str, list[str]]()
    for name in dict.fromkeys(item if isinstance(item, str) else next(iter(item)) for item in items or ()):
        info = None if name in there else measure.REGISTRY.get(name)
        if info is None or info.comparison != "needed" or info.frame.lacks(info, {}, setting, calls):
            continue
        if (factor := info.parameters["group"].default) in setting.factors:
            left.setdefault(factor, []).append(name)
    return [
        f"left out without a baseline: {', '.join(names)}; name the level that others are compared with, as "
        f"`baseline: {{{factor}: …}}`"
        for factor, names in left.items()
    ]


def _is_among(call: MeasureCall, calls: Sequence[MeasureCall]) -> bool:
    return any(_identity(one) == _identity(call) for one in calls)


def _identity(call: MeasureCall) -> tuple[Any, ...]:
    """What a call computes, in whatever order its factors are listed."""
    lists = {key: {*call.arguments[key]} for key in ("by", "within") if call.arguments.get(key) is not None}
    return call.name, call.on, call.definition, {**call.arguments, **lists}


def _by_annotator(given: dict[str, Any]) -> dict[str, Any]:
    """An entry of a suite, told apart by annotator: a suite does not know how many an audit has."""
    lists = {name: [*given[name], "annotator"] for name in ("by", "within") if name in given}
    return {**given, **{name: list(dict.fromkeys(factors)) for name, factors in lists.items()}}


def _held_apart(call: MeasureCall, factor: str | None) -> MeasureCall:
    """A call that does not pool the levels of a factor, unless it is to compare them."""
    own = inspect.signature(call.info.function).parameters.get("over")
    if factor is None or factor in (call.factor, call.arguments.get("over", own and own.default)):
        return call
    lists = {key: call.arguments.get(key) for key in ("by", "within")}
    more = {k: [*v, factor] for k, v in lists.items() if isinstance(v, list | tuple) and factor not in v}
    return replace(call, arguments={**call.arguments, **more})


def _lacks(info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting) -> str | None:
    """What an entry of a suite names that the audit has not; None where it has all."""
    named = given.get("attribute")
    attributes = [named] if isinstance(named, str) else named or []
    scopes = {GENERATOR, "annotator", "attribute", *setting.factors}
    factors = [*given.get("by", ()), *given.get("within", ()), given.get("group") or GENERATOR]
    for what, names, there in (
        ("attribute", attributes, setting.attributes_of(info.subject)),
        ("factor", factors, scopes),
    ):
        if left := [name for name in names if name not in there]:
            return f"the {what} {left[0]!r}"
    needs_baseline = info.comparison == "needed" and setting.baseline is None and "baseline" not in given
    return "a baseline to compare with" if needs_baseline else None


def _read(item: str | Mapping[str, Any], source: Source, where: Where) -> tuple[MeasureInfo, dict[str, Any]]:
    """The measure that an item names, and its options as far as they are given."""
    written = {item: None} if isinstance(item, str) else dict(item)
    name = next((key for key in written if key in measure.REGISTRY), next(iter(written)))
    content = written.pop(name)
    if name not in measure.REGISTRY:
        hint = did_you_mean(name, measure.REGISTRY, otherwise="see `stereotrope measures`")
        raise source.error(f"no measure {shorten(name)}; {hint}", *where)
    info = measure.REGISTRY[name]
    if isinstance(content, Mapping):
        written = {**content, **written}
    elif content is not None:
        written[info.frame.content] = content
    takes = info.options.model_fields
    for key, other in zip(_ATTRIBUTES, reversed(_ATTRIBUTES), strict=True):
        if key in written and key not in takes and other in takes:
            written[other] = written.pop(key)
    given: dict[str, Any] = {}
    for key, value in written.items():
        try:
            options = options_of(
                info.options, {str(key): value}, f"measure {name!r}", example=f"`stereotrope measures {name}`"
            )
        except UsageError as error:
            raise source.error(str(error), *where, key) from None
        value = getattr(options, str(key))
        given[str(key)] = _composed(value) if key in _ATTRIBUTES else value
    return info, given


def _composed(names: Any) -> Any:
    """One name or several in Unicode's composed form (NFC), in which annotators keep those of attributes."""
    if isinstance(names, list):
        return [*map(_composed, names)]
    return unicodedata.normalize("NFC", names) if isinstance(names, str) else names


def _rehearse(calls: Sequence[tuple[MeasureCall, Where]], setting: MeasureSetting, source: Source) -> None:
    """Call every measure on made-up labels: what it refuses is told before a picture is paid for."""
    made_up = {few: _made_up(setting, _LEVELS if few else None) for few in (False, True)}
    registered = [each for call, _ in calls for each in (call.info, call.frame)]
    rehearsal = _fingerprint(calls, *made_up[False], *made_up[True])
    if all(map(is_, _REHEARSED.get(rehearsal, [None]), registered)):
        return
    frames: dict[tuple[MeasureFrame, bool], pl.DataFrame] = {}
    done: list[pl.DataFrame] = []
    for call, where in calls:
        few = {k: min(n, _FEW[k]) for k, n in call.arguments.items() if k in _FEW}
        model = pl.lit(call.baseline_model).alias(GENERATOR)
        try:
            if call.reads:
                data = pl.concat(done, how="diagonal")
                data = data if call.baseline_model is None else data.with_columns(model)
            else:
                which = call.frame, call.info.subject == "set"
                if which not in frames:
                    labels, images = made_up[which[1]]
                    frames[which] = call.frame.made_up(images, labels)
                data = frames[which]
                if call.baseline_model is not None:
                    again = pl.concat_str("image_id", pl.lit(" too")).alias("image_id")
                    data = pl.concat([data, data.with_columns(model, again)])
            done.append(replace(call, arguments={**call.arguments, **few})(data))
        except (UsageError, InputError, DefinitionError) as error:
            message = str(error).removeprefix(f"{call.name}: ")
            raise source.error(f"measure {call.name!r}: {message}", *where) from None
        for (other, _), rows in zip(calls, done[:-1], strict=False):
            if told := _in_both(call, done[-1], other, rows):
                raise source.error(told, *where)
    _REHEARSED[rehearsal] = registered


def _fingerprint(calls: Sequence[tuple[MeasureCall, Where]], *frames: pl.DataFrame) -> bytes:
    """What tells a rehearsal from others, but for what is registered of its measures."""
    told = [{key: value for key, value in vars(call).items() if key != "frame"} for call, _ in calls]
    return hashlib.sha256(pickle.dumps((told, frames))).digest()


def _in_both(call: MeasureCall, made: pl.DataFrame, other: MeasureCall, before: pl.DataFrame) -> str | None:
    """What to say where a call gives rows of one scope with those of another that is listed before."""
    if set(made["measure"].to_list()).isdisjoint(before["measure"].to_list()):
        return None
    both = pl.concat([before, made], how="diagonal")
    names = scope_columns(both)
    # Which values are seen is known only later, but where an audit names them.
    if any("value" in c.info.parameters and c.arguments.get("value") is None for c in (call, other)):
        names.remove("category")
    twice = both.tail(made.height).join(both.head(before.height), on=names, how="semi", nulls_equal=True)
    if not twice.height:
        return None
    of = "" if twice["attribute"][0] is None else f" of the attribute {twice['attribute'][0]!r}"
    return (
        f"measure {call.name!r}: the {other.name!r} listed before gives scores{of} too, and nothing would "
        "tell the two apart; list it once, or name other attributes or values in one"
    )


def _made_up(setting: MeasureSetting, most: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Labels and images, one picture a level, of at most so many of each factor."""
    prompts, factors = setting.prompts, setting.factors
    few = pl.concat(
        [prompts.head(1), *(prompts.unique(f, keep="first", maintain_order=True)[:most] for f in factors)]
    )
    images = few.unique("prompt_id", keep="first", maintain_order=True).select(
        pl.col("prompt_id").alias("image_id"),
        "prompt_id",
        pl.lit(GENERATOR).alias(GENERATOR),
        *factors,
        pl.lit("ok").alias("status"),
        pl.lit(None, pl.String).alias("reason"),
    )
    asked = [
        (name, values[0] if values else "value", annotator.name, annotator.subject)
        for annotator in setting.annotators
        for name, values in annotator.attributes.items()
        if name not in QUALITY_ATTRIBUTES or name in CONSTRAINTS
    ]
    attributes = pl.DataFrame(
        asked,
        schema=dict.fromkeys(("attribute", "value", "annotator", "subject_kind"), pl.String),
        orient="row",
    )
    labels = images.drop("status", "reason").join(attributes, how="cross")
    told = {"confidence": pl.lit(None, pl.Float64), "excluded": pl.lit(None, pl.String)}
    return labels.with_columns(**told), images
