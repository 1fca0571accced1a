"""Where a model is reached, and how hard it may be asked."""

from __future__ import annotations

import ipaddress
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import SplitResult, urlsplit

from stereotrope.clients.redact import is_hidden, redact
from stereotrope.errors import ModelMisconfigured, UsageError, did_you_mean
from stereotrope.shipped import shipped

_MEANT = {
    **dict.fromkeys(("url", "baseurl", "api_base", "endpoint", "host"), "base_url"),
    **dict.fromkeys(("api_key", "apikey"), "key"),
    "rpm": "requests_per_minute",
    "tpm": "tokens_per_minute",
    "max_concurrency": "concurrency",
    **dict.fromkeys(("retries", "max_retries"), "tries"),
}
"""Names by which others know an option: sent to the model as its own, they would call another address."""

_CONCURRENCY = 32
_MOST_CONCURRENCY = 512
_LONGEST_NAME = 64
_WHOLE = ("concurrency", "tries")
_NUMBERS = ("requests_per_minute", "tokens_per_minute", *_WHOLE, "timeout", "longest_wait")


PROVIDERS: Mapping[str, Mapping[str, Any]] = shipped("clients", "providers.yaml")
"""Known providers by name: ``base_url``, ``key`` (name of an environment variable or None), ``chat``
(whether the address speaks OpenAI's chat completions) and the ``source`` where that is documented."""


def is_model(spec: str) -> bool:
    """Whether a text is ``provider:model`` with a known provider.

    >>> is_model("ollama:qwen3-vl:8b"), is_model("colour")
    (True, False)
    """
    provider, colon, model = spec.partition(":")
    return bool(colon and model) and provider in PROVIDERS


def split_model(spec: str) -> tuple[str, str]:
    """Split ``provider:model`` at its first colon.

    Raises UsageError: There is no model or no known provider; the message names the nearest one.

    >>> split_model("ollama:qwen3-vl:8b")
    ('ollama', 'qwen3-vl:8b')
    """
    provider, colon, model = spec.partition(":")
    if not colon or not model.strip():
        raise UsageError(f"a model is named provider:model, such as openai:gpt-4o; found {redact(spec)!r}")
    if provider not in PROVIDERS:
        raise UsageError(
            f"{redact(spec)!r}: unknown provider {redact(provider)!r}; "
            + did_you_mean(provider, PROVIDERS, otherwise=f"known are {', '.join(PROVIDERS)}")
        )
    return provider, model.strip()


@dataclass(frozen=True)
class Endpoint:
    """Where a model is reached and how hard it may be asked.

    base_url: Address without a trailing slash.
    key: Name of the environment variable that holds the key; None sends no key.
    requests_per_minute, tokens_per_minute: Limits of this key at this address, None where there is none.
        Retries count.
    concurrency: Requests to one model in flight at most.
    timeout: Seconds that one request may take in all, from connecting to the last byte.
    longest_wait: Seconds between two tries at most, whatever the server asks for.
    """

    provider: str
    base_url: str
    key: str | None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int = _CONCURRENCY
    timeout: float = 180.0
    tries: int = 6
    longest_wait: float = 60.0

    @classmethod
    def from_options(cls, provider: str, options: Mapping[str, Any]) -> tuple[Endpoint, dict[str, Any]]:
        """Take the endpoint's options out of ``options`` and return it with the rest.

        A key is sent only where one is named. Without ``key``, the provider's own variable is used at
        the provider's own address; with a ``base_url`` elsewhere no key is sent, so that a key that
        happens to be in the environment cannot reach a foreign server.

        With ``requests_per_minute`` and no ``concurrency``, as many requests may be in flight as are
        allowed a minute (32 to 512), so that slow answers do not keep the rate below its limit.

        Raises UsageError: An option that does not fit; a ``key`` that is no name of a variable is not shown.
        """
        if provider not in PROVIDERS:
            split_model(f"{provider}:model")
        known = PROVIDERS[provider]
        for name in options:
            if meant := _MEANT.get(str(name).casefold().replace("-", "_")):
                raise UsageError(f"{provider}: there is no option {name!r}; write {meant!r}")
        rest = {name: value for name, value in options.items() if name not in ENDPOINT_KEYS}
        base_url = _base_url(provider, options.get("base_url") or known["base_url"])
        if "key" in options:
            key = _key_name(provider, options["key"])
        else:
            key = known["key"] if _origin(base_url) == _origin(known["base_url"]) else None
        numbers: dict[str, Any] = {
            name: _number(provider, name, options[name]) for name in _NUMBERS if options.get(name) is not None
        }
        in_flight = max(_CONCURRENCY, math.ceil(numbers.get("requests_per_minute", 0)))
        numbers = {"concurrency": min(in_flight, _MOST_CONCURRENCY), **numbers}
        return cls(provider, base_url, key, **numbers), rest

    def secret(self) -> str | None:
        """Read the key from the environment, now; None where none is sent.

        Raises ModelMisconfigured: The variable is not set, or holds what cannot be sent in a header.
        """
        if self.key is None:
            return None
        found = os.environ.get(self.key, "").strip()
        if not found:
            raise ModelMisconfigured(
                f"{self.provider}: the environment variable {self.key} must hold the key for "
                f"{self.base_url}, and is not set; set it, or name another one by `key:`"
            )
        if not all("!" <= character <= "~" for character in found):
            raise ModelMisconfigured(
                f"{self.provider}: the environment variable {self.key} holds characters that no key has; "
                "set it to the key alone"
            )
        return found

    def key_remark(self) -> str | None:
        """Say that the key is not hidden in what is written, None where it is or none is sent."""
        found = os.environ.get(self.key, "").strip() if self.key is not None else ""
        if not found or is_hidden(found):
            return None
        return (
            f"{self.provider}: the key in the environment variable {self.key} is short or made of words, as "
            "no secret is; it is not hidden where a server or a model says the same. If it is meant to be a "
            "secret, give the server a random one of 24 characters."
        )

    @property
    def is_own(self) -> bool:
        """Whether the address is the provider's own."""
        return _origin(self.base_url) == _origin(PROVIDERS[self.provider]["base_url"])

    @property
    def is_local(self) -> bool:
        """Whether the address is of this computer itself."""
        host = urlsplit(self.base_url).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False


ENDPOINT_KEYS = tuple(field.name for field in fields(Endpoint) if field.name != "provider")
"""Options of an audit file that speak of the endpoint; none of them enters a fingerprint."""


def _base_url(provider: str, found: Any) -> str:
    rule = f"{provider}: base_url must be the http or https address of a server"
    parts = _split(found)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{rule}, such as {PROVIDERS[provider]['base_url']}; change it")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{rule} without a user or password in it; name the key's variable by `key:`")
    if parts.query or parts.fragment or "?" in found or "#" in found:
        raise UsageError(f"{rule} without a query; leave out what follows the path")
    return str(found).strip().rstrip("/")


def _split(found: Any) -> SplitResult | None:
    if not isinstance(found, str) or not found.strip().isprintable() or " " in found.strip():
        return None
    try:
        parts = urlsplit(found.strip())
        parts.port  # noqa: B018  (raises where the port is no number)
    except ValueError:
        return None
    return parts


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _key_name(provider: str, found: Any) -> str | None:
    if found is None:
        return None
    name = found if isinstance(found, str) else ""
    bare = len(name) >= 16 and "_" not in name and any(character.isdigit() for character in name)
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) or len(name) > _LONGEST_NAME or bare:
        raise UsageError(
            f"{provider}: key must be the name of an environment variable in capitals, such as "
            "OPENAI_API_KEY, never the key itself (what was found is not shown); put the key into a "
            "variable and name that"
        )
    return name


def _number(provider: str, name: str, found: Any) -> float:
    fits = isinstance(found, int if name in _WHOLE else (int, float)) and not isinstance(found, bool)
    if not fits or not 0 < found < math.inf:
        rule = "a whole number from 1" if name in _WHOLE else "a number above 0"
        raise UsageError(f"{provider}: {name} must be {rule}, found {found!r}; change it")
    number: float = found if name in _WHOLE else float(found)
    return number
