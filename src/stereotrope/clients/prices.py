"""What calls cost, and what a piece of work will. An unknown price is unknown, never 0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stereotrope.clients.endpoint import Endpoint
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.shipped import shipped

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
    published = shipped("clients", "prices.yaml")
    found = published.get(provider, {}).get("models", {}).get(model)
    return None if found is None else Price.from_option({k: found[k] for k in _PARTS if k in found})


def _amount(name: str, found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found < math.inf:
        raise UsageError(f"price: {name} must be an amount of US dollars from 0, found {found!r}; change it")
    return float(found)


_MINUTE = 60.0


@dataclass(frozen=True)
class Expectation:
    """What a piece of work will ask of an endpoint.

    calls: Requests, retries aside.
    input_tokens, output_tokens: Lowest and highest in all, None where unknown.
    cost: Lowest and highest in US dollars, None where the price is unknown.
    seconds: Lowest and highest time at the endpoint's limits, None where it gives none.
    """

    calls: int
    input_tokens: tuple[int, int] | None
    output_tokens: tuple[int, int] | None
    cost: tuple[float, float] | None
    seconds: tuple[float, float] | None

    def __post_init__(self) -> None:
        for name, ends in vars(self).items():
            match (ends, ends) if name == "calls" else ends:
                case None:
                    continue
                case (int() | float() as low, int() | float() as high) if 0 <= low <= high < math.inf:
                    continue
            raise ValueError(f"{name} must be lowest and highest, 0 or more, or None; found {ends!r:.80}")


def expectation(
    endpoint: Endpoint,
    price: Price | None,
    *,
    calls: int,
    input_tokens: tuple[int, int] | None = None,
    output_tokens: tuple[int, int] | None = None,
    images: int = 0,
) -> Expectation:
    """Say what a number of calls will cost and how long the endpoint's limits make them take.

    endpoint: Its limits a minute give the time: the larger of calls ÷ requests a minute and tokens ÷ tokens a
        minute. How long one answer takes is not known beforehand, so it is not in it.
    input_tokens, output_tokens: Lowest and highest in all the calls together, None where unknown.
    """
    unknown = (None, None)
    ends = zip(input_tokens or unknown, output_tokens or unknown, strict=True)
    low, high = (_all_cost(price, calls, read, written, images) for read, written in ends)
    times: list[list[float]] = []
    if endpoint.requests_per_minute:
        times.append([calls / endpoint.requests_per_minute * _MINUTE] * 2)
    if rate := endpoint.tokens_per_minute:
        counts = [tokens for tokens in (input_tokens, output_tokens) if tokens]
        times += [[sum(ends) / rate * _MINUTE for ends in zip(*counts, strict=True)]] if counts else []
    return Expectation(
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=None if low is None or high is None else (low, high),
        seconds=(max(t[0] for t in times), max(t[1] for t in times)) if times else None,
    )


def _all_cost(
    price: Price | None, calls: int, input_tokens: int | None, output_tokens: int | None, images: int
) -> float | None:
    if price is None:
        return None
    if calls == 0:
        return 0.0
    once = price.cost(input_tokens, output_tokens, images)
    return None if once is None else once + (calls - 1) * (price.call or 0.0)


def picture_tokens(max_side: int) -> tuple[int, int]:
    """Return the fewest and the most tokens that a picture of ``max_side`` × ``max_side`` may count as.

    From 250 (models that count any picture alike) to 2.5 for each 32 × 32 pixels. Published rules lie
    within for 1,024 pixels: 258 a tile (Gemini), 765 (GPT-4o, high detail), 1,024 (GPT-4.1), 1,338
    (Qwen2.5-VL), 2,520 (GPT-4.1 nano). Some do not: models that count a picture many times over to price it.
    """
    return 250, max(250, math.ceil(2.5 * math.ceil(max_side / 32) ** 2))
