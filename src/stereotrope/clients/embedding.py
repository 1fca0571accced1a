"""Asking an endpoint for vectors of texts, as OpenAI's ``/embeddings`` gives them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.clients.account import Account
from stereotrope.clients.caller import Caller, Refusal, Usage
from stereotrope.clients.endpoint import Endpoint
from stereotrope.clients.error_body import tells_error
from stereotrope.clients.failures import ErrorReply
from stereotrope.clients.http import HttpClient
from stereotrope.clients.prices import Expectation, Price, expectation
from stereotrope.errors import ModelError

_CHARACTERS_A_TOKEN = 4
_ENDLESS = 2**64
"""Whole numbers from here on are none of a vector; no float holds those of hundreds of digits."""


class EmbeddingClient:
    """Asks a model on an OpenAI-compatible endpoint for vectors of texts."""

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        account: Account,
        price: Price | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self.endpoint, self.model, self.price, self.extra = endpoint, model, price, dict(extra or {})
        self._caller = Caller(endpoint, model, kind="embedding", account=account, price=price)
        self._http = HttpClient(endpoint)

    @property
    def parameters(self) -> dict[str, Any]:
        """What decides the vectors; neither address, limits nor key."""
        return {"provider": self.endpoint.provider, "model": self.model, "extra": self.extra}

    @property
    def concurrency(self) -> int:
        """As many requests as the endpoint may be asked at once."""
        return self.endpoint.concurrency

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vector of each text.

        Raises ModelError: The server did not answer, declined, or its reply has not a vector for each text.
        Raises ModelUnusable, BudgetError: As :meth:`Caller.exchange`.
        """
        body = {**self.extra, "model": self.model, "input": list(texts), "encoding_format": "float"}

        async def send() -> tuple[list[list[float]], Usage]:
            reply = await self._http.post("/embeddings", body)
            return _vectors(reply, len(texts)), _usage(reply)

        tokens = sum(map(len, texts)) // _CHARACTERS_A_TOKEN
        found = await self._caller.exchange(send, usage=lambda read: read[1], tokens=tokens)
        if isinstance(found, Refusal):
            raise ModelError(f"{self._caller.name}: declined: {found.reason}")
        return found[0]

    def expect(self, texts: Sequence[str], batch: int) -> Expectation:
        """Say what vectors of texts take, ``batch`` of them a call."""
        n = sum(map(len, texts))
        return expectation(
            self.endpoint,
            self.price,
            calls=math.ceil(len(texts) / batch),
            input_tokens=(n // 6, math.ceil(n / 2.5)),
            output_tokens=(0, 0),
        )

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._http.close()


def _vectors(reply: Any, n: int) -> list[list[float]]:
    """The vectors of a reply in the order of what was asked."""
    if tells_error(reply):
        raise ErrorReply(reply)
    data = reply.get("data") if isinstance(reply, dict) else None
    found = {
        one["index"]: one["embedding"]
        for one in (data if isinstance(data, list) else ())
        if isinstance(one, dict) and isinstance(one.get("index"), int) and _is_vector(one.get("embedding"))
    }
    if sorted(found) != list(range(n)):
        raise ModelError(f"answered with {len(found):,} vectors of numbers where {n:,} were asked for")
    return [found[index] for index in range(n)]


def _is_vector(found: Any) -> bool:
    plain = isinstance(found, list) and bool(found)
    return plain and all(type(x) is float or (type(x) is int and abs(x) < _ENDLESS) for x in found)


def _usage(reply: Any) -> Usage:
    used = reply.get("usage")
    return Usage(used.get("prompt_tokens") if isinstance(used, dict) else None, 0)
