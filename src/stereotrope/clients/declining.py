"""The forms in which servers decline the content beside error objects; `declines.yaml` has their sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from ruamel.yaml import YAML

_FORMS: list[dict[str, Any]] = YAML(typ="safe").load(
    resources.files("stereotrope.clients").joinpath("declines.yaml").read_bytes()
)
_WORDS = ("message", "Message", "status_msg", "msg")


def declining_form(body: Any) -> str | None:
    """Return how a body declines the content in a form of the table, None where it does not.

    >>> declining_form({"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}})
    'input new_sensitive (base_resp.status_code 1026)'
    >>> declining_form({"base_resp": {"status_code": 1002, "status_msg": "rate limit"}})
    """
    for form in _FORMS:
        at, values = form["at"], form["values"]
        found = list(_found(body, at.split(".")))
        if found and all(type(value) in map(type, values) and value in values for _, value in found):
            holder, value = found[0]
            said = (holder.get(name) for name in _WORDS) if isinstance(holder, Mapping) else ()
            words = next((text for text in said if isinstance(text, str) and text), None)
            shown = f"{at} {value}"
            return f"{words} ({shown})" if words else shown
    return None


def _found(node: Any, names: list[str]) -> Iterator[tuple[Any, Any]]:
    """Yield the values at the end of a path, each with what holds it, None for those that are not there."""
    name, rest = names[0].removesuffix("[]"), names[1:]
    value = node.get(name) if isinstance(node, Mapping) else None
    entries = value if isinstance(value, list) else []
    for inner in entries if names[0].endswith("[]") else [value]:
        if rest:
            yield from _found(inner, rest)
        else:
            yield node, inner
