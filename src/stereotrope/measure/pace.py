"""How far a measure has come: told to whom listens, who may raise to end it there."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_Part = TypeVar("_Part")
Listener = Callable[[int, int], None]
"""Is told how many parts are done, and of how many, before each part."""
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have what is computed meanwhile say how far it is; what the listener raises ends it."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def paced(parts: Sequence[_Part]) -> Iterator[_Part]:
    """Return the parts of long work one after another, each told to whom listens before it is begun."""
    for done, part in enumerate(parts):
        if (listener := _LISTENER.get()) is not None:
            listener(done, len(parts))
        yield part
