"""No reply of a chat server does worse than fail one question."""

from __future__ import annotations

import asyncio
import json
import math
from typing import get_args

import httpx2
from hypothesis import given
from hypothesis import strategies as st
from tests.clients.conftest import GOOD, SCHEMA
from tests.clients.odd import KEY, anything, bodies, changed, derandomized

from stereotrope.clients import Account, ChatClient, Endpoint
from stereotrope.clients.account import Outcome
from stereotrope.clients.error_body import error_in, is_declined, parse_json, status_in, tells_error
from stereotrope.clients.failures import ErrorReply, classify, retry_after
from stereotrope.clients.fetch import _led_to
from stereotrope.clients.reply import ChatReply, read_chat_reply
from stereotrope.clients.structured import ParsedAnswer, confidences_of, read_answer
from stereotrope.errors import ModelError

TEXT = json.dumps(GOOD)
PIECES = ['{"colour": "', "red", '", "text": "', "absent", '"}']
LOGPROBS = [{"token": piece, "logprob": -0.5, "bytes": list(piece.encode())} for piece in PIECES]


def completion(content, **more):
    message = {"role": "assistant", "content": content, "refusal": None}
    logprobs = {"content": [{"token": piece, "logprob": -0.5} for piece in PIECES]}
    choice = {
        "index": 0,
        "message": message,
        "finish_reason": "stop",
        "logprobs": logprobs,
        **more,
    }
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return {"id": "c", "created": 0, "model": "m", "choices": [choice], "usage": usage}


REPLIES = (
    completion(TEXT),
    completion([{"type": "text", "text": TEXT}]),
    completion(None, finish_reason="content_filter"),
    {"error": {"message": "No", "type": "x", "param": None, "code": "content_policy_violation"}},
    [
        {
            "error": {
                "code": 429,
                "message": "No",
                "details": [{"retryDelay": "3s"}],
                "innererror": {"code": "x"},
            }
        }
    ],
    {"detail": [{"loc": ["body"], "msg": "No"}], "status": 400, "success": False},
)


def assert_is_answer(reply):
    assert isinstance(reply, ChatReply)
    assert isinstance(reply.text, str)
    assert isinstance(reply.refusal, str | None)
    assert isinstance(reply.usage.input_tokens, int | None)
    assert isinstance(reply.usage.output_tokens, int | None)
    for confidence in confidences_of(reply.text, reply.tokens).values():
        assert 0.0 <= confidence <= 1.0
    reading = read_answer(reply.text, SCHEMA, cut=reply.cut, secret=KEY)
    assert isinstance(reading, ParsedAnswer)
    assert reading.problems or set(reading.content) == set(GOOD)


@derandomized
@given(bodies(*REPLIES))
def test_a_reply_is_an_answer_or_fails(data):
    try:
        reply = read_chat_reply(data, KEY)
    except ModelError:
        return
    assert_is_answer(reply)


@derandomized
@given(changed(GOOD), st.booleans(), st.booleans())
def test_a_structured_answer_holds_to_its_schema_or_has_problems(content, fenced, cut):
    text = json.dumps(content, ensure_ascii=False)
    reading = read_answer(f"```json\n{text}\n```" if fenced else text, SCHEMA, cut=cut, secret=KEY)
    assert all(isinstance(str(problem), str) for problem in reading.problems)
    assert reading.problems or set(reading.content) == set(GOOD)
    assert KEY not in repr(reading)


@derandomized
@given(changed(LOGPROBS))
def test_confidences_are_probabilities_or_not_there(tokens):
    found = confidences_of(TEXT, tokens if isinstance(tokens, list) else None)
    assert set(found) <= set(GOOD)
    assert all(math.isfinite(value) and 0.0 <= value <= 1.0 for value in found.values())


@derandomized
@given(
    st.integers(400, 599) | st.sampled_from((200, 301, 100, 999)),
    bodies(*REPLIES),
    st.sampled_from(("retry-after", "retry-after-ms", "content-type", "content-length", "x")),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=20)
    | st.sampled_from(("application/json; charset=hex", "1e999", "-1", "Mon, 01 Jan 0001 00:00:00 -0000")),
)
def test_every_error_reply_is_classified_in_a_short_line(status, data, name, value):
    request = httpx2.Request("POST", "http://localhost/")
    response = httpx2.Response(status, content=data, headers={name: value}, request=request)
    found = classify(httpx2.HTTPStatusError("no", request=request, response=response), KEY)
    assert found.outcome in get_args(Outcome)
    assert found.wait is None or (found.wait >= 0 and math.isfinite(found.wait))
    assert KEY not in found.reason + found.about
    assert found.reason.isprintable()
    assert len(found.reason) < 500


@derandomized
@given(changed(*REPLIES))
def test_every_error_told_with_the_status_of_a_success_is_classified(body):
    try:
        body = parse_json(json.dumps(body))
    except ValueError:
        return
    assert isinstance(tells_error(body), bool)
    assert isinstance(is_declined(error_in(body)), bool)
    assert 400 <= status_in(body) <= 599
    found = classify(ErrorReply(body), KEY)
    assert found.outcome in get_args(Outcome)
    assert KEY not in found.reason + found.about


DATE = st.datetimes().map(lambda moment: moment.strftime("%a, %d %b %Y %H:%M:%S GMT"))


@derandomized
@given(
    st.text(max_size=30) | DATE | st.from_regex(r"[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ [\d:]+ [-+A-Z\d]+"),
    anything,
)
def test_a_retry_after_is_seconds_or_nothing(text, body):
    found = retry_after({"retry-after": text}, body)
    assert found is None or (found >= 0 and math.isfinite(found))


@derandomized
@given(
    st.builds(
        "{}://{}{}".format,
        st.sampled_from(("http", "https", "file", "")),
        st.text(max_size=12),
        st.text(max_size=9),
    )
    | st.text(max_size=30)
    | st.sampled_from(
        ("https://[::1", "https://a:99999/", "http://\ud800/", "//x", "https://xn--/", "https://a@b:c@d")
    )
)
def test_an_address_is_used_or_refused(url):
    try:
        led = _led_to(httpx2.URL("https://example.com/a"), url)
    except ModelError:
        return
    assert isinstance(led, str)


@derandomized
@given(bodies(*REPLIES), bodies(*REPLIES))
def test_a_question_is_answered_or_fails_alone(first, second):
    options = {"base_url": "http://localhost:9/v1", "tries": 1, "longest_wait": 0.001}
    endpoint = Endpoint.from_options("openai", options)[0]
    client = ChatClient(endpoint, "m", account=Account())
    said = [first, second]

    async def send(body):
        return read_chat_reply(said.pop(0), KEY)

    client._send = send
    try:
        answer = asyncio.run(client.ask("q", schema=SCHEMA))
    except ModelError:
        return
    assert answer.status in ("ok", "refused", "invalid")
    assert answer.status != "ok" or set(answer.content) == set(GOOD)
    assert answer.status == "ok" or answer.reason
