"""Options that people write: types that a text of a file must fit, and one message for a mistake.

A model of options derives from :class:`Options`; :func:`validated` holds a file against one,
:func:`options_of` a plain mapping.
"""

import math
import os
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, ClassVar, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.timestamp import TimeStamp

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.escape import is_printable
from stereotrope.inputs.yaml import YamlFile

MAX_NODES = 500_000
"""Keys and values once every alias is written out: a few lines of YAML can stand for billions."""
_EXAMPLE = "write it as `stereotrope init objects` does"
_BOUNDS = {
    "greater_than_equal": ("ge", "at least", "raise"),
    "less_than_equal": ("le", "at most", "lower"),
    "greater_than": ("gt", "more than", "raise"),
    "less_than": ("lt", "less than", "lower"),
}
"""Pydantic's name of a rule → where its limit stands, how it is said, and what to do."""
_WORDS = {
    "a valid dictionary": "a mapping",
    "Input should be": "must be",
    "a valid integer": "a whole number",
    "a valid boolean": "true or false",
    "be None": "be left empty",
    "a valid ": "a ",
}
"""Pydantic's words → ours, in the order in which they are put in."""
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def text(value: Any) -> Any:
    """Return a value as a text that is not empty."""
    if isinstance(value, bool) or value is None or isinstance(value, (Mapping, list)):
        raise ValueError("must be a text; put it in quotes")
    written = str(value)
    if not written.strip():
        raise ValueError("must not be empty")
    return written


def texts(value: Any) -> Any:
    """Return a list of different texts."""
    if not isinstance(value, list):
        raise ValueError("must be a list, for example [car, cup]")
    if not value:
        raise ValueError("must list at least one")
    return distinct([text(item) for item in value])


def distinct(values: list[str]) -> list[str]:
    """Return texts of which none stands twice, nor again with other blanks."""
    plain = [" ".join(value.split()) for value in values]
    for value in plain:
        if plain.count(value) > 1:
            raise ValueError(f"lists {value!r} twice; list each once")
    return values


def _item(value: Any) -> Any:
    if isinstance(value, Mapping) and value:
        return {str(key): content for key, content in value.items()}
    return text(value)


def _printable(value: str) -> str:
    if not is_printable(value):
        raise ValueError("must be printable; rename it")
    return value


def _file(value: Any) -> Any:
    return text(os.fspath(value) if isinstance(value, os.PathLike) else value)


Text = Annotated[str, BeforeValidator(text)]
Name = Annotated[Text, AfterValidator(_printable)]
"""A text that is written to tables and on terminals."""
File = Annotated[str, BeforeValidator(_file)]
"""A path, as a text."""
Texts = Annotated[list[str], BeforeValidator(texts)]
Item = Annotated[str | dict[str, Any], BeforeValidator(_item)]
"""A name, or a mapping with a name and options."""


class Options(BaseModel):
    """What may be written in one place of a file: no other key, no value of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)
    slips: ClassVar[Mapping[str, str]] = {}
    """Unknown key that people write → what to do instead."""


Model = TypeVar("Model", bound=Options)


def validated(model: type[Model], source: YamlFile, *, example: str = _EXAMPLE) -> Model:
    """Hold a file against a model of options; ``example`` is how it is written.

    Raises what ``source`` makes of the first mistake by line, and of how many more there are.
    """
    try:
        return model.model_validate(_Plain(source).of(source.tree, ()), by_alias=True, by_name=False)
    except ValidationError as error:
        # A misspelt key is also a missing one: say what stands there.
        mistakes = error.errors(include_url=False)
        found = sorted(mistakes, key=lambda e: (e["type"] == "missing", source.line(e["loc"])))
        raise source.error(_message(found, model, example, source.tree), *found[0]["loc"]) from None


def options_of(model: type[Model], value: Mapping[str, Any], what: str, *, example: str) -> Model:
    """Hold a plain mapping against a model of options.

    model, value: The model and the mapping.
    what: What it is, for the message; models get it as the context of their validation.
    example: How it is written, where the field has no example of its own.

    Raises UsageError: The first mistake, and how many more there are.
    """
    try:
        return model.model_validate(value, context=what, by_alias=True, by_name=False)
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise UsageError(f"{what}: {_message(found, model, f'write {example}', value)}") from None


class _Plain:
    """Turns the tree of a file into plain values, and refuses what no value of an audit may be."""

    def __init__(self, source: YamlFile) -> None:
        self.source, self.left = source, MAX_NODES

    def of(self, node: Any, at: tuple[str | int, ...]) -> Any:
        self.left -= 1
        if self.left < 0:
            raise self.source.error(
                f"more than {MAX_NODES:,} values, aliases (*name) written out; write fewer, or "
                "name a CSV file",
                *at,
            )
        if isinstance(node, CommentedMap | CommentedSeq) and node.tag.value is not None:
            raise self.tagged(node, at)
        if isinstance(node, CommentedMap):
            return {self.key(key, (*at, key)): self.of(value, (*at, key)) for key, value in node.items()}
        if isinstance(node, CommentedSeq):
            return [self.of(value, (*at, index)) for index, value in enumerate(node)]
        if isinstance(node, bool) or node is None:
            return node
        for kind in (int, float, str):
            if isinstance(node, kind):
                return self.text(kind(node), at)
        if isinstance(node, date | TimeStamp):
            return str(node)
        raise self.tagged(node, at)

    def tagged(self, node: Any, at: tuple[str | int, ...]) -> Exception:
        tag = getattr(getattr(node, "tag", None), "value", None)
        found = tag.replace("tag:yaml.org,2002:", "!!") if tag else f"a {type(node).__name__}"
        where = _path(at, "the file", self.source.tree)
        return self.source.error(
            f"{where} must be a text, number, list or mapping, found {found}; remove the tag (!!…)", *at
        )

    def key(self, key: Any, at: tuple[str | int, ...]) -> Any:
        if key is None or isinstance(key, list | tuple | Mapping):
            where = _path(at[:-1], "the file", self.source.tree)
            raise self.source.error(
                f"{where}: a key must be a text, found {shorten(key)}; put it in quotes", *at
            )
        return self.text(key, at)

    def text(self, value: Any, at: tuple[str | int, ...]) -> Any:
        if isinstance(value, str) and _NO_TEXT.search(value):  # JSON writes what is beyond 16 bits as a pair
            value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        if isinstance(value, str) and (wrong := _NO_TEXT.search(value)):
            what = "a NUL character" if wrong.group() == "\0" else "half a surrogate pair"
            where = _path(at, tree=self.source.tree)
            raise self.source.error(
                f"{where} must be a text that can be written to a file, found {what}; remove it", *at
            )
        return value


def _path(location: Sequence[str | int], whole: str = "it", tree: Any = None) -> str:
    """Where something stands: ``entry 2 of items ('hat'): text``, with the name that it has in ``tree``."""
    said: list[str] = []
    keys: list[str] = []
    node = tree
    for step in location:
        is_entry = isinstance(step, int) and not isinstance(node, Mapping)
        node = _below(node, step)
        if is_entry:
            name = next((node[key] for key in ("name", "id") if isinstance(_below(node, key), str)), None)
            of, called = f" of {'.'.join(keys)}" if keys else "", f" ({shorten(name, 40)})" if name else ""
            said.append(f"entry {int(step) + 1}{of}{called}")
            keys = []
        elif step != "[key]":
            keys.append(key if (key := str(step)).isprintable() else shorten(key))
    return ": ".join([*said, *([".".join(keys)] if keys else [])]) or whole


def _below(node: Any, step: str | int) -> Any:
    """What stands at a key or a number below a node; None where nothing does."""
    try:
        return node[step]
    except (LookupError, TypeError):
        return None


def _message(found: Sequence[ErrorDetails], model: type[Options], example: str, tree: Any) -> str:
    more = f" ({len(found) - 1} more after this)" if len(found) > 1 else ""
    return f"{_sentence(found[0], model, example, tree)}{more}"


def _sentence(error: ErrorDetails, model: type[Options], example: str, tree: Any) -> str:
    path = _path(error["loc"], tree=tree)
    context: Mapping[str, Any] = error.get("ctx") or {}
    given = list(error["input"]) if isinstance(error["input"], tuple) else error["input"]
    found = "a mapping" if given and isinstance(given, Mapping) else shorten(given)
    lists_all = error["type"] in ("literal_error", "bool_type")
    example = "correct it" if lists_all else _example_of(error["loc"], model, example)
    if isinstance(error["input"], float) and not math.isfinite(error["input"]):
        return f"{path} must be a finite number, found {found}; correct it"
    if error["loc"][-1:] == ("[key]",) and not isinstance(error["input"], str):
        return f"{path}: a key must be a text, found {found}; put it in quotes"
    match error["type"]:
        case "extra_forbidden":
            return _unknown_key(error["loc"], model)
        case "missing":
            return f"{path} is missing; add it: {example}"
        case "value_error":
            rule, _, fix = str(context.get("error", error["msg"])).partition("; ")
            return f"{path} {rule}, found {found}; {fix or example}"
        case "invalid_key":
            return f"a key must be a text, found {found}; put it in quotes"
        case "too_short":
            return f"{path} must list at least {context['min_length']}, found {found}; {example}"
        case kind if kind in _BOUNDS:
            key, rule, fix = _BOUNDS[kind]
            limit = context[key]
            shown = f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"
            return f"{path} must be {rule} {shown}, found {found}; {fix} it"
    rule = error["msg"].split(" or instance of")[0]
    for theirs, ours in _WORDS.items():
        rule = rule.replace(theirs, ours)
    return f"{path} {rule}, found {found}; {example}"


def _example_of(location: Sequence[str | int], model: type[Options], example: str) -> str:
    """How the innermost field of a place is written, where it has an example of its own."""
    own = example
    for step in map(str, location):
        if (field := model.model_fields.get(step)) is not None:
            own = f"write {step}: {field.examples[0]}" if field.examples else example
            model = _model_in(field.annotation) or model
    return own


def _unknown_key(location: Sequence[str | int], model: type[Options]) -> str:
    key = str(location[-1])
    for step in location[:-1]:
        field = model.model_fields.get(str(step))
        model = model if field is None else _model_in(field.annotation) or model
    known = [field.alias or name for name, field in model.model_fields.items()]
    hint = model.slips.get(key) or did_you_mean(key, known, otherwise=f"known keys: {', '.join(known)}")
    return f"unknown key {shorten(key)}; {hint}"


def _model_in(annotation: Any) -> type[Options] | None:
    """The model that a type is, or that its values are: of ``dict[str, Cue]``, ``Cue``."""
    if isinstance(annotation, type) and issubclass(annotation, Options):
        return annotation
    return next((model for part in get_args(annotation) if (model := _model_in(part))), None)


def shorten(value: Any, limit: int = 80) -> str:
    """``repr`` of a value from a file, cut to ``limit`` characters."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
