"""What was asked of models and what it cost, kept so that no restart forgets it."""

from __future__ import annotations

import asyncio
import math
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, Protocol

from stereotrope.errors import BudgetError, UsageError

BEGUN = "calls:begun"
ANSWERED = "calls:answered"

Kind = Literal["chat", "image", "embedding"]
Outcome = Literal[
    "ok",
    "refused",
    "invalid",
    "rate_limited",
    "server_error",
    "timeout",
    "connection",
    "unusable",
    "bad_request",
]
_WHO = ("provider", "model", "kind")
_PAID: tuple[Outcome, ...] = ("ok", "refused")
_ROUNDING = 1e-9


class Book(Protocol):
    """Where an account keeps its entries; :class:`stereotrope.run.Ledger` is one."""

    def put_soon(self, stage: str, payloads: Mapping[str, Mapping[str, Any]]) -> Future[None]:
        """Keep entries by key, durably when what is returned is done; one of the same key stays as it was."""

    def get_all(self, stage: str) -> Mapping[str, Mapping[str, Any]]:
        """Return every entry of a stage by its key."""


@dataclass(frozen=True)
class Call:
    """One HTTP request to a model server, as it ended.

    provider, model, kind: Whom it was sent to, and whether for ``chat``, an ``image`` or an
        ``embedding``.
    outcome: ``ok`` and ``refused`` are answers; ``invalid`` is a reply that is no answer (a web page, a body
        cut short); the others say why there was none.
    input_tokens, output_tokens, images: As the server counted them, None where it does not say.
    cost: US dollars, None where unknown.
    seconds: From sending to the last byte.
    """

    provider: str
    model: str
    kind: str
    outcome: Outcome
    input_tokens: int | None = None
    output_tokens: int | None = None
    images: int | None = None
    cost: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Total:
    """All the calls to one model.

    begun: Requests about to be sent; ``ok + refused + failed + unanswered`` of them.
    ok, refused, failed: Answers, refusals, and requests that failed (each retry is one).
    unanswered: Begun and never ended: in flight now, or when the program was stopped.
    input_tokens, output_tokens, images: Sums of what the server counted.
    cost: Sum of the known costs in US dollars, None where no call's cost is known.
    unpriced: Calls that ended and whose cost is unknown.
    """

    provider: str
    model: str
    kind: str
    begun: int
    ok: int
    refused: int
    failed: int
    unanswered: int
    input_tokens: int
    output_tokens: int
    images: int
    cost: float | None
    unpriced: int


def totals_of(
    begun: Mapping[str, Mapping[str, Any]], answered: Mapping[str, Mapping[str, Any]]
) -> list[Total]:
    """Add up the entries of an account's two stages, one total a provider, model and kind, sorted.

    begun, answered: Entries by key: the payloads of the stages ``calls:begun`` and ``calls:answered``.
    """
    return _totals(_tallied(begun, answered))


def _tallied(
    begun: Mapping[str, Mapping[str, Any]], answered: Mapping[str, Mapping[str, Any]]
) -> dict[tuple[str, str, str], _Tally]:
    tallies: dict[tuple[str, str, str], _Tally] = {}
    for entry in ({**answered, **begun}).values():
        tallies.setdefault(_who(entry), _Tally()).begun += 1
    for entry in answered.values():
        tallies.setdefault(_who(entry), _Tally()).end(entry)
    return tallies


def _totals(tallies: Mapping[tuple[str, str, str], _Tally]) -> list[Total]:
    return [tally.total(who) for who, tally in sorted(tallies.items()) if tally.begun]


@dataclass
class _Tally:
    """Sums over the calls to one model; what a call costs is added up exactly, in whatever order they end."""

    begun: int = 0
    ok: int = 0
    refused: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    images: int = 0
    cost: Fraction = Fraction(0)
    unknown: int = 0
    silent: int = 0
    paid: int = 0
    expected: float = 0.0

    @property
    def ended(self) -> int:
        return self.ok + self.refused + self.failed

    @property
    def open(self) -> int:
        return self.begun - self.ended

    @property
    def spent(self) -> float:
        return float(self.cost)

    def each(self, overall: float) -> float:
        """About what one call costs: the mean so far, else what was expected, else the mean of all models."""
        return (self.spent / self.paid if self.paid else 0.0) or self.expected or overall

    def with_those_of(self, other: _Tally) -> _Tally:
        """Return the sums of both."""
        return _Tally(
            **{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        )

    def end(self, entry: Mapping[str, Any]) -> None:
        """Count how one of the calls ended."""
        outcome = entry["outcome"]
        self.ok += outcome == "ok"
        self.refused += outcome == "refused"
        self.failed += outcome not in _PAID
        self.input_tokens += entry["input_tokens"] or 0
        self.output_tokens += entry["output_tokens"] or 0
        self.images += entry["images"] or 0
        if entry["cost"] is None:
            self.unknown += 1
            self.silent += outcome in _PAID
        else:
            self.cost += Fraction(entry["cost"])
            self.paid += outcome in _PAID

    def total(self, who: tuple[str, str, str]) -> Total:
        return Total(
            *who,
            begun=self.begun,
            ok=self.ok,
            refused=self.refused,
            failed=self.failed,
            unanswered=self.open,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            images=self.images,
            cost=self.spent if self.ended > self.unknown else None,
            unpriced=self.unknown,
        )


class Account:
    """What was asked of models and what it cost; safe to use from several threads.

    In memory are sums a model and the calls in flight; every call by itself is in the book alone.

    Every HTTP request is begun, durably in the attached book, before it is sent, and ended after. A
    request is not begun where what was spent, the mean cost of a call for each one in flight or of
    unknown cost (a request that was never answered may well have been billed), and the mean cost for
    itself would together pass the cap, with what :meth:`hold` keeps back. Before the first answer the mean
    is what the caller expects, so what is spent can pass the cap by the requests in flight, never by more.

    max_cost: US dollars that all calls may cost, None without a cap.
    Raises UsageError: ``max_cost`` is negative or no number.
    stop: When set, whoever waits to send a request gives up; None where nobody stops.
    say: Is told, a line at a time, when a model does not answer and is tried again; None where nobody
        listens. It is called from any thread.
    """

    def __init__(self, max_cost: float | None = None) -> None:
        if max_cost is not None and not max_cost >= 0:
            raise UsageError(f"a cap must be an amount of US dollars from 0, found {max_cost!r}; change it")
        self.max_cost = max_cost
        self.stop: threading.Event | None = None
        self.say: Callable[[str], None] | None = None
        self._guard = threading.Lock()
        self._book: Book | None = None
        self._tallies: dict[tuple[str, str, str], _Tally] = {}
        self._loose: dict[tuple[str, str, str], _Tally] = {}
        self._flying: dict[str, bool] = {}
        self._held_each = self._held_before = 0.0
        self._held_for = 0
        self._pictures: dict[str, int] = {}

    def hold(self, each: float, before: float = 0.0) -> None:
        """Keep something back from now on, so that pictures are not drawn that could not be judged.

        each: US dollars for every picture that is asked for from now on, until it turns out that none came.
        before: US dollars for the pictures that are there. Both at 0 keep nothing back.
        """
        with self._guard:
            self._held_each, self._held_before, self._held_for = each, before, 0
            self._pictures = {}

    def mean(self, provider: str, model: str, kind: str) -> float | None:
        """US dollars that a call to a model did cost on average; None before the first answer."""
        with self._guard:
            tally = self._tallies.get((provider, model, kind))
        return tally.spent / tally.paid if tally is not None and tally.paid else None

    def attach(self, book: Book | None) -> None:
        """Keep entries in a book from now on, and count what it holds already; None detaches.

        Entries kept in another book before belong to that one, and are not counted any more.
        """
        begun = {} if book is None else book.get_all(BEGUN)
        kept = {} if book is None else _tallied(begun, book.get_all(ANSWERED))
        with self._guard:
            self._book = book
            if book is None:
                return
            self._flying = {key: loose for key, loose in self._flying.items() if loose or key in begun}
            self._tallies = {who: replace(tally) for who, tally in self._loose.items()}
            for who, tally in kept.items():
                self._tallies[who] = self._tally(who).with_those_of(tally)

    def check(
        self, provider: str, model: str, kind: str, *, expected: float = 0.0, pictures: int = 0
    ) -> None:
        """Raise where :meth:`begin` would.

        Raises BudgetError: One more call would pass the cap.
        """
        with self._guard:
            self._check((provider, model, kind), expected, pictures)

    def begin(self, provider: str, model: str, kind: str, *, expected: float = 0.0, pictures: int = 0) -> str:
        """Say that a request is about to be sent; return its key. Blocks until the book has it.

        provider, model, kind: As in :class:`Call`.
        expected: US dollars that it may cost; counts until the first answer says more.
        pictures: That it asks for; for each one :meth:`hold` keeps something back.
        Raises BudgetError: One more call would pass the cap; nothing is begun.
        """
        key, kept = self._begin((provider, model, kind), expected, pictures)
        kept.result()
        return key

    async def begun(
        self, provider: str, model: str, kind: str, *, expected: float = 0.0, pictures: int = 0
    ) -> str:
        """As :meth:`begin`; others run while it waits for the book."""
        key, kept = self._begin((provider, model, kind), expected, pictures)
        await asyncio.wrap_future(kept)
        return key

    def finish(self, key: str, call: Call) -> None:
        """Say how a request ended. Blocks until the book has it."""
        self._finish(key, call).result()

    async def finished(self, key: str, call: Call) -> None:
        """As :meth:`finish`; others run while it waits for the book."""
        await asyncio.wrap_future(self._finish(key, call))

    @property
    def spent(self) -> float:
        """US dollars of all calls whose cost is known."""
        with self._guard:
            return math.fsum(tally.spent for tally in self._tallies.values())

    def totals(self) -> list[Total]:
        """Return one total a provider, model and kind, sorted."""
        with self._guard:
            return _totals(self._tallies)

    def _begin(self, who: tuple[str, str, str], expected: float, pictures: int) -> tuple[str, Future[None]]:
        key = uuid.uuid4().hex
        with self._guard:
            self._check(who, expected, pictures)
            book = self._book
            self._flying[key] = book is None
            for tally in self._counted(who, book is None):
                tally.begun += 1
            self._held_for += pictures
            self._pictures[key] = pictures
        return key, _kept(book, BEGUN, key, dict(zip(_WHO, who, strict=True)))

    def _finish(self, key: str, call: Call) -> Future[None]:
        entry = asdict(call)
        with self._guard:
            book = self._book
            is_loose = self._flying.pop(key, None)
            for tally in self._counted(_who(entry), is_loose or False):
                tally.begun += is_loose is None  # begun when another book was attached
                tally.end(entry)
            asked = self._pictures.pop(key, 0)
            came = asked if call.images is None else min(call.images, asked)
            self._held_for -= asked - (came if call.outcome == "ok" else 0)
        return _kept(book, ANSWERED, key, entry)

    def _check(self, who: tuple[str, str, str], expected: float, pictures: int) -> None:
        if self.max_cost is None:
            return
        mine = self._tally(who)
        mine.expected = max(mine.expected, expected)
        if mine.silent and not mine.paid:
            raise BudgetError(
                f"{who[0]}:{who[1]} answers without saying what it used, so the cap of "
                f"{_dollars(self.max_cost)} US dollars cannot be kept; give a price a call "
                "(price: {call: …}) or run without --max-cost"
            )
        tallies = self._tallies.values()
        spent, paid = math.fsum(tally.spent for tally in tallies), sum(tally.paid for tally in tallies)
        overall = spent / paid if paid else 0.0
        reserved = math.fsum((tally.open + tally.unknown) * tally.each(overall) for tally in tallies)
        next_one = mine.each(overall)
        held = self._held_before + self._held_each * (self._held_for + pictures)
        if spent + reserved + next_one + held > self.max_cost + _ROUNDING:
            said = f"the cap of {_dollars(self.max_cost)} US dollars is reached: {_dollars(spent)} spent"
            if reserved > _ROUNDING:
                said += f", about {_dollars(reserved)} more for calls whose cost is not known yet"
            if spent + reserved < self.max_cost - _ROUNDING:
                said += f", and the next call may cost {_dollars(next_one)}"
            if held > _ROUNDING:
                said += f", and {_dollars(held)} kept back for the labels of these pictures and of the next"
            raise BudgetError(said)

    def _tally(self, who: tuple[str, str, str]) -> _Tally:
        return self._tallies.setdefault(who, _Tally())

    def _counted(self, who: tuple[str, str, str], is_loose: bool) -> list[_Tally]:
        """The sums that a call counts in; one that no book has stays when a book is attached."""
        return [self._tally(who), *([self._loose.setdefault(who, _Tally())] if is_loose else [])]


def _kept(book: Book | None, stage: str, key: str, entry: Mapping[str, Any]) -> Future[None]:
    if book is not None:
        return book.put_soon(stage, {key: entry})
    nowhere: Future[None] = Future()
    nowhere.set_result(None)
    return nowhere


def _who(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    return entry["provider"], entry["model"], entry["kind"]


def _dollars(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 or value < 5e-5 else f"{value:.4f}"
