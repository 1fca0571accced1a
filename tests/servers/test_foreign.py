"""What docs/how-to/audit-an-endpoint.md says of servers that others wrote, tried on the real ones."""

from __future__ import annotations

import asyncio

import pytest
from tests.clients.asking import SCHEMA

from stereotrope.clients import Account, ChatClient, Endpoint
from stereotrope.errors import ModelMisconfigured, ModelUnusable, StereotropeError
from stereotrope.testing import Plant

pytestmark = pytest.mark.slow

PICTURE = Plant()("painter", "a cup", 0)


def asked(url, model, times=1, *, tries=6, **options):
    """Ask about a picture, one time after another; each answer, or the error it ended with."""
    endpoint = Endpoint("vllm", url, None, tries=tries, timeout=600.0, longest_wait=0.1)
    client = ChatClient(endpoint, model, account=Account(), max_tokens=60, **options)

    async def work():
        found = []
        for _ in range(times):
            try:
                found.append(
                    await client.ask("What is seen?", images=[PICTURE], schema=SCHEMA, system="Look.")
                )
            except StereotropeError as error:
                found.append(error)
        await client.close()
        return found

    return asyncio.run(work())


def test_llama_cpp_rejects_a_schema_with_500_and_is_asked_for_json(llama_cpp, recorded):
    server = recorded(llama_cpp)
    found = asked(server.url, "any name", times=2)
    assert [each.status in ("ok", "invalid") for each in found] == [True, True], found
    assert server.statuses[:2] == [500, 200]
    assert server.formats[:2] == ["json_schema", "json_object"]
    assert set(server.formats[2:]) == {"json_object"}
    assert set(server.statuses[2:]) == {200}
    assert "colour" in server.words(1)


@pytest.mark.parametrize("format", ["json_object", "text"])
def test_llama_cpp_is_asked_in_the_format_that_is_set(llama_cpp, recorded, format):
    server = recorded(llama_cpp)
    (found,) = asked(server.url, "any name", response_format=format)
    assert found.status == "invalid"
    assert (found.reason == "not JSON (Expecting value)") is (format == "text")
    assert set(server.statuses) == {200}
    assert set(server.formats) == {None if format == "text" else format}


def test_llama_cpp_rejects_a_schema_that_is_set_and_is_given_up(llama_cpp, recorded):
    server = recorded(llama_cpp)
    found = asked(server.url, "any name", times=2, response_format="json_schema")
    assert all(isinstance(each, ModelUnusable) for each in found)
    assert "does not take `response_format: json_schema`" in str(found[0])
    assert server.statuses == [500]


def test_transformers_serve_ignores_a_schema_and_is_told_it_in_words(pinned, recorded, answering_no):
    server = recorded(pinned)
    found = asked(server.url, str(answering_no), times=2)
    assert [each.reason for each in found] == ["not JSON (Expecting value)"] * 2
    assert set(server.statuses) == {200}
    told = ['"enum' in server.words(i).replace("\\", "") for i in range(4)]
    assert told == [False, True, True, True]


def test_transformers_serve_that_is_pinned_knows_no_other_model(pinned, recorded):
    server = recorded(pinned)
    found = asked(server.url, "another", times=3)
    assert {type(each) for each in found} == {ModelMisconfigured}
    assert "there is no such model or address (400: Server is pinned to" in str(found[0])
    assert server.statuses == [400]


def test_transformers_serve_says_a_bare_500_of_a_model_that_is_not_there(open_to_all, recorded):
    server = recorded(open_to_all)
    (found,) = asked(server.url, "no/such", tries=1)
    assert "server error (500: Internal Server Error)" in str(found)
    assert "is 'no/such' its name there?; no key was sent to" in str(found)
    assert server.statuses == [500]
    found = asked(server.url, "no/such", times=30)
    assert isinstance(found[-1], ModelUnusable)
    assert len(server.statuses) < 40


def test_transformers_serve_loads_the_model_that_it_is_asked_for(open_to_all, recorded, answering_no):
    server = recorded(open_to_all)
    (found,) = asked(server.url, str(answering_no))
    assert found.status == "invalid"
    assert set(server.statuses) == {200}
