from __future__ import annotations

import asyncio
import gzip
import json
import subprocess
import sys

import httpx2
import pytest

from stereotrope.clients import Endpoint, HttpClient
from stereotrope.clients.failures import classify
from stereotrope.clients.http import PerLoop, open_client
from stereotrope.errors import ModelError
from stereotrope.testing import Response

KEY = "sentinel-4f9d2c-sentinel"


def run(http, method="post", *arguments, **options):
    async def work():
        try:
            return await getattr(http, method)(*arguments, **options)
        finally:
            await http.close()

    return asyncio.run(work())


@pytest.fixture
def echo(script):
    script.says(lambda request: Response(200, {"path": request.path, "headers": dict(request.headers)}))
    return script


def test_certificates_are_read_once_for_all_clients(script, monkeypatch):
    clients = [open_client(script.endpoint())]
    monkeypatch.setattr("httpcore2.default_ssl_context", lambda **_: pytest.fail("read again"))
    clients.append(open_client(script.endpoint()))
    for client in clients:
        assert not client.is_closed
        asyncio.run(client.aclose())


def test_json_is_posted_and_read(script):
    script.says(Response(200, {"a": 1}))
    assert run(HttpClient(script.endpoint()), "post", "images/x", {"é": [1]}) == {"a": 1}
    assert script.bodies == [{"é": [1]}]
    assert script.server.received[0].path == "/script/images/x"


def test_a_key_goes_as_bearer_or_in_the_header_that_is_named(echo, monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    endpoint = echo.endpoint(key="SOME_KEY")
    assert run(HttpClient(endpoint), "get", "x")["headers"]["authorization"] == f"Bearer {KEY}"
    headers = run(HttpClient(endpoint, key_header="x-goog-api-key"), "get", "x")["headers"]
    assert headers["x-goog-api-key"] == KEY
    assert "authorization" not in headers


def test_nothing_of_this_computer_or_its_environment_is_sent(echo, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Secret: {KEY}\nAuthorization: Bearer {KEY}")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/elsewhere")
    run(HttpClient(echo.endpoint()), "get", "x", headers={"Prefer": "wait=5"})
    echo.ask_ended = pytest.raises(ModelError)
    with echo.ask_ended:
        echo.ask()
    assert len(echo.server.received) == 1 + 3
    for each in echo.server.received:
        assert KEY not in json.dumps(dict(each.headers)) + each.raw.decode()
        assert each.headers["user-agent"] == "stereotrope"
        assert not any(name.startswith(("x-stainless", "openai-", "authorization")) for name in each.headers)
    assert echo.server.received[0].headers["prefer"] == "wait=5"


def test_openai_itself_gets_its_organisation(monkeypatch):
    from stereotrope.clients.http import _identity

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.delenv("OPENAI_PROJECT_ID", raising=False)
    assert _identity(Endpoint.from_options("openai", {})[0], None) == {
        "authorization": f"Bearer {KEY}",
        "openai-organization": "org",
    }


def test_a_whole_address_on_the_same_server_is_asked(echo):
    http = HttpClient(echo.endpoint())
    assert run(http, "get", f"{echo.server.root}/script/jobs/7")["path"] == "/script/jobs/7"


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x", "https://example.org/x", "http://localhost/x"])
def test_another_server_is_not_asked(echo, url):
    with pytest.raises(ModelError, match="so the key is not sent there"):
        run(HttpClient(echo.endpoint()), "get", url)
    assert echo.server.received == []


def test_a_redirect_is_not_followed(script):
    script.says(Response(307, b"", {"location": "http://127.0.0.1:9/x"}))
    with pytest.raises(httpx2.HTTPStatusError):
        run(HttpClient(script.endpoint()), "post", "x", {})
    assert len(script.bodies) == 1


def test_an_error_carries_no_key(script, monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    script.says(Response(400, {"error": {"message": "x"}}))
    with pytest.raises(httpx2.HTTPStatusError) as caught:
        run(HttpClient(script.endpoint(key="SOME_KEY")), "post", "x", {})
    assert script.server.received[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(caught.value.request.headers.raw) + str(caught.value.response.request.headers.raw)


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"", b"{", b"[" * 100_000])
def test_what_is_no_json_is_an_error(script, body):
    script.says(Response(200, body, content_type="text/html; charset=utf-8"))
    with pytest.raises(ModelError, match="answered no JSON but text/html"):
        run(HttpClient(script.endpoint()), "get", "x")


@pytest.mark.parametrize(
    ("body", "said"),
    [(b"", "an empty body"), (b"\xff\xd8\xff\xe0\0\x10JFIF", "10 bytes that are no text"), (b"busy", "busy")],
)
def test_of_what_is_no_json_only_words_are_quoted(script, body, said):
    script.says(Response(200, body, content_type="image/jpeg"))
    with pytest.raises(ModelError, match=f"answered no JSON but image/jpeg: {said}$"):
        run(HttpClient(script.endpoint()), "get", "x")


def test_a_body_is_capped_after_it_is_unpacked(script):
    packed = gzip.compress(b'"' + b"0" * 5_000_000 + b'"')
    assert len(packed) < 20_000
    script.says(Response(200, packed, {"content-encoding": "gzip"}))
    http = HttpClient(script.endpoint(), most_bytes=1_000_000)
    with pytest.raises(ModelError, match="answered with more than 0 MiB"):
        run(http, "get", "x")
    assert len(run(HttpClient(script.endpoint()), "get", "x")) == 5_000_000


@pytest.mark.parametrize("told", ["²", "bild_ü.png", "Ã¼"])
def test_a_reply_with_a_header_that_is_not_ascii_is_read(script, told):
    script.says(Response(200, {"a": 1}, {"x-name": told, "retry-after": told}))
    assert run(HttpClient(script.endpoint()), "get", "x") == {"a": 1}
    assert len(script.bodies) == 1
    script.says(Response(429, {"error": {"message": "slow"}}, {"retry-after": told}))
    with pytest.raises(httpx2.HTTPStatusError) as refused:
        run(HttpClient(script.endpoint()), "get", "x")
    assert classify(refused.value).outcome == "rate_limited"


def test_each_loop_has_its_client_until_it_is_closed():
    made, closed = [], []

    async def close(client):
        closed.append(client)

    clients = PerLoop(lambda: made.append(object()) or made[-1], close)

    async def twice():
        assert clients.get() is clients.get()
        await clients.close()
        await clients.close()

    asyncio.run(twice())
    asyncio.run(twice())
    assert closed == made
    assert len(made) == 2


def test_importing_the_clients_imports_no_heavy_package():
    program = (
        "import sys, stereotrope, stereotrope.clients as c\n"
        "e, _ = c.Endpoint.from_options('vllm', {})\n"
        "c.ChatClient(e, 'm', account=c.Account()); c.HttpClient(e); c.price_of('openai', 'gpt-4o')\n"
        "print([m for m in ('openai', 'httpx2', 'jsonschema') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
