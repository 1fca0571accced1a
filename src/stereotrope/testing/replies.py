"""Errors as an OpenAI-compatible server words them."""

import json
from collections.abc import Mapping

from stereotrope.testing.misbehaviour import Misbehaviour
from stereotrope.testing.wire import Request, Response


def error(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    code: str | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return an error as such a server words it."""
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Response(status, body, headers or {})


def general(rule: Misbehaviour, request: Request) -> Response:
    """Return the error that a misbehaviour of every route gives; refused keys are echoed, as some do."""
    options = rule.options
    wait = {"retry-after": str(options["retry_after"])} if options.get("retry_after") is not None else {}
    match rule.kind:
        case "rate_limit":
            words, code = "Rate limit reached for requests", "rate_limit_exceeded"
            return error(429, words, kind="requests", code=code, headers=wait)
        case "quota":
            words = "You exceeded your current quota, please check your plan and billing details."
            return error(429, words, kind="insufficient_quota", code="insufficient_quota")
        case "unauthorized":
            return error(401, f"Incorrect API key provided: {request.secret}", code="invalid_api_key")
        case "forbidden":
            return error(403, f"Key {request.secret} has no access to this model", code="forbidden")
        case "unknown_model":
            words = f"The model `{request.model}` does not exist or you do not have access to it."
            return error(404, words, code="model_not_found")
        case "bad_request":
            words, code = options.get("message", "Invalid value"), options.get("code", "invalid_value")
            return error(400, str(words), code=str(code))
        case "html":
            page = b"<!doctype html><html><title>Gateway</title><h1>Please wait</h1></html>"
            return Response(int(options.get("status", 200)), page, content_type="text/html; charset=utf-8")
        case "answer":
            body = options.get("body")
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            return Response(int(options.get("status", 200)), content)
        case _:
            status, code = int(options.get("status", 500)), "server_error"
            return error(status, "The server had an error", kind=code, code=code, headers=wait)
