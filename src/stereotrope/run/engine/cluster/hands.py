"""Where the work is done: an actor of the cluster with the lanes of stages, and stand-ins for the head."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import threading
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from stereotrope.clients import Call, Endpoint
from stereotrope.clients import limiter as limits
from stereotrope.run.engine.cluster.travel import unpacked_there
from stereotrope.run.engine.lanes import Lanes
from stereotrope.run.engine.process import failure_as_bytes
from stereotrope.run.engine.stage import Job, Pair
from stereotrope.run.store import PictureStore, StoredPicture


class Hand:
    """One process that works, for as long as the run goes on.

    desk: The actor where the head is asked.
    name: Of this hand, unique in the run.
    folder: The run folder, as the head knows it.
    token: Name of a file in it, and what that holds: where it is found, pictures are written there.
    pictures: URL where they lie, if not in the folder.
    """

    def __init__(
        self, desk: Any, name: str, folder: str, token: tuple[str, str], pictures: str | None = None
    ) -> None:
        self._head = _Head(desk, name)
        self._folder = folder
        self._stop = threading.Event()
        near = pictures is not None or is_shared(folder, token)
        self._store: Any = PictureStore(folder, pictures) if near else _StoreThere(self._head)
        limits.LIMITERS = LimitersThere(self._head)

    def work(self, number: int, packed: bytes, n: int) -> None:
        """Work on a job with ``n`` lanes until the head has nothing more of it."""
        source = _BatchesThere(self._head, number, self._unpacked)
        with _Failing(source):
            job: Job = self._unpacked(packed)
            for thread in Lanes(job, source, n).start():
                thread.join()

    def stop(self) -> None:
        """Let those give up who wait before they send a request."""
        self._stop.set()

    def _unpacked(self, data: bytes) -> Any:
        return unpacked_there(data, self._stand_in)

    def _stand_in(self, kind: str, detail: Any) -> Any:
        match kind:
            case "account":
                number, max_cost = detail
                return _AccountThere(self._head, number, max_cost, self._stop)
            case "stop":
                return self._stop
            case "store":
                return self._store
            case "ledger":
                return _LedgerThere(self._head)
            case _:
                return _FolderThere(Path(self._folder), self._store, _LedgerThere(self._head))


def is_shared(folder: str, token: tuple[str, str]) -> bool:
    """Whether the run folder is the one that the head sees."""
    with contextlib.suppress(OSError):
        return (Path(folder) / token[0]).read_text() == token[1]
    return False


class _Head:
    """Asks the head, from any thread or loop."""

    def __init__(self, desk: Any, name: str) -> None:
        import ray  # noqa: PLC0415

        self._get, self._desk, self.name = ray.get, desk, name

    def ask(self, what: str, *details: Any) -> Any:
        """Ask, and wait for the answer; raises what the head raised."""
        return _told(self._get(self._desk.ask.remote(what, self.name, details)))

    async def asked(self, what: str, *details: Any) -> Any:
        """Ask as a coroutine."""
        return _told(await self._desk.ask.remote(what, self.name, details))

    def tell(self, what: str, *details: Any) -> None:
        """Say something that is answered by nothing."""
        self._desk.ask.remote(what, self.name, details)


def _told(answer: tuple[bool, Any]) -> Any:
    is_well, said = answer
    if is_well:
        return said
    raise pickle.loads(said)


class _BatchesThere:
    """The batches of a job, which the head hands out."""

    def __init__(self, head: _Head, number: int, unpacked: Any) -> None:
        self._head, self._number, self._unpacked = head, number, unpacked

    is_open = True

    def next(self, n: int = 1) -> Sequence[Pair]:
        """One batch, however many are asked for: the head takes back what a hand has as a whole."""
        packed = self._head.ask("next", self._number)
        return self._unpacked(packed) if packed else ()

    def land(self, payloads: Mapping[str, Any], failed: Mapping[str, Exception]) -> None:
        told = {key: failure_as_bytes(error) for key, error in failed.items()}
        self._head.ask("land", self._number, dict(payloads), told)

    def fail(self, error: BaseException) -> None:
        self._head.ask("fail", self._number, failure_as_bytes(error))


class _Failing:
    """Tells the head what keeps a hand from beginning."""

    def __init__(self, source: _BatchesThere) -> None:
        self._source = source

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception):
            self._source.fail(error)
        return isinstance(error, Exception)


@dataclass(frozen=True)
class _FolderThere:
    path: Path
    store: Any
    ledger: Any


class _LedgerThere:
    def __init__(self, head: _Head) -> None:
        self._head = head

    def put(self, stage: str, key: str, payload: Mapping[str, Any]) -> None:
        self._head.ask("put", stage, {key: dict(payload)})


class _StoreThere:
    """Pictures that travel through the head, where the run folder is not shared."""

    def __init__(self, head: _Head) -> None:
        self._head = head

    def put(self, data: bytes) -> StoredPicture:
        return StoredPicture(*self._head.ask("keep", data))

    def get(self, path: str) -> bytes:
        data: bytes = self._head.ask("read", path)
        return data


class _AccountThere:
    """The account of the head; what is not begun there is not sent."""

    def __init__(self, head: _Head, number: int, max_cost: float | None, stop: threading.Event) -> None:
        self._head, self._number, self.max_cost, self.stop = head, number, max_cost, stop

    def say(self, message: str) -> None:
        self._head.tell("say", self._number, message)

    def check(self, *who: str, **held: Any) -> None:
        """Nothing: :meth:`begun` raises the same before anything is sent."""

    async def begun(self, *who: str, **held: Any) -> str:
        key: str = await self._head.asked("begin", self._number, who, held)
        return key

    async def finished(self, key: str, call: Call) -> None:
        await self._head.asked("finish", self._number, key, asdict(call))


class LimitersThere(limits.Limiters):
    """The limiters of the head, one a key and address for the whole cluster."""

    def __init__(self, head: _Head) -> None:
        super().__init__()
        self._head = head

    def of(self, endpoint: Endpoint, owner: object) -> Any:
        """Return what stands for the limiter of an address and key."""
        return _LimiterThere(self._head, endpoint)


class _LimiterThere:
    def __init__(self, head: _Head, endpoint: Endpoint) -> None:
        self._head, self._endpoint = head, endpoint

    @contextlib.asynccontextmanager
    async def turn(self, model: str, tokens: int = 0) -> AsyncIterator[_TurnThere]:
        ticket = uuid.uuid4().hex
        try:
            which = limits.name_of(self._endpoint)
            await self._head.asked("turn", ticket, which, self._endpoint, model, tokens)
            yield _TurnThere(self._head, ticket)
        finally:
            self._head.tell("leave", ticket)

    def answered(self, turn: _TurnThere, tokens: int | None) -> None:
        self._head.tell("answered", turn.ticket, tokens)

    def limited(self, turn: _TurnThere, wait: float) -> None:
        self._head.tell("limited", turn.ticket, wait)


@dataclass
class _TurnThere:
    head: _Head
    ticket: str
    sent: float = field(default=0.0)

    async def punctual(self) -> None:
        await self.head.asked("punctual", self.ticket)
        self.sent = asyncio.get_running_loop().time()
