"""Vega-Lite pictures of composite scores: radar, plane of two scores, matrix of prompts and models."""

import math
import textwrap
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
    nominal,
)
from stereotrope.report.numbers import number
from stereotrope.tables import BANDS

BAND_COLOURS = tuple(f"var(--severity-{i})" for i in range(1, len(BANDS) + 1))
"""One hue, the stronger the higher: told apart by lightness, and always beside the band's name."""
_BAND_TEXTS = tuple(f"var(--on-severity-{i})" for i in range(1, len(BANDS) + 1))
_DASHES = ((1, 0), (7, 3), (2, 3), (9, 3, 2, 3), (4, 4), (12, 4), (1, 3))

_RADIUS, _SIDE = 124, 78
"""Units from the middle of a radar to the score 1, and what is kept for names on a narrow page."""
_MARGIN = 46
RADAR_HEIGHT = 2 * (_RADIUS + _MARGIN)
"""Units from the top of a radar to its end."""
_AXIS_AT = 1.08
_NAME_SIGNS, _NAME_LINES, _LINE = 12, 3, 14
_PLANE_HEIGHT = 300
_LABEL_SIGN, _LABEL_HEIGHT = 6.6, 15.0
_NOMINAL_WIDTH = 360.0
_RIGHT_ROOM = 14
_CELL = 60
_SPOTS = ((9, -11), (9, 11), (-9, -11), (-9, 11), (9, -26), (9, 26), (-9, -26), (-9, 26))
"""Where the name of a dot may stand, the best first."""

_R = f"min({_RADIUS}, width / 2 - {_SIDE})"
_MIDDLE = RADAR_HEIGHT // 2


def _from_middle(start: str, end: str) -> dict[str, Any]:
    scale = {"domain": [-1, 1], "range": [{"expr": start}, {"expr": end}]}
    return {"type": "quantitative", "axis": None, "scale": scale}


_X = _from_middle(f"width / 2 - {_R}", f"width / 2 + {_R}")
_Y = _from_middle(f"{_MIDDLE} + {_R}", f"{_MIDDLE} - {_R}")


def _style(place: int) -> tuple[str, str, list[int]]:
    """Colour, shape and dash of the model at a place; after seven they come again in other company."""
    return (
        PALETTE[place % len(PALETTE)],
        SHAPES[(place + place // len(PALETTE)) % len(SHAPES)],
        list(_DASHES[place % len(_DASHES)]),
    )


def _at(axis: float, of: int, radius: float) -> tuple[float, float]:
    """Place on an axis: the first points up, the others follow clockwise."""
    angle = math.pi / 2 - 2 * math.pi * axis / of
    return round(radius * math.cos(angle), 5), round(radius * math.sin(angle), 5)


def radar(
    axes: Sequence[str],
    own: Sequence[Mapping[str, Any]],
    others: Mapping[str, Sequence[float]],
    *,
    place: int,
) -> dict[str, Any]:
    """A polygon of one model over band rings, the polygons of the others behind it in grey.

    axes: What stands at the end of each axis, lines apart by a line feed.
    own: ``value, low, high, text, tip`` of the model on each axis; ``value`` may be None.
    others: Name → values on all axes, of models that have them all.
    place: Of the model among all, for its colour, shape and dash.
    """
    of = len(axes)
    rows: list[dict[str, Any]] = [{"kind": "ring", "x": 0.0, "y": 0.0}]
    for band in BANDS:
        x, y = _at(of - 0.5, of, band.most)
        rows.append({"kind": "edge", "x": x, "y": y, "text": f"{number(band.most, places=2)} {band.name}"})
    for i, (name, row) in enumerate(zip(axes, own, strict=True)):
        x, y = _at(i, of, 1.0)
        rows.append({"kind": "axis", "x": 0.0, "y": 0.0, "x2": x, "y2": y})
        rows.append({"kind": "name", **_named(name, i, of)})
        if row["value"] is None:
            continue
        x, y = _at(i, of, row["value"])
        rows.append({"kind": "own", "x": x, "y": y, "i": i, "text": row["text"], "tip": row["tip"]})
        if row.get("low") is not None and row.get("high") is not None:
            (x1, y1), (x2, y2) = _at(i, of, row["low"]), _at(i, of, row["high"])
            rows.append({"kind": "interval", "x": x1, "y": y1, "x2": x2, "y2": y2, "i": i})
    for name, values in others.items():
        for i, score in enumerate(values):
            x, y = _at(i, of, score)
            rows.append({"kind": "other", "x": x, "y": y, "i": i, "series": name})
    complete = all(row["value"] is not None for row in own)
    drawn = chart_texts(rows)
    for value in drawn:
        if value["kind"] == "name":
            value["text"] = value["text"].split("\n")
    return {**chart_frame(drawn, RADAR_HEIGHT), "layer": _radar_layers(of, place, complete=complete)}


def _named(name: str, axis: int, of: int) -> dict[str, Any]:
    """The name of an axis at its end, its lines outside of the circle."""
    x, y = _at(axis, of, _AXIS_AT)
    lines = [line for part in name.split("\n") for line in textwrap.wrap(part, _NAME_SIGNS)] or ["–"]
    if len(lines) > _NAME_LINES:
        lines = [*lines[: _NAME_LINES - 1], f"{lines[_NAME_LINES - 1][: _NAME_SIGNS - 1]}…"]
    above = _LINE * (len(lines) - 1)
    base, dy = ("bottom", -above) if y > 0.6 else ("top", 0) if y < -0.6 else ("middle", -above / 2)
    align = "center" if abs(x) < 0.2 else ("left" if x > 0 else "right")
    return {"x": x, "y": y, "text": "\n".join(lines), "align": align, "base": base, "dy": dy}


def _radar_layers(of: int, place: int, *, complete: bool) -> list[dict[str, Any]]:
    colour, shape, dash = _style(place)
    at = {"x": {**_X, "field": "x"}, "y": {**_Y, "field": "y"}}
    end = {"x2": {"field": "x2"}, "y2": {"field": "y2"}}
    order = {"order": {"field": "i", "type": "quantitative"}}
    polygon = {"type": "line", "interpolate": "linear-closed", "aria": False}
    behind = {**polygon, "stroke": "var(--quiet)", "strokeWidth": 1, "strokeDash": [3, 3]}
    filled = {"fill": colour, "fillOpacity": 0.14, "stroke": colour, "strokeWidth": 2.2, "strokeDash": dash}
    spoke = {"type": "rule", "color": "var(--quiet)", "strokeWidth": 0.6, "aria": False}
    interval = {"type": "rule", "color": "var(--ink)", "strokeWidth": 1.4, "aria": False}
    point = {"type": "point", "shape": shape, "size": 58, "opacity": 1, "fill": colour}
    figure = {"type": "text", "fontSize": 11.5, "fontWeight": 600, "dx": 9, "align": "left", "aria": False}
    edge = {"type": "text", "fontSize": 10.5, "color": "var(--quiet)", "aria": False}
    name = {"type": "text", "fontSize": 12, "lineHeight": 14, "aria": False}
    name |= {"align": {"expr": "datum.align"}, "baseline": {"expr": "datum.base"}, "dy": {"expr": "datum.dy"}}
    text = {"text": {"field": "text"}}
    shape_of_own = [_layer("own", {**polygon, **filled}, {**at, **order})] if complete else []
    return [
        *(_layer("ring", _disc(i), at) for i in reversed(range(len(BANDS)))),
        _layer("axis", spoke, {**at, **end}),
        _layer("other", behind, {**at, **order, "detail": {"field": "series"}}),
        *shape_of_own,
        *_haloed(edge, _layer("edge", {}, {**at, **text})),
        _layer("interval", interval, {**at, **end}),
        _layer("own", {**point, "stroke": "var(--ink)", "strokeWidth": 0.8}, {**at, **TIP}),
        *_haloed(figure, _layer("own", {}, {**at, **text})),
        _layer("name", name, {**at, **text}),
    ]


def _layer(kind: str, mark: Mapping[str, Any], encoding: Mapping[str, Any]) -> dict[str, Any]:
    """Rows of one kind, drawn in one way."""
    return layer(mark, encoding, f"datum.kind === '{kind}'")


def _disc(band: int) -> dict[str, Any]:
    """All up to the edge of a band, in its colour."""
    return {
        "type": "point",
        "shape": "circle",
        "size": {"expr": f"4 * pow({BANDS[band].most!r} * {_R}, 2)"},
        "fill": BAND_COLOURS[band],
        "fillOpacity": 0.35 if band else 0.5,
        "stroke": "var(--quiet)",
        "strokeWidth": 0.6,
        "opacity": 1,
        "aria": False,
    }


def _haloed(mark: Mapping[str, Any], text: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A text that stays readable above lines: once broadly in the colour of the paper, then itself."""
    halo = {"color": "var(--paper)", "stroke": "var(--paper)", "strokeWidth": 3, "strokeOpacity": 0.85}
    return [{**text, "mark": {**mark, **halo}}, {**text, "mark": dict(mark)}]


def plane(
    rows: Sequence[Mapping[str, Any]], *, x_title: Sequence[str], y_title: Sequence[str], names: Sequence[str]
) -> dict[str, Any]:
    """Two scores of each model as a dot with both intervals and its name beside it.

    rows: ``name, x, x_low, x_high, y, y_low, y_high, tip``; ends of intervals may be None.
    x_title, y_title: What the axes say, and in which direction, a line each.
    names: All models in their order, for colours and shapes.
    """
    values = chart_texts([{**row, **where} for row, where in zip(rows, _beside(rows), strict=True)])
    colours, shapes, _ = zip(*map(_style, range(len(names))), strict=True)
    domain = [chart_text(name) for name in names]
    styled = {"field": "name", "type": "nominal", "legend": None}
    colour = {**styled, "scale": {"domain": domain, "range": colours}}
    shape = {**styled, "scale": {"domain": domain, "range": shapes}}
    share = {"domain": [0, 1], "nice": False}
    ticks = {"tickCount": 5, "grid": True, "titleAnchor": "start"}
    x = {
        "type": "quantitative",
        "scale": {**share, "range": [0, {"expr": f"max(60, width - {_RIGHT_ROOM})"}]},
        "axis": {**ticks, "title": list(x_title), "titleX": 0},
    }
    above = {"titleAngle": 0, "titleAlign": "left", "titleX": -28, "titleY": -12 - _LINE * len(y_title)}
    top = {**ticks, **above, "title": list(y_title), "titleBaseline": "top"}
    y = {"type": "quantitative", "scale": share, "axis": top}
    return {**chart_frame(values, _PLANE_HEIGHT), "layer": _plane_layers(x, y, colour, shape)}


def _plane_layers(
    x: Mapping[str, Any], y: Mapping[str, Any], colour: Mapping[str, Any], shape: Mapping[str, Any]
) -> list[dict[str, Any]]:
    at = {"x": {**x, "field": "x"}, "y": {**y, "field": "y"}}
    across = {"x": {**x, "field": "x_low"}, "x2": {"field": "x_high"}, "y": at["y"], "color": colour}
    upward = {"x": at["x"], "y": {**y, "field": "y_low"}, "y2": {"field": "y_high"}, "color": colour}
    rule = {"type": "rule", "strokeWidth": 1.5, "opacity": 0.85, "aria": False}
    dot = {"type": "point", "size": 76, "opacity": 1, "strokeWidth": 0.8, "stroke": "var(--ink)"}
    text: dict[str, Any] = {"type": "text", "fontSize": 12, "aria": False, "baseline": "middle"}
    text |= {side: {"expr": f"datum.{side}"} for side in ("align", "dx", "dy")}
    return [
        layer(rule, across, "isValid(datum.x_low) && isValid(datum.x_high)"),
        layer(rule, upward, "isValid(datum.y_low) && isValid(datum.y_high)"),
        layer(dot, {**at, "fill": colour, "shape": shape, **TIP}),
        *_haloed(text, {"encoding": {**at, "text": {"field": "name"}}}),
    ]


def _beside(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Where the name of each dot stands so that it covers no other name and no dot, as far as that goes."""
    dots = [(row["x"] * _NOMINAL_WIDTH, (1 - row["y"]) * _PLANE_HEIGHT) for row in rows]
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in dots]
    placed = []
    for row, (x, y) in zip(rows, dots, strict=True):
        width = _LABEL_SIGN * len(str(row["name"]))
        boxes = {}
        for dx, dy in _SPOTS:
            left, top = x + (dx if dx > 0 else dx - width), y + dy - _LABEL_HEIGHT / 2
            boxes[dx, dy] = (left, top, left + width, top + _LABEL_HEIGHT)
        (dx, dy), box = min(boxes.items(), key=lambda spot: _cost(spot[1], taken))
        taken.append(box)
        placed.append({"dx": dx, "dy": dy, "align": "left" if dx > 0 else "right"})
    return placed


def _cost(box: Sequence[float], taken: Sequence[Sequence[float]]) -> float:
    """What a name would cover, and how far it would leave the plane."""
    left, top, right, bottom = box
    outside = max(0.0, -left) + max(0.0, right - _NOMINAL_WIDTH)
    outside += max(0.0, -top) + max(0.0, bottom - _PLANE_HEIGHT)
    covered = (
        max(0.0, min(right, x2) - max(left, x1)) * max(0.0, min(bottom, y2) - max(top, y1))
        for x1, y1, x2, y2 in taken
    )
    return sum(covered) + 40.0 * outside


def matrix(
    rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str], lines: Sequence[str]
) -> dict[str, Any]:
    """Prompts × models, each cell in the colour of its band: ``line, column, band, texts, tip``.

    ``band`` is the place of the band, None where the score is undefined; ``texts`` are lines. A cell that is
    ``tentative`` is outlined in its colour and not filled.
    """
    values = [
        {
            **chart_texts([{k: v for k, v in row.items() if k != "texts"}])[0],
            "texts": [chart_text(text, 40) for text in row["texts"]],
        }
        for row in rows
    ]
    heads, sides = [chart_text(c) for c in columns], [chart_text(line) for line in lines]
    scale = {"domain": list(range(len(BANDS))), "range": list(BAND_COLOURS)}
    band = {"field": "band", "type": "ordinal", "legend": None, "scale": scale}
    coloured = {"color": band, "description": {"field": "tip"}}
    tones = [
        {"test": "datum.tentative", "value": "var(--ink)"},
        *({"test": f"datum.band === {i}", "value": colour} for i, colour in enumerate(_BAND_TEXTS)),
    ]
    written = {"text": {"field": "texts"}, "color": {"condition": tones, "value": "var(--quiet)"}}
    text = {"type": "text", "fontSize": 11.5, "lineHeight": _LINE, "baseline": "middle", "aria": False}
    text["dy"] = {"expr": f"-{_LINE / 2} * (length(datum.texts) - 1)"}
    filled = {"type": "rect", "stroke": "var(--paper)", "strokeWidth": 2}
    outlined = {"type": "rect", "filled": False, "strokeWidth": 2, "strokeDash": [5, 4]}
    axis = {"orient": "top", "labelAngle": 0, "labelLimit": 130}
    return {
        **chart_frame(values, _CELL * len(sides)),
        "encoding": {
            "y": nominal("line", sides, title=None),
            "x": nominal("column", heads, title=None, axis=axis),
        },
        "layer": [
            layer(filled, coloured, "isValid(datum.band) && !datum.tentative"),
            layer(outlined, coloured, "datum.tentative"),
            layer(text, written),
        ],
    }
