"""A key is nowhere but in the header of the request."""

from __future__ import annotations

import asyncio
import logging
import pickle
import traceback

import pytest
from tests.clients.conftest import SCHEMA, completion, failure

from stereotrope.clients import Caller, Endpoint, HttpClient
from stereotrope.errors import StereotropeError
from stereotrope.run import Ledger
from stereotrope.testing import Response

KEY = "sentinel-4f9d2c-sentinel"


@pytest.fixture
def keyed(script, monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    return script


def holds_key(thing):
    """Whether the key shows in what an object says of itself."""
    shown = [repr(thing), str(thing), repr(vars(thing)) if hasattr(thing, "__dict__") else ""]
    return any(KEY in text for text in shown)


def endpoint(script, **options):
    return script.endpoint(key="SOME_KEY", **options)


def test_the_key_reaches_the_server(keyed):
    keyed.ask(keyed.chat(endpoint=endpoint(keyed)))
    assert keyed.server.received[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "reply",
    [
        failure(401, f"Incorrect API key provided: {KEY}"),
        failure(403, f"Key {KEY} has no access"),
        failure(400, f"Bearer {KEY}", param=KEY, code=KEY),
        failure(400, f"safety system: {KEY}", code="moderation_blocked"),
        failure(500, KEY * 3),
        failure(429, KEY, headers={"retry-after": KEY}),
        failure(404, f"no model for {KEY}"),
        Response(200, f"<html>{KEY}</html>".encode(), content_type=f"text/{KEY}"),
        Response(307, b"", {"location": f"http://127.0.0.1:9/?key={KEY}"}),
        completion(f"the key is {KEY}"),
        completion(f'{{"colour": "{KEY}"}}'),
        completion(None, refusal=f"not with {KEY}"),
    ],
    ids=lambda reply: str(reply.status),
)
def test_no_error_or_answer_shows_a_key_that_the_server_sends_back(keyed, reply, caplog, tmp_path):
    caplog.set_level(logging.DEBUG)
    keyed.says(reply)
    client = keyed.chat(endpoint=endpoint(keyed, tries=2))
    with Ledger(tmp_path / "ledger.db") as ledger:
        keyed.account.attach(ledger)
        try:
            said = repr(keyed.ask(client, images=[b"\x89PNG\r\n\x1a\n"]))
        except StereotropeError as error:
            said = "".join(traceback.format_exception(error)) + repr(vars(error)) + repr(error.__context__)
    assert KEY not in said
    assert KEY not in caplog.text
    assert not holds_key(client)
    assert not holds_key(client._caller)
    for file in tmp_path.iterdir():
        assert KEY.encode() not in file.read_bytes()


def test_no_object_shows_it_or_can_be_stored_with_it(keyed):
    chat = keyed.chat(endpoint=endpoint(keyed))
    http = HttpClient(endpoint(keyed))
    objects = [chat, http, chat.endpoint, chat._caller, chat._clients, keyed.account]

    async def work():
        await chat.ask("q", schema=SCHEMA)
        await http.post("x", {})
        for thing in objects:
            assert not holds_key(thing)
            try:
                stored = pickle.dumps(thing)
            except TypeError as error:
                stored = str(error).encode()
            assert KEY.encode() not in stored
        for client in (*chat._clients._clients.values(), *http._clients._clients.values()):
            assert not holds_key(client)
        await chat.close()
        await http.close()

    asyncio.run(work())
    assert not any(holds_key(entry) for entry in keyed.account.totals())


def test_a_key_is_read_anew_for_each_request(keyed, monkeypatch):
    client = keyed.chat(endpoint=endpoint(keyed))

    async def work():
        await client.ask("q", schema=SCHEMA)
        monkeypatch.setenv("SOME_KEY", "another-key-4f9d")
        await client.ask("q", schema=SCHEMA)
        await client.close()

    asyncio.run(work())
    sent = [each.headers["authorization"] for each in keyed.server.received]
    assert sent == [f"Bearer {KEY}", "Bearer another-key-4f9d"]


def test_repr_names_the_variable_only(keyed):
    found = repr(endpoint(keyed))
    assert "SOME_KEY" in found
    caller = Caller(
        Endpoint("vllm", "http://localhost/v1", "SOME_KEY"),
        "m",
        kind="chat",
        account=keyed.account,
        price=None,
    )
    assert repr(caller) == "Caller(vllm:m, chat)"
