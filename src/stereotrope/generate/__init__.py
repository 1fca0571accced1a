"""Generate: from prompts to images, by a model under audit or from pictures made elsewhere."""

from __future__ import annotations

from stereotrope.generate.calibrated import CalibratedGenerator, Truth
from stereotrope.generate.creating import create
from stereotrope.generate.request import Generator, ImageRequest, ImageResult, request_id

__all__ = [
    "CalibratedGenerator",
    "Generator",
    "ImageRequest",
    "ImageResult",
    "Truth",
    "create",
    "request_id",
]
