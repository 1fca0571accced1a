"""Generators behind an HTTP endpoint: OpenAI-shaped images, Google's Gemini and Imagen, Replicate."""

from stereotrope.generate.remote.generator import RemoteGenerator
from stereotrope.generate.remote.google import GeminiGenerator, ImagenGenerator
from stereotrope.generate.remote.images_api import ImagesApiGenerator
from stereotrope.generate.remote.replicate import ReplicateGenerator

__all__ = [
    "GeminiGenerator",
    "ImagenGenerator",
    "ImagesApiGenerator",
    "RemoteGenerator",
    "ReplicateGenerator",
]
