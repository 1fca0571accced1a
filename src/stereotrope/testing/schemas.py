"""A JSON schema filled with answers, and found in the text of a question."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

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
