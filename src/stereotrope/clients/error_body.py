"""What JSON from a server tells of an error, whatever the status that it came with."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stereotrope.shipped import shipped

_DEEPEST = 100
"""Levels of nesting; what is deeper cannot be shown or compared without running out of stack."""
_HOLDERS = ("error", "errors", "detail", "fault")
_WORDS = ("message", "msg", "detail", "error_msg", "error_message", "title", "reason", "description")
_CODES = ("code", "type", "status", "error_code", "reason")
_STATUSES = ("status_code", "statusCode", "http_status", "status", "code", "error_code")
_FAILED = {"failed", "failure", "error", "canceled", "cancelled", "timeout", "timed_out", "aborted"}
_WELL = {"", "ok", "success", "succeeded", "none"}
_LIMITED = {"ratelimitexceeded", "ratelimiterror", "resourceexhausted", "toomanyrequests"}
_NO_KEY = {"invalidapikey", "authenticationerror", "unauthenticated", "unauthorized"}


def parse_json(data: bytes | str) -> Any:
    """Return the JSON of a server.

    Raises ValueError: It is none, or nested deeper than 100 levels.
    """
    try:
        found = json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    refuse_depth(found)
    return found


def refuse_depth(found: Any) -> None:
    """Raise a ValueError where JSON is nested deeper than 100 levels."""
    level = [found]
    for _ in range(_DEEPEST):
        level = [
            inner
            for node in level
            if isinstance(node, dict | list)
            for inner in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return
    raise ValueError("nested too deeply")


def error_in(body: Any) -> Mapping[str, Any]:
    """Return the error that a body tells, in the shapes that servers give it, with a text ``message``."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return {"message": body} if isinstance(body, str) else {}
    form = declining_form(body)
    if form is not None:
        return {"code": "content_filter", "message": form}
    found = next((body[name] for name in _HOLDERS if body.get(name) and body[name] is not True), body)
    beside = {name: value for name, value in body.items() if name not in _HOLDERS}
    if isinstance(found, list) and isinstance(found[0], Mapping) and isinstance(found[0].get("message"), str):
        found = found[0]
    if isinstance(found, Mapping):
        message = _words_of(found) or _words_of(beside) or (_shown(found) if found is not body else "")
        return {**found, "message": message}
    if isinstance(found, str):
        return {**beside, "message": found}
    if isinstance(found, list):
        return {**beside, "message": _shown(found)}
    return {"code": found, **beside, "message": _words_of(beside)}


def codes_in(error: Mapping[str, Any]) -> set[str]:
    """Return the codes of an error, in lower case."""
    codes = {_code(error.get(name)) for name in _CODES}
    for inner in (error.get("innererror"), error.get("inner_error")):
        if isinstance(inner, Mapping):
            codes.add(_code(inner.get("code")))
    return codes - {""}


def details_in(body: Any) -> Sequence[Mapping[str, Any]]:
    """Return the details of an error as Google lists them."""
    details = error_in(body).get("details")
    return [entry for entry in details if isinstance(entry, Mapping)] if isinstance(details, list) else []


def is_declined(error: Mapping[str, Any], *, words: bool = True) -> bool:
    """Whether an error is one of the content, by its code or else, with ``words``, by its words."""
    codes = {_bare(code) for code in codes_in(error)}
    declined = shipped("clients", "codes.yaml")["declined"]
    if codes.intersection(declined) or any(_says("declining", code) for code in codes):
        return True
    if not words or error.get("param") not in (None, "", "prompt"):
        return False
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return is_moderation(f"{error.get('message') or ''} {raw if isinstance(raw, str) else ''}")


def is_moderation(text: str) -> bool:
    """Whether the words of an error say that the content was declined.

    Words that speak of a server in trouble, or of a parameter that does not fit, do not say so, even where
    it is the safety filter that is in trouble.

    >>> is_moderation("NSFW content detected."), is_moderation("safety filter: CUDA out of memory")
    (True, False)
    """
    return _says("moderated", text) and not _says("trouble", text) and not _says("parameter", text)


def is_trouble(text: str) -> bool:
    """Whether words speak of a server in trouble, which another try may not meet."""
    return _says("trouble", text)


def tells_error(body: Any) -> bool:
    """Whether a body that brought nothing says that something went wrong."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, Mapping):
        return False
    if any(body.get(name) for name in _HOLDERS) or body.get("success") is False or body.get("ok") is False:
        return True
    return (
        _code(body.get("status")) in _FAILED
        or _words_of(body).lower() not in _WELL
        or any(_error_status(body.get(name)) for name in _STATUSES)
        or is_declined(error_in(body), words=False)
    )


def status_in(body: Any) -> int:
    """Return the error status that a body should have come with: as it says, else 400, 401, 429 or 500."""
    error = error_in(body)
    for holder in (error, body if isinstance(body, Mapping) else {}):
        for name in _STATUSES:
            told = _error_status(holder.get(name))
            if told is not None:
                return told
    codes = {_bare(code) for code in codes_in(error)}
    if is_declined(error):
        return 400
    if codes & _LIMITED:
        return 429
    return 401 if codes & _NO_KEY else 500


def _error_status(found: Any) -> int | None:
    if isinstance(found, str) and re.fullmatch(r"[45]\d\d", found):
        found = int(found)
    is_status = isinstance(found, int) and not isinstance(found, bool) and 400 <= found <= 599
    return found if is_status else None


def _words_of(found: Any) -> str:
    if isinstance(found, str):
        return found
    texts = (found.get(name) for name in _WORDS) if isinstance(found, Mapping) else ()
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")


def _shown(found: Any) -> str:
    return json.dumps(found) if found else ""


def _code(found: Any) -> str:
    return found.lower() if isinstance(found, str) else ""


def _says(kind: str, text: str) -> bool:
    return re.search("|".join(shipped("clients", "words.yaml")[kind]), text, re.I) is not None


def _bare(code: str) -> str:
    return re.sub(r"[\W_]+", "", code)


_DECLINING_WORDS = ("message", "Message", "status_msg", "msg")


def declining_form(body: Any) -> str | None:
    """Return how a body declines the content in a form of the table, None where it does not.

    >>> declining_form({"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}})
    'input new_sensitive (base_resp.status_code 1026)'
    >>> declining_form({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}})
    """
    for form in shipped("clients", "declines.yaml"):
        at, values = form["at"], form["values"]
        found = list(_values_at(body, at.split(".")))
        if found and all(type(value) in map(type, values) and value in values for _, value in found):
            holder, value = found[0]
            said = (holder.get(name) for name in _DECLINING_WORDS) if isinstance(holder, Mapping) else ()
            words = next((text for text in said if isinstance(text, str) and text), None)
            shown = f"{at} {value}"
            return f"{words} ({shown})" if words else shown
    return None


def _values_at(node: Any, names: list[str]) -> Iterator[tuple[Any, Any]]:
    """Yield the values at the end of a path, each with what holds it, None for those that are not there."""
    name, rest = names[0].removesuffix("[]"), names[1:]
    value = node.get(name) if isinstance(node, Mapping) else None
    entries = value if isinstance(value, list) else []
    for inner in entries if names[0].endswith("[]") else [value]:
        if rest:
            yield from _values_at(inner, rest)
        else:
            yield node, inner
