"""Keys that were written where they would be kept: into an audit file, an option, a parameter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from stereotrope.errors import UsageError

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
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[\W_]+", "_", spaced).strip("_").lower()
