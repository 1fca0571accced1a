"""Making text from a server fit for a message: without keys, short and inert."""

from __future__ import annotations

import base64
import re
import unicodedata
from urllib.parse import quote

__all__ = ["LONGEST", "redact"]

LONGEST = 300
"""Characters of a server's text that a message holds at most."""

_READ_AT_MOST = 20_000
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
    found = text[:_READ_AT_MOST]
    spellings = {spelling for key in keys if key for spelling in _spellings(key)}
    for spelling in sorted(spellings, key=len, reverse=True):
        found = re.sub(re.escape(spelling), _HIDDEN, found, flags=re.I)
    found = " ".join("".join(_inert(character) for character in found).split())
    found = _LOOKS_LIKE_A_KEY.sub(_HIDDEN, found)
    return found if len(found) <= LONGEST else found[: LONGEST - 1] + "…"


def _spellings(key: str) -> set[str]:
    encoded = base64.b64encode(key.encode()).decode().rstrip("=")
    return {key, quote(key, safe=""), encoded}


def _inert(character: str) -> str:
    return " " if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") else character
