"""Carrying out one stage: many items, a few at a time, each committed the moment it lands."""

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

from stereotrope.errors import Interrupted, RunError, StereotropeError
from stereotrope.run.ledger import Ledger

__all__ = ["Stage", "Summary", "run"]

_COMMIT_THREADS = 32
_LOOK_SECONDS = 0.05

Commit = Callable[[str, Any, Any], Mapping[str, Any]]
OnFailure = Callable[[str, Any, Exception], Mapping[str, Any] | None]
Pair = tuple[str, Any]


@dataclass(frozen=True)
class Stage:
    """How one kind of work is done.

    Parameters
    ----------
    name
        Of the stage in the ledger.
    make
        Makes a worker, once a thread (once in all for ``kind="async"``): an object with
        ``process(item) → result``, a coroutine function where ``kind`` is ``"async"``. Its ``setup()``,
        where it has one, is called once for each distinct object before its first item. It may return
        the same object each time if that object's ``process`` is safe to call from several threads.
    kind
        ``threads`` for work that computes or blocks, ``async`` for awaitable requests.
    concurrency
        Items (batches) in flight at most.
    batch_size
        With more than 1 the worker has ``process_batch(items) → results``; a batch that fails in an
        expected way is tried again item by item.
    expected
        Exceptions that are one item's failure and let the rest go on.
    """

    name: str
    make: Callable[[], Any]
    kind: Literal["threads", "async"] = "threads"
    concurrency: int = 1
    batch_size: int = 1
    expected: tuple[type[Exception], ...] = (StereotropeError,)

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.batch_size < 1:
            raise ValueError(f"stage {self.name}: concurrency and batch_size must be at least 1")
        if self.kind == "async" and self.batch_size > 1:
            raise ValueError(f"stage {self.name}: batches are for kind='threads'")


@dataclass
class Summary:
    """What became of the items of one call.

    Attributes
    ----------
    total, skipped, done
        Items asked for; finished before; finished now.
    failed
        Key → the exception of each item that failed in an expected way. It is tried again next time
        unless ``on_failure`` recorded it.
    """

    total: int = 0
    skipped: int = 0
    done: int = 0
    failed: dict[str, Exception] = field(default_factory=dict)


def run(
    stage: Stage,
    items: Sequence[Pair],
    *,
    ledger: Ledger,
    commit: Commit | None = None,
    on_failure: OnFailure | None = None,
    progress: Callable[[int, int], None] | None = None,
    stop: threading.Event | None = None,
) -> Summary:
    """Do what is missing of a stage.

    Parameters
    ----------
    stage
        How it is done.
    items
        ``(key, item)`` pairs. Keys the ledger has are skipped; of equal keys the first counts.
    ledger
        Where each item is recorded as it lands.
    commit
        ``commit(key, item, result) → payload``: keeps what is large (a picture) and returns what goes
        into the ledger. Without it the result itself is the payload.
    on_failure
        ``on_failure(key, item, error) → payload | None``: a payload records the failure as this item's
        outcome, None leaves the item to be tried again next time.
    progress
        Called with (finished, total) in the calling thread.
    stop
        When set, what is in flight is finished and :class:`~stereotrope.errors.Interrupted` raised.

    Raises
    ------
    Interrupted
        ``stop`` was set, or Ctrl-C was pressed once. A second Ctrl-C leaves at once.
    RunError
        The run folder cannot be written.
    Exception
        Whatever unexpected thing a worker raised, after the others' items in flight have landed.

    Notes
    -----
    At most ``concurrency × batch_size`` items are in flight, so at most these are done again after a
    kill. It may be called while an event loop runs in this thread, and blocks it.
    """
    return _Work(stage, items, ledger, commit, on_failure, stop).carry_out(progress)


class _Work:
    """The state that the lanes of one call share."""

    def __init__(
        self,
        stage: Stage,
        items: Sequence[Pair],
        ledger: Ledger,
        commit: Commit | None,
        on_failure: OnFailure | None,
        stop: threading.Event | None,
    ) -> None:
        self.stage, self.ledger, self.commit, self.on_failure = stage, ledger, commit, on_failure
        by_key: dict[str, Any] = {}
        for key, item in items:
            by_key.setdefault(key, item)
        missing = ledger.missing(stage.name, by_key)
        self.summary = Summary(total=len(by_key), skipped=len(by_key) - len(missing))
        self.batches: Iterator[tuple[Pair, ...]] = _batched(
            ((key, by_key[key]) for key in missing), stage.batch_size
        )
        self.lanes = min(stage.concurrency, -(-len(missing) // stage.batch_size))
        self.stop = stop if stop is not None else threading.Event()
        self.halted = threading.Event()
        self.fatal: BaseException | None = None
        self.guard = threading.Lock()
        self.setting_up = threading.Lock()
        self.workers: dict[int, Any] = {}
        self.news: queue.SimpleQueue[int] = queue.SimpleQueue()  # how many items landed just now

    def carry_out(self, progress: Callable[[int, int], None] | None) -> Summary:
        total = self.summary.total
        tell = progress if progress is not None else _silent
        tell(self.summary.skipped, total)
        targets = (
            [self._lane] * self.lanes if self.stage.kind == "threads" else [self._loop] * min(self.lanes, 1)
        )
        threads = [
            threading.Thread(target=target, name=f"stereotrope-{self.stage.name}-{number}", daemon=True)
            for number, target in enumerate(targets)
        ]
        for thread in threads:
            thread.start()
        interrupted = self._follow(threads, tell)
        if self.fatal is not None:
            raise self.fatal
        landed = self.summary.skipped + self.summary.done
        if interrupted or (self.stop.is_set() and landed + len(self.summary.failed) < total):
            raise Interrupted(
                f"{self.stage.name}: stopped after {landed} of {total}; everything finished is kept, "
                "and the same command continues"
            )
        return self.summary

    def _follow(self, threads: Sequence[threading.Thread], tell: Callable[[int, int], None]) -> bool:
        """Report progress until every lane has ended; True when Ctrl-C was pressed."""
        interrupted = False
        finished = self.summary.skipped
        while any(thread.is_alive() for thread in threads) or not self.news.empty():
            try:
                with contextlib.suppress(queue.Empty):
                    finished += self.news.get(timeout=_LOOK_SECONDS)
                    with self:
                        tell(finished, self.summary.total)
            except KeyboardInterrupt:
                if interrupted:
                    raise
                interrupted = True
                self.halted.set()
        return interrupted

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
                    for ((key, item),) in self._next_batches():
                        try:
                            outcome = await worker.process(item)
                        except self.stage.expected as error:
                            outcome = _failure(error)
                        await loop.run_in_executor(pool, self._land, [(key, item, outcome)])

            await asyncio.gather(*(lane() for _ in range(self.lanes)))

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
        if self.stage.batch_size > 1:
            try:
                results = worker.process_batch([item for _, item in batch])
                return [(key, item, result) for (key, item), result in zip(batch, results, strict=True)]
            except self.stage.expected as error:
                if len(batch) == 1:
                    return [(*batch[0], _failure(error))]
                return [row for pair in batch for row in self._processed(worker, [pair])]
        ((key, item),) = batch
        try:
            return [(key, item, worker.process(item))]
        except self.stage.expected as error:
            return [(key, item, _failure(error))]

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
            self.summary.failed.update(failed)
        self.news.put(len(outcomes))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Keep an unexpected exception for the calling thread, and let no lane begin another item."""
        if error is None or (
            isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
        ):
            return False
        with self.guard:
            if self.fatal is None:
                self.fatal = error
        self.halted.set()
        return True


@dataclass(frozen=True)
class _Failed:
    error: Exception


def _failure(error: Exception) -> _Failed:
    """Take an expected exception as one item's outcome, unless it speaks of the run itself."""
    if isinstance(error, (RunError, Interrupted)):
        raise error
    return _Failed(error)


def _batched(pairs: Iterable[Pair], size: int) -> Iterator[tuple[Pair, ...]]:
    iterator = iter(pairs)
    while batch := tuple(itertools.islice(iterator, size)):
        yield batch


def _silent(finished: int, total: int) -> None:
    """Report nothing."""
