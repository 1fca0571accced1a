"""One loop for all annotators: each looks at what it has not seen, once what it needs is there."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import polars as pl

from stereotrope.annotate import Annotator, Picture, Scope, Subject, taxonomy_scope
from stereotrope.audit.ordering import waves
from stereotrope.audit.plan import Plan
from stereotrope.audit.said import Said
from stereotrope.audit.subjects import Subjects, file_of, remember
from stereotrope.audit.work import Missing, Task, Watcher, carry_out, picture_of, task_of
from stereotrope.errors import PictureError
from stereotrope.run import Items, Ledger, PictureStore, RunFolder
from stereotrope.stats.vectors import Vector

T = TypeVar("T")
_Beside = Callable[[], Mapping[str, T]]
_WAITS = "waits for pictures that are still to be drawn"


class _Sight(NamedTuple):
    """A look as who looks gets it, in this process or another: no prompt, and no factor beside ``levels``.

    levels: The part of the design, by which it may be asked otherwise.
    vectors, regions: What its pictures bring beside their pixels, by image id.
    """

    subject: Subject
    levels: Mapping[str, str]
    vectors: Mapping[str, Vector]
    regions: Mapping[str, Sequence[str]]


class _Worker:
    """Lets an annotator look: in a thread, in another process, or as coroutines."""

    def __init__(self, annotator: Annotator, store: PictureStore) -> None:
        self.annotator, self._store = annotator, store
        self._asked: dict[Scope, Annotator] = {}
        self._ready = False

    def _shown(self, *sights: _Sight) -> list[Any]:
        if not self._ready:
            self.annotator.setup()
            self._ready = True
        return [sight.subject.shown(partial(self._picture, sight)) for sight in sights]

    def _picture(self, sight: _Sight, row: Mapping[str, Any]) -> Picture:
        picture = picture_of(row, self._store)
        picture.vector = sight.vectors.get(row["image_id"])
        picture.regions = sight.regions.get(row["image_id"], ())
        return picture

    def process(self, sight: _Sight) -> Any:
        """Look at one subject, asked as in its part of the design."""
        scope = taxonomy_scope(sight.levels)
        if scope not in self._asked:
            self._asked[scope] = _within(self.annotator, sight)
        return self._asked[scope].process(*self._shown(sight))  # type: ignore[misc]

    def process_batch(self, sights: Sequence[_Sight]) -> Any:
        """Look at some subjects together."""
        return self.annotator.process_batch(self._shown(*sights))  # type: ignore[misc]

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
            lacking = carry_out(group, into.ledger, watcher, stop, into.crew)
            ended |= {task.by for task in group if any(m.halted and m.name == task.name for m in lacking)}
            missing += lacking
        for one in wave:
            own = looks.get(id(one), Items.of(()))
            settle(one, own, into.ledger, file_of(into.path, one))
            missing += _waiting(one, subjects, own.keys.len(), stopped)
        done += wave
    return missing


def _task(
    annotator: Annotator,
    looks: Items,
    into: RunFolder,
    said: Said,
    labels: pl.DataFrame | None,
) -> Task:
    vectors: _Beside[Vector] = cache(partial(said.vectors, annotator.reads if annotator.sees_vectors else ()))
    regions: _Beside[Sequence[str]] = cache(partial(_regions_of, labels, annotator.sees_regions))

    def sights(places: pl.Series) -> Iterator[_Sight]:
        for _, look in looks.pairs(places):
            ids = [row["image_id"] for row in look.seen.images]
            yield _Sight(look.seen, look.levels, _some(vectors(), ids), _some(regions(), ids))

    return task_of(
        annotator,
        annotator.stage,
        Items(looks.keys, sights),
        make=partial(_Worker, annotator, into.store),
        commit=partial(_keep, annotator, into),
        on_failure=partial(_unreadable, annotator),
    )


def _some(of: Mapping[str, T], ids: Sequence[str]) -> dict[str, T]:
    return {one: of[one] for one in ids if one in of}


def _within(annotator: Annotator, sight: _Sight) -> Annotator:
    return annotator.within(sight.levels) or annotator


def _regions_of(labels: pl.DataFrame | None, by: str | None) -> dict[str, Sequence[str]]:
    """Image id → the boxes that an annotator found in it."""
    if labels is None or by is None:
        return {}
    found = labels.filter(pl.col("region").is_not_null(), annotator=by, subject_kind="image", status="ok")
    return dict(found.group_by("subject_id", maintain_order=True).agg("region").iter_rows())


def _keep(annotator: Annotator, into: RunFolder, key: str, sight: _Sight, result: Any) -> Mapping[str, Any]:
    """What the ledger keeps of a look; pictures that were made stand in the run folder."""
    kept = [None if data is None else into.store.put(data) for data in annotator.made(result)]
    made = [None if one is None else dict(zip(("sha256", "path"), one, strict=True)) for one in kept]
    return {**annotator.payload(result), **({"made": made} if made else {})}


def _unreadable(annotator: Annotator, key: str, sight: _Sight, error: Exception) -> dict[str, Any] | None:
    """What cannot be decoded is so for good, with the reason; other failures are tried again."""
    kept = _within(annotator, sight).unreadable(error.reason) if isinstance(error, PictureError) else None
    return None if kept is None else {**kept, "proven": True}


def settle(annotator: Annotator, looks: Items, ledger: Ledger, file: Path | None) -> None:
    """Give an annotator what was kept of its looks."""
    if annotator.keeps is not None:
        kept = ledger.get_some(annotator.stage, looks.keys)
        pairs = [pair for part in looks.parts() for pair in part]
        annotator.settle([(look.levels, kept[key]) for key, look in pairs if key in kept], file)


def _waiting(
    annotator: Annotator, subjects: Subjects, n: int, stopped: Mapping[str, Missing]
) -> list[Missing]:
    if annotator.subject != "set" or not (parts := subjects.waiting(annotator)):
        return []
    budget = any(stopped[part["generator"]].budget for part in parts if part["generator"] in stopped)
    counts = (len(parts), n + len(parts))
    return [Missing(annotator.stage, annotator.name, *counts, _WAITS, budget, subject="set")]
