"""Taking the reply of a chat endpoint apart, whatever it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereotrope.clients.caller import Usage
from stereotrope.clients.redact import hide, redact
from stereotrope.errors import ModelError

__all__ = ["Reply", "read_reply"]

_LOOKED_AT = 100_000
_MOST_TOKENS = 10**9
"""More than this in one reply is no count of tokens."""


@dataclass(frozen=True)
class Reply:
    """One reply of a model.

    Attributes
    ----------
    text
        What it says, empty where it says nothing.
    refusal
        Why it declines, None where it does not.
    cut
        Whether it ended at max_tokens.
    tokens
        Its tokens with their log-probabilities, None where they are not given.
    usage
        What it used.
    """

    text: str
    refusal: str | None
    cut: bool
    tokens: Sequence[Mapping[str, Any]] | None
    usage: Usage


def read_reply(data: bytes, secret: str) -> Reply:
    """Take the body of a reply apart; a key that it sends back is hidden.

    Raises
    ------
    ModelError
        It is no chat completion.
    """
    try:
        reply = json.loads(data)
    except (ValueError, RecursionError):
        text = redact(data[:_LOOKED_AT].decode("utf-8", "replace"), secret)[:80]
        raise ModelError(f"answered no JSON: {text}") from None
    choices = reply.get("choices") if isinstance(reply, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ModelError("answered JSON that is no chat completion: it has no choice with a message")
    finish = choice.get("finish_reason")
    refusal = message.get("refusal")
    declined = redact(str(refusal), secret) if refusal else None
    if declined is None and finish == "content_filter":
        declined = "content filter"
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return Reply(
        text=hide(_text(message.get("content")), secret),
        refusal=declined,
        cut=finish == "length",
        tokens=tokens if isinstance(tokens, list) else None,
        usage=_usage(reply.get("usage"), declined),
    )


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _usage(found: Any, refusal: str | None) -> Usage:
    counts = found if isinstance(found, dict) else {}
    return Usage(
        _count(counts.get("prompt_tokens")), _count(counts.get("completion_tokens")), refusal=refusal
    )


def _count(found: Any) -> int | None:
    is_count = isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= _MOST_TOKENS
    return found if is_count else None
