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
    rows: Sequence[Mapping[str, Any]], *, series: Sequence[str], across: str, top: float
) -> dict[str, Any]:
    """A curve a series, with a colour and a shape: ``series, at, value, low, high, tip``.

    across: Title of the lying axis; the upright one ends at ``top``.
    """
    values = chart_texts(rows, 300)
    names = [chart_text(name) for name in series]
    scale = {"domain": names, "range": list(PALETTE[: len(names)])}
    legend = {"symbolOpacity": 1, **legend_of(names, "60")} if len(names) > 1 else None
    colour = {"color": nominal("series", names, scale=scale, legend=legend)}
    shape = {"shape": nominal("series", names, scale={"domain": names, "range": list(SHAPES[: len(names)])})}
    shape["shape"]["legend"] = legend
    x_axis = {"title": across, "titleAnchor": "start", "grid": False, "tickCount": 5}
    x = {"field": "at", "type": "quantitative", "scale": {"zero": True, "nice": False}, "axis": x_axis}
    y_axis = {"title": None, "tickCount": 4}
    y = {"type": "quantitative", "scale": {"domain": [0, top], "nice": False}, "axis": y_axis}
    drawn = "isValid(datum.value)"
    return {
        **chart_frame(values, _HEIGHT),
        "encoding": {"x": x},
        "layer": [
            layer(
                {"type": "line", "strokeWidth": 1.5, "aria": False},
                {"y": {"field": "value", **y}, **colour},
                drawn,
            ),
            layer(
                {"type": "point", "filled": True, "size": 46, "opacity": 1},
                {"y": {"field": "value", **y}, **colour, **shape, **TIP},
                drawn,
            ),
        ],
    }
