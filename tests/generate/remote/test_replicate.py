from __future__ import annotations

import pytest
from tests.generate.remote.asking import SECRET, fast, made, one, request
from tests.testing.replicate import serve_replicate

from stereotrope.clients import Account
from stereotrope.errors import ModelError, ModelUnusable, UsageError
from stereotrope.generate import ReplicateGenerator
from stereotrope.testing import Loopback, Response

VERSION = "7762fd07cf82c948538e41f63f77d685e02b063e37e496e96eefd46c929f9bdc"


def flux(server, **options):
    url = server.url
    return made(fast(images="replicate:black-forest-labs/flux-2-pro", base_url=url, **options))


def created(server):
    return [received for received in server.received if received.kind == "images"]


def looks(server):
    return sum(received.kind == "predictions" for received in server.received)


def test_an_official_model_is_created_asked_for_and_fetched(server):
    serve_replicate(server, polls=2)
    account = Account()
    options = {"images": "replicate:black-forest-labs/flux-2-pro", "base_url": server.url, "width": 1024}
    result = one(made(fast(price={"image": 0.03}, **options), account), request(seed=7))
    assert result.data.startswith(b"\x89PNG")
    assert result.cost == pytest.approx(0.03)
    (sent,) = created(server)
    assert sent.path == "/v1/models/black-forest-labs/flux-2-pro/predictions"
    assert sent.body == {"input": {"prompt": "car, one product only, no people", "width": 1024, "seed": 7}}
    assert sent.headers["prefer"] == "wait=4"
    assert looks(server) == 2
    assert [(t.begun, t.ok, t.images) for t in account.totals()] == [(1, 1, 1)]


@pytest.mark.parametrize("lists", [True, False])
@pytest.mark.parametrize("data_urls", [True, False])
def test_every_shape_of_output_is_read(server, lists, data_urls):
    serve_replicate(server, polls=0, data_urls=data_urls, lists=lists)
    assert one(flux(server), request(seed=1)).data.startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "named", [{"images": f"replicate:stability-ai/sdxl:{VERSION}"},
              {"images": "replicate:stability-ai/sdxl", "version": VERSION}]
)  # fmt: skip
def test_a_version_is_run_as_such(server, named):
    serve_replicate(server)
    generator = made(fast(base_url=server.url, negative=True, **named))
    one(generator, request(seed=1, negative="blurry"))
    (sent,) = created(server)
    assert sent.path == "/v1/predictions"
    assert sent.body["version"] == VERSION
    assert sent.body["input"]["negative_prompt"] == "blurry"


@pytest.mark.parametrize(
    "why",
    [
        "The input or output was flagged as sensitive. Please try again with different inputs. (E005)",
        "NSFW content detected. Try running it again, or try a different prompt.",
        "Content moderated: prohibited_content",
    ],
)
def test_a_prediction_failed_for_its_content_is_a_refusal(server, why):
    serve_replicate(server)
    server.misbehave("moderation", code=why)
    account = Account()
    url = {"images": "replicate:a/b", "base_url": server.url}
    result = one(made(fast(**url), account), request(seed=1))
    assert (result.status, result.reason) == ("refused", why)
    assert len(created(server)) == 1
    assert [(t.ok, t.refused) for t in account.totals()] == [(0, 1)]


def test_an_empty_output_and_a_black_picture_are_refusals(server):
    serve_replicate(server)
    server.misbehave("empty_slot")
    assert one(flux(server), request(seed=1)).reason.startswith("an empty place")
    server.misbehave("black_picture")
    assert "uniformly black" in one(flux(server), request(seed=2)).reason


def test_a_passing_failure_is_created_again_and_another_is_not(server):
    serve_replicate(server)
    server.misbehave("moderation", code="Prediction interrupted; please retry (code: PA)")
    assert one(flux(server), request(seed=1)).status == "ok"
    assert len(created(server)) == 2
    server.misbehave("moderation", code="width must be a multiple of 16")
    with pytest.raises(ModelError, match="no picture: width must be a multiple of 16"):
        one(flux(server), request(seed=1))
    assert len(created(server)) == 3


def test_a_prediction_is_not_created_again_when_asking_for_it_fails(server):
    serve_replicate(server, polls=2)
    server.misbehave("server_error", path="predictions")
    server.misbehave("rate_limit", path="predictions", retry_after="0")
    assert one(flux(server), request(seed=1)).status == "ok"
    assert len(created(server)) == 1


def test_a_prediction_that_is_gone_is_created_again(server):
    serve_replicate(server)
    server.misbehave("unknown_model", path="predictions")
    assert one(flux(server), request(seed=1)).status == "ok"
    assert len(created(server)) == 2


def test_the_key_goes_to_no_address_that_the_answer_names(monkeypatch):
    monkeypatch.setenv("OWN_KEY", SECRET)
    with Loopback() as other, Loopback(key=SECRET) as server:
        picture = other.keep(server.painter("m", "p", 0, None))

        def create(asked):
            urls = {"get": f"{other.root}/v1/predictions/abc"}
            return Response(201, {"id": "abc", "status": "starting", "urls": urls})

        server.register("POST", "/v1/models/", create, kind="images", model=lambda asked: "a/b")
        done = {"id": "abc", "status": "succeeded", "output": picture}
        server.register("GET", "/v1/predictions/", lambda asked: Response(200, done), kind="predictions")
        spec = fast(images="replicate:a/b", base_url=server.url) | {"key": "OWN_KEY"}
        assert one(made(spec), request(seed=1)).status == "ok"
        assert [received.kind for received in other.received] == ["files"]
        assert not any(SECRET in str(received.headers) for received in other.received)


@pytest.mark.parametrize("name", ["../../v1/account", "a/b", "", None, 7])
def test_a_name_that_is_none_is_not_asked_for(server, name):
    server.register(
        "POST", "/v1/models/", lambda asked: Response(201, {"id": name, "status": "starting"}), kind="images"
    )
    with pytest.raises(ModelError, match="without a name"):
        one(flux(server), request(seed=1))
    assert looks(server) == 0


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"status": "canceled"}, "canceled"),
        ({"status": "failed", "error": "boom"}, "boom"),
        ({"status": "succeeded", "output": None, "data_removed": True}, "removed before"),
        ({"status": "succeeded", "output": {"mask": 1}}, "neither a URL"),
    ],
)
def test_other_ends_are_failures(said, why):
    assert why in ReplicateGenerator.read(said).slots[0].failure


def test_without_a_seed_none_is_sent(server):
    serve_replicate(server)
    one(flux(server, seed=False), request(number=2))
    assert "seed" not in created(server)[0].body["input"]


@pytest.mark.parametrize("model", ["sdxl", "a/b:short", "a/b/c", "a/b:latest"])
def test_a_model_of_another_shape_is_refused(model):
    with pytest.raises(UsageError, match=r"OWNER/NAME or OWNER/NAME:VERSION with 64 hexadecimal digits"):
        made({"images": f"replicate:{model}"})


def test_an_input_that_the_model_does_not_have_ends_it(server):
    said = {
        "title": "Input validation failed",
        "detail": "- input.guidance: Additional property guidance is not allowed",
    }
    server.register("POST", "/v1/models/", lambda asked: Response(422, said), kind="images")
    with pytest.raises(
        ModelUnusable, match=r"replicate:black-forest-labs/flux-2-pro rejects 'guidance' .*; remove it"
    ):
        one(flux(server, guidance=3.5), request(seed=1))
