"""The frames that measures read in an audit, and how a measure is called of what an audit file says."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import polars as pl

from stereotrope.confusables import reads_like
from stereotrope.errors import UsageError
from stereotrope.inputs.options import shorten
from stereotrope.measure.contract import FRAMES, PAPER, MeasureCall, MeasureFrame, MeasureInfo
from stereotrope.measure.embeddings import embeddings_frame
from stereotrope.measure.join import tidy_subjects, with_factors
from stereotrope.measure.setting import GENERATOR, MeasureSetting, RunTables, require_model
from stereotrope.tables import CONSTRAINTS, QUALITY_ATTRIBUTES


def filled(info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting) -> dict[str, Any]:
    """The arguments of a measure: what is given, else what the audit's design decides.

    Whatever is not compared is held equal.

    Raises
    ------
    UsageError
        A factor, attribute or model that is none, a comparison without a baseline, or a parameter that
        nobody gives.
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
    if "group" in takes:
        known["by"] = scope if "within" in takes else held
    for name in ("over", "judge"):
        if name in takes:
            known[name] = given.get(name, takes[name].default)
            known["within"] = [factor for factor in held if factor != known[name]]
    arguments = {name: known[name] for name in takes if known.get(name) is not None}
    if "dimension" in takes:
        arguments["dimension"] = "dimension" if "dimension" in setting.factors else None
    arguments |= given
    _check(info, arguments, setting)
    return arguments


def _check(info: MeasureInfo, arguments: Mapping[str, Any], setting: MeasureSetting) -> None:
    factors = [GENERATOR, "annotator", *setting.factors]
    compared = [arguments.get("group"), arguments.get("dimension")]
    for factor in [*arguments.get("within", []), *arguments.get("by", []), *compared]:
        if factor is not None and factor not in factors:
            raise UsageError(
                f"no factor {shorten(factor)}; the prompts have {', '.join(setting.factors) or 'none'}"
                f"{reads_like([factor], factors)}"
            )
    one, labelled = arguments.get("attribute"), setting.attributes_of(info.subject)
    for attribute in [*arguments.get("attributes", []), *([one] if isinstance(one, str) else one or [])]:
        if attribute not in labelled and not setting.discovers:
            raise UsageError(
                f"no annotator labels {shorten(attribute)}; labelled are "
                f"{', '.join(labelled) or 'none'}{reads_like([attribute], labelled)}"
            )
    if arguments.get("group") == GENERATOR and arguments.get("baseline") is not None:
        require_model(arguments["baseline"], setting.models)
    if info.comparison == "needed" and "baseline" not in arguments:
        raise UsageError("compares with a baseline; add `baseline: {factor: level}`")
    for name, parameter in info.parameters.items():
        if parameter.default is parameter.empty and name not in arguments:
            raise UsageError(
                f"needs {name!r}, which an audit file cannot give; leave the measure out, and "
                "call it from Python"
            )


class _Labels(MeasureFrame):
    """Labels of how pictures look, those that count."""

    def lacks(self, setting: MeasureSetting) -> str | None:
        if setting.attributes:
            return None
        return (
            "labels of how pictures look, and no annotator gives any; add one, for example "
            "`annotators: [colour]`"
        )

    def call(
        self, info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Sequence[MeasureCall]
    ) -> MeasureCall:
        if lacking := self.lacks(setting):
            raise UsageError(f"needs {lacking}")
        arguments = filled(info, given, setting)
        return MeasureCall(info.name, arguments, self, factor=arguments.get("group"))

    def of(self, tables: RunTables) -> pl.DataFrame:
        return tables.looks

    def made_up(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        looks = labels.filter(~pl.col("attribute").is_in(CONSTRAINTS), subject_kind="image")
        return looks.drop("subject_kind")


class _SubjectLabels(_Labels):
    """Labels of regions, of sets of images or of texts."""

    def __init__(self, kind: str) -> None:
        self.kind, self.words = kind, f"labels of {kind}s"

    def lacks(self, setting: MeasureSetting) -> str | None:
        if setting.attributes_of(self.kind):
            return None
        return f"{self.words}, and no annotator gives any; add one that looks at {self.kind}s"

    def of(self, tables: RunTables) -> pl.DataFrame:
        told = (tables.prompts, tables.images, tables.labels, tables.subjects)
        tidy = tidy_subjects(*told, kind=self.kind, asked=tables.asked)
        return tidy.filter(~pl.col("attribute").is_in(QUALITY_ATTRIBUTES))

    def made_up(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        return labels.filter(subject_kind=self.kind).drop("subject_kind").with_columns(picture="image_id")


class _Constraints(_Labels):
    """Labels that say whether pictures break their prompt."""

    words = "labels of constraints"

    def lacks(self, setting: MeasureSetting) -> str | None:
        if setting.constraints:
            return None
        return (
            "to know which pictures break their prompt, and no annotator says so; add one, for example "
            "`annotators: [{constraints: openai:gpt-4o}]`"
        )

    def of(self, tables: RunTables) -> pl.DataFrame:
        return tables.tidy.filter(pl.col("attribute").is_in(CONSTRAINTS))

    def made_up(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        return labels.filter(pl.col("attribute").is_in(CONSTRAINTS)).drop("subject_kind")


class _Images(_Labels):
    """Images with their factors: no annotator's."""

    words = "images"

    def lacks(self, setting: MeasureSetting) -> str | None:
        return None

    def call(
        self, info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Sequence[MeasureCall]
    ) -> MeasureCall:
        call = super().call(info, given, setting, calls)
        scopes = {name: call.arguments[name] for name in ("by", "within") if name in call.arguments}
        kept = {name: [f for f in factors if f != "annotator"] for name, factors in scopes.items()}
        return MeasureCall(info.name, {**call.arguments, **kept}, self, factor=call.factor)

    def of(self, tables: RunTables) -> pl.DataFrame:
        return with_factors(tables.prompts, tables.images)

    def made_up(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        return images


class _Embeddings(_Images):
    """Vectors of images, an encoder's beside another's."""

    words = "an embeddings frame"

    def lacks(self, setting: MeasureSetting) -> str | None:
        if setting.encoders:
            return None
        return (
            "vectors of the pictures, and no annotator gives any; add one, for example `annotators: "
            "[{encoder: clip:openai/clip-vit-base-patch32}]`, or `{embeddings: FILE, name: NAME}` for "
            "vectors made elsewhere"
        )

    def of(self, tables: RunTables) -> pl.DataFrame:
        return embeddings_frame(tables.prompts, tables.images, tables.embeddings, encoders=tables.encoders)

    def made_up(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        return images.drop("status", "reason").with_columns(
            pl.lit([1.0, 0.0]).alias("vector"),
            pl.lit(0.5).alias("cosine"),
            pl.lit("encoder").alias("annotator"),
        )


class _Estimates(_Labels):
    """Estimates of a measure listed before."""

    words = "estimates"
    options: ClassVar[Mapping[str, Any]] = {"measure": str | Sequence[str] | None, "definition": str | None}
    content = "measure"

    def lacks(self, setting: MeasureSetting) -> str | None:
        return None

    def is_due(
        self,
        info: MeasureInfo,
        given: Mapping[str, Any],
        setting: MeasureSetting,
        calls: Sequence[MeasureCall],
    ) -> bool:
        return info.several or _measure_read(info, given) in _names(calls)

    def call(
        self, info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Sequence[MeasureCall]
    ) -> MeasureCall:
        on = _measure_read(info, given)
        if on not in _names(calls) or on not in (info.reads or [on]):
            wanted = next(iter(info.reads), info.on or (calls[-1].name if calls else "…"))
            raise UsageError(
                "reads the estimates of another measure listed before it, found "
                f"{shorten(on) if on else 'none'}; list that measure first, and name it: "
                f"{{{info.name}: {wanted}}}"
            )
        definition = given.get("definition")
        definitions = [call.arguments.get("definition", PAPER) for call in calls if call.name == on]
        if definition is not None and definition not in definitions:
            raise UsageError(
                f"{on} is computed by the definition {' and '.join(map(repr, definitions))}, found "
                f"{shorten(definition)}; list {{{on}: {{definition: …}}}} before it"
            )
        rest = {name: value for name, value in given.items() if name not in self.options}
        call = super().call(info, rest, setting, calls)
        reads = (on, *info.read_with.get(on, ()))
        return MeasureCall(info.name, call.arguments, self, reads, on, definition, call.factor)


def _measure_read(info: MeasureInfo, given: Mapping[str, Any]) -> Any:
    return given.get("measure") or info.on


def _names(calls: Iterable[MeasureCall]) -> Collection[str]:
    return [call.name for call in calls]


for _name, _frame in (
    ("constraints", _Constraints()),
    ("embeddings", _Embeddings()),
    ("estimates", _Estimates()),
    ("images", _Images()),
    ("labels", _Labels()),
    *((f"labels of a {kind}", _SubjectLabels(kind)) for kind in ("region", "set", "text")),
):
    FRAMES.add(_name, _frame)
