"""Odd replies: any JSON, well-formed replies with some of it changed, and bytes that no longer are JSON."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

KEY = "k8-sentinel-3f9c1b77aa04"

derandomized = settings(
    max_examples=200,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

_DEEPEST = 12
_LETTERS = st.characters(codec=None, exclude_categories=())
_HUGE = (10**400, -(10**400), 2**63, -1, 1e308, -1e308, float("inf"), float("-inf"), float("nan"))
_TEXTS = (
    "",
    " ",
    "é",
    "\ud800",
    "\x00",
    "null",
    "error",
    "SAFETY",
    "content_filter",
    "data:,",
    "http://[",
    KEY,
)


def _deep(levels: int) -> Any:
    found: Any = 1
    for level in range(levels):
        found = [found] if level % 2 else {"data": found}
    return found


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(_HUGE),
    st.sampled_from(_TEXTS),
    st.text(_LETTERS, max_size=12),
)
names = st.sampled_from(("error", "message", "code", "status", "data", "detail")) | st.text(
    _LETTERS, max_size=5
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
) | st.sampled_from((60, 200)).map(_deep)


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if len(path) > _DEEPEST:
        return []
    pairs = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, inner in pairs for place in _places(inner, (*path, key)))]


def _change(draw: st.DrawFn, reply: Any) -> Any:
    place = draw(st.sampled_from(_places(reply)))
    if not place:
        return draw(anything)
    holder = reply
    for key in place[:-1]:
        holder = holder[key]
    key = place[-1]
    match draw(st.sampled_from(("replace", "delete", "double", "add"))):
        case "replace":
            holder[key] = draw(anything)
        case "delete":
            del holder[key]
        case "double" if isinstance(holder, list):
            holder.insert(0, copy.deepcopy(holder[key]))
        case "double":
            holder[draw(names)] = copy.deepcopy(holder[key])
        case _ if isinstance(holder, list):
            holder.append(draw(anything))
        case _:
            holder[draw(names)] = draw(anything)
    return reply


@st.composite
def changed(draw: st.DrawFn, *replies: Any) -> Any:
    """One of these replies with one to three changes, or something else altogether."""
    if draw(st.integers(0, 9)) == 0:
        return draw(anything)
    reply = copy.deepcopy(draw(st.sampled_from(replies)))
    for _ in range(draw(st.integers(1, 3))):
        reply = _change(draw, reply)
    return reply


@st.composite
def bodies(draw: st.DrawFn, *replies: Any) -> bytes:
    """The bytes of such a reply, some of them cut or with a byte changed."""
    data = json.dumps(draw(changed(*replies)), ensure_ascii=draw(st.booleans())).encode(
        "utf-8", "surrogatepass"
    )
    match draw(st.integers(0, 9)):
        case 0:
            return data[: draw(st.integers(0, len(data)))]
        case 1 if data:
            at = draw(st.integers(0, len(data) - 1))
            return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
        case 2:
            return draw(st.binary(max_size=20))
        case _:
            return data
