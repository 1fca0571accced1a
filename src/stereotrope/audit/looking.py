"""One loop for all annotators: each looks at what it has not seen, once what it needs is there."""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import polars as pl

from stereotrope.annotate import Annotator, Picture
from stereotrope.audit.ordering import waves
from stereotrope.audit.plan import Plan
from stereotrope.audit.said import Said
from stereotrope.audit.subjects import Look, Subjects, file_of, remember
from stereotrope.audit.work import Missing, Task, Watcher, carry_out, picture_of, task_of
from stereotrope.errors import PictureError
from stereotrope.run import Items, RunFolder
from stereotrope.stats.vectors import Vector

_WAITS = "waits for pictures that are still to be drawn"


class _Beside(NamedTuple):
    """What pictures bring beside their pixels, by image id; made when it is first asked for."""

    vectors: Callable[[], Mapping[str, Vector]]
    regions: Callable[[], Mapping[str, Sequence[str]]]


class _Worker:
    """Lets an annotator look, in a thread or as coroutines; it sees neither prompt nor factors."""

    def __init__(self, annotator: Annotator, into: RunFolder, beside: _Beside) -> None:
        self.annotator, self._into, self._beside = annotator, into, beside
        self._ready = False

    def _shown(self, *looks: Look) -> list[Any]:
        if not self._ready:
            self.annotator.setup()
            self._ready = True
        return [look.seen.shown(self._picture) for look in looks]

    def _picture(self, row: Mapping[str, Any]) -> Picture:
        picture = picture_of(row, self._into)
        if self.annotator.sees_vectors:
            picture.vector = self._beside.vectors().get(row["image_id"])
        if self.annotator.sees_regions is not None:
            picture.regions = self._beside.regions().get(row["image_id"], ())
        return picture

    def process(self, look: Look) -> Any:
        """Look at one subject."""
        return look.annotator.process(*self._shown(look))  # type: ignore[misc]

    def process_batch(self, looks: Sequence[Look]) -> Any:
        """Look at some subjects together."""
        return self.annotator.process_batch(self._shown(*looks))  # type: ignore[misc]

    async def close(self) -> None:
        """Let go of connections."""
        await self.annotator.close()


def look(
    plan: Plan,
    images: pl.DataFrame,
    into: RunFolder,
    watcher: Watcher,
    stop: threading.Event | None,
    undrawn: Sequence[Missing] = (),
) -> list[Missing]:
    """Let every annotator look at what it has not seen; say what is missing.

    Those that compute here go one after another, those that ask a server side by side; what needs what others
    give comes after them. A batch lands in one commit, so that a run that was killed goes on with
    the batches of an undisturbed one. A set waits for pictures that are still to be drawn (``undrawn``).
    """
    missing: list[Missing] = []
    remember(plan, into.path)
    stopped = {one.name: one for one in undrawn if one.halted}
    ended: set[str] = set()
    done: list[Annotator] = []
    for wave in waves(plan.annotators):
        subjects = Subjects(plan, images, halted=stopped)
        said = Said(subjects, into.ledger)
        regions = any(one.subject == "region" or one.sees_regions for one in wave)
        labels = said.labels(done) if regions else None
        looks = {id(one): subjects.looks(one, labels) for one in wave if one.process is not None}
        tasks = [_task(one, looks[id(one)], into, said, labels) for one in wave if id(one) in looks]
        here = [task for task in tasks if task.job.stage.kind == "threads"]
        for together in (*([task] for task in here), [task for task in tasks if task not in here]):
            group = [task for task in together if task.job.items and task.by not in ended]
            lacking = carry_out(group, into.ledger, watcher, stop)
            ended |= {task.by for task in group if any(m.halted and m.name == task.name for m in lacking)}
            missing += lacking
        for one in wave:
            settle(one, looks.get(id(one), ()), into.ledger, file_of(into.path, one))
            missing += _waiting(one, subjects, len(looks.get(id(one), ())), stopped)
        done += wave
    return missing


def _task(
    annotator: Annotator,
    looks: Sequence[Look],
    into: RunFolder,
    said: Said,
    labels: pl.DataFrame | None,
) -> Task:
    items = {look.key: look for look in looks}
    beside = _Beside(
        cache(partial(said.vectors, annotator.reads)),
        cache(partial(_regions_of, labels, annotator.sees_regions)),
    )
    return task_of(
        annotator,
        annotator.stage,
        Items.of(items.items()),
        make=partial(_Worker, annotator, into, beside),
        commit=partial(_keep, annotator, into),
        on_failure=_unreadable,
    )


def _regions_of(labels: pl.DataFrame | None, by: str | None) -> dict[str, Sequence[str]]:
    """Image id → the boxes that an annotator found in it."""
    if labels is None:
        return {}
    found = labels.filter(pl.col("region").is_not_null(), annotator=by, subject_kind="image", status="ok")
    return dict(found.group_by("subject_id", maintain_order=True).agg("region").iter_rows())


def _keep(annotator: Annotator, into: RunFolder, key: str, look: Look, result: Any) -> Mapping[str, Any]:
    """What the ledger keeps of a look; pictures that were made stand in the run folder."""
    kept = [None if data is None else into.store.put(data) for data in annotator.made(result)]
    made = [None if one is None else dict(zip(("sha256", "path"), one, strict=True)) for one in kept]
    return {**annotator.payload(result), **({"made": made} if made else {})}


def _unreadable(key: str, look: Look, error: Exception) -> dict[str, Any] | None:
    """What cannot be decoded is so for good, with the reason; other failures are tried again."""
    kept = look.annotator.unreadable(error.reason) if isinstance(error, PictureError) else None
    return None if kept is None else {**kept, "proven": True}


def settle(annotator: Annotator, looks: Sequence[Look], ledger: Any, file: Any) -> None:
    """Give an annotator what was kept of its looks."""
    if annotator.keeps is not None:
        kept = ledger.get_all(annotator.stage)
        keys = [(look.levels, look.key) for look in looks]
        annotator.settle([(levels, kept[key]) for levels, key in keys if key in kept], file)


def _waiting(
    annotator: Annotator, subjects: Subjects, n: int, stopped: Mapping[str, Missing]
) -> list[Missing]:
    if annotator.subject != "set" or not (parts := subjects.waiting(annotator)):
        return []
    budget = any(stopped[part["generator"]].budget for part in parts if part["generator"] in stopped)
    counts = (len(parts), n + len(parts))
    return [Missing(annotator.stage, annotator.name, *counts, _WAITS, budget, subject="set")]
