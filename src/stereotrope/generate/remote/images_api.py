"""OpenAI-shaped image endpoints: ``POST {base_url}/images/generations``.

Request and answer follow the Images API as the ``openai`` SDK 3.54 types it
(``types/image_generate_params.py``, ``types/images_response.py``); the further parameters ``seed``,
``negative_prompt``, ``num_inference_steps`` and ``guidance_scale`` those of vLLM-Omni
(https://docs.vllm.ai/projects/vllm-omni/en/stable/serving/image_generation_api/) and SGLang
(``multimodal_gen/runtime/entrypoints/openai/protocol.py``), which take them beside OpenAI's own.
"""

import re
from collections.abc import Mapping
from typing import Any

from stereotrope.clients import PROVIDERS, Account, ErrorReply, classify, declining_form, tells_error
from stereotrope.generate.remote.answer import (
    EMPTY,
    ImageReply,
    Slot,
    from_base64,
    from_url,
    held,
    items,
    mapping,
    reply,
)
from stereotrope.generate.remote.generator import RemoteGenerator, Send
from stereotrope.generate.remote.options import ImageModelOptions

_FORMAT, _BASE64 = "response_format", "b64_json"
_ABOUT_FORMAT = re.compile(r"response[_ ]?format|b64_json", re.I)


class ImagesApiGenerator(RemoteGenerator):
    """Any endpoint that speaks OpenAI's Images API: OpenAI, vLLM-Omni, SGLang, gateways.

    OpenAI itself takes neither a seed nor a negative prompt. Other endpoints are sent both, because
    vLLM-Omni and SGLang take them; ``seed: false`` and ``negative: false`` leave them out. Other
    endpoints are asked for ``response_format: b64_json``, which OpenAI's own image models refuse to be
    told; a picture given as a URL is fetched all the same. An endpoint that rejects it (a gateway in front
    of such a model) is asked again without, and not told any more.
    """

    kind, most_at_once = "images", 10

    def __init__(self, options: ImageModelOptions, account: Account) -> None:
        super().__init__(options, account)
        self._names_format = not self._is_openai and _FORMAT not in self.parameters

    @property
    def _is_openai(self) -> bool:
        return bool(self.endpoint.base_url == PROVIDERS["openai"]["base_url"])

    def _seeded(self) -> bool:
        return self.options.seed if self.options.seed is not None else not self._is_openai

    def _takes_negative(self) -> bool:
        return self.options.negative if self.options.negative is not None else not self._is_openai

    def _sender(self, text: str, negative: str | None, seed: int | None, count: int) -> Send:
        body: dict[str, Any] = dict(self.parameters)
        body |= {"model": self.model, "prompt": text, "n": count, "seed": seed}
        if negative:
            body["negative_prompt"] = negative
        body = {key: value for key, value in body.items() if value is not None}

        async def send() -> ImageReply:
            asked = {_FORMAT: _BASE64, **body} if self._names_format else body
            return read_reply(await self._http.post("images/generations", asked))

        return send

    def _amend(self, message: str) -> bool:
        if self._is_openai or _FORMAT in self.parameters or not _ABOUT_FORMAT.search(message):
            return False
        self._names_format = False
        return True


def read_reply(answer: Any) -> ImageReply:
    """Read the answer of an images endpoint.

    A place that holds null or an empty text where its picture belongs is a refusal, as is one that Azure's
    filter or a code of moderation speaks of, and an empty one beside pictures.

    Raises ErrorReply, ModelError: As :func:`held`.
    """
    content = mapping(answer)
    places = items(content.get("data"))
    slots = [_slot(mapping(place)) for place in places]
    if any(slot.is_picture for slot in slots):
        slots = [slot if place else Slot(refusal=EMPTY) for slot, place in zip(slots, places, strict=True)]
    usage = mapping(content.get("usage"))
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
    results = mapping(place.get("content_filter_results"))
    filtered = [name for name, result in results.items() if mapping(result).get("filtered") is True]
    if filtered:
        return Slot(refusal=f"content filter: {', '.join(filtered)}")
    if tells_error(place):
        failure = classify(ErrorReply(place))
        refused = failure.outcome == "refused"
        return Slot(refusal=failure.reason) if refused else Slot(failure=f"an error ({failure.reason})")
    if not ({"b64_json", "url"} & place.keys()) or url not in (None, ""):
        return Slot(failure="a place without a picture")
    return from_base64(place.get("b64_json"), revised)
