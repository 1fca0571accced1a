"""One limiter a key and address: requests and tokens a minute, requests in flight, waits after a 429.

Pace. A server counts requests when they reach it, in any window of 60 seconds. What is known here is
when a request leaves, not when it arrives. Requests are given times ``(60 + s) / R`` apart, and none
leaves within 60 + s seconds of when the R-th before it really left: never more than R reach the server
in a window as long as their ways there take times that differ by less than s (``ARRIVAL_SLACK``, 1 s:
connecting, a busy computer), and 60 / 61 = 98.4% of the rate is used. A request that could not leave
within half a second of its time takes another one, so a computer that was asleep does not send a burst.

Concurrency. Additive increase, multiplicative decrease (D.-M. Chiu and R. Jain, "Analysis of the
increase and decrease algorithms for congestion avoidance in computer networks", Computer Networks and
ISDN Systems 17, 1989): one 429 halves it, further ones of requests sent before that do not; a round of
answers adds 1, and each further round without a 429 one more than the round before, so that a short
storm is soon made up for. It is counted model by model, so that requests to a model that never answers
take no place from those to another.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from stereotrope.clients.endpoint import Endpoint

ARRIVAL_SLACK = 1.0
LATE = 0.5
_WINDOW = 60.0


@dataclass
class Turn:
    """Leave to send one request."""

    limiter: Limiter
    model: str
    tokens: int
    at: float
    sent: float = field(default=0.0)

    async def punctual(self) -> None:
        """Take another time where this one has passed; call it right before sending."""
        due = self.at
        while True:
            if _now() - due > LATE:
                due = self.at = await self.limiter.pace(0)
            elif (wait := self.limiter.leave()) > 0:
                due = _now() + wait
                await asyncio.sleep(wait)
            else:
                break
        self.sent = _now()


class _Waiter:
    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[None] = self.loop.create_future()
        self.granted = False

    def wake(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class _Places:
    """Requests in flight to one model, and those who wait for a place among them; guarded by the limiter."""

    def __init__(self, most: Callable[[], float]) -> None:
        self._most = most
        self._allowed: float | None = None
        self._cut_at = 0.0
        self._rounds = 0.0  # of answers since the last 429
        self._taken = 0
        self._waiters: deque[_Waiter] = deque()

    @property
    def room(self) -> float:
        return self._most() if self._allowed is None else min(self._allowed, self._most())

    def take(self) -> _Waiter | None:
        if not self._waiters and self._taken < int(self.room):
            self._taken += 1
            return None
        self._waiters.append(_Waiter())
        return self._waiters[-1]

    def give(self) -> None:
        self._taken -= 1
        self.wake()

    def abandon(self, waiter: _Waiter) -> None:
        """Wait no longer; a place that was granted meanwhile is given back."""
        if waiter.granted:
            self._taken -= 1
        else:
            self._waiters.remove(waiter)
        self.wake()

    def grow(self) -> None:
        room = self.room
        self._rounds += 1 / room
        self._allowed = min(self._most(), room + max(1.0, self._rounds) / room)
        self.wake()

    def shrink(self, sent: float, now: float) -> None:
        """Note a 429 of a request that was sent then."""
        self._rounds = 0.0
        if sent >= self._cut_at:
            self._allowed = max(1.0, self.room / 2)
            self._cut_at = now

    def wake(self) -> None:
        while self._waiters and self._taken < int(self.room):
            waiter = self._waiters.popleft()
            with contextlib.suppress(RuntimeError):  # its loop has ended
                waiter.loop.call_soon_threadsafe(waiter.wake)
                waiter.granted = True
                self._taken += 1


class Limiter:
    """How hard one key at one address may be asked, by everyone in this process together."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._terms: weakref.WeakKeyDictionary[object, Endpoint] = weakref.WeakKeyDictionary()
        self._next_request = 0.0
        self._next_token = 0.0
        self._left: deque[float] = deque()  # times at which requests really left, of the last window
        self._holds: dict[str, float] = {}
        self._places: dict[str, _Places] = {}

    def join(self, owner: object, endpoint: Endpoint) -> None:
        """Take the limits of one more user; the strictest of those alive hold."""
        with self._guard:
            self._terms[owner] = endpoint
            for places in self._places.values():
                places.wake()

    def concurrency(self, model: str) -> int:
        """Return how many requests to a model may be in flight now."""
        with self._guard:
            return int(self._of(model).room)

    @contextlib.asynccontextmanager
    async def turn(self, model: str, tokens: int = 0) -> AsyncIterator[Turn]:
        """Wait for leave to send a request to a model of about so many tokens."""
        while True:
            while (wait := self._hold(model)) > 0:
                await asyncio.sleep(wait)
            await self._enter(model)
            try:
                at = await self.pace(tokens)
                if self._hold(model) > 0:
                    self._correct(-tokens)
                    continue
                yield Turn(self, model, tokens, at)
                return
            finally:
                with self._guard:
                    self._of(model).give()

    async def pace(self, tokens: int) -> float:
        """Wait for the next time at which a request may leave, and return it (seconds of the loop)."""
        at = self._reserve(tokens)
        while (wait := at - _now()) > 0:
            await asyncio.sleep(wait)
        return at

    def leave(self) -> float:
        """Note that a request leaves now, and return 0; or the seconds until it may."""
        with self._guard:
            now, rate = _now(), self._strictest("requests_per_minute")
            while self._left and self._left[0] <= now - _WINDOW - ARRIVAL_SLACK:
                self._left.popleft()
            most = math.floor(rate) if rate is not None else 0
            if 1 <= most <= len(self._left):
                return self._left[-most] + _WINDOW + ARRIVAL_SLACK - now
            if rate is not None:
                self._left.append(now)
            return 0.0

    def answered(self, turn: Turn, tokens: int | None) -> None:
        """Note an answer: one more may be in flight, and the tokens are now known."""
        with self._guard:
            self._of(turn.model).grow()
        if tokens is not None:
            self._correct(tokens - turn.tokens)

    def limited(self, turn: Turn, wait: float) -> None:
        """Note a 429: halve what may be in flight, once a burst, and hold this model's requests."""
        now = _now()
        with self._guard:
            self._holds[turn.model] = max(self._holds.get(turn.model, 0.0), now + wait)
            self._of(turn.model).shrink(turn.sent, now)
        self._correct(-turn.tokens)

    def _correct(self, tokens: int) -> None:
        """Add to the tokens that were counted, or take some back."""
        with self._guard:
            rate = self._strictest("tokens_per_minute")
            if rate is not None:
                self._next_token += tokens * (_WINDOW + ARRIVAL_SLACK) / rate

    def _most(self) -> float:
        return float(min((terms.concurrency for terms in self._terms.values()), default=1))

    def _of(self, model: str) -> _Places:
        return self._places.setdefault(model, _Places(self._most))

    def _strictest(self, name: str) -> float | None:
        found = [getattr(terms, name) for terms in self._terms.values()]
        return min((rate for rate in found if rate is not None), default=None)

    def _reserve(self, tokens: int) -> float:
        with self._guard:
            now = _now()
            requests, rate = self._strictest("requests_per_minute"), self._strictest("tokens_per_minute")
            at = now
            if requests is not None:
                at = max(at, self._next_request)
            if rate is not None:
                at = max(at, self._next_token)
                self._next_token = at + tokens * (_WINDOW + ARRIVAL_SLACK) / rate
            if requests is not None:
                self._next_request = at + (_WINDOW + ARRIVAL_SLACK) / requests
            return at

    def _hold(self, model: str) -> float:
        with self._guard:
            return self._holds.get(model, 0.0) - _now()

    async def _enter(self, model: str) -> None:
        with self._guard:
            waiter = self._of(model).take()
        if waiter is None:
            return
        try:
            await waiter.future
        except asyncio.CancelledError:
            with self._guard:
                self._of(model).abandon(waiter)
            raise


def _now() -> float:
    """Return the time of the running loop; every loop of asyncio counts by the same clock."""
    return asyncio.get_running_loop().time()


LimiterName = tuple[str, str]
"""Address, and SHA-256 of the key."""


def name_of(endpoint: Endpoint) -> LimiterName:
    """What those share who ask the same address with the same key."""
    return endpoint.base_url, hashlib.sha256((endpoint.secret() or "").encode()).hexdigest()


class Limiters:
    """The limiter of each address and key, shared by everyone in this process."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._limiters: dict[LimiterName, Limiter] = {}

    def of(self, endpoint: Endpoint, owner: object) -> Limiter:
        """Return the limiter that everyone shares for an address and key; ``owner`` joins it."""
        return self.named(name_of(endpoint), endpoint, owner)

    def named(self, name: LimiterName, endpoint: Endpoint, owner: object) -> Limiter:
        """Return the limiter of this name, whose key need not be known here; ``owner`` joins it."""
        with self._guard:
            found = self._limiters.setdefault(name, Limiter())
        found.join(owner, endpoint)
        return found


LIMITERS = Limiters()
"""Of this process; one that works for another puts stand-ins of that one's here."""


def limiter_of(endpoint: Endpoint, owner: object) -> Limiter:
    """Return the limiter that everyone shares for an address and key; ``owner`` joins it."""
    return LIMITERS.of(endpoint, owner)
