"""The crew of this computer: threads, and processes for work that holds the interpreter."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import weakref
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any, Self

from stereotrope.errors import Interrupted
from stereotrope.run.engine import process
from stereotrope.run.engine.lanes import Lanes
from stereotrope.run.engine.process import READY, Errand, ProcessReply, reply_of
from stereotrope.run.engine.stage import Stage
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
    """Run the file of a module by the same Python; who asks writes to it and reads what it replies.

    Raises OSError: No further process can be started, or it is not known by which Python.
    """
    if not sys.executable:
        raise OSError("it is not known which Python runs this")
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return subprocess.Popen(
        [sys.executable, *flags, "-P", str(module.__file__)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C does not reach it, and no terminal stops it
        env={**os.environ, **environment},
    )


def end_process(running: subprocess.Popen[bytes]) -> None:
    """End a process, whatever it is at, and what it has started."""
    with contextlib.suppress(AttributeError, OSError):  # there are no groups on Windows
        os.killpg(running.pid, signal.SIGKILL)
    running.kill()
    for stream in (running.stdin, running.stdout):
        with contextlib.suppress(OSError):  # what was not sent yet goes nowhere
            if stream is not None:
                stream.close()
    running.wait()


class ThisComputer(Threads):
    """Threads, and beside them processes, started where they are worth it; they end with the context."""

    def __init__(self) -> None:
        self._processes = _Processes()

    def __enter__(self) -> Self:
        self._processes = _Processes()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    def lanes(self, job: OpenJob) -> Lanes:
        """Return the lanes of a job: each with a process of its own where these are worth it."""
        stage = job.job.stage
        asked = stage.in_processes and stage.kind == "threads"
        n = min(processors(), _MOST_PROCESSES, job.n_items // _A_PROCESS, job.n_batches) if asked else 0
        delegate = _Delegate(stage, self._processes) if n > 1 else None
        if delegate is None or delegate.packed is None:
            return super().lanes(job)
        self._processes.have(n, delegate)
        return Lanes(replace(job.job, stage=replace(stage, make=lambda: delegate)), job, n)


class _Delegate:
    """A worker whose work is done by processes; here where it cannot travel, and where they are no more."""

    _numbers = itertools.count()

    def __init__(self, stage: Stage, processes: _Processes) -> None:
        self.number, self._processes = next(self._numbers), processes
        self._here, self._is_ready = stage.make(), False
        self._guard, self._turns = threading.Lock(), threading.BoundedSemaphore(stage.concurrency)
        self.packed = _packed(self._here)

    def setup(self) -> None:
        """Make a process ready, or the worker here where no process can be: this may be why."""
        self._asked(None, b"")
        if self.packed is None:
            self._make_ready()

    def process(self, item: Any) -> Any:
        return self._done("process", item)

    def process_batch(self, items: Any) -> Any:
        return self._done("process_batch", items)

    def _done(self, method: str, given: Any) -> Any:
        if self.packed is not None and (packed := _packed(given)) is not None:
            kind, come = self._asked(method, packed) or ("no result", b"")
            if kind == "error":
                raise pickle.loads(come)
            with contextlib.suppress(Exception):  # what cannot be read here is made here
                if kind == "result":
                    return pickle.loads(come)
        self._make_ready()
        with self._turns:
            return getattr(self._here, method)(given)

    def _asked(self, method: str | None, given: bytes) -> ProcessReply | None:
        if self.packed is None:
            return None
        reply = self._processes.ask(self, method, given)
        if reply is not None and reply[0] == "no worker":
            self.packed = None
        return reply

    def _make_ready(self) -> None:
        with self._guard:
            if not self._is_ready and hasattr(self._here, "setup"):
                self._here.setup()
            self._is_ready = True


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
    is_ready: bool = False
    knows: set[int] = field(default_factory=set)

    def ask(self, errand: Errand) -> ProcessReply:
        assert self.running.stdin is not None
        assert self.running.stdout is not None
        while not self.is_ready:
            line = self.running.stdout.readline()
            if not line:
                raise EOFError
            self.is_ready = line.endswith(READY)
        return reply_of(errand, self.running.stdin, self.running.stdout)


class _Processes:
    """Processes that work; each is started once, and kept until they are closed."""

    def __init__(self) -> None:
        self._all: list[_Process] = []
        self._free: queue.SimpleQueue[_Process | None] = queue.SimpleQueue()
        """None stands for one that could not be started, or has ended."""
        self._n, self._is_closed = 0, False
        self._alive: weakref.WeakValueDictionary[int, _Delegate] = weakref.WeakValueDictionary()

    def have(self, n: int, of: _Delegate) -> None:
        """Start as many as are missing; what is of a delegate is kept as long as that one is there."""
        self._alive[of.number] = of
        for _ in range(n - self._n):
            self._free.put(self._started(n))
        self._n = max(self._n, n)

    def _started(self, n: int) -> _Process | None:
        with contextlib.suppress(OSError):  # no further process can be started
            running = begun_process(process, **_ALONE)
            self._all.append(_Process(running))
            assert running.stdin is not None
            pickle.dump((sys.path, n), running.stdin)
            running.stdin.flush()  # it imports what it needs until it is asked
            return self._all[-1]
        return None

    def ask(self, of: _Delegate, method: str | None, given: bytes) -> ProcessReply | None:
        """Have a free one work, once there is one; None where it is no more.

        Raises Interrupted: They were closed.
        """
        one = self._free.get()
        try:
            if one is None:
                return None
            alive = tuple(self._alive)
            packed = None if of.number in one.knows else of.packed
            reply = one.ask(Errand(of.number, packed, method, given, alive))
            one.knows &= set(alive)
            if reply[0] != "no worker":
                one.knows.add(of.number)
        except (EOFError, OSError, ValueError):
            one = None
            if self._is_closed:
                raise Interrupted("nobody works any more; everything finished is kept") from None
            return None
        finally:
            self._free.put(one)
        return reply

    def close(self) -> None:
        """End them."""
        self._is_closed = True
        for one in self._all:
            end_process(one.running)
