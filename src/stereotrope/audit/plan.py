"""What an audit file asks for, resolved: prompts, requests, annotators, measures. Nothing is done yet."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol

import polars as pl

from stereotrope import annotate, generate
from stereotrope.annotate import Annotator
from stereotrope.audit.countable import require_countable, require_counting
from stereotrope.audit.creating import created, generators_of
from stereotrope.audit.designing import (
    NO_REQUESTS,
    baselines_of,
    cells_of,
    further_factors,
    requests_of,
    tell_design,
)
from stereotrope.audit.file import AuditSpec
from stereotrope.audit.judge_check import JudgeCheck, judge_check_of
from stereotrope.audit.measures import resolve_measures, setting_of, uncompared
from stereotrope.audit.mitigated import FACTOR, MitigatedPrompt, with_mitigated
from stereotrope.audit.ordering import require_needs, require_sets, tell_sentences
from stereotrope.clients import Account
from stereotrope.errors import RunError, UsageError
from stereotrope.inputs.options import shorten
from stereotrope.inputs.yaml import Source
from stereotrope.measure import GENERATOR, MeasureCall, measure_words
from stereotrope.suites.published import published_for
from stereotrope.suites.reading import load_suite
from stereotrope.tables import compact, factors_of, kept_images

DEFAULT_ANNOTATORS = ("blank", "duplicates", "colour", "text")


class ReadingCheck(Protocol):
    """Says how well the annotators of a run read: its pictures are of known truth."""

    def read(self, tidy: pl.DataFrame) -> pl.DataFrame:
        """The labels that the measures of the audit take."""

    def estimates(self, tidy: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
        """Further estimates, from all labels."""

    def cards(
        self, estimates: pl.DataFrame, tidy: pl.DataFrame, images: pl.DataFrame
    ) -> list[dict[str, Any]]:
        """A judge card an annotator, for ``run.json``."""


class StoredRun(NamedTuple):
    """What a run that was carried out asked for: its prompts, the names of its generators, its pictures."""

    prompts: pl.DataFrame
    generators: Sequence[str]
    images: pl.DataFrame


@dataclass(frozen=True, repr=False)
class Plan:
    """An audit ready to be carried out."""

    spec: AuditSpec
    source: Source
    title: str
    prompts: pl.DataFrame
    generators: tuple[generate.Generator, ...]
    requests: pl.DataFrame
    annotators: tuple[Annotator, ...]
    measures: tuple[MeasureCall, ...]
    baseline: Mapping[str, str]
    images_per_prompt: int = 1
    notes: tuple[str, ...] = ()
    account: Account = field(default_factory=Account)
    shown: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Annotator → the prompts whose pictures alone it is shown; all pictures where it is not here."""
    checks: Mapping[str, JudgeCheck] = field(default_factory=dict)
    """Annotator → what a calibration found of it, where the audit names one."""
    references: tuple[str, ...] = ()
    """Annotators whose labels of some pictures are taken for right."""
    check: ReadingCheck | None = None
    """What the run says of its instruments, where that is what it is for."""
    factor_files: tuple[Mapping[str, Any], ...] = ()
    """Files that gave the prompts further factors: ``file``, ``factors`` and ``sha256`` of each."""
    cells: pl.DataFrame | None = None
    """Of a study whose label files are counted, its pictures by prompt and what came of them."""
    undelivered: Sequence[Mapping[str, Any]] = ()
    """What files made elsewhere lack of the design, an entry for the models that lack the same."""

    def __repr__(self) -> str:
        return (
            f"<stereotrope plan {self.title!r}: {self.prompts.height} prompts, {self.requests.height} "
            f"images, generators {', '.join(g.name for g in self.generators) or 'none'}>"
        )

    def _repr_html_(self) -> str:
        """What is asked for, in a table, for a notebook."""
        rows = {
            "prompts": f"{self.prompts.height}, factors: {', '.join(self.factors) or 'none'}",
            "generators": ", ".join(g.name for g in self.generators),
            "images": str(self.requests.height),
            "annotators": ", ".join(a.name for a in self.annotators),
            "measures": ", ".join(dict.fromkeys(call.name for call in self.measures)),
        }
        cells = "".join(
            f"<tr><th scope=row>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in rows.items()
        )
        return f"<table><caption>{html.escape(self.title)}</caption>{cells}</table>"

    @property
    def factors(self) -> list[str]:
        """Factor columns of the prompts."""
        return factors_of(self.prompts.columns)

    @property
    def listed(self) -> dict[str, list[str]]:
        """Attribute → values that some annotator lists for it."""
        listed: dict[str, list[str]] = {}
        for each in self.annotators:
            for name, values in each.attributes.items():
                listed.setdefault(name, []).extend(values or ())
        return listed

    def drawn_by(self, generator: str) -> pl.DataFrame:
        """What a generator is asked for, each picture once; one that is kept from another request is none."""
        asked = self.requests.filter(~pl.col("image_id").is_in(list(self.kept)), drawn_by=generator)
        return asked.unique("image_id", maintain_order=True)

    @property
    def kept(self) -> dict[str, str]:
        """Image → the one whose picture it has, of prompts that a mitigation left as they were."""
        return kept_images(self.requests)

    @property
    def key_remarks(self) -> list[str]:
        """What there is to say of the keys in this shell, each once."""
        endpoints = (getattr(one, "endpoint", None) for one in (*self.generators, *self.annotators))
        said = (endpoint.key_remark() for endpoint in endpoints if endpoint is not None)
        return list(dict.fromkeys(remark for remark in said if remark is not None))

    @property
    def dimensions(self) -> dict[str, list[str]]:
        """Dimension → groups, in the order of the design."""
        if "dimension" not in self.factors or "group" not in self.factors:
            return {}
        pairs = self.prompts.drop_nulls("dimension").select("dimension", "group").unique(maintain_order=True)
        return dict(pairs.group_by("dimension", maintain_order=True).agg("group").iter_rows())


def make_plan(
    spec: AuditSpec,
    source: Source,
    *,
    mitigated: Sequence[MitigatedPrompt] = (),
    stored: StoredRun | None = None,
    max_cost: float | None = None,
) -> Plan:
    """Resolve an audit file.

    spec, source: The audit file.
    mitigated: Prompts that strategies made, which belong to the audit.
    stored: A run whose pictures are there: no generator is made and nothing is requested.
    max_cost: US dollars that calls to models may cost in this run folder, earlier ones included.

    Raises AuditFileError: Something asked for does not exist or does not fit together.
    """
    suite = suite_of(spec, source)
    account, count = Account(max_cost), _count(spec, suite)
    asked = _Asked(*stored[:2]) if stored else _asked(spec, suite, source, account, count, mitigated)
    names = asked.names
    joined = further_factors(spec, asked.prompts, source, account)
    prompts = joined.prompts
    annotators, checked, references = _annotators(spec, suite, source, account)
    tell_design(
        annotators, spec.generators, prompts, stored.images if stored else asked.requests, source.base
    )
    _require_said(annotators, asked.requests, source)
    if spec.counted:
        require_counting(annotators, checked, references, source)
    if stored is None:
        require_needs(annotators, source)
        _require_texts(annotators, prompts, source)
        require_sets(annotators, prompts, asked.requests, source)
    tell_sentences(annotators, source)
    _refuse_same_labels(annotators, source)
    _refuse_names_of_factors(annotators, prompts, source)
    if stored is None:
        _require_working(annotators, source)
    baseline, model = baselines_of(spec, prompts, names, source)
    base = source.base
    setting = setting_of(
        spec, prompts=prompts, annotators=annotators, baseline=baseline, models=names, model=model, base=base
    )
    listed = spec.measures is not None
    items = spec.measures if listed else suite.get("measures")
    if not listed and items and published_for(spec.suite, prompts, names):
        items = [*items, *suite.get("measures_as_published", [])]
    measure_words()  # those that a package brings and nobody can use are told before anything is paid for
    measures = resolve_measures(items, setting, source, listed=listed, apart=FACTOR if mitigated else None)
    _require_comparison(model, measures, source)
    return Plan(
        spec=spec,
        source=source,
        title=spec.report.title,
        prompts=prompts,
        generators=asked.generators,
        requests=compact(asked.requests),
        annotators=annotators,
        measures=measures,
        baseline=baseline,
        images_per_prompt=count,
        account=account,
        checks=_checks(annotators, checked, source),
        references=_references(annotators, references, source),
        notes=(*asked.notes, *joined.notes, *([] if listed else uncompared(items, measures, setting))),
        factor_files=joined.files,
        cells=asked.cells,
        undelivered=asked.undelivered,
    )


class _Asked(NamedTuple):
    """Prompts, names of the models, and what is asked of which; nothing where a run is there."""

    prompts: pl.DataFrame
    names: Sequence[str]
    generators: tuple[generate.Generator, ...] = ()
    requests: pl.DataFrame = NO_REQUESTS
    cells: pl.DataFrame | None = None
    notes: tuple[str, ...] = ()
    undelivered: Sequence[Mapping[str, Any]] = ()


def _asked(
    spec: AuditSpec,
    suite: Mapping[str, Any],
    source: Source,
    account: Account,
    count: int,
    mitigated: Sequence[MitigatedPrompt],
) -> _Asked:
    generators, prefixes = generators_of(spec, source, account)
    requests, cells = NO_REQUESTS, None
    if spec.counted:
        listing = require_countable(spec, generators, prefixes, source)
        prompts, cells, notes, lacking = cells_of(spec, suite, listing, source)
    else:
        prompts, requests, notes, lacking = requests_of(spec, suite, generators, count, source, prefixes)
        made = (prompts, requests, generators, prefixes, count, spec, source)
        prompts, requests, more = with_mitigated(mitigated, *made)
        notes = (*notes, *more)
    # A folder may hold the pictures of several models, so the names are those of what is asked for.
    named = requests if cells is None else cells
    names = named["generator"].unique(maintain_order=True).to_list()
    return _Asked(prompts, names, generators, requests, cells, notes, lacking)


def _annotators(
    spec: AuditSpec, suite: Mapping[str, Any], source: Source, account: Account
) -> tuple[tuple[Annotator, ...], list[Any], list[Any]]:
    """The annotators, the calibration that the audit names of each, and whether its labels are right."""
    items = spec.annotators if spec.annotators is not None else suite.get("annotators", DEFAULT_ANNOTATORS)
    make = partial(annotate.create, relative_to=source.base, account=account, counted=spec.counted)
    entries = [dict(item) if isinstance(item, Mapping) else item for item in items]
    checked, right = (
        [entry.pop(key, None) if isinstance(entry, dict) else None for entry in entries]
        for key in ("check", "reference")
    )
    return created(make, entries, source, "annotators"), checked, right


def _references(annotators: Sequence[Annotator], right: Sequence[Any], source: Source) -> tuple[str, ...]:
    """Names of the annotators whose labels are taken for right: of an attribute those of one."""
    taken: dict[str, str] = {}
    for index, (annotator, given) in enumerate(zip(annotators, right, strict=True)):
        if given not in (None, True, False):
            raise source.error(
                f"reference must be true or false, found {shorten(given)}; `reference: true` takes the "
                "labels of this annotator for right",
                *("annotators", index),
            )
        for name in annotator.attributes if given else ():
            if name in taken:
                raise source.error(
                    f"reference: {taken[name]!r} and {annotator.name!r} both label {name!r}; take one, or "
                    "their majority: {majority: […], attributes: […], name: people, reference: true}",
                    *("annotators", index),
                )
            taken[name] = annotator.name
    return tuple(dict.fromkeys(taken.values()))


def _checks(annotators: Sequence[Annotator], folders: Sequence[Any], source: Source) -> dict[str, JudgeCheck]:
    """What the calibrations that an audit names found of its annotators."""
    found = {}
    for index, (annotator, folder) in enumerate(zip(annotators, folders, strict=True)):
        if folder is None:
            continue
        try:
            if not isinstance(folder, str):
                raise UsageError(f"must be the run folder of a calibration, found {shorten(folder)}")
            found[annotator.name] = judge_check_of(source.base / folder, annotator)
        except (UsageError, RunError) as error:
            raise source.error(f"check: {error}", "annotators", index) from None
    return found


def _count(spec: AuditSpec, suite: Mapping[str, Any]) -> int:
    if "images_per_prompt" in spec.model_fields_set:
        return spec.images_per_prompt
    return int(suite.get("images_per_prompt", spec.images_per_prompt))


def suite_of(spec: AuditSpec, source: Source) -> dict[str, Any]:
    """What the suite of an audit says; nothing where it names none."""
    try:
        return load_suite(spec.suite) if spec.suite is not None else {}
    except UsageError as error:
        raise source.error(f"suite: {error}", "suite") from None


def _refuse_names_of_factors(annotators: Sequence[Annotator], prompts: pl.DataFrame, source: Source) -> None:
    """Refuse what follows from labels under the name of what its picture was asked for."""
    factors = factors_of(prompts.columns)
    for index, annotator in enumerate(annotators):
        follows = annotator.process is None and annotator.needs
        for name in (*annotator.needs, *annotator.attributes) if follows else ():
            if name in factors:
                raise source.error(
                    f"annotator {annotator.name!r}: {name!r} is what it reads, or labels by that, and a "
                    "factor of the prompts; rename one of them",
                    *("annotators", index),
                )


def _require_said(annotators: Sequence[Annotator], requests: pl.DataFrame, source: Source) -> None:
    """Refuse a study without any picture of which nobody says anything."""
    told = any(annotator.process is None and not annotator.needs for annotator in annotators)
    if requests.height and not told and requests["absent"].all():
        raise source.error(
            "annotators: no picture is at hand, and nothing brings what others said of them; add the file of "
            "labels, for example `annotators: [{labels: labels.csv, name: people}]`",
            "annotators" if source.tree.get("annotators") else "generators",
        )


def _require_texts(annotators: Sequence[Annotator], prompts: pl.DataFrame, source: Source) -> None:
    """Refuse a question about what pictures were asked for where nobody knows that."""
    for index, annotator in enumerate(annotators):
        if annotator.shows_prompt and not prompts["text"].count():
            raise source.error(
                f"annotator {annotator.name!r} asks whether pictures show what they were asked for, and no "
                "prompt has a text; name the column that holds it (`prompt: prompt` of the pictures' entry), "
                "or leave this out",
                *("annotators", index),
            )


def _require_working(annotators: Sequence[Annotator], source: Source) -> None:
    """Tell that an annotator cannot work here before a picture is paid for."""
    for index, annotator in enumerate(annotators):
        try:
            annotator.require()
        except UsageError as error:
            raise source.error(str(error), "annotators", index) from None


def _refuse_same_labels(annotators: Sequence[Annotator], source: Source) -> None:
    """Two entries with one fingerprint look once: their agreement would be that of one look with itself."""
    seen: list[tuple[Any, str]] = []
    for index, annotator in enumerate(annotators):
        if not annotator.looks:
            continue
        asks = (annotator.fingerprint, bool(annotator.parts), annotator.taxonomies)
        other = next((name for before, name in seen if before == asks), None)
        seen.append((asks, annotator.name))
        if other is not None:
            raise source.error(
                f"annotators: {other!r} and {annotator.name!r} are one instrument with the same parameters; "
                "remove one, or tell two models of one name, or two looks of one model, apart by `version:`",
                "annotators",
                index,
            )


def _require_comparison(model: str | None, measures: Sequence[MeasureCall], source: Source) -> None:
    if model is not None and not any(call.factor == GENERATOR for call in measures):
        raise source.error(
            "baseline: no measure of this audit compares models with one of them; add `delta` or one that "
            "does, such as {bds: {group: generator}}, to `measures`, or leave `generator` out of the "
            "baseline",
            "baseline",
            GENERATOR,
        )
