"""A loopback server whose replies are written out, and callers that are quick to try again."""

from __future__ import annotations

import asyncio
import json

import pytest

from stereotrope.clients import Account, Caller, ChatClient, Endpoint, HttpClient, Price, Usage
from stereotrope.testing import Loopback, Response

SCHEMA = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "blue", "unclear"]},
        "text": {"type": "string", "enum": ["present", "absent"]},
    },
    "required": ["colour", "text"],
    "additionalProperties": False,
}
PRICE = Price(input=1.0, output=2.0)
GOOD = {"colour": "red", "text": "absent"}


def completion(content, *, finish="stop", refusal=None, usage=(10, 5), logprobs=None):
    message = {"role": "assistant", "content": content, "refusal": refusal}
    choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": logprobs}
    body = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    if usage is not None:
        body["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
        }
    return Response(200, body)


def failure(status, message="No", *, headers=None, **more):
    return Response(status, {"error": {"message": message, **more}}, headers or {})


class Recording(Account):
    """Keeps how each call ended, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[str] = []

    async def finished(self, key, call):
        await super().finished(key, call)
        self.outcomes.append(call.outcome)


class Script:
    """A server that gives written replies one after another, the last one for ever."""

    def __init__(self, server: Loopback) -> None:
        self.server = server
        self.replies = [completion(json.dumps(GOOD))]
        self.account = Recording()
        self.caller_of = {}
        server.register("POST", "/script/", self._reply, kind="script")
        server.register("GET", "/script/", self._reply, kind="script")

    def _reply(self, request):
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        return reply(request) if callable(reply) else reply

    def says(self, *replies):
        self.replies = [completion(reply) if isinstance(reply, str) else reply for reply in replies]
        return self

    def endpoint(self, **options) -> Endpoint:
        quick = {"base_url": f"{self.server.root}/script", "tries": 3, "longest_wait": 0.01, "timeout": 60}
        return Endpoint.from_options("openai", {**quick, **options})[0]

    def chat(self, *, price=PRICE, account=None, endpoint=None, **options):
        return ChatClient(
            endpoint or self.endpoint(), "m", account=account or self.account, price=price, **options
        )

    def ask(self, client=None, **question):
        """Ask one question and close."""
        client = client or self.chat()

        async def work():
            try:
                return await client.ask(
                    question.pop("text", "What is seen?"), schema=question.pop("schema", SCHEMA), **question
                )
            finally:
                await client.close()

        return asyncio.run(work())

    def caller(self, *, account=None, price=None, **options):
        return Caller(
            self.endpoint(**options), "m", kind="chat", account=account or self.account, price=price
        )

    def exchange(self, caller, *, times=1):
        """Send through a caller; the outcomes, exceptions among them."""
        http = HttpClient(caller.endpoint)

        async def work():
            try:
                return [
                    (await asyncio.gather(self.once(caller, http), return_exceptions=True))[0]
                    for _ in range(times)
                ]
            finally:
                await http.close()

        return asyncio.run(work())

    @staticmethod
    async def once(caller, http):
        def usage(body):
            found = body.get("usage") or {}
            return Usage(found.get("prompt_tokens"), found.get("completion_tokens"))

        return await caller.exchange(lambda: http.post("x", {"model": caller.model}), usage=usage)

    @property
    def bodies(self):
        return [each.body for each in self.server.received]

    @property
    def outcomes(self):
        return self.account.outcomes


@pytest.fixture
def script():
    with Loopback() as server:
        yield Script(server)


@pytest.fixture
def local():
    def endpoint(server, **options) -> Endpoint:
        quick = {"base_url": server.url, "tries": 3, "longest_wait": 0.01, "timeout": 60}
        return Endpoint.from_options("openai", {**quick, **options})[0]

    return endpoint
