"""A process that works for the lanes of another: this file, run by the same Python.

It imports what a worker that it is sent belongs to, never its caller's ``__main__``, so that notebooks and
scripts without a guard can have it too. It ends when its input does, whatever became of the caller.
"""

import contextlib
import importlib
import os
import pickle
import sys
import traceback
from collections.abc import Collection
from typing import IO, Any, Literal, NamedTuple

READY = b"ready to work\n"
"""What a process writes first: what stands before it on its output, others wrote while Python began."""


class Errand(NamedTuple):
    """What a process is to do, in what can always be read: nothing in it belongs to a package.

    worker: Number of the worker, and ``packed``, its bytes, where the process does not have it yet.
    method, given: Of the worker, with its argument as bytes; no method where it is only to be made ready.
    alive: Numbers of the workers that may still be asked; others are forgotten.
    """

    worker: int
    packed: bytes | None
    method: str | None
    given: bytes
    alive: Collection[int]


ProcessReply = tuple[Literal["result", "error", "no worker", "no result"], bytes]
"""What came of an errand: a result or an exception as bytes, or that this process cannot give any."""


def reply_of(errand: Errand, to: IO[bytes], by: IO[bytes]) -> ProcessReply:
    """Have a process work.

    Raises EOFError, OSError: The process has ended.
    """
    to.write(pickle.dumps(tuple(errand)))
    to.flush()
    try:
        reply: ProcessReply = pickle.load(by)
    except pickle.UnpicklingError as error:  # it ended while it wrote
        raise EOFError(str(error)) from error
    return reply


def failure_as_bytes(error: BaseException) -> bytes:
    """Return an exception as bytes; one that cannot travel as another of the nearest kind that can."""
    state = {name: value for name, value in vars(error).items() if _travels(value)}
    as_it_was = tuple(arg if _travels(arg) else str(arg) for arg in error.args)
    anew = (
        _Anew(kind, args, kept)
        for kind in type(error).__mro__
        for args, kept in ((as_it_was, state), ((str(error),), {}))
    )
    for come in (error, *anew):
        with contextlib.suppress(Exception):
            data = pickle.dumps(come)
            if str(pickle.loads(data)) == str(error):
                return data
    return pickle.dumps(_Anew(Exception, (str(error),), {}))


class _Anew:
    """Is read as an exception of a kind, whatever its ``__init__`` asks for."""

    def __init__(self, kind: type, args: tuple[Any, ...], state: dict[str, Any]) -> None:
        self._made_of = kind, args, state

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_anew, self._made_of


def _made_anew(kind: type[BaseException], args: tuple[Any, ...], state: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(state)
    return error


def _travels(thing: Any) -> bool:
    try:
        pickle.loads(pickle.dumps(thing))
    except Exception:  # noqa: BLE001
        return False
    return True


def serve(errands: IO[bytes], replies: IO[bytes]) -> None:
    """Answer until there is no further errand."""
    workers: dict[int, Any] = {}
    while True:
        errand = Errand(*pickle.load(errands))
        for number in workers.keys() - set(errand.alive):
            del workers[number]
        replies.write(pickle.dumps(_replied(workers, errand)))
        replies.flush()


def _replied(workers: dict[int, Any], errand: Errand) -> ProcessReply:
    try:
        if errand.packed is not None:
            worker = pickle.loads(errand.packed)
            if hasattr(worker, "setup"):
                worker.setup()
            workers[errand.worker] = worker
        if errand.method is None:
            return "result", pickle.dumps(None)
        work, given = getattr(workers[errand.worker], errand.method), pickle.loads(errand.given)
    except Exception:  # noqa: BLE001
        return "no worker", b""
    try:
        result = work(given)
    except Exception as error:  # noqa: BLE001
        error.add_note(traceback.format_exc())
        return "error", failure_as_bytes(error)
    try:
        return "result", pickle.dumps(result)
    except Exception:  # noqa: BLE001
        return "no result", b""


def _begin() -> None:
    """Take over input and output, so that what a library reads or writes is no errand and no reply."""
    errands, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    replies.write(READY)
    replies.flush()
    path, n_processes = pickle.load(errands)
    sys.path[:] = path
    importlib.import_module("stereotrope.pictures").share_room(n_processes)
    # Not this file's own: what it pickles would be of ``__main__``.
    importlib.import_module("stereotrope.run.engine.process").serve(errands, replies)


if __name__ == "__main__":
    try:
        _begin()
    except (EOFError, OSError, pickle.UnpicklingError):  # who asks has ended
        pass
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    os._exit(0)  # also where a library left threads at work
