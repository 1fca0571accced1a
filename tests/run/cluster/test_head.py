"""What the head answers, asked without a cluster: limits, money and batches of several hands together."""

from __future__ import annotations

import asyncio
import pickle
import random
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from tests.clients.clock import FastLoop, fast

from stereotrope.clients import Account, Call, ChatClient, Endpoint
from stereotrope.clients.failures import BadRequest
from stereotrope.clients.limiter import ARRIVAL_SLACK
from stereotrope.errors import AuditFileError, BudgetError, PictureError, StereotropeError
from stereotrope.run import Items, Job, RunFolder, Stage
from stereotrope.run.engine.cluster.hands import LimitersThere
from stereotrope.run.engine.cluster.head import Head
from stereotrope.run.engine.cluster.travel import packed_for_hands, unpacked_there
from stereotrope.run.engine.process import failure_as_bytes
from stereotrope.run.engine.work import OpenJob

pytest.importorskip("ray")
KEY = "sentinel-77a1-of-a-hand"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    with RunFolder(tmp_path / "run") as folder:
        yield folder


@pytest.fixture
def head(folder: RunFolder) -> Iterator[Head]:
    head = Head(folder)
    yield head
    head.close()


class Beside:
    """Asks a head in the same loop, as a hand asks through the desk."""

    def __init__(self, head: Head, name: str) -> None:
        self.head, self.name = head, name
        self.told: set[asyncio.Task[Any]] = set()

    async def asked(self, what: str, *details: Any) -> Any:
        is_well, said = await self.head.answer(what, self.name, details)
        if not is_well:
            raise pickle.loads(said)
        return said

    def tell(self, what: str, *details: Any) -> None:
        self.told.add(asyncio.get_running_loop().create_task(self.asked(what, *details)))


def endpoint(url: str, **limits: Any) -> Endpoint:
    return Endpoint("vllm", f"http://{url}/v1", None, **limits)


def limiters(head: Head, where: Endpoint, n: int) -> list[Any]:
    return [LimitersThere(Beside(head, f"hand {i}")).of(where, object()) for i in range(n)]  # type: ignore[arg-type]


def test_600_requests_a_minute_are_held_over_three_hands(head: Head) -> None:
    where = endpoint("six-hundred", requests_per_minute=600, concurrency=64)
    arrived: list[float] = []

    async def lane(limiter: Any, rng: random.Random) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < 1_000 + 180:
            async with limiter.turn("m") as turn:
                await turn.punctual()
                await asyncio.sleep(rng.uniform(0, 0.9 * ARRIVAL_SLACK))
                arrived.append(loop.time())
                await asyncio.sleep(rng.uniform(0.1, 3))
                limiter.answered(turn, None)

    async def work() -> None:
        hands = limiters(head, where, 3)
        await asyncio.gather(*(lane(hand, random.Random(i)) for i, hand in enumerate(hands * 20)))

    fast(work())
    arrived.sort()
    assert max(sum(at <= one < at + 60 for one in arrived) for at in arrived[::50]) <= 600
    assert len(arrived) > 3 * 600 * 0.9


def test_a_wait_that_one_hand_is_told_holds_for_all(head: Head) -> None:
    async def work() -> float:
        one, other = limiters(head, endpoint("wait"), 2)
        loop = asyncio.get_running_loop()
        async with one.turn("m") as turn:
            await turn.punctual()
            one.limited(turn, 30.0)
        await asyncio.sleep(0)  # the head has heard it
        before = loop.time()
        async with other.turn("m") as turn:
            await turn.punctual()
            return loop.time() - before

    assert fast(work()) == pytest.approx(30.0)


def test_what_a_lost_hand_had_leave_for_may_be_sent_by_others(head: Head) -> None:
    async def work() -> bool:
        lost, other = limiters(head, endpoint("lost", concurrency=1), 2)
        turns = lost.turn("m"), other.turn("m")
        await turns[0].__aenter__()
        waiting = asyncio.ensure_future(turns[1].__aenter__())
        await asyncio.sleep(1)
        assert not waiting.done()
        head.forget("hand 0")
        await asyncio.wait_for(waiting, 5)
        for turn in turns:
            await turn.__aexit__(None, None, None)
        return True

    with asyncio.Runner(loop_factory=FastLoop) as runner:
        own, head.loop = head.loop, runner.get_loop()
        assert runner.run(work())
        head.loop = own


def test_who_waits_no_longer_takes_no_place(head: Head) -> None:
    async def work() -> bool:
        first, second = limiters(head, endpoint("given up", concurrency=1), 2)
        async with first.turn("m"):
            waiting = asyncio.ensure_future(second.turn("m").__aenter__())
            await asyncio.sleep(1)
            waiting.cancel()
            await asyncio.wait([waiting])
            await asyncio.sleep(1)
        async with asyncio.timeout(5), second.turn("m"):
            return True

    assert fast(work())


def answered(head: Head, what: str, *details: Any, hand: str = "hand") -> Any:
    is_well, said = head.loop.run_until_complete(head.answer(what, hand, details))
    if not is_well:
        raise pickle.loads(said)
    return said


def test_the_cap_on_spending_is_one_for_all_hands(head: Head, folder: RunFolder) -> None:
    account = Account(1.0)
    account.attach(folder.ledger)
    ((number, most),) = [
        unpacked_there(packed_for_hands(account, head.number_of), lambda kind, detail: detail)
    ]
    assert (number, most) == (0, 1.0)
    held = {"expected": 0.4, "pictures": 0}
    keys = [answered(head, "begin", 0, ("openai", "m", "chat"), held, hand=f"hand {i}") for i in range(2)]
    with pytest.raises(BudgetError, match=r"the cap of 1\.00 US dollars is reached"):
        answered(head, "begin", 0, ("openai", "m", "chat"), held, hand="hand 2")
    assert set(folder.ledger.get_all("calls:begun")) == set(keys)
    answered(head, "finish", 0, keys[0], vars(Call("openai", "m", "chat", "ok", cost=0.25)))
    assert account.spent == 0.25


def job_of(head: Head, folder: RunFolder, n: int, **more: Any) -> OpenJob:
    import queue

    items = Items.of([(f"k{i}", i) for i in range(n)])
    stage = Stage("s", object, **more)
    made = OpenJob(Job(stage, items), folder.ledger, threading.Event(), queue.SimpleQueue())
    head.jobs[7] = made
    return made


def batch_of(packed: bytes) -> Any:
    return unpacked_there(packed, lambda kind, detail: None)


def test_the_batch_of_a_lost_hand_is_handed_out_again_as_it_was(head: Head, folder: RunFolder) -> None:
    job = job_of(head, folder, 5, batch_size=2)
    first = batch_of(answered(head, "next", 7, hand="lost"))
    second = batch_of(answered(head, "next", 7, hand="other"))
    assert first == (("k0", 0), ("k1", 1))
    assert head.has(7, "lost")
    head.forget("lost")
    assert not head.has(7, "lost")
    assert head.has(7, "other")
    assert answered(head, "next", 7, hand="lost") is None  # asked before it was lost, and heard only now
    with pytest.raises(asyncio.CancelledError):
        answered(head, "turn", "ticket", "limiter", endpoint("lost"), "m", 0, hand="lost")
    assert batch_of(answered(head, "next", 7, hand="other")) == first
    answered(head, "land", 7, {"k0": {"v": 0}, "k1": {"v": 1}}, {}, hand="lost")  # too late to count
    assert (job.summary.done, folder.ledger.totals()["s"]) == (0, 2)
    for batch in (first, second):
        answered(head, "land", 7, {key: {"v": item} for key, item in batch}, {}, hand="other")
    assert (job.summary.done, folder.ledger.totals()["s"]) == (4, 4)
    assert not job.is_spent
    answered(head, "next", 7)
    answered(head, "next", 7)
    assert job.is_spent


def test_what_is_asked_of_a_job_that_is_over_is_nothing(head: Head) -> None:
    assert answered(head, "next", 99) is None


def test_pictures_come_and_go_through_the_head(head: Head, folder: RunFolder, picture: bytes) -> None:
    sha256, path = answered(head, "keep", picture)
    assert folder.store.get(path) == picture == answered(head, "read", path)
    assert sha256 in path


class Instrument:
    def __init__(self, folder: RunFolder, account: Account) -> None:
        self.folder, self.account = folder, account
        self.guard, self.again, self.local = threading.Lock(), threading.RLock(), threading.local()
        self.counted = lru_cache(maxsize=7)(self.double)

    def double(self, n: int) -> int:
        return 2 * n


def test_what_belongs_to_the_head_stays_and_locks_are_made_anew(head: Head, folder: RunFolder) -> None:
    sent = Instrument(folder, Account(2.0))
    come = unpacked_there(packed_for_hands(sent, head.number_of), lambda kind, detail: (kind, detail))
    assert (come.folder, come.account) == (("folder", None), ("account", (0, 2.0)))
    with come.guard, come.again:
        come.local.any = 1
    assert come.counted(4) == 8
    assert come.counted.cache_info().maxsize == 7


def test_a_client_travels_without_its_key(head: Head, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    client = ChatClient(Endpoint("vllm", "http://127.0.0.1:9/v1", "A_KEY"), "m", account=Account())

    async def packed() -> bytes:
        client._clients.get()
        data = packed_for_hands(client, head.number_of)
        await client.close()
        return data

    data = asyncio.run(packed())
    assert KEY.encode() not in data
    assert unpacked_there(data, lambda kind, detail: None).parameters == client.parameters


@pytest.mark.parametrize(
    "error",
    [
        PictureError("truncated"),
        AuditFileError("wrong", file="audit.yaml", line=3),
        BudgetError("the cap"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    ],
)
def test_an_exception_travels_with_its_kind_and_words(error: Exception) -> None:
    come = pickle.loads(failure_as_bytes(error))
    assert isinstance(come, type(error))
    assert str(come) == str(error)
    assert isinstance(come, StereotropeError) == isinstance(error, StereotropeError)


def test_an_exception_that_cannot_travel_comes_as_the_nearest_that_can() -> None:
    class Own(BudgetError):
        def __init__(self, why: str, lock: Any) -> None:
            super().__init__(why)
            self.lock = lock

    come = pickle.loads(failure_as_bytes(Own("the cap", threading.Lock())))
    assert type(come) is BudgetError
    assert str(come) == "the cap"
    come = pickle.loads(failure_as_bytes(BadRequest("m: no", "about")))
    assert (type(come), str(come), come.about) == (BadRequest, "m: no", "about")

    class Named(Exception):
        def __init__(self, why: str, *, name: str) -> None:
            super().__init__(why)

    class Further(Named):
        pass

    come = pickle.loads(failure_as_bytes(Further("no answer", name="b")))
    assert (type(come), str(come)) == (Exception, "no answer")
