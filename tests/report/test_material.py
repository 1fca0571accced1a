from __future__ import annotations

from typing import Any

from stereotrope.report.material import Material


def test_implied_and_constant_factors_are_left_out(objects_run: Any) -> None:
    material = Material(objects_run)
    assert material.shown == ["object", "group"]
    assert material.row_factor == "group"


def test_sheets_follow_the_design_with_the_baseline_first(objects_run: Any) -> None:
    titles = [s.title for s in Material(objects_run).sheets]
    assert titles[:3] == ["laptop, base", "laptop, men", "laptop, women"]
    assert len(titles) == 12


def test_an_estimate_leads_to_the_pictures_behind_it(objects_run: Any) -> None:
    material = Material(objects_run)
    sheet = material.find_sheet(
        {"generator": "calibrated", "object": "cup", "group": "women", "dimension": "gender"}
    )
    assert sheet is not None
    assert sheet.title == "cup, women"
    assert material.find_sheet({"generator": "no such"}) is None
    assert material.find_sheet({}) is None
