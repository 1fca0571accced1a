"""What every stage of a run shares: its items, who carries them out, and what could not be done."""

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from stereotrope.annotate import Picture
from stereotrope.errors import AuditFileError, BudgetError, ModelUnusable, PictureUnavailable
from stereotrope.run import Items, Job, Ledger, PictureStore, Stage, engine
from stereotrope.run.engine import Commit, OnFailure

GENERATE = "generate"
ANNOTATE = "annotate"
"""Names of stages in the ledger, and of what is done. Annotators may have others."""
HALTING = (ModelUnusable, BudgetError)
"""After one of these no further request is worth sending."""


class Watcher(Protocol):
    """Is told how a run goes on."""

    def stage(self, name: str, total: int, done: int) -> None:
        """A stage begins; ``done`` of ``total`` items were finished before."""

    def advance(self, name: str, done: int) -> None:
        """So many items of the stage are finished now."""

    def doing(self, name: str, what: str) -> None:
        """What a stage is at, whose items may take minutes each; empty where it is at none."""

    def say(self, message: str) -> None:
        """Something worth a line happened."""


class Silent:
    """A watcher that says nothing."""

    def stage(self, *_: object, **__: object) -> None:
        """Say nothing."""

    advance = doing = say = stage


@dataclass(frozen=True)
class Missing:
    """What a stage could not do: ``n`` of ``of`` items, and why, in the words of the first failure.

    ``budget`` marks what was left because of the cap on spending, ``halted`` a stage that was ended before
    all its items were tried, ``misconfigured`` what the audit file or a missing key is to blame for,
    ``unavailable`` pictures that cannot be read just now. ``subject`` is what an annotator looks at.
    """

    stage: str
    name: str
    n: int
    of: int
    reason: str
    budget: bool = False
    halted: bool = False
    misconfigured: bool = False
    unavailable: bool = False
    subject: str = "image"

    def __str__(self) -> str:
        return f"{self.stage}: {self.name}: {self.n:,} of {self.of:,} missing"


def said_of(missing: Sequence[Missing]) -> str:
    """Say what is missing, each reason once."""
    by_reason: dict[str, dict[str, None]] = {}
    for one in missing:
        by_reason.setdefault(one.reason, {})[str(one)] = None
    return "; ".join(f"{', '.join(those)}: {reason}" for reason, those in by_reason.items())


@dataclass(frozen=True)
class Task:
    """A job: what is done, the generator or annotator that does it, its fingerprint, and at what it looks."""

    verb: str
    name: str
    by: str
    job: Job
    subject: str = "image"


def task_of(
    who: Any,
    verb: str,
    items: Items,
    *,
    make: Callable[[], Any] | None = None,
    commit: Commit,
    on_failure: OnFailure | None = None,
) -> Task:
    """Return what a generator, annotator or other instrument does with items, or workers of ``make``."""
    stage = Stage(
        verb,
        make or (lambda: who),
        kind="async" if inspect.iscoroutinefunction(who.process) else "threads",
        concurrency=who.concurrency,
        batch_size=who.batch,
        halting=HALTING,
        device=getattr(who, "device", "cpu"),
        quick=getattr(who, "quick", False),
        in_processes=getattr(who, "in_processes", False),
    )
    job = Job(stage, items, commit, on_failure)
    return Task(verb, who.name, who.fingerprint, job, getattr(who, "subject", "image"))


def picture_of(row: Mapping[str, Any], store: PictureStore) -> Picture:
    """Return the picture of an image row, read when it is first looked at."""
    n_pixels = row["width"] * row["height"]
    return Picture(row["image_id"], row["sha256"], lambda: store.get(row["path"]), n_pixels=n_pixels)


def carry_out(
    tasks: Sequence[Task],
    ledger: Ledger,
    watcher: Watcher,
    stop: threading.Event | None,
    crew: engine.Crew | None = None,
) -> list[Missing]:
    """Do what is missing of some stages, side by side; say what could not be done.

    crew: Who works on them; the threads of this process where None.
    """
    alone = len(tasks) == 1 and tasks[0].verb == GENERATE
    names = [task.verb if alone else f"{task.verb}:{task.name}" for task in tasks]
    jobs = [
        replace(task.job, progress=_Progress(watcher, name)) for name, task in zip(names, tasks, strict=True)
    ]
    if not jobs:
        return []
    summaries = engine.run(jobs, ledger=ledger, stop=stop, crew=crew)
    missing = []
    for task, summary in zip(tasks, summaries, strict=True):
        if not summary.left:
            continue
        why = summary.halted or next(iter(summary.failed.values()))
        plain = Missing(task.verb, task.name, summary.left, summary.total, str(why))
        missing.append(
            replace(
                plain,
                budget=isinstance(why, BudgetError),
                halted=summary.halted is not None,
                misconfigured=getattr(why, "exit_code", None) == AuditFileError.exit_code,
                unavailable=isinstance(why, PictureUnavailable),
                subject=task.subject,
            )
        )
    return missing


class _Progress:
    """Tells a watcher how a stage goes on, and first that it begins."""

    def __init__(self, watcher: Watcher, name: str) -> None:
        self._watcher, self._name = watcher, name
        self._begun = False

    def __call__(self, done: int, total: int) -> None:
        if not self._begun:
            self._watcher.stage(self._name, total, done)
            self._begun = True
        self._watcher.advance(self._name, done)
