"""The frames that measures read in an audit, and how a measure is called of what an audit file says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import polars as pl

from stereotrope.confusables import reads_like
from stereotrope.errors import UsageError
from stereotrope.inputs.options import shorten
from stereotrope.measure.contract import FRAMES, Calls, MeasureCall, MeasureFrame, MeasureInfo
from stereotrope.measure.definitions import definition_read
from stereotrope.measure.embedding_cells import embeddings_frame
from stereotrope.measure.join import image_counts, tidy_counts, tidy_subjects, with_factors
from stereotrope.measure.paired.alignment import query_embeddings_frame
from stereotrope.measure.setting import GENERATOR, MeasureSetting, RunTables, require_model
from stereotrope.tables import CONSTRAINTS, QUALITY_ATTRIBUTES

_COMPARED = ("over", "judge", "among")
"""Parameters that name a factor whose levels are set beside each other, so that none is held equal."""


def arguments_of(info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting) -> dict[str, Any]:
    """The arguments of a measure: what is given, else what the audit's design decides.

    Whatever is not compared is held equal.

    Raises UsageError: A factor, attribute or model that is none, a comparison without a baseline, or a
        parameter that nobody gives.
    """
    takes = info.parameters
    group, baseline, scope = given.get("group") or setting.group, setting.baseline, setting.scope
    if given.get("group") == GENERATOR:
        baseline, scope = setting.model, [name for name in scope if name != GENERATOR]
    held = [*scope, *(name for name in setting.factors if name not in (group or "group", "dimension"))]
    attributes = setting.attributes_of(info.subject)
    known: dict[str, Any] = {
        "attributes": None if setting.discovers else list(attributes),
        "taxonomy": {name: list(values) for name, values in attributes.items() if values is not None},
        "group": setting.group,
        "baseline": baseline,
        "within": held,
        "by": [*scope, *(name for name in setting.factors if name != "dimension")],
        **{name: getattr(setting, name) for name in ("level", "n_permutations", "n_bootstrap", "seed")},
    }
    optional = "attribute" in takes and takes["attribute"].default is None
    if optional and not setting.discovers and len(attributes) < len(setting.attributes.get(info.subject, ())):
        known["attribute"] = list(attributes)
    if "group" in takes:
        known["by"] = scope if "within" in takes else held
    if "by" in takes and "attribute" in takes["by"].default:
        known["by"] = ["attribute", *known["by"]]
    compared = {name: given.get(name, takes[name].default) for name in _COMPARED if name in takes}
    if compared:
        known |= {**compared, "within": [factor for factor in held if factor not in compared.values()]}
    arguments = {name: known[name] for name in takes if known.get(name) is not None}
    if "dimension" in takes:
        arguments["dimension"] = "dimension" if "dimension" in setting.factors else None
    arguments |= given
    _check(info, arguments, setting)
    return arguments


def _check(info: MeasureInfo, arguments: Mapping[str, Any], setting: MeasureSetting) -> None:
    by = info.parameters.get("by")
    factors = [GENERATOR, "annotator", *setting.factors, *({"attribute"} & set(by.default if by else ()))]
    compared = [arguments.get("group"), arguments.get("dimension")]
    for factor in [*arguments.get("within", []), *arguments.get("by", []), *compared]:
        if factor is not None and factor not in factors:
            raise UsageError(
                f"no factor {shorten(factor)}; the prompts have {', '.join(setting.factors) or 'none'}"
                f"{reads_like([factor], factors)}"
            )
    one, labelled = arguments.get("attribute"), setting.attributes_of(info.subject)
    listed = [*arguments.get("attributes", []), *([one] if isinstance(one, str) else one or [])]
    if not listed and [] in (one, arguments.get("attributes")):
        listed = list(setting.attributes.get(info.subject, ()))
    for attribute in listed:
        if attribute not in labelled:
            if kinds := [kind for kind, named in setting.attributes.items() if attribute in named]:
                times = ", several times" if info.subject in kinds else ""
                raise UsageError(
                    f"{attribute!r} is labelled on each {kinds[0]}{times}, and {info.name} reads one label "
                    f"of each {info.subject}; a measure of your own can read it, registered with "
                    f'subject="{kinds[0]}": see docs/how-to/write-a-measure.md'
                )
            if not setting.discovers:
                raise UsageError(
                    f"no annotator labels {shorten(attribute)}; labelled are "
                    f"{', '.join(labelled) or 'none'}{reads_like([attribute], labelled)}"
                )
    if arguments.get("group") == GENERATOR and arguments.get("baseline") is not None:
        require_model(arguments["baseline"], setting.models)
    if info.comparison == "needed" and "baseline" not in arguments:
        raise UsageError("compares with a baseline; add `baseline: {factor: level}`")
    default = info.parameters["group"].default if "group" in info.parameters else None
    if "group" not in arguments and isinstance(default, str) and default not in factors:
        raise UsageError(
            "compares the levels of a factor; add `group: FACTOR`, or `baseline: {factor: level}`"
        )
    for name, parameter in info.parameters.items():
        if parameter.default is parameter.empty and name not in arguments:
            raise UsageError(
                f"needs {name!r}, which an audit file cannot give; leave the measure out, and "
                "call it from Python"
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class _Frame(MeasureFrame):
    """A frame made of the tables of a run.

    words, lacking: What it is, and what to say where an audit has not what it needs.
    of, made_up: The frame of a run, and of made-up images and labels.
    has: Whether an audit has it.
    annotated: Whether its rows are told apart by annotators that label them.
    """

    words: str
    of: Callable[[RunTables], pl.DataFrame]
    made_up: Callable[[pl.DataFrame, pl.DataFrame], pl.DataFrame]
    has: Callable[[MeasureSetting], object] = lambda _: True
    lacking: str = ""
    annotated: bool = True

    def lacks(
        self, info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting, calls: Calls
    ) -> str | None:
        return None if self.has(setting) else self.lacking

    def several_annotators(
        self, info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting, calls: Calls
    ) -> bool:
        one = given.get("attribute")
        named = [one] if isinstance(one, str) else one or setting.attributes_of(info.subject)
        labelled = [set(each.attributes) for each in setting.annotators if each.subject == info.subject]
        return self.annotated and any(sum(name in of for of in labelled) > 1 for name in named)

    def call(
        self, info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
    ) -> MeasureCall:
        if lacking := self.lacks(info, given, setting, calls):
            raise UsageError(f"needs {lacking}")
        if setting.counted and not info.counted:
            raise UsageError(
                "must see each picture by itself, and label files are counted; leave it out, or take out "
                "`counted: true`"
            )
        arguments = arguments_of(info, given, setting)
        factor = arguments.get("group")
        if not self.annotated:
            for name in {"by", "within"} & set(arguments):
                arguments[name] = [factor for factor in arguments[name] if factor != "annotator"]
        return MeasureCall(info.name, arguments, self, factor=factor)


class _Estimates(MeasureFrame):
    """Estimates of a measure listed before."""

    words = "estimates"
    options: ClassVar[Mapping[str, Any]] = {"measure": str | Sequence[str] | None, "definition": str | None}
    content = "measure"
    counted = True

    def lacks(
        self, info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting, calls: Calls
    ) -> str | None:
        on: Any = given.get("measure") or info.on
        listed = on in [call.name for call in calls] and on in (info.reads or [on])
        if listed or (info.several and info.call is not None):
            return None
        wanted = next(iter(info.reads), info.on or (calls[-1].name if calls else "…"))
        return (
            f"the estimates of another measure listed before it, found {shorten(on) if on else 'none'}; "
            f"list that measure first, and name it: {{{info.name}: {wanted}}}"
        )

    def several_annotators(
        self, info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting, calls: Calls
    ) -> bool:
        on = given.get("measure") or info.on
        return any(call.name == on and "annotator" in call.arguments.get("by", ()) for call in calls)

    def call(
        self, info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
    ) -> MeasureCall:
        if lacking := self.lacks(info, given, setting, calls):
            raise UsageError(f"reads {lacking}")
        on: Any = given.get("measure") or info.on
        definition = definition_read(given, (on,), calls)
        rest = {name: value for name, value in given.items() if name not in self.options}
        arguments = arguments_of(info, rest, setting)
        variants = [name for call in calls if call.name == on for name in call.info.variants]
        reads = (on, *variants, *info.read_with.get(on, ()))
        return MeasureCall(info.name, arguments, self, reads, on, definition, arguments.get("group"))


def _subjects(kind: str) -> _Frame:
    """Labels of regions, of sets of images or of texts."""

    def of(tables: RunTables) -> pl.DataFrame:
        if tables.counts is not None:
            return tidy_counts(tables.prompts, tables.counts, kind=kind)
        told = (tables.prompts, tables.images, tables.labels, tables.subjects)
        tidy = tidy_subjects(*told, kind=kind, asked=tables.asked)
        return tidy.filter(~pl.col("attribute").is_in(QUALITY_ATTRIBUTES))

    return _Frame(
        words=f"labels of {kind}s",
        has=lambda setting: setting.attributes.get(kind),
        lacking=f"labels of {kind}s, and no annotator gives any; add one that looks at {kind}s",
        of=of,
        made_up=lambda _, labels: (
            labels.filter(subject_kind=kind)
            .drop("subject_kind")
            .with_columns(picture="image_id", images="image_id")
        ),
    )


def _encoded(make: Callable[..., pl.DataFrame], tables: RunTables) -> pl.DataFrame:
    return make(tables.prompts, tables.images, tables.embeddings, encoders=tables.encoders)


_OF_CONSTRAINTS = pl.col("attribute").is_in(CONSTRAINTS)

_FRAMES: dict[str, MeasureFrame] = {
    "estimates": _Estimates(),
    "labels": _Frame(
        words="labels",
        has=lambda setting: setting.attributes.get("image"),
        lacking="labels of how pictures look, and no annotator gives any; add one, for example "
        "`annotators: [colour]`",
        of=lambda tables: tables.looks,
        made_up=lambda _, labels: labels.filter(~_OF_CONSTRAINTS, subject_kind="image").drop("subject_kind"),
    ),
    "constraints": _Frame(
        words="labels of constraints",
        has=lambda setting: setting.constraints,
        lacking="to know which pictures break their prompt, and no annotator says so; add one, for example "
        "`annotators: [{constraints: openai:gpt-4o}]`",
        of=lambda tables: tables.tidy.filter(_OF_CONSTRAINTS),
        made_up=lambda _, labels: labels.filter(_OF_CONSTRAINTS).drop("subject_kind"),
    ),
    "images": _Frame(
        words="images",
        of=lambda tables: (
            with_factors(tables.prompts, tables.images)
            if tables.counts is None
            else image_counts(tables.prompts, tables.counts)
        ),
        made_up=lambda images, _: images,
        annotated=False,
    ),
    **{
        name: _Frame(
            words=told,
            has=lambda setting: setting.encoders,
            lacking="vectors of the pictures, and no annotator gives any; add one, for example `annotators: "
            "[{encoder: clip:openai/clip-vit-base-patch32}]`, or `{embeddings: FILE, name: NAME}` for "
            "vectors made elsewhere",
            of=partial(_encoded, make),
            made_up=lambda images, _: images.drop("status", "reason").with_columns(
                vector=pl.lit([1.0, 0.0]), cosine=pl.lit(0.5), annotator=pl.lit("encoder")
            ),
            annotated=False,
        )
        for name, told, make in (
            ("embeddings", "an embeddings frame", embeddings_frame),
            (
                "embeddings of queries",
                "an embeddings frame with the text of the query",
                query_embeddings_frame,
            ),
        )
    },
    **{f"labels of a {kind}": _subjects(kind) for kind in ("region", "set", "text")},
}
for _name, _frame in _FRAMES.items():
    FRAMES.add(_name, _frame)
