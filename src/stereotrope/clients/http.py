"""Plain JSON over HTTP, for servers that no SDK is needed for."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import weakref
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from stereotrope.clients.endpoint import PROVIDERS, Endpoint
from stereotrope.clients.error_body import parse_json
from stereotrope.clients.failures import Streamed
from stereotrope.clients.redact import redact
from stereotrope.errors import ModelError

if TYPE_CHECKING:
    import ssl

    import httpx2

_T = TypeVar("_T")

_MOST_BYTES = 256 * 2**20
_LOOKED_AT = 100_000
_KEEP_SECONDS = 3.0  # idle connections are let go before servers do (uvicorn: 5 s)
_SENT = {
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
}
_STREAMS = re.compile(r"text/event-stream|application/((x-)?ndjson|jsonl|x-jsonlines|stream\+json|json-seq)")
_EVENTS = (b"data:", b"event:")
_OWN_HEADERS = "stereotrope_headers"
_OPENAI_HEADERS = {"openai-organization": "OPENAI_ORG_ID", "openai-project": "OPENAI_PROJECT_ID"}


class PerLoop(Generic[_T]):
    """One client for each running event loop, made when it is first asked for."""

    def __init__(self, make: Callable[[], _T], close: Callable[[_T], Awaitable[None]]) -> None:
        self._make, self._close = make, close
        self._clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _T] = weakref.WeakKeyDictionary()

    def get(self) -> _T:
        """Return the client of the running loop."""
        loop = asyncio.get_running_loop()
        found = self._clients.get(loop)
        if found is None:
            found = self._clients[loop] = self._make()
        return found

    async def close(self) -> None:
        """Close the client of the running loop, where there is one; a later request makes a new one."""
        found = self._clients.pop(asyncio.get_running_loop(), None)
        if found is not None:
            await self._close(found)

    @property
    def way(self) -> tuple[Any, ...]:
        """What another process makes its own clients with: no client, and no key."""
        return self._make, self._close

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a client of a model server cannot be pickled: it holds a key")


def open_client(
    endpoint: Endpoint, *, most_bytes: int = _MOST_BYTES, key_header: str | None = None
) -> httpx2.AsyncClient:
    """Return an httpx2 client whose requests carry the key, what HTTP needs and our own headers only.

    Whatever an SDK adds of its own (a description of this computer, headers and organisations that the
    environment names) is left out; OpenAI's own address gets its organisation and project. The key is
    read from the environment for each request. No redirect is followed, so that no key goes elsewhere;
    at most ``most_bytes`` of a reply are read, and of a stream of events none (it may not end); a server
    on this computer is asked without a proxy.
    """
    import httpx2  # noqa: PLC0415

    traces = logging.getLogger("httpcore2")
    if traces.level == logging.NOTSET:
        traces.setLevel(logging.INFO)  # below that it writes headers out, and a server may send a key back

    class Client(httpx2.AsyncClient):
        async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
            theirs = request.headers
            own = request.extensions.get(_OWN_HEADERS, {})
            kept = {name: value for name, value in theirs.items() if name.lower() in _SENT}
            identity = _identity(endpoint, key_header)
            request.headers = httpx2.Headers({**kept, "user-agent": "stereotrope", **identity, **own})
            options |= {"stream": True, "follow_redirects": False}
            try:
                response = await super().send(request, **options)
                try:
                    return await _read(response, most_bytes)
                finally:
                    await response.aclose()
            finally:
                request.headers = theirs  # an exception that holds the request holds no key

    return Client(
        timeout=httpx2.Timeout(endpoint.timeout, pool=None),
        limits=httpx2.Limits(
            max_connections=None,
            max_keepalive_connections=endpoint.concurrency,
            keepalive_expiry=_KEEP_SECONDS,
        ),
        verify=tls_context(),
        trust_env=not endpoint.is_local,
    )


@cache
def tls_context() -> ssl.SSLContext:
    """Return what certificates are checked against, read once: it takes longer than many a request."""
    import httpx2  # noqa: PLC0415

    return httpx2.create_ssl_context(trust_env=True)


def _identity(endpoint: Endpoint, key_header: str | None) -> dict[str, str]:
    headers = {}
    if (secret := endpoint.secret()) is not None:
        headers[key_header or "authorization"] = secret if key_header else f"Bearer {secret}"
    if endpoint.base_url == PROVIDERS["openai"]["base_url"]:
        headers |= {name: os.environ[v] for name, v in _OPENAI_HEADERS.items() if os.environ.get(v)}
    return headers


async def _read(response: httpx2.Response, most_bytes: int) -> httpx2.Response:
    """Read a reply that may not end, and return it whole; a stream of events is refused."""
    import httpx2  # noqa: PLC0415

    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_error = response.status_code >= 300
    if _STREAMS.fullmatch(kind) and not is_error:
        raise Streamed(kind)
    content = await bytes_of(response, most_bytes, f"answered with more than {most_bytes // 2**20} MiB")
    if content.lstrip()[:6].startswith(_EVENTS) and not is_error:
        raise Streamed(kind or "no content type")
    headers = [  # as bytes, which need not be ASCII
        (name, value)
        for name, value in response.headers.raw
        if name.lower() not in (b"content-encoding", b"content-length", b"transfer-encoding")
    ]
    return httpx2.Response(
        response.status_code,
        headers=headers,
        content=content,
        request=response.request,
        extensions={k: v for k, v in response.extensions.items() if k != "network_stream"},
    )


async def bytes_of(response: httpx2.Response, most_bytes: int, refusal: str) -> bytes:
    """Read the body of a reply, which may not end.

    Raises ModelError: There are more than ``most_bytes``; the message is ``refusal``.
    """
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > most_bytes:
            raise ModelError(refusal)
    return bytes(content)


class HttpClient:
    """Sends JSON to an endpoint and reads JSON; one attempt a call, for :meth:`Caller.exchange` to repeat.

    endpoint: Paths are below its ``base_url``. Its key goes as ``Authorization: Bearer``, unless
        ``key_header`` names another header for it; without a key nothing is sent.
    key_header: Such as ``x-goog-api-key``.
    """

    def __init__(
        self, endpoint: Endpoint, *, key_header: str | None = None, most_bytes: int = _MOST_BYTES
    ) -> None:
        self.endpoint = endpoint
        self._clients: PerLoop[httpx2.AsyncClient] = PerLoop(
            lambda: open_client(endpoint, most_bytes=most_bytes, key_header=key_header),
            lambda client: client.aclose(),
        )

    async def post(self, path: str, body: Any, *, headers: Mapping[str, str] | None = None) -> Any:
        """Post JSON and return the JSON of the reply.

        path: Below ``base_url``, or a whole address on the same server.
        Raises ModelError: The reply is no JSON, too large, or ``path`` leads to another server.
        Raises httpx2.HTTPError: There is no reply, or its status is an error; for :meth:`Caller.exchange` to
            classify.
        """
        return await self._request("POST", path, headers, json.dumps(body).encode())

    async def get(self, path: str, *, headers: Mapping[str, str] | None = None) -> Any:
        """Get the JSON at a path; as :meth:`post` otherwise."""
        return await self._request("GET", path, headers, None)

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._clients.close()

    async def _request(
        self, method: str, path: str, headers: Mapping[str, str] | None, content: bytes | None
    ) -> Any:
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        if content is not None:
            sent["content-type"] = "application/json"
        response = await self._clients.get().request(
            method, self._address(path), content=content, extensions={_OWN_HEADERS: sent}
        )
        response.raise_for_status()
        try:
            return parse_json(response.content)
        except ValueError:
            kind = response.headers.get("content-type", "no content type").partition(";")[0]
            text = response.content[:_LOOKED_AT].decode("utf-8", "replace")
            said = redact(text, self.endpoint.secret() or "")[:80] or "an empty body"
            if "\ufffd" in said:
                said = f"{len(response.content):,} bytes that are no text"
            raise ModelError(f"answered no JSON but {redact(kind)}: {said}") from None

    def _address(self, path: str) -> str:
        import httpx2  # noqa: PLC0415

        base = self.endpoint.base_url
        if "://" not in path:
            return f"{base}/{path.lstrip('/')}"
        ours, theirs = httpx2.URL(base), httpx2.URL(path)
        if (ours.scheme, ours.host, ours.port) != (theirs.scheme, theirs.host, theirs.port):
            raise ModelError(f"{redact(path)}: is not on {ours.host}, so the key is not sent there")
        return path
