"""The ways in which the loopback server can go wrong, which request is met by one, and what it answers."""

import json
import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.shipped import shipped
from stereotrope.testing.wire import Request, Response

_OPTIONS: Mapping[str, tuple[str, Sequence[str]]] = {
    name: (path, takes)
    for path, kinds in shipped("testing", "misbehaviours.yaml").items()
    for name, takes in kinds.items()
}

MISBEHAVIOURS: tuple[str, ...] = tuple(_OPTIONS)
"""Names that :meth:`Loopback.misbehave` takes."""

_PATHS = {"any": None, "chat": ("chat",), "images": ("images",), "both": ("chat", "images")}


@dataclass
class Misbehaviour:
    """One thing the server was told to do wrong, and how often it still will.

    kind: One of :data:`MISBEHAVIOURS`.
    times: How many requests it still meets, None for every one.
    share: Of the requests that fit, the share it meets.
    model, path: Which requests fit: those of a model, of a path kind; None for all.
    """

    kind: str
    times: int | None = 1
    share: float = 1.0
    model: str | None = None
    path: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def general(self) -> bool:
        """Whether it goes wrong in the same way on every route."""
        return _OPTIONS.get(self.kind, ("",))[0] == "any"

    def fits(self, kind: str, model: str | None, format: str | None) -> bool:
        """Whether a request of this path kind, model and response format can be met by it."""
        paths = _PATHS.get(_OPTIONS.get(self.kind, ("any",))[0])
        if (paths is not None and kind not in paths) or self.path not in (None, kind):
            return False
        unsupported = ("json_schema", "json_object") if self.options.get("json_object") else ("json_schema",)
        if self.kind == "unsupported_schema" and format not in unsupported:
            return False
        return self.model in (None, model) and self.times != 0


class Misbehaviours:
    """What the server was told to do wrong; safe to use from several threads."""

    def __init__(self, seed: int) -> None:
        self._rules: list[Misbehaviour] = []
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def add(self, rule: Misbehaviour) -> None:
        """Add one, after those that are there.

        Raises UsageError: The kind, the share, the number of times or an option does not fit.
        """
        if rule.kind not in _OPTIONS:
            near = did_you_mean(rule.kind, _OPTIONS, otherwise=f"known are {', '.join(_OPTIONS)}")
            raise UsageError(f"loopback: unknown misbehaviour {rule.kind!r}; {near}")
        if rule.times is not None and (type(rule.times) is not int or rule.times < 1):
            raise UsageError(
                f"loopback: times must be a whole number of at least 1, or None for always, "
                f"found {rule.times!r}; correct it"
            )
        if not 0 < rule.share <= 1:
            raise UsageError(
                f"loopback: share must be above 0 and at most 1, found {rule.share!r}; correct it"
            )
        takes = _OPTIONS[rule.kind][1]
        for option in rule.options:
            if option not in takes:
                near = did_you_mean(option, takes, otherwise=f"it takes {', '.join(takes) or 'none'}")
                raise UsageError(f"loopback: misbehaviour {rule.kind} has no option {option!r}; {near}")
        with self._lock:
            self._rules.append(rule)

    def clear(self) -> None:
        """Behave from now on."""
        with self._lock:
            self._rules.clear()

    def meet(self, kind: str, model: str | None, format: str | None) -> Misbehaviour | None:
        """Return the first rule that meets a request, and count it."""
        with self._lock:
            for rule in self._rules:
                if rule.fits(kind, model, format) and self._random.random() < rule.share:
                    if rule.times is not None:
                        rule.times -= 1
                    return rule
        return None


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
