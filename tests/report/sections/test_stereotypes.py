"""Charts of the section of stereotypes: shares beside true shares, and scores beside variety."""

from __future__ import annotations

from typing import Any

import pytest
import vl_convert

from stereotrope.report.charts.gaps import gaps
from stereotrope.report.charts.scatter import scatter


def share(label: str, value: float | None, true: float | None, series: str = "m") -> dict[str, Any]:
    said = {"text": "Ψ", "short": "Ψ", "tip": label, "sure": True}
    return {"label": label, "value": value, "true": true, "low": 0.1, "high": 0.9, "series": series, **said}


def layers(spec: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    return [one for one in spec["layer"] if one["mark"]["type"] == mark]


def test_a_tick_stands_at_the_true_share_and_bars_lead_from_it() -> None:
    spec = gaps([share("beard", 0.8, 0.3), share("hat", 0.2, 0.5)], unit="share", series=["m"])
    (tick,) = layers(spec, "tick")
    assert tick["encoding"]["x"]["field"] == "true"
    above, below = (one for one in layers(spec, "bar") if one["encoding"]["x"]["field"] == "true")
    assert above["mark"]["opacity"] > below["mark"]["opacity"]
    assert above["transform"][1]["filter"] == "datum.value > datum.true"
    assert below["transform"][1]["filter"] == "!(datum.value > datum.true)"


@pytest.mark.parametrize("models", [["m"], ["m", "n"]])
def test_both_charts_can_be_drawn(models: list[str]) -> None:
    rows = [share(a, v, t, m) for m in models for a, v, t in (("beard", 0.8, 0.3), ("hat", 0.2, None))]
    points = [
        {
            "label": "beard",
            "series": m,
            "x": 0.2,
            "value": 0.4,
            "low": 0.3,
            "high": 0.5,
            "tip": "beard",
            "named": True,
        }
        for m in models
    ]
    axes = {"across": "variety", "upright": "score", "top": 1.0, "right": 1.0}
    for spec in (
        gaps(rows, unit="share", series=models),
        scatter(points, series=models, floor=0.1, **axes),
        scatter(points, series=models, **axes),
    ):
        svg = vl_convert.vegalite_to_svg({**spec, "width": 400, "autosize": "pad"})
        assert "beard" in svg


def test_the_plane_marks_what_any_direction_reads() -> None:
    point = {"label": "beard", "series": "m", "x": 0.2, "value": 0.4, "tip": "beard", "named": True}
    spec = scatter([point], across="x", upright="y", series=["m"], top=1.0, right=1.0, floor=0.03)
    (dashed,) = [one for one in layers(spec, "rule") if "strokeDash" in one["mark"]]
    assert dashed["encoding"]["x"]["datum"] == 0.03
    assert dashed["data"] == {"values": [{}]}


def test_what_is_not_named_has_no_label_that_covers_others() -> None:
    points = [
        {"label": name, "series": "m", "x": 0.2, "value": 0.0, "tip": name, "named": name == "beard"}
        for name in ("beard", "hat")
    ]
    spec = scatter(points, across="x", upright="y", series=["m"], top=1.0, right=1.0)
    svg = vl_convert.vegalite_to_svg({**spec, "width": 400})
    assert ">beard<" in svg
    assert ">hat<" not in svg
