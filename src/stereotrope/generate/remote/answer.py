"""What came back from an image endpoint: the places of an answer, each a picture, a URL or a refusal."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereotrope.clients import Usage
from stereotrope.errors import PictureError
from stereotrope.pictures import decode, sniff

__all__ = [
    "BLACK",
    "EMPTY",
    "Reply",
    "Slot",
    "condition_of",
    "count_of",
    "from_base64",
    "from_url",
    "items",
    "mapping",
    "moderated",
    "reply",
]

EMPTY = "an empty place in the answer, as when a picture was filtered"
BLACK = "a uniformly black picture, as safety checkers put in the place of a filtered one"
_MOST_TOKENS = 10**9
"""More than this in one answer is no count of tokens."""
_DARKEST = 2
"""Levels of 255 that compression leaves of black; a photograph of the night has brighter pixels."""
_MODERATED = re.compile(
    r"nsfw|moderation|content.?policy|safety|flagged|sensitive|prohibited|responsible.?ai|\bE005\b", re.I
)
"""How a model says in words that it declined; Replicate has no code for it but E005."""


@dataclass(frozen=True)
class Slot:
    """One place of an answer: just one of ``data``, ``url``, ``refusal`` and ``failure`` is given."""

    data: bytes | None = None
    url: str | None = None
    refusal: str | None = None
    failure: str | None = None
    revised_prompt: str | None = None


@dataclass(frozen=True)
class Reply:
    """The answer to one call."""

    slots: tuple[Slot, ...]
    usage: Usage
    seconds: float = 0.0


def reply(slots: Sequence[Slot], input_tokens: Any = None, output_tokens: Any = None) -> Reply:
    """Return a reply with what it used; an answer without any picture books its first refusal."""
    pictures = sum(slot.data is not None or slot.url is not None for slot in slots)
    declined = next((slot.refusal for slot in slots if slot.refusal is not None), None)
    return Reply(
        tuple(slots),
        Usage(
            count_of(input_tokens),
            count_of(output_tokens),
            images=pictures,
            refusal=None if pictures else declined,
        ),
    )


def from_base64(text: Any, revised_prompt: Any = None) -> Slot:
    """Read a picture given as base64, with or without ``data:…,`` in front; empty is a refusal.

    What is no base64 becomes the text's own bytes, so that the picture check says what it is.
    """
    said = revised_prompt if isinstance(revised_prompt, str) and revised_prompt else None
    if not isinstance(text, str) or not text.strip():
        return Slot(refusal=EMPTY, revised_prompt=said)
    body = text.partition(",")[2] if text.startswith("data:") else text
    body = "".join(body.split())
    try:
        return Slot(data=base64.b64decode(body + "=" * (-len(body) % 4), validate=True), revised_prompt=said)
    except binascii.Error:
        return Slot(data=text.encode(errors="replace"), revised_prompt=said)


def from_url(url: str, revised_prompt: Any = None) -> Slot:
    """Read a place that holds a URL or a data URL."""
    if url.startswith("data:"):
        return from_base64(url, revised_prompt)
    said = revised_prompt if isinstance(revised_prompt, str) and revised_prompt else None
    return Slot(url=url, revised_prompt=said)


def condition_of(data: bytes) -> str | None:
    """Say ``"black"`` of a picture without a lit pixel, ``"damaged"`` of one cut or broken on the way.

    None is said of every other picture, and of what is no picture: asking again for HTML, JSON or SVG
    brings the same, so that is left to the picture check, which excludes it with its reason.
    """
    try:
        sniff(data)
    except PictureError:
        return None
    try:
        return "black" if int(decode(data).max()) <= _DARKEST else None
    except PictureError as error:
        return "damaged" if error.reason.startswith(("truncated", "damaged")) else None


def moderated(text: str) -> bool:
    """Whether the words of an error say that the content was declined."""
    return _MODERATED.search(text) is not None


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping, empty where the answer holds something else there."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """Return a list, empty where the answer holds something else there."""
    return value if isinstance(value, list) else []


def count_of(value: Any) -> int | None:
    """Return a count of tokens, None where the answer gives none."""
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS
    return value if is_count else None
