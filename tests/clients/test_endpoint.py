from __future__ import annotations

import pytest

from stereotrope.clients import PROVIDERS, Endpoint, is_model, split_model
from stereotrope.errors import ModelUnusable, UsageError

SENTINEL = "sentinel-4f9d2c"


def test_only_the_first_colon_splits():
    assert split_model("ollama:qwen3-vl:8b") == ("ollama", "qwen3-vl:8b")
    assert is_model("ollama:qwen3-vl:8b")


def test_unknown_provider_names_the_nearest():
    with pytest.raises(UsageError, match="unknown provider 'opnai'; did you mean 'openai'"):
        split_model("opnai:gpt-4o")
    assert not is_model("opnai:gpt-4o")


@pytest.mark.parametrize("spec", ["gpt-4o", "openai:", "openai: ", ""])
def test_a_model_needs_provider_and_name(spec):
    with pytest.raises(UsageError, match="provider:model"):
        split_model(spec)
    assert not is_model(spec.strip())


def test_every_provider_has_a_sound_entry():
    for name, entry in PROVIDERS.items():
        endpoint, _ = Endpoint.from_options(name, {})
        assert endpoint.base_url == entry["base_url"]
        assert endpoint.key == entry["key"]
        assert entry["source"].startswith("https://")
        assert (endpoint.key is None) == endpoint.is_local


def test_options_of_the_endpoint_are_taken_and_the_rest_returned():
    endpoint, rest = Endpoint.from_options(
        "vllm", {"base_url": "http://10.0.0.5:8000/v1/", "tries": 2, "timeout": 9, "steps": 30}
    )
    assert rest == {"steps": 30}
    assert (endpoint.base_url, endpoint.tries, endpoint.timeout) == ("http://10.0.0.5:8000/v1", 2, 9.0)
    assert not endpoint.is_local


@pytest.mark.parametrize(
    ("base_url", "key"),
    [
        ("https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("https://api.openai.com/v2/", "OPENAI_API_KEY"),
        ("https://API.openai.com:443/v1", "OPENAI_API_KEY"),
        ("http://api.openai.com/v1", None),
        ("https://api.openai.com:8443/v1", None),
        ("https://api.openai.com.example.org/v1", None),
        ("http://localhost:8000/v1", None),
    ],
)
def test_the_providers_key_is_for_the_providers_own_address_only(base_url, key):
    assert Endpoint.from_options("openai", {"base_url": base_url})[0].key == key


def test_a_key_is_named_for_another_address():
    endpoint, _ = Endpoint.from_options(
        "openai", {"base_url": "https://gateway.example/v1", "key": "GATE_KEY"}
    )
    assert endpoint.key == "GATE_KEY"
    assert Endpoint.from_options("openai", {"key": None})[0].key is None


@pytest.mark.parametrize(
    "found",
    [
        "sk-proj-4f9d2c4f9d2c",
        "4f9d2c4f9d2c4f9d",
        "AKIAIOSFODNN7EXAMPLE",
        "r8_abcdefgh",
        "",
        7,
        ["A"],
        "A" * 65,
    ],
)
def test_what_is_no_name_of_a_variable_is_refused_and_not_shown(found):
    with pytest.raises(UsageError, match="name of an environment variable") as caught:
        Endpoint.from_options("openai", {"key": found})
    assert not found or str(found) not in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "match"),
    [
        ("ftp://host/v1", "http or https"),
        ("host/v1", "http or https"),
        ("https://", "http or https"),
        ("http://host:port/v1", "http or https"),
        ("http://ho st/v1", "http or https"),
        (8000, "http or https"),
        (f"https://user:{SENTINEL}@host/v1", "without a user or password"),
        (f"https://host/v1?key={SENTINEL}", "without a query"),
        ("https://host/v1#part", "without a query"),
    ],
)
def test_addresses_that_cannot_be_used_are_refused_and_not_shown(base_url, match):
    with pytest.raises(UsageError, match=match) as caught:
        Endpoint.from_options("openai", {"base_url": base_url})
    assert SENTINEL not in str(caught.value)


@pytest.mark.parametrize(
    ("option", "found", "match"),
    [
        ("timeout", 0, "timeout must be a number above 0, found 0"),
        ("timeout", float("inf"), "timeout must be a number above 0"),
        ("requests_per_minute", -1, "requests_per_minute must be a number above 0, found -1"),
        ("tokens_per_minute", "many", "tokens_per_minute must be a number above 0, found 'many'"),
        ("concurrency", 0, "concurrency must be a whole number from 1, found 0"),
        ("tries", 1.5, "tries must be a whole number from 1, found 1.5"),
        ("tries", True, "tries must be a whole number"),
        ("longest_wait", None, None),
    ],
)
def test_limits_are_checked(option, found, match):
    if match is None:
        assert Endpoint.from_options("openai", {option: found})[0].longest_wait == 60.0
        return
    with pytest.raises(UsageError, match=match):
        Endpoint.from_options("openai", {option: found})


def test_a_rate_brings_the_concurrency_that_it_needs():
    def in_flight(**options):
        return Endpoint.from_options("openai", options)[0].concurrency

    assert in_flight() == 32
    assert in_flight(requests_per_minute=10) == 32
    assert in_flight(requests_per_minute=300) == 300
    assert in_flight(requests_per_minute=60_000) == 512
    assert in_flight(requests_per_minute=300, concurrency=4) == 4


def test_the_key_is_read_when_it_is_needed(monkeypatch):
    endpoint, _ = Endpoint.from_options("openai", {})
    monkeypatch.setenv("OPENAI_API_KEY", f" {SENTINEL}\n")
    assert endpoint.secret() == SENTINEL
    assert SENTINEL not in repr(endpoint)
    monkeypatch.setenv("OPENAI_API_KEY", "  ")
    with pytest.raises(ModelUnusable, match="variable OPENAI_API_KEY must hold the key"):
        endpoint.secret()
    monkeypatch.setenv("OPENAI_API_KEY", f"{SENTINEL}\nX-Other: 1")
    with pytest.raises(ModelUnusable, match="holds characters that no key has") as caught:
        endpoint.secret()
    assert SENTINEL not in str(caught.value)


@pytest.mark.parametrize(
    ("base_url", "is_local"),
    [
        ("http://localhost:1/v1", True),
        ("http://127.8.9.1/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://a.localhost/v1", True),
        ("http://10.0.0.1/v1", False),
        ("https://localhost.example.org/v1", False),
    ],
)
def test_loopback_addresses_are_local(base_url, is_local):
    assert Endpoint.from_options("vllm", {"base_url": base_url})[0].is_local is is_local


@pytest.mark.parametrize(
    ("written", "meant"),
    [("url", "base_url"), ("API-key", "key"), ("rpm", "requests_per_minute"), ("retries", "tries")],
)
def test_an_option_by_another_name_does_not_become_one_of_the_model(written: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"openai: there is no option {written!r}; write {meant!r}"):
        Endpoint.from_options("openai", {written: "x"})
