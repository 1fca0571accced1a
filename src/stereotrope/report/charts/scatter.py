"""Two numbers of the same thing against each other, a dot each."""

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

_HEIGHT = 260


def scatter(
    rows: Sequence[Mapping[str, Any]],
    *,
    across: str,
    upright: str,
    series: Sequence[str],
    top: float,
    right: float,
    floor: float | None = None,
) -> dict[str, Any]:
    """A dot a row with its intervals, a colour and a shape a series: ``label, series, x, value, named, tip``.

    rows: Also ``low, high`` of the upright axis and ``left, right`` of the lying one, where they are known.
        The label of what is ``named`` stands beside its dot.
    across, upright: Titles of the axes, which begin at 0 and end at ``right`` and ``top``.
    floor: Where a dashed line stands on the lying axis.
    """
    values = chart_texts(rows, 300)
    names = [chart_text(name) for name in series]
    colours = {"domain": names, "range": list(PALETTE[: len(names)])}
    legend = {"symbolOpacity": 1, **legend_of(names, "60")} if len(names) > 1 else None
    colour = {"color": nominal("series", names, scale=colours, legend=legend)}
    shapes = {"domain": names, "range": list(SHAPES[: len(names)])}
    shape = {"shape": nominal("series", names, scale=shapes, legend=legend)}
    x = _axis(across, right, titleAnchor="start")
    y = _axis(upright, top)
    at = {"x": {"field": "x", **x}, "y": {"field": "value", **y}}
    line = {"type": "rule", "strokeWidth": 1, "opacity": 0.45, "aria": False}
    known = ("isValid(datum.low) && isValid(datum.high)", "isValid(datum.left) && isValid(datum.right)")
    upwards = {**at, "y": {"field": "low", **y}, "y2": {"field": "high"}, **colour}
    sideways = {**at, "x": {"field": "left", **x}, "x2": {"field": "right"}, **colour}
    layers = [
        layer(line, upwards, known[0]),
        layer(line, sideways, known[1]),
        layer({"type": "point", "filled": True, "size": 52, "opacity": 1}, {**at, **colour, **shape, **TIP}),
    ]
    text = {"type": "text", "align": "left", "dx": 7, "dy": -6, "fontSize": 10.5, "aria": False}
    layers.append(layer(text, {**at, "text": {"field": "label"}}, "datum.named"))
    if floor is not None:
        dashed = {"type": "rule", "strokeDash": [4, 3], "color": "var(--quiet)", "aria": False}
        layers.insert(0, {**layer(dashed, {"x": {"datum": floor, **x}}), "data": {"values": [{}]}})
    return {**chart_frame(values, _HEIGHT), "layer": layers}


def _axis(title: str, end: float, **more: Any) -> dict[str, Any]:
    scale = {"domain": [0, end], "nice": False, "clamp": True}
    return {"type": "quantitative", "scale": scale, "axis": {"title": title, "tickCount": 5, **more}}
