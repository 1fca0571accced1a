"""An event loop whose clock runs as fast as it is asked to, and a server that counts by it."""

from __future__ import annotations

import asyncio
import random
import selectors

import httpx2

from stereotrope.testing.rates import SlidingWindow

_REQUEST = httpx2.Request("POST", "http://localhost/v1/x")


class Selector(selectors.DefaultSelector):
    """Waits no time at all and says that it did."""

    def __init__(self):
        super().__init__()
        self.now = 1000.0

    def select(self, timeout=None):
        if timeout:
            self.now += timeout
        return super().select(0)


class FastLoop(asyncio.SelectorEventLoop):
    """An event loop without waits, for coroutines that wait on nothing but time."""

    def __init__(self):
        self.clock = Selector()
        super().__init__(self.clock)

    def time(self):
        return self.clock.now


def fast(coroutine):
    with asyncio.Runner(loop_factory=FastLoop) as runner:
        return runner.run(coroutine)


def failed(status, headers=None):
    """What an HTTP client raises for a reply of this status."""
    response = httpx2.Response(status, headers=headers, request=_REQUEST)
    return httpx2.HTTPStatusError(str(status), request=_REQUEST, response=response)


class FastServer:
    """Answers after a while, and turns away whoever comes too often, as it sees it."""

    def __init__(self, *, most=None, seconds=60.0, delay=(0.0, 0.3), latency=(0.5, 2.0), seed=0):
        self.limit = SlidingWindow(most, seconds) if most is not None else None
        self.delay, self.latency = delay, latency
        self.arrived, self.refused = [], 0
        self.rng = random.Random(seed)

    async def answer(self):
        await asyncio.sleep(self.rng.uniform(*self.delay))
        now = asyncio.get_running_loop().time()
        self.arrived.append(now)
        wait = self.limit.wait(now) if self.limit else 0.0
        if wait > 0:
            self.refused += 1
            raise failed(429, {"retry-after": f"{wait:.3f}"})
        await asyncio.sleep(self.rng.uniform(*self.latency))
        return "answer"
