"""Curves over a number, one a series."""

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
    nominal,
)

MOST_CURVES = len(PALETTE)
"""Curves of one chart: each has a colour and a shape of its own."""
_HEIGHT = 220


def curves(
    rows: Sequence[Mapping[str, Any]],
    *,
    series: Sequence[str],
    across: str,
    top: float,
    bottom: float = 0,
    band: bool = False,
) -> dict[str, Any]:
    """A curve a series, with a colour and a shape: ``series, at, value, low, high, tip``.

    A curve ends where a row has no value, and goes on behind it.

    across: Title of the lying axis; the upright one goes from ``bottom`` to ``top``.
    band: Whether the room from ``low`` to ``high`` is filled.
    """
    values = chart_texts(rows, 300)
    names = [chart_text(name) for name in series]
    scale = {"domain": names, "range": list(PALETTE[: len(names)])}
    legend = {"symbolOpacity": 1, **legend_of(names, "60")} if len(names) > 1 else None
    colour = {"color": nominal("series", names, scale=scale, legend=legend)}
    shape = {"shape": nominal("series", names, scale={"domain": names, "range": list(SHAPES[: len(names)])})}
    shape["shape"]["legend"] = legend
    x_axis = {"title": across, "titleAnchor": "start", "grid": False, "tickCount": 5, "tickMinStep": 1}
    x = {"field": "at", "type": "quantitative", "scale": {"zero": True, "nice": False}, "axis": x_axis}
    y_axis = {"title": None, "tickCount": 4}
    y = {"type": "quantitative", "scale": {"domain": [bottom, top], "nice": False}, "axis": y_axis}
    at = {"x": x, "y": {"field": "value", **y}, **colour}
    drawn = "isValid(datum.value)"
    layers = [
        layer({"type": "line", "strokeWidth": 1.5, "aria": False}, at),
        layer({"type": "point", "filled": True, "size": 46, "opacity": 1}, {**at, **shape, **TIP}, drawn),
    ]
    if band:
        area = {"x": x, "y": {"field": "low", **y}, "y2": {"field": "high"}, **colour}
        layers.insert(0, layer({"type": "area", "opacity": 0.16, "line": False, "aria": False}, area))
    if bottom < 0:
        zero = {"type": "rule", "color": "var(--quiet)", "aria": False}
        layers.insert(0, {**layer(zero, {"y": {"datum": 0, **y}}), "data": {"values": [{}]}})
    return {**chart_frame(values, _HEIGHT), "layer": layers}
