"""What servers may answer with status 200: for each adapter, what is no answer and what declines."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.generate.remote.asking import fast
from tests.testing.gemini import serve_gemini
from tests.testing.replicate import serve_replicate

from stereotrope.testing import Loopback

ADAPTERS = ("openai", "gemini", "imagen", "replicate", "replicate looking")
NO_MODERATION = "safety filter failed to load: CUDA out of memory"

ERRORS: dict[str, Any] = {
    "error object": {"error": {"message": "overloaded"}},
    "error text": {"error": "overloaded"},
    "error true": {"error": True, "message": "overloaded"},
    "errors": {"errors": [{"message": "overloaded"}]},
    "errors of texts": {"errors": ["overloaded"]},
    "detail": {"detail": "queue full, retry"},
    "details of FastAPI": {"detail": [{"loc": ["body"], "msg": "try again", "type": "x"}]},
    "failed": {"status": "failed", "message": "GPU out of memory"},
    "message": {"message": "upstream connect error"},
    "business code": {"code": 500, "msg": "busy"},
    "no success": {"success": False, "data": None},
    "error in a list": [{"error": {"message": "overloaded", "code": 503}}],
    "a filter in trouble": {"error": {"message": NO_MODERATION}},
    "a parameter called as a filter": {"error": "invalid value of safety filter: safety_tolerance"},
    "a filter in trouble, in Chinese": {"error": {"message": "内容审核服务超时，请稍后重试", "code": "500"}},
    "a code of a filter in trouble": {"error": {"message": "try later", "code": "moderation_unavailable"}},
    "a type that is blocked": {"error": {"message": "content type is blocked by the gateway"}},
    "limited": {"error": {"message": "slow down", "code": "rate_limit_exceeded"}},
    **{
        f"MiniMax {code}": {"data": None, "base_resp": {"status_code": code, "status_msg": words}}
        for code, words in (
            (0, "success"),
            (1000, "unknown error"),
            (1002, "rate limit"),
            (1008, "insufficient balance"),
            (1024, "internal error"),
            (1042, "invisible character ratio limit"),
            (2013, "invalid params"),
            (True, "x"),
            ([1026], "x"),
            ({"x": 1026}, "x"),
        )
    },
    **{
        f"Tencent {code}": {"Response": {"Error": {"Code": code, "Message": "x"}, "RequestId": "x"}}
        for code in (
            "InternalError",
            "RequestLimitExceeded",
            "ResourceUnavailable.LowBalance",
            "InvalidParameterValue",
            "FailedOperation.GenerateImageFailed",
            None,
        )
    },
    **{
        f"DashScope {code}": {"output": {"task_status": "FAILED", "code": code, "message": "x"}}
        for code in (
            "InternalError.Timeout",
            "Throttling.RateQuota",
            "InvalidParameter",
            "",
        )
    },
    **{
        f"Stability {reason}": {"image": None, "finish_reason": reason}
        for reason in ("ERROR", "SUCCESS", None)
    },
    "Stability artifacts": {"artifacts": [{"finishReason": "CONTENT_FILTERED"}, {"finishReason": "ERROR"}]},
    "Stability without artifacts": {"artifacts": []},
    "Stability name": {"name": "bad_request", "errors": ["x"]},
    **{
        f"fal {flags}": {"images": [], "has_nsfw_concepts": flags}
        for flags in ([False], [], [True, False], True, ["true"])
    },
    **{
        f"fal {kinds}": {"detail": [{"loc": ["body"], "msg": "x", "type": kind} for kind in kinds]}
        for kinds in (
            ["internal_server_error"],
            ["downstream_service_unavailable"],
            ["greater_than"],
            ["missing", "internal_server_error"],
        )
    },
    **{
        f"Bedrock {reasons}": {"images": [], "finish_reasons": reasons}
        for reasons in (
            ["Inference error"],
            [None],
            [],
            ["Filter reason: prompt", "Inference error"],
        )
    },
}
"""Errors, of any server."""

NOTHING: dict[str, Any] = {
    "empty object": {},
    "empty list": [],
    "null": None,
    "text": "text",
    "number": 7,
    "true": True,
    "a list of numbers": [1, 2],
    "a deep list": b"[" * 700 + b"]" * 700,
    "a deep object": b'{"data":' * 700 + b"1" + b"}" * 700,
    "too deep": b"[" * 100_000,
    "cut": b'{"data": [{"b64_json": "iVBOR',
    "no UTF-8": b'{"data": "\xff\xfe"}',
    "a number without end": b'{"created": ' + b"9" * 5000 + b"}",
    "no JSON": b"overloaded",
    "empty body": b"",
}
"""What is no answer of any server."""

_ODD = ("é", "!!!", " ", "\ud800", "overloaded, try later", 7, -1e400, 10**400, True, [], ["x"], {}, {"x": 1})

BROKEN: dict[str, dict[str, Any]] = {
    "openai": {
        "no places": {"created": 1, "data": []},
        "no data": {"created": 1},
        "null data": {"created": 1, "data": None},
        "data of another kind": {"created": 1, "data": {"url": "x"}},
        "null place": {"created": 1, "data": [None]},
        "empty place without its form": {"created": 1, "data": [{}]},
        "place of another kind": {"created": 1, "data": ["x", 7]},
        "empty place beside an error": {"created": 1, "data": [{"b64_json": None}], "error": "out of memory"},
        "error in its place": {
            "created": 1,
            "data": [{"error": {"code": "InternalError", "message": "boom"}}],
        },
        "words for a picture": {"data": [{"b64_json": base64.b64encode(b"<html>busy</html>").decode()}]},
        "bytes for a picture": {"data": [{"b64_json": "AAAA"}]},
        "url of another kind": {"data": [{"url": {"x": 1}}]},
        "no url": {"data": [{"url": "x"}]},
        **{f"picture {odd!r:.20}": {"data": [{"b64_json": odd}]} for odd in _ODD if odd},
    },
    "gemini": {
        "no candidates": {"candidates": [], "usageMetadata": {}},
        "candidate of another kind": {"candidates": ["x"]},
        "no parts": {"candidates": [{"finishReason": "STOP"}]},
        "no image": {"candidates": [{"finishReason": "NO_IMAGE"}]},
        "other": {"candidates": [{"finishReason": "IMAGE_OTHER", "finishMessage": "try again"}]},
        "a reason of another kind": {"candidates": [{"finishReason": {"SAFETY": 1}}]},
        "block reason of another kind": {"promptFeedback": {"blockReason": {"SAFETY": 1}}},
        "block reason that says nothing": {"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}},
        "a chat": {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "Here it is!"}]}}]},
        "words of another kind": {
            "candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": {}}]}}]
        },
        "counts without end": {"candidates": [], "usageMetadata": {"promptTokenCount": 10**400}},
        **{
            f"picture {odd!r:.20}": {"candidates": [{"content": {"parts": [{"inlineData": {"data": odd}}]}}]}
            for odd in _ODD
        },
    },
    "imagen": {
        "no predictions": {"predictions": []},
        "prediction of another kind": {"predictions": [None, "x", 7]},
        "empty prediction": {"predictions": [{}]},
        "a reason of another kind": {"predictions": [{"raiFilteredReason": {"x": 1}}]},
        "scores only": {"predictions": [{"safetyAttributes": {"scores": [0.1]}}]},
        **{f"picture {odd!r:.20}": {"predictions": [{"bytesBase64Encoded": odd}]} for odd in _ODD},
    },
    "replicate": {
        "no status": {"id": "abc"},
        "another status": {"id": "abc", "status": {"x": 1}},
        "out of memory": {"id": "abc", "status": "failed", "error": "CUDA out of memory"},
        "a filter in trouble": {"id": "abc", "status": "failed", "error": NO_MODERATION},
        "boom": {"id": "abc", "status": "failed", "error": {"x": [1]}},
        "canceled": {"id": "abc", "status": "canceled", "output": None},
        "no output": {"id": "abc", "status": "succeeded", "output": None},
        "output removed": {"id": "abc", "status": "succeeded", "output": None, "data_removed": True},
        "output of another kind": {"id": "abc", "status": "succeeded", "output": {"x": 1}},
        "output of numbers": {"id": "abc", "status": "succeeded", "output": [7]},
        "no url": {"id": "abc", "status": "succeeded", "output": "x"},
        "no base64": {"id": "abc", "status": "succeeded", "output": "data:image/png;base64,é"},
        "empty output beside an error": {"id": "abc", "status": "succeeded", "output": [], "error": "busy"},
    },
}
BROKEN["replicate looking"] = BROKEN["replicate"]
"""What has something of an adapter's form, and neither picture nor refusal."""

FAILURES = {adapter: {**ERRORS, **NOTHING, **BROKEN[adapter]} for adapter in ADAPTERS}

DECLINED: dict[str, Any] = {
    "moderation code": {"error": {"message": "No", "code": "moderation_blocked"}},
    "policy": {"error": {"message": "No", "type": "x", "code": "content_policy_violation"}},
    "Azure": {"error": {"message": "No", "code": "contentFilter"}},
    "ByteDance": {"error": {"message": "No", "code": "OutputImageSensitiveContentDetected"}},
    "words": {"error": "Your request was rejected by our safety system."},
    "words of status 400": {
        "error": {"code": 400, "message": "It violates Google's Responsible AI practices"}
    },
    "guidelines": {
        "error": {
            "code": 400,
            "message": "Unable to show generated images. All images were filtered out because they violated "
            "Vertex AI's usage guidelines.",
        }
    },
    "Black Forest Labs": {"id": "x", "status": "Content Moderated", "result": None},
    "Recraft": {"code": "prompt_moderation", "message": "x"},
    "risks": {"error": {"code": "InputTextRiskDetection", "message": "the input text may contain risk"}},
    "Tencent": {"error": {"code": "OperationFailed.TextIllegalDetected", "message": "x"}},
    "Alibaba": {"code": "IPInfringementSuspect", "message": "x"},
    "StepFun": {"error": {"message": "The content you provided is blocked.", "type": "censorship_blocked"}},
    "words that are blocked": {"error": {"message": "Prompt contains blocked words"}},
    "Zhipu": {
        "error": {
            "code": "1301",
            "message": "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入。",
        }
    },
    "words in Chinese": {"error": {"message": "图片内容审核不通过"}},
    "DashScope": {
        "output": {"task_status": "FAILED", "code": "DataInspectionFailed", "message": "x"},
        "request_id": "x",
    },
    "Tencent, nested": {
        "Response": {"Error": {"Code": "OperationDenied.TextIllegalDetected", "Message": "x"}}
    },
    "MiniMax, input": {"data": {}, "base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}},
    "MiniMax, output": {
        "data": None,
        "base_resp": {"status_code": 1027, "status_msg": "output new_sensitive"},
    },
    "Stability": {"image": "AAAA", "finish_reason": "CONTENT_FILTERED", "seed": 1},
    "Stability, v1": {"artifacts": [{"base64": "AAAA", "finishReason": "CONTENT_FILTERED", "seed": 1}]},
    "Stability, errors": {"id": "x", "name": "content_moderation", "errors": ["x"]},
    "fal, pictures": {"images": [{"url": "https://x.invalid/y.png"}], "has_nsfw_concepts": [True], "seed": 1},
    "fal, detail": {"detail": [{"loc": ["body", "prompt"], "msg": "x", "type": "content_policy_violation"}]},
    "Bedrock, Titan": {"images": [], "error": "This request has been blocked by our content filters."},
    "Bedrock, Stability": {"seeds": [1], "finish_reasons": ["Filter reason: output image"]},
}
"""Errors that decline, of any server."""

REFUSALS: dict[str, dict[str, Any]] = {
    "openai": {
        "empty place": {"created": 1, "data": [{"b64_json": None}]},
        "empty text": {"created": 1, "data": [{"b64_json": ""}]},
        "empty url": {"created": 1, "data": [{"url": None, "revised_prompt": "x"}]},
        "error of its place": {"created": 1, "data": [{"error": {"code": "contentFilter", "message": "No"}}]},
        "StepFun": {
            "created": 1,
            "data": [{"finish_reason": "content_filtered", "b64_json": "AAAA", "seed": 1}],
        },
        "filter": {"data": [{"content_filter_results": {"sexual": {"filtered": True, "severity": "high"}}}]},
    },
    "gemini": {
        **{
            f"finish {reason}": {"candidates": [{"finishReason": reason}]}
            for reason in ("SAFETY", "IMAGE_SAFETY", "PROHIBITED_CONTENT", "RECITATION", "IMAGE_RECITATION")
        },
        **{
            f"block {reason}": {"promptFeedback": {"blockReason": reason}}
            for reason in ("SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "JAILBREAK")
        },
        "words": {
            "candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "I can't draw that."}]}}]
        },
    },
    "imagen": {
        "reason": {"predictions": [{"raiFilteredReason": "Support codes: 58061214"}]},
        "empty place": {"predictions": [{"bytesBase64Encoded": "", "mimeType": "image/png"}]},
    },
    "replicate": {
        "E005": {"id": "abc", "status": "failed", "error": "The input was flagged as sensitive. (E005)"},
        "NSFW": {"id": "abc", "status": "failed", "error": "NSFW content detected. Try running it again."},
        "empty output": {"id": "abc", "status": "succeeded", "output": []},
        "empty place": {"id": "abc", "status": "succeeded", "output": [None]},
    },
}
REFUSALS["replicate looking"] = REFUSALS["replicate"]
DECLINES = {adapter: {**DECLINED, **REFUSALS[adapter]} for adapter in ADAPTERS}


def cases(table: dict[str, dict[str, Any]]) -> list[Any]:
    """Each adapter with each name of its bodies; two of three are slow, of each adapter others."""
    return [
        pytest.param(adapter, name, marks=pytest.mark.slow if (i + j) % 3 else [])
        for i, (adapter, bodies) in enumerate(table.items())
        for j, name in enumerate(bodies)
    ]


def entry(adapter: str, server: Loopback, model: str = "m", **options: Any) -> dict[str, Any]:
    """Entry of a generator that asks this server in the way of an adapter."""
    options = {"timeout": 60, **options}
    match adapter:
        case "openai":
            return fast(images=f"openai:{model}", base_url=server.url, **options)
        case "gemini":
            return fast(images=f"google:gemini-{model}", base_url=serve_gemini(server), **options)
        case "imagen":
            return fast(images=f"google:imagen-{model}", base_url=serve_gemini(server), **options)
        case _:
            return fast(images=f"replicate:a/{model}", base_url=serve_replicate(server), **options)


def path(adapter: str) -> str:
    """Path kind of the loopback server that gives an adapter's answer."""
    return "predictions" if adapter == "replicate looking" else "images"


def picture() -> str:
    """Return a small picture in base64."""
    out = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), 200, dtype=np.uint8)).save(out, "PNG")
    return base64.b64encode(out.getvalue()).decode()


def sent(body: Any) -> bytes:
    """Return the bytes of a body."""
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def _choice(**choice: Any) -> dict[str, Any]:
    return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 0}}


CHAT: dict[str, Any] = {
    **ERRORS,
    **NOTHING,
    "no choices": {"choices": []},
    "null choices": {"choices": None},
    "choice of another kind": {"choices": ["x"]},
    "no message": _choice(finish_reason="stop"),
    "null message": _choice(message=None, finish_reason="stop"),
    "null content": _choice(message={"content": None, "refusal": None}, finish_reason="stop"),
    "content of another kind": _choice(message={"content": {"x": 1}}, finish_reason="stop"),
    "parts of another kind": _choice(message={"content": [{"text": {"x": 1}}, 7]}, finish_reason="stop"),
    "refusal of another kind": _choice(message={"refusal": {"x": 1}}, finish_reason="stop"),
    "reason of another kind": _choice(message={}, finish_reason={"content_filter": 1}),
    "broken off": _choice(message={"content": ""}, finish_reason="error"),
    "aborted": _choice(message={"content": "{"}, finish_reason="abort"),
    "an error in its choice": _choice(message={"content": ""}, error={"code": 502, "message": "upstream"}),
    "an error beside it": {"choices": [{"message": {"content": None}}], "error": {"message": "overloaded"}},
    "an error beside silence": {
        "choices": [{"message": {"content": ""}}],
        "error": {"message": "overloaded"},
    },
}
"""What is no answer of a chat server."""
