"""Shares beside the shares that are true: a dot, a tick, and what lies between them."""

from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.report.charts.dots import dots
from stereotrope.report.charts.drawing import layer


def gaps(
    rows: Sequence[Mapping[str, Any]],
    *,
    unit: str,
    series: Sequence[str],
    domain: Sequence[float] = (0.0, 1.0),
) -> dict[str, Any]:
    """One row an attribute or condition: a tick at what is true or was before, a dot at what is seen, a bar.

    rows: As for :func:`~stereotrope.report.charts.dots.dots`, with ``true``, where the tick stands.
    unit, series, domain: Title of the axis; names of the series in their order; ends of the axis.
    """
    spec = dots(rows, unit=unit, domain=domain, series=series)
    x = next(one["encoding"]["x"] for one in spec["layer"] if "x" in one["encoding"])
    true, both = "isValid(datum.true)", "isValid(datum.true) && isValid(datum.value)"
    more = "datum.value > datum.true"
    at, to = {**x, "field": "true"}, {"field": "value"}
    bar = {"type": "bar", "height": 7, "aria": False}
    strong, weak = ({**bar, "opacity": opacity} for opacity in (0.45, 0.15))
    colour = next(
        (one["encoding"]["color"] for one in spec["layer"] if "color" in one["encoding"]),
        {"value": "var(--accent)"},
    )
    tick = {"type": "tick", "thickness": 2, "size": 15, "color": "var(--ink)", "aria": False}
    below = [
        layer(strong, {"x": at, "x2": to, "color": colour}, both, more),
        layer(weak, {"x": at, "x2": to, "color": colour}, both, f"!({more})"),
    ]
    return {**spec, "layer": [*below, *spec["layer"], layer(tick, {"x": at}, true)]}
