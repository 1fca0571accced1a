"""What a strategy is: it rewrites the prompt of a query, having seen what came of it or not."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from stereotrope.clients import Account, Endpoint, Expectation
from stereotrope.inputs.entries import Context, Entry, entries_of, read_entry
from stereotrope.plugins import Registry, require_facts, require_result

RewriteStatus = Literal["rewritten", "kept", "redrawn", "refused", "invalid"]
REWRITE_STATUSES: tuple[str, ...] = get_args(RewriteStatus)
USABLE = ("rewritten", "kept", "redrawn")
"""Those with a text."""


@dataclass(frozen=True)
class Case:
    """One query, and what one model made of it.

    query: The prompt as it was designed.
    prompt: What the pictures were asked for with: the query, or what an earlier round made of it.
    shas: SHA-256 of the pictures, in their order.
    pictures: What reads their bytes.
    found: What annotators found in the pictures, one sentence each.
    """

    query: str
    prompt: str
    shas: tuple[str, ...] = ()
    pictures: tuple[Callable[[], bytes], ...] = ()
    found: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rewrite:
    """What a strategy made of a case.

    text: The new prompt; the one that there was where it is ``kept`` or ``redrawn``; else None.
    status: ``rewritten``, ``kept`` (nothing is to be changed, and nothing is drawn again), ``redrawn`` (the
        same prompt with other seeds), ``refused`` by a model, or ``invalid``: no prompt came that may be
        used.
    reason: Why, in the words of who says so.
    """

    text: str | None
    status: RewriteStatus = "rewritten"
    reason: str | None = None

    def __post_init__(self) -> None:
        usable = self.status in USABLE
        if self.status not in REWRITE_STATUSES or bool(self.text and self.text.strip()) != usable:
            raise ValueError(
                f"status is one of {', '.join(REWRITE_STATUSES)}, and a text belongs to the first "
                f"{len(USABLE)} alone; found {self.status!r:.40} with {self.text!r:.40}"
            )


class Strategy(ABC):
    """A way of rewriting prompts. Inherit it.

    name: Level of the factor ``mitigation`` of the prompts that it makes.
    fingerprint: Short hash of everything that can change what it makes of a case.
    looks: Whether it depends on what was drawn: then it is asked of each generator, with ``pictures``,
        ``found`` or both, else once a query.
    follows: Level of a strategy carried out before: what that one keeps is kept by this one too.
    may_keep: Whether it may leave prompts and pictures as they are.
    n_pictures: How many pictures of a query it is shown, the first.
    by: Who writes: the name of a model; None for words of its own.
    concurrency: Cases that it may have in hand at once.
    endpoint: Where its model is reached.
    """

    name: str
    fingerprint: str
    looks: bool = False
    follows: str | None = None
    may_keep: bool = False
    n_pictures: int = 4
    by: str | None = None
    concurrency: int = 1
    batch: int = 1
    endpoint: Endpoint | None = None

    @abstractmethod
    def process(self, case: Case) -> Rewrite | Awaitable[Rewrite]:
        """Rewrite the prompt of one case: a function, called from several threads, or a coroutine.

        Raises ModelError: There is no answer; the next run asks again. A refusal is a result.
        """

    def expect(self, queries: Sequence[str]) -> Expectation | None:
        """Say what rewriting these takes, where a server is asked."""
        return None

    def key_of(self, case: Case) -> str:
        """Content key of a case in the ledger."""
        content = [self.fingerprint, case.query, case.prompt, *case.shas, "", *case.found]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def payload(self, result: Rewrite) -> Mapping[str, Any]:
        """What the ledger keeps."""
        return asdict(result)


STRATEGIES: Registry[Entry[Strategy]] = Registry("strategies", "stereotrope.mitigate")
"""Every strategy by its name, ours and other packages'."""

strategy = entries_of(STRATEGIES)
"""Decorator: a function from options and context to a strategy becomes the entry of its name."""

_GIVES = {"process": Rewrite, "expect": Expectation | None, "key_of": str, "payload": Mapping}


def create(
    spec: str | Mapping[str, Any], *, relative_to: Path | str | None = None, account: Account | None = None
) -> Strategy:
    """Make a strategy.

    spec: Its name (``"ethical"``), its name and what stands there (``"suffix:in many styles"``,
        ``"refine:openai:gpt-4o"``), or a mapping with options; ``stereotrope strategies`` lists them.
    relative_to: Folder that relative paths start from; the working directory when None.
    account: What calls to models are booked on; an own one, without a cap, when None.

    Raises UsageError: The name or an option cannot be used; the nearest known one is named.
    """
    entry, options = read_entry(spec, STRATEGIES, "strategy", model="refine")
    context = Context(Path(relative_to or "."), Account() if account is None else account)
    return STRATEGIES.made(entry.name, lambda: entry.make(options, context), Strategy, _checked)


def _checked(one: Strategy, method: str, given: tuple[Any, ...], result: Any) -> Any:
    require_result(_GIVES, method, given, result)
    if method == "make":
        require_facts(one, name=str, fingerprint=str, concurrency=int, batch=int, n_pictures=int)
    if method == "process" and result.status == "kept" and result.text != given[0].prompt:
        raise ValueError(f"what is kept is the prompt as it was last, found {result.text!r:.80}")
    return result
