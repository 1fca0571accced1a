"""From the entry of a remote generator to the adapter of its provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stereotrope.clients import Account
from stereotrope.generate.remote.generator import RemoteGenerator
from stereotrope.generate.remote.google import GeminiGenerator, ImagenGenerator, is_imagen
from stereotrope.generate.remote.images_api import ImagesApiGenerator
from stereotrope.generate.remote.replicate import ReplicateGenerator
from stereotrope.generate.remote.settings import RemoteSettings

__all__ = ["create_remote"]


def create_remote(options: Mapping[str, Any], *, account: Account | None = None) -> RemoteGenerator:
    """Make the generator that ``{"images": "provider:model", …}`` describes.

    Parameters
    ----------
    options
        ``images``; ours (``name``, ``price``, ``batch``, ``seed``, ``negative``, ``version``,
        ``parameters``); the endpoint's (:data:`stereotrope.clients.ENDPOINT_KEYS`); every other key goes
        to the model as a parameter.
    account
        What calls are booked on; its own, without a cap, where None.

    Raises
    ------
    UsageError
        As :meth:`RemoteSettings.from_options`, or the options do not fit the provider.
    """
    settings = RemoteSettings.from_options(options)
    made = account if account is not None else Account()
    if settings.provider == "google":
        return (ImagenGenerator if is_imagen(settings.model) else GeminiGenerator)(settings, made)
    if settings.provider == "replicate":
        return ReplicateGenerator(settings, made)
    return ImagesApiGenerator(settings, made)
