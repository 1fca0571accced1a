"""Asking a chat model about pictures and getting an answer of a given shape."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from stereotrope.clients.account import Account
from stereotrope.clients.caller import Caller, Refusal
from stereotrope.clients.endpoint import Endpoint
from stereotrope.clients.http import PerLoop, open_client
from stereotrope.clients.prices import Expectation, Price, expectation
from stereotrope.clients.redact import hide, redact
from stereotrope.clients.reply import ChatReply, read_chat_reply
from stereotrope.clients.structured import Problem, confidences_of, read_answer
from stereotrope.errors import ModelMisconfigured, UsageError

if TYPE_CHECKING:
    import openai

_MOST_BYTES = 16 * 2**20
_NO_KEY = "no-key"
RESPONSE_FORMATS = ("json_schema", "json_object", "text")
"""Ways to ask for the shape of an answer, the strictest first; ``text`` sends no ``response_format``."""
_OPTIONS = {"temperature", "max_tokens", "max_completion_tokens", "seed", "logprobs"}
_OURS = {"model", "messages", "response_format", "n", "stream"} | _OPTIONS
_ABOUT_FORMAT = re.compile(
    r"response[_ ]?(format|schema|mime)|json[_ -]?(schema|object|mode|output)|structured|\bschema\b|guided"
    r"|\bgrammar\b|constrained decoding|output[_ ](format|config)",
    re.I,
)
_TOKENS_A_PICTURE = 800
_CHARACTERS_A_TOKEN = 4
_SHOWN = 20
"""Problems that a repair turn and a reason name."""
_SHOWN_AGAIN = 20_000
"""Characters of an answer that its repair turn repeats; they are paid for."""
_KINDS = {
    "png": rb"\x89PNG\r\n\x1a\n",
    "jpeg": rb"\xff\xd8\xff",
    "gif": b"GIF8",
    "webp": rb"(?s)RIFF.{4}WEBP",
}


@dataclass(frozen=True)
class Answer:
    """What a model answered.

    status: ``ok``: holds to the schema. ``refused``: the model declined. ``invalid``: it does not hold to the
        schema, after the one repair turn.
    content: The JSON object; with ``invalid`` as far as there is one.
    confidences: Top-level property → probability of its value's tokens, where the endpoint gives them.
    calls: Turns that were answered: 1, or 2 with the repair turn.
    cost: US dollars of these, None where unknown.
    repaired: Whether it holds to the schema only since the repair turn.
    """

    status: Literal["ok", "refused", "invalid"]
    content: Any = None
    reason: str | None = None
    problems: tuple[Problem, ...] = ()
    confidences: Mapping[str, float] = field(default_factory=dict)
    calls: int = 1
    cost: float | None = None
    repaired: bool = False


class ChatClient:
    """Asks a chat model on an OpenAI-compatible endpoint.

    The shape of the answer is asked for by ``response_format`` (JSON schema, strict). An endpoint that
    rejects that, with whatever status, gets ``json_object``, then the schema in words only; what it takes
    is remembered. One that takes a JSON schema and answers with something else does not hold to it: from
    then on it gets the schema in words besides, as every repair turn does. Either way the answer is held
    to the schema here.

    temperature, seed: None leaves it to the endpoint.
    response_format: The only one of :data:`RESPONSE_FORMATS` to ask by; None finds out what the endpoint
        takes.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        account: Account,
        price: Price | None = None,
        temperature: float | None = 0.0,
        max_tokens: int = 1000,
        seed: int | None = None,
        logprobs: bool = False,
        extra: Mapping[str, Any] | None = None,
        response_format: str | None = None,
    ) -> None:
        ours = sorted(_OURS & (extra or {}).keys())
        if ours:
            raise UsageError(
                f"{endpoint.provider}:{model}: {ours[0]} cannot be among the further parameters; it is set "
                "by stereotrope (temperature, max_tokens and seed have options of their own)"
            )
        self.endpoint, self.model, self.price = endpoint, model, price
        self.temperature, self.max_tokens, self.seed = temperature, max_tokens, seed
        self.extra = dict(extra or {})
        self._caller = Caller(endpoint, model, kind="chat", account=account, price=price)
        self._clients: PerLoop[openai.AsyncOpenAI] = PerLoop(self._open, lambda client: client.close())
        self.response_format = response_format
        self._is_ignored = False
        mode = RESPONSE_FORMATS.index(response_format or RESPONSE_FORMATS[0])
        self._manner = _Manner(mode, "max_tokens", logprobs)

    @property
    def parameters(self) -> dict[str, Any]:
        """What decides the answers and so enters a fingerprint; neither address, limits nor key."""
        set_by_hand = {} if self.response_format is None else {"response_format": self.response_format}
        return {
            "provider": self.endpoint.provider,
            "model": self.model,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "extra": self.extra,
            **set_by_hand,
        }

    async def ask(
        self,
        text: str,
        *,
        images: Sequence[bytes] = (),
        schema: Mapping[str, Any],
        system: str | None = None,
        name: str = "answer",
        check: Callable[[Any], Sequence[Problem]] | None = None,
        by_part: bool = False,
    ) -> Answer:
        """Ask one question and hold the answer to a schema; once more where it does not hold.

        images: PNG, JPEG, WebP or GIF bytes, shown after the text in this order.
        check: Says what is wrong with an answer that holds to the schema, for rules that no schema can say.
        by_part: Whether parts of an answer count where others are wrong: ``check`` is then given every JSON
            object, of whatever shape.
        Raises ModelError, ModelUnusable, BudgetError: As :meth:`Caller.exchange`.
        """
        messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": _content(text, images)})
        tokens = len(text) // _CHARACTERS_A_TOKEN + _TOKENS_A_PICTURE * len(images)
        ask = partial(self._turn, schema=schema, name=name)
        first = await ask(messages, tokens)
        read = partial(self._answer, schema=schema, check=check, by_part=by_part)
        answer = read(first, ())
        if answer.status != "invalid" or isinstance(first, Refusal):
            return answer
        said = hide(first.text, self.endpoint.secret() or "")[:_SHOWN_AGAIN]
        again = [
            *messages,
            {"role": "assistant", "content": said.encode(errors="replace").decode() or "(empty)"},
            {"role": "user", "content": _repair(answer.problems, schema)},
        ]
        second = await ask(again, tokens * 2, is_repair=True)
        repaired = read(second, (first,))
        if repaired.status == "invalid" and repaired.content is None and answer.content is not None:
            return replace(answer, calls=2, cost=repaired.cost)
        return repaired

    def expect(
        self, n: int, question: str, answered: tuple[int, int], seen: tuple[int, int] = (0, 0)
    ) -> Expectation:
        """Say what asking a question ``n`` times takes; repair turns are not in it.

        answered, seen: Fewest and most tokens of an answer, and of the pictures of a question. Of text one is
            counted for 2.5 to 6 characters.
        """
        asked = len(question) // 6, math.ceil(len(question) / 2.5)
        return expectation(
            self.endpoint,
            self.price,
            calls=n,
            input_tokens=(n * (asked[0] + seen[0]), n * (asked[1] + seen[1])),
            output_tokens=(n * answered[0], n * answered[1]),
        )

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._clients.close()

    def _open(self) -> openai.AsyncOpenAI:
        import openai  # noqa: PLC0415

        return openai.AsyncOpenAI(
            api_key=_NO_KEY,  # our own HTTP client puts the key in, as it is when a request is sent
            base_url=self.endpoint.base_url,
            max_retries=0,
            timeout=self.endpoint.timeout,
            http_client=open_client(self.endpoint, most_bytes=_MOST_BYTES),
        )

    def _answer(
        self,
        turn: ChatReply | Refusal,
        before: tuple[ChatReply, ...],
        schema: Mapping[str, Any],
        check: Callable[[Any], Sequence[Problem]] | None,
        by_part: bool,
    ) -> Answer:
        calls = 1 + len(before)
        if isinstance(turn, Refusal):
            return Answer("refused", reason=turn.reason, calls=calls, cost=self._cost(before))
        cost = self._cost((*before, turn))
        if turn.refusal is not None:
            return Answer("refused", reason=turn.refusal, calls=calls, cost=cost)
        reading = read_answer(turn.text, schema, cut=turn.cut, secret=self.endpoint.secret() or "")
        sure = confidences_of(turn.text, turn.tokens)
        confidences = {name: sure[name] for name in reading.content or () if name in sure}
        problems = reading.problems
        if check is not None and (not problems or (by_part and reading.content is not None)):
            problems += tuple(check(reading.content))
        if not problems:
            return Answer("ok", reading.content, None, (), confidences, calls, cost, bool(before))
        reason = "; ".join(str(problem) for problem in problems[:_SHOWN])
        if reading.content is None and turn.text.strip():
            reason = f"{reason}; said: {hide(turn.text, self.endpoint.secret() or '')}"
        reason = redact(reason)
        return Answer("invalid", reading.content, reason, problems, confidences, calls, cost)

    def _cost(self, turns: Sequence[ChatReply]) -> float | None:
        if self.price is None:
            return None
        costs = [self.price.cost(t.usage.input_tokens, t.usage.output_tokens, 0) for t in turns]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    async def _turn(
        self,
        messages: Sequence[dict[str, Any]],
        tokens: int,
        schema: Mapping[str, Any],
        name: str,
        is_repair: bool = False,
    ) -> ChatReply | Refusal:
        """Send one turn, in the first of the ways that the endpoint takes; a repair turn says the schema."""
        manner = self._manner

        async def send() -> ChatReply:
            nonlocal manner
            manner = self._manner
            reply = await self._send(self._body(messages, schema, name, is_repair))
            if RESPONSE_FORMATS[manner.mode] == "json_schema" and _strays(reply, schema):
                self._is_ignored = True
            return reply

        return await self._caller.exchange(
            send,
            usage=lambda reply: reply.usage,
            tokens=tokens,
            amend=lambda about: self._adapt(about, manner),
        )

    def _adapt(self, about: str, sent: _Manner) -> bool:
        """Learn from a rejection what the endpoint takes; False where there is nothing to change."""
        if "max_completion_tokens" in about and sent.limit_name == "max_tokens":
            self._manner = replace(self._manner, limit_name="max_completion_tokens")
            return True
        if "logprob" in about and sent.logprobs:
            self._manner = replace(self._manner, logprobs=False)
            return True
        if not _ABOUT_FORMAT.search(about) or sent.mode == len(RESPONSE_FORMATS) - 1:
            return False
        if self.response_format is not None:
            self._caller.give_up(
                f"does not take `response_format: {self.response_format}`, which its entry sets "
                f"({about.strip()}); leave it out, or write `response_format: text`",
                ModelMisconfigured,
            )
        self._manner = replace(self._manner, mode=max(self._manner.mode, sent.mode + 1))
        return True

    def _body(
        self, messages: Sequence[dict[str, Any]], schema: Mapping[str, Any], name: str, is_repair: bool
    ) -> dict[str, Any]:
        mode = RESPONSE_FORMATS[self._manner.mode]
        with_words = mode != "json_schema" or (self._is_ignored and not is_repair)
        shown = _with_words(messages, schema) if with_words else list(messages)
        body: dict[str, Any] = {"model": self.model, "messages": shown}
        body[self._manner.limit_name] = self.max_tokens
        if self.temperature is not None:
            body["temperature"] = self.temperature
        if self.seed is not None:
            body["seed"] = self.seed
        if self._manner.logprobs:
            body["logprobs"] = True
        if mode == "json_schema":
            shape = {"name": name, "schema": dict(schema), "strict": True}
            body["response_format"] = {"type": mode, "json_schema": shape}
        elif mode == "json_object":
            body["response_format"] = {"type": mode}
        return body

    async def _send(self, body: Mapping[str, Any]) -> ChatReply:
        import httpx2  # noqa: PLC0415

        # `create` would compare every value with the SDK's types first, milliseconds of a request.
        client, asked = self._clients.get(), {**body, **self.extra}
        reply = await client.post("/chat/completions", cast_to=httpx2.Response, body=asked)
        return read_chat_reply(reply.content, self.endpoint.secret() or "")


@dataclass(frozen=True)
class _Manner:
    """How a request was put: what an endpoint may reject, and what is then left out."""

    mode: int
    limit_name: str
    logprobs: bool


def _strays(reply: ChatReply, schema: Mapping[str, Any]) -> bool:
    """Whether a whole answer breaks the schema, which a server that holds a model to it lets none do."""
    is_whole = bool(reply.text.strip()) and not reply.cut and reply.refusal is None
    return is_whole and bool(read_answer(reply.text, schema).problems)


def _with_words(messages: Sequence[dict[str, Any]], schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    words = f"Answer with one JSON object and nothing else. {_in_words(schema)}"
    first = messages[0]
    if first["role"] != "system":
        return [{"role": "system", "content": words}, *messages]
    return [{"role": "system", "content": f"{first['content']}\n\n{words}"}, *messages[1:]]


def _in_words(schema: Mapping[str, Any]) -> str:
    return "It must follow this JSON schema:\n" + json.dumps(schema, ensure_ascii=False)


def _content(text: str, images: Sequence[bytes]) -> str | list[dict[str, Any]]:
    if not images:
        return text
    pictures = [{"type": "image_url", "image_url": {"url": _data_url(image)}} for image in images]
    return [{"type": "text", "text": text}, *pictures]


def _data_url(image: bytes) -> str:
    kind = next((kind for kind, start in _KINDS.items() if re.match(start, image)), None)
    if kind is None:
        raise UsageError("a picture shown to a model must be PNG, JPEG, WebP or GIF; found other bytes")
    return f"data:image/{kind};base64,{base64.b64encode(image).decode()}"


def _repair(problems: Sequence[Problem], schema: Mapping[str, Any]) -> str:
    listed = "\n".join(f"- {problem}" for problem in problems[:_SHOWN])
    return (
        f"That answer cannot be used:\n{listed}\nGive the whole answer again: one JSON object that follows "
        f"the schema, and nothing else. {_in_words(schema)}"
    )
