"""OpenAI-shaped image endpoints: ``POST {base_url}/images/generations``.

Request and answer follow the Images API as the ``openai`` SDK 3.54 types it
(``types/image_generate_params.py``, ``types/images_response.py``); the further parameters ``seed``,
``negative_prompt``, ``num_inference_steps`` and ``guidance_scale`` those of vLLM-Omni
(https://docs.vllm.ai/projects/vllm-omni/en/stable/serving/image_generation_api/) and SGLang
(``multimodal_gen/runtime/entrypoints/openai/protocol.py``).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from stereotrope.clients import PROVIDERS, Account, ErrorReply, classify, declining_form, tells_error
from stereotrope.generate.contract import generator
from stereotrope.generate.remote.answer import (
    EMPTY,
    ImageReply,
    Slot,
    as_mapping,
    from_base64,
    from_url,
    held,
    items,
    reply,
)
from stereotrope.generate.remote.generator import ImageModelOptions, RemoteGenerator
from stereotrope.generate.remote.google import google_generator
from stereotrope.generate.remote.replicate import ReplicateGenerator
from stereotrope.inputs.entries import Context

_FORMAT = "response_format"
_ABOUT_FORMAT = re.compile(r"response[_ ]?format|b64_json", re.I)


class ImagesApiGenerator(RemoteGenerator):
    """Any endpoint that speaks OpenAI's Images API: OpenAI, vLLM-Omni, SGLang, gateways.

    OpenAI itself takes neither a seed nor a negative prompt; other endpoints are sent both unless ``seed:
    false`` and ``negative: false`` leave them out. Others are also asked for ``response_format: b64_json``,
    which OpenAI's own image models refuse to be told; one that rejects it is asked again without.
    """

    kind, most_at_once, _path = "images", 10, "images/generations"

    def __init__(self, options: ImageModelOptions, account: Account) -> None:
        super().__init__(options, account)
        self._may_name_format = self._takes_more() and _FORMAT not in self.parameters
        self._names_format = self._may_name_format

    def _takes_more(self, chosen: bool | None = None) -> bool:
        """Whether what OpenAI itself does not take is sent, where the entry does not say."""
        return self.endpoint.base_url != PROVIDERS["openai"]["base_url"] if chosen is None else chosen

    def _seeded(self) -> bool:
        return self._takes_more(self.options.seed)

    def _takes_negative(self) -> bool:
        return self._takes_more(self.options.negative)

    def _body(self, text: str, negative: str | None, seed: int | None, count: int) -> dict[str, Any]:
        body = {_FORMAT: "b64_json" if self._names_format else None, **self.parameters}
        body |= {"model": self.model, "prompt": text, "n": count, "seed": seed}
        if negative:
            body["negative_prompt"] = negative
        return {key: value for key, value in body.items() if value is not None}

    def _amend(self, message: str) -> bool:
        if not (self._may_name_format and _ABOUT_FORMAT.search(message)):
            return False
        self._names_format = False
        return True

    @staticmethod
    def read(answer: Any) -> ImageReply:
        """Read the answer of an images endpoint.

        A place that holds null or an empty text where its picture belongs is a refusal, as is one that
        Azure's filter or a code of moderation speaks of, and an empty one beside pictures.
        """
        content = as_mapping(answer)
        places = items(content.get("data"))
        slots = [_slot(as_mapping(place)) for place in places]
        if any(slot.is_picture for slot in slots):
            slots = [
                slot if place else Slot(refusal=EMPTY) for slot, place in zip(slots, places, strict=True)
            ]
        usage = as_mapping(content.get("usage"))
        return reply(held(answer, slots), usage.get("input_tokens"), usage.get("output_tokens"))


def _slot(place: Mapping[str, Any]) -> Slot:
    revised, url = place.get("revised_prompt"), place.get("url")
    form = declining_form(place)
    if form is not None:  # a picture beside it is blurred or another one
        return Slot(refusal=form)
    if isinstance(url, str) and url and not place.get("b64_json"):
        return from_url(url, revised)
    if place.get("b64_json"):
        return from_base64(place["b64_json"], revised)
    results = as_mapping(place.get("content_filter_results"))
    filtered = [name for name, result in results.items() if as_mapping(result).get("filtered") is True]
    if filtered:
        return Slot(refusal=f"content filter: {', '.join(filtered)}")
    if tells_error(place):
        failure = classify(ErrorReply(place))
        refused = failure.outcome == "refused"
        return Slot(refusal=failure.reason) if refused else Slot(failure=f"an error ({failure.reason})")
    if not ({"b64_json", "url"} & place.keys()) or url not in (None, ""):
        return Slot(failure="a place without a picture")
    return from_base64(place.get("b64_json"), revised)


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
    """Ask a model behind a server: by the adapter of its provider, or in OpenAI's shape."""
    return _ADAPTERS.get(options.images.partition(":")[0], ImagesApiGenerator)(options, context.account)
