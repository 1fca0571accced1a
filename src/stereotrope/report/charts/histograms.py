"""Small histograms below each other on one axis."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.report.charts.drawing import (
    TIP,
    chart_frame,
    chart_text,
    chart_texts,
    layer,
    narrow,
    nominal,
    wrapped_text,
)

_ROW = 62
"""Units of one histogram: its texts above its bars."""
_TOP, _FOOT = 0.3, 0.88
"""Where the highest bar ends and where all begin, in parts of a row."""
_SIGNS_OF_TITLE = 36
_LABELS = (84, 130)
"""Units of the names at the left: on a narrow page, elsewhere."""
_SIDES = {"low": "var(--group-2)", "middle": "var(--group-other)", "high": "var(--group-1)"}


def histograms(
    rows: Sequence[Mapping[str, Any]],
    *,
    lines: Sequence[str],
    domain: tuple[float, float],
    middle: float,
    ticks: Sequence[float],
    unit: str,
    smooth: float | None = None,
) -> dict[str, Any]:
    """A histogram a line, all on one axis, with a mark where its mean is and a text at each end of it.

    With ``smooth`` a violin a line instead: a tick each value under the half of one.

    rows: Of ``line``, the place of a line: bins with ``start, end, height`` (in [0, 1]), ``side`` (low,
        middle or high, which has its colour) and ``tip``; a mean with ``mean, low, high, tip``; and ``left,
        right``, on a narrow page ``short_left, short_right``. Of a violin values with ``at, tip``.
    lines: Names of the lines.
    domain, ticks, unit: Ends, lines and title of the axis.
    middle: Where its heavier line is; the two sides of a violin have colours of their own.
    smooth: Standard deviation of the normal kernel of a violin, the same for all.
    """
    names = [chart_text(name, 40) for name in lines]
    x = {
        "type": "quantitative",
        "scale": {"domain": list(domain), "nice": False},
        "axis": {
            "title": wrapped_text(unit, _SIGNS_OF_TITLE).split("\n") if unit else None,
            "titleAnchor": "start",
            "values": list(ticks),
            "format": ".2~f",
            "labelExpr": "replace(datum.label, '-', '−')",
            "gridColor": {
                "condition": {"test": f"datum.value === {middle!r}", "value": "var(--ink)"},
                "value": "var(--rule)",
            },
            "gridDash": {"condition": {"test": f"datum.value === {middle!r}", "value": [3, 3]}, "value": []},
        },
    }
    y = {
        "type": "quantitative",
        "scale": {"domain": [0, len(names)], "nice": False, "reverse": True},
        "axis": {
            "title": None,
            "grid": False,
            "values": [i + 0.65 for i in range(len(names))],
            "labelExpr": f"{json.dumps(names, ensure_ascii=False)}[floor(datum.value)]",
            "labelLimit": {"expr": narrow(*_LABELS)},
            "labelOverlap": False,
        },
    }
    return {
        **chart_frame(chart_texts(rows, 300), _ROW * len(names)),
        "layer": [
            *(_bars(x, y) if smooth is None else _violins(x, y, domain, middle, smooth)),
            *_layers(x, y),
        ],
    }


def _violins(
    x: Mapping[str, Any], y: Mapping[str, Any], domain: tuple[float, float], middle: float, smooth: float
) -> list[dict[str, Any]]:
    """The smoothed curve of each line, the highest one filling its line, and a tick each value."""
    steps = {"extent": list(domain), "steps": 200, "bandwidth": smooth, "as": ["start", "density"]}
    curve: list[dict[str, Any]] = [
        {"filter": "isValid(datum.at)"},
        {"density": "at", "groupby": ["line"], **steps},
        {"joinaggregate": [{"op": "max", "field": "density", "as": "most"}]},
        {"calculate": f"datum.line + {_FOOT} - {_FOOT - _TOP} * datum.density / datum.most", "as": "top"},
        {"calculate": f"datum.line + {_FOOT}", "as": "foot"},
    ]
    area = {
        "x": {"field": "start", **x},
        "y": {"field": "top", **y},
        "y2": {"field": "foot"},
        "detail": {"field": "line"},
    }
    halves = [
        {
            "transform": [*curve, {"filter": f"datum.start {side} {middle!r}"}],
            "mark": {"type": "area", "color": _SIDES[which], "opacity": 0.75, "aria": False},
            "encoding": area,
        }
        for which, side in (("low", "<="), ("high", ">="))
    ]
    ticks = layer(
        {
            "type": "tick",
            "orient": "vertical",
            "size": 9,
            "thickness": 1.25,
            "color": "var(--ink)",
            "opacity": 0.6,
        },
        {"x": {"field": "at", **x}, "y": {"field": "place", **y}, **TIP},
        "isValid(datum.at)",
        place=f"datum.line + {_FOOT} - 0.07",
    )
    return [*halves, ticks]


def _bars(x: Mapping[str, Any], y: Mapping[str, Any]) -> list[dict[str, Any]]:
    along = {"x": {"field": "start", **x}, "x2": {"field": "end"}, "y": {"field": "top", **y}}
    colour = {"domain": list(_SIDES), "range": list(_SIDES.values())}
    bars = layer(
        {"type": "rect", "stroke": "var(--paper)", "strokeWidth": 1},
        {
            **along,
            "y2": {"field": "foot"},
            "color": nominal("side", [*_SIDES], scale=colour, legend=None),
            **TIP,
        },
        "isValid(datum.height)",
        top=f"datum.line + {_FOOT} - {_FOOT - _TOP} * datum.height",
        foot=f"datum.line + {_FOOT}",
    )
    return [bars]


def _layers(x: Mapping[str, Any], y: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Foot, mean with its interval, and the texts at both ends."""
    foot = layer(
        {"type": "rule", "stroke": "var(--quiet)", "strokeWidth": 0.75, "aria": False},
        {"y": {"field": "foot", **y}},
        "isValid(datum.right) || isValid(datum.mean)",
        foot=f"datum.line + {_FOOT}",
    )
    interval = layer(
        {"type": "rule", "stroke": "var(--ink)", "strokeWidth": 3, "aria": False},
        {"x": {"field": "low", **x}, "x2": {"field": "high"}, "y": {"field": "foot", **y}},
        "isValid(datum.low) && isValid(datum.high)",
        foot=f"datum.line + {_FOOT}",
    )
    mark = {"type": "point", "shape": "triangle-up", "size": 58, "filled": True, "opacity": 1}
    mean = layer(
        {**mark, "color": "var(--ink)", "yOffset": 5},
        {"x": {"field": "mean", **x}, "y": {"field": "foot", **y}, **TIP},
        "isValid(datum.mean)",
        foot=f"datum.line + {_FOOT}",
    )
    return [foot, interval, mean, _text("left", y), _text("right", y)]


def _text(side: str, y: Mapping[str, Any]) -> dict[str, Any]:
    at = 0 if side == "left" else {"expr": "width"}
    mark = {"type": "text", "align": side, "baseline": "middle", "aria": False, "fontSize": 11.5}
    encoding = {"x": {"value": at}, "y": {"field": "place", **y}, "text": {"field": "said"}}
    said = narrow(f"datum.short_{side}", f"datum.{side}")
    return layer(mark, encoding, f"isValid(datum.{side})", said=said, place="datum.line + 0.15")
