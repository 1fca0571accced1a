"""From labels to estimates and findings."""

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stereotrope import measure
from stereotrope.annotate.taxonomy import SEEN_IN_DISCOVERY
from stereotrope.audit.interim import RunLook
from stereotrope.audit.plan import Plan
from stereotrope.audit.said import EMBEDDED
from stereotrope.audit.subjects import Subjects, leaves_out
from stereotrope.audit.work import Watcher
from stereotrope.errors import InputError, UsageError
from stereotrope.further_tables import TableSources
from stereotrope.measure import PAPER, MeasureCall, MeasureFrame, RunTables
from stereotrope.measure.instrument_warnings import UNDELIVERED
from stereotrope.measure.join import BREAKS, NOT_LABELLED, SEEN
from stereotrope.run import refuse_stopped
from stereotrope.tables import CONSTRAINTS, ESTIMATES, QUALITY_ATTRIBUTES, compact

WITHOUT_VIOLATIONS = "without_violations"
"""``subset`` of a score computed without the pictures that break their prompt's constraints."""
_AFTER_ALL = "after all measures"


def tidy_labels_of_run(subjects: Subjects, labels: pl.DataFrame) -> pl.DataFrame:
    """The frame of one row a label that counts or is excluded with its reason.

    Measures of looks take it without the attributes about the picture's quality, which are in it.
    """
    plan, images = subjects.plan, subjects.images
    tidy = compact(measure.tidy_labels(plan.prompts, images, labels, asked=subjects.asked()))
    if not leaves_out(plan):
        return tidy
    marked = labels.filter(pl.col("attribute") == SEEN_IN_DISCOVERY)
    return _left_out(tidy, marked.select("annotator", image_id="subject_id"), SEEN)


def _looks(tidy: pl.DataFrame) -> pl.DataFrame:
    return tidy.filter(~pl.col("attribute").is_in(list(QUALITY_ATTRIBUTES)))


def _left_out(tidy: pl.DataFrame, which: pl.DataFrame, reason: str) -> pl.DataFrame:
    """Null the value and give the reason, where there is none yet, of the rows that match."""
    keys = which.columns
    marked = tidy.join(
        which.unique().with_columns(pl.lit(True).alias("_out")), on=keys, how="left", maintain_order="left"
    )
    out = pl.col("_out").fill_null(False) & pl.col("excluded").is_null()
    return marked.with_columns(
        pl.when(out).then(None).otherwise(pl.col("value")).alias("value"),
        pl.when(out).then(pl.lit(reason)).otherwise(pl.col("excluded")).alias("excluded"),
    ).drop("_out")


@dataclass(frozen=True)
class MeasuredRun:
    """What the measures of a plan give.

    estimates: Of all measures.
    looks: The labels of how pictures look that enter.
    frames: What measures took, by what these need.
    """

    estimates: pl.DataFrame
    looks: pl.DataFrame
    frames: Mapping[str, Sequence[pl.DataFrame]]


def measured_run(
    subjects: Subjects,
    tidy: pl.DataFrame,
    sources: TableSources,
    watcher: Watcher,
    *,
    reference: pl.DataFrame | None = None,
    partial: bool = False,
    stop: threading.Event | None = None,
) -> MeasuredRun:
    """Compute every measure of the plan; for the arguments see :func:`estimate`."""
    plan, images = subjects.plan, subjects.images
    everything, tidy = tidy, tidy if plan.check is None else plan.check.read(tidy)
    looks, kept = _looks(tidy), _keeping(tidy)
    tables = RunTables(
        plan.prompts,
        images,
        sources.labels,
        sources.embeddings,
        tidy,
        looks if kept is None or plan.spec.violations != "out" else kept,
        looks,
        subjects=sources.subjects,
        asked=subjects.asked_of_parts(sources.labels),
        encoders=[one.name for one in plan.annotators if EMBEDDED in one.gives],
        reference=reference,
        references=plan.references,
        confusions={name: check.confusion for name, check in plan.checks.items()},
        level=plan.spec.report.level,
        n_bootstrap=plan.spec.resamples,
        seed=plan.spec.seed,
    )
    read = dict.fromkeys(call.frame for call in plan.measures if not call.reads)
    frames = {frame: frame.of(tables) for frame in read}
    calls = _with_discovered(subjects, frames)
    both = kept if plan.spec.violations == "both" else None
    done = _computed(calls, tables, frames, both, watcher, stop, partial)
    if plan.check is not None:
        done.append(plan.check.estimates(_looks(everything), images))
    return MeasuredRun(_stack(done), tables.looks, _taken(calls, frames))


def estimate(
    subjects: Subjects,
    tidy: pl.DataFrame,
    sources: TableSources,
    watcher: Watcher,
    *,
    said: Mapping[str, Any],
    at: RunLook,
    reference: pl.DataFrame | None = None,
    partial: bool = False,
    stop: threading.Event | None = None,
) -> tuple[pl.DataFrame, measure.RunFindings]:
    """Compute every measure of the plan, and compare what it tests.

    With ``partial``, where pictures or labels are missing, a measure that cannot be computed from what is
    there is one row without a value that says why; rates that need no baseline are computed without it.
    Where an annotator says which pictures break their prompt, measures with ``subsets`` are computed a second
    time without these, as a subset. When ``stop`` is set the part of a measure at hand is finished and
    :class:`~stereotrope.errors.Interrupted` raised.

    tidy: The frame of :func:`tidy_labels_of_run`.
    said: What further tables say beside.
    at: Which look at the run it is.
    """
    plan = subjects.plan
    scored = measured_run(subjects, tidy, sources, watcher, reference=reference, partial=partial, stop=stop)
    with _telling(watcher, stop, "findings", _AFTER_ALL):
        found = measure.RunFindings.of(
            scored.estimates,
            _answered(plan, scored.looks) if partial else scored.looks,
            images=subjects.images,
            read=sources.labels,
            frames=scored.frames,
            said={**said, UNDELIVERED: plan.undelivered},
            failed=_judged(plan, "fail"),
            proven=_proven(plan),
            alpha=at.alpha,
            margin=plan.spec.alike_within,
            look=at.look,
        )
    watcher.doing("measure", "")
    return scored.estimates, found


def estimate_counts(
    plan: Plan, counts: pl.DataFrame, watcher: Watcher, *, at: RunLook, stop: threading.Event | None = None
) -> tuple[pl.DataFrame, measure.RunFindings]:
    """:func:`estimate` of a study whose label files are counted.

    counts: The table ``counts``.
    """
    tidy = measure.tidy_counts(plan.prompts, counts)
    looks = _looks(tidy)
    none = pl.DataFrame()
    tables = RunTables(
        plan.prompts,
        none,
        none,
        None,
        tidy,
        looks,
        looks,
        level=plan.spec.report.level,
        n_bootstrap=plan.spec.resamples,
        seed=plan.spec.seed,
        counts=counts,
    )
    read = dict.fromkeys(call.frame for call in plan.measures if not call.reads)
    frames = {frame: frame.of(tables) for frame in read}
    estimates = _stack(_computed(plan.measures, tables, frames, None, watcher, stop))
    with _telling(watcher, stop, "findings", _AFTER_ALL):
        found = measure.RunFindings.of(
            estimates,
            looks,
            said={UNDELIVERED: plan.undelivered},
            alpha=at.alpha,
            margin=plan.spec.alike_within,
            look=at.look,
        )
    watcher.doing("measure", "")
    return estimates, found


def _computed(
    calls: Sequence[MeasureCall],
    tables: RunTables,
    frames: Mapping[MeasureFrame, pl.DataFrame],
    kept: pl.DataFrame | None,
    watcher: Watcher,
    stop: threading.Event | None,
    partial: bool = False,
) -> list[pl.DataFrame]:
    """What every measure gives, and what measures add of themselves."""
    done: list[pl.DataFrame] = []
    watcher.stage("measure", len(calls), 0)
    for number, call in enumerate(calls, start=1):
        of_all = f"after {number - 1} of {len(calls)} measures"
        with _telling(watcher, stop, call.name, of_all):
            done += _rows(call, tables, frames, done, kept, partial)
        watcher.advance("measure", number)
        refuse_stopped(stop, f"measure: stopped after {number} of {len(calls)} measures")
    done += _unasked(None, tables, done)
    return done


@contextlib.contextmanager
def _telling(watcher: Watcher, stop: threading.Event | None, what: str, stopped: str) -> Iterator[None]:
    """Say how far a measure is, a hundred times at most, and end it between two of its parts."""

    def hear(done: int, of: int) -> None:
        refuse_stopped(stop, f"measure: stopped {stopped}, in {what}")
        if of > 1 and done % max(1, of // 100) == 0:
            watcher.doing("measure", f"{what} {done:,} of {of:,}")

    watcher.doing("measure", what)
    with measure.listening(hear):
        yield


def _keeping(tidy: pl.DataFrame) -> pl.DataFrame | None:
    """Looks without the pictures that break their prompt; None where nobody says which do."""
    told = tidy.filter(pl.col("attribute").is_in(list(CONSTRAINTS)))
    broken = told.filter(value="yes").select("image_id")
    return _looks(_left_out(tidy, broken, BREAKS)) if told.height else None


def _taken(
    calls: Sequence[MeasureCall], frames: Mapping[MeasureFrame, pl.DataFrame]
) -> dict[str, list[pl.DataFrame]]:
    """The frames that measures took, by what these need."""
    taken: dict[str, list[pl.DataFrame]] = {}
    for needs, frame in dict.fromkeys((call.info.needs, call.frame) for call in calls if not call.reads):
        taken.setdefault(needs, []).append(frames[frame])
    return taken


def _judged(plan: Plan, verdict: str) -> set[tuple[str, str]]:
    """Annotators and attributes of which a check elsewhere found so."""
    return {(name, attribute) for name, one in plan.checks.items() for attribute in one.judged(verdict)}


def _proven(plan: Plan) -> set[tuple[str, str]]:
    """Annotators and attributes that they read well: they passed a check, or are taken for right."""
    passed = _judged(plan, "pass")
    right = [one for one in plan.annotators if one.name in plan.references]
    return passed | {(one.name, attribute) for one in right for attribute in one.attributes}


def _with_discovered(subjects: Subjects, frames: Mapping[MeasureFrame, pl.DataFrame]) -> list[MeasureCall]:
    """The calls of the plan with what was discovered; attributes of several labels a subject stay out."""
    annotators, taxonomy, calls = subjects.plan.annotators, subjects.taxonomy(), []
    for call in subjects.plan.measures:
        several = {name for one in annotators if one.subject == call.info.subject for name in one.several}
        left: list[str] = []
        frame = frames.get(call.frame, pl.DataFrame())
        if several and any(one.discovers for one in annotators) and "attribute" in frame.columns:
            labelled = frame["attribute"].unique(maintain_order=True)
            left = [name for name in labelled if name not in several]
        calls.append(call.with_discovered(taxonomy, left))
    return calls


def _rows(
    call: MeasureCall,
    tables: RunTables,
    frames: Mapping[MeasureFrame, pl.DataFrame],
    done: Sequence[pl.DataFrame],
    kept: pl.DataFrame | None,
    partial: bool,
) -> list[pl.DataFrame]:
    """What a measure gives, of all pictures and of those that are ``kept`` beside."""
    rows: list[pl.DataFrame] = []
    try:
        rows.append(call(_stack(done) if call.reads else frames[call.frame]))
        rows += _unasked(call, tables, [*done, *rows])
        if kept is not None:
            rows += _without(call, [*done, *rows], kept)
    except (UsageError, InputError) as error:
        if not partial:
            raise
        return [*rows, _what_there_is(call, frames, str(error))]
    if partial and not rows[-1].height:
        rows.append(_what_there_is(call, frames, "there is nothing of what it compares"))
    return rows


def _unasked(call: MeasureCall | None, tables: RunTables, done: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """What measures add of themselves after a call, or at the end."""
    return [rows for info in measure.REGISTRY.values() for rows in info.adds(call, tables, done)]


def _what_there_is(call: MeasureCall, frames: Mapping[MeasureFrame, pl.DataFrame], why: str) -> pl.DataFrame:
    """A rate without its comparison, or one row without a value that says why there is none."""
    if call.info.comparison == "optional":
        alone = {k: v for k, v in call.arguments.items() if k not in ("group", "baseline")}
        if "by" in alone and "group" in call.arguments:
            alone["by"] = [*alone["by"], call.arguments["group"]]
        with contextlib.suppress(UsageError, InputError):
            rates = replace(call, arguments=alone)(frames[call.frame])
            if rates.height:
                return rates
    reason = f"not enough pictures and labels yet: {why.removeprefix(f'{call.name}: ')}"
    row = {"definition": call.arguments.get("definition", PAPER), "undefined": reason, "n": 0}
    names = call.rows if call.info.several or call.info.marks else [call.name]
    if call.on is not None:
        row |= {column: call.arguments.get(argument) for column, argument in call.info.marks.items()}
    return measure.estimate_frame([{**row, "measure": name} for name in names], factors=())


def _answered(plan: Plan, looks: pl.DataFrame) -> pl.DataFrame:
    """Looks without those that an unfinished run still owes: what is missing is said elsewhere."""
    owing = [annotator.name for annotator in plan.annotators if annotator.looks]
    return looks.filter(~(pl.col("annotator").is_in(owing) & pl.col("excluded").eq_missing(NOT_LABELLED)))


def _without(call: MeasureCall, done: Sequence[pl.DataFrame], kept: pl.DataFrame) -> list[pl.DataFrame]:
    """The same measure on the pictures that keep to their prompt, or on the scores of these."""
    if call.arguments.get("definition", PAPER) != PAPER or call.definition not in (None, PAPER):
        return []
    if not call.info.subsets or call.info.subject != "image":
        return []
    if call.on is None:
        return [call(kept).with_columns(subset=pl.lit(WITHOUT_VIOLATIONS))]
    if not measure.REGISTRY[call.on].subsets:
        return []
    return [replace(call, subset=WITHOUT_VIOLATIONS)(_stack(done))]


def _stack(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Estimates of several measures in one frame; a factor that a measure does not use is null."""
    # `generator` is there even where every measure pools the models: readers of a run count on it.
    fixed = [column.name for column in ESTIMATES]
    frames = [measure.estimate_frame([], factors=("generator",)), *frames]
    together = pl.concat(frames, how="diagonal")
    return together.select(*fixed[:2], *[c for c in together.columns if c not in fixed], *fixed[2:])
