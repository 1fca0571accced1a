"""Taking the reply of a chat endpoint apart, whatever it is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereotrope.clients.caller import Usage
from stereotrope.clients.error_body import parse_json, tells_error
from stereotrope.clients.failures import ErrorReply
from stereotrope.clients.redact import redact
from stereotrope.errors import ModelError
from stereotrope.shipped import shipped

_LOOKED_AT = 100_000
_BROKEN_OFF = ("abort", "aborted", "cancelled", "error", "timeout")
"""``finish_reason`` of vLLM, OpenRouter and others where the server ended the answer, not the model."""


@dataclass(frozen=True)
class ChatReply:
    """One reply of a model.

    text: What it says, as it came: it may hold the key; empty where it says nothing.
    cut: Whether it ended at max_tokens.
    tokens: Its tokens with their log-probabilities, None where they are not given.
    """

    text: str
    refusal: str | None
    cut: bool
    tokens: Sequence[Mapping[str, Any]] | None
    usage: Usage


def read_chat_reply(data: bytes, secret: str) -> ChatReply:
    """Take the body of a reply apart.

    Only what has a refusal's form is one: ``refusal`` in words, or a ``finish_reason`` that names a filter
    (OpenAI's ``content_filter``, Google's own reasons where a gateway passes them on).

    Raises ErrorReply: It tells an error.
    Raises ModelError: It is no chat completion, or its message holds nothing.
    """
    try:
        reply = parse_json(data)
    except ValueError:
        page = redact(data[:_LOOKED_AT].decode("utf-8", "replace"), secret)[:80]
        raise ModelError(f"answered no JSON: {page.strip() or 'an empty body'}") from None
    choices = reply.get("choices") if isinstance(reply, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict):
        if tells_error(reply):
            raise ErrorReply(reply)
        raise ModelError("answered JSON that is no chat completion: it has no choice with a message")
    if choice.get("error"):
        raise ErrorReply(choice)
    found = choice.get("message")
    message = found if isinstance(found, dict) else {}
    finish = choice.get("finish_reason")
    if finish in _BROKEN_OFF:
        raise ModelError(f"broke off its answer, finish reason {finish}")
    declined = _declined(message.get("refusal"), finish, secret)
    text = _text(message.get("content"))
    if declined is None and not text and tells_error(reply):
        raise ErrorReply(reply)
    if declined is None and text is None and finish != "length":
        reason = finish if isinstance(finish, str) else "not given"
        raise ModelError(
            f"answered JSON that is no chat completion: it has no choice with a message that holds a text, "
            f"finish reason {reason}"
        )
    logprobs, counts = choice.get("logprobs"), reply.get("usage")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    counts = counts if isinstance(counts, dict) else {}
    return ChatReply(
        text=text or "",
        refusal=declined,
        cut=finish == "length",
        tokens=tokens if isinstance(tokens, list) else None,
        usage=Usage(counts.get("prompt_tokens"), counts.get("completion_tokens"), refusal=declined),
    )


def _declined(refusal: Any, finish: Any, secret: str) -> str | None:
    if isinstance(refusal, str) and refusal.strip():
        return redact(refusal, secret)
    reason = finish if isinstance(finish, str) else ""
    if reason.startswith("content_filter"):
        return "content filter"
    filtered = reason.upper() in shipped("clients", "codes.yaml")["filtered"]
    return f"content filter: {reason}" if filtered else None


def _text(content: Any) -> str | None:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
    return content if isinstance(content, str) else None
