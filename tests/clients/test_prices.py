from __future__ import annotations

import datetime
from importlib import resources

import pytest
from ruamel.yaml import YAML

from stereotrope.clients import PROVIDERS, Endpoint, Price, price_of
from stereotrope.errors import UsageError


def test_parts_add_up():
    price = Price(input=2.5, output=10, image=0.04, call=0.01)
    assert price.cost(1_000_000, 100_000, 2) == pytest.approx(2.5 + 1.0 + 0.08 + 0.01)


def test_a_count_that_is_needed_and_unknown_makes_the_cost_unknown():
    price = Price(input=2.5, output=10)
    assert price.cost(None, 5, 0) is None
    assert price.cost(5, None, 0) is None
    assert price.cost(1_000_000, 0, None) == 2.5
    assert Price(image=0.04).cost(None, None, None) is None
    assert Price().cost(1, 1, 1) is None


def test_free_is_free_whatever_is_counted():
    free = Price.from_option(0)
    assert free.cost(None, None, None) == 0.0
    assert Price(input=0, output=0).cost(None, None, None) == 0.0


def test_parts_are_read_from_an_option():
    assert Price.from_option({"input": 2.5, "output": 10}) == Price(input=2.5, output=10)
    assert Price.from_option({"image": 0.04}) == Price(image=0.04)


@pytest.mark.parametrize(
    ("found", "match"),
    [
        (0.04, "price must be 0 or a mapping"),
        ("free", "price must be 0 or a mapping"),
        (False, "price must be 0 or a mapping"),
        (None, "price must be 0 or a mapping"),
        ({}, "at least one of input, output, image, call"),
        ({"imgae": 1}, "unknown part 'imgae'; did you mean 'image'"),
        ({"image": -1}, "image must be an amount of US dollars from 0, found -1"),
        ({"image": "1"}, "image must be an amount"),
        ({"input": float("nan")}, "input must be an amount"),
    ],
)
def test_prices_that_make_no_sense_are_refused(found, match):
    with pytest.raises(UsageError, match=match):
        Price.from_option(found)


def test_an_unknown_price_is_unknown():
    assert price_of("openai", "no-such-model") is None
    assert price_of("vllm", "gpt-4o") is None
    assert price_of("openai", "gpt-4o") == Price(input=2.5, output=10)


def test_a_published_price_is_not_that_of_a_server_elsewhere():
    for base_url, price in ((None, Price(input=2.5, output=10)), ("https://gateway.example/v1", None)):
        endpoint, _ = Endpoint.from_options("openai", {"base_url": base_url})
        assert price_of("openai", "gpt-4o", endpoint) == price


def test_every_shipped_price_names_its_source_and_day():
    data = resources.files("stereotrope.clients").joinpath("prices.yaml").read_bytes()
    for provider, entries in YAML(typ="safe").load(data.decode()).items():
        assert provider in PROVIDERS
        assert entries["page"].startswith("https://")
        for model, entry in entries["models"].items():
            assert entry["source"].startswith("https://")
            assert isinstance(entry["looked_up"], datetime.date)
            price = price_of(provider, model)
            assert price is not None
            assert price.cost(1, 1, 1) > 0
