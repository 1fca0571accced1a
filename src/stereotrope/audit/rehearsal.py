"""Trying the measures of an audit on made-up labels: a mistake is told before a picture is paid for."""

from __future__ import annotations

import functools
import inspect
import operator
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import UnionType
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError

from stereotrope import measure
from stereotrope.audit.calls import GENERATOR, MeasureCall
from stereotrope.audit.several import pretended as pretended_models
from stereotrope.errors import DefinitionError, InputError, UsageError
from stereotrope.inputs.options import shorten
from stereotrope.inputs.yaml import Source
from stereotrope.tables import CONSTRAINTS, QUALITY_ATTRIBUTES, factors_of

__all__ = ["as_texts", "check_types", "rehearse"]

_NAMES = str | Sequence[str] | None
"""Of arguments that a measure calls otherwise: `attribute` for `attributes`, and the reverse."""
Where = tuple[str | int, ...]
FEW = {"n_permutations": 99, "n_bootstrap": 100}
"""Shuffles and resamples of a rehearsal, whose numbers nobody reads."""


def as_texts(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Take numbers as they are written where a measure reads texts, as everywhere in an audit file."""
    hints = _hints(name)
    return {key: _as_text(value, hints.get(key, _NAMES)) for key, value in given.items()}


def check_types(
    name: str, given: Mapping[str, Any], source: Source, where: Where, *, needed: bool = True
) -> None:
    """Refuse an argument that a measure cannot take for its type, or one that is ``needed`` and nobody gave.

    Raises
    ------
    AuditFileError
        With the line of the argument.
    """
    hints = _hints(name)
    for key, value in given.items():
        if not _fits(value, hints[key]):
            quotes = _fits(_as_text(value, hints[key], truths=True), hints[key])
            do = "put it in quotes" if quotes else f"see `stereotrope measures {name}`"
            raise source.error(
                f"measure {name!r}: {key} must be {_described(hints[key])}, found {shorten(value)}; {do}",
                *where,
                key,
            )
    for parameter in list(inspect.signature(measure.REGISTRY[name].function).parameters.values())[1:]:
        if needed and parameter.default is inspect.Parameter.empty and parameter.name not in given:
            raise source.error(
                f"measure {name!r} needs {parameter.name!r}, which an audit file cannot give; leave the "
                "measure out and call it from Python",
                *where,
            )


@functools.cache
def _hints(name: str) -> dict[str, Any]:
    function = measure.REGISTRY[name].function
    return {"n_bootstrap": int, "seed": int, **typing.get_type_hints(function)}


def _fits(value: Any, hint: Any) -> bool:
    try:
        _adapter(hint).validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


def _as_text(value: Any, hint: Any, *, truths: bool = False) -> Any:
    """The value, its numbers written out where only that fits; one number may stand for a list of one."""
    worded = _worded(value, truths=truths)
    return next((one for one in (value, worded, [worded]) if _fits(one, hint)), value)


def _worded(value: Any, *, truths: bool) -> Any:
    """The value with every number in it written out, and where asked every truth value."""
    if isinstance(value, Mapping):
        return {key: _worded(inside, truths=truths) for key, inside in value.items()}
    if isinstance(value, list):
        return [_worded(inside, truths=truths) for inside in value]
    return str(value) if isinstance(value, int | float) and (truths or not isinstance(value, bool)) else value


@functools.cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(_listed(hint))


def _listed(hint: Any) -> Any:
    """``Collection[str]`` as the list that YAML can give; a text would be a collection of its letters."""
    if typing.get_origin(hint) is Collection:
        return Sequence[typing.get_args(hint)]  # type: ignore[misc]
    if isinstance(hint, UnionType):
        return functools.reduce(operator.or_, map(_listed, typing.get_args(hint)))
    return hint


def _described(hint: Any) -> str:
    words = {
        str: "a text",
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        type(None): "nothing",
    }
    if hint in words:
        return words[hint]
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(map(repr, typing.get_args(hint)))
    options = typing.get_args(hint)
    if isinstance(hint, UnionType):
        return " or ".join(_described(option) for option in options if option is not type(None))
    return "a mapping of lists of texts" if len(options) == 2 else "a list of texts"


def rehearse(
    calls: Sequence[tuple[MeasureCall, Where]],
    prompts: pl.DataFrame,
    annotators: Sequence[Any],
    source: Source,
) -> None:
    """Call every measure on one made-up picture a level.

    Raises
    ------
    AuditFileError
        A measure refuses its arguments: a level that is not there, a factor compared and held fixed …
    """
    labels, images = _made_up(prompts, annotators)
    broken = pl.col("attribute").is_in(list(CONSTRAINTS))
    made_up = {"labels": labels.filter(~broken), "constraints": labels.filter(broken), "images": images}
    made_up["embeddings"] = images.drop("status", "reason").with_columns(
        pl.lit([1.0, 0.0]).alias("vector"), pl.lit(0.5).alias("cosine"), pl.lit("encoder").alias("annotator")
    )
    pretended = {call.reader: call.reader.made_up(images) for call, _ in calls if call.reader is not None}
    done: list[pl.DataFrame] = []
    for call, where in calls:
        few = {k: min(n, FEW[k]) for k, n in call.arguments.items() if k in FEW}
        tried = replace(call, arguments={**call.arguments, **few})
        data = made_up.get(call.needs) if call.reader is None else pretended[call.reader]
        try:
            if data is None:
                data = pretended_models(call, pl.concat(done, how="diagonal"))
            elif call.arguments.get("group") == GENERATOR and call.arguments.get("baseline") is not None:
                named = pl.lit(call.arguments["baseline"]).alias(GENERATOR)
                other = data.with_columns(named, pl.concat_str("image_id", pl.lit(" too")).alias("image_id"))
                data = pl.concat([data, other])
            done.append(tried(data))
        except (UsageError, InputError, DefinitionError) as error:
            message = str(error).removeprefix(f"{call.name}: ")
            raise source.error(f"measure {call.name!r}: {message}", *where) from None


def _made_up(prompts: pl.DataFrame, annotators: Sequence[Any]) -> tuple[pl.DataFrame, pl.DataFrame]:
    factors = factors_of(prompts.columns)
    few = pl.concat(
        [prompts.head(1), *(prompts.unique(f, keep="first", maintain_order=True) for f in factors)]
    )
    images = few.unique("prompt_id", keep="first", maintain_order=True).select(
        pl.col("prompt_id").alias("image_id"),
        "prompt_id",
        pl.lit("generator").alias("generator"),
        *factors,
        pl.lit("ok").alias("status"),
        pl.lit(None, pl.String).alias("reason"),
    )
    asked = [
        (name, values[0] if values else "value", annotator.name)
        for annotator in annotators
        for name, values in annotator.attributes.items()
        if name not in QUALITY_ATTRIBUTES or name in CONSTRAINTS
    ]
    attributes = pl.DataFrame(
        asked, schema=dict.fromkeys(("attribute", "value", "annotator"), pl.String), orient="row"
    )
    labels = images.drop("status", "reason").join(attributes, how="cross")
    return labels.with_columns(pl.lit(None, pl.String).alias("excluded")), images
