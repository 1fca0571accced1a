"""Stacked shares: one bar a condition, aligned, with its numbers in it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.escape import cut_short
from stereotrope.report.charts.drawing import (
    PALETTE,
    TIP,
    chart_frame,
    chart_text,
    chart_texts,
    layer,
    legend_of,
    narrow,
)

_BAR = 19
_SIGN = 5.7
"""Units that a sign of what stands behind a bar takes, at most, on average."""
_MOST_SIGNS = 30
_MOST_SIGNS_NARROW = 11
_LABELS = 90
"""Units that the labels at the left take at most, about."""
_DIGITS = 30
"""Units that a share needs inside its piece."""
_ON_DARK = (PALETTE[4],)
"""Colours on which white reads better than black: the blue of Okabe–Ito."""


def stacks(
    rows: Sequence[Mapping[str, Any]],
    *,
    lines: Sequence[str],
    series: Sequence[str],
    colours: Mapping[str, str],
) -> dict[str, Any]:
    """Shares that add up, one bar a line and series.

    rows: One piece each: ``line, series, group, start, end, text, tip``; a row without a group holds only
        what stands behind its bar: ``said``, on a narrow page ``short``.
    lines: Labels of the lines in their order.
    series: Names of the bars of one line in their order; one name only, and every line is one bar.
    colours: Group → colour, in the order of the pieces.
    """
    values = chart_texts(rows)
    names, labels = [chart_text(s) for s in series], [chart_text(line) for line in lines]
    apart = int(len(names) > 1)
    each = max(1, len(names)) + apart
    slots = [str(i) for i in range(each * len(labels) - apart)]
    for v in values:
        bar = names.index(v["series"]) if v.get("series") in names else 0
        v["slot"] = str(each * labels.index(v["line"]) + bar)
        if "said" in v:
            v["said"] = cut_short(v["said"], _MOST_SIGNS)
            v["short"] = cut_short(v["short"], _MOST_SIGNS_NARROW)
    said, short = (max((len(v.get(c, "")) for v in values), default=0) for c in ("said", "short"))
    room = f"({narrow(f'{14 + _SIGN * short:.0f}', f'{14 + _SIGN * said:.0f}')})"
    y = {
        "field": "slot",
        "type": "nominal",
        "title": None,
        "scale": {"domain": slots, "paddingInner": 0.12, "paddingOuter": 0.06},
        "axis": _labels(labels, each, apart),
    }
    return {
        **chart_frame(values, _BAR * len(slots)),
        "encoding": {"y": y},
        "layer": [_pieces(colours, room), _shares(colours, room), _behind(room)],
    }


def _labels(labels: Sequence[str], each: int, apart: int) -> dict[str, Any]:
    """One label a line, in the middle of its bars."""
    texts = [labels[i // each] if i % each == 0 else "" for i in range(each * len(labels))]
    return {
        "grid": False,
        "labelLimit": {"expr": narrow(70, 140)},
        "labelExpr": f"{json.dumps(texts, ensure_ascii=False)}[toNumber(datum.value)]",
        "labelOffset": _BAR * (each - apart - 1) / 2,
        "labelOverlap": False,
    }


def _along(field: str, room: str) -> dict[str, Any]:
    """The axis of shares; units at its right are kept for what stands behind the bars."""
    end = f"max(60, width - {room})"
    scale = {"domain": [0, 1], "nice": False, "range": [0, {"expr": end}]}
    axis = {"title": None, "values": [0, 0.5, 1], "grid": False, "format": "~g"}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def _pieces(colours: Mapping[str, str], room: str) -> dict[str, Any]:
    legend = {**legend_of(colours, str(_LABELS)), "symbolType": "square", "symbolStrokeColor": "var(--quiet)"}
    legend |= {"symbolStrokeWidth": 0.5}
    scale = {"domain": list(colours), "range": list(colours.values())}
    colour = {"field": "group", "type": "nominal", "scale": scale, "legend": legend}
    mark = {"type": "bar", "stroke": "var(--paper)", "strokeWidth": 1}
    along = {"x": _along("start", room), "x2": {"field": "end"}}
    return layer(mark, {**along, "color": colour, **TIP}, "isValid(datum.group)")


def _shares(colours: Mapping[str, str], room: str) -> dict[str, Any]:
    """The share inside each piece that is long enough for it."""
    dark = [group for group, colour in colours.items() if colour in _ON_DARK]
    neutral = [group for group, colour in colours.items() if colour not in PALETTE]
    long = f"(datum.end - datum.start) * (containerWidth - {_LABELS} - {room}) > {_DIGITS}"
    tone = [
        {"test": f"indexof({json.dumps(names)}, datum.group) >= 0", "value": value}
        for names, value in ((dark, "#ffffff"), (neutral, "var(--ink)"))
        if names
    ]
    colour = {**({"condition": tone} if tone else {}), "value": "#111111"}
    mark = {"type": "text", "fontSize": 11, "dy": 1, "aria": False}
    encoding = {"x": _along("middle", room), "text": {"field": "text"}, "color": colour}
    where = f"isValid(datum.group) && {long}"
    return layer(mark, encoding, where, middle="(datum.start + datum.end) / 2")


def _behind(room: str) -> dict[str, Any]:
    mark = {"type": "text", "align": "left", "dx": 8, "dy": 1, "aria": False, "fontSize": 11.5}
    encoding = {"x": {"value": {"expr": f"width - {room}"}}, "text": {"field": "behind"}}
    return layer(mark, encoding, "isValid(datum.said)", behind=narrow("datum.short", "datum.said"))
