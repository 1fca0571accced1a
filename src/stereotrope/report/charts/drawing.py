"""What the Vega-Lite pictures of a report have in common: colours, texts, frames.

Colours are CSS variables of the page (``var(--ink)``), so that one chart serves light, dark and paper;
exports put the values of the light theme in their place.
"""

import contextlib
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stereotrope.errors import RunError
from stereotrope.escape import ellipsis, visible
from stereotrope.shipped import shipped

VEGA_LITE = "https://vega.github.io/schema/vega-lite/v6.json"
NARROW = 400
"""Units of a chart below which it says less."""
_EXPORT_WIDTH = 420
_LONGEST_NAME, _SIGN_OF_NAME, _SIGN = 150, 7, 34
"""Units of a name in a legend, of a letter of it, and of the sign before it with the space behind both."""
_WIDTH = re.compile(r"\bwidth\b")

PALETTE = tuple(f"var(--group-{i})" for i in range(1, 8))
"""Okabe–Ito, in an order that never sets pink against blue."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
TIP = {"tooltip": [{"field": "tip"}], "description": {"field": "tip"}}
_PARAMS = [{"name": "containerWidth", "value": 640}]

CONFIG: dict[str, Any] = shipped("report.charts", "config.yaml")
_INHERITED = (
    "(?:__defineGetter__|__defineSetter__|__lookupGetter__|__lookupSetter__|__proto__|constructor|hasOwnProperty"
    "|isPrototypeOf|propertyIsEnumerable|toLocaleString|toString|valueOf) *"
)
"""Properties of every object of JavaScript: Vega finds them wherever it looks a text up in a plain one."""
_INHERITED_TEXT, _INHERITED_IN_CODE = re.compile(_INHERITED), re.compile(rf'(?<!\\)"{_INHERITED}(?=")')
_CODE = ("calculate", "expr", "filter", "labelExpr", "test")
"""Keys of a chart that hold an expression."""
_ADDRESSES = 96 * 10**9
"""Bytes; with 66 of 10^9 V8 does not start, with 72 it does, before anything else of a run has any."""


def drawing_engine() -> Any:
    """vl-convert, whose V8 would end the process where addresses, not memory, are limited.

    Raises RunError: They are.
    """
    with contextlib.suppress(ImportError):  # there is no such limit on Windows
        import resource  # noqa: PLC0415

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY and limit < _ADDRESSES:
            needed, given = f"{_ADDRESSES / 1e9:,.0f} GB", f"{limit / 1e9:,.1f} GB"
            raise RunError(
                f"report: figures need room for addresses ({needed}, though little memory), and this shell "
                f"gives {given}; run `ulimit -v unlimited`, then the same command again: everything finished "
                "is kept"
            )
    import vl_convert  # noqa: PLC0415

    return vl_convert


def chart_text(text: object, longest: int = 80) -> str:
    """A text of others for a chart, cut and visible."""
    return visible(ellipsis(str(text), longest))


def chart_texts(rows: Sequence[Mapping[str, Any]], longest: int = 80) -> list[dict[str, Any]]:
    """The rows of a chart without what they lack, and with their texts made visible."""
    return [
        {k: (chart_text(v, longest) if isinstance(v, str) else v) for k, v in row.items() if v is not None}
        for row in rows
    ]


def inert_chart(part: Any, key: str = "") -> Any:
    """A chart, or a part of one, in which no text is a name that Vega would find in every object.

    Such a text gets a space at its end, which Vega leaves out where it draws; no two become one.
    """
    if isinstance(part, Mapping):
        return {k: inert_chart(v, k) for k, v in part.items()}
    if isinstance(part, list | tuple):
        return [inert_chart(v, key) for v in part]
    if not isinstance(part, str):
        return part
    if key in _CODE:
        return _INHERITED_IN_CODE.sub(r"\g<0> ", part)
    return f"{part} " if _INHERITED_TEXT.fullmatch(part) else part


def wrapped_text(text: str, signs: int) -> str:
    """A text broken over lines of so many signs."""
    return "\n".join(textwrap.wrap(text, signs)) or text


def numbered(values: list[dict[str, Any]], label: str, *others: str) -> None:
    """Put a number behind labels that stand for several rows: two never lie upon each other."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for v in values:
        key = (v.get(label), *(v.get(other) for other in others))
        seen[key] += 1
        if seen[key] > 1:
            v[label] = f"{v[label]} ({seen[key]})"


def narrow(then: object, otherwise: object) -> str:
    """An expression that is one thing on a narrow page and another elsewhere."""
    return f"containerWidth < {NARROW} ? {then} : {otherwise}"


def legend_of(names: Iterable[str], labels: str) -> dict[str, Any]:
    """A legend of as many columns as its names have room for; ``labels`` is what stands left of the plot."""
    wide = _SIGN + min(_LONGEST_NAME, round(_SIGN_OF_NAME * max(map(len, names), default=0)))
    columns = f"max(1, floor((containerWidth - ({labels})) / {wide}))"
    return {"columns": {"expr": columns}, "labelLimit": _LONGEST_NAME}


def layer(
    mark: Mapping[str, Any], encoding: Mapping[str, Any], *where: str, **computed: str
) -> dict[str, Any]:
    """Marks of the rows that pass every test, after what is computed of them."""
    transform = [{"filter": test} for test in where]
    transform += [{"calculate": formula, "as": name} for name, formula in computed.items()]
    return {**({"transform": transform} if transform else {}), "mark": mark, "encoding": encoding}


def nominal(field: str, order: Sequence[str], **more: Any) -> dict[str, Any]:
    """A channel of names in an order of their own."""
    return {"field": field, "type": "nominal", "sort": list(order), **more}


def chart_frame(values: Sequence[Mapping[str, Any]], height: int) -> dict[str, Any]:
    """What all charts of a page have in common; they are as wide as the page lets them."""
    return {
        "$schema": VEGA_LITE,
        "params": _PARAMS,
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": list(values)},
    }


def side_by_side(
    panels: Sequence[tuple[str, Mapping[str, Any]]], *, title: str = "", columns: int = 2
) -> dict[str, Any]:
    """Panels of one figure as one chart of fixed width, for export; in one column they are wider."""
    parts = []
    whole = _EXPORT_WIDTH if columns > 1 else 2 * _EXPORT_WIDTH
    for heading, spec in panels:
        part = {
            k: _fixed_width(v, whole) for k, v in spec.items() if k not in ("$schema", "autosize", "params")
        }
        part["width"] = whole
        if heading:
            part["title"] = {"text": chart_text(heading, 60), "fontSize": 12}
        parts.append(part)
    return {
        "$schema": VEGA_LITE,
        "params": _PARAMS,
        "title": chart_text(title, 120),
        "concat": parts,
        "columns": columns,
        "spacing": {"row": 24, "column": 32},
    }


def _fixed_width(part: Any, width: int) -> Any:
    """Expressions of a single chart say ``width``; in one of several it is a number."""
    if isinstance(part, Mapping):
        return {
            k: _WIDTH.sub(str(width), v) if k in ("expr", "calculate") else _fixed_width(v, width)
            for k, v in part.items()
        }
    return [_fixed_width(v, width) for v in part] if isinstance(part, list) else part
