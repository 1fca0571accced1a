"""Asking the loopback server through the clients, with waits of milliseconds."""

from __future__ import annotations

import asyncio

from stereotrope.clients import Account, ChatClient, Endpoint, Price
from stereotrope.errors import StereotropeError

COLOURS = ("blue", "red", "unclear")
FREE = Price(call=0.0)


def schema_of(**attributes):
    parts = {name: {"type": "string", "enum": list(values)} for name, values in attributes.items()}
    return {
        "type": "object",
        "properties": parts,
        "required": list(parts),
        "additionalProperties": False,
    }


SCHEMA = schema_of(colour=COLOURS, lid=("on", "off", "unclear"))


def endpoint_of(server, **options):
    """An endpoint that is given up on quickly."""
    quick = {"tries": 3, "timeout": 60.0, "longest_wait": 0.02, "key": None}
    return Endpoint("vllm", base_url=server.url, **{**quick, **options})


def client_of(server, *, model="judge", account=None, price=FREE, client=None, **options):
    account = account if account is not None else Account()
    return ChatClient(endpoint_of(server, **options), model, account=account, price=price, **(client or {}))


def asked(client, times=1, text="What is seen?", schema=SCHEMA):
    """Ask side by side; each answer, or the error it ended with."""

    async def one():
        try:
            return await client.ask(text, schema=schema)
        except StereotropeError as error:
            return error

    async def all_of_them():
        try:
            return await asyncio.gather(*(one() for _ in range(times)))
        finally:
            await client.close()

    return asyncio.run(all_of_them())


def ask(client, **options):
    """Ask once; raises what the client raises."""

    async def once():
        try:
            return await client.ask("What is seen?", schema=options.pop("schema", SCHEMA), **options)
        finally:
            await client.close()

    return asyncio.run(once())
