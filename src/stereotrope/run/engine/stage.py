"""What a stage is, its items, and what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import polars as pl

from stereotrope.errors import StereotropeError

_MADE_AT_ONCE = 2_000

Commit = Callable[[str, Any, Any], Mapping[str, Any]]
OnFailure = Callable[[str, Any, Exception], Mapping[str, Any] | None]
Pair = tuple[str, Any]


@dataclass(frozen=True)
class Stage:
    """How one kind of work is done.

    make: Makes a worker, once a thread (once in all for ``kind="async"``): an object with ``process(item) →
        result``, a coroutine function where ``kind`` is ``"async"``. Its ``setup()``, where it has one, is
        called once for each distinct object before its first item; its coroutine ``close()``, where an
        ``"async"`` worker has one, is awaited after the last. ``make`` may return the same object each time
        if that object's ``process`` is safe to call from several threads.
    kind: ``threads`` for work that computes or blocks, ``async`` for awaitable requests.
    concurrency: Items (batches) in flight at most.
    batch_size: With more than 1 the worker has ``process_batch(items) → results`` (a coroutine function where
        ``kind`` is ``"async"``); an expected exception among the results is that item's failure. A batch that
        fails as a whole in an expected way is tried again item by item.
    expected: Exceptions that are one item's failure and let the rest go on.
    halting: Expected exceptions after which no further item is begun: the model cannot be reached, the budget
        is spent.
    device: What the worker computes on: ``cuda``, or ``auto`` where there is one; on a cluster it gets one.
    quick: Whether its items cost nothing: what takes a thread 20 ms is recorded together, and done again
        after a kill.
    in_processes: Whether its work holds the interpreter, so that threads would wait for each other: of many
        items each processor has a process, for which what ``make`` returns and the items are pickled. Where
        they cannot be, ``concurrency`` threads work.
    """

    name: str
    make: Callable[[], Any]
    kind: Literal["threads", "async"] = "threads"
    concurrency: int = 1
    batch_size: int = 1
    expected: tuple[type[Exception], ...] = (StereotropeError,)
    halting: tuple[type[Exception], ...] = ()
    device: str = "cpu"
    quick: bool = False
    in_processes: bool = False

    def __post_init__(self) -> None:
        if self.concurrency < 1 or self.batch_size < 1:
            raise ValueError(f"stage {self.name}: concurrency and batch_size must be at least 1")


class Items:
    """The items of a stage: all their keys, and objects of those alone that are worked at.

    keys: One an item; of equal keys the first counts.
    make: ``make(places) → items``: those whose keys stand at these places, in their order.
    """

    def __init__(self, keys: pl.Series, make: Callable[[pl.Series], Iterable[Any]]) -> None:
        self.keys, self._make = keys, make

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Self:
        """Items that are there already, each with its key."""
        listed = list(pairs)
        keys = pl.Series([key for key, _ in listed], dtype=pl.String)
        return cls(keys, lambda places: [listed[at][1] for at in places])

    def __len__(self) -> int:
        return self.keys.n_unique()

    def parts(self) -> Iterator[list[Pair]]:
        """Yield all with their keys, those of equal keys too, some at a time."""
        for at in range(0, self.keys.len(), _MADE_AT_ONCE):
            places = pl.int_range(at, min(at + _MADE_AT_ONCE, self.keys.len()), eager=True)
            yield list(self.pairs(places))

    def pairs(self, places: pl.Series) -> Iterator[Pair]:
        """Yield key and item of these places; some are made at a time."""
        for at in range(0, places.len(), _MADE_AT_ONCE):
            part = places.slice(at, _MADE_AT_ONCE)
            yield from zip(self.keys.gather(part), self._make(part), strict=True)


@dataclass
class Summary:
    """What became of the items of one call.

    total, skipped, done: Items asked for; finished before; finished now.
    recorded: How many failed and were recorded so by ``on_failure``.
    failed: Key → the exception of each item that failed in an expected way. It is tried again next time
        unless ``on_failure`` recorded it.
    halted: The exception after which no further item was begun, None where all were tried.
    """

    total: int = 0
    skipped: int = 0
    done: int = 0
    recorded: int = 0
    failed: dict[str, Exception] = field(default_factory=dict)
    halted: Exception | None = None

    @property
    def left(self) -> int:
        """Items that the ledger still lacks."""
        return self.total - self.skipped - self.done - self.recorded


@dataclass(frozen=True)
class Job:
    """A stage with its items.

    items: Those whose keys the ledger has are skipped.
    commit: ``commit(key, item, result) → payload``: keeps what is large (a picture) and returns what goes
        into the ledger. Without it the result itself is the payload.
    on_failure: ``on_failure(key, item, error) → payload | None``: a payload records the failure as this
        item's outcome, None leaves the item to be tried again next time.
    progress: Called with (finished, total) in the thread that runs the job, first before any item is begun.
    """

    stage: Stage
    items: Items
    commit: Commit | None = None
    on_failure: OnFailure | None = None
    progress: Callable[[int, int], None] | None = None
