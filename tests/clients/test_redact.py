from __future__ import annotations

import base64

import pytest

from stereotrope.clients import fit_to_keep, redact
from stereotrope.clients.redact import is_hidden

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


@pytest.mark.parametrize(
    "key",
    ["red", "present", "e", "EMPTY", "1", "none", "background", "light-skinned", "African-American",
     "not-needed", "1950s-style", "20-year-old", "Photo2024", "sk-1234", "16:9", "########", "12345678",
     "misrepresentation"],
)  # fmt: skip
def test_a_key_that_is_a_word_or_short_is_not_hidden(key):
    text = f"{key} and {base64.b64encode(key.encode()).decode()} and x{key}x"
    assert not is_hidden(key)
    assert redact(text, key) == fit_to_keep(text, key) == text


@pytest.mark.parametrize(
    "key",
    ["sentinel-4711-secret", "hunter2hunter2", "4f9d2c1b", "token-abc12345", "correcthorsebatterystaple",
     "sk-proj-Zk3", "c0ffee00-1234-5678-9abc-def012345678", "qwhfjkzxncvbasdlqwoeirutyzmx"],
)  # fmt: skip
def test_a_key_that_is_none_by_chance_is_hidden_wherever_it_stands(key):
    assert is_hidden(key)
    for text in (key, f"x{key}x", key * 3, key.upper(), base64.urlsafe_b64encode(key.encode()).decode()):
        assert key.lower() not in redact(text, key).lower()
        assert "[key]" in redact(text, key)


@pytest.mark.parametrize(
    "text",
    ["a ring bearer walking slowly", "a standard bearer somebody knows", "basic photography of colours",
     "a key-shaped-pendant on a sk-ateboarding-ramp"],
)  # fmt: skip
def test_words_after_a_word_of_keys_stay(text):
    assert redact(text) == text
