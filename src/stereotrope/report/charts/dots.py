"""Vega-Lite pictures: dots and intervals against a noise floor, heat maps, strips of shares.

Colours are CSS variables of the page (``var(--ink)``), so that one chart serves light, dark and paper;
exports put the values of the light theme in their place.
"""

import json
import re
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.report.escape import ellipsis, visible

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_SANS = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
_STEP = 22
_LEFT = 7
NARROW = 400
"""Units of a chart below which it says less."""
_HEAD_SIGNS = 13
LABEL_SIGNS = 18
"""After so many signs a label is broken that must be read whole on a narrow page."""
_NARROW_LABELS = 110
_SIGN_OF_LABEL = 7
"""Units that a sign of a label takes at most, on average."""
_LONGEST = 80
_LINE = 14
_LIGHT_VIRIDIS = 0.55
"""Share of the viridis scale from which dark text reads better than white."""
_LIGHT_DIVERGING = 0.6
"""Share of the scale of two colours up to which dark text reads better than white."""
_EXPORT_WIDTH = 420
_WIDTH = re.compile(r"\bwidth\b")
_SHORT_ROOM = 46
_SIGN = 5.4
"""Units a sign of the numbers takes, at most, on average."""

PALETTE = tuple(f"var(--group-{i})" for i in range(1, 8))
"""Okabe–Ito, in an order that never sets pink against blue."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": _SANS,
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": "var(--ink)",
        "titleColor": "var(--quiet)",
        "domain": False,
        "ticks": False,
        "gridColor": "var(--rule)",
        "labelPadding": 6,
    },
    "title": {"fontSize": 13, "fontWeight": 600, "anchor": "start", "color": "var(--ink)", "frame": "group"},
    "text": {"color": "var(--ink)", "fontSize": 12},
    "legend": {
        "orient": "top",
        "title": None,
        "labelFontSize": 12,
        "labelColor": "var(--ink)",
        "offset": 4,
        "symbolSize": 60,
    },
}


def _plain(text: object, longest: int = 80) -> str:
    return visible(ellipsis(str(text), longest))


def _axis(title: str, domain: Sequence[float], room: int) -> dict[str, Any]:
    """The x axis; ``room`` units at the right are kept for the numbers."""
    end = f"max(60, width - {_edge(room)})"
    return {
        "type": "quantitative",
        "scale": {"domain": list(domain), "nice": False, "range": [_LEFT, {"expr": end}]},
        "axis": {
            "title": title or None,
            "tickCount": 5,
            "grid": True,
            "titleAnchor": "start",
            "titleX": _LEFT,
        },
    }


def _edge(room: int) -> str:
    return f"(containerWidth < {NARROW} ? {_SHORT_ROOM} : {room})"


def dots(
    rows: Sequence[Mapping[str, Any]],
    *,
    unit: str = "",
    domain: Sequence[float] = (0.0, 1.0),
    series: Sequence[str] | None = None,
    zero_line: bool = False,
    bars: bool = False,
    apart: Sequence[str] = (),
    wrapped: int = 0,
    ticks: Sequence[float] = (),
) -> dict[str, Any]:
    """One row an estimate: dot, interval, grey band up to the noise floor, its numbers at the right.

    rows: ``label, value, low, high, floor, text, short, sure``, with several series ``series``; ``sure`` is
        False for a dot drawn hollow (q above 0.05), ``text`` stands at the right, ``short`` on a narrow page.
        The band lies between ``floor`` and ``base``, which is 0 unless given.
    unit: Title of the axis.
    domain: Ends of the axis, the same for panels set side by side.
    series: Names of the series in their order; two or more get a colour and a shape each.
    zero_line: Draw a line at 0, for differences.
    bars: Draw a thin bar from 0 to each dot, for shares.
    apart: Labels of the first rows that are set apart from the rest: in heavier type, above a line.
    wrapped: Signs after which long labels are broken over lines instead of being cut; 0 cuts them.
    ticks: Where the axis has its lines and numbers; about five round places unless given.
    """
    values = _told_apart(chart_texts(rows, 2 * _LONGEST if wrapped else _LONGEST), "label", "series")
    if wrapped:
        for v in values:
            v["label"] = _wrapped(str(v["label"]), wrapped)
    order = list(dict.fromkeys(str(v["label"]) for v in values))
    names = [_plain(s) for s in series or ()]
    several = len(names) > 1
    room = int(20 + _SIGN * max((len(str(v.get("text", ""))) for v in values), default=0))
    x = _axis(unit, domain, room)
    if ticks:
        x["axis"] |= {"values": list(ticks), "format": ".2~f"}
    if zero_line:
        at_zero = {"test": "datum.value === 0", "value": "var(--quiet)"}
        x["axis"]["gridColor"] = {"condition": at_zero, "value": "var(--rule)"}
    layers = _band(x) if any("floor" in v for v in values) else []
    step = max(_STEP, 18 * len(names)) if several else _STEP
    step = max(step, 4 + _LINE * max((label.count("\n") + 1 for label in order), default=1))
    named = {_wrapped(_plain(a), wrapped) if wrapped else _plain(a) for a in apart}
    first = [label for label in order if label in named]
    if bars:
        layers.append(_bar(x, names if several else []))
    layers += [*_dot_and_interval(x, names if several else []), _numbers(room)]
    y: dict[str, Any] = {
        "field": "label",
        "type": "nominal",
        "sort": order,
        "title": None,
        "axis": _labels(first, order, several_lines=wrapped),
    }
    offset = {"yOffset": {"field": "series", "sort": names, "scale": {"domain": names}}} if several else {}
    return {**chart_frame(values, step * len(order)), "encoding": {"y": y, **offset}, "layer": layers}


def _labels(apart: Sequence[str], order: Sequence[str], *, several_lines: int) -> dict[str, Any]:
    """The axis of the labels; those set apart are heavier, and a line is drawn below them."""
    axis: dict[str, Any] = {
        "grid": False,
        "labelLimit": {
            "expr": f"containerWidth < {NARROW} ? {max(_NARROW_LABELS, _SIGN_OF_LABEL * several_lines)} : 200"
        },
    }
    if several_lines:
        axis["labelExpr"] = "split(datum.label, '\\n')"
        lines = range(2, 2 + max((label.count("\n") for label in order), default=0))
        axis["labelOffset"] = {
            "condition": [
                {"test": f"length(split(datum.value, '\\n')) === {n}", "value": -_LINE * (n - 1) / 2}
                for n in lines
            ],
            "value": 0,
        }
    if apart:
        heavier = {"test": f"indexof({json.dumps(list(apart))}, datum.value) >= 0", "value": 600}
        axis["labelFontWeight"] = {"condition": heavier, "value": 400}
    if apart and len(order) > len(apart):
        last = {"test": f"datum.value === {json.dumps(apart[-1])}", "value": "var(--quiet)"}
        axis |= {"grid": True, "tickBand": "extent"}
        axis["gridColor"] = {"condition": last, "value": "transparent"}
    return axis


def chart_texts(rows: Sequence[Mapping[str, Any]], longest: int) -> list[dict[str, Any]]:
    """The rows of a chart without what they lack, and with their texts made visible."""
    return [
        {k: (_plain(v, longest) if isinstance(v, str) else v) for k, v in row.items() if v is not None}
        for row in rows
    ]


def _told_apart(values: list[dict[str, Any]], label: str, *others: str) -> list[dict[str, Any]]:
    """The rows with a number behind labels that stand for several: two rows never lie upon each other."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for v in values:
        key = (v.get(label), *(v.get(other) for other in others))
        seen[key] += 1
        if seen[key] > 1:
            v[label] = f"{v[label]} ({seen[key]})"
    return values


def chart_frame(values: Sequence[Mapping[str, Any]], height: int) -> dict[str, Any]:
    """What all charts of a page have in common; they are as wide as the page lets them."""
    return {
        "$schema": _SCHEMA,
        "params": [{"name": "containerWidth", "value": 640}],
        "width": "container",
        "height": height,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": list(values)},
    }


def _band(x: Mapping[str, Any]) -> list[dict[str, Any]]:
    mark = {"type": "bar", "color": "var(--band)", "height": {"band": 0.999}, "aria": False}
    return [
        {
            "transform": [
                {"filter": "isValid(datum.floor)"},
                {"calculate": "isValid(datum.base) ? datum.base : 0", "as": "base_at"},
            ],
            "mark": mark,
            "encoding": {"x": {"field": "floor", **x}, "x2": {"field": "base_at"}},
        }
    ]


def _bar(x: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    colour = _series_colour(names) if names else {"value": "var(--accent)"}
    return {
        "transform": [{"filter": "isValid(datum.value)"}],
        "mark": {"type": "bar", "height": 7, "opacity": 0.3, "aria": False},
        "encoding": {"x": {"field": "value", **x}, "x2": {"datum": 0}, "color": colour},
    }


def _dot_and_interval(x: Mapping[str, Any], names: Sequence[str]) -> list[dict[str, Any]]:
    colour = _series_colour(names) if names else {"value": "var(--accent)"}
    hollow = {"condition": {"test": "datum.sure === false", "value": "var(--paper)"}}
    scale = {"domain": list(names), "range": list(SHAPES[: len(names)])}
    shape = {"shape": {"field": "series", "sort": list(names), "scale": scale}} if names else {}
    return [
        {
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "rule", "strokeWidth": 1.75, "aria": False},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour},
        },
        {
            "transform": [{"filter": "isValid(datum.value)"}],
            "mark": {"type": "point", "size": 62, "strokeWidth": 1.75, "opacity": 1},
            "encoding": {
                "x": {"field": "value", **x},
                "fill": {**hollow, **colour},
                "stroke": colour,
                **shape,
                "tooltip": [{"field": "tip"}],
                "description": {"field": "tip"},
            },
        },
    ]


def _numbers(room: int) -> dict[str, Any]:
    said = f"containerWidth < {NARROW} ? datum.short : datum.text"
    return {
        "transform": [{"calculate": said, "as": "said"}],
        "mark": {"type": "text", "align": "left", "dx": 14, "aria": False, "fontSize": 11.5},
        "encoding": {"x": {"value": {"expr": f"width - {_edge(room)}"}}, "text": {"field": "said"}},
    }


def _series_colour(names: Sequence[str]) -> dict[str, Any]:
    return {
        "field": "series",
        "type": "nominal",
        "sort": list(names),
        "scale": {"domain": list(names), "range": list(PALETTE[: len(names)])},
        "legend": {"symbolOpacity": 1},
    }


def _wrapped(text: str, signs: int = _HEAD_SIGNS) -> str:
    return "\n".join(textwrap.wrap(text, signs)) or text


def head_width(text: str) -> int:
    """Signs in the longest line of a column's head."""
    return max(len(line) for line in _wrapped(_plain(text)).split("\n"))


def heat(
    rows: Sequence[Mapping[str, Any]],
    *,
    columns: Sequence[str],
    lines: Sequence[str],
    signed: bool = False,
    top: float | None = None,
) -> dict[str, Any]:
    """A table of numbers: ``line, column, value, text``; an undefined cell stays empty.

    On viridis from 0 to ``top`` (the largest value when None); ``signed`` numbers on a scale of two colours
    from ``-top`` to ``top``.
    """
    values = chart_texts(rows, _LONGEST)
    heads = [_wrapped(_plain(v)) for v in columns]
    for v in values:
        v["column"] = _wrapped(v["column"])
    _told_apart(values, "line", "column")
    order = list(dict.fromkeys([*(_plain(v) for v in lines), *(str(v["line"]) for v in values)]))
    largest = max((abs(float(v["value"])) for v in values if "value" in v), default=1.0)
    top = (largest if top is None else top) or 1.0
    axis = {
        "orient": "top",
        "labelAngle": 0,
        "labelLimit": 110,
        "labelFontSize": {"expr": f"containerWidth < {NARROW} ? 9 : 12"},
        "labelOverlap": False,
        "labelExpr": "split(datum.label, '\\n')",
        "labelPadding": 6 + 13 * max((h.count("\n") for h in heads), default=0),
    }
    return {
        **chart_frame(values, 24 * len(order)),
        "encoding": {
            "y": {
                "field": "line",
                "type": "nominal",
                "sort": order,
                "title": None,
                "axis": {"labelLimit": {"expr": f"containerWidth < {NARROW} ? 110 : 260"}},
            },
            "x": {"field": "column", "type": "nominal", "sort": heads, "title": None, "axis": axis},
        },
        "layer": [_cells(top, signed), _cell_numbers(top, signed)],
    }


def _cells(top: float, signed: bool) -> dict[str, Any]:
    scale = (
        {"scheme": "purpleorange", "domain": [top, -top], "clamp": True}
        if signed
        else {"scheme": "viridis", "domain": [0, top], "clamp": True}
    )
    return {
        "transform": [{"filter": "isValid(datum.value)"}],
        "mark": {"type": "rect", "stroke": "var(--paper)", "strokeWidth": 2},
        "encoding": {
            "color": {"field": "value", "type": "quantitative", "scale": scale, "legend": None},
            "tooltip": [{"field": "tip"}],
            "description": {"field": "tip"},
        },
    }


def _cell_numbers(top: float, signed: bool) -> dict[str, Any]:
    dark_text = (
        f"abs(datum.value) < {_LIGHT_DIVERGING * top!r}"
        if signed
        else f"datum.value > {_LIGHT_VIRIDIS * top!r}"
    )
    colour = {
        "condition": [
            {"test": "!isValid(datum.value)", "value": "var(--quiet)"},
            {"test": dark_text, "value": "#111111"},
        ],
        "value": "#ffffff",
    }
    return {
        "mark": {"type": "text", "fontSize": 11.5, "aria": False},
        "encoding": {"text": {"field": "text"}, "color": colour},
    }


def strips(
    rows: Sequence[Mapping[str, Any]], *, lines: Sequence[str], columns: Sequence[str], title: str
) -> dict[str, Any]:
    """Stacked shares for export, one row a condition and one column an attribute, each with its key.

    ``line, column, value, start, end, colour``: the segments are placed by the page that shows them too.
    """
    values = [{k: (_plain(v, 60) if isinstance(v, str) else v) for k, v in r.items()} for r in rows]
    return {
        "$schema": _SCHEMA,
        "title": _plain(title, 120),
        "hconcat": [_strip_panel(values, lines, column, first=i == 0) for i, column in enumerate(columns)],
        "spacing": 16,
        "resolve": {"scale": {"color": "independent"}},
    }


def _strip_panel(
    values: Sequence[Mapping[str, Any]], lines: Sequence[str], column: str, *, first: bool
) -> dict[str, Any]:
    here = [v for v in values if v["column"] == _plain(column, 60)]
    key = {v["value"]: v["colour"] for v in here}
    names = [_plain(v, 60) for v in lines]
    return {
        "width": 160,
        "height": {"step": 22},
        "title": {"text": _plain(column, 40), "fontSize": 12},
        "data": {"values": here},
        "mark": {"type": "bar", "stroke": "var(--quiet)", "strokeWidth": 0.5, "height": 15},
        "encoding": {
            "y": {
                "field": "line",
                "type": "nominal",
                "sort": names,
                "title": None,
                "scale": {"domain": names},
                "axis": {"grid": False, "labelLimit": 220} if first else None,
            },
            "x": {"field": "start", "type": "quantitative", "scale": {"domain": [0, 1]}, "axis": None},
            "x2": {"field": "end"},
            "color": {
                "field": "value",
                "type": "nominal",
                "legend": {
                    "orient": "bottom",
                    "columns": 2,
                    "labelLimit": 70,
                    "symbolType": "square",
                    "symbolStrokeColor": "var(--quiet)",
                },
                "scale": {"domain": list(key), "range": list(key.values())},
            },
        },
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
            part["title"] = {"text": _plain(heading, 60), "fontSize": 12}
        parts.append(part)
    return {
        "$schema": _SCHEMA,
        "params": [{"name": "containerWidth", "value": 640}],
        "title": _plain(title, 120),
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
