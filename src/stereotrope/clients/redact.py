"""Making text from a server fit for a message: without keys, short and inert."""

from __future__ import annotations

import base64
import re
import unicodedata
from urllib.parse import quote

__all__ = ["LONGEST", "fit_to_keep", "hide", "redact"]

LONGEST = 300
"""Characters of a server's text that a message holds at most."""

_LONGEST_KEPT = 4_000
_READ_AT_MOST = 20_000
_LOOKED_AT = 1_000_000  # a key that ends beyond what is read is hidden as well
_HIDDEN = "[key]"
_LOOKS_LIKE_A_KEY = re.compile(
    r"(?:(?<=bearer )|(?<=bearer%20)|(?<=basic ))[^\s\"',;]+"
    r"|(?<![A-Za-z0-9])(?:sk|pk|rk|r8|hf|gsk|xai|tgp|nvapi|key)[-_][A-Za-z0-9_*.-]{8,}"
    r"|AIza[A-Za-z0-9_-]{20,}"
    r"|(?<=[?&]key=)[^\s&\"']+",
    re.I,
)


def redact(text: str, *keys: str) -> str:
    """Return text without keys, on one line, without control characters, of at most 300 characters.

    Parameters
    ----------
    text
        What a server said.
    keys
        Secrets in use; each is hidden as it is, percent-encoded and in base64. What looks like a key of
        a known provider is hidden as well.

    Examples
    --------
    >>> redact("Incorrect key: hunter2-hunter2", "hunter2-hunter2")
    'Incorrect key: [key]'
    """
    return _cut(_LOOKS_LIKE_A_KEY.sub(_HIDDEN, _line_without(text, keys)), LONGEST)


def fit_to_keep(text: str, *keys: str) -> str:
    """Return data from a server fit to be stored: without keys, on one line, 4,000 characters at most.

    Unlike :func:`redact`, words that only look like a key stay.

    Parameters
    ----------
    text
        What a server said.
    keys
        Secrets in use; each is hidden as by :func:`redact`.

    Examples
    --------
    >>> fit_to_keep("a key-shaped\\x00 pendant")
    'a key-shaped pendant'
    """
    return _cut(_line_without(text, keys), _LONGEST_KEPT)


def hide(text: str, *keys: str) -> str:
    """Return text without keys as they are, in base64, percent-encoded or escaped as in JSON."""
    spellings = {spelling for key in keys if key for spelling in _spellings(key)}
    for spelling in sorted(spellings, key=len, reverse=True):
        text = re.sub(spelling, _HIDDEN, text, flags=re.I)
    return text


def _line_without(text: str, keys: tuple[str, ...]) -> str:
    found = hide(text[:_LOOKED_AT], *keys)[:_READ_AT_MOST]
    return " ".join("".join(_inert(character) for character in found).split())


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _spellings(key: str) -> set[str]:
    """Return patterns of the ways in which a key may be written."""
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    in_json = "".join(rf"(?:\\?{re.escape(c)}|\\u{ord(c):04x})" for c in key)
    return {in_json, re.escape(quote(key, safe="")), re.escape(encoded)}


def _inert(character: str) -> str:
    return " " if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") else character
