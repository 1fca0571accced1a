from __future__ import annotations

import pytest
from tests.generate.remote.asking import SECRET, fast, made, one, request, several
from tests.testing.gemini import serve_gemini

from stereotrope.clients import Account
from stereotrope.errors import ModelError, ModelUnusable, UsageError
from stereotrope.generate import GeminiGenerator, ImagenGenerator, create
from stereotrope.testing import Loopback, Response


@pytest.fixture
def url(server):
    return serve_gemini(server)


def gemini(url, **options):
    return made(fast(images="google:gemini-2.5-flash-image", base_url=url, **options))


def imagen(url, **options):
    return made(fast(images="google:imagen-4.0-generate-001", base_url=url, **options))


def body(server):
    return server.received[-1].body


def test_the_name_decides_between_gemini_and_imagen():
    assert isinstance(create("google:gemini-3-pro-image-preview"), GeminiGenerator)
    assert isinstance(create("google:imagen-4.0-fast-generate-001"), ImagenGenerator)


# Gemini


def test_gemini_draws_with_seed_and_image_config(server, url):
    settings = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    generator = gemini(url, aspectRatio="1:1", temperature=1.0, safetySettings=settings)
    result = one(generator, request(seed=7))
    assert result.data.startswith(b"\x89PNG")
    assert server.received[-1].path == "/v1beta/models/gemini-2.5-flash-image:generateContent"
    assert body(server) == {
        "contents": [{"role": "user", "parts": [{"text": "car, one product only, no people"}]}],
        "generationConfig": {
            "responseModalities": ["TEXT", "IMAGE"],
            "temperature": 1.0,
            "imageConfig": {"aspectRatio": "1:1"},
            "seed": 7,
        },
        "safetySettings": settings,
    }


def test_gemini_books_its_tokens(url):
    account = Account()
    spec = fast(images="google:gemini-2.5-flash-image", base_url=url, price={"input": 0.3, "output": 30})
    result = one(made(spec, account), request(seed=1))
    (total,) = account.totals()
    assert (total.output_tokens, total.images) == (1290, 1)
    assert result.cost == pytest.approx((total.input_tokens * 0.3 + 1290 * 30) / 1e6)


def test_the_key_goes_in_googles_header(monkeypatch):
    monkeypatch.setenv("OWN_KEY", SECRET)
    with Loopback(key=SECRET) as server:
        spec = fast(images="google:gemini-2.5-flash-image", base_url=serve_gemini(server)) | {
            "key": "OWN_KEY"
        }
        assert one(made(spec), request(seed=1)).status == "ok"
        headers = server.received[-1].headers
        assert headers["x-goog-api-key"] == SECRET
        assert "authorization" not in headers
        assert SECRET not in server.received[-1].path


@pytest.mark.parametrize(
    "code",
    ["SAFETY", "IMAGE_SAFETY", "PROHIBITED_CONTENT", "IMAGE_PROHIBITED_CONTENT", "RECITATION", "BLOCKLIST"],
)
def test_a_finish_reason_of_a_filter_is_a_refusal(server, url, code):
    server.misbehave("moderation", code=code)
    account = Account()
    spec = fast(images="google:gemini-2.5-flash-image", base_url=url)
    result = one(made(spec, account), request(seed=1))
    assert (result.status, result.reason) == ("refused", f"{code}: Unable to show the generated image.")
    assert [(t.ok, t.refused) for t in account.totals()] == [(0, 1)]


def test_a_blocked_prompt_is_a_refusal(server, url):
    server.misbehave("moderation", code="prompt:PROHIBITED_CONTENT")
    result = one(gemini(url), request(seed=1))
    assert (result.status, result.reason) == ("refused", "prompt blocked: PROHIBITED_CONTENT")


def test_no_picture_and_no_reason_is_tried_again(server, url):
    server.misbehave("empty_slot")
    assert one(gemini(url), request(seed=1)).status == "ok"
    assert len(server.received) == 2
    server.misbehave("empty_slot", times=None)
    with pytest.raises(ModelError, match="without a picture, finish reason STOP"):
        one(gemini(url), request(seed=2))


def test_an_answer_in_words_is_a_refusal_and_a_thought_is_no_word():
    parts = [{"text": "Let me think.", "thought": True}, {"text": "I cannot draw that."}]
    candidate = {"content": {"parts": parts}, "finishReason": "STOP"}
    slot = GeminiGenerator.read({"candidates": [candidate]}).slots[0]
    assert slot.refusal == "answered in words instead of a picture: I cannot draw that."


def test_a_picture_among_thoughts_is_not_taken():
    draft = {"inlineData": {"data": "AAAA"}, "thought": True}
    final = {"inlineData": {"data": "BBBB"}}
    reply = GeminiGenerator.read({"candidates": [{"content": {"parts": [draft, final]}}]})
    assert reply.slots[0].data == b"\x04\x10A"


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"candidates": []},
        {"candidates": [None]},
        {"promptFeedback": {"blockReason": "BLOCK_REASON_UNSPECIFIED"}},
        {"promptFeedback": {"blockReason": 7}},
        {"candidates": [{"finishReason": "NO_IMAGE"}]},
        {"candidates": [{"finishReason": "IMAGE_OTHER", "finishMessage": "Please try again."}]},
        {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "Here is your car!"}]}}]},
        {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "Sorry, overloaded."}]}}]},
    ],
)
def test_what_brings_neither_picture_nor_reason_is_a_failure(answer):
    with pytest.raises(ModelError, match=r"^answered "):
        GeminiGenerator.read(answer)


def test_a_black_picture_is_a_refusal(server, url):
    server.misbehave("black_picture")
    assert "uniformly black" in one(gemini(url), request(seed=1)).reason


def test_gemini_has_no_negative_prompt_and_draws_one_picture_a_call(url):
    with pytest.raises(UsageError, match="Gemini takes no negative prompt"):
        gemini(url, negative=True)
    with pytest.raises(UsageError, match="brings at most 1 picture, `batch` is 2"):
        gemini(url, batch=2, seed=False)


def test_a_key_that_google_does_not_know_ends_it_at_once(server):
    said = {
        "error": {
            "code": 400,
            "message": "API key not valid. Please pass a valid API key.",
            "status": "INVALID_ARGUMENT",
            "details": [{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}],
        }
    }
    server.register("POST", "/v1beta/models/", lambda asked: Response(400, said), kind="images")
    generator = gemini(f"{server.root}/v1beta")
    for _ in range(2):
        with pytest.raises(ModelUnusable, match="the key is not accepted"):
            one(generator, request(seed=1))
    assert len(server.received) == 1


# Imagen


def test_imagen_takes_no_seed_unless_its_watermark_is_off(server, url):
    generator = imagen(url)
    assert not generator.seeded
    assert "takes no seed" in generator.note
    one(generator, request())
    assert body(server)["parameters"] == {"includeRaiReason": True, "sampleCount": 1}
    unmarked = imagen(url, addWatermark=False)
    assert unmarked.seeded
    one(unmarked, request(seed=7))
    assert body(server)["parameters"]["seed"] == 7
    with pytest.raises(UsageError, match="seed only without its watermark"):
        imagen(url, seed=True)


def test_imagen_sends_a_negative_prompt_where_told_to(server, url):
    one(imagen(url, negative=True), request(negative="blurry"))
    assert body(server)["parameters"]["negativePrompt"] == "blurry"


def test_the_rewritten_prompt_of_imagen_is_kept(url):
    assert one(imagen(url)).revised_prompt == "car, one product only, no people (revision 0)"


def test_a_filtered_picture_of_imagen_is_a_refusal(server, url):
    server.misbehave("moderation", code="58061214")
    assert one(imagen(url)).reason == "filtered: Filtered. Support codes: 58061214"


def test_pictures_that_imagen_leaves_out_of_a_batch_are_refusals(server, url):
    server.misbehave("empty_slot")
    results = several(imagen(url, batch=4), [request(number=i) for i in range(4)])
    assert [result.status for result in results] == ["ok", "ok", "ok", "refused"]
    assert len(server.received) == 1


def test_an_empty_answer_of_imagen_is_asked_for_again(server, url):
    server.misbehave("empty_slot")
    assert one(imagen(url)).status == "ok"
    assert len(server.received) == 2


@pytest.mark.parametrize(
    "answer",
    [{}, {"predictions": []}, {"predictions": [{}]}, {"predictions": [{"raiFilteredReason": {"why": 1}}]}],
)
def test_without_a_picture_or_a_reason_imagen_has_not_answered(answer):
    with pytest.raises(ModelError, match="answered something else than pictures"):
        ImagenGenerator.read(answer)


def test_a_mixed_answer_of_imagen_keeps_its_order():
    answer = {"predictions": [{"bytesBase64Encoded": "AAAA"}, {"raiFilteredReason": "why"}]}
    first, second = ImagenGenerator.read(answer).slots
    assert (first.data, second.refusal) == (b"\0\0\0", "filtered: why")


def test_imagen_draws_at_most_four_a_call(url):
    with pytest.raises(UsageError, match="brings at most 4 pictures, `batch` is 5"):
        imagen(url, batch=5)
