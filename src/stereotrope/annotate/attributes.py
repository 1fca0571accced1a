"""Which attributes may be asked for: names, value lists and their limits."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stereotrope.annotate.label import Attributes, number_of
from stereotrope.errors import UsageError
from stereotrope.escape import is_printable
from stereotrope.folding import fold
from stereotrope.inputs.options import shorten
from stereotrope.tables import NOT_VALUES, QUALITY_ATTRIBUTES, whole_problem

FIXED_ATTRIBUTES: Attributes = {
    "product_colour": None,
    "text_presence": ("present", "absent"),
    "background_colour": None,
    "background_text_presence": ("present", "absent"),
}
"""What is asked of every object (arXiv:2508.03483v3, section 3.2.1)."""
OPEN = "open"
"""Written in an audit file instead of a value list where any value may come."""
UNCLEAR = "unclear"
"""The way out that every question offers."""
LONGEST_NAME, LONGEST_VALUE = 64, 60
"""Characters of a name and of a value."""
MOST_ATTRIBUTES = 60
"""Attributes of one question."""
MOST_VALUES = 250
"""Values of one attribute: above it OpenAI's structured outputs limit the length of all values together."""


def region_attributes(name: str, attribute: str) -> Attributes:
    """What an annotator labels that found regions: these, and their number; UsageError where it may not."""
    number = number_of(attribute)
    try:
        check_attributes(dict.fromkeys((attribute, number)))
    except UsageError as error:
        raise UsageError(f"annotator {name!r}: attribute: {error}") from None
    return {attribute: (attribute,), number: None}


def check_attributes(
    given: Mapping[Any, Any], *, open_allowed: bool = True, most: int | None = MOST_ATTRIBUTES
) -> dict[str, Any]:
    """Return attribute → value list (None where open), checked and in Unicode normal form C.

    given: Name → list of values, or ``"open"`` (None) where any value may come.
    open_allowed: Whether an attribute may be open.
    most: Attributes that there may be; None where nobody is asked for them at once.

    Raises UsageError: A name or a value list cannot be used; the message begins with the attribute.
    """
    if not given:
        raise UsageError("must name at least one attribute, found none; write {body_type: [sedan, SUV]}")
    if most is not None and len(given) > most:
        raise UsageError(
            f"one question asks for at most {most} attributes, found {len(given)}; "
            "spread them over several annotators"
        )
    checked: dict[str, tuple[str, ...] | None] = {}
    by_fold: dict[str, str] = {}
    for name, values in given.items():
        problem = _name_problem(name)
        if problem:
            raise UsageError(problem)
        clean = unicodedata.normalize("NFC", name)
        earlier = by_fold.get(fold(clean))
        if earlier is not None:
            raise UsageError(f"{clean!r}: reads like {earlier!r}, which is there too; rename or remove one")
        by_fold[fold(clean)] = clean
        checked[clean] = _values(clean, values, open_allowed=open_allowed)
    return checked


def _name_problem(name: Any) -> str | None:
    """Return what is wrong with the name of an attribute, None where nothing is."""
    if not isinstance(name, str):
        return f"an attribute's name must be a text, found {shorten(name)}; put it in quotes"
    if not name or name != name.strip() or not is_printable(name):
        return (
            f"{shorten(name)}: an attribute's name must be printable text without outer blanks; "
            "write it as body_type"
        )
    if len(name) > LONGEST_NAME:
        return f"{shorten(name)}: a name has at most {LONGEST_NAME} characters, found {len(name)}; shorten it"
    if name in QUALITY_ATTRIBUTES:
        return f"{name!r}: this name is taken by an attribute with another meaning; rename it"
    return whole_problem(name)


def _values(name: str, values: Any, *, open_allowed: bool) -> tuple[str, ...] | None:
    if open_allowed and (values is None or values == OPEN):
        return None
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise UsageError(
            f"{name!r}: must be a list of values{f' or {OPEN}' if open_allowed else ''}, found "
            f"{shorten(values)}; write {name}: [sedan, SUV]"
        )
    if len(values) < 2:
        raise UsageError(
            f"{name!r}: must list at least 2 values, found {shorten(list(values))}; one value says nothing, "
            "add another"
        )
    if len(values) > MOST_VALUES:
        raise UsageError(
            f"{name!r}: has at most {MOST_VALUES} values, found {len(values)}; group them, or write {OPEN}"
        )
    clean = tuple(_value(name, value) for value in values)
    _refuse_twins(name, clean)
    return clean


def _value(name: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UsageError(f"{name!r}: a value must be a text, found {shorten(value)}; put it in quotes")
    text = unicodedata.normalize("NFC", str(value))
    if not text or text != text.strip() or not is_printable(text):
        raise UsageError(
            f"{name!r}: a value must be printable text without outer blanks, found {shorten(value)}; "
            "rewrite it"
        )
    if len(text) > LONGEST_VALUE:
        raise UsageError(
            f"{name!r}: a value has at most {LONGEST_VALUE} characters, found {len(text)} in "
            f"{shorten(text)}; shorten it"
        )
    if fold(text) in NOT_VALUES:
        raise UsageError(
            f"{name!r}: {text!r} is no value but a status, and {UNCLEAR!r} is always offered; remove it"
        )
    return text


def _refuse_twins(name: str, values: Iterable[str]) -> None:
    seen: dict[str, str] = {}
    for value in values:
        earlier = seen.get(fold(value))
        if earlier == value:
            raise UsageError(f"{name!r}: lists {value!r} twice; list it once")
        if earlier is not None:
            raise UsageError(f"{name!r}: lists {earlier!r} and {value!r}, which count as one value; keep one")
        seen[fold(value)] = value
