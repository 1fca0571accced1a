from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.sections.captions.made_up_captions import captions_material, row

from stereotrope.report.panels import Figure
from stereotrope.report.prose import ALL_ZERO
from stereotrope.report.sections.captions.measured import measured_blocks


def figure(tmp_path: Path, name: str, **of: Any) -> Figure:
    blocks = measured_blocks(captions_material(tmp_path, **of))
    return next(f for block in blocks for f in block.figures if f.name == name)


def labels(made: Figure, panel: int = 0) -> list[str]:
    return list(dict.fromkeys(v["label"] for v in made.panels[panel].spec["data"]["values"]))


def test_a_prompt_is_one_panel_whose_first_line_is_all_elements_together(tmp_path: Path) -> None:
    made = figure(tmp_path, "gmr")
    assert [p.title for p in made.panels] == ["prompt 0", "prompt 1"]
    assert labels(made) == ["any of them", "element 2", "element 1", "element 0"]


def test_models_stand_side_by_side_on_each_line(tmp_path: Path) -> None:
    values = figure(tmp_path, "iemr").panels[0].spec["data"]["values"]
    assert [v["series"] for v in values if v["label"] == "element 1"] == ["model 0", "model 1"]
    assert all(v["low"] < v["value"] < v["high"] for v in values)


def test_the_line_over_all_elements_is_set_apart(tmp_path: Path) -> None:
    axis = figure(tmp_path, "gmr").panels[0].spec["encoding"]["y"]["axis"]
    assert '"any of them"' in axis["labelFontWeight"]["condition"]["test"]
    assert '"any of them"' in axis["gridColor"]["condition"]["test"]


def test_the_mean_of_the_authors_scripts_is_not_called_any(tmp_path: Path) -> None:
    assert labels(figure(tmp_path, "gmr", definitions=("released",)))[0] == "mean of all"


def test_of_forty_elements_those_missed_most_are_drawn_and_the_rest_counted(tmp_path: Path) -> None:
    made = figure(tmp_path, "gmr", elements=40, prompts=1)
    assert labels(made) == ["any of them", *(f"element {i}" for i in range(39, 27, -1))]
    assert made.table.total == 82
    assert any("28 further elements are in the table" in note for note in made.notes)


def test_eight_models_get_a_column_each_in_place_of_a_dot(tmp_path: Path) -> None:
    made = figure(tmp_path, "gmr", models=8)
    values = made.panels[0].spec["data"]["values"]
    assert {v["column"] for v in values} == {f"model {i}" for i in range(8)}
    assert any("the table has the intervals" in note for note in made.notes)


def test_terms_nobody_asked_for_and_markers_share_one_figure(tmp_path: Path) -> None:
    made = figure(tmp_path, "hallucination-car")
    assert [len(p.spec["data"]["values"]) for p in made.panels] == [4, 4]
    assert "measure" in made.table.columns


def test_an_element_without_captions_says_so(tmp_path: Path) -> None:
    scope = {"generator": "model 0", "prompt": "prompt 0"}
    material = captions_material(tmp_path, extra=[row("gmr", None, **scope, category="zebra")])
    made = next(f for block in measured_blocks(material) for f in block.figures if f.name == "gmr")
    values = made.panels[0].spec["data"]["values"]
    zebra = next(v for v in values if v["label"] == "zebra")
    assert "value" not in zebra
    assert zebra["text"] == "not defined: no usable caption"
    assert labels(made)[-1] == "zebra"


@pytest.mark.parametrize(("value", "titles"), [(0.0, []), (0.1, [""])])
def test_terms_that_no_caption_holds_are_told_and_not_drawn_and_a_title_is_said_once(
    tmp_path: Path, value: float, titles: list[str]
) -> None:
    material = captions_material(tmp_path)
    held = pl.col("measure") == "hallucination"
    material.estimates = material.estimates.filter(pl.col("measure") != "car").with_columns(
        value=pl.when(held).then(value).otherwise("value")
    )
    (made,) = [f for b in measured_blocks(material) for f in b.figures if f.name == "hallucination"]
    assert [panel.title for panel in made.panels] == titles
    assert (ALL_ZERO in made.notes) == (value == 0)
