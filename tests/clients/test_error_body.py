from __future__ import annotations

import httpx2
import pytest
from tests.generate.remote.bodies import CHAT, DECLINED, ERRORS, sent

from stereotrope.clients.error_body import error_in, is_moderation, parse_json, status_in, tells_error
from stereotrope.clients.failures import classify
from stereotrope.clients.reply import ErrorReply, read_chat_reply
from stereotrope.errors import ModelError


@pytest.mark.parametrize(
    "words",
    [
        "Your request was rejected by our safety system.",
        "The response is blocked, as it may violate our policies.",
        "NSFW content detected. Try running it again, or try a different prompt.",
        "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
        "Content moderated: prohibited_content",
        "prompt rejected: NSFW",
        "flagged by moderation",
        "All images were filtered out because they violated Vertex AI's usage guidelines.",
        "It contains copyrighted characters",
        "输入包含敏感词",
        "This prompt contains sensitive words that violate Google's Responsible AI practices.",
        "Generated image was filtered as a result of the content management policy",
    ],
)
def test_words_that_decline_the_content(words):
    assert is_moderation(words)


@pytest.mark.parametrize(
    "words",
    [
        "width must be a multiple of 16",
        "CUDA out of memory",
        "boom",
        "safety checker: CUDA out of memory",
        "The moderation service is temporarily unavailable",
        "content filter timed out",
        "invalid value of safety_tolerance",
        "Unknown parameter: 'moderation'. Supported values are: 'low' and 'auto'.",
        "parameter names are case-sensitive",
        "access prohibited",
        "The model `flux` has been flagged for removal",
        "invalid safety settings",
        "Your IP has been blocked due to abuse",
        "The prompt type is blocked",
        "模型名称大小写敏感",
        "账号违规，已被封禁",
        "当前分组上游负载已饱和，请稍后再试",
        "nsfw checker crashed",
    ],
)
def test_words_of_another_kind_decline_nothing(words):
    assert not is_moderation(words)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "m"}}, "m"),
        ({"error": "m"}, "m"),
        ({"error": True, "message": "m"}, "m"),
        ({"error": {"code": "x"}, "message": "m"}, "m"),
        ({"errors": [{"message": "m"}]}, "m"),
        ({"errors": ["m"]}, '["m"]'),
        ({"detail": [{"loc": ["body", "n"], "msg": "m"}]}, '[{"loc": ["body", "n"], "msg": "m"}]'),
        ({"detail": {"msg": "m"}}, "m"),
        ({"code": 500, "msg": "m"}, "m"),
        ([{"error": {"message": "m"}}], "m"),
        ("m", "m"),
        ({"error": {"x": 1}}, '{"x": 1}'),
        ({}, ""),
    ],
)
def test_the_message_is_found_in_every_shape(body, message):
    assert error_in(body).get("message", "") == message


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": {"message": "m", "code": 503}}, 503),
        ({"status": "429", "message": "m"}, 429),
        ({"error": {"code": "content_policy_violation"}}, 400),
        ({"error": {"code": "DataInspectionFailed"}}, 400),
        ({"error": "flagged"}, 400),
        ({"error": {"type": "rate_limit_error"}}, 429),
        ({"error": {"code": "invalid_api_key"}}, 401),
        ({"error": {"code": 7, "message": "m"}}, 500),
        ({"code": 10**400}, 500),
        ({"code": True}, 500),
        ([], 500),
    ],
)
def test_the_status_is_the_one_that_is_told_or_that_its_code_has(body, status):
    assert status_in(body) == status


@pytest.mark.parametrize(
    "body", [{}, [], None, 7, "x", {"code": 0, "msg": "success"}, {"error": None}, {"n": 4}]
)
def test_what_tells_no_error(body):
    assert not tells_error(body)


@pytest.mark.parametrize("data", [b"[" * 101 + b"]" * 101, b"[" * 100_000, b"\xff", b"", b"{", b"9" * 5000])
def test_json_that_cannot_be_handled_is_none(data):
    with pytest.raises(ValueError, match=r".") as raised:
        parse_json(data)
    assert not isinstance(raised.value, RecursionError)
    assert parse_json(b"[" * 50 + b"]" * 50)


@pytest.mark.parametrize("name", DECLINED)
def test_what_declines_with_status_200_declines_with_its_own_status_too(name: str) -> None:
    refused = httpx2.Response(400, json=DECLINED[name], request=httpx2.Request("POST", "http://server"))
    assert (
        classify(httpx2.HTTPStatusError("", request=refused.request, response=refused)).outcome == "refused"
    )


@pytest.mark.parametrize(
    "name", [name for name in DECLINED if name.startswith(("Stability", "fal", "MiniMax"))]
)
def test_a_form_that_declines_does_so_with_status_403_too(name: str) -> None:
    refused = httpx2.Response(403, json=DECLINED[name], request=httpx2.Request("POST", "http://server"))
    assert (
        classify(httpx2.HTTPStatusError("", request=refused.request, response=refused)).outcome == "refused"
    )


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("name", DECLINED)
def test_nothing_declines_with_the_status_of_an_overload_or_outage(name: str, status: int) -> None:
    failed = httpx2.Response(status, json=DECLINED[name], request=httpx2.Request("POST", "http://server"))
    assert classify(httpx2.HTTPStatusError("", request=failed.request, response=failed)).outcome != "refused"


@pytest.mark.parametrize("name", ERRORS)
def test_no_error_declines_with_status_400(name: str) -> None:
    failed = httpx2.Response(400, json=ERRORS[name], request=httpx2.Request("POST", "http://server"))
    assert classify(httpx2.HTTPStatusError("", request=failed.request, response=failed)).outcome != "refused"


@pytest.mark.parametrize("name", CHAT)
def test_what_is_no_answer_of_a_chat_server_is_read_as_none(name):
    with pytest.raises((ErrorReply, ModelError)):
        read_chat_reply(sent(CHAT[name]), "a key")
