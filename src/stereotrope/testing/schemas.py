"""A JSON schema filled with answers or proposals, and found in the text of a question."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stereotrope.testing.plant import planted_figures

WRAPPERS = frozenset({"value", "values", "answer", "label", "labels", "answers", "attributes", "items"})
"""Properties that only hold another's answer: it is asked by the name above them."""
REASONS = frozenset({"reason", "rationale", "explanation", "comment", "evidence"})

Answering = Callable[[str, Sequence[str] | None], str]
"""From an attribute's name and its values (None: open) to the answer."""


def fill_schema(schema: Mapping[str, Any], answer: Answering, name: str = "") -> Any:
    """Return JSON that fits a schema, its texts answered by ``answer``.

    A property is an attribute, and its name the attribute's; ``value``, ``answer`` and the like take the
    name above them, and a list of objects with ``attribute`` (one of a list, or constant) gets one item
    for each attribute.
    """
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            return fill_schema(schema[choice][0], answer, name)
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = next((k for k in kind if k != "null"), "null") if isinstance(kind, list) else kind
    if kind == "object":
        return {
            key: fill_schema(part, answer, name if key in WRAPPERS and name else key)
            for key, part in schema.get("properties", {}).items()
        }
    if kind == "array":
        return _fill_list(schema, answer, name)
    if "enum" in schema:
        options = [option for option in schema["enum"] if isinstance(option, str)]
        return answer(name, options) if options else schema["enum"][0]
    if kind == "string":
        return "as seen in the picture" if name in REASONS else answer(name, None)
    if kind == "boolean":
        return answer(name, ("no", "yes")) == "yes"
    if kind in {"integer", "number"}:
        return schema.get("minimum", 0)
    return None


def _fill_list(schema: Mapping[str, Any], answer: Answering, name: str) -> list[Any]:
    items = schema.get("items", {})
    named = items.get("properties", {}).get("attribute", {})
    if "enum" in named:
        rest = {key: part for key, part in items["properties"].items() if key != "attribute"}
        return [
            {"attribute": each, **fill_schema({"type": "object", "properties": rest}, answer, each)}
            for each in named["enum"]
        ]
    return [fill_schema(items, answer, name) for _ in range(schema.get("minItems", 1))]


def find(text: str) -> Mapping[str, Any] | None:
    """Return the first JSON object in a text that reads as a schema with properties."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            found, _ = decoder.raw_decode(text, start)
        except ValueError:
            found = None
        if isinstance(found, dict) and isinstance(found.get("properties"), dict):
            return found
        start = text.find("{", start + 1)
    return None


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
        return _object(schema, *_proposable(where)[0])
    if schema.get("type") == "array":
        return [_object(schema.get("items", {}), *each) for each in _proposable(where)]
    parts = schema.get("properties", {}).items()
    return {
        key: propose(part, f"{where} {key}") if wants_proposals(part) else _any_of(part)
        for key, part in parts
    }


def _proposable(where: str) -> list[tuple[str, str, Sequence[str]]]:
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
    known: dict[str, Any] = {**dict.fromkeys(_NAMES, name), **{key: list(values) for key in _VALUES}}
    return {
        key: known.get(key, where if where in part.get("enum", ()) else _any_of(part))
        for key, part in schema.get("properties", {}).items()
    }


def _any_of(part: Mapping[str, Any]) -> Any:
    if "enum" in part:
        return part["enum"][0]
    kinds: Mapping[str, Any] = {"integer": 0, "number": 0, "boolean": True, "array": [], "object": {}}
    return kinds.get(str(part.get("type")), "it varies among the pictures")
