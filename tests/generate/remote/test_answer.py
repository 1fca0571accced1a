from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image

from stereotrope.generate.remote.answer import condition_of, from_base64, from_url, held, reply


def picture(array, format="PNG", **options):
    out = io.BytesIO()
    Image.fromarray(np.asarray(array, dtype=np.uint8)).save(out, format, **options)
    return out.getvalue()


BLACK = np.zeros((48, 64, 3))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP"])
def test_a_uniformly_black_picture_is_known_in_every_format(format):
    assert condition_of(picture(BLACK, format)) == "black"


def test_one_lit_pixel_is_a_picture():
    dot = BLACK.copy()
    dot[10, 10] = 40
    assert condition_of(picture(dot)) is None


@pytest.mark.parametrize("level", [6, 128, 255])
def test_a_uniform_picture_of_another_colour_is_a_picture(level):
    assert condition_of(picture(BLACK + level)) is None


@pytest.mark.parametrize("keep", [60, 120])
def test_a_cut_picture_is_damaged(keep):
    noise = np.random.default_rng(0).integers(0, 256, (48, 64, 3))
    assert condition_of(picture(noise)[:keep]) == "damaged"


@pytest.mark.parametrize(
    ("data", "condition"),
    [
        (b"", "words"),
        (b"<html></html>", "words"),
        (b'{"error": 1}', "words"),
        ("überlastet\n".encode(), "words"),
        (b"GIF89a....", None),
        (b"%PDF-1.7", None),
        (b"\x00\x00\x00\x1cftypavif", None),
        (b"\x00\xff\x00", "damaged"),
        (b"\x00\x00\x00", "damaged"),
    ],
)
def test_words_in_the_place_of_a_picture_are_known_and_other_formats_left_to_the_picture_check(
    data, condition
):
    assert condition_of(data) == condition


def test_base64_is_read_with_and_without_a_head_line_breaks_and_padding():
    text = base64.b64encode(b"picture!").decode()
    for spelling in (text, f"data:image/png;base64,{text}", text[:4] + "\n" + text[4:], text.rstrip("=")):
        assert from_base64(spelling).data == b"picture!"


@pytest.mark.parametrize("text", [None, ""])
def test_nothing_is_a_refusal(text):
    assert from_base64(text).refusal.startswith("an empty place")


@pytest.mark.parametrize("text", ["<html>no picture</html>", "é", "\ud800", "  ", "====", "data:", 7, [], {}])
def test_what_is_no_base64_is_a_failure(text):
    found = from_base64(text)
    assert (found.data, found.refusal) == (None, None)
    assert "where a picture belongs" in found.failure


def test_an_empty_place_beside_an_error_is_no_refusal():
    filled, empty = from_base64("AAAA"), from_base64(None)
    assert held({"data": []}, [filled, empty]) == [filled, empty]
    kept, other = held({"data": [], "error": "out of memory"}, [filled, empty])
    assert (kept, other.refusal) == (filled, None)


def test_a_data_url_is_a_picture_and_another_url_is_fetched_later():
    assert from_url("data:image/png;base64,AAAA").data == b"\0\0\0"
    assert from_url("https://example.com/a.png", "more").url == "https://example.com/a.png"


@pytest.mark.parametrize("revised", [None, "", 7, ["x"]])
def test_a_revised_prompt_that_is_no_text_is_none(revised):
    assert from_base64("AAAA", revised).revised_prompt is None


def test_a_reply_with_a_picture_is_no_refusal():
    filled, empty = from_base64("AAAA"), from_base64(None)
    assert reply([filled, empty]).usage.refusal is None
    assert reply([filled, empty]).usage.images == 1
    assert reply([empty, empty]).usage.refusal.startswith("an empty place")
