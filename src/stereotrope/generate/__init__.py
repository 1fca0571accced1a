"""Generate: from prompts to images, by a model under audit or from pictures made elsewhere."""

from stereotrope.generate.calibrated import CalibratedGenerator, Truth
from stereotrope.generate.contract import (
    GENERATORS,
    REQUESTS,
    CountableGenerator,
    Generator,
    ImageRequest,
    ImageResult,
    KnownGenerator,
    create,
    generator,
    image_requests,
    request_id,
    requests_frame,
    requests_of_each,
)
from stereotrope.generate.counted import CountedListing
from stereotrope.generate.folder import FolderGenerator
from stereotrope.generate.labelled import LabelledGenerator
from stereotrope.generate.listing import METADATA_NAMES
from stereotrope.generate.local import DiffusersGenerator
from stereotrope.generate.presets import PRESETS, Preset
from stereotrope.generate.remote.generator import RemoteGenerator
from stereotrope.generate.remote.google import GeminiGenerator, ImagenGenerator
from stereotrope.generate.remote.images_api import ImagesApiGenerator
from stereotrope.generate.remote.replicate import ReplicateGenerator

__all__ = [
    "GENERATORS",
    "METADATA_NAMES",
    "PRESETS",
    "REQUESTS",
    "CalibratedGenerator",
    "CountableGenerator",
    "CountedListing",
    "DiffusersGenerator",
    "FolderGenerator",
    "GeminiGenerator",
    "Generator",
    "ImageRequest",
    "ImageResult",
    "ImagenGenerator",
    "ImagesApiGenerator",
    "KnownGenerator",
    "LabelledGenerator",
    "Preset",
    "RemoteGenerator",
    "ReplicateGenerator",
    "Truth",
    "create",
    "generator",
    "image_requests",
    "request_id",
    "requests_frame",
    "requests_of_each",
]
