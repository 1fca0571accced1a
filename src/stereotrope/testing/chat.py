"""POST /v1/chat/completions: the question taken apart, the judge asked, the answer put together."""

import base64
import binascii
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stereotrope.testing.judge import Question, Reply
from stereotrope.testing.misbehaviour import Misbehaviour, error
from stereotrope.testing.schemas import find
from stereotrope.testing.wire import Request, Response

TOKENS_A_PICTURE = 85


@dataclass(frozen=True)
class ChatQuestion:
    """What a chat request holds: all its text, its pictures, the schema of the answer."""

    text: str
    pictures: tuple[bytes, ...]
    schema: Mapping[str, Any] | None
    format: str | None


def take_apart(body: Any) -> ChatQuestion:
    """Read the messages and the response format of a chat request.

    Raises ValueError: It has no messages, or a picture that is no data URL.
    """
    messages = body.get("messages") if isinstance(body, dict) else None
    if not isinstance(messages, list) or not messages:
        raise ValueError("Missing required parameter: 'messages'.")
    texts: list[str] = []
    pictures: list[bytes] = []
    for message in messages:
        content = message.get("content")
        parts: list[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for part in parts:
            if part.get("type") == "text":
                texts.append(part["text"])
            elif part.get("type") == "image_url":
                pictures.append(_picture(part["image_url"]["url"]))
    wanted = body.get("response_format") or {}
    format = wanted.get("type")
    schema = wanted.get("json_schema", {}).get("schema") if format == "json_schema" else None
    text = "\n".join(texts)
    return ChatQuestion(text, tuple(pictures), schema if schema is not None else find(text), format)


def _picture(url: str) -> bytes:
    head, comma, data = url.partition(",")
    if not (head.startswith("data:image/") and head.endswith(";base64") and comma):
        raise ValueError("Invalid image URL: only base64 data URLs of pictures are taken.")
    try:
        return base64.b64decode(data, validate=True)
    except binascii.Error:
        raise ValueError("Invalid base64 image data.") from None


Truths = Callable[[bytes, str], Callable[[str, Sequence[str]], str | None]]


def complete(request: Request, judge: Callable[[Question], Any], truths: Truths, number: int) -> Response:
    """Answer one chat request, as wrongly as it was told to.

    judge: From a question to a :class:`Reply`, to a JSON object, to the text of the answer, or to None, which
        declines.
    truths: From a picture and its SHA-256 to what is known of it.
    """
    try:
        asked = take_apart(request.body)
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        return error(400, str(problem), code="invalid_value")
    rule = request.misbehaviour
    if rule is not None and (refused := _refuse(rule, asked)) is not None:
        return refused
    shas = tuple(hashlib.sha256(data).hexdigest() for data in asked.pictures)
    known = tuple(truths(data, sha) for data, sha in zip(asked.pictures, shas, strict=True))
    question = Question(request.model or "", asked.text, asked.schema, asked.pictures, shas, known)
    reply = judge(question)
    if reply is None:
        request = replace(request, misbehaviour=Misbehaviour("refusal"))
        reply = ""
    if isinstance(reply, str):
        content, sure = reply, {}
    else:
        reply = reply if isinstance(reply, Reply) else Reply(reply)
        content, sure = json.dumps(reply.content, ensure_ascii=False), dict(reply.confidences)
        if rule is not None:
            content = _distort(rule, dict(reply.content), content, asked)
    return _completion(request, asked, content, sure, number)


def _refuse(rule: Misbehaviour, asked: ChatQuestion) -> Response | None:
    if rule.kind == "moderation":
        code = str(rule.options.get("code", "content_policy_violation"))
        return error(400, "Your request was rejected by the safety system.", code=code)
    if rule.kind == "unsupported_schema":
        what = f"Invalid parameter: 'response_format' of type {asked.format!r}"
        return error(400, f"{what} is not supported by this model.", param="response_format")
    return None


def _distort(rule: Misbehaviour, content: dict[str, Any], text: str, asked: ChatQuestion) -> str:
    name = str(rule.options.get("property", _first_closed(asked.schema, content)))
    match rule.kind:
        case "not_json":
            return "The product looks red to me, on a plain background."
        case "fenced":
            return f"Here you are:\n```json\n{text}\n```\n"
        case "cut":
            return text[: len(text) // 2]
        case "duplicate_keys":
            return f"{{{json.dumps(name)}: {json.dumps(_outside(content.get(name)))}, {text[1:]}"
        case "extra_keys":
            content["thoughts"] = "what a picture"
        case "outside_list":
            content[name] = _outside(content.get(name))
        case "missing_item":
            content.pop(name, None)
        case _:
            return text
    return json.dumps(content, ensure_ascii=False)


def _first_closed(schema: Mapping[str, Any] | None, content: Mapping[str, Any]) -> str:
    """The first property with a list of values, or the first of all."""
    parts = (schema or {}).get("properties", {})
    return next((name for name in content if "enum" in json.dumps(parts.get(name))), next(iter(content), ""))


def _outside(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _outside(part) for key, part in value.items()}
    return [_outside(value[0])] if isinstance(value, list) and value else "something else entirely"


def _completion(
    request: Request, asked: ChatQuestion, content: str, sure: Mapping[str, float], number: int
) -> Response:
    rule = request.misbehaviour.kind if request.misbehaviour is not None else None
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
    reason = "length" if rule == "cut" else "stop"
    if rule == "refusal":
        text = request.misbehaviour.options.get("text", "I'm sorry, I can't help with that.")
        message.update(content=None, refusal=text)
    elif rule == "content_filter":
        reason, message["content"] = "content_filter", ""
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    if request.body.get("logprobs") and message["content"]:
        choice["logprobs"] = {"content": _tokens(content, sure), "refusal": None}
    prompt = len(asked.text) // 4 + TOKENS_A_PICTURE * len(asked.pictures) + 8
    completion = len(content) // 4 + 1
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    body: dict[str, Any] = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": request.model,
        "choices": [] if rule == "empty_choices" else [choice],
    }
    return Response(200, body if rule == "no_usage" else {**body, "usage": usage})


def _tokens(content: str, sure: Mapping[str, float]) -> list[dict[str, Any]]:
    """The answer cut into words and marks; the first word of a property's value bears its confidence."""
    bearing: dict[int, float] = {}
    for name, confidence in sure.items():
        found = re.search(rf"{re.escape(json.dumps(name, ensure_ascii=False))}:\s*\"?", content)
        if found is not None:
            bearing[found.end()] = confidence
    return [
        {
            "token": found.group(),
            "logprob": math.log(bearing.get(found.start(), 0.9999)),
            "bytes": list(found.group().encode("utf-8", "replace")),
            "top_logprobs": [],
        }
        for found in re.finditer(r"\w+|\s+|[^\w\s]", content)
    ]
