"""What came back from an image endpoint: the places of an answer, each a picture, a URL or a refusal."""

import base64
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from stereotrope.clients import ErrorReply, Usage, tells_error
from stereotrope.errors import ModelError, PictureError
from stereotrope.pictures import decode, sniff

EMPTY = "an empty place in the answer, as when a picture was filtered"
BLACK = "a uniformly black picture, as safety checkers put in the place of a filtered one"
_DARKEST = 2
"""Levels of 255 that compression leaves of black; a photograph of the night has brighter pixels."""
_LOOKED_AT = 100_000
_OF_ANOTHER_FORMAT = " but "
"""In the reason of bytes whose format is known and none of ours."""
_FORMATS_IN_WORDS = (b"GIF8", b"%PDF", b"%!PS")
"""Pictures and pages that begin with printable characters."""


@dataclass(frozen=True)
class Slot:
    """One place of an answer: just one of ``data``, ``url``, ``refusal`` and ``failure`` is given."""

    data: bytes | None = None
    url: str | None = None
    refusal: str | None = None
    failure: str | None = None
    revised_prompt: str | None = None

    @property
    def is_picture(self) -> bool:
        """Whether it holds a picture, or the address of one."""
        return self.data is not None or self.url is not None


@dataclass(frozen=True)
class ImageReply:
    """The answer to one call."""

    slots: tuple[Slot, ...]
    usage: Usage
    seconds: float = 0.0


def reply(slots: Sequence[Slot], input_tokens: Any = None, output_tokens: Any = None) -> ImageReply:
    """Return a reply with what it used; an answer without any picture books its first refusal."""
    n = sum(slot.is_picture for slot in slots)
    declined = None if n else next((slot.refusal for slot in slots if slot.refusal is not None), None)
    return ImageReply(tuple(slots), Usage(input_tokens, output_tokens, images=n, refusal=declined))


def held(answer: Any, slots: Sequence[Slot]) -> Sequence[Slot]:
    """Return the places of an answer where it holds a picture, or a refusal in a refusal's form.

    Beside an error that the answer tells, an empty place is a failure and no refusal.

    Raises ErrorReply: There is no picture, and it tells an error.
    Raises ModelError: There is neither a picture nor a refusal; asking again may bring one.
    """
    is_error = tells_error(answer)
    if any(slot.is_picture for slot in slots):
        broken = Slot(failure="an empty place beside an error that the answer tells")
        return [broken if is_error and slot.refusal == EMPTY else slot for slot in slots]
    if is_error:
        raise ErrorReply(answer)
    if all(slot.refusal is None for slot in slots):
        why = next((slot.failure for slot in slots if slot.failure), "something else than pictures")
        raise ModelError(f"answered {why}: {json.dumps(answer)[:_LOOKED_AT]}")
    return slots


def from_base64(text: Any, revised_prompt: Any = None) -> Slot:
    """Read a picture given as base64, with or without ``data:…,`` in front.

    Null and an empty text are an empty place, which is a refusal; what is no base64 is a failure.
    """
    revised = text_of(revised_prompt) or None
    if text is None or text == "":
        return Slot(refusal=EMPTY, revised_prompt=revised)
    if not isinstance(text, str):
        return Slot(failure="something else than a text where a picture belongs", revised_prompt=revised)
    body = "".join((text.partition(",")[2] if text.startswith("data:") else text).split())
    with suppress(ValueError):
        if data := base64.b64decode(body + "=" * (-len(body) % 4), validate=True):
            return Slot(data=data, revised_prompt=revised)
    return Slot(failure="a text that is no base64 where a picture belongs", revised_prompt=revised)


def from_url(url: str, revised_prompt: Any = None) -> Slot:
    """Read a place that holds a URL or a data URL."""
    if url.startswith("data:"):
        return from_base64(url, revised_prompt)
    return Slot(url=url, revised_prompt=text_of(revised_prompt) or None)


def condition_of(data: bytes) -> str | None:
    """Say what is wrong with what came for a picture: ``"black"``, ``"damaged"`` or ``"words"``.

    Black is one without a lit pixel, damaged one cut, broken or of no known format, words is text of any
    kind. None is said of all else, bytes in a known format that is none of ours included: asking again brings
    the same, and the picture check excludes it with its reason.
    """
    try:
        sniff(data)
    except PictureError as error:
        if _is_text(data):
            return "words"
        return None if _OF_ANOTHER_FORMAT in error.reason else "damaged"
    try:
        return "black" if int(decode(data).max()) <= _DARKEST else None
    except PictureError as error:
        return "damaged" if error.reason.startswith(("truncated", "damaged")) else None


def _is_text(data: bytes) -> bool:
    if data.startswith(_FORMATS_IN_WORDS):
        return False
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return all(character.isprintable() or character.isspace() for character in text)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping, empty where the answer holds something else there."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Any]:
    """Return a list, empty where the answer holds something else there."""
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return a text, empty where the answer holds something else there."""
    return value if isinstance(value, str) else ""
