"""What the entry of a remote generator says, sorted into ours, the endpoint's and the model's."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from stereotrope.clients import ENDPOINT_KEYS, Endpoint, Price, price_of, refuse_secrets, split_model
from stereotrope.errors import UsageError

__all__ = ["OWN_KEYS", "RemoteSettings"]

OWN_KEYS = ("images", "name", "price", "batch", "seed", "negative", "version", "parameters")
_NEAR = 0.8
"""Likeness (difflib's ratio) from which a key is taken for a misspelt one of ours."""
_OTHER_WORDS = {
    "model": "images",
    "n": "batch",
    "num_images": "batch",
    "sampleCount": "batch",
    "negative_prompt": "negative",
    "negativePrompt": "negative",
    "url": "base_url",
    "endpoint": "base_url",
    "rpm": "requests_per_minute",
    "tpm": "tokens_per_minute",
    "retries": "tries",
    "max_retries": "tries",
}
"""Words other tools use for a key of ours."""
_NEVER = {
    "prompt": "the prompt comes from the design",
    "seed": "seeds are numbered from the audit's `seed:`",
    "n": "`batch:` says how many pictures a call brings",
    "sampleCount": "`batch:` says how many pictures a call brings",
    "stream": "answers are read whole",
}
"""Parameters that would take from an audit what it decides."""


@dataclass(frozen=True)
class RemoteSettings:
    """An entry, read.

    Attributes
    ----------
    provider, model
        Who serves it, and what it is called there.
    endpoint, price
        Where it is reached and what it costs; ``price`` is None where unknown.
    name
        In the ``generator`` column.
    batch
        Pictures a call.
    seeded, negative
        Whether a seed and a negative prompt are sent; None leaves it to the adapter.
    version
        Told apart from another deployment of the same model by it.
    parameters
        For the model, as JSON values.
    """

    provider: str
    model: str
    endpoint: Endpoint
    price: Price | None
    name: str
    batch: int
    seeded: bool | None
    negative: bool | None
    version: str | None
    parameters: Mapping[str, Any]

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Read ``{"images": "provider:model", …}``.

        Raises
        ------
        UsageError
            The provider or a key near ours is unknown, a value does not fit, or something that looks
            like a key stands in it; its value is never repeated.
        """
        spec = options.get("images")
        if not isinstance(spec, str):
            raise UsageError(
                f"generator: `images` must name a provider and a model, found {spec!r}; "
                "write {images: openai:MODEL}"
            )
        refuse_secrets("generator", options)
        _refuse_keys(spec, options)
        provider, model = split_model(spec)
        endpoint, rest = Endpoint.from_options(provider, options)
        own = {key: rest.pop(key, None) for key in OWN_KEYS}
        given = own["parameters"] if own["parameters"] is not None else {}
        if not isinstance(given, Mapping):
            raise UsageError(f"generator {spec!r}: `parameters` must be a mapping, found {given!r}")
        parameters = {**rest, **given}
        for key, why in _NEVER.items():
            if key in parameters:
                raise UsageError(f"generator {spec!r}: {key!r} is no parameter of it: {why}; remove it")
        price = own["price"]
        return cls(
            provider,
            model,
            endpoint,
            Price.from_option(price) if price is not None else price_of(provider, model, endpoint),
            _text(spec, "name", own["name"]) or model,
            _batch(spec, own["batch"]),
            _flag(spec, "seed", own["seed"]),
            _flag(spec, "negative", own["negative"]),
            _text(spec, "version", own["version"]),
            _json(spec, parameters),
        )


def _refuse_keys(spec: str, options: Mapping[str, Any]) -> None:
    known = (*OWN_KEYS, *ENDPOINT_KEYS)
    for key in options:
        if not isinstance(key, str):
            raise UsageError(f"generator {spec!r}: a key must be a text, found {key!r}; put it in quotes")
        if key in known:
            continue
        near = difflib.get_close_matches(key.lower().replace("-", "_"), known, n=1, cutoff=_NEAR)
        meant = _OTHER_WORDS.get(key) or (near[0] if near else None)
        if meant is not None:
            raise UsageError(
                f"generator {spec!r}: unknown key {key!r}; did you mean {meant!r}? A parameter of the "
                f"model with this name goes under `parameters: {{{key}: …}}`"
            )


def _text(spec: str, key: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float) or not str(value).strip():
        raise UsageError(f"generator {spec!r}: `{key}` must be a text, found {value!r}; put it in quotes")
    return str(value)


def _flag(spec: str, key: str, value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise UsageError(
            f"generator {spec!r}: `{key}` says whether one is sent and must be true or false, found {value!r}"
            + ("; seeds are numbered from the audit's `seed:`" if key == "seed" else "")
        )
    return value


def _batch(spec: str, value: Any) -> int:
    if value is None:
        return 1
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(
            f"generator {spec!r}: `batch` must be a whole number of pictures a call, found {value!r}"
        )
    return value


def _json(spec: str, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        plain: Mapping[str, Any] = json.loads(json.dumps(dict(parameters), allow_nan=False))
    except (TypeError, ValueError):
        odd = next(key for key, value in parameters.items() if not _is_json(value))
        raise UsageError(
            f"generator {spec!r}: parameter {odd!r} must be a JSON value (text, number, true, false, list "
            f"or mapping), found {type(parameters[odd]).__name__}; put it in quotes"
        ) from None
    return plain


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
