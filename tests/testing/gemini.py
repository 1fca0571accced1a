"""Google's image routes on the loopback server: Gemini's ``generateContent`` and Imagen's ``predict``."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from stereotrope.testing.images import Numbering, Painter
from stereotrope.testing.misbehaviour import Misbehaviour
from stereotrope.testing.plant import png
from stereotrope.testing.server import Loopback
from stereotrope.testing.wire import Request, Response

_PREFIX = "/v1beta/models/"
_MOST = 4


def serve_gemini(server: Loopback) -> str:
    """Let a loopback server speak Google's two shapes, and return their base URL.

    They are of path kind ``images``. Of the misbehaviours, ``moderation`` with ``code="IMAGE_SAFETY"``
    (or another reason in capitals) ends a candidate with that ``finishReason``, with
    ``code="prompt:SAFETY"`` blocks the prompt; Imagen answers it with ``raiFilteredReason``. With
    ``empty_slot`` the candidate has no parts, and Imagen leaves the prediction out. ``black_picture`` and
    ``not_a_picture`` do as they do elsewhere.
    """
    numbers = Numbering()

    def answer(request: Request) -> Response:
        body = request.body
        if not isinstance(body, dict):
            return _invalid("Invalid JSON payload received.")
        if request.path.endswith(":predict"):
            return _predict(request, body, server.painter, numbers)
        return _generate(request, body, server.painter, numbers)

    server.register("POST", _PREFIX, answer, kind="images", model=_model)
    return f"{server.root}/v1beta"


def _model(request: Request) -> str:
    return request.path.removeprefix(_PREFIX).rpartition(":")[0]


def _invalid(message: str) -> Response:
    return Response(400, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})


def _generate(request: Request, body: dict[str, Any], painter: Painter, numbers: Numbering) -> Response:
    try:
        prompt = body["contents"][0]["parts"][0]["text"]
    except (KeyError, IndexError, TypeError):
        return _invalid("contents is not specified")
    rule: Misbehaviour | None = request.misbehaviour
    usage = {"promptTokenCount": len(prompt) // 4 + 1, "candidatesTokenCount": 1290}
    code = _code(rule)
    if code is not None and code.startswith("prompt:"):
        return Response(200, {"promptFeedback": {"blockReason": code[7:]}, "usageMetadata": usage})
    if code is not None:
        held = {"finishReason": code, "finishMessage": "Unable to show the generated image."}
        return Response(200, {"candidates": [held], "usageMetadata": usage})
    if rule is not None and rule.kind == "empty_slot":
        return Response(200, {"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage})
    seed = body.get("generationConfig", {}).get("seed")
    (number,) = [seed] if seed is not None else numbers.take(request.model or "", prompt, 1)
    data = _data(painter(request.model or "", prompt, number, None), rule)
    parts: list[dict[str, Any]] = [
        {"text": "Here it is."},
        {"inlineData": {"mimeType": "image/png", "data": data}},
    ]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return Response(200, {"candidates": [candidate], "usageMetadata": usage})


def _predict(request: Request, body: dict[str, Any], painter: Painter, numbers: Numbering) -> Response:
    try:
        prompt, parameters = body["instances"][0]["prompt"], body.get("parameters", {})
    except (KeyError, IndexError, TypeError):
        return _invalid("instances is not specified")
    n, seed = parameters.get("sampleCount", 1), parameters.get("seed")
    if type(n) is not int or not 1 <= n <= _MOST:
        return _invalid(f"sampleCount must be between 1 and {_MOST}")
    if seed is not None and parameters.get("addWatermark", True):
        return _invalid("Seed is not supported when watermark is enabled.")
    rule: Misbehaviour | None = request.misbehaviour
    code = _code(rule)
    if code is not None:
        return Response(200, {"predictions": [{"raiFilteredReason": f"Filtered. Support codes: {code}"}]})
    taken = range(seed, seed + n) if seed is not None else numbers.take(request.model or "", prompt, n)
    predictions = [
        {
            "mimeType": "image/png",
            "bytesBase64Encoded": _data(painter(request.model or "", prompt, number, None), rule),
            "prompt": f"{prompt} (revision {number})",
        }
        for number in taken
    ]
    if rule is not None and rule.kind == "empty_slot":
        del predictions[int(rule.options.get("slot", 0)) % n]
    return Response(200, {"predictions": predictions} if predictions else {})


def _code(rule: Misbehaviour | None) -> str | None:
    if rule is None or rule.kind != "moderation":
        return None
    return str(rule.options.get("code", "IMAGE_SAFETY"))


def _data(data: bytes, rule: Misbehaviour | None) -> str:
    if rule is not None and rule.kind == "black_picture":
        data = png(np.zeros((64, 64, 3), dtype=np.uint8))
    if rule is not None and rule.kind == "not_a_picture":
        data = b"<html><body>not a picture</body></html>"
    return base64.b64encode(data).decode()
