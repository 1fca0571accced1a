from __future__ import annotations

import asyncio
import pickle

import pytest
from tests.generate.remote.asking import SECRET, ask, fast, made, one, request, several

from stereotrope.clients import Account
from stereotrope.errors import BudgetError, ModelError, ModelUnusable, UsageError
from stereotrope.generate import create, requests_frame
from stereotrope.testing import Loopback

BASE = {"images": "openai:sd35", "base_url": "http://localhost:8091/v1", "steps": 30}


@pytest.mark.parametrize(
    "change",
    [
        {"base_url": "https://elsewhere.example/v1"},
        {"key": "OTHER_KEY"},
        {"name": "ours"},
        {"requests_per_minute": 5, "tokens_per_minute": 9, "concurrency": 2},
        {"timeout": 5, "tries": 2, "longest_wait": 1},
        {"price": {"image": 0.04}},
        {"seed": False, "batch": 4},
    ],
)
def test_the_fingerprint_is_unmoved_by_what_changes_no_picture(change):
    assert create(BASE | change).fingerprint == create(BASE).fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"images": "openai:sd3"},
        {"images": "vllm:sd35"},
        {"steps": 31},
        {"size": "512x512"},
        {"version": "2026-11"},
        {"negative": False},
    ],
)
def test_the_fingerprint_moves_with_what_changes_a_picture(change):
    assert create(BASE | change).fingerprint != create(BASE).fingerprint


def test_the_order_of_parameters_does_not_move_it():
    one, other = {"a": 1, "b": {"c": 1, "d": 2}}, {"b": {"d": 2, "c": 1}, "a": 1}
    assert create(BASE | one).fingerprint == create(BASE | other).fingerprint


def test_two_deployments_are_told_apart_by_version():
    fingerprints = {create(BASE | {"version": version}).fingerprint for version in ("blue", "green")}
    assert len(fingerprints) == 2


def test_the_key_is_in_nothing_that_is_shown_or_stored(monkeypatch):
    monkeypatch.setenv("OWN_KEY", SECRET)
    generator = create(BASE | {"key": "OWN_KEY"})
    shown = [repr(generator), repr(generator.options), str(generator.options.model_dump())]
    shown += [str(vars(generator)), generator.fingerprint]
    assert not any(SECRET in text for text in shown)
    with pytest.raises((TypeError, AttributeError)):
        pickle.dumps(generator)


def test_what_is_expected_counts_calls_pictures_and_time():
    generator = create(
        BASE | {"seed": False, "batch": 4, "price": {"image": 0.04}, "requests_per_minute": 60}
    )
    requests = [request("a car", number=i) for i in range(20)] + [
        request("a cup", number=i) for i in range(6)
    ]
    expected = generator.expect(requests_frame(requests))
    assert expected.calls == 5 + 2
    assert expected.cost == pytest.approx((26 * 0.04, 26 * 0.04))
    assert expected.seconds == pytest.approx((7, 7))
    low, high = expected.input_tokens
    assert 0 < low < high


def test_an_unknown_price_is_expected_to_be_unknown():
    assert create(BASE).expect(requests_frame([request("a car", seed=1)])).cost is None
    assert create(BASE | {"price": 0}).expect(requests_frame([request("a car", seed=1)])).cost == (0, 0)


def test_seeded_requests_are_a_call_each():
    assert create(BASE).expect(requests_frame(request("a car", seed=i) for i in range(5))).calls == 5


def test_an_empty_prompt_is_refused(server):
    generator = made(fast(images="openai:m", base_url=server.url))
    assert "empty prompt" in generator.check("  ")
    for text in ("", None):
        with pytest.raises(UsageError, match="cannot be asked for an empty prompt"):
            one(generator, request(text, seed=1))


def test_a_cap_stops_new_calls(server):
    account = Account(max_cost=0.1)
    spec = fast(images="openai:m", base_url=server.url, price={"image": 0.04})
    generator = made(spec, account)
    for i in range(2):
        one(generator, request(seed=i))
    with pytest.raises(BudgetError, match="cap"):
        one(generator, request(seed=3))
    assert len(server.received) == 2
    assert several(generator, [request(seed=4)])[0].exit_code == 4


def test_a_cap_needs_a_price():
    with pytest.raises(UsageError, match="a cap needs the price"):
        create(BASE, account=Account(max_cost=1))


def test_a_picture_that_came_broken_is_asked_for_once_more(server):
    generator = made(fast(images="openai:m", base_url=server.url, seed=False, batch=2))
    whole = server.painter
    server.painter = lambda *asked: whole(*asked)[: 200 if len(server.received) == 1 else None]
    results = several(generator, [request(number=i) for i in range(2)])
    assert [result.status for result in results] == ["ok", "ok"]
    assert len(server.received) == 3
    server.painter = lambda *asked: whole(*asked)[:200]
    with pytest.raises(ModelError, match="came cut or broken; run the same command again"):
        one(generator, request())
    assert len(server.received) == 5


def test_one_generator_serves_loops_one_after_another(server):
    generator = made(fast(images="openai:m", base_url=server.url))
    for seed in range(3):
        assert one(generator, request(seed=seed)).status == "ok"


def test_many_at_once_stay_within_the_concurrency(server):
    generator = made(fast(images="openai:m", base_url=server.url, concurrency=3))

    async def asked():
        try:
            return await asyncio.gather(*(generator.process(request(seed=i)) for i in range(30)))
        finally:
            await generator.close()

    results = asyncio.run(asked())
    assert len({result.data for result in results}) == 30


def test_markup_and_control_characters_of_a_server_stay_inert_and_short(server):
    generator = made(fast(images="openai:m", base_url=server.url))
    server.misbehave("bad_request", code="moderation_blocked", message="<script>\x1b[31m" + "long " * 500)
    result = ask(generator, request(seed=1))
    assert result.status == "refused"
    assert len(result.reason) <= 300
    assert "\x1b" not in result.reason


def test_a_seed_that_the_server_does_not_know_ends_it_with_what_to_write():
    with Loopback(seeds=False) as server:
        generator = made(fast(images="openai:m", base_url=server.url))
        with pytest.raises(
            ModelUnusable, match=r"openai:m rejects 'seed' .*Unknown parameter.*; write `seed: false`"
        ):
            one(generator, request(seed=1))
        assert len(server.received) == 1
        assert one(made(fast(images="openai:m", base_url=server.url, seed=False))).status == "ok"


def test_a_parameter_that_the_server_rejects_ends_it_and_another_rejection_is_one_items(server):
    generator = made(fast(images="openai:m", base_url=server.url, steps=30))
    server.misbehave("bad_request", message="Unknown parameter: 'steps'.")
    with pytest.raises(ModelUnusable, match=r"rejects 'steps' .*; remove it, or correct its value"):
        one(generator, request(seed=1))
    server.misbehave("bad_request", message="The prompt has too many steps.")
    with pytest.raises(ModelError, match="too many steps") as raised:
        one(generator, request(seed=1))
    assert not isinstance(raised.value, ModelUnusable)
