"""How much of a rate is used, and what becomes of a storm: counted by the server, not by a clock.

What takes minutes runs on a clock that waits for nobody; what needs threads and sockets is counted in
requests and in the order of events.
"""

import asyncio
import itertools
import threading
import time

import pytest
from tests.clients.asking import FREE, SCHEMA, asked, client_of, endpoint_of
from tests.clients.clock import FastServer, fast

from stereotrope.clients import Account, Caller, Usage, caller
from stereotrope.clients import limiter as pacing
from stereotrope.clients.limiter import ARRIVAL_SLACK, Limiter, Turn, limiter_of
from stereotrope.errors import ModelError, ModelUnusable
from stereotrope.testing import Loopback


class Address:
    """A server that only an endpoint speaks of."""

    numbers = itertools.count()

    def __init__(self):
        self.url = f"http://localhost/{next(self.numbers)}/v1"


def caller_of(address, model="judge", account=None, **options):
    endpoint = endpoint_of(address, **{"timeout": 30.0, "tries": 12, "longest_wait": 5.0, **options})
    return Caller(endpoint, model, kind="chat", account=account or Account(), price=FREE)


async def keep_sending(caller, server, seconds, *, workers, tokens=0):
    """Send from many tasks until the time is over."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds

    async def worker():
        while loop.time() < end:
            await caller.exchange(server.answer, usage=lambda _: Usage(tokens, 0), tokens=tokens)

    await asyncio.gather(*(worker() for _ in range(workers)))


def most_in_a_window(times, seconds=60.0):
    return max(sum(start <= at < start + seconds for at in times) for start in times)


def rate_of(times):
    return 60 * (len(times) - 1) / (times[-1] - times[0])


def assert_rate_is_used_and_kept(rate):
    server = FastServer(most=rate)
    fast(
        keep_sending(
            caller_of(Address(), requests_per_minute=rate, concurrency=256), server, 150.0, workers=64
        )
    )
    times = sorted(server.arrived)
    assert server.refused == 0
    assert most_in_a_window(times) <= rate
    assert 0.95 * rate <= rate_of(times) <= rate


@pytest.mark.parametrize("rate", [30, 600])
def test_at_least_95_percent_of_a_rate_is_used_and_nobody_is_turned_away(rate):
    assert_rate_is_used_and_kept(rate)


@pytest.mark.parametrize("slack", [-3.0, 6.0])
def test_a_pace_that_is_too_quick_or_too_slow_does_not_pass(monkeypatch, slack):
    monkeypatch.setattr(pacing, "ARRIVAL_SLACK", slack)
    with pytest.raises(AssertionError):
        assert_rate_is_used_and_kept(600)


def test_a_storm_of_429_is_recovered_from_and_nothing_is_lost():
    server, account = FastServer(most=40, seconds=1.0, delay=(0.0, 0.01), latency=(0.02, 0.02)), Account()
    storm = caller_of(Address(), account=account, concurrency=64, longest_wait=1.5)

    async def all_at_once():
        began = asyncio.get_running_loop().time()
        found = await asyncio.gather(
            *(storm.exchange(server.answer, usage=lambda _: Usage()) for _ in range(160))
        )
        return found, asyncio.get_running_loop().time() - began

    found, seconds = fast(all_at_once())
    assert found == ["answer"] * 160
    assert server.refused > 0
    assert seconds < 12.0
    (total,) = account.totals()
    assert (total.ok, total.failed) == (160, server.refused)


def test_a_limit_on_tokens_is_kept():
    server = FastServer(latency=(0.01, 0.05), delay=(0.0, 0.0))
    fast(keep_sending(caller_of(Address(), tokens_per_minute=60_000), server, 60.0, workers=8, tokens=400))
    assert 0.95 * 60_000 <= 400 * rate_of(sorted(server.arrived)) <= 60_000


@pytest.mark.slow
def test_over_two_minutes_a_rate_is_kept_and_the_server_turns_nobody_away():
    rate = 900
    with Loopback(latency=(0.5, 2.0), requests_per_minute=rate, bodies=False) as server:
        client = client_of(server, requests_per_minute=rate, concurrency=256, timeout=60.0)
        answered = asyncio.run(keep_asking(client, 120.0, workers=80))
        assert server.counts() == {("chat", "judge", 200): answered}
        assert server.most_in_a_minute() <= rate
    assert answered >= rate  # half of it, where the computer is busy with something else


async def keep_asking(client, seconds, *, workers):
    end = time.monotonic() + seconds
    answered = 0

    async def worker():
        nonlocal answered
        while time.monotonic() < end:
            await client.ask("?", schema=SCHEMA)
            answered += 1

    try:
        await asyncio.gather(*(worker() for _ in range(workers)))
    finally:
        await client.close()
    return answered


def test_after_a_storm_as_many_are_in_flight_as_before():
    with Loopback(latency=0.02) as server:
        client = client_of(server, concurrency=16, tries=12, longest_wait=0.3)
        server.misbehave("rate_limit", share=0.5, times=None, retry_after="0.1")
        asked(client, times=60)
        server.behave()
        found = asked(client, times=300)
        assert limiter_of(client.endpoint, client).concurrency("judge") == 16
    assert {each.status for each in found} == {"ok"}


RATE, TIMES = 1200, 20


def ask_from_two_threads(monkeypatch):
    """Ask a server for two models, each from a loop and thread of its own; when requests were to leave."""
    times = []

    class Noted(Turn):
        async def punctual(self):
            await super().punctual()
            times.append(self.at)

    monkeypatch.setattr(pacing, "Turn", Noted)
    with Loopback() as server:
        clients = [client_of(server, requests_per_minute=RATE, model=model) for model in ("one", "other")]
        threads = [threading.Thread(target=asked, args=(client, TIMES)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert server.counts() == {("chat", "one", 200): TIMES, ("chat", "other", 200): TIMES}
        arrived = sorted(each.at for each in server.received)
    assert all(there >= left for left, there in zip(sorted(times), arrived, strict=True))
    return sorted(times)


def assert_one_pace(times):
    assert (
        min(later - earlier for earlier, later in itertools.pairwise(times))
        >= (60 + ARRIVAL_SLACK) / RATE - 1e-6
    )


def test_two_event_loops_in_two_threads_share_one_limiter(monkeypatch):
    assert_one_pace(ask_from_two_threads(monkeypatch))


def test_two_loops_with_a_limiter_each_do_not_pass(monkeypatch):
    own = {}

    def apart(endpoint, owner):
        found = own.setdefault(owner, Limiter())
        found.join(owner, endpoint)
        return found

    monkeypatch.setattr(caller, "limiter_of", apart)
    times = ask_from_two_threads(monkeypatch)
    with pytest.raises(AssertionError):
        assert_one_pace(times)


@pytest.mark.parametrize(
    ("kind", "end"), [("silent", ModelError), ("quota", ModelUnusable), ("server_error", ModelError)]
)
def test_one_dead_model_does_not_hold_up_the_others(kind, end):
    """The living are answered while the dead one, where it is silent, has not failed yet."""
    failed = []
    with Loopback(latency=0.01) as server:
        server.misbehave(kind, model="dead", times=None)
        lasting = {"timeout": 600.0, "tries": 1, "longest_wait": 0.1}
        dead = client_of(server, model="dead", **lasting)
        living = [client_of(server, model=f"model-{i}", **lasting) for i in range(4)]
        thread = threading.Thread(target=lambda: failed.extend(asked(dead, times=30)))
        thread.start()
        while not any(each.model == "dead" for each in server.received):
            time.sleep(0.01)
        found = [asked(client, times=40) for client in living]
        assert thread.is_alive() or kind != "silent"
    thread.join()
    assert {answer.status for answers in found for answer in answers} == {"ok"}
    assert len(failed) == 30
    assert all(isinstance(each, end) for each in failed)
