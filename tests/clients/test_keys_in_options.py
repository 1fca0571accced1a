"""Keys written into options are refused and not shown."""

from __future__ import annotations

import pytest

from stereotrope.clients import line_with_key, refuse_secrets
from stereotrope.errors import UsageError

KEY = "sk-proj-AbCd1234EfGh5678SENTINEL"


@pytest.mark.parametrize(
    "name",
    ["api_key", "api-key", "apiKey", "X-Api-Key", "OPENAI_API_KEY", "access_token", "token", "Authorization"],
)
def test_an_option_called_like_a_key_is_refused_at_any_depth_without_its_value(name):
    for options in ({name: "hunter2"}, {"parameters": {"headers": {name: "hunter2"}}}, {"a": [{name: 1}]}):
        with pytest.raises(UsageError, match=f"{name}' does not belong into an audit file") as caught:
            refuse_secrets("generator", options)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"name": KEY},
        {"base_url": f"https://gateway.example/{KEY}/v1"},
        {"parameters": {"x": [KEY]}},
        {"price": KEY},
        {KEY: 1},
    ],
    ids=str,
)
def test_a_value_that_looks_like_a_key_is_refused_and_not_shown(options):
    with pytest.raises(UsageError, match=r"looks like a key \(it is not shown\)") as caught:
        refuse_secrets("generator", options)
    assert "SENTINEL" not in str(caught.value)


def test_ordinary_options_are_left_alone():
    options = {
        "key": "MY_GATEWAY_KEY_2",
        "max_tokens": 5,
        "tokens_per_minute": 9,
        "eos_token_id": 2,
        "keyboard": "x",
        "images": "openai:hf_stable-diffusion-3.5-large-turbo",
        "parameters": {"top_p": 1, "scheduler": "sk-learn-like-scheduler", "stop": ["a"]},
    }
    assert refuse_secrets("generator", options) is None


@pytest.mark.parametrize(
    "key", [KEY, "AIzaSyA1234567890abcdefghij1234567890", "hf_AbcdefghijKlmnopqrstuv", "r8_" + "a1" * 18]
)
def test_the_line_with_a_key_is_found_also_in_a_comment(key):
    assert line_with_key(f"suite: objects\n# key: {key}\n") == 2


def test_a_file_without_keys_has_no_such_line():
    assert line_with_key("key: MY_KEY_1\nobjects: [key-holder-cabinet-2024, risk-assessment]\n") is None
