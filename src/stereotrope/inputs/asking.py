"""Asking a chat model about texts: each question once, its answer held to a schema and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import polars as pl

from stereotrope.clients import Account, ChatClient, Endpoint, Expectation, Problem
from stereotrope.errors import UsageError
from stereotrope.escape import plain_line
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Options, Text, options_of, shorten
from stereotrope.inputs.serving import ChatModelOptions

_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "„": "“", "«": "»"}
STAGE = "design"
"""Name of the outcomes in the ledger."""


class Asking(Protocol):
    """Has an instrument asked, and keeps what it says."""

    def __call__(
        self,
        instrument: Any,
        items: Mapping[str, Any],
        *,
        then: Sequence[tuple[Any, Sequence[Any]]] = (),
    ) -> Mapping[str, Mapping[str, Any]]:
        """Return the outcomes of all items by their content key.

        instrument: Has ``stage``, ``name``, ``fingerprint``, ``batch``, ``concurrency`` and ``process(item)``
            (with a ``batch`` above 1 ``process_batch(items)``); ``payload(result)`` is what is kept, and
            ``expect(items)`` what asking about them takes.
        then: Instruments that are asked with what comes out, each with items such as these, as many as there
            may be at most: for a plan.
        """


class MadeFile(NamedTuple):
    """What a file is to hold, None where it is complete as it is; and what there is to say of it.

    rows: Those of a table, or the whole text of a file that is none.
    """

    rows: pl.DataFrame | str | None
    notes: tuple[str, ...] = ()


class FileMaker(Protocol):
    """A file that people may edit, named by an entry, and what makes it before an audit runs.

    path, written: The file, and as the audit file names it.
    """

    path: Path
    written: str

    def make(self, prompts: pl.DataFrame, ask: Asking, /) -> MadeFile:
        """Make the file for the prompts, or put in what it lacks."""


class MakingOptions(Options):
    """Options of an entry that may name such a file."""

    def makes(self, context: Context) -> FileMaker | None:
        """Return it; None where the entry names none."""
        raise NotImplementedError


@dataclass(frozen=True)
class TextQuestion:
    """A question about a text.

    schema: Of the answer, a JSON object.
    check: Says what is wrong with an answer of the right shape.
    answered: Fewest and most tokens of the answer.
    """

    text: str
    schema: Mapping[str, Any]
    system: str | None = None
    check: Callable[[Any], Sequence[Problem]] | None = None
    answered: tuple[int, int] = (5, 30)


class TextAsker:
    """Asks a chat model about texts.

    version: Tells one deployment of a model from another.
    """

    stage = STAGE
    batch = 1

    def __init__(self, client: ChatClient, name: str, version: str | None = None) -> None:
        self.name, self._client, self._version = name, client, version

    @property
    def fingerprint(self) -> str:
        """Model, parameters and version, as text."""
        return json.dumps([self._client.parameters, self._version], sort_keys=True)

    @property
    def endpoint(self) -> Endpoint:
        """Where the model is reached."""
        return self._client.endpoint

    @property
    def concurrency(self) -> int:
        """As many as the endpoint may be asked at once."""
        return self.endpoint.concurrency

    def key_of(self, question: TextQuestion) -> str:
        """Content key of a question to this model."""
        asked = [self.fingerprint, question.system, question.text, question.schema]
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    async def process(self, question: TextQuestion) -> dict[str, Any]:
        """Ask one question: ``status`` (ok, refused, invalid), ``content`` and ``reason``.

        Raises ModelError: The server did not answer; the question can be asked again later.
        Raises ModelUnusable: No request to it can succeed.
        Raises BudgetError: The cap on what calls may cost is reached.
        """
        answer = await self._client.ask(
            question.text, schema=question.schema, system=question.system, check=question.check
        )
        content = answer.content if answer.status == "ok" else None
        return {"status": answer.status, "content": content, "reason": answer.reason}

    def payload(self, result: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the ledger keeps."""
        return result

    def expect(self, questions: Sequence[TextQuestion]) -> Expectation:
        """Say what asking takes."""
        texts = [f"{q.system or ''}{q.text}{json.dumps(q.schema)}" for q in questions]
        mean = " " * (sum(map(len, texts)) // max(len(texts), 1))
        answered = questions[0].answered if questions else (0, 0)
        return self._client.expect(len(questions), mean, answered)

    async def close(self) -> None:
        """Let go of the connections of the running event loop."""
        await self._client.close()

    def ask_all(self, questions: Sequence[TextQuestion], ask: Asking) -> list[Mapping[str, Any]]:
        """The outcome of each question, in their order."""
        keys = [self.key_of(question) for question in questions]
        found = ask(self, dict(zip(keys, questions, strict=True)))
        return [found[key] for key in keys]


def unquoted(text: str) -> str:
    """An answer as a plain line, without quotes that stand around the whole.

    >>> unquoted(' “A photo  of a CEO, at home.” ')
    'A photo of a CEO, at home.'
    >>> unquoted('a sign that says "boss"'), unquoted('"hi" and "bye"'), unquoted("'the boss' desk'")
    ('a sign that says "boss"', '"hi" and "bye"', "the boss' desk")
    """
    line = plain_line(text)
    while len(line) > 1 and _QUOTES.get(line[0]) == line[-1] and not _is_open(line[1:-1], line[0]):
        line = line[1:-1].strip()
    return line


def _is_open(text: str, quote: str) -> bool:
    """Whether a quote that begins in a text does not end in it."""
    depth, closing = 0, _QUOTES[quote]
    for before, sign, after in zip(f" {text}", text, f"{text[1:]} ", strict=False):
        if sign not in (quote, closing) or (before.isalnum() and after.isalnum()):
            continue
        begins = sign == quote != closing or (quote == closing and not (before.isalnum() or after.isspace()))
        depth = depth + 1 if begins else max(depth - 1, 0)
    return depth > 0


class AskedModel(ChatModelOptions):
    """A model that is asked about texts: its name as ``provider:model``, and what else an endpoint takes."""

    model: Text


def text_asker(spec: str | Mapping[str, Any], what: str, account: Account) -> TextAsker:
    """Make what asks a model that an entry names: ``provider:model``, or a mapping with it as ``model``.

    Raises UsageError: The model or an option cannot be used.
    """
    if not isinstance(spec, str | Mapping):
        raise UsageError(f"{what} must be a model, found {shorten(spec)}; write {what}: openai:gpt-4o-mini")
    given = {"model": spec} if isinstance(spec, str) else spec
    options = options_of(AskedModel, given, what, example=f"{what}: openai:gpt-4o-mini")
    client = options.client(options.model, account)
    return TextAsker(client, options.name or client.model, options.version)
