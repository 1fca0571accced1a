"""The prompts of an audit, what is asked of whom, what it is compared with, and who is told of that."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope import design, mitigate
from stereotrope.annotate import Annotator
from stereotrope.audit.delivery import undelivered
from stereotrope.audit.file import AuditSpec
from stereotrope.clients import Account
from stereotrope.design.factors import FactorFile, Joined, factor_file, join_factors
from stereotrope.design.prompts import own_prompts
from stereotrope.design.scenarios import is_scenarios, scenario_prompts
from stereotrope.errors import InputError, UsageError
from stereotrope.generate import (
    METADATA_NAMES,
    REQUESTS,
    CountableGenerator,
    Generator,
    requests_of_each,
)
from stereotrope.inputs.options import shorten
from stereotrope.inputs.yaml import Source
from stereotrope.measure import GENERATOR, require_model
from stereotrope.suites import suite_named
from stereotrope.tables import factors_of

NO_REQUESTS = pl.DataFrame(schema={**REQUESTS, "drawn_by": pl.String})
"""Requests of a plan; ``drawn_by`` names the entry: one folder may hold pictures of several generators."""

SEEDS_PER_AUDIT = 100_000
"""Picture i of a prompt has seed ``audit seed × 100,000 + i``: audits with different seeds share none."""

AS_LISTED = "listed"
"""``prompts:`` of an audit whose generators' files say which prompts there are."""

MOST_PICTURES = 1_000_000
"""More pictures than this in one audit are a slip; they would fill the memory before the first is drawn."""

_NAMING = ("name_from", "prompt", "negative", "seed", "file", "status", "reason")
"""Keys of a generator's entry that name a column each."""


def designed_by(
    spec: AuditSpec, suite: Mapping[str, Any], source: Source, notes: list[str]
) -> pl.DataFrame | None:
    """The prompts of the audit file, else of its suite; None where generators bring their own.

    What is to be said of how they were worded is added to ``notes``.
    """
    if spec.prompts == AS_LISTED:
        return None
    things = spec.objects or suite.get("objects")
    folder = suite_named(spec.suite).folder if spec.suite is not None else source.base
    given = spec.prompts if spec.prompts is not None else {}
    standard = suite.get("prompts")
    mitigations = _mitigations(spec, suite, source)
    varied = partial(design.varied_prompts, mitigations=mitigations)
    try:
        if spec.prompts is not None and (spec.objects or spec.dimensions):
            raise source.error(
                "prompts: give either `prompts` or `objects` and `dimensions`, not both", "prompts"
            )
        if is_scenarios(given) or (spec.prompts is None and is_scenarios(standard)):
            theirs = standard if is_scenarios(standard) else None
            worded = scenario_prompts(given, source.base, suite=theirs, suite_base=folder)
            notes += worded.notes
            return varied(worded.prompts)
        if spec.prompts is not None:
            return varied(own_prompts(spec.prompts, source.base))
        if not things:
            return None if standard is None else varied(own_prompts(standard, folder))
        templates = spec.templates.model_dump() if spec.templates else suite.get("templates")
        if templates is None:
            raise source.error(
                "objects: need `templates: {baseline: …, cue: …}` or `suite: objects`", "objects"
            )
        return design.cued_prompts(
            things,
            spec.dimensions or suite.get("dimensions") or {},
            phrasings=spec.phrasings or suite.get("phrasings") or ["for"],
            mitigations=mitigations,
            **templates,
        )
    except (UsageError, InputError) as error:
        written = spec.prompts is not None
        key = "prompts" if written else _key_of(str(error)) if things else "suite"
        raise source.error(f"{key}: {error}", key) from None


def factor_files(spec: AuditSpec, source: Source, account: Account) -> list[FactorFile]:
    """The files under ``factors``.

    Raises AuditFileError: An entry cannot be used.
    """
    made = []
    for index, item in enumerate(spec.factors or ()):
        try:
            made.append(factor_file(item, relative_to=source.base, account=account))
        except (UsageError, InputError) as error:
            raise source.error(str(error), "factors", index) from None
    return made


def further_factors(spec: AuditSpec, prompts: pl.DataFrame, source: Source, account: Account) -> Joined:
    """Give the prompts the factors of the files under ``factors``.

    Raises AuditFileError: A file cannot be used; the message names its line too.
    """
    try:
        return join_factors(prompts, factor_files(spec, source, account))
    except (UsageError, InputError) as error:
        raise source.error(f"factors: {error}", "factors") from None


def _key_of(message: str) -> str:
    for word, key in (("template", "templates"), ("phrasings", "phrasings"), ("objects", "objects")):
        if word in message.split(";")[0]:
            return key
    return "dimensions"


def _mitigations(spec: AuditSpec, suite: Mapping[str, Any], source: Source) -> dict[str, design.Rewording]:
    """Level → its suffix, or what rewrites a prompt: strategies that see no picture are named as behind
    ``stereotrope mitigate --with``."""
    given = suite.get("mitigations") or {"none": ""} if spec.mitigations is None else spec.mitigations
    if isinstance(given, dict):
        return dict(given)
    known: dict[str, str] = suite.get("known_mitigations") or {"none": ""}
    levels: dict[str, design.Rewording] = {}
    for name in given:
        if name in known:
            levels[name] = known[name]
            continue
        if name.partition(":")[0].strip() not in mitigate.STRATEGIES:
            there = ", ".join([*known, *mitigate.STRATEGIES])
            raise source.error(
                f"mitigations: {name!r} has no wording; known are {there}; write `{name}: suffix`",
                "mitigations",
            )
        try:
            strategy = mitigate.create(name, relative_to=source.base)
        except UsageError as error:
            raise source.error(f"mitigations: {error}", "mitigations") from None
        if strategy.looks or inspect.iscoroutinefunction(strategy.process):
            raise source.error(
                f"mitigations: {name!r} looks at pictures, which are there once the audit has run; leave it "
                f"out here, and then run `stereotrope mitigate RUN --with {name}`",
                "mitigations",
            )
        if strategy.name in levels:
            raise source.error(
                f"mitigations: two would be the level {strategy.name!r}; write a mapping, level: suffix",
                "mitigations",
            )
        levels[strategy.name] = partial(_rewritten, strategy)
    return levels


def _rewritten(strategy: mitigate.Strategy, text: str) -> str:
    made: Any = strategy.process(mitigate.Case(text, text))
    return made.text or text


def baselines_of(
    spec: AuditSpec, prompts: pl.DataFrame, models: Sequence[str], source: Source
) -> tuple[dict[str, str], str | None]:
    """Factor and level that others are compared with, and the model that others are, where one is named.

    Raises AuditFileError: The prompts have no such factor or level, several are named, or the model is none
        of ``models``, or the only one.
    """
    given = dict(spec.baseline or {})
    model = given.pop(GENERATOR, None)
    if model is not None:
        try:
            require_model(model, models)
        except UsageError as error:
            raise source.error(f"baseline: {error}", "baseline", GENERATOR) from None
    if not given and spec.baseline != {}:
        cued = "group" in prompts.columns and (prompts["group"] == design.BASE).any()
        return {"group": design.BASE} if cued else {}, model
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
    return given, model


def requests_of(
    spec: AuditSpec,
    suite: Mapping[str, Any],
    generators: Sequence[Generator],
    count: int,
    source: Source,
    prefixes: Sequence[str],
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...], list[dict[str, Any]]]:
    """Return the prompts, what is asked of whom, what is to be said of both, and what files did not deliver.

    prefixes: Words that each generator is sent before every prompt; none where empty.

    Raises AuditFileError: Parts of the design do not fit together, a generator cannot serve a prompt, nothing
        is asked for, or far too much.
    """
    notes: list[str] = []
    designed = designed_by(spec, suite, source, notes)
    prompts: list[pl.DataFrame] = [] if designed is None else [designed]
    requests, listing = [NO_REQUESTS], []
    for index, (generator, prefix) in enumerate(zip(generators, prefixes, strict=True)):
        listed = generator.requests(designed)
        if listed is not None and prefix:
            raise source.error(
                f"prefix: the pictures of {generator.name!r} were made elsewhere; remove it",
                *("generators", index),
            )
        if listed is not None:
            frame, asked = listed
            notes += generator.notes
            if designed is None:
                prompts.append(frame)
            else:
                listing.append(generator.name)
        elif designed is not None:
            asked = drawn_requests(generator, designed, count, spec, source, prefix)
            notes += [f"{generator.name}: every prompt is sent behind “{prefix}”"] if prefix else []
        else:
            raise source.error(
                f"generator {generator.name!r} draws, and no prompt is asked for; add `suite: objects`, "
                "`objects` and `dimensions`, or `prompts`",
                "generators",
                index,
            )
        requests.append(asked.with_columns(drawn_by=pl.lit(generator.name)))
    together = pl.concat(prompts, how="diagonal").unique("prompt_id", keep="first", maintain_order=True)
    every = pl.concat(requests)
    if every.is_empty():
        raise source.error(
            "generators: no picture is asked for; check the folder and its metadata", "generators"
        )
    delivered = every.filter(pl.col("drawn_by").is_in(listing))
    return together, every, tuple(notes), undelivered(together, delivered, _said_count(spec))


def cells_of(
    spec: AuditSpec, suite: Mapping[str, Any], generators: Sequence[CountableGenerator], source: Source
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...], list[dict[str, Any]]]:
    """:func:`requests_of` of a study that is counted: prompts, cells of pictures, and what is to be said.

    Cells are numbered over all generators; ``own`` is the number that the one ``drawn_by`` gives it.
    """
    notes: list[str] = []
    designed = designed_by(spec, suite, source, notes)
    prompts, cells = [] if designed is None else [designed], []
    for index, generator in enumerate(generators):
        try:
            frame, own = generator.cells(designed)
        except (UsageError, InputError) as error:
            raise source.error(str(error), "generators", index) from None
        notes += generator.notes
        prompts += [frame] if designed is None else []
        cells.append(own.rename({"cell": "own"}).with_columns(drawn_by=pl.lit(generator.name)))
    together = pl.concat(prompts, how="diagonal").unique("prompt_id", keep="first", maintain_order=True)
    every = pl.concat(cells).with_row_index("cell")
    delivered = every if designed is not None else every.clear()
    return together, every, tuple(notes), undelivered(together, delivered, _said_count(spec))


def _said_count(spec: AuditSpec) -> int | None:
    return spec.images_per_prompt if "images_per_prompt" in spec.model_fields_set else None


def drawn_requests(
    generator: Generator,
    prompts: pl.DataFrame,
    count: int,
    spec: AuditSpec,
    source: Source,
    prefix: str,
    first: int = 0,
) -> pl.DataFrame:
    """Return what a generator that draws is asked for: ``count`` pictures of each prompt.

    Raises AuditFileError: They are far too many, or it cannot draw one.
    """
    if prompts.height * count > MOST_PICTURES:
        raise source.error(
            f"images_per_prompt: {prompts.height:,} prompts × {count:,} are {prompts.height * count:,} "
            f"pictures, at most {MOST_PICTURES:,} are possible; lower it, or list fewer levels",
            "images_per_prompt",
        )
    texts = prompts.select("prompt_id", "text", "negative")
    if prefix:
        texts = texts.with_columns(pl.format("{} {}", pl.lit(prefix), "text").alias("text"))
    for _, text, negative in texts.iter_rows():
        reason = generator.check(text, negative)
        if reason:
            raise source.error(
                f"generator {generator.name!r}: {reason}", "objects" if spec.objects else "prompts"
            )
    begin = spec.seed * SEEDS_PER_AUDIT + first
    numbers = range(begin, begin + count)
    more = {"prefix": prefix} if prefix else {}
    # A model that takes no seed is told none, and the picture's number keeps it apart.
    takes: list[tuple[int | None, dict[str, Any]]] = [
        (number, more) if generator.seeded else (None, {"picture": number, **more}) for number in numbers
    ]
    return requests_of_each(generator.fingerprint, generator.name, texts, takes)


def tell_design(
    annotators: Sequence[Annotator],
    generators: Sequence[Any],
    prompts: pl.DataFrame,
    pictures: pl.DataFrame,
    base: Path,
) -> None:
    """Let annotators from files know which prompts there are: a row of another one lacks no image.

    One from the very file of a generator takes none of the design's columns for labels. Where that file is of
    one model, its labels are of the pictures of that one: others may have one name.
    """
    levels = {name: set(prompts[name].drop_nulls()) for name in factors_of(prompts.columns)}
    texts = set(prompts["text"].drop_nulls())
    told = {**levels, "text": texts, "prompt": texts | levels.get("prompt", set())}
    mappings = [each for each in generators if isinstance(each, Mapping)]

    @cache
    def asked() -> pl.DataFrame:
        known = pictures.select("image_id", "prompt_id", "generator", "source", status=pl.lit("ok"))
        factors = [name for name in levels if name not in known.columns]
        return known.join(prompts.select("prompt_id", "text", *factors), on="prompt_id", how="left")

    for annotator in annotators:
        file = annotator.path.resolve() if annotator.path is not None else None
        listing = [each for each in mappings if file in _files_of(each, base)]
        alone = len(listing) == 1 and listing[0].get("name_from") is None
        for entry in listing:
            annotator.leave_out(set(_columns_of(entry)), _name_of(entry, base) if alone else None)
        annotator.tell_design(told)
        annotator.tell_pictures(asked)


def _name_of(entry: Mapping[str, Any], base: Path) -> str:
    """Name of the model that an entry is of."""
    if entry.get("name") is not None:
        return str(entry["name"])
    if "labels" in entry:
        return Path(str(entry["labels"])).stem
    return (base / str(entry["folder"])).resolve().name


def _files_of(entry: Mapping[str, Any], base: Path) -> list[Path]:
    """The files that may list the pictures of a generator."""
    if isinstance(entry.get("labels"), str):
        return [(base / str(entry["labels"])).resolve()]
    if not isinstance(entry.get("folder"), str):
        return []
    folder, given = base / str(entry["folder"]), entry.get("metadata")
    if not isinstance(given, str):
        return [(folder / name).resolve() for name in METADATA_NAMES]
    there = [path for path in (folder / given, base / given) if path.is_file()]
    return [path.resolve() for path in there[:1]]


def _columns_of(entry: Mapping[str, Any]) -> Iterator[str]:
    yield from (str(entry[key]) for key in _NAMING if entry.get(key) is not None)
    factors = entry.get("factors") or ()
    yield from map(str, factors.values() if isinstance(factors, Mapping) else factors)
