"""What a request's failure means: a refusal, a reason to wait, or an end."""

import contextlib
import email.utils
import json
import math
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from stereotrope.clients.account import Outcome
from stereotrope.clients.error_body import codes_in, details_in, error_in, is_declined, parse_json, status_in
from stereotrope.clients.redact import redact
from stereotrope.errors import ModelError
from stereotrope.shipped import shipped

_UNKNOWN_MODEL = {"model_not_found", "invalid_model", "unknown_model", "model_not_available"}
_PASSING = re.compile(
    r"\b(again|later|retry|temporar|currently|over\W?load|busy|capacity|moment|wait|loading|timed? ?out"
    r"|too many|queue|unavailable|exhausted|out of memory|oom\b"
    r"|connection (error|refused|reset|closed|aborted))",
    re.I,
)
"""Words of a trouble that may be over soon."""
_A_DAY = re.compile(r"PerDay", re.I)
_LATER = {408, 409, 425}
_PASS = {*_LATER, 502, 503, 504, *range(520, 600)}
"""Statuses of a trouble that may be over soon: those of gateways, and of servers that are full."""
_SUCCESS, _OF_THE_SERVER = 200, 500
_BARE = re.compile(
    r"(?:\W|\d|_|internal|server|service|error|exception|unknown|unexpected|something|went|wrong|occurred|failed"
    r"|the|an?|had|has|there|was|is|api|request|in|code|type|none|null|sorry)*",
    re.I,
)
"""What a 500 says that says nothing."""
_BAD_KEY = {"invalid_api_key", "authentication_error", "invalid_authentication", "no_db_connection"}
"""The last is LiteLLM's of a key that it does not know, with status 400."""
_GOOGLES_BAD_KEY = "API_KEY_INVALID"
"""Google says so with status 400."""


class BadRequest(ModelError, exit_code=2):
    """One request that the server rejects as it is; another one may do.

    The exit code is 2, as for what the audit file asks for and cannot have.

    about: What the server said of it: message, parameter and code in one text.
    """

    def __init__(self, message: str, about: str) -> None:
        self.about = about
        super().__init__(message)


class Streamed(ModelError):
    """A reply that is a stream of events, though none was asked for; asking again brings another one."""

    def __init__(self, kind: str) -> None:
        super().__init__(
            f"answers with a stream of events ({kind}), and a whole answer was asked for; turn streaming off "
            "at the server or gateway"
        )


class ErrorReply(ModelError):
    """An error that a server tells with the status of a success."""

    def __init__(self, body: Any) -> None:
        self.body = body
        super().__init__("told an error with the status of a success")


@dataclass(frozen=True)
class Failure:
    """What a failed request means.

    outcome: As in :class:`stereotrope.clients.Call`.
    wait: Seconds that the server asked for, None where it did not.
    sent: Whether the server may have worked on it, so that it may be billed.
    about: The server's message, parameter and code in one redacted text.
    misconfigured: Whether the name of the model or its address must be another one.
    status: HTTP status of the reply, None where there was none.
    """

    outcome: Outcome
    reason: str
    again: bool = False
    wait: float | None = None
    sent: bool = False
    about: str = ""
    misconfigured: bool = False
    status: int | None = None

    @property
    def is_bare(self) -> bool:
        """Whether it is a 500 that says nothing of its cause."""
        return self.status == _OF_THE_SERVER and _BARE.fullmatch(self.about) is not None

    @property
    def is_lasting(self) -> bool:
        """Whether nothing in it says that it may pass: not the status, not its words."""
        if self.outcome not in ("bad_request", "server_error", "invalid") or self.status in _PASS:
            return False
        return self.outcome == "bad_request" or _PASSING.search(self.reason) is None


def expected() -> tuple[type[Exception], ...]:
    """Return what a request raises when it fails: timeouts, lost connections, error replies, no JSON."""
    import httpx2  # noqa: PLC0415
    import openai  # noqa: PLC0415

    return (
        OSError,
        httpx2.HTTPError,
        httpx2.InvalidURL,
        httpx2.StreamError,
        json.JSONDecodeError,
        openai.OpenAIError,
        UnicodeError,
        ModelError,
    )


def classify(error: BaseException, *secrets: str) -> Failure:
    """Say what a failed request means."""
    import httpx2  # noqa: PLC0415

    if isinstance(error, ErrorReply):
        return _told(error.body, secrets)
    response = getattr(error, "response", None)
    if response is not None:
        return replace(_of_status(response, secrets), status=response.status_code)
    chain = list(_chain(error))
    if streamed := next((link for link in chain if isinstance(link, Streamed)), None):
        return Failure("unusable", redact(str(streamed), *secrets), sent=True)
    if any(isinstance(link, (TimeoutError, httpx2.TimeoutException)) for link in chain):
        sent = not any(isinstance(link, (httpx2.ConnectTimeout, httpx2.PoolTimeout)) for link in chain)
        return Failure("timeout", "did not answer in time", again=True, sent=sent)
    if any(isinstance(link, ssl.SSLCertVerificationError) for link in chain):
        return Failure("unusable", "its certificate cannot be verified")
    if any(isinstance(link, (httpx2.InvalidURL, httpx2.UnsupportedProtocol)) for link in chain):
        return Failure("unusable", "its address cannot be used", misconfigured=True)
    said = redact(str(chain[-1]) or type(chain[-1]).__name__, *secrets)
    if isinstance(error, (ModelError, json.JSONDecodeError, UnicodeError, httpx2.DecodingError)):
        what = redact(str(error), *secrets) if isinstance(error, ModelError) else f"answered no JSON ({said})"
        return Failure("invalid", what, again=True, sent=True)
    refused = any(isinstance(link, httpx2.ConnectError) for link in chain)
    verb = "cannot be reached" if refused else "broke off the connection"
    return Failure("connection", f"{verb} ({said})", again=True, sent=not refused)


def retry_after(headers: Mapping[str, str], body: Any = None) -> float | None:
    """Return the seconds that a reply asks to wait, 0 where they are negative, None where it says none.

    Read are ``retry-after-ms``, ``Retry-After`` in seconds or as a date (RFC 9110, section 10.2.3), and
    the ``retryDelay`` of Google's error details.
    """
    for text, unit in ((headers.get("retry-after-ms"), 1000.0), (headers.get("retry-after"), 1.0)):
        found = _number(text)
        if found is not None:
            return max(0.0, found / unit)
    date = headers.get("retry-after")
    if date:
        with contextlib.suppress(TypeError, ValueError, OverflowError, IndexError):
            return max(0.0, email.utils.parsedate_to_datetime(date).timestamp() - time.time())
    for detail in details_in(body):
        delay = _number(str(detail.get("retryDelay", "")).removesuffix("s"))
        if delay is not None:
            return max(0.0, delay)
    return None


def _of_status(response: Any, secrets: tuple[str, ...]) -> Failure:
    status: int = response.status_code
    body = _body(response)
    error = error_in(body)
    message = str(error.get("message") or "")
    codes = codes_in(error)
    visible = re.sub(r"<[^>]*>", " ", response.content[:5000].decode("utf-8", "replace"))
    said = redact(message or visible, *secrets)
    about = redact(f"{said} {error.get('param') or ''} {error.get('code') or ''}", *secrets)
    reason = f"{status}: {said}" if said else str(status)
    if status < 400:
        return Failure("unusable", f"{reason} (a redirect; give the address it leads to)", about=about)
    if codes.intersection(shipped("clients", "codes.yaml")["quota"]) or status == 402:
        return Failure("unusable", f"the quota is used up ({reason})", about=about)
    if status in (400, 403, 422, 451) and _is_moderated(status, error):
        return Failure("refused", said or "moderation", about=about)
    if status == 429:
        if _A_DAY.search(json.dumps(details_in(body))):
            return Failure("unusable", f"the quota of the day is used up ({reason})", about=about)
        wait = retry_after(response.headers, body)
        return Failure("rate_limited", f"too many requests ({reason})", again=True, wait=wait, about=about)
    if (
        status in (401, 403)
        or codes & _BAD_KEY
        or any(detail.get("reason") == _GOOGLES_BAD_KEY for detail in details_in(body))
    ):
        return Failure("unusable", f"the key is not accepted ({reason})", about=about)
    lasts = status in (400, 422) or (status >= 500 and _PASSING.search(said) is None)
    no_model = "|".join(shipped("clients", "words.yaml")["no_model"])
    if status == 404 or codes & _UNKNOWN_MODEL or (lasts and re.search(no_model, said, re.I | re.S)):
        said = f"there is no such model or address ({reason})"
        return Failure("unusable", said, about=about, misconfigured=True)
    if status >= 500 or status in _LATER:
        wait = retry_after(response.headers, body)
        return Failure("server_error", f"server error ({reason})", again=True, wait=wait, about=about)
    return Failure("bad_request", f"rejected the request ({reason})", about=about)


def _told(body: Any, secrets: tuple[str, ...]) -> Failure:
    """Say what an error means that came with the status of a success: what it would with its own."""
    import httpx2  # noqa: PLC0415

    meant = status_in(body)
    found = _of_status(httpx2.Response(meant, content=json.dumps(body).encode()), secrets)
    return replace(found, reason=found.reason.replace(f"({meant}", f"(status {_SUCCESS}", 1), status=_SUCCESS)


def _is_moderated(status: int, error: Mapping[str, Any]) -> bool:
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping) and "flagged_input" in metadata:
        return True
    return is_declined(error, words=status != 403)


def _body(response: Any) -> Any:
    try:
        return parse_json(response.content)
    except ValueError:
        return None


def _number(text: str | None) -> float | None:
    try:
        found = float(text or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen = 0
    while error is not None and seen < 10:
        yield error
        error = error.__cause__ or error.__context__
        seen += 1
