"""A process that works for the lanes of another: this file, run by the same Python.

It imports what a worker that it is sent belongs to, never its caller's ``__main__``, so that notebooks and
scripts without a guard can have it too. It ends when its input does, whatever became of the caller.
"""

import contextlib
import os
import pickle
import sys
import traceback
from typing import IO, Any, Literal

ProcessReply = tuple[Literal["result", "error", "cannot"], Any]
"""What came of a question: a result; an exception as bytes; or why the process can do no such work."""


def reply_of(to: IO[bytes], by: IO[bytes], *question: Any) -> ProcessReply:
    """Have a process work: number of a worker, its bytes where it is new, method, bytes of the argument.

    Raises EOFError, OSError: The process has ended.
    """
    to.write(pickle.dumps(question))
    to.flush()
    try:
        reply: ProcessReply = pickle.load(by)
    except pickle.UnpicklingError as error:  # it ended while it wrote
        raise EOFError(str(error)) from error
    return reply


def failure_as_bytes(error: BaseException) -> bytes:
    """Return an exception as bytes; one that cannot travel as another of the nearest kind that can."""
    for kind in type(error).__mro__:
        try:
            one = error if kind is type(error) else kind(str(error))
            data = pickle.dumps(one)
            pickle.loads(data)
        except Exception:  # noqa: BLE001
            continue
        return data
    raise AssertionError(error)  # object's is the last, and travels


def _answer(workers: dict[int, Any], number: int, packed: bytes | None, method: str, given: bytes) -> bytes:
    try:
        if packed is not None:
            workers[number] = pickle.loads(packed)
            if hasattr(workers[number], "setup"):
                workers[number].setup()
        work, argument = getattr(workers[number], method), pickle.loads(given)
    except Exception as error:  # noqa: BLE001
        return pickle.dumps(("cannot", repr(error)))
    try:
        result = work(argument)
    except Exception as error:  # noqa: BLE001
        error.add_note(traceback.format_exc())
        return pickle.dumps(("error", failure_as_bytes(error)))
    try:
        return pickle.dumps(("result", result))
    except Exception as error:  # noqa: BLE001
        return pickle.dumps(("cannot", repr(error)))


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    workers: dict[int, Any] = {}
    with contextlib.suppress(EOFError, pickle.UnpicklingError):  # who asks has ended
        sys.path[:] = pickle.load(sys.stdin.buffer)
        while True:
            question = pickle.load(sys.stdin.buffer)
            answers.write(_answer(workers, *question))
            answers.flush()


if __name__ == "__main__":
    try:
        _serve()
    except BrokenPipeError:  # who asked was killed
        os._exit(1)
