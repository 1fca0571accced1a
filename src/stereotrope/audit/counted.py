"""Carrying out an audit whose label files are counted: nothing is drawn, and no picture is kept by itself."""

import threading
from collections.abc import Iterator
from typing import Any

import polars as pl

from stereotrope.annotate.counted import CountedFile
from stereotrope.audit.assemble import info_of
from stereotrope.audit.counting import count_labels
from stereotrope.audit.estimating import estimate_counts
from stereotrope.audit.interim import look_at_counts
from stereotrope.audit.plan import Plan
from stereotrope.audit.work import Watcher
from stereotrope.generate import CountableGenerator
from stereotrope.measure import measure_words
from stereotrope.run import RunFolder, refuse_stopped, write_seal
from stereotrope.run.looks import looks_told
from stereotrope.tables import COUNTS, IMAGES, LABELS, N_SUBJECTS, polars_types

FILES = "files"
"""Stage of the ledger: a row a label file that was read, by its SHA-256. What it says can be read again."""


def measure_counts(
    plan: Plan, into: RunFolder, watcher: Watcher, stop: threading.Event | None
) -> pl.DataFrame:
    """Count label files, measure, and write the tables; return what came of the pictures, counted.

    Raises Interrupted: ``stop`` was set; the same call begins again.
    Raises MetadataError: A label file cannot be used.
    """
    counts = _folded(plan, count_labels(plan, watcher, stop))
    files = dict(_files(plan))
    into.ledger.put_many(FILES, files)
    of_images = pl.col("annotator").is_null()
    images = counts.filter(of_images).select(
        "generator", "prompt_id", "reason", N_SUBJECTS, status="image_status"
    )
    labels = counts.filter(~of_images, pl.col("status").is_not_null())
    refuse_stopped(stop, "measure: stopped before the first measure")
    info = info_of(plan, images, labels, into)
    planned = None if plan.spec.looks == "open" else plan.spec.looks
    at = look_at_counts(into.ledger, list(files), counts, planned=planned)
    estimates, compared = estimate_counts(plan, counts, watcher, at=at, stop=stop)
    at.record(into.ledger, compared.differences)
    none = {"images": IMAGES, "labels": LABELS}
    into.write_tables(
        {
            "prompts": plan.prompts,
            **{name: pl.DataFrame(schema=polars_types(columns)) for name, columns in none.items()},
            "counts": counts,
            "subjects": None,
            "estimates": estimates,
            **compared.tables(),
            "reference": None,
        }
    )
    info |= {"counted": True, "looks": looks_told(into.ledger), "missing": [], "tables": {}}
    info["files"] = [{"sha256": digest, **told} for digest, told in sorted(files.items())]
    into.write_info({**info, "words": measure_words(estimates["measure"].unique())})
    write_seal(into.path)
    return images


def _folded(plan: Plan, counts: pl.DataFrame) -> pl.DataFrame:
    """The counts with values as they count: written differently, they are one."""
    revised = counts
    for one in plan.annotators:
        revised = one.revise(revised, plan.listed, None)
    if revised["written"].null_count() == revised.height:
        return counts
    alike = [column.name for column in COUNTS if column.name != N_SUBJECTS]
    summed = revised.group_by(alike, maintain_order=True).agg(pl.col(N_SUBJECTS).sum())
    return summed.select(counts.columns)


def _files(plan: Plan) -> Iterator[tuple[str, dict[str, Any]]]:
    """SHA-256 of each label file, with its name and rows."""
    for generator in plan.generators:
        if isinstance(generator, CountableGenerator):
            yield from ((digest, {"of": generator.name}) for digest in generator.digests)
    for one in plan.annotators:
        if isinstance(one, CountedFile):
            yield one.rows.digest, {"file": one.file, "rows": one.rows.n_rows}
