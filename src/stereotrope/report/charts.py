"""Vega-Lite pictures: dots and intervals against a noise floor, heat maps, strips of shares.

Colours are CSS variables of the page (``var(--ink)``), so that one chart serves light, dark and paper;
exports put the values of the light theme in their place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.report.escape import shorten, visible

__all__ = ["CONFIG", "PALETTE", "SHAPES", "dots", "heat", "side_by_side", "strips"]

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_SANS = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"
_STEP = 22
_LEFT = 7
_NARROW = 400
_SHORT_ROOM = 46
_SIGN = 6.3
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
    return visible(shorten(str(text), longest))


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
    return f"(containerWidth < {_NARROW} ? {_SHORT_ROOM} : {room})"


def dots(
    rows: Sequence[Mapping[str, Any]],
    *,
    unit: str = "",
    domain: Sequence[float] = (0.0, 1.0),
    series: Sequence[str] | None = None,
    zero_line: bool = False,
) -> dict[str, Any]:
    """One row an estimate: dot, interval, grey band up to the noise floor, its numbers at the right.

    Parameters
    ----------
    rows
        ``label, value, low, high, floor, text, short, sure`` and, with several series, ``series``; ``sure`` is
        False for a dot drawn hollow (q above 0.05), ``text`` stands at the right, ``short``
        on a narrow page.
    unit
        Title of the axis.
    domain
        Ends of the axis, the same for panels set side by side.
    series
        Names of the series in their order; two or more get a colour and a shape each.
    zero_line
        Draw a line at 0, for differences.
    """
    values = [
        {k: (_plain(v) if isinstance(v, str) else v) for k, v in row.items() if v is not None} for row in rows
    ]
    order = list(dict.fromkeys(str(v["label"]) for v in values))
    several = bool(series) and len(series or ()) > 1
    names = [_plain(s) for s in series or ()]
    y: dict[str, Any] = {
        "field": "label",
        "type": "nominal",
        "sort": order,
        "title": None,
        "axis": {"grid": False, "labelLimit": {"expr": f"containerWidth < {_NARROW} ? 110 : 200"}},
    }
    offset = {"yOffset": {"field": "series", "sort": names}} if several else {}
    colour = _series_colour(names) if several else {}
    room = int(20 + _SIGN * max((len(str(v.get("text", ""))) for v in values), default=0))
    x = _axis(unit, domain, room)
    fill = (
        {"condition": {"test": "datum.sure === false", "value": "var(--paper)"}, **colour}
        if several
        else {
            "condition": {"test": "datum.sure === false", "value": "var(--paper)"},
            "value": "var(--accent)",
        }
    )
    stroke = colour or {"value": "var(--accent)"}
    shape = {
        "shape": {
            "field": "series",
            "sort": names,
            "scale": {"domain": names, "range": list(SHAPES[: len(names)])},
        }
    }
    layers: list[dict[str, Any]] = []
    if any("floor" in v for v in values):
        layers.append(
            {
                "mark": {"type": "bar", "color": "var(--band)", "height": {"band": 0.999}, "aria": False},
                "encoding": {"x": {"field": "floor", **x}, "x2": {"datum": 0}},
            }
        )
    if zero_line:
        layers.append(
            {
                "mark": {"type": "rule", "color": "var(--quiet)", "strokeWidth": 1, "aria": False},
                "encoding": {"x": {"datum": 0}, "y": None},
            }
        )
    layers += [
        {
            "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
            "mark": {"type": "rule", "strokeWidth": 1.75, "aria": False},
            "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": stroke},
        },
        {
            "transform": [{"filter": "isValid(datum.value)"}],
            "mark": {"type": "point", "size": 62, "strokeWidth": 1.75, "opacity": 1},
            "encoding": {
                "x": {"field": "value", **x},
                "fill": fill,
                "stroke": stroke,
                **(shape if several else {}),
                "tooltip": [{"field": "tip"}],
                "description": {"field": "tip"},
            },
        },
        {
            "transform": [
                {"calculate": f"containerWidth < {_NARROW} ? datum.short : datum.text", "as": "said"}
            ],
            "mark": {"type": "text", "align": "left", "dx": 14, "aria": False, "fontSize": 11.5},
            "encoding": {"x": {"value": {"expr": f"width - {_edge(room)}"}}, "text": {"field": "said"}},
        },
    ]
    step = max(_STEP, 15 * len(names)) if several else _STEP
    return {
        "$schema": _SCHEMA,
        "params": [{"name": "containerWidth", "value": 640}],
        "width": "container",
        "height": step * len(order),
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": values},
        "encoding": {"y": y, **offset},
        "layer": layers,
    }


def _series_colour(names: Sequence[str]) -> dict[str, Any]:
    return {
        "field": "series",
        "type": "nominal",
        "sort": list(names),
        "scale": {"domain": list(names), "range": list(PALETTE[: len(names)])},
    }


def heat(
    rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str], lines: Sequence[str]
) -> dict[str, Any]:
    """A table of numbers on viridis: ``line, column, value, text``; an undefined cell stays empty."""
    values = [
        {k: (_plain(v, 40) if isinstance(v, str) else v) for k, v in r.items() if v is not None} for r in rows
    ]
    top = max((v["value"] for v in values if "value" in v), default=1.0)
    return {
        "$schema": _SCHEMA,
        "params": [{"name": "containerWidth", "value": 640}],
        "width": "container",
        "height": 24 * len(set(lines)),
        "autosize": {"type": "fit-x", "contains": "padding"},
        "data": {"values": values},
        "encoding": {
            "y": {"field": "line", "type": "nominal", "sort": [_plain(v, 40) for v in lines], "title": None},
            "x": {
                "field": "column",
                "type": "nominal",
                "sort": [_plain(v, 40) for v in columns],
                "title": None,
                "axis": {
                    "orient": "top",
                    "labelAngle": 0,
                    "labelLimit": 110,
                    "labelOverlap": False,
                    "labelExpr": "split(datum.label, ' ')",
                },
            },
        },
        "layer": [
            {
                "transform": [{"filter": "isValid(datum.value)"}],
                "mark": {"type": "rect", "stroke": "var(--paper)", "strokeWidth": 2},
                "encoding": {
                    "color": {
                        "field": "value",
                        "type": "quantitative",
                        "scale": {"scheme": "viridis", "domain": [0, top], "clamp": True},
                        "legend": None,
                    },
                    "tooltip": [{"field": "tip"}],
                    "description": {"field": "tip"},
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11.5, "aria": False},
                "encoding": {
                    "text": {"field": "text"},
                    "color": {
                        "condition": [
                            {"test": "!isValid(datum.value)", "value": "var(--quiet)"},
                            {"test": f"datum.value > {0.55 * top!r}", "value": "#111111"},
                        ],
                        "value": "#ffffff",
                    },
                },
            },
        ],
    }


def strips(
    rows: Sequence[Mapping[str, Any]], *, lines: Sequence[str], columns: Sequence[str]
) -> dict[str, Any]:
    """Stacked shares for export, one row a condition and one column an attribute.

    ``line, column, value, start, end, colour``: the segments are placed by the page that shows them too.
    """
    values = [{k: (_plain(v, 60) if isinstance(v, str) else v) for k, v in r.items()} for r in rows]
    unique = sorted({v["colour"] for v in values})
    panels = []
    for i, column in enumerate(columns):
        axis = None if i else {"grid": False, "labelLimit": 220}
        panels.append(
            {
                "width": 150,
                "height": {"step": 22},
                "title": _plain(column, 40),
                "data": {"values": [v for v in values if v["column"] == _plain(column, 60)]},
                "mark": {"type": "bar", "stroke": "var(--quiet)", "strokeWidth": 0.5, "height": 15},
                "encoding": {
                    "y": {
                        "field": "line",
                        "type": "nominal",
                        "sort": [_plain(v, 60) for v in lines],
                        "title": None,
                        "scale": {"domain": [_plain(v, 60) for v in lines]},
                        "axis": axis,
                    },
                    "x": {
                        "field": "start",
                        "type": "quantitative",
                        "scale": {"domain": [0, 1]},
                        "axis": None,
                    },
                    "x2": {"field": "end"},
                    "color": {
                        "field": "colour",
                        "type": "nominal",
                        "legend": None,
                        "scale": {"domain": unique, "range": unique},
                    },
                },
            }
        )
    return {"$schema": _SCHEMA, "hconcat": panels, "spacing": 12}


def side_by_side(panels: Sequence[tuple[str, Mapping[str, Any]]], *, columns: int = 2) -> dict[str, Any]:
    """Panels of one figure as one chart of fixed width, for export."""
    parts = []
    for title, spec in panels:
        part = {k: v for k, v in spec.items() if k not in ("$schema", "autosize", "params")}
        part["width"] = 420
        if title:
            part["title"] = _plain(title, 60)
        parts.append(part)
    params = [{"name": "containerWidth", "value": 640}]
    if len(parts) == 1:
        return {"$schema": _SCHEMA, "params": params, **parts[0]}
    return {
        "$schema": _SCHEMA,
        "params": params,
        "concat": parts,
        "columns": columns,
        "spacing": {"row": 24, "column": 24},
    }
