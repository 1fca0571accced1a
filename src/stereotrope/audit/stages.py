"""The stages of a run: what is drawn, what is looked at, and how each result enters the ledger."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from stereotrope.annotate import Label, Picture, PictureAnnotator
from stereotrope.audit.plan import Plan, looks
from stereotrope.errors import PictureError
from stereotrope.generate import Generator, ImageRequest, ImageResult
from stereotrope.pictures import inspect
from stereotrope.run import RunFolder, Stage, engine

if TYPE_CHECKING:
    from stereotrope.audit.conductor import Watcher

__all__ = ["GENERATE", "annotate_pictures", "annotation_key", "generate_images", "stage_of"]

GENERATE = "generate"


class _Drawing:
    """Gives each request to its generator."""

    def __init__(self, generators: Mapping[str, Generator]) -> None:
        self.generators = generators

    def process(self, item: tuple[str, ImageRequest]) -> ImageResult:
        name, request = item
        return self.generators[name].process(request)


def generate_images(plan: Plan, into: RunFolder, watcher: Watcher, stop: threading.Event | None) -> list[str]:
    """Ask for every picture that the ledger does not hold; say what failed."""
    generators = {g.name: g for g in plan.generators}
    items = list({r.image_id: (r.image_id, (g.name, r)) for g, r in plan.requests}.values())
    stage = Stage(
        GENERATE, make=lambda: _Drawing(generators), concurrency=max(g.concurrency for g in plan.generators)
    )
    return _carry_out(
        stage, items, into, watcher, stop, commit=lambda key, item, result: _store(result, into)
    )


def _store(result: ImageResult, into: RunFolder) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "status": result.status,
        "reason": result.reason,
        "revised_prompt": result.revised_prompt,
        "latency": result.latency,
        "cost": result.cost,
    }
    if result.data is None:
        return payload
    try:
        found = inspect(result.data)
    except PictureError as error:
        return {**payload, "status": "excluded", "reason": error.reason}
    sha256, path = into.store.put(result.data)
    return {**payload, "sha256": sha256, "path": path, "width": found.width, "height": found.height}


def stage_of(annotator: PictureAnnotator) -> str:
    """Name of an annotator's stage in the ledger."""
    return f"annotate:{annotator.name}"


def annotation_key(annotator: PictureAnnotator, sha256: str) -> str:
    """Content key of one look: what is looked with, and the bytes looked at."""
    return hashlib.sha256(f"{annotator.fingerprint}\n{sha256}".encode()).hexdigest()


class _Looking:
    """Lets an annotator look at pictures; it sees neither prompt nor factors."""

    def __init__(self, annotator: PictureAnnotator, into: RunFolder) -> None:
        self.annotator, self.into = annotator, into

    def setup(self) -> None:
        self.annotator.setup()

    def process(self, item: Mapping[str, Any]) -> list[Label]:
        picture = Picture(item["image_id"], item["sha256"], lambda: self.into.store.get(item["path"]))
        return self.annotator.process(picture)


def annotate_pictures(
    plan: Plan, images: pl.DataFrame, into: RunFolder, watcher: Watcher, stop: threading.Event | None
) -> list[str]:
    """Let every annotator look at every picture it has not seen; say what failed."""
    usable = images.filter(pl.col("status") == "ok").unique("sha256", keep="first", maintain_order=True)
    rows = usable.select("image_id", "sha256", "path").to_dicts()
    failed: list[str] = []
    for annotator in plan.annotators:
        if not looks(annotator):
            continue
        items = [(annotation_key(annotator, row["sha256"]), row) for row in rows]
        stage = Stage(
            stage_of(annotator), make=partial(_Looking, annotator, into), concurrency=annotator.concurrency
        )
        failed += _carry_out(
            stage,
            items,
            into,
            watcher,
            stop,
            commit=lambda key, item, labels: _labels_payload(labels),
            on_failure=partial(_unreadable, annotator),
        )
    return failed


def _unreadable(annotator: PictureAnnotator, key: str, item: Any, error: Exception) -> dict[str, Any] | None:
    """A picture an annotator cannot decode has invalid labels with the reason; other failures are retried."""
    if not isinstance(error, PictureError):
        return None
    return _labels_payload(
        [Label(name, None, status="invalid", rationale=error.reason) for name in annotator.attributes]
    )


def _labels_payload(labels: list[Label]) -> dict[str, Any]:
    return {
        "labels": [
            {
                "attribute": label.attribute,
                "value": label.value if label.status == "ok" else None,
                "confidence": label.confidence,
                "status": label.status,
                "rationale": label.rationale,
                "region": label.region,
            }
            for label in labels
        ]
    }


def _carry_out(
    stage: Stage,
    items: list[tuple[str, Any]],
    into: RunFolder,
    watcher: Watcher,
    stop: threading.Event | None,
    *,
    commit: Any,
    on_failure: Any = None,
) -> list[str]:
    missing = into.ledger.missing(stage.name, [key for key, _ in items])
    watcher.stage(stage.name, len(items), len(items) - len(missing))
    summary = engine.run(
        stage,
        items,
        ledger=into.ledger,
        commit=commit,
        on_failure=on_failure,
        stop=stop,
        progress=lambda done, total: watcher.advance(stage.name, done),
    )
    again = into.ledger.missing(stage.name, list(summary.failed))
    if not again:
        return []
    first = summary.failed[again[0]]
    return [f"{stage.name}: {len(again)} of {summary.total} items failed, the first with: {first}"]
