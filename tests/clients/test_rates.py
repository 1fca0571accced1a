"""How much of a rate is used, measured by the server: in real time, over seconds."""

import asyncio
import threading
import time

import pytest
from tests.clients.asking import FREE, SCHEMA, asked, client_of

from stereotrope.clients import Account
from stereotrope.clients.limiter import limiter_of
from stereotrope.errors import ModelError, ModelUnusable
from stereotrope.testing import Loopback, LoopbackProcess


async def keep_asking(client, seconds, *, workers):
    """Ask from many tasks until the time is over; how many were answered."""
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


def arrivals(server, model=None):
    return sorted(each.at for each in server.received if model in (None, each.model))


def steady_rate(times, *, ramp=1.0):
    """Requests a minute from the end of the ramp to the last request."""
    steady = [at for at in times if at >= times[0] + ramp]
    return 60 * (len(steady) - 1) / (steady[-1] - steady[0])


def limited_client(server, rate, **options):
    given = {
        "requests_per_minute": rate,
        "concurrency": 256,
        "timeout": 30.0,
        "tries": 6,
        "longest_wait": 5.0,
    }
    return client_of(server, **{**given, **options})


def test_at_least_95_percent_of_a_rate_is_used_and_never_more():
    rate = 600
    with Loopback(latency=(0.5, 2.0), requests_per_minute=rate * 10 / 60, window=10.0) as server:
        answered = asyncio.run(keep_asking(limited_client(server, rate), 11.0, workers=24))
        times = arrivals(server)
        assert server.most_in_a_minute(seconds=10.0) <= rate * 10 / 60
        assert set(server.counts()) == {("chat", "judge", 200)}
    assert answered == len(times)
    assert 0.95 * rate <= steady_rate(times) <= rate


@pytest.mark.slow
def test_over_two_minutes_a_rate_is_used_and_the_server_turns_nobody_away():
    rate = 900
    with LoopbackProcess("--latency", "0.5", "2", "--requests-per-minute", str(rate)) as server:
        answered = asyncio.run(keep_asking(limited_client(server, rate), 120.0, workers=80))
        assert server.counts() == {("chat", "judge", 200): answered}
        assert 0.95 * rate <= server.most_in_a_minute() <= rate
    assert answered >= 2 * 0.95 * rate


def test_a_storm_of_429_is_recovered_from_and_nothing_is_lost():
    with Loopback(latency=0.02, requests_per_minute=40, window=1.0) as server:
        account = Account()
        client = client_of(server, account=account, concurrency=64, tries=12, longest_wait=1.5, timeout=10.0)
        began = time.monotonic()
        found = asked(client, times=160)
        seconds = time.monotonic() - began
        counts = server.counts()
    assert [each.status for each in found] == ["ok"] * 160
    assert counts["chat", "judge", 200] == 160
    assert counts["chat", "judge", 429] > 0
    assert seconds < 12.0
    (total,) = account.totals()
    assert (total.ok, total.failed) == (160, counts["chat", "judge", 429])


def test_after_a_storm_as_many_are_in_flight_as_before():
    with Loopback(latency=0.02) as server:
        client = client_of(server, concurrency=16, tries=12, longest_wait=0.3)
        server.misbehave("rate_limit", share=0.5, times=None, retry_after="0.1")
        asked(client, times=60)
        server.behave()
        found = asked(client, times=300)
        assert limiter_of(client.endpoint, client).concurrency("judge") == 16
    assert {each.status for each in found} == {"ok"}


def test_two_event_loops_in_two_threads_share_one_limiter():
    rate = 600
    with Loopback(latency=(0.1, 0.3), requests_per_minute=rate * 4 / 60, window=4.0) as server:
        clients = [limited_client(server, rate, model=model) for model in ("one", "other")]
        threads = [
            threading.Thread(target=lambda client=client: asyncio.run(keep_asking(client, 6.0, workers=8)))
            for client in clients
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        each = [len(arrivals(server, model)) for model in ("one", "other")]
        assert server.most_in_a_minute(seconds=4.0) <= rate * 4 / 60
        assert {status for _, _, status in server.counts()} == {200}
        assert 0.85 * rate <= steady_rate(arrivals(server)) <= rate
    assert min(each) > 0.3 * sum(each)


@pytest.mark.parametrize(
    ("kind", "end"), [("silent", ModelError), ("quota", ModelUnusable), ("server_error", ModelError)]
)
def test_one_dead_model_does_not_slow_the_others(kind, end):
    with Loopback(latency=0.05) as server:
        server.misbehave(kind, model="dead", times=None)
        quick = {"timeout": 3.0, "tries": 1, "longest_wait": 0.1}
        dead = client_of(server, model="dead", **quick)
        living = [client_of(server, model=f"model-{i}", **quick) for i in range(4)]
        failed = []
        thread = threading.Thread(target=lambda: failed.extend(asked(dead, times=30)))
        thread.start()
        time.sleep(0.3)
        began = time.monotonic()
        found = [asked(client, times=40) for client in living]
        seconds = time.monotonic() - began
        thread.join()
    assert {answer.status for answers in found for answer in answers} == {"ok"}
    assert seconds < 2.5  # the silent one's places come free after 3
    assert all(isinstance(each, end) for each in failed)


def test_a_limit_on_tokens_is_kept():
    def judge(question):
        return {"colour": "red", "lid": "on"}

    with Loopback(judge=judge) as server:
        client = client_of(server, tokens_per_minute=60_000, price=FREE, concurrency=64, timeout=10.0)
        found = asyncio.run(keep_asking_and_count(client, 4.0, text="x" * 1600))
    spent = sum(tokens for _, tokens in found)
    seconds = found[-1][0] - found[0][0]
    assert 0.8 * 1000 <= spent / seconds <= 1.1 * 1000


async def keep_asking_and_count(client, seconds, *, text):
    """(when answered, tokens used) of every request, from the account of the client."""
    end = time.monotonic() + seconds
    found = []

    async def worker():
        while time.monotonic() < end:
            await client.ask(text, schema=SCHEMA)
            found.append((time.monotonic(), 1600 // 4 + 8 + 8))

    try:
        await asyncio.gather(*(worker() for _ in range(8)))
    finally:
        await client.close()
    return found
