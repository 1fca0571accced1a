from __future__ import annotations

import asyncio
import ipaddress
import sys

import pytest

from stereotrope.clients import fetch
from stereotrope.clients.fetch import _plain
from stereotrope.errors import ModelError
from stereotrope.testing import Loopback, Response

DATA = b"\x89PNG" + b"0" * 1000


@pytest.fixture
def files():
    with Loopback() as server:
        replies = {}
        server.register("GET", "/got/", lambda request: replies[request.path.rpartition("/")[2]].pop(0))
        server.replies = replies
        server.at = lambda name, *given: replies.update({name: list(given)}) or f"{server.root}/got/{name}"
        yield server


def get(url, **options):
    return asyncio.run(fetch(url, **options))


def test_bytes_of_a_local_endpoint_are_fetched(files):
    url = files.at("a", Response(200, DATA, content_type="image/png"))
    assert get(url, allow_local=True) == DATA
    (received,) = files.received
    assert "authorization" not in received.headers
    assert received.headers["host"] == files.root.removeprefix("http://")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"]
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_this_computer_is_refused_unless_it_is_the_endpoint(files, scheme, host):
    port = files.root.rpartition(":")[2]
    with pytest.raises(ModelError, match=r"refused|cannot be fetched"):
        get(f"{scheme}://{host}:{port}/got/a")
    assert files.received == []


@pytest.mark.parametrize(
    "host",
    [
        "10.0.0.1",
        "172.16.3.4",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "[fd00::1]",
        "[fe80::1]",
        "[::]",
        "[64:ff9b::a00:1]",
        "[2002:a00:1::1]",
        "[::ffff:10.0.0.1]",
    ],
)
@pytest.mark.parametrize("allow_local", [False, True])
def test_private_addresses_are_refused(host, allow_local):
    with pytest.raises(ModelError, match=r"leads to the private address .*; this address is refused"):
        get(f"https://{host}/picture.png", allow_local=allow_local)


@pytest.mark.parametrize(
    "url", ["http://8.8.8.8/x", "ftp://8.8.8.8/x", "file:///etc/passwd", "data:,x", "//8.8.8.8/x", "x", ""]
)
def test_only_https_is_fetched(url):
    with pytest.raises(ModelError, match=r"by https only|is no address"):
        get(url)


def test_public_addresses_by_http_are_refused_for_a_local_endpoint_too():
    with pytest.raises(ModelError, match="this address is refused"):
        get("http://8.8.8.8/x", allow_local=True)


@pytest.mark.parametrize(
    "target",
    ["http://10.0.0.1/x", "https://169.254.169.254/latest", "file:///etc/passwd", "ftp://127.0.0.1/"],
)
def test_a_redirect_is_looked_at_as_the_first_address_is(files, target):
    url = files.at("a", Response(302, b"", {"location": target}))
    with pytest.raises(ModelError, match="refused"):
        get(url, allow_local=True)


def test_a_redirect_to_a_fit_address_is_followed(files):
    files.at("b", Response(200, DATA))
    url = files.at("a", Response(302, b"", {"location": "b"}))
    assert get(url, allow_local=True) == DATA


def test_redirects_end(files):
    url = files.at("a", *[Response(302, b"", {"location": "a"})] * 20)
    with pytest.raises(ModelError, match="refused after 5 redirects"):
        get(url, allow_local=True)
    assert len(files.received) == 6


def test_too_much_is_refused(files):
    url = files.at("a", Response(200, DATA))
    with pytest.raises(ModelError, match="a result of more than 100 bytes is refused"):
        get(url, allow_local=True, most_bytes=100)


def test_what_may_pass_is_tried_again(files):
    url = files.at("a", Response(503), Response(200, DATA))
    assert get(url, allow_local=True) == DATA


def test_a_result_that_is_gone_is_an_error_at_once(files):
    url = files.at("a", Response(404)) + "?token=sentinel"
    with pytest.raises(ModelError, match="with status 404") as caught:
        get(url, allow_local=True)
    assert len(files.received) == 1
    assert "sentinel" not in str(caught.value)


def test_a_server_that_drips_is_cut_off(files, monkeypatch):
    monkeypatch.setattr(sys.modules[fetch.__module__], "_PAUSE", 0.0)
    files.misbehave("drip", times=None, every=0.05)
    url = files.at("a", *[Response(200, DATA)] * 3)
    with pytest.raises(ModelError, match="did not come within 0 s"):
        get(url, allow_local=True, timeout=0.2)


def test_a_host_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setattr(sys.modules[fetch.__module__], "_PAUSE", 0.0)
    with pytest.raises(ModelError, match="there is no host"):
        get("https://no-such-host.invalid/x")


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("64:ff9b::a00:1", "10.0.0.1"),
        ("2002:a00:1::1", "10.0.0.1"),
        ("2606:4700::1", "2606:4700::1"),
        ("8.8.8.8", "8.8.8.8"),
    ],
)
def test_an_ipv6_address_that_stands_for_ipv4_is_looked_at_as_such(address, plain):
    assert str(_plain(ipaddress.ip_address(address))) == plain


@pytest.mark.parametrize(
    "url", ["\ud800", "https://h/\ud800", "https://exa mple/", "https://1.1.1.1:99999/", "//h/x"]
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ModelError, match=r"is no address|by https only|cannot be fetched"):
        get(url)


def test_a_redirect_to_what_is_no_address_is_refused(files):
    url = files.at("a", Response(302, b"", {"location": "http://[::1/"}))
    with pytest.raises(ModelError, match="leads to what is no address"):
        get(url, allow_local=True)
