"""Google's image models over plain HTTP: Gemini by ``generateContent``, Imagen by ``:predict``.

Gemini follows https://ai.google.dev/api/generate-content (``contents``, ``generationConfig`` with
``responseModalities``, ``imageConfig`` and ``seed``; ``candidates[].finishReason``,
``promptFeedback.blockReason``) and https://ai.google.dev/gemini-api/docs/image-generation. Imagen follows
https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/imagen-api (``instances``,
``parameters``; ``predictions[].bytesBase64Encoded`` or ``raiFilteredReason``) and
https://ai.google.dev/gemini-api/docs/imagen. The key goes in ``x-goog-api-key``; a Vertex AI address gets
it as a bearer token.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from stereotrope.clients import Account, is_trouble, split_model
from stereotrope.errors import UsageError
from stereotrope.generate.remote.answer import (
    ImageReply,
    Slot,
    as_mapping,
    from_base64,
    held,
    items,
    reply,
    text_of,
)
from stereotrope.generate.remote.generator import ImageModelOptions, RemoteGenerator
from stereotrope.shipped import shipped

_BLOCKED = re.compile(r"(?!.*UNSPECIFIED)[A-Z][A-Z_]+")
"""A ``blockReason``: one of its enum, which grows; its default value says nothing."""
_DECLINES = re.compile(
    r"\b(can(no|['’]?)t|unable|won['’]t|not (able|allowed|permitted)|sorry|apologi[sz]e|decline[ds]?"
    r"|polic(y|ies)|guidelines?|inappropriate|harmful)\b",
    re.I,
)
"""How a model declines in words; others are said beside a picture that does not come."""
_TOP_LEVEL = ("safetySettings", "systemInstruction", "cachedContent", "tools", "toolConfig")
_IMAGE_CONFIG = ("aspectRatio", "imageSize")


class _Google(RemoteGenerator):
    """What both shapes share: address and key."""

    kind, verb = "google", ""

    def __init__(self, options: ImageModelOptions, account: Account) -> None:
        super().__init__(options, account)
        self._path = f"models/{quote(self.model, safe='@.-_')}:{self.verb}"

    def _key_header(self) -> str | None:
        vertex = (urlsplit(self.endpoint.base_url).hostname or "").endswith("aiplatform.googleapis.com")
        return None if vertex else "x-goog-api-key"


class GeminiGenerator(_Google):
    """A Gemini model that draws.

    ``aspectRatio`` and ``imageSize`` go into ``generationConfig.imageConfig``, ``safetySettings`` and
    the like to the top, every other parameter into ``generationConfig``. The seed is sent as
    ``generationConfig.seed``; Google calls it a best effort. One call brings one picture.
    """

    verb = "generateContent"

    def _notes(self) -> Iterator[str]:
        if self.seeded:
            yield "its seed is a best effort: the same request may draw another picture"
        yield from super()._notes()

    def _takes_negative(self) -> bool:
        if self.options.negative:
            raise UsageError(
                f"generator {self.name!r}: Gemini takes no negative prompt; remove `negative: true`"
            )
        return False

    def _body(self, text: str, negative: str | None, seed: int | None, count: int) -> dict[str, Any]:
        top = {key: value for key, value in self.parameters.items() if key in _TOP_LEVEL}
        image = {key: value for key, value in self.parameters.items() if key in _IMAGE_CONFIG}
        config: dict[str, Any] = {"responseModalities": ["TEXT", "IMAGE"]}
        config |= {k: v for k, v in self.parameters.items() if k not in top and k not in image}
        if image:
            config["imageConfig"] = {**as_mapping(config.get("imageConfig")), **image}
        if seed is not None:
            config["seed"] = seed
        return {"contents": [{"role": "user", "parts": [{"text": text}]}], "generationConfig": config, **top}

    @staticmethod
    def read(answer: Any) -> ImageReply:
        """Read the answer of ``generateContent``: the first picture, or why there is none.

        A refusal is a ``blockReason``, a ``finishReason`` of a filter, or words that decline.
        """
        content = as_mapping(answer)
        usage = as_mapping(content.get("usageMetadata"))
        slots = held(answer, [_gemini_slot(content)])
        return reply(slots, usage.get("promptTokenCount"), usage.get("candidatesTokenCount"))


class ImagenGenerator(_Google):
    """Imagen.

    It takes a seed only where no watermark is added, so one is sent only with ``addWatermark: false``. Fewer
    pictures than asked for mean that the others were filtered.
    """

    verb = "predict"
    most_at_once = 4
    missing_is_refused = True

    def _seeded(self) -> bool:
        unmarked = self.parameters.get("addWatermark") is False
        if self.options.seed and not unmarked:
            raise UsageError(
                f"generator {self.name!r}: Imagen takes a seed only without its watermark; add "
                "`addWatermark: false` (Vertex AI only), or remove `seed: true`"
            )
        return unmarked and self.options.seed is not False

    def _body(self, text: str, negative: str | None, seed: int | None, count: int) -> dict[str, Any]:
        parameters: dict[str, Any] = {"includeRaiReason": True, **self.parameters, "sampleCount": count}
        if seed is not None:
            parameters["seed"] = seed
        if negative:
            parameters["negativePrompt"] = negative
        return {"instances": [{"prompt": text}], "parameters": parameters}

    @staticmethod
    def read(answer: Any) -> ImageReply:
        """Read the answer of ``:predict``: a picture or a reason for at least one place."""
        slots = []
        for place in map(as_mapping, items(as_mapping(answer).get("predictions"))):
            reason, picture = place.get("raiFilteredReason"), place.get("bytesBase64Encoded")
            if isinstance(reason, str) and reason and not picture:
                slots.append(Slot(refusal=f"filtered: {reason}"))
            elif "bytesBase64Encoded" in place:
                slots.append(from_base64(picture, place.get("prompt")))
        return reply(held(answer, slots))


def google_generator(options: ImageModelOptions, account: Account) -> RemoteGenerator:
    """Return the adapter of the shape that a model has."""
    is_imagen = split_model(options.images)[1].startswith(("imagen", "imagegeneration"))
    return (ImagenGenerator if is_imagen else GeminiGenerator)(options, account)


def _gemini_slot(content: Mapping[str, Any]) -> Slot:
    blocked = as_mapping(content.get("promptFeedback")).get("blockReason")
    if isinstance(blocked, str) and _BLOCKED.fullmatch(blocked):
        return Slot(refusal=f"prompt blocked: {blocked}")
    candidate = as_mapping(next(iter(items(content.get("candidates"))), None))
    if not candidate:
        return Slot(failure="no candidate")
    parts = [as_mapping(part) for part in items(as_mapping(candidate.get("content")).get("parts"))]
    parts = [part for part in parts if not part.get("thought")]
    for part in parts:
        inline = as_mapping(part.get("inlineData"))
        if inline.get("data"):
            return from_base64(inline["data"])
    reason = text_of(candidate.get("finishReason"))
    words = " ".join(filter(None, (text_of(part.get("text")) for part in parts)))
    message = text_of(candidate.get("finishMessage")) or words
    if reason in shipped("clients", "codes.yaml")["filtered"]:
        return Slot(refusal=f"{reason}: {message}" if message else reason)
    if reason == "STOP" and _DECLINES.search(words) and not is_trouble(words):
        return Slot(refusal=f"answered in words instead of a picture: {words}")
    return Slot(failure=f"without a picture, finish reason {reason or 'not given'}")
