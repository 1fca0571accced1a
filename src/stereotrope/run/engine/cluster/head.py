"""What the head answers to the hands: batches, the ledger, pictures, the account, and leave to send."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

from stereotrope.clients import Account, Call, Endpoint
from stereotrope.clients import limiter as limits
from stereotrope.run.engine.cluster.desk import HeadAnswer
from stereotrope.run.engine.cluster.travel import packed_for_hands
from stereotrope.run.engine.process import failure_as_bytes
from stereotrope.run.engine.stage import Pair
from stereotrope.run.engine.work import OpenJob
from stereotrope.run.folder import RunFolder

_THREADS = 32


class Head:
    """Answers the hands with the objects of this process: the run folder and its ledger, account, limiters.

    jobs: Number → the job that is carried out under it.
    landed: Batches that were recorded so far.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.jobs: dict[int, OpenJob] = {}
        self.landed = 0
        self.loop = asyncio.new_event_loop()
        self._accounts: list[Account] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._guard = threading.Lock()
        self._in_hand: dict[tuple[int, str], tuple[str, Sequence[Pair]]] = {}
        self._turns: dict[str, _OpenTurn] = {}
        self._owners: dict[tuple[str, Endpoint], _Owner] = {}
        self._gone: set[str] = set()
        self._pool = ThreadPoolExecutor(_THREADS, "stereotrope-head")
        self._waiting: Mapping[str, Callable[..., Any]] = {
            "turn": self._turn,
            "punctual": self._punctual,
            "answered": self._answered,
            "limited": self._limited,
            "leave": self._leave,
        }
        self._blocking: Mapping[str, Callable[..., Any]] = {
            "next": self._next,
            "land": self._land,
            "fail": self._fail,
            "put": lambda _, stage, payloads: folder.ledger.put_many(stage, payloads),
            "keep": lambda _, data: tuple(folder.store.put(data)),
            "read": lambda _, path: folder.store.get(path),
            "begin": lambda _, number, who, held: self._accounts[number].begin(*who, **held),
            "finish": lambda _, number, key, call: self._accounts[number].finish(key, Call(**call)),
            "say": self._say,
        }

    def packed(self, thing: Any) -> bytes:
        """Return what a hand may be given, as bytes."""
        return packed_for_hands(thing, self.number_of)

    def number_of(self, account: Account) -> int:
        """Of an account, by which hands name it."""
        with self._guard:
            if account not in self._accounts:
                self._accounts.append(account)
            return self._accounts.index(account)

    def begin(self, answering: Coroutine[Any, Any, None]) -> None:
        """Answer beside other answers."""
        task = self.loop.create_task(answering)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def answer(self, what: str, hand: str, details: tuple[Any, ...]) -> HeadAnswer:
        """Answer a question; an exception is an answer too."""
        try:
            if what in self._waiting:
                return True, await self._waiting[what](hand, *details)
            return True, await self.loop.run_in_executor(self._pool, self._blocking[what], hand, *details)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            return False, failure_as_bytes(error)

    def has(self, number: int, hand: str) -> bool:
        """Whether a hand has a batch of a job."""
        with self._guard:
            return any(job == number and of == hand for (job, _), (of, _) in self._in_hand.items())

    def forget(self, hand: str) -> None:
        """Take back what a hand had that is no more: its batches, and its leave to send."""
        with self._guard:
            self._gone.add(hand)
            lost = [place for place, (of, _) in self._in_hand.items() if of == hand]
            batches = [(number, self._in_hand.pop((number, key))[1]) for number, key in lost]
            for owner in [owner for owner in self._owners if owner[0] == hand]:
                del self._owners[owner]
        for number, batch in batches:
            self.jobs[number].give_back(batch)
        self.loop.call_soon_threadsafe(self._close_turns, hand)

    def close(self) -> None:
        """Answer nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    def _next(self, hand: str, number: int) -> bytes | None:
        job = self.jobs.get(number)
        with self._guard:  # between taking a batch and having it nobody may find the job spent
            batch = job.next() if job is not None and hand not in self._gone else ()
            if batch:
                self._in_hand[number, batch[0][0]] = hand, batch
        return self.packed(batch) if batch else None

    def _land(self, hand: str, number: int, payloads: Mapping[str, Any], failed: Mapping[str, bytes]) -> None:
        job, keys = self.jobs[number], [*payloads, *failed]
        with self._guard:
            places = [(number, key) for key in keys if self._in_hand.get((number, key), ("",))[0] == hand]
        if not places:  # of a hand that was given up meanwhile: another does it again
            job.ledger.put_many(job.job.stage.name, payloads)
            return
        job.land(payloads, {key: pickle.loads(error) for key, error in failed.items()})
        with self._guard:
            self.landed += 1
            for place in places:
                self._in_hand.pop(place, None)

    def _fail(self, hand: str, number: int, error: bytes) -> None:
        self.jobs[number].fail(pickle.loads(error))

    def _say(self, hand: str, number: int, message: str) -> None:
        if (say := self._accounts[number].say) is not None:
            say(message)

    async def _turn(
        self,
        hand: str,
        ticket: str,
        which: limits.LimiterName,
        endpoint: Endpoint,
        model: str,
        tokens: int,
    ) -> None:
        with self._guard:
            if hand in self._gone:
                raise asyncio.CancelledError
            owner = self._owners.setdefault((hand, endpoint), _Owner())
        limiter = limits.LIMITERS.named(which, endpoint, owner)
        self._turns[ticket] = mine = _OpenTurn(hand, limiter, asyncio.current_task())
        mine.turn = await mine.stack.enter_async_context(limiter.turn(model, tokens))

    async def _punctual(self, hand: str, ticket: str) -> None:
        await self._turns[ticket].turn.punctual()

    async def _answered(self, hand: str, ticket: str, tokens: int | None) -> None:
        mine = self._turns[ticket]
        mine.limiter.answered(mine.turn, tokens)

    async def _limited(self, hand: str, ticket: str, wait: float) -> None:
        mine = self._turns[ticket]
        mine.limiter.limited(mine.turn, wait)

    async def _leave(self, hand: str, ticket: str) -> None:
        if (mine := self._turns.pop(ticket, None)) is not None:
            await mine.close()

    def _close_turns(self, hand: str) -> None:
        for ticket in [ticket for ticket, turn in self._turns.items() if turn.hand == hand]:
            self.loop.create_task(self._turns.pop(ticket).close())


class _Owner:
    """Stands for those in a hand who share an endpoint: the limiter holds its limits while it is there."""


@dataclass
class _OpenTurn:
    hand: str
    limiter: limits.Limiter
    task: asyncio.Task[Any] | None
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    turn: Any = None

    async def close(self) -> None:
        if self.turn is None and self.task is not None:
            self.task.cancel()
        await self.stack.aclose()
