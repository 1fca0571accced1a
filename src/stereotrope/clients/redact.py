"""Making text from a server fit for a message: without keys, short and inert."""

from __future__ import annotations

import base64
import re
from urllib.parse import quote

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
    return " ".join("".join(_inert(character) for character in found).split())


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _spellings(key: str) -> set[str]:
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    in_json = "".join(rf"(?:\\?{re.escape(c)}|\\u{ord(c):04x})" for c in key)
    for_urls = encoded.translate(str.maketrans("+/", "-_"))
    return {in_json, *map(re.escape, (quote(key, safe=""), encoded, for_urls))}


def _inert(character: str) -> str:
    return character if character.isprintable() else " "
