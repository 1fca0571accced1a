"""HTTP/1.1 by hand: requests read from a stream, answers written byte by byte where a test asks for it."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from http.client import responses
from typing import Any
from urllib.parse import unquote

LARGEST_BODY = 256 * 1024 * 1024


class Malformed(Exception):
    """Bytes that are no HTTP request."""


@dataclass
class Request:
    """One request as it came in.

    method, path, query: Of the request line; the path is decoded.
    kind: Path kind of the route that serves it: ``chat``, ``images``, ``models`` or a registered one.
    model: The model it names, None where it names none.
    misbehaviour: What the answer should do wrong, where the route itself has to do it; None otherwise.
    at, status: ``time.monotonic`` when it was read; of the whole answer, 0 where none was sent.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    raw: bytes
    kind: str = ""
    model: str | None = None
    misbehaviour: Any = None
    at: float = 0.0
    status: int = 0

    @cached_property
    def body(self) -> Any:
        """The body read as JSON, None where it is empty or no JSON."""
        try:
            return json.loads(self.raw) if self.raw else None
        except ValueError:
            return None

    def forget(self) -> None:
        """Let the body go."""
        self.raw = b""
        self.__dict__.pop("body", None)

    @property
    def secret(self) -> str | None:
        """The key it carries: as bearer or token, or in x-goog-api-key or x-api-key."""
        scheme, _, value = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() in {"bearer", "token"}:
            return value.strip()
        return self.headers.get("x-goog-api-key", self.headers.get("x-api-key"))


@dataclass(frozen=True)
class Response:
    """An answer: ``body`` is bytes, or anything that JSON can say."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"

    def content(self) -> bytes:
        """The body's bytes."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()

    def head(self, length: int, *, close: bool = False) -> bytes:
        """The status line and headers, for a body of this length."""
        phrase = responses.get(self.status, "Unknown")
        lines = [
            f"HTTP/1.1 {self.status} {phrase}",
            f"content-type: {self.content_type}",
            f"content-length: {length}",
            f"connection: {'close' if close else 'keep-alive'}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read one request; None where the connection ends before one begins.

    Raises Malformed: What came is no request that this server reads.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial.strip():
            raise Malformed("the head of the request is cut off") from None
        return None
    except asyncio.LimitOverrunError:
        raise Malformed("the head of the request is too long") from None
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise Malformed("the request line is none of HTTP/1.1")
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}
    path, _, query = parts[1].partition("?")
    return Request(parts[0], unquote(path), query, headers, await _read_body(reader, headers))


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        parts = []
        while True:
            size = int((await reader.readline()).split(b";")[0], 16)
            parts.append(await reader.readexactly(size + 2))
            if size == 0:
                return b"".join(part[:-2] for part in parts)
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > LARGEST_BODY:
        raise Malformed("the content length is no number of bytes that this server reads")
    return await reader.readexactly(int(length)) if int(length) else b""
