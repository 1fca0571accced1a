"""The one layer that limits, retries, accounts and classifies requests to a model."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, NoReturn, TypeVar

from stereotrope.clients.account import Account, Call, Kind, Outcome
from stereotrope.clients.endpoint import Endpoint
from stereotrope.clients.failures import BadRequest, Failure, classify, expected
from stereotrope.clients.limiter import Limiter, Turn, limiter_of
from stereotrope.clients.prices import Price
from stereotrope.errors import Interrupted, ModelError, ModelMisconfigured, ModelUnusable, UsageError

_T = TypeVar("_T")
W = TypeVar("W")

_GIVE_UP_AFTER = 20
_IDS = re.compile(r"\b(?=[\w-]*\d)[\w-]{8,}\b")
"""Numbers of requests, times and the like in an answer, which differ where nothing else does."""
_MOST_KINDS = 1000
_NO_AMENDING = (401, 402, 403, 429)
_OF_THE_SERVER = 500
_BACKOFF = 0.5
_BACKOFF_LIMITED = 2.0
_LOOK = 0.25  # seconds between two looks at whether to stop
_SILENT = 30.0  # seconds between two lines about one model's failures
_JITTER = (0.75, 1.25)
_MOST_TOKENS = 10**9
"""More than this in one reply is no count of tokens."""


@dataclass(frozen=True)
class Refusal:
    """The model declined: an answer, not an error."""

    reason: str


@dataclass(frozen=True)
class Usage:
    """What a reply used; ``refusal`` where the reply itself declines.

    input_tokens, output_tokens: As the reply has them; None where it does not say, or says no count.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    images: int | None = None
    refusal: str | None = None

    def __post_init__(self) -> None:
        for name in ("input_tokens", "output_tokens"):
            count = getattr(self, name)
            if type(count) is not int or not 0 <= count <= _MOST_TOKENS:
                object.__setattr__(self, name, None)


class Caller:
    """Sends requests to one model: limited, retried, accounted and classified.

    account: Every HTTP request is begun in it before it is sent, and ended after.
    Raises UsageError: The account has a cap and the price is unknown: such a cap cannot be kept.
    """

    def __init__(
        self, endpoint: Endpoint, model: str, *, kind: Kind, account: Account, price: Price | None
    ) -> None:
        self.endpoint, self.model, self.kind, self.account, self.price = endpoint, model, kind, account, price
        self.name = f"{endpoint.provider}:{model}"
        if account.max_cost is not None and price is None:
            raise UsageError(
                f"{self.name}: a cap needs the price of every model, and that of this one "
                "is unknown; give it by `price:` (0 where it costs nothing), or run without a cap"
            )
        self._unusable: ModelUnusable | None = None
        self._exhausted = 0
        self._alike: Counter[str] = Counter()  # failures that no success has interrupted, by their words
        self._probe: object | None = None
        self._mean_tokens = 0.0
        self._silent_until = self._waits_until = 0.0

    def __repr__(self) -> str:
        return f"Caller({self.name}, {self.kind})"

    async def exchange(
        self,
        send: Callable[[], Awaitable[_T]],
        *,
        usage: Callable[[_T], Usage],
        tokens: int = 0,
        images: int = 1,
        amend: Callable[[str], bool] | None = None,
    ) -> _T | Refusal:
        """Send a request until it is answered.

        An answer that rejects 20 requests in a row with the same words, and nothing in it that may pass, is
        taken for the last word: one request goes through its tries while all others wait, and where it
        fails too the model is given up.

        send: One HTTP request by the SDK or httpx2; it raises what these raise, or
            :class:`~stereotrope.errors.ModelError` for a reply that is no answer (sent again).
        tokens: About how many the request will use, for the limit a minute; 0 takes the mean so far.
        images: That it asks for, where the caller's kind is ``image``.
        amend: Is told what the server says of a request that it rejects, whatever the status, and says
            whether ``send`` now sends another one that may do; it is sent at once, and counts as no further
            try.
        Returns: The answer, or a :class:`Refusal` where the server declined the request for its content.
        Raises ModelError: No answer after every try, or a request that the server rejects.
        Raises ModelUnusable: No request to this model can succeed; every later one fails at once, unsent.
        Raises BudgetError: The cap is reached; nothing was sent.
        Raises Interrupted: The account's ``stop`` was set while it waited to send.
        """
        request = _Request(send, usage, tokens, images, amend)
        try:
            return await self._attempts(request)
        finally:
            if self._probe is request:
                self._probe = None

    def give_up(self, why: str, kind: type[ModelUnusable] = ModelUnusable) -> NoReturn:
        """Send nothing to this model any more, and say why.

        Raises ModelUnusable: Always, as ``kind``; and at once from every later exchange.
        """
        self._unusable = kind(f"{self.name}: {why}")
        raise self._unusable

    async def _attempts(self, request: _Request[_T]) -> _T | Refusal:
        attempt = 1
        while True:
            await self._unless_stopped(self._admitted(request))
            self.account.check(*self._who, **self._held(request))
            limiter = limiter_of(self.endpoint, self)
            async with contextlib.AsyncExitStack() as stack:
                leave = limiter.turn(self.model, request.tokens or round(self._mean_tokens))
                turn = await self._unless_stopped(stack.enter_async_context(leave))
                self._refuse_unusable()
                if not self._is_admitted(request):
                    continue
                outcome = await self._once(request, limiter, turn, attempt)
            if not isinstance(outcome, Failure):
                return outcome.value
            amend = request.amend
            if amend is not None and _may_be_amended(outcome) and amend(outcome.about):
                continue
            self._count(outcome)
            if not outcome.again:
                return self._give_back(outcome)
            wait = self._wait(outcome, attempt)
            if attempt == self.endpoint.tries:
                self._tell(outcome)
                self._exhaust(outcome)
            self._tell(outcome, wait)
            if outcome.outcome != "rate_limited":
                await self._unless_stopped(asyncio.sleep(wait))
            attempt += 1

    async def _admitted(self, request: object) -> None:
        """Wait while another request finds out whether the model answers at all."""
        while not self._is_admitted(request):
            self._refuse_unusable()
            await asyncio.sleep(_LOOK)
        self._refuse_unusable()

    def _is_admitted(self, request: object) -> bool:
        """Whether this request may be sent; of a model in doubt the first one that asks, until it ends."""
        if self._is_suspect and self._probe is None:
            self._probe = request
        return not self._is_suspect or self._probe is request

    @property
    def _is_suspect(self) -> bool:
        return max(self._alike.values(), default=0) >= _GIVE_UP_AFTER

    def _count(self, failure: Failure) -> None:
        if failure.is_lasting:
            if len(self._alike) >= _MOST_KINDS:
                self._alike.clear()
            self._alike[_IDS.sub("…", failure.reason)] += 1

    def _settle(self) -> None:
        self._exhausted = 0
        self._alike.clear()

    async def _unless_stopped(self, waiting: Coroutine[Any, Any, W]) -> W:
        """Wait before a request, and give up where the account's ``stop`` is set."""
        stop = self.account.stop
        if stop is None:
            return await waiting
        task = asyncio.ensure_future(waiting)
        try:
            while not (await asyncio.wait({task}, timeout=_LOOK))[0]:
                if stop.is_set():
                    raise Interrupted(f"{self.name}: stopped before it was asked")
            return task.result()
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def _once(
        self, request: _Request[_T], limiter: Limiter, turn: Turn, attempt: int
    ) -> _Answered[_T] | Failure:
        key = await self.account.begun(*self._who, **self._held(request))
        await turn.punctual()
        failure: Failure | None = None
        try:
            async with asyncio.timeout(self.endpoint.timeout):
                answer = await request.send()
            used = request.usage(answer)
        except expected() as error:
            failure = classify(error, self.endpoint.secret() or "")
        seconds = asyncio.get_running_loop().time() - turn.sent
        if failure is not None:
            if failure.outcome == "rate_limited":
                limiter.limited(turn, self._wait(failure, attempt))
            is_free = not failure.sent or (self.price is not None and self.price.is_free)
            await self._finish(key, failure.outcome, 0.0 if is_free else None, Usage(), seconds)
            return failure
        total = _sum(used)
        if total is not None:
            self._mean_tokens += (total - self._mean_tokens) * (0.1 if self._mean_tokens else 1.0)
        limiter.answered(turn, total)
        self._settle()
        cost = None
        if self.price is not None:
            cost = self.price.cost(used.input_tokens, used.output_tokens, used.images)
        await self._finish(key, "ok" if used.refusal is None else "refused", cost, used, seconds)
        return _Answered(answer)

    @property
    def _who(self) -> tuple[str, str, Kind]:
        return self.endpoint.provider, self.model, self.kind

    def _held(self, request: _Request[Any]) -> dict[str, Any]:
        """What a request may cost at least, and the pictures that it asks for."""
        pictures = request.images if self.kind == "image" else 0
        least = None if self.price is None else self.price.cost(request.tokens or 1, 1, pictures)
        return {"expected": least or 0.0, "pictures": pictures}

    async def _finish(
        self, key: str, outcome: Outcome, cost: float | None, used: Usage, seconds: float
    ) -> None:
        call = Call(
            *self._who,
            outcome,
            used.input_tokens,
            used.output_tokens,
            used.images,
            cost if self.price is not None else None,
            round(seconds, 3),
        )
        await self.account.finished(key, call)

    def _tell(self, failure: Failure, wait: float = 0.0) -> None:
        now, until = asyncio.get_running_loop().time(), ""
        if wait > _SILENT:
            until = f" at {_clock(wait)}"
            if failure.wait and failure.wait > wait:
                until += f", though the server asks to wait until {_clock(failure.wait)}"
        waits_longer = now + wait > self._waits_until + _SILENT and bool(until)
        if self.account.say is not None and (now >= self._silent_until or waits_longer):
            self._silent_until, self._waits_until = now + _SILENT, now + wait
            self.account.say(f"{self.name}: {failure.reason}; trying again{until}")

    def _wait(self, failure: Failure, attempt: int) -> float:
        """Return how long to wait: what the server asks for, else doubling, jittered and bounded."""
        base = _BACKOFF_LIMITED if failure.outcome == "rate_limited" else _BACKOFF
        wait: float = base * 2 ** (attempt - 1) * random.uniform(*_JITTER)
        if failure.wait:
            wait = failure.wait * random.uniform(1.0, 1.1)
        return min(wait, self.endpoint.longest_wait)

    def _refuse_unusable(self) -> None:
        if self._unusable is not None:
            raise type(self._unusable)(str(self._unusable))

    def _give_back(self, failure: Failure) -> Refusal:
        if failure.outcome == "refused":
            self._settle()
            return Refusal(failure.reason)
        if failure.outcome == "unusable":
            kind = ModelMisconfigured if failure.misconfigured else ModelUnusable
            self.give_up(f"{failure.reason}{self._advice(failure)}", kind)
        if self._is_suspect:
            self.give_up(self._alike_said(failure), ModelMisconfigured)
        raise BadRequest(f"{self.name}: {failure.reason}", failure.about)

    def _exhaust(self, failure: Failure) -> NoReturn:
        self._exhausted += 1
        if self._is_suspect:
            self.give_up(self._alike_said(failure))
        if self._exhausted >= _GIVE_UP_AFTER:
            self.give_up(
                f"gave up after {_GIVE_UP_AFTER} requests in a row that failed at every try; the last one: "
                f"{failure.reason}{self._advice(failure)}"
            )
        advice = self._advice(failure) if failure.outcome == "server_error" else ""
        if failure.wait and failure.wait > self.endpoint.longest_wait:
            advice += (
                f"; the server asks for {failure.wait:,.0f} s without requests, and longest_wait is "
                f"{self.endpoint.longest_wait:g}: run the same command again after that time"
            )
        tries = "1 try" if self.endpoint.tries == 1 else f"{self.endpoint.tries} tries"
        raise ModelError(f"{self.name}: no answer after {tries}; the last one: {failure.reason}{advice}")

    def _alike_said(self, failure: Failure) -> str:
        n = max(self._alike.values())
        return (
            f"gave up after {n} requests in a row that were answered alike, and none otherwise: "
            f"{failure.reason}{self._advice(failure)}"
        )

    def _advice(self, failure: Failure) -> str:
        """Say where it was asked, with what key, and what of the entry may be behind the failure."""
        address = self.endpoint.base_url
        is_key = failure.reason.startswith("the key")
        if is_key and self.endpoint.key is not None:
            return f"; the key sent to {address} was that of {self.endpoint.key}"
        unsent = f"no key was sent to {address}: name the environment variable that holds its key by `key:`"
        if is_key:
            return f"; {unsent}"
        said = f"; at {address}"
        if failure.is_bare:
            said += f"; some servers say so of a model they do not have: is {self.model!r} its name there?"
        if failure.status == _OF_THE_SERVER and self.endpoint.key is None:
            said += f"; {unsent}, if it wants one"
        return said


@dataclass(frozen=True, eq=False)
class _Request(Generic[_T]):
    """What :meth:`Caller.exchange` was asked for."""

    send: Callable[[], Awaitable[_T]]
    usage: Callable[[_T], Usage]
    tokens: int
    images: int
    amend: Callable[[str], bool] | None


@dataclass(frozen=True)
class _Answered(Generic[_T]):
    value: _T


def _clock(wait: float) -> str:
    """When so many seconds have passed, as a clock here shows it; with the day where that is another."""
    now = datetime.now().astimezone()
    try:
        then = (now + timedelta(seconds=wait)).astimezone()
    except OverflowError:
        return "a time beyond the year 9999"
    return f"{then:%H:%M}" if then.date() == now.date() else f"{then:%Y-%m-%d %H:%M}"


def _may_be_amended(failure: Failure) -> bool:
    is_other = failure.outcome in ("refused", "rate_limited") or failure.status in _NO_AMENDING
    return bool(failure.about) and not is_other


def _sum(used: Usage) -> int | None:
    if used.input_tokens is None and used.output_tokens is None:
        return None
    return (used.input_tokens or 0) + (used.output_tokens or 0)
