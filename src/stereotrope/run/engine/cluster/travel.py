"""What travels from the head to the hands, and what stays: of that, stand-ins are found where it arrives."""

from __future__ import annotations

import io
import pickle
import sys
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from stereotrope.clients import Account
from stereotrope.clients.http import PerLoop
from stereotrope.run.folder import RunFolder
from stereotrope.run.ledger import Ledger
from stereotrope.run.store import PictureStore

_STAYS = {
    RunFolder: "folder",
    Ledger: "ledger",
    PictureStore: "store",
    Account: "account",
    threading.Event: "stop",
}
"""Of a type that stays → what stands for it where it arrives."""
_LOCKS: tuple[type, ...] = (type(threading.Lock()), type(threading.RLock()))
_CACHED = type(lru_cache(abs))

Mark = tuple[str, Any]
"""Kind of a thing that stayed, and what there is to say of it."""


def packed_for_hands(thing: Any, number_of: Callable[[Account], int]) -> bytes:
    """Return a thing as bytes; what belongs to the head is marked, and no connection or lock travels.

    number_of: Of an account, by which the head knows it again.
    """
    from ray import cloudpickle  # noqa: PLC0415

    class Packing(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, part: Any) -> Mark | None:
            kind = next((name for stays, name in _STAYS.items() if isinstance(part, stays)), None)
            if kind is None:
                return None
            return kind, (number_of(part), part.max_cost) if isinstance(part, Account) else None

        def reducer_override(self, part: Any) -> Any:
            if isinstance(part, _LOCKS):
                return threading.RLock, ()
            if type(part) is threading.local:
                return threading.local, ()
            if type(part) is PerLoop:
                return PerLoop, part.way
            if isinstance(part, _CACHED) and not _is_importable(part):
                return _cached_anew, (part.__wrapped__, part.cache_parameters())
            return super().reducer_override(part)

    out = io.BytesIO()
    Packing(out).dump(thing)
    return out.getvalue()


def _is_importable(function: Any) -> bool:
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is function


def _cached_anew(function: Callable[..., Any], parameters: Mapping[str, Any]) -> Callable[..., Any]:
    cached: Callable[..., Any] = lru_cache(**parameters)(function)
    return cached


def unpacked_there(data: bytes, stand_in: Callable[[str, Any], Any]) -> Any:
    """Return what was packed; ``stand_in`` gives what stands for a thing that stayed, by its mark."""

    class Unpacking(pickle.Unpickler):
        def persistent_load(self, mark: Mark) -> Any:
            return stand_in(*mark)

    return Unpacking(io.BytesIO(data)).load()
