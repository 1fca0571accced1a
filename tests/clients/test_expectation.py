from __future__ import annotations

import pytest

from stereotrope.clients import Endpoint, Price, expectation

FREE = Endpoint("vllm", "http://localhost/v1", None)
LIMITED = Endpoint("openai", "http://localhost/v1", None, requests_per_minute=60, tokens_per_minute=6000)


def test_price_and_time_come_as_ranges():
    found = expectation(
        LIMITED,
        Price(input=1, output=2),
        calls=100,
        input_tokens=(10_000, 20_000),
        output_tokens=(1_000, 2_000),
    )
    assert found.cost == pytest.approx((0.012, 0.024))
    assert found.seconds == pytest.approx((110.0, 220.0))
    assert (found.calls, found.input_tokens) == (100, (10_000, 20_000))


def test_requests_bind_where_they_take_longer():
    found = expectation(LIMITED, None, calls=600, input_tokens=(10, 10))
    assert found.seconds == pytest.approx((600.0, 600.0))


def test_what_is_unknown_is_none():
    found = expectation(FREE, None, calls=5, images=5)
    assert (found.cost, found.seconds, found.input_tokens, found.output_tokens) == (None, None, None, None)
    assert expectation(FREE, Price(input=1), calls=5).cost is None


def test_pictures_and_calls_have_prices_of_their_own():
    assert expectation(FREE, Price(image=0.04), calls=5, images=20).cost == pytest.approx((0.8, 0.8))
    assert expectation(FREE, Price(call=0.01), calls=5).cost == pytest.approx((0.05, 0.05))
    assert expectation(FREE, Price(call=0.01), calls=0).cost == (0.0, 0.0)
