import json
import threading
import time

import pytest
from tests.testing.web import CUP, closed, pictures_of, said

from stereotrope.errors import UsageError
from stereotrope.testing import Declined, Loopback, Response


def test_pictures_come_in_the_number_asked_for_with_a_revised_prompt(web):
    status, body = web.images(n=4)
    assert status == 200
    assert len(set(pictures_of(body))) == 4
    assert all(slot["revised_prompt"].startswith(CUP) for slot in body["data"])
    assert body["usage"]["total_tokens"] > 0


def test_a_seed_gives_the_same_picture_again_and_no_seed_the_next_one(web):
    first, again = (pictures_of(web.images(seed=7)[1]) for _ in range(2))
    assert first == again
    assert pictures_of(web.images()[1]) != pictures_of(web.images()[1])


def test_a_seed_is_an_unknown_parameter_where_the_model_takes_none(http_to):
    with Loopback(seeds=False) as server:
        status, body = http_to(server).images(seed=7)
    assert status == 400
    assert body["error"]["code"] == "unknown_parameter"


def test_a_server_goes_on_numbering_where_another_stopped(http_to):
    with Loopback() as one, Loopback(first_number=2) as other:
        before, after = (http_to(each).images(n=2)[1] for each in (one, other))
    assert len(set(pictures_of(before) + pictures_of(after))) == 4


def test_the_judge_knows_what_was_drawn(server, web):
    picture = pictures_of(web.images(seed=3)[1])[0]
    truth = server.plant.values("painter", CUP, 3)
    schema = closed(product_colour=None, silhouette=["boxy", "rounded", "tapered", "slender", "unclear"])
    status, body = web.chat(picture, schema)
    assert status == 200
    assert said(body) == {name: truth[name] for name in ("product_colour", "silhouette")}


def test_a_custom_painter_and_judge_are_asked(http_to):
    def declining(model, prompt, number, size):
        raise Declined("never")

    asked = []

    def judge(question):
        asked.append(question)
        return "plain words"

    with Loopback(painter=declining, judge={"judge": judge}) as server:
        web = http_to(server)
        status, body = web.images(size="512x512")
        assert (status, body["error"]["code"]) == (400, "moderation_blocked")
        assert web.chat(b"not decoded")[1]["choices"][0]["message"]["content"] == "plain words"
        assert said(web.chat(model="another")[1])["product_colour"] == "unclear"
    assert asked[0].pictures == (b"not decoded",)
    assert asked[0].text == "What is seen?"


def test_pictures_of_the_calibrated_generator_are_known_too(http_to):
    with Loopback(painter="calibrated") as server:
        web = http_to(server)
        picture = pictures_of(web.images(seed=5)[1])[0]
        truth = server.painter.generator.values(CUP, 5)
        assert said(web.chat(picture, closed(shape=None))[1]) == {"shape": truth["shape"]}
        assert web.images(prompt="zeppelin")[0] == 400


def test_an_unknown_painter_is_refused():
    with pytest.raises(UsageError, match="painter must be a function or 'calibrated', found 'calibrate'"):
        Loopback(painter="calibrate")


def test_a_server_can_let_the_bodies_of_requests_go(http_to):
    with Loopback(bodies=False) as server:
        assert http_to(server).images()[0] == 200
    assert [(each.raw, each.body, each.status) for each in server.received] == [(b"", None, 200)]
    assert server.counts() == {("images", server.received[0].model, 200): 1}


def test_every_request_is_recorded_and_counted(server, web):
    web.images(quality="high")
    web.chat(schema=closed(product_colour=None))
    web.ask("GET", "/v1/models")
    first = server.received[0]
    assert (first.path, first.model, first.status) == ("/v1/images/generations", "painter", 200)
    assert first.body["quality"] == "high"
    assert server.counts() == {
        ("images", "painter", 200): 1,
        ("chat", "judge", 200): 1,
        ("models", None, 200): 1,
    }


def test_a_wrong_key_is_refused_wherever_it_stands(http_to):
    body = {"model": "m", "prompt": "cup"}
    with Loopback(key="k-1") as server:
        web = http_to(server)

        def status(**headers):
            return web.ask("POST", "/v1/images/generations", body, **headers)[0].status

        assert status() == 401
        assert status(Authorization="Bearer k-2") == 401
        assert status(Authorization="Bearer k-1") == 200
        assert status(**{"X-Goog-Api-Key": "k-1"}) == 200
        assert status(Authorization="Token k-1") == 200


def test_models_are_listed_and_others_not_found(http_to):
    with Loopback(models=["painter"]) as server:
        web = http_to(server)
        listed = json.loads(web.ask("GET", "/v1/models")[1])
        assert [each["id"] for each in listed["data"]] == ["painter"]
        assert web.images()[0] == 200
        status, body = web.chat(model="other")
        assert (status, body["error"]["code"]) == (404, "model_not_found")


def test_a_further_route_is_served_by_its_own_shape(server, web):
    async def predict(request):
        return Response(201, {"model": request.model, "wrong": request.misbehaviour is not None})

    server.register("POST", "/v1/predictions", predict, kind="predictions", model=lambda r: r.body["version"])
    answer, data = web.ask("POST", "/v1/predictions/now", {"version": "v1"})
    assert (answer.status, json.loads(data)) == (201, {"model": "v1", "wrong": False})
    server.misbehave("server_error", path="predictions", status=503)
    assert web.ask("POST", "/v1/predictions", {"version": "v1"})[0].status == 503
    assert server.counts() == {("predictions", "v1", 201): 1, ("predictions", "v1", 503): 1}


def test_what_is_no_request_or_has_no_route_is_answered_as_an_error(server, web):
    assert web.ask("GET", "/elsewhere")[0].status == 404
    assert web.raw(b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert web.raw(b"POST /v1/images/generations HTTP/1.1\r\ncontent-length: x\r\n\r\n")[9:12] == b"400"
    assert web.raw(b"GET /v1/mod")[9:12] == b"400"
    assert web.raw(b"") == b""
    assert server.received == []


@pytest.mark.parametrize(
    "body",
    [None, [], {}, {"messages": "hello"}, {"messages": []}, {"messages": [1]},
     {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "https://x.invalid/a.png"}}]}]},
     {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,*"}}]}]}],
)  # fmt: skip
def test_a_chat_request_that_cannot_be_read_is_a_bad_request(web, body):
    assert web.ask("POST", "/v1/chat/completions", body)[0].status == 400


@pytest.mark.parametrize(
    "body", [None, {}, {"prompt": 1}, {"prompt": "cup", "n": 0}, {"prompt": "cup", "n": 99}]
)
def test_a_request_for_pictures_that_cannot_be_read_is_a_bad_request(web, body):
    assert web.ask("POST", "/v1/images/generations", body)[0].status == 400


def test_a_chunked_body_is_read(web):
    body = json.dumps({"model": "m", "prompt": "cup"}).encode()
    head = b"POST /v1/images/generations HTTP/1.1\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:9], body[9:], b""))
    assert web.raw(head + chunks).startswith(b"HTTP/1.1 200 OK")


def test_pictures_by_url_lie_on_the_server(server, web):
    status, body = web.images(seed=1, response_format="url")
    assert status == 200
    answer, data = web.ask("GET", body["data"][0]["url"].removeprefix(server.root))
    assert answer.headers["content-type"] == "image/png"
    assert data == server.plant("painter", CUP, 1)
    assert web.ask("GET", "/files/none.png")[0].status == 404


def test_more_than_the_limit_in_a_window_is_told_when_to_come_back(http_to):
    with Loopback(requests_per_minute=3, window=3600.0) as server:
        web = http_to(server)
        assert [web.chat()[0] for _ in range(4)] == [200, 200, 200, 429]
        answer, _ = web.ask("POST", "/v1/chat/completions", {"messages": [{"content": "a"}]})
        assert 0 < float(answer.headers["retry-after"]) <= 3600
        assert server.counts()["chat", "judge", 429] == 1
        assert server.most_in_a_minute(seconds=3600.0) == 5
    with Loopback(requests_per_minute=3, window=1e-6) as server:
        web = http_to(server)
        assert [web.chat()[0] for _ in range(9)] == [200] * 9


def test_answers_take_the_latency_they_were_given_and_wait_side_by_side(http_to):
    together = threading.Barrier(3, timeout=60)  # broken where one is drawn after another

    def painter(model, prompt, number, size):
        together.wait()
        return b"a picture"

    with Loopback(latency=(0.2, 0.3), painter=painter) as server:
        webs = [http_to(server) for _ in range(3)]
        threads = [threading.Thread(target=web.images) for web in webs]
        began = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert time.monotonic() - began >= 0.2
        assert server.counts() == {("images", "painter", 200): 3}


def test_a_port_is_served_once_at_a_time(http_to):
    with Loopback() as server:
        port = int(server.root.rpartition(":")[2])
        with pytest.raises(OSError, match=r"[Aa]ddress already in use"):
            Loopback(port=port).start()
    server.close()
    with Loopback(port=port) as again:
        assert http_to(again).images()[0] == 200
