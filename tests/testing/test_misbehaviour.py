import http.client
import json
import re
import socket
import time

import pytest
from tests.testing.web import closed, pictures_of, said

from stereotrope.errors import UsageError
from stereotrope.testing import MISBEHAVIOURS, Loopback

SCHEMA = closed(product_colour=None, silhouette=["boxy", "rounded", "unclear"])
ERRORS = {
    "rate_limit": (429, "rate_limit_exceeded"),
    "quota": (429, "insufficient_quota"),
    "unauthorized": (401, "invalid_api_key"),
    "forbidden": (403, "forbidden"),
    "unknown_model": (404, "model_not_found"),
    "bad_request": (400, "invalid_value"),
    "server_error": (500, "server_error"),
    "moderation": (400, "content_policy_violation"),
    "unsupported_schema": (400, None),
}
BROKEN = {"reset", "truncate", "silent", "drip"}
OF_CHAT = {
    "not_json", "fenced", "cut", "extra_keys", "outside_list", "missing_item", "duplicate_keys", "refusal",
    "content_filter", "empty_choices", "no_usage",
}  # fmt: skip
OF_IMAGES = {"empty_slot", "black_picture", "not_a_picture", "url_result"}


def test_every_misbehaviour_is_tested_here():
    assert set(MISBEHAVIOURS) == {*ERRORS, *BROKEN, *OF_CHAT, *OF_IMAGES, "html", "answer", "slow"}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_is_worded_as_such_servers_do_and_is_over_after_once(server, web, kind):
    server.misbehave(kind)
    status, body = web.chat(schema=SCHEMA)
    assert (status, body["error"]["code"]) == ERRORS[kind]
    assert web.chat(schema=SCHEMA)[0] == 200


def test_options_reach_the_answer(server, web):
    server.misbehave("server_error", status=503, retry_after="Fri, 31 Dec 1999 23:59:59 GMT")
    answer, _ = web.ask("POST", "/v1/chat/completions", {"messages": [{"content": "a"}]})
    assert answer.status == 503
    assert answer.headers["retry-after"] == "Fri, 31 Dec 1999 23:59:59 GMT"
    server.misbehave("moderation", code="blocked", path="images")
    assert web.images()[1]["error"]["code"] == "blocked"


def test_a_refused_key_is_echoed_as_careless_servers_do(server, web):
    server.misbehave("unauthorized")
    _, data = web.ask("POST", "/v1/chat/completions", {}, Authorization="Bearer sk-sentinel")
    assert b"sk-sentinel" in data


def test_html_comes_with_status_200(server, web):
    server.misbehave("html")
    answer, data = web.ask("POST", "/v1/images/generations", {"prompt": "cup"})
    assert answer.status == 200
    assert data.startswith(b"<!doctype html>")


@pytest.mark.parametrize(
    ("body", "data"), [({"error": "x"}, b'{"error": "x"}'), (None, b"null"), (b"{", b"{")]
)
def test_an_answer_is_the_one_that_was_told(server, web, body, data):
    server.misbehave("answer", body=body)
    answer, found = web.ask("POST", "/v1/images/generations", {"prompt": "cup"})
    assert (answer.status, found) == (200, data)


def test_a_reset_connection_gives_no_answer_and_status_0(server, web):
    server.misbehave("reset")
    with pytest.raises((ConnectionResetError, http.client.RemoteDisconnected)):
        web.images()
    assert server.counts() == {("images", "painter", 0): 1}


def test_a_truncated_body_ends_before_its_length(server, web):
    server.misbehave("truncate", keep=0.25)
    with pytest.raises(http.client.IncompleteRead):
        web.images()
    assert server.counts() == {("images", "painter", 0): 1}


def test_a_silent_server_keeps_the_connection_and_says_nothing(server, web):
    server.misbehave("silent")
    web.connection.timeout = 0.3
    with pytest.raises(socket.timeout):
        web.images()
    assert server.counts() == {("images", "painter", 0): 1}


def test_a_dripping_server_sends_a_byte_at_a_time(server, web):
    server.misbehave("drip", every=0.01)
    body = json.dumps({"model": "painter", "prompt": "cup"}).encode()
    with socket.create_connection(web.address, timeout=60) as connection:
        head = b"POST /v1/images/generations HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body)
        got = b""
        while not got.partition(b"\r\n\r\n")[2]:
            got += connection.recv(65536)
    head, _, got = got.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.I)
    assert length is not None
    assert 1 <= len(got) < int(length[1])


def test_a_slow_answer_is_an_answer(server, web):
    server.misbehave("slow", seconds=0.2)
    began = time.monotonic()
    assert web.images()[0] == 200
    assert time.monotonic() - began >= 0.2


@pytest.mark.parametrize("kind", sorted(OF_CHAT))
def test_a_wrong_answer_comes_with_status_200_and_only_in_chat(server, web, kind):
    server.misbehave(kind, path="chat")
    assert web.images()[0] == 200
    status, body = web.chat(schema=SCHEMA)
    assert status == 200
    if kind in {"empty_choices", "no_usage"}:
        assert (body["choices"] == []) == (kind == "empty_choices")
        assert ("usage" not in body) == (kind == "no_usage")
        return
    choice = body["choices"][0]
    text = choice["message"]["content"]
    match kind:
        case "refusal":
            assert text is None
            assert choice["message"]["refusal"]
        case "content_filter":
            assert (text, choice["finish_reason"]) == ("", "content_filter")
        case "fenced":
            assert json.loads(text.partition("```json\n")[2].partition("\n```")[0])
        case "not_json" | "cut":
            assert choice["finish_reason"] == ("length" if kind == "cut" else "stop")
            with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
                json.loads(text)
        case "duplicate_keys":
            assert text.count('"silhouette"') == 2
        case "extra_keys":
            assert set(said(body)) == {"product_colour", "silhouette", "thoughts"}
        case "missing_item":
            assert set(said(body)) == {"product_colour"}
        case "outside_list":
            assert said(body)["silhouette"] not in {"boxy", "rounded", "unclear"}


def test_the_property_that_goes_wrong_can_be_chosen(server, web):
    server.misbehave("missing_item", property="product_colour")
    assert set(said(web.chat(schema=SCHEMA)[1])) == {"silhouette"}


def test_a_schema_is_not_supported_only_where_one_is_sent(server, web):
    server.misbehave("unsupported_schema", times=None)
    assert web.chat(schema=SCHEMA)[0] == 400
    assert web.chat(response_format={"type": "json_object"})[0] == 200
    server.misbehave("unsupported_schema", times=None, json_object=True)
    assert web.chat(response_format={"type": "json_object"})[0] == 400
    assert web.chat()[0] == 200


def test_one_slot_of_a_batch_can_come_empty(server, web):
    server.misbehave("empty_slot", slot=2)
    slots = web.images(n=4)[1]["data"]
    assert [slot["b64_json"] is None for slot in slots] == [False, False, True, False]


def test_pictures_can_come_black_or_as_none(server, web):
    server.misbehave("black_picture")
    server.misbehave("not_a_picture")
    black, page = (pictures_of(web.images()[1])[0] for _ in range(2))
    assert black.startswith(b"\x89PNG")
    assert page.startswith(b"<html>")


def test_pictures_can_come_by_url(server, web):
    server.misbehave("url_result")
    server.misbehave("url_result", url="http://10.0.0.1/a.png")
    own, given = (web.images()[1]["data"][0]["url"] for _ in range(2))
    assert own.startswith(f"{server.root}/files/")
    assert given == "http://10.0.0.1/a.png"


def test_it_meets_the_model_the_path_and_the_share_it_was_told(http_to):
    with Loopback(seed=1) as server:
        web = http_to(server)
        server.misbehave("quota", model="dead", times=None)
        server.misbehave("server_error", path="chat", share=0.5, times=None)
        assert web.images()[0] == 200
        assert web.images(model="dead")[0] == 429
        failed = [web.chat()[0] for _ in range(40)].count(500)
        assert 10 <= failed <= 30
        server.behave()
        assert web.images(model="dead")[0] == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "quotas"}, "unknown misbehaviour 'quotas'; did you mean 'quota'"),
        ({"kind": "quota", "times": 0}, "times must be a whole number of at least 1, or None for always"),
        ({"kind": "quota", "share": 0}, "share must be above 0 and at most 1, found 0"),
        (
            {"kind": "quota", "retry_after": 1},
            "misbehaviour quota has no option 'retry_after'; it takes none",
        ),
        ({"kind": "server_error", "state": 5}, "no option 'state'; did you mean 'status'"),
    ],
)
def test_what_cannot_be_told_is_refused(server, arguments, message):
    with pytest.raises(UsageError, match=message):
        server.misbehave(**arguments)
