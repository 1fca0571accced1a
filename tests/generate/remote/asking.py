"""Asking a generator in a loop of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from stereotrope.clients import Account
from stereotrope.errors import StereotropeError
from stereotrope.generate import ImageRequest, ImageResult, RemoteGenerator, create

SECRET = "sentinel-5c1d0f7e"

Outcomes = list[ImageResult | StereotropeError]


def fast(**options: Any) -> dict[str, Any]:
    """Options of an endpoint that fails in milliseconds."""
    return {"tries": 3, "longest_wait": 0.01, "timeout": 5, "key": None, **options}


def request(
    text: str | None = "car, one product only, no people",
    seed: int | None = None,
    negative: str | None = None,
    number: int = 0,
) -> ImageRequest:
    params = {} if seed is not None else {"picture": number}
    return ImageRequest(f"{number:016x}", "p0", "g", text, negative, seed, params)


def ask(generator: RemoteGenerator, *requests: ImageRequest, batch: bool = False) -> ImageResult | Outcomes:
    """Ask for one picture, or for several in a batch, in a loop of its own."""

    async def asked() -> Any:
        try:
            return await (generator.process_batch(requests) if batch else generator.process(requests[0]))
        finally:
            await generator.close()

    return asyncio.run(asked())


def one(generator: RemoteGenerator, asked: ImageRequest | None = None) -> ImageResult:
    result = ask(generator, asked if asked is not None else request())
    assert isinstance(result, ImageResult)
    return result


def several(generator: RemoteGenerator, requests: Sequence[ImageRequest]) -> Outcomes:
    results = ask(generator, *requests, batch=True)
    assert isinstance(results, list)
    return results


def made(spec: dict[str, Any], account: Account | None = None) -> RemoteGenerator:
    generator = create(spec, account=account)
    assert isinstance(generator, RemoteGenerator)
    return generator
