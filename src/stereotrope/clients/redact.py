"""Keys kept out of what is written, and text from a server made fit for a message: short and inert."""

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from stereotrope.errors import UsageError

_LONGEST = 300
"""Characters of a server's text that a message holds at most."""

_LONGEST_KEPT = 4_000
_READ_AT_MOST = 20_000
_LOOKED_AT = 1_000_000  # a key that ends beyond what is read is hidden as well
_HIDDEN = "[key]"
_LOOKS_LIKE_A_KEY = re.compile(
    r"(?:(?<=bearer )|(?<=bearer%20)|(?<=basic ))"
    r"(?=[^\s\"',;]*(?:[0-9*=_]|(?-i:[a-z][A-Z])|\.[^\s\"',;]))[^\s\"',;]{8,}"
    r"|(?<![A-Za-z0-9])(?:sk|pk|rk|r8|hf|gsk|xai|tgp|nvapi|key)[-_](?=[A-Za-z0-9_.-]*[0-9*])[A-Za-z0-9_*.-]{8,}"
    r"|AIza[A-Za-z0-9_-]{20,}"
    r"|(?<=[?&]key=)[^\s&\"']+",
    re.I,
)
"""No word follows these: a ring bearer who is young is no key, and neither are basic colours."""
_SHORTEST = 8
_SURELY = 24
"""Characters from which a text is a key whatever it is made of: no answer holds it by chance."""
_PART = r"(?:[a-z]+|[A-Z]+|[A-Z][a-z]+|(?:\d{1,3}|(?:1\d|20)\d\d)(?:s|st|nd|rd|th|k|px|mm|d)?)"
_WORDLIKE = re.compile(
    rf"{_PART}(?:[^A-Za-z0-9]+{_PART})*[^A-Za-z0-9]*" + r"|[A-Za-z]{3,}\d{1,4}|[^A-Za-z0-9]+|\d+"
)
"""Words, years and small numbers with marks between: ``background``, ``light-skinned``, ``1950s-style``."""


def redact(text: str, *keys: str) -> str:
    """Return text without keys, on one line, without control characters, of at most 300 characters.

    keys: Secrets in use; each that :func:`is_hidden` is hidden as it is, percent-encoded and in base64. What
        looks like a key of a known provider is hidden as well.

    >>> redact("Incorrect key: hunter2-hunter2", "hunter2-hunter2")
    'Incorrect key: [key]'
    """
    return _cut(_LOOKS_LIKE_A_KEY.sub(_HIDDEN, _line_without(text, keys)), _LONGEST)


def fit_to_keep(text: str, *keys: str) -> str:
    """Return data from a server fit to be stored: without keys, on one line, 4,000 characters at most.

    Unlike :func:`redact`, words that only look like a key stay.

    >>> fit_to_keep("a key-shaped\\x00 pendant")
    'a key-shaped pendant'
    """
    return _cut(_line_without(text, keys), _LONGEST_KEPT)


def is_hidden(key: str) -> bool:
    """Whether a key is hidden where it is met: one that is short, or made of words, is not.

    Such a key keeps nobody out, and hiding it would rewrite what models say: a colour, ``present``, vLLM's
    ``EMPTY``. Hidden are 24 characters or more, and from 8 on what is neither words nor small numbers.

    >>> is_hidden("red"), is_hidden("light-skinned"), is_hidden("token-8f3a21c")
    (False, False, True)
    """
    if len(key) < _SURELY:
        return len(key) >= _SHORTEST and not _WORDLIKE.fullmatch(key)
    return True


def hide(text: str, *keys: str) -> str:
    """Return text without keys, those that :func:`is_hidden`, as they are, encoded or escaped as in JSON."""
    spellings = {spelling for key in keys if is_hidden(key) for spelling in _spellings(key)}
    for spelling in sorted(spellings, key=len, reverse=True):
        text = re.sub(spelling, _HIDDEN, text, flags=re.I)
    return text


def _line_without(text: str, keys: tuple[str, ...]) -> str:
    found = hide(text[:_LOOKED_AT], *keys)[:_READ_AT_MOST]
    return " ".join("".join(c if c.isprintable() else " " for c in found).split())


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _spellings(key: str) -> set[str]:
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    in_json = "".join(rf"(?:\\?{re.escape(c)}|\\u{ord(c):04x})" for c in key)
    for_urls = encoded.translate(str.maketrans("+/", "-_"))
    return {in_json, *map(re.escape, (quote(key, safe=""), encoded, for_urls))}


_HOLDS_A_KEY = re.compile(
    r"(?:^|_)(?:api|access|secret|private|subscription)_?key$"
    r"|(?:^|_)(?:api|access|auth|bearer|secret|session|hf)_token$"
    r"|^(?:token|bearer|auth|authorization|proxy_authorization|password|passwd|credentials?|cookie)$"
    r"|(?:^|_)secret$"
)
_PREFIXED = re.compile(
    r"(?<![A-Za-z0-9_-])(?:sk|pk|rk|r8|hf|gsk|xai|tgp|nvapi)[-_](?P<rest>[A-Za-z0-9_-]{16,})"
    r"|(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{30,}"
)
_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_DO = "put the key into an environment variable and write `key: NAME_OF_THE_VARIABLE`"


def refuse_secrets(who: str, options: Mapping[Any, Any]) -> None:
    """Raise where an option, or anything in it, is a key or is called like one; it is never shown.

    options: As they were written, parameters included; ``key`` itself is left to
        :meth:`Endpoint.from_options`.
    Raises UsageError: There is one.
    """
    for name, value in options.items():
        if _shows_key(str(name)):
            raise UsageError(f"{who}: the name of an option looks like a key (it is not shown); {_DO}")
        if _HOLDS_A_KEY.search(_plain(str(name))):
            raise UsageError(f"{who}: {name!r} does not belong into an audit file; {_DO}")
        for inner in value if isinstance(value, list | tuple) else [value]:
            if isinstance(inner, Mapping):
                refuse_secrets(who, inner)
            elif isinstance(inner, str) and name != "key" and _shows_key(inner):
                raise UsageError(f"{who}: {name!r} holds what looks like a key (it is not shown); {_DO}")


def line_with_key(text: str) -> int | None:
    """Return the first line, from 1, with what looks like the key of a known provider; None without one.

    >>> line_with_key("generators: [calibrated]\\n# sk-proj-0123456789abcdefXYZ")
    2
    """
    return next((n for n, line in enumerate(text.splitlines(), 1) if _shows_key(line)), None)


def _shows_key(text: str) -> bool:
    """Whether a text holds a known beginning of keys and a run of letters and digits that is no word."""
    return any(found["rest"] is None or _is_random(found["rest"]) for found in _PREFIXED.finditer(text))


def _is_random(rest: str) -> bool:
    return any(
        any(c.isdigit() for c in run) or not (run.islower() or run.isupper()) for run in _RUN.findall(rest)
    )


def _plain(name: str) -> str:
    """Return ``X-Api-Key`` and ``apiKey`` as ``x_api_key`` and ``api_key``."""
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower()
