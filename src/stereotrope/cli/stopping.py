"""Ctrl-C and SIGTERM: how a command ends, and what continues it."""

import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from stereotrope.errors import Interrupted

_KEEPS = threading.Event()
"""Set once the command has begun work of which it keeps what is finished."""


def begins_to_keep() -> None:
    """Say that from here on the command keeps what it has finished."""
    _KEEPS.set()


def keeps() -> bool:
    """Whether the command keeps what it has finished."""
    return _KEEPS.is_set()


def command_line() -> str:
    """The command as it can be pasted into a shell."""
    program = Path(sys.argv[0]).name
    started = ["python", "-m", "stereotrope"] if program == "__main__.py" else [program]
    return shlex.join([*started, *sys.argv[1:]])


def stopped(where: str, number: int) -> Interrupted:
    """The error of a command that a signal stopped, with the command that continues or begins again."""
    error = Interrupted(f"{where}\n{'continue' if keeps() else 'begin again'} with: {command_line()}")
    error.exit_code = 128 + number
    return error


@contextmanager
def handling(on_signal: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Let a function answer Ctrl-C and SIGTERM, where this is the main thread, which alone gets them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {s: signal.signal(s, on_signal) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def signals_end_the_command() -> Iterator[None]:
    """End a command at once at Ctrl-C or SIGTERM, where it has not begun or has ended its own work.

    Raises Interrupted: One came.
    """
    received: list[int] = []
    _KEEPS.clear()

    def on_signal(number: int, frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt  # which nothing between here and there takes for its own error

    with handling(on_signal):
        try:
            yield
        except (KeyboardInterrupt, SystemExit):  # typer makes an exit of it
            if not received:
                raise
            kept = "everything finished is kept" if keeps() else "this command had nothing to keep yet"
            raise stopped(f"stopped; {kept}", received[0]) from None
