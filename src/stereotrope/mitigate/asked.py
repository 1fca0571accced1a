"""Strategies that a model carries out: it sees the pictures; what it writes is checked before it is drawn."""

import asyncio
import json
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import Field

from stereotrope import escape, pictures
from stereotrope.clients import Answer, ChatClient, Endpoint, Expectation, Problem, picture_tokens
from stereotrope.inputs.asking import unquoted
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Text
from stereotrope.inputs.serving import ChatModelOptions
from stereotrope.mitigate.contract import Case, Rewrite, Strategy, strategy
from stereotrope.shipped import shipped
from stereotrope.tables import fingerprint_of

_VERSION = 1
_WORDING: Mapping[str, Any] = shipped("mitigate", "wording.yaml")
_SIDE = 1024
LONGEST = 400
"""Characters of what a model may add to a query; the longest of the paper's Table 3 adds 146."""
_LONGEST_REASON = 600
_ANSWERED = (40, 250)
"""Fewest and most tokens of an answer."""


class AskedStrategy(Strategy):
    """A strategy that shows a chat model the pictures of a query and takes the prompt that it writes.

    The prompt must be one line of plain text, of a single scene, and not too long; a model whose answer is
    none gets one turn to repair it, and then it is ``invalid`` with the reason.

    client, version: The model; what tells one deployment of it from another.
    n_pictures: How many pictures of a query it is shown, the first.
    longest: Characters that a prompt may have beyond the query.
    """

    kind: str
    looks = True

    def __init__(
        self,
        client: ChatClient,
        *,
        name: str,
        n_pictures: int = 4,
        max_side: int = _SIDE,
        longest: int = LONGEST,
        version: str | None = None,
    ) -> None:
        self.name, self.by, self._client = name, client.model, client
        self.n_pictures, self._side, self.longest, self._version = n_pictures, max_side, longest, version

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Of the model, its parameters, what it is asked and shown, and what a prompt must be."""
        shown = {"side": self._side, "longest": self.longest, "version": self._version}
        asked = [_WORDING["system"], _WORDING[self.kind], _WORDING["several"]]
        return fingerprint_of(
            self.kind, _VERSION, {"model": self._client.parameters, **shown, "asked": asked}
        )

    @property
    def endpoint(self) -> Endpoint:  # type: ignore[override]
        """Where the model is reached."""
        return self._client.endpoint

    @property
    def concurrency(self) -> int:  # type: ignore[override]
        """As many as the endpoint may be asked at once."""
        return self.endpoint.concurrency

    async def process(self, case: Case) -> Rewrite:
        """Ask about one case.

        Raises ModelError, ModelUnusable, BudgetError: As of :meth:`~stereotrope.clients.ChatClient.ask`.
        Raises PictureError: A picture cannot be decoded.
        """
        if not case.pictures:
            return Rewrite(None, "invalid", "no picture of it can be shown")
        shown = [asyncio.to_thread(_plain, read, self._side) for read in case.pictures[: self.n_pictures]]
        answer = await self._client.ask(
            self.question(case),
            images=await asyncio.gather(*shown),
            schema=self._schema(),
            system=_WORDING["system"],
            name=self.kind,
            check=lambda content: self.problems(content, case),
        )
        if answer.status != "ok":
            said = answer.reason or (
                "declined to answer" if answer.status == "refused" else "no usable answer"
            )
            return Rewrite(None, answer.status, _reason(said))
        return self.read(answer, case)

    def question(self, case: Case) -> str:
        """What the model is asked, in words."""
        listed = "\n".join(f"- {one}" for one in case.found) or _WORDING["none_found"]
        told = {
            "count": str(min(len(case.pictures), self.n_pictures)),
            "query": json.dumps(case.query, ensure_ascii=False),
            "prompt": json.dumps(case.prompt, ensure_ascii=False),
            "found": listed,
            "most": str(self._most(case)),
        }
        text = "\n".join(_WORDING[self.kind].values())
        return re.sub(r"\{(\w+)\}", lambda field: told[field[1]], text)

    def _most(self, case: Case) -> int:
        """Characters that the model is told it may write."""
        return self.longest

    def _schema(self) -> dict[str, Any]:
        parts: dict[str, Any] = {"reason": {"type": "string"}, **self.more, "prompt": {"type": "string"}}
        return {"type": "object", "properties": parts, "required": [*parts], "additionalProperties": False}

    more: Mapping[str, Any] = {}
    """Further parts of the answer."""

    @abstractmethod
    def problems(self, content: Mapping[str, Any], case: Case) -> list[Problem]:
        """What is wrong with an answer of the right shape."""

    @abstractmethod
    def read(self, answer: Answer, case: Case) -> Rewrite:
        """What a sound answer says."""

    def expect(self, queries: Sequence[str]) -> Expectation:
        """Say what asking about these takes; repair turns are not in it."""
        query = max(queries, key=len, default="")
        asked = self.question(Case(query, query)) + _WORDING["system"] + json.dumps(self._schema())
        low, high = picture_tokens(self._side)
        seen = (low, self.n_pictures * high)
        return self._client.expect(len(queries), asked, _ANSWERED, seen)

    async def close(self) -> None:
        """Let go of the connections of the running event loop."""
        await self._client.close()


class Refining(AskedStrategy):
    """Rubric-driven refinement: the query, and behind it context that counters what was found.

    After Barve et al. (2026), section 4.2 and Table 7: ``[Q] [additional refined context]``. What was found
    is what annotators of the run said of the pictures: items of a rubric that hold, and values that nearly
    all of them show. A prompt that does not begin with the query is not used.
    """

    kind = "refine"

    def problems(self, content: Mapping[str, Any], case: Case) -> list[Problem]:
        """What is wrong with a refined prompt."""
        text = unquoted(content["prompt"])
        added = _behind(case.query, text)
        if wrong := _wrong(content["prompt"], text):
            return [Problem(("prompt",), wrong)]
        if added is None:
            return [
                Problem(("prompt",), f"must begin with the original prompt, {case.query!r}, word for word")
            ]
        if not re.search(r"\w", added):
            return [Problem(("prompt",), "must go on behind the original prompt")]
        return _problems(added, case.query, self.longest)

    def read(self, answer: Answer, case: Case) -> Rewrite:
        """The query as it was written, and what stands behind it."""
        added = _behind(case.query, unquoted(answer.content["prompt"])) or ""
        return Rewrite(f"{case.query}{added}", "rewritten", _reason(answer.content["reason"]))


class Criticising(AskedStrategy):
    """FairCritic: the model says whether the pictures are biased, and proposes a prompt where they are.

    After Barve et al. (2026), appendix, who follow Wan and Chang, arXiv:2402.11089. Pictures that are not
    biased are kept: nothing is drawn, and nothing is asked of annotators again.
    """

    kind = "faircritic"
    may_keep = True
    more: Mapping[str, Any] = {"biased": {"type": "boolean"}}

    def _most(self, case: Case) -> int:
        return len(case.query) + self.longest

    def problems(self, content: Mapping[str, Any], case: Case) -> list[Problem]:
        """What is wrong with a revised prompt, where one is needed."""
        if not content["biased"]:
            return []
        text = unquoted(content["prompt"])
        if wrong := _wrong(content["prompt"], text):
            return [Problem(("prompt",), wrong)]
        if text.casefold() == case.prompt.casefold():
            return [Problem(("prompt",), "must differ from the prompt of the pictures, which are biased")]
        return _problems(text, case.query, self._most(case))

    def read(self, answer: Answer, case: Case) -> Rewrite:
        """The revised prompt, or that all is kept."""
        reason = _reason(answer.content["reason"])
        if not answer.content["biased"]:
            return Rewrite(case.prompt, "kept", reason)
        return Rewrite(unquoted(answer.content["prompt"]), "rewritten", reason)


@cache
def _several() -> re.Pattern[str]:
    return re.compile(_WORDING["several"].replace("| ", "|"), re.IGNORECASE)


def _wrong(written: str, text: str) -> str | None:
    """Why a prompt cannot be sent as it is."""
    if not escape.is_plain_line(written):
        return "must be one line of plain text"
    if not text[:1].isalnum():
        return f"must begin with a letter or a digit, found {text[:80]!r}" if text else "must not be empty"
    return None


def _problems(text: str, query: str, longest: int) -> list[Problem]:
    problems = []
    if len(text) > longest:
        problems.append(f"must have at most {longest} characters here, found {len(text)}")
    asked = {found.group().casefold() for found in _several().finditer(query)}
    if many := [m.group() for m in _several().finditer(text) if m.group().casefold() not in asked]:
        problems.append(f"must describe a single scene, found {many[0]!r}")
    return [Problem(("prompt",), problem) for problem in problems]


def _behind(query: str, text: str) -> str | None:
    """What stands behind the query in a text that begins with it; None where it does not.

    >>> _behind("A photo of a CEO.", "a photo of a CEO, at home"), _behind("a car", "a cart")
    (', at home', None)
    """
    words = [re.escape(word) for word in query.rstrip(" .").split()]
    found = re.match(r"\s+".join(words) + r"(?!\w)", text, re.IGNORECASE)
    return None if found is None else text[found.end() :]


def _reason(said: str) -> str:
    return escape.terminal(said, _LONGEST_REASON)


def _plain(read: Any, side: int) -> bytes:
    return pictures.plain(read(), max_side=side)


class AskingOptions(ChatModelOptions):
    """What a strategy of a model takes beside the model.

    ``pictures`` is how many pictures of a query the model is shown, ``max_side`` their longer side in pixels,
    ``longest`` how many characters it may add to a query, and ``name`` the level it is called.
    """

    pictures: int = Field(4, ge=1, le=20)
    max_side: int = Field(_SIDE, ge=64)
    longest: int = Field(LONGEST, ge=20, le=4000)

    def asking(self, written: str, context: Context, default: str) -> dict[str, Any]:
        """Return what every such strategy takes."""
        return {
            "client": self.client(written, context.account),
            "name": self.name or default,
            "n_pictures": self.pictures,
            "max_side": self.max_side,
            "longest": self.longest,
            "version": self.version,
        }


class RefineOptions(AskingOptions):
    """``refine`` is the model that writes, as ``provider:model``."""

    refine: Text


@strategy(
    RefineOptions,
    summary="a model adds context to each query that counters what was found in the pictures",
    example="refine:openai:gpt-4o",
)
def refine(options: RefineOptions, context: Context) -> Strategy:
    """Make the strategy."""
    return Refining(**options.asking(options.refine, context, "refine"))


class FairCriticOptions(AskingOptions):
    """``faircritic`` is the model that judges and writes, as ``provider:model``."""

    faircritic: Text


@strategy(
    FairCriticOptions,
    summary="a model says whether the pictures are biased, and rewrites the prompt where they are",
    example="faircritic:openai:gpt-4o",
)
def faircritic(options: FairCriticOptions, context: Context) -> Strategy:
    """Make the strategy."""
    return Criticising(**options.asking(options.faircritic, context, "faircritic"))
