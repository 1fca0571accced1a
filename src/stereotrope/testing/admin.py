"""The routes under ``/_loopback/``: what a test in another process asks the server and tells it."""

from __future__ import annotations

from typing import Any, Protocol
from urllib.parse import parse_qs

from stereotrope.errors import UsageError
from stereotrope.testing.plant import Plant
from stereotrope.testing.replies import error
from stereotrope.testing.wire import Request, Response

PREFIX = "/_loopback/"
KIND = "_loopback"


class _Server(Protocol):
    plant: Plant

    def counts(self) -> dict[tuple[str, str | None, int], int]: ...
    def most_in_a_minute(self, model: str | None = None, *, seconds: float = 60.0) -> int: ...
    def behave(self) -> None: ...
    def misbehave(self, *arguments: Any, **options: Any) -> None: ...


def administer(server: _Server, request: Request) -> Response:
    """Answer one request to the server itself; such requests are not recorded."""
    asked = {name: values[0] for name, values in parse_qs(request.query).items()}
    match request.method, request.path.removeprefix(PREFIX):
        case "GET", "counts":
            rows = [
                {"kind": kind, "model": model, "status": status, "n": n}
                for (kind, model, status), n in server.counts().items()
            ]
            return Response(200, rows)
        case "GET", "most_in_a_minute":
            seconds = float(asked.get("seconds", 60.0))
            return Response(200, server.most_in_a_minute(asked.get("model"), seconds=seconds))
        case "GET", "shares":
            return Response(200, server.plant.shares(asked.get("model", ""), asked.get("prompt", "")))
        case "POST", "behave":
            server.behave()
            return Response(200, {})
        case "POST", "misbehave":
            return _misbehave(server, request)
    return error(404, f"No route for {request.method} {request.path}")


def _misbehave(server: _Server, request: Request) -> Response:
    if not isinstance(request.body, dict) or not isinstance(request.body.get("kind"), str):
        return error(400, "a misbehaviour needs a kind")
    try:
        server.misbehave(**request.body)
    except (UsageError, TypeError) as problem:
        return error(400, str(problem))
    return Response(200, {})
