"""The loopback server: routes, its own thread, and a record of every request."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from stereotrope.errors import UsageError
from stereotrope.testing import chat, embeddings, images
from stereotrope.testing.judge import Judge, KnownValues, Question, Reader, look_up
from stereotrope.testing.misbehaviour import Misbehaviour, Misbehaviours, error, general
from stereotrope.testing.plant import Plant
from stereotrope.testing.rates import WINDOW, SlidingWindow, most_within
from stereotrope.testing.wire import Malformed, Request, Response, read_request

_MOST_FILES = 1000
Handler = Callable[[Request], Response | Awaitable[Response]]


@dataclass(frozen=True)
class _Route:
    method: str
    prefix: str
    kind: str
    handler: Handler
    model: Callable[[Request], str | None]


class Loopback:
    """A model server on 127.0.0.1, for tests of whatever talks to one; use it in a ``with`` block.

    It speaks ``POST /v1/chat/completions``, ``POST /v1/images/generations`` and ``GET /v1/models`` over
    real HTTP/1.1 from a thread of its own, records every request, and goes wrong when told to.

    painter: ``(model, prompt, seed or number, size) -> bytes``; ``"calibrated"`` for the package's calibrated
        generator; a :class:`Plant` where None.
    judge: ``(question) -> object | Reply | text``, or None where it declines; or model → one of these; a
        :class:`Judge` where None.
    truth: sha256 → attribute → value, as a mapping or a function: what the default judge knows of pictures
        that this server did not draw.
    reads: Whether the default judge looks at pictures of which nothing is known, as the offline annotators
        do; if not, what they show is ``unclear``.
    latency: Seconds before an answer: a number, or (low, high), uniform.
    requests_per_minute: More in any sliding window of 60 seconds, or of ``window``, is answered with 429.
    key, models: 401 without this key, 404 for any other model; None for any.
    seed: Of the painter, the judge, the latencies and the shares of misbehaviours.
    bodies: Whether ``received`` keeps the bodies of requests; a server that runs for long lets them go.
    seeds: Whether pictures take a ``seed``, else an unknown parameter. Without one they are numbered by model
        and prompt from ``first_number``: set it to go on where an earlier server stopped.
    port: 0 for any that is free.
    """

    def __init__(
        self,
        *,
        painter: images.Painter | str | None = None,
        judge: Callable[[Question], Any] | Mapping[str, Callable[[Question], Any]] | None = None,
        error: float | Mapping[str, Any] = 0.0,
        truth: KnownValues | None = None,
        reads: bool = False,
        latency: float | tuple[float, float] = 0.0,
        requests_per_minute: float | None = None,
        key: str | None = None,
        models: Sequence[str] | None = None,
        seed: int = 0,
        seeds: bool = True,
        first_number: int = 0,
        window: float = WINDOW,
        port: int = 0,
        bodies: bool = True,
    ) -> None:
        self.plant = Plant(seed)
        if isinstance(painter, str) and painter != "calibrated":
            raise UsageError(
                f"loopback: painter must be a function or 'calibrated', found {painter!r}; correct it"
            )
        drawing: images.Painter | None = images.CalibratedPainter() if isinstance(painter, str) else painter
        self.painter: images.Painter = drawing or self.plant
        self.judge = judge if judge is not None else Judge(error=error, seed=seed)
        self.key, self.models, self.seeds, self.latency = key, models, seeds, latency
        self.received: list[Request] = []
        self._truth: KnownValues = truth if truth is not None else {}
        self._reader = Reader() if reads else None
        self._bodies = bodies
        self._limit = SlidingWindow(requests_per_minute, window) if requests_per_minute is not None else None
        self._random = random.Random(seed)
        self._numbers = images.Numbering(first_number)
        self._files: dict[str, bytes] = {}
        self._rules = Misbehaviours(seed)
        self._routes: list[_Route] = []
        self._port = port
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._failure: OSError | None = None
        self.register("POST", "/v1/chat/completions", self._chat, kind="chat")
        self.register("POST", "/v1/images/generations", self._images, kind="images")
        self.register("POST", "/v1/embeddings", embeddings.embed, kind="embeddings")
        self.register("GET", "/v1/models", self._models, kind="models")
        self.register("GET", "/files/", self._file, kind="files")

    def start(self) -> Loopback:
        """Listen; returns itself."""
        ready = threading.Event()
        serve = partial(asyncio.run, self._serve(ready))
        self._thread = threading.Thread(target=serve, name="loopback", daemon=True)
        self._thread.start()
        ready.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def close(self) -> None:
        """Stop listening and drop every connection."""
        if self._loop is not None and self._stop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
            self._loop = self._stop = self._thread = None

    def __enter__(self) -> Loopback:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def root(self) -> str:
        """``http://127.0.0.1:PORT``."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """The base URL of the OpenAI-compatible routes: the root and ``/v1``."""
        return f"{self.root}/v1"

    def misbehave(
        self,
        kind: str,
        *,
        times: int | None = 1,
        share: float = 1.0,
        model: str | None = None,
        path: str | None = None,
        **options: Any,
    ) -> None:
        """Go wrong on the next requests that fit.

        times: How many requests, None for every one.
        share: Of the requests that fit, drawn by the server's seed.
        model, path: Only requests of this model, of this path kind.
        **options: Of the kind: ``retry_after`` (the raw header), ``status``, ``keep`` (share of the body that
            is sent), ``every`` (seconds between dripped bytes), ``body`` (JSON or bytes to answer with),
            ``seconds``, ``property``, ``text``, ``code``, ``message``, ``slot``, ``url``, ``json_object``
            (that it is not supported either).
        Raises UsageError: The kind or an option is not known, or a figure does not fit.
        """
        self._rules.add(Misbehaviour(kind, times, share, model, path, options))

    def behave(self) -> None:
        """Forget every misbehaviour."""
        self._rules.clear()

    def register(
        self,
        method: str,
        path_prefix: str,
        handler: Handler,
        *,
        kind: str | None = None,
        model: Callable[[Request], str | None] | None = None,
    ) -> None:
        """Serve a further path; of several that fit, the longest prefix does.

        handler: From a :class:`Request` to a :class:`Response`; may be a coroutine function. General
            misbehaviours are dealt with before it; others reach it as ``request.misbehaviour``.
        kind: Path kind in ``counts`` and ``misbehave``; the prefix where None.
        model: How to find the model; the property ``model`` of the body where None.
        """
        model = model or (lambda sent: _text_in(sent.body, "model"))
        route = _Route(method, path_prefix, kind or path_prefix, handler, model)
        self._routes.append(route)
        self._routes.sort(key=lambda route: -len(route.prefix))

    def counts(self) -> dict[tuple[str, str | None, int], int]:
        """(path kind, model, status) → number of requests; status 0 where no whole answer was sent."""
        return dict(Counter((each.kind, each.model, each.status) for each in list(self.received)))

    def most_in_a_minute(self, model: str | None = None, *, seconds: float = WINDOW) -> int:
        """Return the largest number of requests to models in any window of a minute, or of other length."""
        posted = (each for each in list(self.received) if each.method == "POST")
        return most_within((each.at for each in posted if model in (None, each.model)), seconds)

    def knows(self, data: bytes, sha256: str) -> Callable[[str, Sequence[str]], str | None]:
        """Return what is known of a picture: a function from attribute and values to its value or None."""
        given = look_up(self._truth, sha256)
        if given is None and isinstance(self.painter, images.CalibratedPainter):
            given = self.painter.values_of(sha256)
        if given is not None:
            return lambda attribute, options: given.get(attribute)
        plant = self.painter if isinstance(self.painter, Plant) else self.plant
        if plant.learn(data) or self._reader is None:
            return lambda attribute, options: plant.value_of(sha256, attribute, options)
        read = self._reader.values(data, sha256)
        return lambda attribute, options: read.get(attribute)

    async def _chat(self, request: Request) -> Response:
        judge = self.judge
        if isinstance(judge, Mapping):
            judge = judge.get(request.model or "", _DEFAULT_JUDGE)
        asked = request, judge, self.knows, len(self.received)
        return (
            chat.complete(*asked) if self._reader is None else await asyncio.to_thread(chat.complete, *asked)
        )

    async def _images(self, request: Request) -> Response:
        draw = partial(images.paint, request, self.painter, self._numbers, seeds=self.seeds, keep=self.keep)
        return draw() if isinstance(self.painter, Plant) else await asyncio.to_thread(draw)

    def _models(self, request: Request) -> Response:
        names = self.models or sorted({each.model for each in self.received if each.model} | {"any"})
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "loopback"} for name in names]
        return Response(200, {"object": "list", "data": models})

    def _file(self, request: Request) -> Response:
        data = self._files.get(request.path.rpartition("/")[2].partition(".")[0])
        return error(404, "No such file") if data is None else Response(200, data, content_type="image/png")

    def keep(self, data: bytes) -> str:
        """Store bytes under ``/files/`` and return their URL; the oldest go where bodies go too."""
        name = hashlib.sha256(data).hexdigest()
        self._files[name] = data
        if not self._bodies and len(self._files) > _MOST_FILES:
            del self._files[next(iter(self._files))]
        return f"{self.root}/files/{name}.png"

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._connection(reader, writer))
            connections.add(task)
            task.add_done_callback(connections.discard)

        try:
            server = await asyncio.start_server(connected, "127.0.0.1", self._port, backlog=1024)
        except OSError as failure:
            self._failure = failure
            ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._stop.wait()
        server.close()
        for task in list(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)
        await server.wait_closed()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while (request := await read_request(reader)) is not None:
                if not await self._exchange(request, writer):
                    break
        except Malformed as problem:
            answer = error(400, str(problem))
            writer.write(answer.head(len(answer.content()), close=True) + answer.content())
        except (ConnectionError, asyncio.IncompleteReadError, ValueError):
            pass
        finally:
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def _exchange(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection lives on."""
        route = self._route(request)
        rule: Misbehaviour | None = None
        if route is None:
            answer = error(404, f"No route for {request.method} {request.path}")
        else:
            request.kind, request.model, request.at = route.kind, route.model(request), time.monotonic()
            self.received.append(request)
            refusal = self._refuse(request)
            if refusal is None:
                rule = self._rules.meet(request.kind, request.model, _format(request))
            answer = refusal or await self._answer(request, route, rule)
        if not self._bodies:
            request.forget()
        if rule is not None and rule.kind in _BROKEN:
            await _break(rule, answer, writer)
            return False
        close = request.headers.get("connection", "").lower() == "close"
        content = answer.content()
        request.status = answer.status  # before the client can see the answer
        writer.write(answer.head(len(content), close=close) + content)
        await writer.drain()
        return not close

    def _route(self, request: Request) -> _Route | None:
        routes = (r for r in self._routes if r.method == request.method)
        return next((r for r in routes if request.path.startswith(r.prefix)), None)

    def _refuse(self, request: Request) -> Response | None:
        if request.kind == "files":
            return None
        if self.key is not None and request.secret != self.key:
            return general(Misbehaviour("unauthorized"), request)
        if self.models is not None and request.model is not None and request.model not in self.models:
            return general(Misbehaviour("unknown_model"), request)
        wait = self._limit.wait(time.monotonic()) if self._limit and request.method == "POST" else 0.0
        if wait > 0:
            return general(Misbehaviour("rate_limit", options={"retry_after": f"{wait:.3f}"}), request)
        return None

    async def _answer(self, request: Request, route: _Route, rule: Misbehaviour | None) -> Response:
        if rule is not None and rule.general and rule.kind not in (*_BROKEN, "slow"):
            return general(rule, request)
        low, high = self.latency if isinstance(self.latency, tuple) else (self.latency, self.latency)
        slow, wait = rule is not None and rule.kind == "slow", self._random.uniform(low, high)
        if rule is not None and slow:
            wait = float(rule.options.get("seconds", 1.0))
        if wait > 0 and request.method == "POST":
            await asyncio.sleep(wait)
        if rule is not None and rule.kind in {"silent", "reset"}:
            return Response()
        request.misbehaviour = rule
        answer = route.handler(request)
        return await answer if inspect.isawaitable(answer) else answer


_BROKEN = frozenset({"silent", "reset", "truncate", "drip"})
_DEFAULT_JUDGE = Judge()


async def _break(rule: Misbehaviour, answer: Response, writer: asyncio.StreamWriter) -> None:
    content = answer.content()
    match rule.kind:
        case "silent":
            await asyncio.Event().wait()
        case "reset":
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        case "truncate":
            keep = int(len(content) * float(rule.options.get("keep", 0.5)))
            writer.write(answer.head(len(content)) + content[:keep])
            await writer.drain()
        case "drip":
            writer.write(answer.head(len(content)))
            for at in range(len(content)):
                writer.write(content[at : at + 1])
                await writer.drain()
                await asyncio.sleep(float(rule.options.get("every", 0.05)))


def _text_in(body: Any, name: str) -> str | None:
    text = body.get(name) if isinstance(body, dict) else None
    return text if isinstance(text, str) else None


def _format(request: Request) -> str | None:
    return _text_in(request.body.get("response_format"), "type") if isinstance(request.body, dict) else None
