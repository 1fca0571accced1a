"""What calls cost. An unknown price is unknown, never 0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from ruamel.yaml import YAML

from stereotrope.clients.endpoint import Endpoint
from stereotrope.errors import UsageError, did_you_mean

_MILLION = 1_000_000
_PARTS = ("input", "output", "image", "call")


@dataclass(frozen=True)
class Price:
    """What a model's calls cost, in US dollars; the parts that are given add up.

    input, output: For a million tokens in and out.
    call: For a call that was answered.
    """

    input: float | None = None
    output: float | None = None
    image: float | None = None
    call: float | None = None

    @classmethod
    def from_option(cls, found: Any) -> Price:
        """Read the ``price`` of an audit file: 0 (free), or a mapping of the parts.

        Raises UsageError: It is neither, names an unknown part, or has a negative one.

        >>> Price.from_option({"image": 0.04}).cost(None, None, 2)
        0.08
        """
        if isinstance(found, Mapping):
            if not found:
                raise UsageError(f"price must have at least one of {', '.join(_PARTS)}; found none")
            for name in found:
                if name not in _PARTS:
                    near = did_you_mean(name, _PARTS, otherwise=f"known are {', '.join(_PARTS)}")
                    raise UsageError(f"price has an unknown part {name!r}; {near}")
            return cls(**{name: _amount(name, value) for name, value in found.items()})
        if isinstance(found, (int, float)) and not isinstance(found, bool) and found == 0:
            return cls(call=0.0)
        raise UsageError(
            f"price must be 0 or a mapping, such as {{image: 0.04}} (US dollars a picture) or "
            f"{{input: 2.5, output: 10}} (US dollars a million tokens); found {found!r}"
        )

    @property
    def is_free(self) -> bool:
        """Whether every part that is given is 0, so that a call that failed costs nothing either."""
        given = [getattr(self, name) for name in _PARTS if getattr(self, name) is not None]
        return bool(given) and not any(given)

    def cost(self, input_tokens: int | None, output_tokens: int | None, images: int | None) -> float | None:
        """Return what one answered call costs; None where a count that the price needs is unknown."""
        parts: list[float] = []
        for rate, count, unit in (
            (self.input, input_tokens, _MILLION),
            (self.output, output_tokens, _MILLION),
            (self.image, images, 1),
            (self.call, 1, 1),
        ):
            if rate == 0:
                parts.append(0.0)
            elif rate is not None:
                if count is None:
                    return None
                parts.append(rate * count / unit)
        return math.fsum(parts) if parts else None


def price_of(provider: str, model: str, endpoint: Endpoint | None = None) -> Price | None:
    """Return the published price of a model, None where the package knows none.

    The shipped prices are in ``prices.yaml``, each with its source and the day it was read. They are the
    provider's own: a gateway, or a server of one's own, at another address charges what it charges.
    """
    if endpoint is not None and not endpoint.is_own:
        return None
    found = _prices().get(f"{provider}:{model}")
    return None if found is None else Price.from_option({k: found[k] for k in _PARTS if k in found})


@cache
def _prices() -> dict[str, dict[str, Any]]:
    data = resources.files("stereotrope.clients").joinpath("prices.yaml").read_bytes()
    return {
        f"{provider}:{model}": entry
        for provider, models in (YAML(typ="safe").load(data.decode()) or {}).items()
        for model, entry in models["models"].items()
    }


def _amount(name: str, found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < math.inf:
        raise UsageError(f"price: {name} must be an amount of US dollars from 0, found {found!r}; change it")
    return float(found)
