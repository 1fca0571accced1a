from __future__ import annotations

import email.utils
import json
import ssl
import time

import httpx2
import openai
import pytest

from stereotrope.clients.failures import Streamed, classify, expected, retry_after
from stereotrope.errors import ModelError

REQUEST = httpx2.Request("POST", "http://localhost/v1/x")


def reply(status, body="", headers=None):
    content = body if isinstance(body, (str, bytes)) else json.dumps(body)
    response = httpx2.Response(status, content=content, headers=headers, request=REQUEST)
    return httpx2.HTTPStatusError("no", request=REQUEST, response=response)


def said(message="No", **more):
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("status", "body", "outcome", "reason"),
    [
        (429, said(code="rate_limit_exceeded"), "rate_limited", "too many requests"),
        (429, said(code="insufficient_quota", type="insufficient_quota"), "unusable", "quota is used up"),
        (429, said(type="insufficient_quota", code=None), "unusable", "quota is used up"),
        (400, said(code="billing_hard_limit_reached"), "unusable", "quota is used up"),
        (402, {"detail": "Payment required"}, "unusable", "quota is used up"),
        (401, said("Incorrect key"), "unusable", "key is not accepted"),
        (403, said("No access"), "unusable", "key is not accepted"),
        (
            400,
            said("No connected db.", type="no_db_connection", code="400"),
            "unusable",
            "key is not accepted",
        ),
        (400, said("Incorrect API key provided", code="invalid_api_key"), "unusable", "key is not accepted"),
        (404, said("no", code="model_not_found"), "unusable", "no such model or address"),
        (404, "404 page not found", "unusable", "no such model or address"),
        (400, said("xyz is not a valid model ID"), "unusable", "no such model or address"),
        (400, said("The model `x` does not exist"), "unusable", "no such model or address"),
        (307, "", "unusable", "a redirect"),
        (400, said(code="moderation_blocked"), "refused", "No"),
        (400, said(code="content_policy_violation"), "refused", "No"),
        (
            400,
            said(code="content_filter", innererror={"code": "ResponsibleAIPolicyViolation"}),
            "refused",
            "No",
        ),
        (400, said("rejected by our safety system", code=None), "refused", "safety system"),
        (403, said("flagged", metadata={"flagged_input": "x", "reasons": ["y"]}), "refused", "flagged"),
        (403, said("Violates the usage policy of this account"), "unusable", "key is not accepted"),
        (400, said("Invalid size"), "bad_request", "rejected the request"),
        (400, said("moderation must be low or auto", param="moderation"), "bad_request", "rejected"),
        (400, said("flagged by moderation", param="prompt"), "refused", "flagged"),
        (413, "too large", "bad_request", "rejected the request"),
        (422, {"detail": [{"loc": ["body"], "msg": "field required"}]}, "bad_request", "field required"),
        (408, "", "server_error", "server error"),
        (409, "", "server_error", "server error"),
        (500, said("oops"), "server_error", "oops"),
        (502, "<html><h1>Bad gateway</h1></html>", "server_error", "Bad gateway"),
        (529, "", "server_error", "529"),
    ],
)
def test_replies_by_status_and_code(status, body, outcome, reason):
    found = classify(reply(status, body))
    assert found.outcome == outcome
    assert reason in found.reason
    assert found.again is (outcome in ("rate_limited", "server_error"))
    assert not found.sent
    assert "<" not in found.reason


NO_SUCH_MODEL = [
    (400, {"error": {"message": "Invalid model name passed in model=x. Call `/v1/models` to view"}}),
    (400, {"detail": "Server is pinned to 'a/b'; requested 'x'."}),
    (400, said("Model Not Exist")),
    (400, said("Invalid model: x", type="invalid_model_error")),
    (400, {"object": "error", "message": "The model `x` does not exist.", "code": 40401}),
    (400, said("The provided model identifier is invalid.")),
    (400, said("The model x is not supported")),
    (400, said("No models loaded. Please load a model")),
    (422, {"detail": "Unknown model: x"}),
    (422, {"detail": [{"loc": ["body", "model"], "msg": "Unable to find model with id x"}]}),
    (500, said("Invalid model name passed in model=x")),
    (500, {"detail": "model 'x' not found"}),
    (501, "unsupported model: x"),
    (503, said("No channel", code="model_not_found")),
]


@pytest.mark.parametrize(("status", "body"), NO_SUCH_MODEL)
def test_a_model_that_a_server_does_not_have_is_an_end_however_it_says_so(status, body):
    found = classify(reply(status, body))
    assert (found.outcome, found.again) == ("unusable", False)
    assert "no such model or address" in found.reason


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (503, said("The model is currently loading, try again later"), "server_error"),
        (503, said("Model x is not available at the moment"), "server_error"),
        (500, said("Unknown model output; retry"), "server_error"),
        (400, said("Unsupported model parameter 'top_k'"), "bad_request"),
        (400, said("Invalid model input: the picture is too small"), "bad_request"),
        (400, said("temperature does not support 0.0 with this model"), "bad_request"),
        (400, said("response_format is not supported by this model"), "bad_request"),
    ],
)
def test_not_every_word_of_a_model_says_that_there_is_none(status, body, outcome):
    assert classify(reply(status, body)).outcome == outcome


@pytest.mark.parametrize(
    ("status", "body", "lasting"),
    [
        (400, said("Invalid size"), True),
        (413, "too large", True),
        (405, "", True),
        (500, "", True),
        (500, "Internal Server Error", True),
        (501, "not implemented", True),
        (500, said("CUDA out of memory"), False),
        (500, said("litellm.InternalServerError: OpenAIException - Connection error."), False),
        (500, said("You can retry your request"), False),
        (502, "", False),
        (503, said("x"), False),
        (504, "", False),
        (529, "overloaded", False),
        (408, "", False),
        (429, "", False),
        (401, "", False),
    ],
)
def test_what_says_nothing_of_passing_lasts(status, body, lasting):
    assert classify(reply(status, body)).is_lasting is lasting


@pytest.mark.parametrize(
    ("body", "bare"),
    [
        ("", True),
        ("Internal Server Error", True),
        (said("The server had an error", code="server_error"), True),
        (said("Internal server error", type=None, code=500), True),
        (said("CUDA error: device-side assert triggered"), False),
        ({"detail": "tokenizer has no chat template"}, False),
    ],
)
def test_a_500_that_says_nothing_is_bare(body, bare):
    assert classify(reply(500, body)).is_bare is bare
    assert not classify(reply(502, body)).is_bare


def test_a_stream_is_an_end_however_it_is_wrapped():
    streamed = Streamed("text/event-stream")
    wrapped = openai.APIConnectionError(request=REQUEST)
    wrapped.__cause__ = streamed
    for error in (streamed, wrapped):
        found = classify(error)
        assert (found.outcome, found.again, found.sent) == ("unusable", False, True)
        assert "answers with a stream of events (text/event-stream)" in found.reason


def test_google_wraps_its_errors_in_a_list_and_says_when_to_come_back():
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    body = [said("quota", status="RESOURCE_EXHAUSTED", code=429, details=details)]
    found = classify(reply(429, body))
    assert (found.outcome, found.wait) == ("rate_limited", 34.5)


def test_a_quota_of_the_day_is_an_end():
    violation = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}
    found = classify(reply(429, said("quota", details=[{"violations": [violation]}])))
    assert (found.outcome, found.again) == ("unusable", False)


@pytest.mark.parametrize(
    ("error", "outcome", "sent"),
    [
        (TimeoutError(), "timeout", True),
        (httpx2.ReadTimeout("slow"), "timeout", True),
        (httpx2.ConnectTimeout("slow"), "timeout", False),
        (openai.APITimeoutError(REQUEST), "connection", True),
        (httpx2.ConnectError("refused"), "connection", False),
        (httpx2.RemoteProtocolError("peer closed"), "connection", True),
        (httpx2.ReadError("reset"), "connection", True),
        (ConnectionResetError("reset"), "connection", True),
        (ModelError("answered no JSON"), "invalid", True),
        (json.JSONDecodeError("x", "", 0), "invalid", True),
        (httpx2.DecodingError("gzip"), "invalid", True),
    ],
)
def test_what_never_became_a_reply(error, outcome, sent):
    found = classify(error)
    assert (found.outcome, found.sent, found.again) == (outcome, sent, True)
    assert isinstance(error, expected())


def test_the_sdk_wraps_what_httpx_raises():
    error = openai.APITimeoutError(REQUEST)
    error.__cause__ = httpx2.ReadTimeout("slow")
    assert classify(error).outcome == "timeout"


def test_a_certificate_that_cannot_be_verified_is_an_end():
    error = httpx2.ConnectError("tls")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed")
    assert classify(error).outcome == "unusable"
    assert not classify(httpx2.UnsupportedProtocol("ftp")).again


def test_reasons_hold_no_key_and_stay_short():
    found = classify(reply(401, said("bad key hunter2hunter2 " + "x" * 900)), "hunter2hunter2")
    assert "hunter2" not in found.reason + found.about
    assert len(found.reason) < 400


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after": "7"}, 7, 7),
        ({"retry-after": "0.25"}, 0.25, 0.25),
        ({"retry-after": "-5"}, 0, 0),
        ({"retry-after": "99999999999"}, 99999999999, 99999999999),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0, 0),
    ],
)
def test_retry_after_in_seconds_or_as_a_date(headers, low, high):
    assert low <= retry_after(headers) <= high


@pytest.mark.parametrize("text", ["", "soon", "nan", "inf", "1e999", "Wed, 99 Foo 2015 99:99:99 GMT", "\x00"])
def test_a_retry_after_that_says_nothing_is_none(text):
    assert retry_after({"retry-after": text}) is None
    assert retry_after({}) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"[1]",
        b'{"error": null}',
        b'{"error": []}',
        b'{"error": "x"}',
        b"\xff\xfe",
        b"[" * 9999,
    ],
)
def test_no_body_upsets_it(body):
    assert classify(reply(500, body)).outcome == "server_error"
    assert classify(reply(400, body)).outcome == "bad_request"


def test_a_date_ahead_is_the_time_until_then():
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert 25 <= retry_after({"retry-after": date}) <= 30
