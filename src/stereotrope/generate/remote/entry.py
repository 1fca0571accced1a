"""The entry of a model behind a server: the adapter of its provider, or that of OpenAI's shape."""

from collections.abc import Callable, Mapping

from stereotrope.clients import Account, split_model
from stereotrope.generate.contract import generator
from stereotrope.generate.remote.generator import ImageModelOptions, RemoteGenerator
from stereotrope.generate.remote.google import google_generator
from stereotrope.generate.remote.images_api import ImagesApiGenerator
from stereotrope.generate.remote.replicate import ReplicateGenerator
from stereotrope.inputs.entries import Context

_ADAPTERS: Mapping[str, Callable[[ImageModelOptions, Account], RemoteGenerator]] = {
    "google": google_generator,
    "replicate": ReplicateGenerator,
}
"""Provider → its adapter, where its requests have another shape than OpenAI's."""


@generator(
    ImageModelOptions,
    summary=(
        "asks a model behind a server: OpenAI-shaped endpoints (OpenAI, vLLM-Omni, SGLang, gateways), "
        "Gemini and Imagen (google:MODEL), Replicate (replicate:OWNER/NAME)"
    ),
    example="{images: openai:gpt-image-2, size: 1024x1024}",
)
def images(options: ImageModelOptions, context: Context) -> RemoteGenerator:
    """Ask a model behind a server."""
    provider, _ = split_model(options.images)
    return _ADAPTERS.get(provider, ImagesApiGenerator)(options, context.account)
