"""Tables of numbers as colours, and strips of shares."""

from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.report.charts.drawing import (
    TIP,
    VEGA_LITE,
    chart_frame,
    chart_text,
    chart_texts,
    layer,
    narrow,
    nominal,
    numbered,
    wrapped_text,
)

_HEAD_SIGNS = 13
_LIGHT_VIRIDIS = 0.55
"""Share of the viridis scale from which dark text reads better than white."""
_LIGHT_DIVERGING = 0.6
"""Share of the scale of two colours up to which dark text reads better than white."""


def _head(text: object) -> str:
    return wrapped_text(chart_text(text), _HEAD_SIGNS)


def head_width(text: str) -> int:
    """Signs in the longest line of a column's head."""
    return max(len(line) for line in _head(text).split("\n"))


def heat(
    rows: Sequence[Mapping[str, Any]],
    *,
    columns: Sequence[str],
    lines: Sequence[str],
    signed: bool = False,
    top: float | None = None,
    grey: bool = False,
) -> dict[str, Any]:
    """A table of numbers: ``line, column, value, text``; an undefined cell stays empty, or is ``grey``.

    On viridis from 0 to ``top`` (the largest value when None); ``signed`` numbers on a scale of two colours
    from ``-top`` to ``top``.
    """
    values = chart_texts(rows)
    heads = [_head(v) for v in columns]
    for v in values:
        v["column"] = _head(v["column"])
    numbered(values, "line", "column")
    order = list(dict.fromkeys([*map(chart_text, lines), *(str(v["line"]) for v in values)]))
    largest = max((abs(float(v["value"])) for v in values if "value" in v), default=1.0)
    axis = {
        "orient": "top",
        "labelAngle": 0,
        "labelLimit": 110,
        "labelFontSize": {"expr": narrow(9, 12)},
        "labelOverlap": False,
        "labelExpr": "split(datum.label, '\\n')",
        "labelPadding": 6 + 13 * max((h.count("\n") for h in heads), default=0),
    }
    limit = {"labelLimit": {"expr": narrow(110, 260)}}
    return {
        **chart_frame(values, 24 * len(order)),
        "encoding": {
            "y": nominal("line", order, title=None, axis=limit),
            "x": nominal("column", heads, title=None, axis=axis),
        },
        "layer": [*_GREY * grey, *_cells((largest if top is None else top) or 1.0, signed=signed)],
    }


_GREY = [
    layer(
        {"type": "rect", "stroke": "var(--paper)", "strokeWidth": 2, "color": "var(--group-other)"},
        TIP,
        "!isValid(datum.value)",
    )
]


def _cells(top: float, *, signed: bool) -> list[dict[str, Any]]:
    scale, dark = {"scheme": "viridis", "domain": [0, top]}, f"datum.value > {_LIGHT_VIRIDIS * top!r}"
    if signed:
        scale = {"scheme": "purpleorange", "domain": [top, -top]}
        dark = f"abs(datum.value) < {_LIGHT_DIVERGING * top!r}"
    colour = {"field": "value", "type": "quantitative", "scale": {**scale, "clamp": True}, "legend": None}
    cell = {"type": "rect", "stroke": "var(--paper)", "strokeWidth": 2}
    number = {"type": "text", "fontSize": 11.5, "aria": False}
    tests = {"!isValid(datum.value)": "var(--quiet)", dark: "#111111"}
    readable = [{"test": test, "value": shade} for test, shade in tests.items()]
    written = {"text": {"field": "text"}, "color": {"condition": readable, "value": "#ffffff"}}
    return [layer(cell, {"color": colour, **TIP}, "isValid(datum.value)"), layer(number, written)]


def strips(
    rows: Sequence[Mapping[str, Any]], *, lines: Sequence[str], columns: Sequence[str], title: str
) -> dict[str, Any]:
    """Stacked shares for export, one row a condition and one column an attribute, each with its key.

    ``line, column, value, start, end, colour``: the segments are placed by the page that shows them too.
    """
    values = chart_texts(rows, 60)
    names = [chart_text(v, 60) for v in lines]
    panels = [_strip_panel(values, names, column, first=i == 0) for i, column in enumerate(columns)]
    return {
        "$schema": VEGA_LITE,
        "title": chart_text(title, 120),
        "hconcat": panels,
        "spacing": 16,
        "resolve": {"scale": {"color": "independent"}},
    }


def _strip_panel(
    values: Sequence[Mapping[str, Any]], names: Sequence[str], column: str, *, first: bool
) -> dict[str, Any]:
    here = [v for v in values if v["column"] == chart_text(column, 60)]
    key = {v["value"]: v["colour"] for v in here}
    axis = {"grid": False, "labelLimit": 220} if first else None
    legend = {"orient": "bottom", "columns": 2, "labelLimit": 70}
    legend |= {"symbolType": "square", "symbolStrokeColor": "var(--quiet)"}
    scale = {"domain": list(key), "range": list(key.values())}
    return {
        "width": 160,
        "height": {"step": 22},
        "title": {"text": chart_text(column, 40), "fontSize": 12},
        "data": {"values": here},
        "mark": {"type": "bar", "stroke": "var(--quiet)", "strokeWidth": 0.5, "height": 15},
        "encoding": {
            "y": nominal("line", names, title=None, scale={"domain": list(names)}, axis=axis),
            "x": {"field": "start", "type": "quantitative", "scale": {"domain": [0, 1]}, "axis": None},
            "x2": {"field": "end"},
            "color": {"field": "value", "type": "nominal", "legend": legend, "scale": scale},
        },
    }
