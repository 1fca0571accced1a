"""Carrying out stages side by side: handing out what is missing of each, recording what came of it."""

from __future__ import annotations

import contextlib
import itertools
import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from stereotrope.errors import Interrupted, RunError
from stereotrope.run.engine.lanes import Lanes, Telling
from stereotrope.run.engine.stage import Job, Pair, Summary
from stereotrope.run.ledger import Ledger

_LOOK_SECONDS = 0.05
_News = queue.SimpleQueue[tuple["OpenJob", int]]
"""How many items of a stage landed just now."""


class Crew(Protocol):
    """Who works on stages."""

    def start(self, works: Sequence[OpenJob]) -> Sequence[threading.Thread]:
        """Begin; everything is done once the threads have ended."""


class Threads:
    """The threads of this process."""

    def start(self, works: Sequence[OpenJob]) -> Sequence[threading.Thread]:
        """Start the lanes of every stage."""
        every = [self.lanes(work) for work in works]
        return [thread for lanes in every for thread in lanes.start()]

    def lanes(self, job: OpenJob) -> Lanes:
        """Return the lanes of a job."""
        return Lanes(job.job, job, job.n_lanes)


def refuse_stopped(stop: threading.Event | None, where: str) -> None:
    """Raise where the user asked to stop; ``where`` says how far the work has come.

    Raises Interrupted: ``stop`` is set.
    """
    if stop is not None and stop.is_set():
        raise Interrupted(f"{where}; everything finished is kept, and the same command continues")


def run(
    jobs: Sequence[Job], *, ledger: Ledger, stop: threading.Event | None = None, crew: Crew | None = None
) -> list[Summary]:
    """Do what is missing of stages side by side: none waits for another's limits or failures.

    At most ``concurrency × batch_size`` items of each are in flight, of quick work also what takes each lane
    20 ms: at most these are done again after a kill. It may be called while an event loop runs in this
    thread, and blocks it.

    jobs: Two may share a stage's name in the ledger as long as they share no key.
    stop: When set, what is in flight is finished and :class:`~stereotrope.errors.Interrupted` raised. A
        worker that waits before it begins may look at it and raise the same. Ctrl-C sets it.
    crew: Who works on them: the threads of this process, or a cluster.
    Returns: One a job, in their order.
    Raises Interrupted: ``stop`` was set, or Ctrl-C was pressed once. A second Ctrl-C leaves at once.
    Raises RunError: The run folder cannot be written.
    Raises Exception: Whatever unexpected thing a worker raised, after the items in flight have landed; no
        stage begins another item.
    """
    stop = stop if stop is not None else threading.Event()
    news: _News = queue.SimpleQueue()
    works = [OpenJob(job, ledger, stop, news) for job in jobs]
    for work in works:
        work.tell(0)
    interrupted = _follow(works, (crew or Threads()).start(works), news)
    for work in works:
        if work.fatal is not None:
            raise work.fatal
    for work in works:
        work.refuse_rest(interrupted or work.interrupted)
    return [work.summary for work in works]


def _follow(works: Sequence[OpenJob], threads: Sequence[threading.Thread], news: _News) -> bool:
    """Report progress until every lane has ended; True when Ctrl-C was pressed."""
    interrupted = False
    while any(thread.is_alive() for thread in threads) or not news.empty():
        try:
            with contextlib.suppress(queue.Empty):
                work, landed = news.get(timeout=_LOOK_SECONDS)
                work.tell(landed)
            if any(work.fatal is not None for work in works):
                for work in works:
                    work.halted.set()
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            works[0].stop.set()
    return interrupted


class OpenJob:
    """What is left of one job, and what came of it: the source of its lanes, wherever they are."""

    def __init__(self, job: Job, ledger: Ledger, stop: threading.Event, news: _News) -> None:
        self.job, self.ledger, self.stop, self.news = job, ledger, stop, news
        stage = job.stage
        missing, total = ledger.missing_at(stage.name, job.items.keys), len(job.items)
        self.summary = Summary(total=total, skipped=total - missing.len())
        self.pairs = job.items.pairs(missing)
        self.n_items = missing.len()
        self.n_batches = -(-self.n_items // stage.batch_size)
        self.n_lanes = min(stage.concurrency, self.n_batches)
        self.drained = False
        self.returned: list[Sequence[Pair]] = []
        self.halted = threading.Event()
        self.interrupted = False
        self.fatal: BaseException | None = None
        self.guard = threading.Lock()
        self.finished = self.summary.skipped

    def tell(self, landed: int) -> None:
        """Say how far it is, in the thread that runs the job."""
        self.finished += landed
        if self.job.progress is not None:
            with Telling(self):
                self.job.progress(self.finished, self.summary.total)

    @property
    def is_open(self) -> bool:
        """Whether a further batch may be begun."""
        return not (self.stop.is_set() or self.halted.is_set())

    def next(self, n: int = 1) -> Sequence[Pair]:
        """Return the next ``n`` batches; empty where none is left, or none shall be begun."""
        if not self.is_open:
            return ()
        with self.guard:
            most = n * self.job.stage.batch_size
            batch = self.returned.pop() if self.returned else tuple(itertools.islice(self.pairs, most))
            self.drained = not batch
            return batch

    @property
    def is_spent(self) -> bool:
        """Whether no further batch will be handed out, unless one is given back."""
        return self.stop.is_set() or self.halted.is_set() or (self.drained and not self.returned)

    def give_back(self, batch: Sequence[Pair]) -> None:
        """Have a batch worked on by others: those who had it are no more."""
        with self.guard:
            self.returned.append(batch)

    def land(self, payloads: Mapping[str, Any], failed: Mapping[str, Exception]) -> None:
        """Record a batch in the ledger; a halting failure lets no further one begin."""
        if payloads:
            self.ledger.put_many(self.job.stage.name, payloads)
        with self.guard:
            self.summary.done += len(payloads.keys() - failed.keys())
            self.summary.recorded += len(payloads.keys() & failed.keys())
            self.summary.failed.update(failed)
            halting = next((e for e in failed.values() if isinstance(e, self.job.stage.halting)), None)
            if halting is not None and self.summary.halted is None:
                self.summary.halted = halting
                self.halted.set()
        self.news.put((self, len(payloads.keys() | failed.keys())))

    def fail(self, error: BaseException) -> None:
        """Keep an unexpected exception for the calling thread, and let no lane begin another batch."""
        with self.guard:
            if isinstance(error, Interrupted):
                self.interrupted = True
            elif self.fatal is None:
                self.fatal = error
        self.halted.set()

    def refuse_rest(self, interrupted: bool) -> None:
        """Raise Interrupted where something was left because of ``stop``, RunError where nobody knows why."""
        landed = self.summary.skipped + self.summary.done
        left = self.summary.total - landed - len(self.summary.failed)
        if interrupted or (self.stop.is_set() and left and self.summary.halted is None):
            self.stop.set()
            refuse_stopped(
                self.stop, f"{self.job.stage.name}: stopped after {landed} of {self.summary.total}"
            )
        if left > 0 and self.summary.halted is None:
            raise RunError(
                f"{self.job.stage.name}: {left:,} of {self.summary.total:,} items were handed out and "
                "nothing came back of them; everything finished is kept, run the same command again"
            )
