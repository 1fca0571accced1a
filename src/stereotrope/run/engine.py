"""Carrying out stages: many items, a few at a time, each committed the moment it lands."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import polars as pl

from stereotrope.errors import Interrupted, PluginError, RunError, StereotropeError
from stereotrope.run.ledger import Ledger

_COMMIT_THREADS = 32
_LOOK_SECONDS = 0.05
_MADE_AT_ONCE = 2_000
_FATAL = (RunError, Interrupted, PluginError)
"""Expected as they are, these speak of no item but of the run itself, or of a package."""

Commit = Callable[[str, Any, Any], Mapping[str, Any]]
OnFailure = Callable[[str, Any, Exception], Mapping[str, Any] | None]
Pair = tuple[str, Any]
_News = queue.SimpleQueue[tuple["_Work", int]]
"""How many items of a stage landed just now."""


@dataclass(frozen=True)
class Stage:
    """How one kind of work is done.

    make: Makes a worker, once a thread (once in all for ``kind="async"``): an object with ``process(item) →
        result``, a coroutine function where ``kind`` is ``"async"``. Its ``setup()``, where it has one, is
        called once for each distinct object before its first item; its coroutine ``close()``, where an
        ``"async"`` worker has one, is awaited after the last. ``make`` may return the same object each time
        if that object's ``process`` is safe to call from several threads.
    kind: ``threads`` for work that computes or blocks, ``async`` for awaitable requests.
    concurrency: Items (batches) in flight at most.
    batch_size: With more than 1 the worker has ``process_batch(items) → results`` (a coroutine function where
        ``kind`` is ``"async"``); an expected exception among the results is that item's failure. A batch that
        fails as a whole in an expected way is tried again item by item.
    expected: Exceptions that are one item's failure and let the rest go on.
    halting: Expected exceptions after which no further item is begun: the model cannot be reached, the budget
        is spent.
    """

    name: str
    make: Callable[[], Any]
    kind: Literal["threads", "async"] = "threads"
    concurrency: int = 1
    batch_size: int = 1
    expected: tuple[type[Exception], ...] = (StereotropeError,)
    halting: tuple[type[Exception], ...] = ()

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.batch_size < 1:
            raise ValueError(f"stage {self.name}: concurrency and batch_size must be at least 1")


class Items:
    """The items of a stage: all their keys, and objects of those alone that are worked at.

    keys: One an item; of equal keys the first counts.
    make: ``make(places) → items``: those whose keys stand at these places, in their order.
    """

    def __init__(self, keys: pl.Series, make: Callable[[pl.Series], Iterable[Any]]) -> None:
        self.keys, self._make = keys, make

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Self:
        """Items that are there already, each with its key."""
        listed = list(pairs)
        keys = pl.Series([key for key, _ in listed], dtype=pl.String)
        return cls(keys, lambda places: [listed[at][1] for at in places])

    def __len__(self) -> int:
        return self.keys.n_unique()

    def pairs(self, places: pl.Series) -> Iterator[Pair]:
        """Yield key and item of these places; some are made at a time."""
        for at in range(0, places.len(), _MADE_AT_ONCE):
            part = places.slice(at, _MADE_AT_ONCE)
            yield from zip(self.keys.gather(part), self._make(part), strict=True)


@dataclass
class Summary:
    """What became of the items of one call.

    total, skipped, done: Items asked for; finished before; finished now.
    recorded: How many failed and were recorded so by ``on_failure``.
    failed: Key → the exception of each item that failed in an expected way. It is tried again next time
        unless ``on_failure`` recorded it.
    halted: The exception after which no further item was begun, None where all were tried.
    """

    total: int = 0
    skipped: int = 0
    done: int = 0
    recorded: int = 0
    failed: dict[str, Exception] = field(default_factory=dict)
    halted: Exception | None = None

    @property
    def left(self) -> int:
        """Items that the ledger still lacks."""
        return self.total - self.skipped - self.done - self.recorded


@dataclass(frozen=True)
class Job:
    """A stage with its items.

    items: Those whose keys the ledger has are skipped.
    commit: ``commit(key, item, result) → payload``: keeps what is large (a picture) and returns what goes
        into the ledger. Without it the result itself is the payload.
    on_failure: ``on_failure(key, item, error) → payload | None``: a payload records the failure as this
        item's outcome, None leaves the item to be tried again next time.
    progress: Called with (finished, total) in the thread that runs the job, first before any item is begun.
    """

    stage: Stage
    items: Items
    commit: Commit | None = None
    on_failure: OnFailure | None = None
    progress: Callable[[int, int], None] | None = None


def refuse_stopped(stop: threading.Event | None, where: str) -> None:
    """Raise where the user asked to stop; ``where`` says how far the work has come.

    Raises Interrupted: ``stop`` is set.
    """
    if stop is not None and stop.is_set():
        raise Interrupted(f"{where}; everything finished is kept, and the same command continues")


def run(jobs: Sequence[Job], *, ledger: Ledger, stop: threading.Event | None = None) -> list[Summary]:
    """Do what is missing of stages side by side: none waits for another's limits or failures.

    At most ``concurrency × batch_size`` items of each are in flight, so at most these are done again after
    a kill. It may be called while an event loop runs in this thread, and blocks it.

    jobs: Two may share a stage's name in the ledger as long as they share no key.
    stop: When set, what is in flight is finished and :class:`~stereotrope.errors.Interrupted` raised. A
        worker that waits before it begins may look at it and raise the same. Ctrl-C sets it.
    Returns: One a job, in their order.
    Raises Interrupted: ``stop`` was set, or Ctrl-C was pressed once. A second Ctrl-C leaves at once.
    Raises RunError: The run folder cannot be written.
    Raises Exception: Whatever unexpected thing a worker raised, after the items in flight have landed; no
        stage begins another item.
    """
    stop = stop if stop is not None else threading.Event()
    news: _News = queue.SimpleQueue()
    works = [_Work(job, ledger, stop, news) for job in jobs]
    threads = [thread for work in works for thread in work.threads()]
    for work in works:
        work.tell(0)
    for thread in threads:
        thread.start()
    interrupted = _follow(works, threads, news)
    for work in works:
        if work.fatal is not None:
            raise work.fatal
    for work in works:
        work.refuse_rest(interrupted or work.interrupted)
    return [work.summary for work in works]


def _follow(works: Sequence[_Work], threads: Sequence[threading.Thread], news: _News) -> bool:
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


class _Work:
    """The state that the lanes of one stage share."""

    def __init__(self, job: Job, ledger: Ledger, stop: threading.Event, news: _News) -> None:
        self.stage, self.ledger, self.commit, self.on_failure = job.stage, ledger, job.commit, job.on_failure
        self.progress = job.progress
        stage = job.stage
        missing, total = ledger.missing_at(stage.name, job.items.keys), len(job.items)
        self.summary = Summary(total=total, skipped=total - missing.len())
        pairs = job.items.pairs(missing)
        self.batches = iter(lambda: tuple(itertools.islice(pairs, stage.batch_size)), ())
        self.lanes = min(stage.concurrency, -(-missing.len() // stage.batch_size))
        self.stop = stop
        self.halted = threading.Event()
        self.interrupted = False
        self.fatal: BaseException | None = None
        self.guard = threading.Lock()
        self.setting_up = threading.Lock()
        self.workers: dict[int, Any] = {}
        self.news = news
        self.finished = self.summary.skipped

    def threads(self) -> list[threading.Thread]:
        target, n = (self._lane, self.lanes) if self.stage.kind == "threads" else (self._loop, 1)
        return [
            threading.Thread(target=target, name=f"stereotrope-{self.stage.name}-{number}", daemon=True)
            for number in range(min(n, self.lanes))
        ]

    def tell(self, landed: int) -> None:
        self.finished += landed
        if self.progress is not None:
            with self:
                self.progress(self.finished, self.summary.total)

    def refuse_rest(self, interrupted: bool) -> None:
        landed = self.summary.skipped + self.summary.done
        left = self.summary.total - landed - len(self.summary.failed)
        if interrupted or (self.stop.is_set() and left and self.summary.halted is None):
            self.stop.set()
            refuse_stopped(self.stop, f"{self.stage.name}: stopped after {landed} of {self.summary.total}")

    def _lane(self) -> None:
        with self:
            worker = self._worker()
            for batch in self._next_batches():
                self._land(self._processed(worker, batch))

    def _loop(self) -> None:
        with self:
            asyncio.run(self._lanes())

    async def _lanes(self) -> None:
        worker = self._worker()
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(min(self.lanes, _COMMIT_THREADS)) as pool:

            async def lane() -> None:
                with self:
                    for batch in self._next_batches():
                        outcomes = await self._awaited(worker, batch)
                        await loop.run_in_executor(pool, self._land, outcomes)

            try:
                await asyncio.gather(*(lane() for _ in range(self.lanes)))
            finally:
                if hasattr(worker, "close"):
                    await worker.close()

    async def _awaited(self, worker: Any, batch: Sequence[Pair]) -> list[tuple[str, Any, Any]]:
        try:
            return self._paired(batch, await self._asked(worker, batch))
        except self.stage.expected as error:
            if self._is_final(batch, error):
                return [(*pair, _failure(error)) for pair in batch]
        return [row for pair in batch for row in await self._awaited(worker, [pair])]

    def _asked(self, worker: Any, batch: Sequence[Pair]) -> Any:
        items = [item for _, item in batch]
        return worker.process_batch(items) if self.stage.batch_size > 1 else worker.process(*items)

    def _paired(self, batch: Sequence[Pair], found: Any) -> list[tuple[str, Any, Any]]:
        """Each item of a batch with its result; an exception among the results is that item's failure."""
        results = found if self.stage.batch_size > 1 else [found]
        return [
            (key, item, _failure(result) if isinstance(result, Exception) else result)
            for (key, item), result in zip(batch, results, strict=True)
        ]

    def _is_final(self, batch: Sequence[Pair], error: Exception) -> bool:
        return len(batch) == 1 or isinstance(error, (*self.stage.halting, *_FATAL))

    def _worker(self) -> Any:
        worker = self.stage.make()
        with self.setting_up:
            if id(worker) not in self.workers and hasattr(worker, "setup"):
                worker.setup()
            self.workers[id(worker)] = worker
        return worker

    def _next_batches(self) -> Iterator[tuple[Pair, ...]]:
        while not self.stop.is_set() and not self.halted.is_set():
            with self.guard:
                batch = next(self.batches, None)
            if batch is None:
                return
            yield batch

    def _processed(self, worker: Any, batch: Sequence[Pair]) -> list[tuple[str, Any, Any]]:
        try:
            return self._paired(batch, self._asked(worker, batch))
        except self.stage.expected as error:
            if self._is_final(batch, error):
                return [(*pair, _failure(error)) for pair in batch]
        return [row for pair in batch for row in self._processed(worker, [pair])]

    def _land(self, outcomes: Sequence[tuple[str, Any, Any]]) -> None:
        payloads: dict[str, Mapping[str, Any]] = {}
        failed: dict[str, Exception] = {}
        for key, item, outcome in outcomes:
            try:
                if isinstance(outcome, _Failed):
                    raise outcome.error
                payloads[key] = outcome if self.commit is None else self.commit(key, item, outcome)
            except self.stage.expected as error:
                failed[key] = _failure(error).error
                recorded = self.on_failure(key, item, error) if self.on_failure is not None else None
                if recorded is not None:
                    payloads[key] = recorded
        if payloads:
            self.ledger.put_many(self.stage.name, payloads)
        with self.guard:
            self.summary.done += len(payloads.keys() - failed.keys())
            self.summary.recorded += len(payloads.keys() & failed.keys())
            self.summary.failed.update(failed)
            halting = next((e for e in failed.values() if isinstance(e, self.stage.halting)), None)
            if halting is not None and self.summary.halted is None:
                self.summary.halted = halting
                self.halted.set()
        self.news.put((self, len(outcomes)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Keep an unexpected exception for the calling thread, and let no lane begin another item."""
        if error is None or (
            isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
        ):
            return False
        with self.guard:
            if isinstance(error, Interrupted):
                self.interrupted = True
            elif self.fatal is None:
                self.fatal = error
        self.halted.set()
        return True


@dataclass(frozen=True)
class _Failed:
    error: Exception


def _failure(error: Exception) -> _Failed:
    """Take an expected exception as one item's outcome, unless it speaks of the run itself."""
    if isinstance(error, _FATAL):
        raise error
    return _Failed(error)
