"""The lanes of one stage in one process: each takes a batch, works on it, and lands what came of it."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from stereotrope.errors import Interrupted, PluginError, RunError
from stereotrope.run.engine.stage import Job, Pair

_COMMIT_THREADS = 32
_SECONDS = 0.02
"""What takes a lane of quick work no longer than this is recorded together."""
_MOST_BATCHES = 64
_FATAL = (RunError, Interrupted, PluginError)
"""Expected as they are, these speak of no item but of the run itself, or of a package."""


class BatchSource(Protocol):
    """Where lanes get their batches and leave what came of them; called from any thread, and may block."""

    @property
    def is_open(self) -> bool:
        """Whether a further batch of those that were handed out may be begun."""

    def next(self, n: int = 1) -> Sequence[Pair]:
        """Return the next ``n`` batches to work on, or fewer; empty where no further one is to be begun."""

    def land(self, payloads: Mapping[str, Any], failed: Mapping[str, Exception]) -> None:
        """Record a batch, durable when this returns; a failure may have a payload too."""

    def fail(self, error: BaseException) -> None:
        """Say that something unexpected ended a lane: no lane shall begin another batch."""


class Telling:
    """Leaves an unexpected exception where the thread that runs the jobs finds it."""

    def __init__(self, source: BatchSource) -> None:
        self._source = source

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        pressed = (
            isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread()
        )
        if error is None or pressed:
            return False
        self._source.fail(error)
        return True


class Lanes:
    """``n`` lanes of a job's stage; its items come from ``source``."""

    def __init__(self, job: Job, source: BatchSource, n: int) -> None:
        self.stage, self.commit, self.on_failure = job.stage, job.commit, job.on_failure
        self.source, self.n = source, n
        self._setting_up = threading.Lock()
        self._workers: dict[int, Any] = {}

    def start(self) -> list[threading.Thread]:
        """Start the threads, and return them: one a lane, one in all where items are awaited."""
        alone = self.stage.kind == "async"
        threads = [
            threading.Thread(
                target=self._loop if alone else self._lane,
                name=f"stereotrope-{self.stage.name}-{number}",
                daemon=True,
            )
            for number in range(min(self.n, 1) if alone else self.n)
        ]
        for thread in threads:
            thread.start()
        return threads

    def _lane(self) -> None:
        with Telling(self.source):
            worker, n = self._worker(), 1
            while pairs := self.source.next(n):
                begun = time.monotonic()
                done = self._landed(worker, pairs)
                while done < len(pairs) and self.source.is_open:
                    done += self._landed(worker, pairs[done:])
                if self.stage.quick:
                    per_batch = (time.monotonic() - begun) * self.stage.batch_size / done
                    n = min(max(1, int(_SECONDS / max(per_batch, 1e-9))), 2 * n, _MOST_BATCHES)

    def _landed(self, worker: Any, pairs: Sequence[Pair]) -> int:
        """Work on the first batch, and on further ones while it takes no time; say how many pairs landed."""
        begun, size, done = time.monotonic(), self.stage.batch_size, 0

        def outcomes() -> Iterator[_Outcome]:
            nonlocal done
            while done < len(pairs) and (done == 0 or time.monotonic() - begun < _SECONDS):
                rows = self._processed(worker, pairs[done : done + size])
                done += size
                yield from rows
                failed = [row[2].error for row in rows if isinstance(row[2], _Failed)]
                if any(isinstance(error, self.stage.halting) for error in failed):
                    return

        self._land(outcomes())
        return done

    def _loop(self) -> None:
        with Telling(self.source):
            asyncio.run(self._lanes())

    async def _lanes(self) -> None:
        worker = self._worker()
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(min(self.n, _COMMIT_THREADS)) as pool:

            async def lane() -> None:
                with Telling(self.source):
                    batch = await loop.run_in_executor(pool, self.source.next)
                    while batch:
                        outcomes = await self._awaited(worker, batch)
                        batch = await loop.run_in_executor(pool, self._land_and_next, outcomes)

            try:
                await asyncio.gather(*(lane() for _ in range(self.n)))
            finally:
                if hasattr(worker, "close"):
                    await worker.close()

    def _worker(self) -> Any:
        worker = self.stage.make()
        with self._setting_up:
            if id(worker) not in self._workers and hasattr(worker, "setup"):
                worker.setup()
            self._workers[id(worker)] = worker
        return worker

    async def _awaited(self, worker: Any, batch: Sequence[Pair]) -> list[_Outcome]:
        try:
            return self._paired(batch, await self._asked(worker, batch))
        except self.stage.expected as error:
            if self._is_final(batch, error):
                return [(*pair, _failure(error)) for pair in batch]
        return [row for pair in batch for row in await self._awaited(worker, [pair])]

    def _processed(self, worker: Any, batch: Sequence[Pair]) -> list[_Outcome]:
        try:
            return self._paired(batch, self._asked(worker, batch))
        except self.stage.expected as error:
            if self._is_final(batch, error):
                return [(*pair, _failure(error)) for pair in batch]
        return [row for pair in batch for row in self._processed(worker, [pair])]

    def _asked(self, worker: Any, batch: Sequence[Pair]) -> Any:
        items = [item for _, item in batch]
        return worker.process_batch(items) if self.stage.batch_size > 1 else worker.process(*items)

    def _paired(self, batch: Sequence[Pair], found: Any) -> list[_Outcome]:
        """Each item of a batch with its result; an exception among the results is that item's failure."""
        results = found if self.stage.batch_size > 1 else [found]
        return [
            (key, item, _failure(result) if isinstance(result, Exception) else result)
            for (key, item), result in zip(batch, results, strict=True)
        ]

    def _is_final(self, batch: Sequence[Pair], error: Exception) -> bool:
        return len(batch) == 1 or isinstance(error, (*self.stage.halting, *_FATAL))

    def _land_and_next(self, outcomes: Sequence[_Outcome]) -> Sequence[Pair]:
        self._land(outcomes)
        return self.source.next()

    def _land(self, outcomes: Iterable[_Outcome]) -> None:
        payloads: dict[str, Mapping[str, Any]] = {}
        failed: dict[str, Exception] = {}
        try:
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
        except BaseException:
            with contextlib.suppress(RunError):  # what was done before something unexpected is kept
                self.source.land(payloads, failed)
            raise
        self.source.land(payloads, failed)


@dataclass(frozen=True)
class _Failed:
    error: Exception


_Outcome = tuple[str, Any, Any]


def _failure(error: Exception) -> _Failed:
    """Take an expected exception as one item's outcome, unless it speaks of the run itself."""
    if isinstance(error, _FATAL):
        raise error
    return _Failed(error)
