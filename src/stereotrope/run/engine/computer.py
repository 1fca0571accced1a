"""The crew of this computer: threads, and processes for work that holds the interpreter."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import queue
import subprocess
import sys
import threading
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Self

from stereotrope.run.engine import process
from stereotrope.run.engine.lanes import Lanes
from stereotrope.run.engine.work import OpenJob, Threads

_A_PROCESS = 64
"""Items for which a process is worth its start, which takes most of a second."""
_MOST_PROCESSES = 8
_ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
"""Each process computes on one processor."""


def processors() -> int:
    """How many processors this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def begun_process(module: ModuleType, **environment: str) -> subprocess.Popen[bytes]:
    """Run the file of a module by the same Python; who asks writes to it and reads what it answers.

    Raises OSError: No further process can be started, or it is not known by which Python.
    """
    if not sys.executable:
        raise OSError("it is not known which Python runs this")
    return subprocess.Popen(
        [sys.executable, "-P", str(module.__file__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,  # Ctrl-C does not reach it: when to end is ours to say
        env={**os.environ, **environment},
    )


def end_process(running: subprocess.Popen[bytes]) -> None:
    """End a process, whatever it is at."""
    running.kill()
    running.communicate()


class ThisComputer(Threads):
    """Threads, and beside them processes, started where they are worth it; they end with the context."""

    def __init__(self) -> None:
        self._processes = _Processes()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def lanes(self, job: OpenJob) -> Lanes:
        """Return the lanes of a job: each with a process of its own where these are worth it."""
        stage = job.job.stage
        n_items = job.n_batches * stage.batch_size
        n = min(processors(), _MOST_PROCESSES, n_items // _A_PROCESS) if stage.in_processes else 0
        if n < 2:
            return super().lanes(job)
        self._processes.have(n)
        delegate = _Delegate(stage.make(), self._processes)
        return Lanes(replace(job.job, stage=replace(stage, make=lambda: delegate)), job, n)


class _Delegate:
    """A worker whose work is done by processes; here where it cannot travel, and where they are no more."""

    _numbers = itertools.count()

    def __init__(self, worker: Any, processes: _Processes) -> None:
        self._worker, self._processes = worker, processes
        self._number, self._guard, self._is_ready = next(self._numbers), threading.Lock(), False
        self._packed = _packed(worker)

    def process(self, item: Any) -> Any:
        return self._done("process", item)

    def process_batch(self, items: Any) -> Any:
        return self._done("process_batch", items)

    def _done(self, method: str, given: Any) -> Any:
        packed = None if self._packed is None else _packed(given)
        if self._packed is not None and packed is not None:
            match self._processes.ask(self._number, self._packed, method, packed):
                case "result", result:
                    return result
                case "error", error:
                    raise pickle.loads(error)
                case "cannot", _:
                    self._packed = None
        return getattr(self._here(), method)(given)

    def _here(self) -> Any:
        with self._guard:
            if not self._is_ready and hasattr(self._worker, "setup"):
                self._worker.setup()
            self._is_ready = True
        return self._worker


def _packed(thing: Any) -> bytes | None:
    """A thing as bytes; None where it cannot travel, or belongs to a script that nobody else can import."""
    try:
        data = pickle.dumps(thing)
    except Exception:  # noqa: BLE001
        return None
    return None if b"__main__" in data else data


@dataclass(eq=False)
class _Process:
    running: subprocess.Popen[bytes]
    knows: set[int] = field(default_factory=set)


class _Processes:
    """Processes that work; each is started once, and kept until they are closed."""

    def __init__(self) -> None:
        self._all: list[_Process] = []
        self._free: queue.SimpleQueue[_Process | None] = queue.SimpleQueue()
        """None stands for one that could not be started, or has ended."""
        self._n = 0

    def have(self, n: int) -> None:
        """Start as many as are missing."""
        for _ in range(n - self._n):
            self._free.put(self._started())
        self._n = max(self._n, n)

    def _started(self) -> _Process | None:
        with contextlib.suppress(OSError):  # no further process can be started
            running = begun_process(process, **_ALONE)
            self._all.append(_Process(running))
            assert running.stdin is not None
            pickle.dump(sys.path, running.stdin)
            return self._all[-1]
        return None

    def ask(self, number: int, packed: bytes, method: str, given: bytes) -> process.ProcessReply | None:
        """Have a free one work, once there is one; None where it is no more."""
        one = self._free.get()
        try:
            if one is None:
                return None
            assert one.running.stdin is not None
            assert one.running.stdout is not None
            worker = None if number in one.knows else packed
            answer = process.reply_of(one.running.stdin, one.running.stdout, number, worker, method, given)
            one.knows.add(number)
        except (EOFError, OSError):
            one = None
            return None
        finally:
            self._free.put(one)
        return answer

    def close(self) -> None:
        """End them."""
        for one in self._all:
            end_process(one.running)
        self._all.clear()
