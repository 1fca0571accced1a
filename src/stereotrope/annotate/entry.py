"""From an entry of an audit file to an annotator that asks a chat model."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stereotrope.annotate.asking import MAX_SIDE
from stereotrope.annotate.attributes import FIXED_ATTRIBUTES, OPEN
from stereotrope.annotate.caption import CaptionAnnotator
from stereotrope.annotate.constraints import ConstraintAnnotator
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.question import QuestionAnnotator
from stereotrope.annotate.taxonomy import Scope, Taxonomy
from stereotrope.annotate.taxonomy_file import read_taxonomies
from stereotrope.clients import (
    ENDPOINT_KEYS,
    RESPONSE_FORMATS,
    Account,
    ChatClient,
    Endpoint,
    Price,
    price_of,
    refuse_secrets,
    split_model,
)
from stereotrope.errors import UsageError

__all__ = ["caption_annotator", "constraint_annotator", "question_annotator"]

_LOOK = ("name", "max_side", "order_seed", "version")
_QUESTIONS = (*_LOOK, "attributes", "subject", "discover", "taxonomy")
_CAPTION = ("name", "max_side", "version")
_CHAT = ("temperature", "max_tokens", "seed", "logprobs", "price", "parameters", "response_format")
_NEAR = 0.8
"""Likeness from which an unknown key is taken for a slip and not for a parameter of the model."""
_NEVER = frozenset(("messages", "model", "n", "response_format", "stream", "stream_options", "tools"))
"""Parameters that decide what is asked and how it is answered, which is ours."""


def question_annotator(
    spec: Mapping[str, Any], *, relative_to: Path | str | None, account: Account | None
) -> QuestionAnnotator:
    """Make the annotator of ``{questions: PROVIDER:MODEL, …}``.

    Raises
    ------
    UsageError
        An option cannot be used.
    InputError
        The file of taxonomies cannot be used.
    """
    entry = _Entry("questions", spec, _QUESTIONS)
    discover = entry.flag("discover")
    file = entry.text("taxonomy")
    if discover and file is not None:
        raise entry.error("give `discover: true` or a `taxonomy:` file, not both; remove one")
    return QuestionAnnotator(
        entry.client(account),
        name=entry.name(default="{model}"),
        attributes=_attributes(entry),
        subject=entry.text("subject"),
        order_seed=entry.whole("order_seed", 0, least=0),
        max_side=entry.whole("max_side", MAX_SIDE, least=64),
        version=entry.text("version"),
        discover=discover,
        taxonomies=_taxonomies(file, relative_to),
    )


def constraint_annotator(spec: Mapping[str, Any], *, account: Account | None) -> ConstraintAnnotator:
    """Make the annotator of ``{constraints: PROVIDER:MODEL, …}``.

    Raises
    ------
    UsageError
        An option cannot be used.
    """
    entry = _Entry("constraints", spec, _LOOK)
    return ConstraintAnnotator(
        entry.client(account),
        name=entry.name(default="{model} constraints"),
        order_seed=entry.whole("order_seed", 0, least=0),
        max_side=entry.whole("max_side", MAX_SIDE, least=64),
        version=entry.text("version"),
    )


def caption_annotator(spec: Mapping[str, Any], *, account: Account | None) -> CaptionAnnotator:
    """Make the annotator of ``{caption: PROVIDER:MODEL, …}``.

    Raises
    ------
    UsageError
        An option cannot be used.
    """
    entry = _Entry("caption", spec, _CAPTION)
    return CaptionAnnotator(
        entry.client(account),
        name=entry.name(default="{model} captions"),
        max_side=entry.whole("max_side", MAX_SIDE, least=64),
        version=entry.text("version"),
    )


def _attributes(entry: _Entry) -> Attributes:
    given = entry.options.get("attributes")
    if given is None:
        return FIXED_ATTRIBUTES
    if not isinstance(given, Mapping):
        raise entry.error(
            f"'attributes' must be a mapping, found {_short(given)}; write "
            "{body_type: [sedan, SUV], rim_colour: open}"
        )
    for name, values in given.items():
        if values is None:
            raise entry.error(f"attributes: {_short(name)} has no values; list them, or write {OPEN}")
    return given


def _taxonomies(file: str | None, relative_to: Path | str | None) -> dict[Scope, Taxonomy]:
    if file is None:
        return {}
    return read_taxonomies(Path(relative_to) / file if relative_to is not None else file)


class _Entry:
    """The options of one annotator: ours, the endpoint's, the chat's and the model's."""

    def __init__(self, kind: str, spec: Mapping[str, Any], ours: tuple[str, ...]) -> None:
        refuse_secrets("annotator", spec)
        self.kind = kind
        model = spec[kind]
        if not isinstance(model, str) or not model:
            raise UsageError(
                f"annotator: {kind!r} must name a model, found {_short(model)}; write "
                f"{{{kind}: openai:gpt-4o}}"
            )
        self.provider, self.model = split_model(model)
        self.written = model
        rest = {key: value for key, value in spec.items() if key != kind}
        self.endpoint, rest = Endpoint.from_options(self.provider, rest)
        self.options = {key: rest.pop(key) for key in (*ours, *_CHAT) if key in rest}
        self.extra = self._extra(rest, (*ours, *_CHAT, *ENDPOINT_KEYS))

    def error(self, message: str) -> UsageError:
        return UsageError(f"annotator {self.written!r}: {message}")

    def _extra(self, rest: Mapping[str, Any], known: tuple[str, ...]) -> dict[str, Any]:
        for key in rest:
            near = difflib.get_close_matches(str(key).lower(), known, n=1, cutoff=_NEAR)
            if (
                not isinstance(key, str)
                or near
                or key in (*_QUESTIONS, "questions", "constraints", "caption")
            ):
                hint = f"did you mean {near[0]!r}" if near else f"`{self.kind}` does not take it"
                raise self.error(
                    f"unknown key {_short(key)}; {hint}? A parameter of the model by this name goes under "
                    "`parameters:`"
                )
        given = self.options.pop("parameters", None) or {}
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            raise self.error(f"'parameters' must be a mapping, found {_short(given)}; write {{top_p: 1}}")
        for key, value in (extra := {**rest, **given}).items():
            if key in _NEVER:
                way = "write it beside the model" if key in _CHAT else "remove it"
                raise self.error(f"{key!r} cannot be set there, it is decided by the question; {way}")
            if not _is_json(value):
                raise self.error(
                    f"parameter {key!r} must be a JSON value, found {type(value).__name__}; put it in quotes"
                )
        return extra

    def client(self, account: Account | None) -> ChatClient:
        chat: dict[str, Any] = {}
        if "temperature" in self.options:
            chat["temperature"] = self._number("temperature")
        if "max_tokens" in self.options:
            chat["max_tokens"] = self.whole("max_tokens", 0, least=1)
        if self.options.get("seed") is not None:
            chat["seed"] = self.whole("seed", 0, least=0)
        chat["response_format"] = self._format()
        given = self.options.get("price")
        price = Price.from_option(given) if given is not None else None
        return ChatClient(
            self.endpoint,
            self.model,
            account=Account() if account is None else account,
            price=price_of(self.provider, self.model, self.endpoint) if price is None else price,
            logprobs=self.flag("logprobs"),
            extra=self.extra,
            **chat,
        )

    def _format(self) -> str | None:
        """Return how the shape of an answer is asked for; None where the entry leaves that open."""
        if "response_format" not in self.options:
            return None
        found = self.options["response_format"]
        if found is None:
            return "text"
        if found not in RESPONSE_FORMATS:
            raise self.error(
                f"'response_format' must be one of {', '.join(RESPONSE_FORMATS)}, or null to send none, "
                f"found {_short(found)}; correct it, or leave it out to take what the endpoint can do"
            )
        return str(found)

    def name(self, *, default: str) -> str:
        name = self.text("name") or default.format(model=self.model)
        if not name.isprintable():
            raise self.error(f"'name' must be printable, found {_short(name)}; rename it")
        return name

    def text(self, key: str) -> str | None:
        value = self.options.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{key!r} must be a text, found {_short(value)}; put it in quotes")
        return value.strip()

    def flag(self, key: str) -> bool:
        value = self.options.get(key, False)
        if not isinstance(value, bool):
            raise self.error(f"{key!r} must be true or false, found {_short(value)}; correct it")
        return value

    def whole(self, key: str, default: int, *, least: int) -> int:
        value = self.options.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(
                f"{key!r} must be a whole number of at least {least}, found {_short(value)}; correct it"
            )
        return value

    def _number(self, key: str) -> float | None:
        value = self.options[key]
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.error(
                f"{key!r} must be a finite number, or null to send none, found {_short(value)}; correct it"
            )
        return float(value)


def _is_json(value: object) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _short(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
