"""No reply of an image server does worse than fail one picture."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.clients.odd import anything, bodies, changed, derandomized
from tests.generate.remote.asking import fast, made, request
from tests.generate.remote.bodies import picture

from stereotrope.clients import HttpClient
from stereotrope.clients.error_body import parse_json
from stereotrope.errors import ModelError
from stereotrope.generate import (
    GeminiGenerator,
    ImagenGenerator,
    ImageResult,
    ImagesApiGenerator,
    ReplicateGenerator,
)
from stereotrope.generate.remote.answer import condition_of, from_base64

PICTURE = picture()
USAGE = {"input_tokens": 5, "output_tokens": 100}
GOOGLES = {"promptTokenCount": 5, "candidatesTokenCount": 1290}
PARTS = [{"text": "Here."}, {"inlineData": {"mimeType": "image/png", "data": PICTURE}}]
PREDICTION = {"id": "abc", "status": "succeeded", "output": f"data:image/png;base64,{PICTURE}", "error": None}

OPENAI = (
    {"created": 1, "data": [{"b64_json": PICTURE, "revised_prompt": "x"}], "usage": USAGE},
    {"created": 1, "data": [{"b64_json": None}, {"url": f"data:image/png;base64,{PICTURE}"}]},
    {
        "created": 1,
        "data": [
            {"error": {"code": "x", "message": "y"}},
            {"content_filter_results": {"a": {"filtered": True}}},
        ],
    },
    {"error": {"message": "No", "type": "x", "param": None, "code": "moderation_blocked"}},
)
GEMINI = (
    {
        "candidates": [{"content": {"role": "model", "parts": PARTS}, "finishReason": "STOP"}],
        "usageMetadata": GOOGLES,
    },
    {"candidates": [{"finishReason": "IMAGE_SAFETY", "finishMessage": "No"}]},
    {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": GOOGLES},
)
IMAGEN = (
    {"predictions": [{"mimeType": "image/png", "bytesBase64Encoded": PICTURE, "prompt": "x"}]},
    {"predictions": [{"raiFilteredReason": "Support codes: 1"}, {"bytesBase64Encoded": PICTURE}]},
)
REPLICATE = (
    PREDICTION,
    {**PREDICTION, "output": [PREDICTION["output"]]},
    {**PREDICTION, "status": "failed", "output": None, "error": "NSFW content detected"},
    {"title": "x", "detail": "- input: prompt is required", "status": 422},
)

PARSERS = {
    "openai": (ImagesApiGenerator.read, OPENAI),
    "gemini": (GeminiGenerator.read, GEMINI),
    "imagen": (ImagenGenerator.read, IMAGEN),
    "replicate": (ReplicateGenerator.read, REPLICATE),
}
ENTRIES = {
    "openai": "openai:m",
    "gemini": "google:gemini-m",
    "imagen": "google:imagen-m",
    "replicate": "replicate:a/b",
}


@cache
def replies(adapter: str) -> st.SearchStrategy[bytes]:
    return bodies(*PARSERS[adapter][1])


@pytest.mark.parametrize("adapter", PARSERS)
@derandomized
@given(data=st.data())
def test_a_parser_gives_whole_places_or_fails(adapter, data):
    read, shapes = PARSERS[adapter]
    with contextlib.suppress(ValueError):
        answer = parse_json(json.dumps(data.draw(changed(*shapes))))
        if adapter != "replicate" or isinstance(answer, dict):
            check(read, answer)


def check(read, answer):
    try:
        reply = read(answer)
    except ModelError:
        return
    for slot in reply.slots:
        given_ = [slot.data, slot.url, slot.refusal, slot.failure]
        assert sum(value is not None for value in given_) == 1
        assert isinstance(slot.data, bytes | None)
        assert all(isinstance(value, str | None) for value in (*given_[1:], slot.revised_prompt))
    assert isinstance(reply.usage.input_tokens, int | None)
    assert isinstance(reply.usage.refusal, str | None)


@pytest.mark.parametrize("adapter", ENTRIES)
@derandomized
@given(data=st.data())
def test_one_reply_fails_one_picture_at_most(adapter, data):
    said = data.draw(replies(adapter))
    generator = made(fast(images=ENTRIES[adapter], base_url="http://localhost:9/v1", seed=False, tries=1))

    async def answered(self, *sent, **more):
        try:
            return parse_json(said)
        except ValueError:
            raise ModelError("answered no JSON") from None

    async def fetched(url):
        raise ModelError("not fetched")

    generator._fetched = fetched
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HttpClient, "post", answered)
        patch.setattr(HttpClient, "get", answered)
        try:
            result = asyncio.run(generator.process(request()))
        except ModelError:
            return
    assert isinstance(result, ImageResult)
    assert result.status in ("ok", "refused")
    assert (result.data is not None) == (result.status == "ok")
    assert bool(result.reason) == (result.status == "refused")
    assert isinstance(result.revised_prompt, str | None)


@derandomized
@given(anything, anything)
def test_anything_in_the_place_of_base64_is_a_picture_a_refusal_or_a_failure(text, revised):
    slot = from_base64(text, revised)
    assert sum(value is not None for value in (slot.data, slot.refusal, slot.failure)) == 1
    if slot.data is not None:
        assert condition_of(slot.data) in (None, "black", "damaged", "words")


@derandomized
@given(st.binary(max_size=60), st.integers(0, 60), st.integers(0, 255))
def test_any_bytes_have_a_condition(data, at, byte):
    whole = base64.b64decode(PICTURE)
    for given_ in (data, whole[:at], whole[:at] + bytes([byte]) + whole[at + 1 :], whole + data):
        assert condition_of(given_) in (None, "black", "damaged", "words")
