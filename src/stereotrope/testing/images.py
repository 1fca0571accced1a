"""POST /v1/images/generations: pictures drawn, numbered and wrapped."""

import base64
import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from stereotrope.generate import CalibratedGenerator, ImageRequest
from stereotrope.testing.misbehaviour import Misbehaviour, error
from stereotrope.testing.plant import png
from stereotrope.testing.wire import Request, Response

_MOST_PICTURES = 10

Painter = Callable[[str, str, int, str | None], bytes]
"""(model, prompt, seed or number, size) to the bytes of a picture; may raise :class:`Declined`."""


class Declined(Exception):
    """The painter draws no such picture: answered as moderation does."""


class CalibratedPainter:
    """Draws what :class:`~stereotrope.generate.CalibratedGenerator` draws, whatever the model's name.

    The seed of a picture is the request's, or its number. What the planted truth declines is answered as
    moderation, and so is a prompt in which nothing can be drawn.

    generator: With its size and truth; pictures of 256 pixels where None.
    """

    def __init__(self, generator: CalibratedGenerator | None = None) -> None:
        self.generator = generator if generator is not None else CalibratedGenerator(size=256)
        self._values: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()

    def __call__(self, model: str, prompt: str, number: int, size: str | None = None) -> bytes:
        """Draw one picture and remember its values."""
        result = self.generator.process(ImageRequest("", "", self.generator.name, prompt, None, number))
        if result.data is None:
            raise Declined(result.reason)
        values = self.generator.values(prompt, number)
        with self._lock:
            self._values[hashlib.sha256(result.data).hexdigest()] = values
        return result.data

    def values_of(self, sha256: str) -> dict[str, str] | None:
        """Attribute → value of a picture that it has drawn, None of any other."""
        return self._values.get(sha256)


class Numbering:
    """Counts the pictures of each model and prompt, for those that are asked for without a seed."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._given: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def take(self, model: str, prompt: str, n: int) -> range:
        """Return the next n numbers of this model and prompt."""
        with self._lock:
            start = self._first + self._given[model, prompt]
            self._given[model, prompt] += n
        return range(start, start + n)


def paint(
    request: Request, painter: Painter, numbers: Numbering, *, seeds: bool, keep: Callable[[bytes], str]
) -> Response:
    """Answer one request for pictures, as wrongly as it was told to.

    ``keep`` stores a picture that is handed out by URL, and returns the URL.
    """
    body = request.body
    if not isinstance(body, dict) or not isinstance(body.get("prompt"), str):
        return error(400, "Missing required parameter: 'prompt'.", param="prompt")
    n, seed = body.get("n", 1), body.get("seed")
    if type(n) is not int or not 1 <= n <= _MOST_PICTURES:
        return error(400, f"Invalid 'n': expected 1 to {_MOST_PICTURES}.", param="n", code="invalid_value")
    if seed is not None and (not seeds or type(seed) is not int):
        return error(400, "Unknown parameter: 'seed'.", param="seed", code="unknown_parameter")
    rule = request.misbehaviour
    if rule is not None and rule.kind == "moderation":
        return _declined(str(rule.options.get("code", "moderation_blocked")))
    model, prompt = request.model or "", body["prompt"]
    taken = range(seed, seed + n) if seed is not None else numbers.take(model, prompt, n)
    try:
        pictures = [painter(model, prompt, number, body.get("size")) for number in taken]
    except Declined:
        return _declined("moderation_blocked")
    kept = keep if body.get("response_format") == "url" else None
    slots = [_slot(data, prompt, number, kept) for number, data in zip(taken, pictures, strict=True)]
    if rule is not None:
        _distort(rule, slots, pictures, keep)
    return Response(200, _wrap(slots, prompt, usage=rule is None or rule.kind != "no_usage"))


def _declined(code: str) -> Response:
    message = "Your request was rejected by the safety system. safety_violations=[sexual]."
    return error(400, message, kind="image_generation_user_error", code=code)


def _slot(data: bytes, prompt: str, number: int, keep: Callable[[bytes], str] | None) -> dict[str, Any]:
    given = {"url": keep(data)} if keep else {"b64_json": base64.b64encode(data).decode()}
    return {**given, "revised_prompt": f"{prompt} (revision {number})"}


def _distort(
    rule: Misbehaviour, slots: list[dict[str, Any]], pictures: list[bytes], keep: Callable[[bytes], str]
) -> None:
    match rule.kind:
        case "empty_slot":
            slots[int(rule.options.get("slot", 0)) % len(slots)] = {"b64_json": None}
        case "black_picture" | "not_a_picture":
            page, black = b"<html><body>not a picture</body></html>", np.zeros((64, 64, 3), dtype=np.uint8)
            data = page if rule.kind == "not_a_picture" else png(black)
            for slot in slots:
                slot["b64_json"] = base64.b64encode(data).decode()
        case "url_result":
            given = rule.options.get("url")
            for slot, data in zip(slots, pictures, strict=True):
                slot.pop("b64_json", None)
                slot["url"] = given if given is not None else keep(data)


def _wrap(slots: list[dict[str, Any]], prompt: str, *, usage: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"created": 0, "data": slots}
    if usage:
        words, drawn = len(prompt) // 4 + 1, 100 * len(slots)
        body["usage"] = {"input_tokens": words, "output_tokens": drawn, "total_tokens": words + drawn}
    return body
