"""Replicate's predictions on the loopback server: created, asked for, done or failed."""

from __future__ import annotations

import base64
import itertools
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stereotrope.testing.images import Numbering
from stereotrope.testing.misbehaviour import Misbehaviour
from stereotrope.testing.plant import png
from stereotrope.testing.server import Loopback
from stereotrope.testing.wire import Request, Response

_SENSITIVE = "The input or output was flagged as sensitive. Please try again with different inputs. (E005)"


@dataclass
class _Prediction:
    name: str
    model: str
    output: Any = None
    error: str | None = None
    polls: int = 0
    """Times it still says that it is being worked on."""
    asked: Mapping[str, Any] = field(default_factory=dict)


def serve_replicate(server: Loopback, *, polls: int = 1, data_urls: bool = False, lists: bool = False) -> str:
    """Let a loopback server speak Replicate's shape, and return its base URL.

    Creating a prediction is of path kind ``images``, asking for one of kind ``predictions``. Of the
    misbehaviours, ``moderation`` fails a prediction in the words of ``code`` (E005 where there are none),
    ``empty_slot`` lets it succeed with an empty list, ``url_result`` with another URL; ``black_picture``
    and ``not_a_picture`` do as they do elsewhere.

    server: Before or after it listens; the URL is right only while it does.
    polls: How often a prediction says ``processing`` before it is done; 0 answers at once.
    data_urls: Whether pictures come as data URLs instead of files of the server.
    lists: Whether the output is a list of one.
    """
    made: dict[str, _Prediction] = {}
    numbers, count, lock = Numbering(), itertools.count(1), threading.Lock()

    def create(request: Request) -> Response:
        body = request.body
        asked = body.get("input") if isinstance(body, dict) else None
        if not isinstance(asked, dict) or not isinstance(asked.get("prompt"), str):
            return Response(
                422, {"title": "Input validation failed", "detail": "- input: prompt is required"}
            )
        with lock:
            prediction = _Prediction(f"loopback{next(count)}", request.model or "", polls=polls, asked=asked)
        rule: Misbehaviour | None = request.misbehaviour
        if rule is not None and rule.kind == "moderation":
            prediction.error = str(rule.options.get("code", _SENSITIVE))
        else:
            output = _output(prediction, rule)
            prediction.output = [output] if lists and isinstance(output, str) else output
        made[prediction.name] = prediction
        return Response(201, _said(prediction, server.root))

    def _output(prediction: _Prediction, rule: Misbehaviour | None) -> Any:
        prompt, seed = prediction.asked["prompt"], prediction.asked.get("seed")
        (number,) = [seed] if seed is not None else numbers.take(prediction.model, prompt, 1)
        data = server.painter(prediction.model, prompt, number, None)
        match rule.kind if rule is not None else None:
            case "empty_slot":
                return []
            case "black_picture":
                data = png(np.zeros((64, 64, 3), dtype=np.uint8))
            case "not_a_picture":
                data = b"<html><body>not a picture</body></html>"
            case "url_result" if rule is not None and rule.options.get("url") is not None:
                return str(rule.options["url"])
        if data_urls:
            return f"data:image/png;base64,{base64.b64encode(data).decode()}"
        return server.keep(data)

    def look(request: Request) -> Response:
        prediction = made.get(request.path.rpartition("/")[2])
        if prediction is None:
            return Response(404, {"detail": "The requested resource could not be found."})
        with lock:
            prediction.polls -= 1
        return Response(200, _said(prediction, server.root))

    server.register("POST", "/v1/predictions", create, kind="images", model=_model_of_version)
    server.register("POST", "/v1/models/", create, kind="images", model=_model_of_path)
    server.register("GET", "/v1/predictions/", look, kind="predictions", model=lambda request: None)
    return server.url


def _model_of_version(request: Request) -> str | None:
    version = request.body.get("version") if isinstance(request.body, dict) else None
    return version if isinstance(version, str) else None


def _model_of_path(request: Request) -> str:
    return request.path.removeprefix("/v1/models/").removesuffix("/predictions")


def _said(prediction: _Prediction, root: str) -> dict[str, Any]:
    working = prediction.polls > 0
    status = "processing" if working else "failed" if prediction.error is not None else "succeeded"
    return {
        "id": prediction.name,
        "model": prediction.model,
        "input": dict(prediction.asked),
        "status": status,
        "output": None if working else prediction.output,
        "error": None if working else prediction.error,
        "urls": {"get": f"{root}/v1/predictions/{prediction.name}"},
    }
