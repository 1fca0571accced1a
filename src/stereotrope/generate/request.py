"""What a generator is asked for and what it answers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

__all__ = ["Checks", "Generator", "ImageRequest", "ImageResult", "request_id"]


def request_id(
    fingerprint: str, text: str | None, negative: str | None, seed: int | None, params: Mapping[str, Any]
) -> str:
    """Key of a work item: the first 16 hex digits of SHA-256 over all that decides the picture."""
    content = json.dumps([fingerprint, text, negative, seed, dict(params)], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ImageRequest:
    """One picture asked for.

    Attributes
    ----------
    image_id
        Key of the work item, by :func:`request_id`.
    prompt_id
        Row of the ``prompts`` table.
    generator
        Name of the text-to-image model.
    text, negative
        What is sent; ``text`` is None where pictures made elsewhere came without it.
    seed
        None where the generator takes none.
    params
        Further parameters, JSON values.
    source
        File it is taken from, relative to its folder; None where it is generated.
    absent
        Whether it is known that there is no picture to look at.
    """

    image_id: str
    prompt_id: str
    generator: str
    text: str | None
    negative: str | None
    seed: int | None
    params: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    absent: bool = False


@dataclass(frozen=True)
class ImageResult:
    """What came of a request.

    Attributes
    ----------
    data
        Original bytes of the picture, None unless ``status`` is ``ok``.
    status
        ``ok``, ``refused`` (by the model), ``excluded`` (cannot be used) or ``absent`` (not at hand).
    reason
        Why it was refused or excluded, or is absent.
    revised_prompt
        What the endpoint made of the prompt.
    latency, cost
        Seconds and US dollars, None where unknown.
    """

    data: bytes | None
    status: Literal["ok", "refused", "excluded", "absent"]
    reason: str | None = None
    revised_prompt: str | None = None
    latency: float | None = None
    cost: float | None = None


class Generator(Protocol):
    """A source of pictures: a model, or pictures made elsewhere."""

    name: str
    fingerprint: str
    concurrency: int

    def process(self, request: ImageRequest) -> ImageResult:
        """Make one picture; safe to call from ``concurrency`` threads."""
        ...


@runtime_checkable
class Checks(Protocol):
    """A generator that can say, before anything is asked of it, whether it can serve a text."""

    def check(self, text: str) -> str | None:
        """None, or the reason why no picture can be had for this text."""
        ...
