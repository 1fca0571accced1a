from __future__ import annotations

import base64
import io

import pytest
from PIL import Image
from tests.generate.remote.asking import SECRET, fast, made, one, request, several

from stereotrope.clients import Account
from stereotrope.errors import ModelError, ModelUnusable, StereotropeError, UsageError
from stereotrope.generate import ImageResult, create
from stereotrope.testing import Loopback, Response


def images(server: Loopback, **options):
    return fast(images="openai:sd35", base_url=server.url, **options)


def bodies(server: Loopback):
    return [received.body for received in server.received if received.kind == "images"]


def statuses(results):
    return [result.status if isinstance(result, ImageResult) else type(result).__name__ for result in results]


def test_a_picture_comes_with_its_revised_prompt_latency_and_cost(server):
    result = one(made(images(server, price={"image": 0.04})), request(seed=7))
    assert result.status == "ok"
    assert Image.open(io.BytesIO(result.data)).size == (64, 64)
    assert result.revised_prompt == "car, one product only, no people (revision 7)"
    assert result.latency > 0
    assert result.cost == pytest.approx(0.04)


def test_the_seed_and_the_negative_prompt_are_sent(server):
    generator = made(images(server))
    one(generator, request(seed=7, negative="blurry"))
    assert generator.seeded
    assert generator.note is None
    assert bodies(server) == [
        {
            "model": "sd35",
            "prompt": "car, one product only, no people",
            "n": 1,
            "response_format": "b64_json",
            "seed": 7,
            "negative_prompt": "blurry",
        }
    ]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (400, "Unknown parameter: 'response_format'."),
        (400, "Unrecognized request argument supplied: response_format"),
        (422, "b64_json is not one of ['url']"),
        (500, "generate() got an unexpected keyword argument 'response_format'"),
        (404, "azure does not support parameters: ['response_format']"),
    ],
)
def test_an_endpoint_that_rejects_the_format_is_asked_again_without_and_not_told_any_more(
    server, status, message
):
    def gateway(call):
        if "response_format" in call.body:
            return Response(status, {"error": {"message": message}})
        return Response(200, {"data": [{"b64_json": picture}]})

    picture = base64.b64encode(one(made(images(server)), request(seed=1)).data).decode()
    server.register("POST", "/gateway/images/generations", gateway, kind="gateway")
    generator = made(images(server) | {"base_url": f"{server.root}/gateway", "price": 0})
    results = several(generator, [request(number=n, seed=n) for n in range(40)])
    assert statuses(results) == ["ok"] * 40
    assert one(generator, request(seed=99)).status == "ok"
    asked = ["response_format" in each.body for each in server.received if each.kind == "gateway"]
    assert asked[0]
    assert not asked[-1]
    assert sum(asked) + 41 == len(asked)


def test_a_format_that_the_entry_sets_is_kept_and_null_sends_none(server):
    def gateway(call):
        return Response(400, {"error": {"message": "Unknown parameter: 'response_format'."}})

    server.register("POST", "/gateway/images/generations", gateway, kind="gateway")
    entry = images(server)
    with pytest.raises(ModelUnusable, match="rejects 'response_format'"):
        one(made(entry | {"base_url": f"{server.root}/gateway", "response_format": "url"}), request(seed=1))
    with pytest.raises(ModelError, match="Unknown parameter"):
        one(made(entry | {"base_url": f"{server.root}/gateway", "response_format": None}), request(seed=1))
    kept = [each.body.get("response_format") for each in server.received if each.kind == "gateway"]
    assert kept == ["url", None]
    assert one(made(entry | {"response_format": None}), request(seed=1)).status == "ok"
    assert made(entry | {"response_format": None}).fingerprint == made(entry).fingerprint


def test_a_server_that_says_so_either_way_is_asked_once_more_only(server):
    def stubborn(call):
        return Response(400, {"error": {"message": "response_format must be png"}})

    server.register("POST", "/stubborn/images/generations", stubborn, kind="stubborn")
    with pytest.raises(ModelError, match="must be png"):
        one(made(images(server) | {"base_url": f"{server.root}/stubborn"}), request(seed=1))
    assert len(bodies_of(server, "stubborn")) == 2


def bodies_of(server, kind):
    return [each.body for each in server.received if each.kind == kind]


def test_a_server_that_streams_is_said_and_not_asked_again(server):
    def streaming(call):
        return Response(200, b"event: image\ndata: {}\n\n", {}, "text/event-stream")

    server.register("POST", "/stream/images/generations", streaming, kind="stream")
    generator = made(images(server) | {"base_url": f"{server.root}/stream"})
    for _ in range(2):
        with pytest.raises(ModelUnusable, match="answers with a stream of events"):
            one(generator, request(seed=1))
    assert len(bodies_of(server, "stream")) == 1


def test_where_seeds_are_off_none_is_sent_nor_the_number_of_the_picture(server):
    generator = made(images(server, seed=False))
    one(generator, request(number=3))
    assert not generator.seeded
    assert "takes no seed" in generator.note
    assert not {"seed", "picture", "params"} & bodies(server)[0].keys()


def test_openai_itself_is_sent_neither_seed_nor_negative_prompt_nor_response_format():
    generator = create("openai:gpt-image-1")
    assert not generator.seeded
    assert not generator.takes_negative
    assert generator.note == (
        "takes no seed: pictures of one prompt differ by chance and cannot be drawn again; "
        "takes no negative prompt"
    )
    assert "takes no negative prompt" in generator.check("a car", "blurry")
    assert generator.check("a car") is None


def test_a_negative_prompt_that_cannot_be_sent_is_no_request(server):
    generator = made(images(server, negative=False))
    with pytest.raises(UsageError, match="takes no negative prompt, the design has one"):
        one(generator, request(seed=1, negative="blurry"))
    assert not server.received


def test_further_parameters_arrive_as_they_are_written(server):
    options = {
        "num_inference_steps": 30,
        "size": "512x512",
        "parameters": {"batch": 2, "lora": {"name": "x"}},
    }
    one(made(images(server, **options)), request(seed=1))
    body = bodies(server)[0]
    assert (body["num_inference_steps"], body["size"]) == (30, "512x512")
    assert (body["batch"], body["lora"]) == (2, {"name": "x"})


def test_a_parameter_given_as_null_is_not_sent(server):
    one(made(images(server, parameters={"response_format": None})), request(seed=1))
    assert "response_format" not in bodies(server)[0]


def test_the_key_is_sent_from_its_variable(monkeypatch):
    monkeypatch.setenv("OWN_KEY", SECRET)
    with Loopback(key=SECRET) as server:
        assert one(made(images(server) | {"key": "OWN_KEY"}), request(seed=1)).status == "ok"


def test_a_missing_key_ends_it_before_anything_is_sent(server, monkeypatch):
    monkeypatch.delenv("OWN_KEY", raising=False)
    account = Account()
    generator = made(images(server) | {"key": "OWN_KEY"}, account)
    with pytest.raises(ModelUnusable, match="OWN_KEY"):
        one(generator, request(seed=1))
    assert not server.received
    assert not account.totals()


@pytest.mark.parametrize("kind", ["unauthorized", "forbidden", "quota", "unknown_model"])
def test_the_key_is_in_no_error_and_the_model_is_given_up_at_once(monkeypatch, kind):
    monkeypatch.setenv("OWN_KEY", SECRET)
    with Loopback() as server:
        server.misbehave(kind, times=None)
        generator = made(images(server) | {"key": "OWN_KEY"})
        with pytest.raises(ModelUnusable) as raised:
            one(generator, request(seed=1))
        assert SECRET not in f"{raised.value!r} {raised.value} {generator!r}"
        assert len(server.received) == 1


@pytest.mark.parametrize("kind", ["server_error", "html", "truncate", "reset", "rate_limit"])
def test_a_passing_failure_is_tried_again(server, kind):
    server.misbehave(kind)
    assert one(made(images(server)), request(seed=1)).status == "ok"
    assert len(server.received) == 2


def test_an_answer_that_is_no_answer_is_tried_again_and_then_an_error(server):
    server.misbehave("html", times=None)
    with pytest.raises(ModelError, match="no answer after 3 tries"):
        one(made(images(server)), request(seed=1))
    assert len(server.received) == 3


@pytest.mark.parametrize("code", ["moderation_blocked", "content_policy_violation"])
def test_moderation_is_a_refusal_with_its_reason(server, code):
    server.misbehave("moderation", code=code)
    account = Account()
    result = one(made(images(server), account), request(seed=1))
    assert (result.status, result.data) == ("refused", None)
    assert "rejected by the safety system" in result.reason
    assert [(t.begun, t.ok, t.refused, t.images) for t in account.totals()] == [(1, 0, 1, 0)]


def test_an_empty_place_is_a_refusal_and_booked_as_one(server):
    server.misbehave("empty_slot")
    account = Account()
    result = one(made(images(server), account), request(seed=1))
    assert (result.status, result.reason) == (
        "refused",
        "an empty place in the answer, as when a picture was filtered",
    )
    assert [(t.ok, t.refused) for t in account.totals()] == [(0, 1)]


def test_a_black_picture_is_a_refusal_that_keeps_its_cost(server):
    server.misbehave("black_picture")
    result = one(made(images(server, price={"image": 0.04})), request(seed=1))
    assert (result.status, result.data, result.cost) == ("refused", None, pytest.approx(0.04))
    assert "uniformly black" in result.reason


def test_words_in_the_place_of_a_picture_are_asked_for_once_more_and_then_an_error(server):
    server.misbehave("not_a_picture")
    assert one(made(images(server)), request(seed=1)).status == "ok"
    server.misbehave("not_a_picture", times=None)
    with pytest.raises(ModelError, match="must arrive whole, this one came as words: <html>"):
        one(made(images(server)), request(seed=2))
    assert len(server.received) == 4


def test_a_picture_given_by_url_is_fetched(server):
    server.misbehave("url_result")
    result = one(made(images(server)), request(seed=1))
    assert result.data.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://10.0.0.1/a.png", "private"),
        ("https://10.0.0.1/a.png", "private"),
        ("file:///etc/passwd", "https only"),
    ],
)
def test_a_url_that_leads_elsewhere_is_refused(server, url, said):
    server.misbehave("url_result", url=url)
    with pytest.raises(ModelError, match=said):
        one(made(images(server)), request(seed=1))


# Batches


def batch(server: Loopback, n: int = 4, **options):
    generator = made(images(server, seed=False, batch=n, **options))
    return generator, [request(number=i) for i in range(n)]


def test_a_batch_is_one_call_and_shares_its_cost(server):
    generator, requests = batch(server, price={"call": 0.08})
    results = several(generator, requests)
    assert statuses(results) == ["ok"] * 4
    assert len({result.data for result in results}) == 4
    assert [result.cost for result in results] == [pytest.approx(0.02)] * 4
    assert [body["n"] for body in bodies(server)] == [4]


def test_a_partial_batch_keeps_its_pictures_and_records_the_refusal(server):
    server.misbehave("empty_slot", slot=2)
    generator, requests = batch(server, price={"call": 0.09})
    results = several(generator, requests)
    assert statuses(results) == ["ok", "ok", "refused", "ok"]
    assert [result.cost for result in results if result.status == "ok"] == [pytest.approx(0.03)] * 3
    assert len(bodies(server)) == 1


def test_a_batch_refused_as_a_whole_is_asked_again_one_by_one(server):
    server.misbehave("moderation")
    generator, requests = batch(server)
    assert statuses(several(generator, requests)) == ["ok"] * 4
    assert [body["n"] for body in bodies(server)] == [4, 1, 1, 1, 1]


def test_a_batch_whose_pictures_are_all_refused_is_refused_one_by_one(server):
    server.misbehave("moderation", times=None)
    generator, requests = batch(server)
    results = several(generator, requests)
    assert statuses(results) == ["refused"] * 4
    assert all("safety system" in result.reason for result in results)
    assert len(bodies(server)) == 5


def test_pictures_that_an_endpoint_leaves_out_are_asked_for_singly(server):
    def one_of_many(asked):
        picture = base64.b64encode(server.painter("m", "p", len(server.received), None)).decode()
        return Response(200, {"created": 0, "data": [{"b64_json": picture}]})

    server.register("POST", "/short/images/generations", one_of_many, kind="images")
    generator, requests = batch(server)
    generator = made(images(server, seed=False, batch=4) | {"base_url": f"{server.root}/short"})
    assert statuses(several(generator, requests)) == ["ok"] * 4
    assert [body["n"] for body in bodies(server)] == [4, 1, 1, 1]


def test_requests_of_two_prompts_are_two_calls(server):
    generator, _ = batch(server)
    requests = [request("a car", number=0), request("a cup", number=0), request("a car", number=1)]
    results = several(generator, requests)
    assert [result.revised_prompt.split(" (")[0] for result in results] == ["a car", "a cup", "a car"]
    assert sorted((body["prompt"], body["n"]) for body in bodies(server)) == [("a car", 2), ("a cup", 1)]


def test_a_batch_that_fails_gives_each_request_its_error(server):
    server.misbehave("server_error", times=None)
    generator, requests = batch(server)
    results = several(generator, requests)
    assert all(isinstance(result, StereotropeError) for result in results)
    assert len(results) == 4


def test_the_account_knows_what_the_server_counted(server):
    account = Account()
    generator = made(images(server, seed=False, batch=4, price={"image": 0.01}), account)
    server.misbehave("empty_slot", slot=0)
    server.misbehave("server_error")
    several(generator, [request(number=i) for i in range(8)])
    (total,) = account.totals()
    assert total.begun == len(bodies(server))
    assert (total.images, total.cost) == (7, pytest.approx(0.07))


def test_a_revised_prompt_is_kept_without_the_key_and_fit_for_a_file(server, monkeypatch):
    monkeypatch.setenv("OWN_KEY", SECRET)
    picture = base64.b64encode(server.painter("m", "p", 0, None)).decode()
    said = f"a car\x00 \ud800for {SECRET} " + "x" * 1_000_000
    body = {"data": [{"b64_json": picture, "revised_prompt": said}]}
    server.register("POST", "/odd/images/generations", lambda asked: Response(200, body), kind="images")
    result = one(made(images(server, key="OWN_KEY") | {"base_url": f"{server.root}/odd"}))
    assert result.revised_prompt.startswith("a car for [key] xxx")
    assert len(result.revised_prompt) == 4000


def test_an_address_with_the_key_in_it_is_not_shown(server, monkeypatch):
    monkeypatch.setenv("OWN_KEY", SECRET)
    server.misbehave("url_result", url=f"file:///etc/{SECRET}")
    with pytest.raises(ModelError, match=r"file:/etc/\[key\]: results are fetched by https only"):
        one(made(images(server, key="OWN_KEY")))


def test_counts_of_tokens_beyond_reason_are_unknown(server):
    picture = base64.b64encode(server.painter("m", "p", 0, None)).decode()
    body = {"data": [{"b64_json": picture}], "usage": {"input_tokens": 10**400, "output_tokens": 1}}
    server.register("POST", "/odd/images/generations", lambda asked: Response(200, body), kind="images")
    account = Account()
    assert one(made(images(server) | {"base_url": f"{server.root}/odd"}, account)).status == "ok"
    assert account.totals()[0].input_tokens == 0
