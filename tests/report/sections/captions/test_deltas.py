from __future__ import annotations

from pathlib import Path

import polars as pl
from tests.report.sections.captions.made_up_captions import captions_material, row

from stereotrope.report.contract import Block
from stereotrope.report.material import Material
from stereotrope.report.sections.captions.measured import measured_blocks


def deltas(material: Material) -> list[Block]:
    return [block for block in measured_blocks(material) if block.figures[0].name == "captions-delta"]


def test_a_panel_is_a_prompt_with_dots_around_a_line_that_is_the_baseline(tmp_path: Path) -> None:
    (block,) = deltas(captions_material(tmp_path, models=3))
    (made,) = block.figures
    assert made.title == "How far the scores are from those of model 0"
    assert [p.title for p in made.panels] == ["prompt 0", "prompt 1"]
    values = made.panels[0].spec["data"]["values"]
    assert [v["label"] for v in values] == ["CBS", "CBS"]
    assert {v["series"] for v in values} == {"model 1", "model 2"}
    x = made.panels[0].spec["layer"][0]["encoding"]["x"]
    assert "datum.value === 0" in x["axis"]["gridColor"]["condition"]["test"]


def test_the_composite_comes_first_and_what_says_nothing_new_is_left_to_the_table(tmp_path: Path) -> None:
    scope = {"generator": "model 1", "prompt": "prompt 0", "baseline": "model 0", "attribute": "gender"}
    extra = [
        row("signed_parity", 0.1, **scope, category="a against b", sides='[["a"], ["b"]]'),
        row("signed_parity", 0.1, **scope, category="a against c"),
        row("parity_difference", 0.1, **scope, category="a against b"),
        row("gmr", 0.1, **{**scope, "attribute": None}),
        row("gmr", 0.1, **{**scope, "attribute": None}, category="person"),
        row("shannon_entropy", 0.1, **scope),
    ]
    (block,) = deltas(captions_material(tmp_path, extra=extra, prompts=1))
    (made,) = block.figures
    labels = [v["label"] for v in made.panels[0].spec["data"]["values"]]
    assert labels == ["CBS", "a against b", "H, gender", "GMR"]
    assert made.table.total == 7
    assert any(note.startswith("3 rows are in the table") for note in made.notes)


def test_differences_by_two_encoders_are_lines_of_their_own(tmp_path: Path) -> None:
    scope = {"generator": "model 1", "prompt": "prompt 0", "baseline": "model 0"}
    extra = [row("prompt_alignment", v, annotator=e, **scope) for e, v in (("a", 0.1), ("b", -0.1))]
    material = captions_material(tmp_path, prompts=1)
    material.estimates = pl.concat([material.estimates, pl.DataFrame(extra)], how="diagonal")
    (block,) = deltas(material)
    (panel,) = block.figures[0].panels
    drawn = {v["label"].replace("\n", " "): v["value"] for v in panel.spec["data"]["values"]}
    assert drawn["Prompt alignment of pictures, by a"] == 0.1
    assert drawn["Prompt alignment of pictures, by b"] == -0.1


def test_a_run_whose_only_differences_are_left_to_the_table_says_so(tmp_path: Path) -> None:
    only = row("parity_difference", 0.1, generator="model 0", prompt="prompt 0", baseline="b")
    (block,) = deltas(captions_material(tmp_path, models=1, extra=[only]))
    assert block.figures[0].panels == []
    assert any(note.startswith("1 row is in the table") for note in block.figures[0].notes)


def test_without_a_baseline_there_is_no_figure(tmp_path: Path) -> None:
    assert deltas(captions_material(tmp_path, models=1)) == []
