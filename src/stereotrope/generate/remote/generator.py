"""What every remote generator does: calls, batches, refusals, prices."""

import asyncio
import hashlib
import json
import re
import time
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Annotated, Any, ClassVar

import polars as pl
from pydantic import BeforeValidator, Field

from stereotrope.clients import (
    Account,
    Caller,
    Expectation,
    HttpClient,
    Refusal,
    expectation,
    fetch,
    fit_to_keep,
    redact,
)
from stereotrope.errors import BudgetError, ModelError, ModelMisconfigured, StereotropeError, UsageError
from stereotrope.generate.contract import Generator, ImageRequest, ImageResult
from stereotrope.generate.remote.answer import BLACK, EMPTY, ImageReply, Slot, condition_of
from stereotrope.inputs.options import Text
from stereotrope.inputs.serving import ModelOptions
from stereotrope.pictures import MAX_BYTES

Send = Callable[[], Awaitable[ImageReply]]
_LOOKED_AT = 10_000
_CHARACTERS_A_TOKEN = (6, 3)
"""Of an English prompt, at most and at least; only for the range a plan states."""


def _seed(value: Any) -> Any:
    if value is not None and not isinstance(value, bool):
        raise ValueError("must be true or false; seeds are numbered from the audit's `seed:`")
    return value


class ImageModelOptions(ModelOptions):
    """A model behind a server, by ``provider:model``.

    name: In the ``generator`` column; the model's where None.
    batch: Pictures a call.
    seed, negative: Whether a seed and a negative prompt are sent; None leaves it to the adapter.
    version: Tells one deployment of a model from another; part of the fingerprint.
    """

    slips: ClassVar[Mapping[str, str]] = {
        "model": "did you mean 'images'?",
        **dict.fromkeys(("n", "num_images", "sampleCount"), "did you mean 'batch'?"),
        **dict.fromkeys(("negative_prompt", "negativePrompt"), "did you mean 'negative'?"),
    }
    decided: ClassVar[Mapping[str, str]] = {
        "prompt": "the prompt comes from the design; remove it",
        "seed": "seeds are numbered from the audit's `seed:`; remove it",
        **dict.fromkeys(("n", "sampleCount"), "`batch:` says how many pictures a call brings; remove it"),
        "stream": "answers are read whole; remove it",
    }

    images: Text
    batch: int = Field(1, ge=1)
    seed: Annotated[bool | None, BeforeValidator(_seed)] = None
    negative: bool | None = None


class _Damaged(ModelError):
    """A picture that did not arrive, or not whole."""


class RemoteGenerator(Generator):
    """A text-to-image model behind an HTTP endpoint.

    An adapter gives ``_path`` and ``_body`` of a call, and :meth:`read`; :class:`~stereotrope.clients.Caller`
    limits, retries, accounts and classifies. A refusal is a result; a picture that is cut, broken or words is
    asked for once more and then a :class:`~stereotrope.errors.ModelError`, so that the next run asks again.

    fingerprint: Covers provider, model, parameters, ``version`` and whether negative prompts are sent.
    takes_negative: Whether the request's negative prompt is sent.
    """

    _path: str

    most_at_once: ClassVar[int] = 1
    """Pictures one call can bring at most."""
    missing_is_refused: ClassVar[bool] = False
    """Whether fewer pictures than asked for mean that the others were filtered."""

    def __init__(self, options: ImageModelOptions, account: Account) -> None:
        served = options.served(options.images)
        self.options = options
        self.provider, self.model, self.parameters = served.provider, served.model, served.parameters
        self.endpoint, self.price = served.endpoint, served.price
        self.name = options.name or served.model
        self.concurrency = served.endpoint.concurrency
        self.seeded = self._seeded()
        self.takes_negative = self._takes_negative()
        self.batch = options.batch
        self._refuse_batch()
        self.note = "; ".join(self._notes()) or None
        self.fingerprint = self._fingerprint()
        self.caller = Caller(self.endpoint, self.model, kind="image", account=account, price=self.price)
        most = self.batch * (MAX_BYTES * 4 // 3) + 2**20  # pictures in base64, and words beside them
        self._http = HttpClient(self.endpoint, key_header=self._key_header(), most_bytes=most)

    def _seeded(self) -> bool:
        """Whether seeds are sent."""
        return self.options.seed is not False

    def _takes_negative(self) -> bool:
        """Whether negative prompts are sent."""
        return self.options.negative is True

    def _key_header(self) -> str | None:
        """Header of the key; None for a bearer token."""
        return None

    @abstractmethod
    def _body(self, text: str, negative: str | None, seed: int | None, count: int) -> dict[str, Any]:
        """The body of a call for ``count`` pictures of one prompt."""

    @staticmethod
    @abstractmethod
    def read(answer: Any) -> ImageReply:
        """Read the answer to a call.

        Raises ErrorReply, ModelError: As :func:`~stereotrope.generate.remote.answer.held`.
        """

    def _sender(self, text: str, negative: str | None, seed: int | None, count: int) -> Send:
        """What makes one HTTP attempt."""

        async def send() -> ImageReply:
            return self.read(await self._http.post(self._path, self._body(text, negative, seed, count)))

        return send

    def _amend(self, message: str) -> bool:
        """Whether what makes attempts now asks otherwise, after a server rejected what ours adds."""
        return False

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._http.close()

    def check(self, text: str, negative: str | None = None) -> str | None:
        """Say why no picture can be had for a prompt; None where it can."""
        if not text.strip():
            return "a remote model cannot be asked for an empty prompt; write one"
        if negative and not self.takes_negative:
            return (
                f"{self.provider}:{self.model} takes no negative prompt, the design has one; leave it out of "
                "the prompts, or write `negative: true` if this deployment takes one"
            )
        return None

    def expect(self, requests: pl.DataFrame) -> Expectation:
        """Say what calls, money and time these requests will take; nothing is asked."""
        alike = requests.group_by("text", "negative", "seed", maintain_order=True).len()
        calls = [(len(text or ""), -(-n // self.batch)) for text, n in alike.select("text", "len").rows()]
        low, high = (sum(-(-size // a_token) * n for size, n in calls) for a_token in _CHARACTERS_A_TOKEN)
        n_calls, n_images = sum(n for _, n in calls), requests.height
        return expectation(
            self.endpoint, self.price, calls=n_calls, input_tokens=(low, high), images=n_images
        )

    async def process(self, request: ImageRequest) -> ImageResult:
        """Ask for one picture."""
        (outcome,) = await self._draw([request])
        if isinstance(outcome, StereotropeError):
            raise outcome
        return outcome

    async def process_batch(self, requests: Sequence[ImageRequest]) -> list[ImageResult | StereotropeError]:
        """Ask for several pictures, those of one prompt in calls of ``batch``.

        An empty place of an answer is that request's refusal. A batch that is refused as a whole is asked for
        again one picture at a time: on some endpoints one filtered picture refuses the others with it.

        Returns: One outcome a request, in their order; a failure is that request's exception.
        """
        alike: dict[tuple[Any, ...], list[int]] = {}
        for index, request in enumerate(requests):
            alike.setdefault((request.text, request.negative, request.seed), []).append(index)
        chunks = [
            chosen[start : start + self.batch]
            for chosen in alike.values()
            for start in range(0, len(chosen), self.batch)
        ]
        drawn = await asyncio.gather(*(self._drawn([requests[i] for i in chunk]) for chunk in chunks))
        outcomes = dict(zip(chain(*chunks), chain(*drawn), strict=True))
        return [outcomes[index] for index in range(len(requests))]

    async def _drawn(
        self, requests: Sequence[ImageRequest], *, again: bool = True
    ) -> list[ImageResult | StereotropeError]:
        try:
            return await self._draw(requests, again=again)
        except (ModelError, BudgetError, UsageError) as error:
            return [error] * len(requests)

    async def _draw(
        self, requests: Sequence[ImageRequest], *, again: bool = True
    ) -> list[ImageResult | StereotropeError]:
        """Make one call for requests of one prompt, and singles for what it left open or broken."""
        first, count = requests[0], len(requests)
        reply = await self._call(first, count)
        if isinstance(reply, Refusal):
            if count > 1:
                return await self._singly(requests)
            return [ImageResult(None, "refused", self._words(reply.reason))]
        slots = reply.slots[:count]
        if self.missing_is_refused:
            slots = (*slots, *[Slot(refusal=EMPTY)] * (count - len(slots)))
        if count > 1 and all(slot.refusal is not None for slot in slots):
            return await self._singly(requests)
        cost = self._share(reply, slots)
        outcomes = list(await asyncio.gather(*(self._result(slot, reply.seconds, cost) for slot in slots)))
        for index, outcome in enumerate(outcomes):
            if again and (isinstance(outcome, _Damaged) or (count > 1 and slots[index].failure is not None)):
                (outcomes[index],) = await self._drawn([requests[index]], again=False)
        return outcomes + await self._singly(requests[len(slots) :])

    async def _singly(self, requests: Sequence[ImageRequest]) -> list[ImageResult | StereotropeError]:
        singles = await asyncio.gather(*(self._drawn([request]) for request in requests))
        return [outcome for (outcome,) in singles]

    async def _call(self, request: ImageRequest, count: int) -> ImageReply | Refusal:
        reason = self.check(request.text or "", request.negative)
        if reason is not None:
            raise UsageError(f"generator {self.name!r}: {reason}")
        self.endpoint.secret()  # a missing key ends it here, before anything is begun
        seed = request.seed if self.seeded else None
        send = self._sender(request.text or "", request.negative, seed, count)

        async def timed() -> ImageReply:
            began = time.monotonic()
            return replace(await send(), seconds=time.monotonic() - began)

        amended = False

        def amend(message: str) -> bool:
            nonlocal amended
            amended = not amended and self._amend(message)
            return amended

        try:
            return await self.caller.exchange(
                timed, usage=lambda reply: reply.usage, images=count, amend=amend
            )
        except ModelError as error:
            self._refuse_parameter(str(getattr(error, "about", "")), request)
            raise

    def _refuse_parameter(self, message: str, request: ImageRequest) -> None:
        """End it where a server rejects what every request carries: no other one would do better."""
        ways = dict.fromkeys(self.parameters, "remove it, or correct its value")
        if self.seeded:
            ways["seed"] = "write `seed: false`"
        if request.negative and self.takes_negative:
            ways["negative_prompt"] = "leave it out of the prompts"
        for name, way in ways.items():
            if re.search(rf"""['"`]{re.escape(name)}['"`]|\binput\.{re.escape(name)}\b""", message):
                raise ModelMisconfigured(f"{self.provider}:{self.model} rejects {name!r} ({message}); {way}")

    async def _result(self, slot: Slot, seconds: float, cost: float | None) -> ImageResult | StereotropeError:
        revised = fit_to_keep(slot.revised_prompt or "", self.endpoint.secret() or "") or None
        if slot.refusal is not None:
            return ImageResult(None, "refused", self._words(slot.refusal), revised, seconds)
        if slot.failure is not None:
            return ModelError(f"{self.provider}:{self.model}: no picture: {self._words(slot.failure)}")
        try:
            data = slot.data or await self._fetched(slot.url or "")
        except ModelError as error:
            return ModelError(self._words(str(error)))
        condition = await asyncio.to_thread(condition_of, data)
        if condition == "black":
            return ImageResult(None, "refused", BLACK, revised, seconds, cost)
        if condition is not None:
            came = "came cut or broken"
            if condition == "words":
                came = f"came as words: {self._words(data[:_LOOKED_AT].decode('utf-8', 'replace'))}"
            return _Damaged(
                f"{self.provider}:{self.model}: a picture must arrive whole, this one {came}; run the same "
                "command again to ask for it once more"
            )
        return ImageResult(data, "ok", None, revised, seconds, cost)

    async def _fetched(self, url: str) -> bytes:
        return await fetch(url, allow_local=self.endpoint.is_local, most_bytes=MAX_BYTES)

    def _share(self, reply: ImageReply, slots: Sequence[Slot]) -> float | None:
        """Share of the call's cost that each of its pictures bears."""
        pictures = sum(slot.is_picture for slot in slots)
        if self.price is None or not pictures:
            return None
        usage = reply.usage
        cost = self.price.cost(usage.input_tokens, usage.output_tokens, usage.images)
        return None if cost is None else cost / pictures

    def _words(self, reason: str) -> str:
        return redact(reason, self.endpoint.secret() or "")

    def _refuse_batch(self) -> None:
        if self.batch > self.most_at_once:
            raise UsageError(
                f"generator {self.name!r}: one call to {self.provider}:{self.model} brings at most "
                f"{self.most_at_once} picture{'s' if self.most_at_once > 1 else ''}, `batch` is "
                f"{self.batch}; lower it"
            )
        if self.batch > 1 and self.seeded:
            raise UsageError(
                f"generator {self.name!r}: pictures of one call share one seed, so `batch` needs "
                "`seed: false`; add it, or ask for one picture a call"
            )

    def _notes(self) -> Iterator[str]:
        if not self.seeded:
            yield "takes no seed: pictures of one prompt differ by chance and cannot be drawn again"
        if not self.takes_negative:
            yield "takes no negative prompt"

    def _fingerprint(self) -> str:
        content = {
            "provider": self.provider,
            "model": self.model,
            "parameters": {k: v for k, v in self.parameters.items() if (k, v) != ("response_format", None)},
            "negative": self.takes_negative,
            "version": self.options.version,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.provider}:{self.model}, name={self.name!r})"
