"""What a log, which has no bars, is told now and then of work that goes on: what is done, and how far."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

_EVERY, _AT_MOST = 15.0, 60.0
"""Seconds between two lines, at first and of work that takes an hour or more."""


class Heartbeat:
    """How far each stage is, said in one line every now and then.

    say: Prints a line.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._stages: dict[str, tuple[int, int]] = {}
        self._doing: dict[str, str] = {}

    def advance(self, name: str, done: int, total: int | None = None) -> None:
        """So many items of a stage are finished now; ``total`` where it begins."""
        self._stages[name] = done, self._stages[name][1] if total is None else total

    def doing(self, name: str, what: str) -> None:
        """What a stage is at; empty where it is at none."""
        self._doing[name] = what

    @property
    def line(self) -> str:
        """The stages that are under way and how far they are."""
        parts = []
        for name, (done, total) in list(self._stages.items()):
            what = self._doing.get(name, "")
            if done < total or what:
                many = f"{done:,} of {total:,} done" if total > 1 else ""
                parts.append(f"{name}: {', '.join(filter(None, [what, many])) or 'at work'}")
        last = next(reversed(list(self._stages)), None)
        return "; ".join(parts) or ("reading the audit" if last is None else f"after {last}: at work")

    @contextlib.contextmanager
    def beating(self, every: float = _EVERY, at_most: float = _AT_MOST) -> Iterator[None]:
        """Say it meanwhile, less often the longer it takes."""
        ended, begun = threading.Event(), time.monotonic()

        def beat() -> None:
            while not ended.wait(min(at_most, max(every, (time.monotonic() - begun) / 60))):
                self._say(f"{self.line} ({time.monotonic() - begun:.0f} s)")

        thread = threading.Thread(target=beat, daemon=True, name="heartbeat")
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
