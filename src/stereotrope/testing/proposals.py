"""The answer to a question that asks for attributes instead of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.testing.plant import planted_figures

_NAMES = ("name", "attribute")
_VALUES = ("values", "options", "categories", "value_list")


def _is_proposal(schema: Mapping[str, Any]) -> bool:
    parts = schema.get("properties", {})
    return any(name in parts for name in _NAMES) and any(
        parts.get(values, {}).get("type") == "array" for values in _VALUES
    )


def wants_proposals(schema: Mapping[str, Any]) -> bool:
    """Whether a schema asks, anywhere, for objects with a name and a list of values."""
    if _is_proposal(schema):
        return True
    parts = [*schema.get("properties", {}).values(), schema.get("items", {})]
    return any(wants_proposals(part) for part in parts if isinstance(part, Mapping) and part)


def propose(schema: Mapping[str, Any], where: str = "") -> Any:
    """Return what a schema asks for, from the attributes of ``plant.yaml`` that may be found.

    A list under a name with “background” gets the attribute of the background, one under a name with
    “product” those of the product, any other both.
    """
    if _is_proposal(schema):
        return _object(schema, *_found(where)[0])
    if schema.get("type") == "array":
        items = schema.get("items", {})
        return [_object(items, *each) for each in _found(where)]
    filled: dict[str, Any] = {}
    for key, part in schema.get("properties", {}).items():
        wanted = isinstance(part, Mapping) and wants_proposals(part)
        filled[key] = propose(part, f"{where} {key}") if wanted else _other(part)
    return filled


def _found(where: str) -> list[tuple[str, str, Sequence[str]]]:
    """(name, product or background, values) of what may be proposed there."""
    found: list[tuple[str, str, Sequence[str]]] = [
        (name, attribute["where"], list(attribute["base"]))
        for name, attribute in planted_figures()["attributes"].items()
        if attribute.get("found")
    ]
    for place in ("background", "product"):
        if place in where:
            return [each for each in found if each[1] == place]
    return found


def _object(schema: Mapping[str, Any], name: str, where: str, values: Sequence[str]) -> dict[str, Any]:
    filled: dict[str, Any] = {}
    for key, part in schema.get("properties", {}).items():
        if key in _NAMES:
            filled[key] = name
        elif key in _VALUES:
            filled[key] = list(values)
        elif where in part.get("enum", ()):
            filled[key] = where
        else:
            filled[key] = _other(part)
    return filled


def _other(part: Mapping[str, Any]) -> Any:
    if "enum" in part:
        return part["enum"][0]
    kinds: Mapping[str, Any] = {"integer": 0, "number": 0, "boolean": True, "array": [], "object": {}}
    return kinds.get(str(part.get("type")), "it varies among the pictures")
