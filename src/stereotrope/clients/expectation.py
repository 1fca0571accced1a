"""What a piece of work will ask of an endpoint, said before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass

from stereotrope.clients.endpoint import Endpoint
from stereotrope.clients.prices import Price

_SECONDS = 60.0


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
    ends = [
        _cost(price, calls, input_tokens and input_tokens[end], output_tokens and output_tokens[end], images)
        for end in (0, 1)
    ]
    low, high = ends
    times: list[tuple[float, float]] = []
    if endpoint.requests_per_minute:
        paced = calls / endpoint.requests_per_minute * _SECONDS
        times.append((paced, paced))
    if endpoint.tokens_per_minute and (input_tokens or output_tokens):
        totals = [
            (input_tokens[end] if input_tokens else 0) + (output_tokens[end] if output_tokens else 0)
            for end in (0, 1)
        ]
        times.append(
            (
                totals[0] / endpoint.tokens_per_minute * _SECONDS,
                totals[1] / endpoint.tokens_per_minute * _SECONDS,
            )
        )
    return Expectation(
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=None if low is None or high is None else (low, high),
        seconds=(max(t[0] for t in times), max(t[1] for t in times)) if times else None,
    )


def _cost(
    price: Price | None, calls: int, input_tokens: int | None, output_tokens: int | None, images: int
) -> float | None:
    if price is None:
        return None
    if calls == 0:
        return 0.0
    once = price.cost(input_tokens, output_tokens, images)
    return None if once is None else once + (calls - 1) * (price.call or 0.0)
