"""The parameters of a function as a model of options, checked as everything in an audit file is."""

import functools
import operator
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any

from pydantic import BeforeValidator, TypeAdapter, ValidationError, create_model

from stereotrope.inputs.options import Options

_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "nothing",
}


def options_model(
    function: Callable[..., Any], takes: Iterable[str], further: Mapping[str, Any], closed: Mapping[str, str]
) -> type[Options]:
    """A model of options of the parameters that a function ``takes``, and of ``further`` ones by their type.

    A number is taken as a text, and a text as a list of one, where only that fits the type. Those in
    ``closed`` are refused for the reason there.
    """
    hints = typing.get_type_hints(function)
    fields: dict[str, Any] = {}
    for name, hint in {**further, **{name: hints.get(name, Any) for name in takes}}.items():
        check = _refused(closed[name]) if name in closed else _read(hint, function.__name__)
        fields[name] = (Annotated[Any, BeforeValidator(check)], None)
    return create_model(function.__name__, __base__=Options, **fields)


def _refused(why: str) -> Callable[[Any], Any]:
    def refuse(value: Any) -> Any:
        raise ValueError(f"cannot be given here: {why}")

    return refuse


def _read(hint: Any, name: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        adapter = _adapter(hint)
        worded = _worded(value)
        for candidate in (value, worded, [worded]):
            if _fits(adapter, candidate):
                return candidate
        quoted = _worded(value, truths=True)
        fits = _fits(adapter, quoted) or _fits(adapter, [quoted])
        do = "put it in quotes" if fits else f"see `stereotrope measures {name}`"
        raise ValueError(f"must be {_described(hint)}; {do}")

    return read


def _fits(adapter: TypeAdapter[Any], value: Any) -> bool:
    try:
        adapter.validate_python(value, strict=True)
    except ValidationError:
        return False
    return True


def _worded(value: Any, *, truths: bool = False) -> Any:
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
    if hint in _WORDS:
        return _WORDS[hint]
    options = typing.get_args(hint)
    if typing.get_origin(hint) is typing.Literal:
        return " or ".join(map(repr, options))
    if isinstance(hint, UnionType):
        return " or ".join(_described(option) for option in options if option is not type(None))
    return "a mapping of lists of texts" if len(options) == 2 else "a list of texts"
