"""Dots and intervals against a noise floor."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.report.charts.drawing import (
    PALETTE,
    SHAPES,
    TIP,
    chart_frame,
    chart_text,
    chart_texts,
    layer,
    legend_of,
    narrow,
    nominal,
    numbered,
    wrapped_text,
)

_STEP = 22
_LEFT = 7
LABEL_SIGNS = 18
"""After so many signs a label is broken that must be read whole on a narrow page."""
_NARROW_LABELS, _WIDE_LABELS = 110, 200
_SIGN_OF_LABEL = 7.5
"""Units that a sign of a label takes at most, on average."""
_LONGEST = 80
_NARROW_PAGE, _SIGNS_OF_TITLE, _SIGN_OF_TITLE = 340, 36, 6
"""Units that labels and the title share on a narrow page; signs in a line of the title, units of a sign."""
_LINE = 14
_SHORT_ROOM = 46
_HALF_PAGE, _LEAST_PLOT = 420, 130
"""Units of one of two panels that stand side by side, and of a plot in it that still says something."""
_SIGN = 5.4
"""Units a sign of the numbers takes, at most, on average."""


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
        False for a hollow dot, ``text`` stands at the right, ``short`` on a narrow page. The band is between
        ``floor`` and ``base``, which is 0 unless given. ``mark`` is where an upright tick stands.
    unit, domain: Title and ends of the axis.
    series: Names of the series in their order; two or more get a colour and a shape each.
    zero_line, bars: Draw a line at 0, for differences; a thin bar from 0 to each dot, for shares.
    apart: Labels of the first rows that are set apart from the rest: in heavier type, above a line.
    wrapped: Signs after which long labels are broken over lines instead of being cut; 0 cuts them.
    ticks: Where the axis has its lines and numbers; about five round places unless given.
    """
    values = chart_texts(rows, 2 * _LONGEST if wrapped else _LONGEST)
    numbered(values, "label", "series")
    if wrapped:
        for v in values:
            v["label"] = wrapped_text(str(v["label"]), wrapped)
    order = list(dict.fromkeys(str(v["label"]) for v in values))
    names = [chart_text(s) for s in series or ()] if len(series or ()) > 1 else []
    room = f"({narrow(_SHORT_ROOM, _numbers_room(values))})"
    lines = max((label.count("\n") + 1 for label in order), default=0)
    longest = max((len(line) for label in order for line in label.split("\n")), default=0)
    at_left = min(max(_NARROW_LABELS, _SIGN_OF_LABEL * wrapped), _SIGN_OF_LABEL * longest)
    signs = int((_NARROW_PAGE - at_left) / _SIGN_OF_TITLE)
    title = wrapped_text(unit, max(_SIGNS_OF_TITLE // 2, min(_SIGNS_OF_TITLE, signs)))
    x = _axis(title, domain, room, zero_line=zero_line, ticks=ticks)
    step = max(_STEP, 18 * len(names), 4 + _LINE * max(lines, 1))
    named = {wrapped_text(chart_text(a), wrapped) if wrapped else chart_text(a) for a in apart}
    labels = _labels([label for label in order if label in named], order, wrapped, lines)
    y = {"y": nominal("label", order, title=None, axis=labels)}
    if names:
        y["yOffset"] = {"field": "series", "sort": names, "scale": {"domain": names}}
    layers = _layers(x, names, room, banded=any("floor" in v for v in values), bars=bars)
    if any("mark" in v for v in values):
        mark = {"type": "tick", "thickness": 2.5, "opacity": 1, "color": "var(--ink)", "aria": False}
        through = {"x": {"field": "mark", **x}, "yOffset": None}  # all series of a label
        layers.insert(0, layer(mark, through, "isValid(datum.mark)"))
    return {**chart_frame(values, step * len(order)), "encoding": y, "layer": layers}


def cramped(rows: Sequence[Mapping[str, Any]], wrapped: int) -> bool:
    """Whether such rows leave too little room for their dots where two panels stand side by side."""
    signs = max((len(str(row["label"])) for row in rows), default=0)
    labels = min(_WIDE_LABELS, _SIGN_OF_LABEL * min(signs, wrapped or signs))
    return _HALF_PAGE - labels - _numbers_room(rows) < _LEAST_PLOT


def _numbers_room(rows: Sequence[Mapping[str, Any]]) -> int:
    return int(20 + _SIGN * max((len(str(row.get("text", ""))) for row in rows), default=0))


def _axis(
    title: str, domain: Sequence[float], room: str, *, zero_line: bool, ticks: Sequence[float]
) -> dict[str, Any]:
    """The x axis; ``room`` at the right is kept for the numbers."""
    scale = {"domain": list(domain), "nice": False, "range": [_LEFT, {"expr": f"max(60, width - {room})"}]}
    axis: dict[str, Any] = {"title": title.split("\n") if title else None, "tickCount": 5, "grid": True}
    axis |= {"titleAnchor": "start", "titleX": _LEFT}
    if ticks:
        axis |= {"values": list(ticks), "format": ".2~f"}
    if zero_line:
        at_zero = {"test": "datum.value === 0", "value": "var(--quiet)"}
        axis["gridColor"] = {"condition": at_zero, "value": "var(--rule)"}
    return {"type": "quantitative", "scale": scale, "axis": axis}


def _labels(apart: Sequence[str], order: Sequence[str], wrapped: int, lines: int) -> dict[str, Any]:
    """The axis of the labels; those set apart are heavier, and a line is drawn below them."""
    limit = narrow(max(_NARROW_LABELS, _SIGN_OF_LABEL * wrapped), _WIDE_LABELS)
    axis: dict[str, Any] = {"grid": False, "labelLimit": {"expr": limit}}
    if wrapped:
        axis["labelExpr"] = "split(datum.label, '\\n')"
        tests = {n: f"length(split(datum.value, '\\n')) === {n}" for n in range(2, 1 + lines)}
        higher = [{"test": test, "value": -_LINE * (n - 1) / 2} for n, test in tests.items()]
        axis["labelOffset"] = {"condition": higher, "value": 0}
    if apart:
        heavier = {"test": f"indexof({json.dumps(list(apart))}, datum.value) >= 0", "value": 600}
        axis["labelFontWeight"] = {"condition": heavier, "value": 400}
    if apart and len(order) > len(apart):
        last = {"test": f"datum.value === {json.dumps(apart[-1])}", "value": "var(--quiet)"}
        axis |= {"grid": True, "tickBand": "extent"}
        axis["gridColor"] = {"condition": last, "value": "transparent"}
    return axis


def _layers(
    x: Mapping[str, Any], names: Sequence[str], room: str, *, banded: bool, bars: bool
) -> list[dict[str, Any]]:
    """Band, bar, interval, dot and numbers of each row."""
    colour: dict[str, Any] = {"value": "var(--accent)"}
    shape = {}
    if names:
        scale = {"domain": list(names), "range": list(PALETTE[: len(names)])}
        legend = {"symbolOpacity": 1, **legend_of(names, narrow(_NARROW_LABELS, _WIDE_LABELS))}
        colour = nominal("series", names, scale=scale, legend=legend)
        scale = {"domain": list(names), "range": list(SHAPES[: len(names)])}
        shape = {"shape": {"field": "series", "sort": list(names), "scale": scale}}
    hollow = {"condition": {"test": "datum.sure === false", "value": "var(--paper)"}}
    band = {"type": "bar", "color": "var(--band)", "height": {"band": 0.999}, "aria": False}
    bar = {"type": "bar", "height": 7, "opacity": 0.3, "aria": False}
    rule = {"type": "rule", "strokeWidth": 1.75, "aria": False}
    dot = {"type": "point", "size": 62, "strokeWidth": 1.75, "opacity": 1}
    number = {"type": "text", "align": "left", "dx": 14, "aria": False, "fontSize": 11.5}
    at = {"x": {"field": "value", **x}}
    below = {"x": {"field": "floor", **x}, "x2": {"field": "base_at"}}
    span = {"x": {"field": "low", **x}, "x2": {"field": "high"}}
    right = {"x": {"value": {"expr": f"width - {room}"}}, "text": {"field": "said"}}
    base, drawn = "isValid(datum.base) ? datum.base : 0", "isValid(datum.value)"
    return [
        *[layer(band, below, "isValid(datum.floor)", base_at=base)] * banded,
        *[layer(bar, {**at, "x2": {"datum": 0}, "color": colour}, drawn)] * bars,
        layer(rule, {**span, "color": colour}, "isValid(datum.low) && isValid(datum.high)"),
        layer(dot, {**at, "fill": {**hollow, **colour}, "stroke": colour, **shape, **TIP}, drawn),
        layer(number, right, said=narrow("datum.short", "datum.text")),
    ]
