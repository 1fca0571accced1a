"""Generate: from prompts to images, by a model under audit or from pictures made elsewhere."""

from __future__ import annotations

from stereotrope.generate.calibrated import CalibratedGenerator, Truth
from stereotrope.generate.create import KINDS, create
from stereotrope.generate.folder import FolderGenerator
from stereotrope.generate.request import Checks, Generator, ImageRequest, ImageResult, request_id

__all__ = [
    "KINDS",
    "CalibratedGenerator",
    "Checks",
    "FolderGenerator",
    "Generator",
    "ImageRequest",
    "ImageResult",
    "Truth",
    "create",
    "request_id",
]
