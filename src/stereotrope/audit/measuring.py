"""Measuring a run: from labels to every table, or to those that it has where nothing has changed."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import polars as pl

from stereotrope.audit.assemble import info_of
from stereotrope.audit.estimating import estimate, tidy_labels_of_run
from stereotrope.audit.further_tables import fill_tables, write_further_tables
from stereotrope.audit.interim import look_at_run
from stereotrope.audit.loss import refuse_lost
from stereotrope.audit.packages import section_notes
from stereotrope.audit.plan import Plan
from stereotrope.audit.probing import readings_of
from stereotrope.audit.said import Said
from stereotrope.audit.subjects import Subjects
from stereotrope.audit.unchanged import LastMeasured, measured_key
from stereotrope.audit.unrecorded import UNRECORDED
from stereotrope.audit.work import Missing, Watcher
from stereotrope.further_tables import TableSources
from stereotrope.measure import measure_words
from stereotrope.run import Run, RunFolder, refuse_stopped, write_seal
from stereotrope.run.folder import FORGOTTEN
from stereotrope.run.looks import looks_told
from stereotrope.tables import compact

_OF_ACCIDENTS = (FORGOTTEN, UNRECORDED)
"""Stages of the ledger that an undisturbed run has not."""
_OWED = ("stage", "name", "n", "of", "reason")


def measure_run(
    plan: Plan,
    images: pl.DataFrame,
    into: RunFolder,
    watcher: Watcher,
    stop: threading.Event | None,
    *,
    reference: pl.DataFrame | None = None,
    missing: Sequence[Missing] = (),
    before: Run | None = None,
    changed: Mapping[str, str | None] | None = None,
) -> None:
    """Measure what annotators said and write all tables, sealed at the end.

    Where all that estimates and findings hang on is as it was, those of the folder are taken.

    reference: What is known to be true of the images.
    missing: What stages could not do.
    before: The run, where only what is stored in it is measured again.
    changed: Files that were changed by hand, which is to be told further on.
    """
    subjects = Subjects(plan, images, before)
    told = Said(subjects, into.ledger)
    said, embeddings = told.labels(), told.embeddings()
    kept: dict[str, Any] = {}
    if before is not None:
        refuse_lost(plan, before, said, embeddings)
        names = ("generators", "missing", *([] if plan.check or plan.checks else ["judge_cards"]))
        kept = {key: before.info[key] for key in names if key in before.info}
    labels = compact(told.counted(said))
    del said  # of many pictures it is as large as what counts
    tidy = tidy_labels_of_run(subjects, labels)
    refuse_stopped(stop, "measure: stopped before the first measure")
    parts = subjects.table(labels)
    info = info_of(plan, images, labels, into)
    drawn_by = kept.get("generators", info["generators"])
    probes = {one["probe"] for one in drawn_by if one.get("probe")}
    readings = readings_of(into.ledger, images, probes)
    tables = (plan.prompts, images, labels, parts, embeddings)
    sources = TableSources(*tables, plan.annotators, readings, told.kept)
    filled = fill_tables(sources)
    beside = {key: value for _, more in filled.values() for key, value in more.items()}
    partial = bool(missing or kept.get("missing"))
    owed = missing or [Missing(**{f: one[f] for f in _OWED}) for one in kept.get("missing", ())]
    planned = None if plan.spec.looks == "open" else plan.spec.looks
    at = look_at_run(into.ledger, images, labels, owed, planned=planned, prompts=plan.prompts)
    written = {"prompts": plan.prompts, "images": images, "labels": labels, "reference": reference}
    frames = {**written, "subjects": parts, "embeddings": embeddings, "tidy": tidy}
    key = measured_key(plan, info, frames, at, said=beside, partial=partial)
    last = LastMeasured(into.path, key, into.ledger, at)
    made = last.tables() if before is None else None
    if made is None:
        rest: dict[str, Any] = {"reference": reference, "partial": partial, "stop": stop}
        estimates, compared = estimate(subjects, tidy, sources, watcher, said=beside, at=at, **rest)
        at.record(into.ledger, compared.differences)
        made = {"estimates": estimates, **compared.tables()}
    else:
        watcher.stage("measure", len(plan.measures), len(plan.measures))
    info["looks"] = looks_told(into.ledger)
    into.write_tables({**written, "subjects": parts if parts.height else None, **made})
    into.write_embeddings(embeddings)
    info["tables"], notes = write_further_tables(filled, into)
    info["words"] = measure_words(made["estimates"]["measure"].unique())
    info |= {**beside, "notes": [*info["notes"], *notes, *section_notes(info["words"])]}
    info |= _judge_cards(plan, made["estimates"], tidy, images)
    info["records"] = {name: n for name, n in into.ledger.totals().items() if name not in _OF_ACCIDENTS}
    into.write_info({**info, "missing": [asdict(one) for one in missing], **kept})
    write_seal(into.path, before=changed)
    last.keep()


def _judge_cards(
    plan: Plan, estimates: pl.DataFrame, tidy: pl.DataFrame, images: pl.DataFrame
) -> dict[str, Any]:
    """The cards of a calibration, or those that an audit was given of its annotators."""
    if plan.check is not None:
        return {"judge_cards": plan.check.cards(estimates, tidy, images)}
    given = [{**check.card, "annotator": name, "confusion": []} for name, check in plan.checks.items()]
    return {"judge_cards": given} if given else {}
