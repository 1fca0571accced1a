from __future__ import annotations

import base64

import httpx2
import pytest
from tests.testing.gemini import serve_gemini

from stereotrope.testing import Loopback

ASKED = {"contents": [{"parts": [{"text": "a car"}]}]}


@pytest.fixture
def url():
    with Loopback() as server:
        yield serve_gemini(server)


def post(url, body):
    return httpx2.post(url, json=body)


@pytest.mark.parametrize("body", [{}, [], {"contents": []}, {"contents": [{"parts": "a car"}]}])
def test_a_request_without_a_prompt_is_rejected(url, body):
    assert post(f"{url}/models/gemini-x:generateContent", body).status_code == 400


@pytest.mark.parametrize(
    "body", [{}, {"instances": []}, {"instances": [{"prompt": "a"}], "parameters": {"sampleCount": 5}}]
)
def test_imagen_rejects_what_it_does_not_take(url, body):
    assert post(f"{url}/models/imagen-x:predict", body).status_code == 400


def test_imagen_takes_a_seed_only_without_its_watermark(url):
    asked = {"instances": [{"prompt": "a car"}], "parameters": {"seed": 1}}
    assert post(f"{url}/models/imagen-x:predict", asked).status_code == 400
    asked["parameters"]["addWatermark"] = False
    first, second = (post(f"{url}/models/imagen-x:predict", asked).json() for _ in range(2))
    assert first == second


def test_gemini_draws_the_same_picture_for_the_same_seed_and_another_without(url):
    def drawn(config):
        answer = post(f"{url}/models/gemini-x:generateContent", {**ASKED, "generationConfig": config}).json()
        return base64.b64decode(answer["candidates"][0]["content"]["parts"][1]["inlineData"]["data"])

    assert drawn({"seed": 1}) == drawn({"seed": 1})
    assert drawn({}) != drawn({})
