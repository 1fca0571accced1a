"""The limiter against a clock that runs as fast as it is asked to."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading

import pytest
from tests.clients.clock import fast

from stereotrope.clients import Endpoint
from stereotrope.clients.limiter import ARRIVAL_SLACK, Limiter, limiter_of


class Owner:
    pass


def limiter(**limits):
    made = Limiter()
    made.owner = Owner()
    made.join(made.owner, Endpoint("vllm", "http://localhost/v1", None, **limits))
    return made


async def arrivals(limiter, seconds, workers, *, latency=(0.5, 2.0), delay=(0.0, 0.3), tokens=0, seed=0):
    """When requests reach a server that takes a while to answer."""
    rng, loop = random.Random(seed), asyncio.get_running_loop()
    end, reached = loop.time() + seconds, []

    async def work():
        while loop.time() < end:
            async with limiter.turn("m", tokens) as turn:
                await turn.punctual()
                await asyncio.sleep(rng.uniform(*delay))
                reached.append(loop.time())
                await asyncio.sleep(rng.uniform(*latency))
                limiter.answered(turn, tokens)

    await asyncio.gather(*(work() for _ in range(workers)))
    return sorted(reached)


def most_in_a_minute(times):
    return max(sum(start <= t < start + 60 for t in times) for start in times)


@pytest.mark.parametrize(("rate", "workers"), [(1, 2), (7, 4), (10, 4), (60, 8), (600, 32)])
def test_the_rate_is_used_and_never_passed(rate, workers):
    seconds = 300 if rate >= 60 else 1800
    times = fast(arrivals(limiter(requests_per_minute=rate, concurrency=workers), seconds, workers))
    assert most_in_a_minute(times) <= rate
    used = (len(times) - 1) / (times[-1] - times[0]) * 60
    assert 0.95 * rate <= used <= rate


def test_slow_answers_do_not_slow_the_rate():
    endpoint, _ = Endpoint.from_options("vllm", {"requests_per_minute": 120})
    rated = limiter(requests_per_minute=120, concurrency=endpoint.concurrency)
    times = fast(arrivals(rated, 300, endpoint.concurrency, latency=(20, 40)))
    assert most_in_a_minute(times) <= 120
    assert (len(times) - 1) / (times[-1] - times[0]) * 60 >= 0.95 * 120


def test_a_computer_that_slept_sends_no_burst():
    async def work():
        rated, loop = limiter(requests_per_minute=60, concurrency=100), asyncio.get_running_loop()
        sent = []

        async def one():
            async with rated.turn("m") as turn:
                await turn.punctual()
                sent.append(loop.time())

        tasks = [asyncio.create_task(one()) for _ in range(40)]
        await asyncio.sleep(5)
        loop.clock.now += 3600  # asleep
        await asyncio.gather(*tasks)
        return sent

    sent = fast(work())
    woken = [t for t in sent if t > sent[0] + 1000]
    assert len(woken) > 30
    assert most_in_a_minute(woken) <= 60
    assert woken[10] - woken[0] >= 9


def test_a_request_that_left_late_takes_another_time():
    async def work():
        rated, loop = limiter(requests_per_minute=6), asyncio.get_running_loop()
        async with rated.turn("m") as first:
            await first.punctual()
        async with rated.turn("m") as turn:
            planned = turn.at
            await asyncio.sleep(3)  # the disk was slow
            await turn.punctual()
            return turn.sent - planned, turn.sent - loop.time()

    waited, now = fast(work())
    assert waited == pytest.approx((60 + ARRIVAL_SLACK) / 6)
    assert now == 0


@pytest.mark.parametrize("rate", [2, 10, 60, 600])
def test_a_way_that_takes_up_to_the_slack_longer_passes_no_window(rate):
    """The worst case: one request comes as late as it may, those of the next minute at once."""
    rng = random.Random(rate)

    async def work():
        rated, loop = limiter(requests_per_minute=rate, concurrency=512), asyncio.get_running_loop()
        reached = []
        for _ in range(4 * rate):
            async with rated.turn("m") as turn:
                loop.clock.now += rng.choice([0.0, 0.0, 0.4, 0.45])  # a busy computer
                await turn.punctual()
                reached.append(turn.sent + rng.choice([0.0, 0.99 * ARRIVAL_SLACK]))
        return sorted(reached)

    times = fast(work())
    assert most_in_a_minute(times) <= rate


def test_tokens_a_minute_are_kept_and_corrected():
    async def work():
        rated, loop = limiter(tokens_per_minute=6000), asyncio.get_running_loop()
        begun = loop.time()
        for _ in range(30):
            async with rated.turn("m", 100) as turn:
                rated.answered(turn, 400)  # four times what was thought
        return loop.time() - begun

    assert fast(work()) == pytest.approx(29 * 400 / 6000 * (60 + ARRIVAL_SLACK), rel=0.01)


def test_one_request_larger_than_the_tokens_of_a_minute_is_sent():
    async def work():
        rated = limiter(tokens_per_minute=100)
        async with rated.turn("m", 5000):
            return True

    assert fast(work())


def test_a_429_halves_what_is_in_flight_once_a_burst_and_answers_bring_it_back():
    async def work():
        limited = limiter(concurrency=32)
        async with limited.turn("m") as one, limited.turn("m") as two:
            await one.punctual()
            await two.punctual()
            await asyncio.sleep(0.1)
            limited.limited(one, 0.5)
            assert limited.concurrency("m") == 16
            limited.limited(two, 0.5)
            assert limited.concurrency("m") == 16
            limited.answered(one, None)
        for expected in (8, 4, 2, 1, 1):
            async with limited.turn("m") as turn:
                await turn.punctual()
                await asyncio.sleep(0.1)
                limited.limited(turn, 0.5)
            assert limited.concurrency("m") == expected
        answers = 0
        while limited.concurrency("m") < 32:
            answers += 1
            async with limited.turn("m") as turn:
                await turn.punctual()
                limited.answered(turn, None)
        assert 32 < answers < 32 * 32 / 2
        limited.answered(turn, None)
        assert limited.concurrency("m") == 32
        return True

    assert fast(work())


def test_a_429_holds_its_model_and_no_other():
    async def work():
        limited, loop = limiter(concurrency=8), asyncio.get_running_loop()
        begun = loop.time()
        async with limited.turn("busy") as turn:
            await turn.punctual()
            limited.limited(turn, 30)
        async with limited.turn("other"):
            other = loop.time() - begun
        async with limited.turn("busy"):
            return other, loop.time() - begun

    assert fast(work()) == (0, 30)


def test_never_more_in_flight_than_allowed():
    async def work():
        limited, now, most = limiter(concurrency=5), 0, 0

        async def one():
            nonlocal now, most
            async with limited.turn("m"):
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.1)
                now -= 1

        await asyncio.gather(*(one() for _ in range(50)))
        return most, asyncio.get_running_loop().time()

    most, end = fast(work())
    assert most == 5
    assert end == pytest.approx(1001.0)


def test_who_stops_waiting_takes_no_place():
    async def work():
        limited = limiter(concurrency=1)
        async with limited.turn("m"):
            waiting = [asyncio.create_task(_pass(limited)) for _ in range(3)]
            await asyncio.sleep(0.1)
            waiting[0].cancel()
            await asyncio.sleep(0.1)
        waiting[1].cancel()  # its place was granted just now
        assert await waiting[2]
        assert await _pass(limited)
        return [task.cancelled() for task in waiting]

    assert fast(work()) == [True, True, False]


async def _pass(limiter):
    async with limiter.turn("m"):
        return True


def test_places_go_from_thread_to_thread():
    limited = limiter(concurrency=3)
    guard, now, most = threading.Lock(), 0, 0

    async def one():
        nonlocal now, most
        async with limited.turn("m"):
            with guard:
                now += 1
                most = max(most, now)
            await asyncio.sleep(0.002)
            with guard:
                now -= 1

    async def many():
        await asyncio.gather(*(one() for _ in range(60)))

    threads = [threading.Thread(target=lambda: asyncio.run(many())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not any(thread.is_alive() for thread in threads)
    assert most == 3


def test_two_loops_share_one_pace():
    limited = limiter(requests_per_minute=6000)
    times = []

    async def many():
        for _ in range(30):
            async with limited.turn("m") as turn:
                await turn.punctual()
                times.append(turn.at)

    threads = [threading.Thread(target=lambda: asyncio.run(many())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    times.sort()
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(times) == 60
    assert min(gaps) >= (60 + ARRIVAL_SLACK) / 6000 - 1e-6


def test_a_loop_that_ended_keeps_no_place():
    limited = limiter(concurrency=1)

    async def give_up():
        async with limited.turn("m"):
            tasks = [asyncio.create_task(_pass(limited)) for _ in range(3)]
            await asyncio.sleep(0.01)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(give_up())
    assert asyncio.run(_pass(limited))


def test_one_limiter_for_an_address_and_key(monkeypatch):
    monkeypatch.setenv("ONE_KEY", "one")
    monkeypatch.setenv("SAME_KEY", "one")
    monkeypatch.setenv("OTHER_KEY", "other")
    owners = [Owner() for _ in range(5)]

    def found(owner, base_url, key, **limits):
        return limiter_of(Endpoint("vllm", base_url, key, **limits), owner)

    one = found(owners[0], "http://limits/v1", "ONE_KEY", requests_per_minute=100)
    assert found(owners[1], "http://limits/v1", "SAME_KEY") is one
    assert found(owners[2], "http://limits/v1", "OTHER_KEY") is not one
    assert found(owners[3], "http://limits/v1", None) is not one
    assert found(owners[4], "http://elsewhere/v1", "ONE_KEY") is not one


def test_the_strictest_of_those_who_use_it_holds():
    limited, other = limiter(concurrency=32, requests_per_minute=100), Owner()
    limited.join(other, Endpoint("vllm", "http://localhost/v1", None, concurrency=4, requests_per_minute=10))
    assert limited.concurrency("m") == 4
    assert limited._strictest("requests_per_minute") == 10
    del other
    assert limited.concurrency("m") == 32
    assert limited._strictest("requests_per_minute") == 100
