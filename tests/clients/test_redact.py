from __future__ import annotations

import base64

import pytest

from stereotrope.clients import fit_to_keep, redact

KEY = "Sentinel/4f9d+2c=="


@pytest.mark.parametrize(
    "spelling", [KEY, KEY.lower(), "Sentinel%2F4f9d%2B2c%3D%3D", base64.b64encode(KEY.encode()).decode()]
)
def test_a_key_is_hidden_however_it_is_written(spelling):
    found = redact(f"key {spelling} is wrong", KEY)
    assert spelling.rstrip("=") not in found
    assert "[key]" in found


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdefgh12345678",
        "Authorization: Bearer abcdef.ghijkl",
        "see https://host/v1?key=abcdefgh12345678&x=1",
        "AIzaSyA1234567890abcdefghij is bad",
        "hf_abcdefgh12345678",
        "r8_abcdefgh12345678",
    ],
)
def test_what_looks_like_a_key_is_hidden(text):
    assert "[key]" in redact(text)
    assert "abcdef" not in redact(text)


def test_ordinary_words_stay():
    text = "The task-specific risk-assessment model was not found: key words, keyboard"
    assert redact(text) == text


def test_text_is_one_short_inert_line():
    found = redact("a\x1b[31m\u202eb\r\nc\x00\ud800 " + "x" * 1000)
    assert found.startswith("a [31m b c x")
    assert len(found) == 300
    assert found.endswith("…")
    assert found.isprintable()


def test_a_key_at_the_cut_is_hidden_first():
    assert "Sentinel" not in redact("x" * 295 + KEY, KEY)
    assert redact("nothing", "") == "nothing"


@pytest.mark.parametrize("spell", [str, lambda c: f"\\u{ord(c):04X}", lambda c: f"\\{c}" if c in '/"' else c])
def test_a_key_escaped_as_in_json_is_hidden(spell):
    assert redact("".join(map(spell, KEY)) + " is wrong", KEY) == "[key] is wrong"


def test_data_to_keep_is_inert_and_without_the_key_but_otherwise_as_it_was():
    said = f"a key-shaped-pendant\x00 \ud800\x1b[31mfor {KEY}\u202e"
    assert fit_to_keep(said, KEY) == "a key-shaped-pendant [31mfor [key]"
    assert len(fit_to_keep("word " * 100_000)) == 4000
