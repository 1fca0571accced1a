from __future__ import annotations

from pathlib import Path

from tests.report.captions.made_up_captions import captions_material, row

from stereotrope.report.captions.deltas import deltas_block


def test_differences_are_dots_around_a_line_that_is_the_baseline(tmp_path: Path) -> None:
    block = deltas_block(captions_material(tmp_path, models=3))
    assert block is not None
    (made,) = block.figures
    assert made.title == "How far the scores are from those of model 0"
    values = made.panels[0].spec["data"]["values"]
    assert [v["label"] for v in values] == ["prompt 0"] * 2 + ["prompt 1"] * 2
    assert {v["series"] for v in values} == {"model 1", "model 2"}
    x = made.panels[0].spec["layer"][0]["encoding"]["x"]
    assert "datum.value === 0" in x["axis"]["gridColor"]["condition"]["test"]


def test_composites_come_first_and_scores_beyond_the_bound_are_counted(tmp_path: Path) -> None:
    scope = {"generator": "model 1", "prompt": "prompt 0", "reference": "model 0"}
    extra = [row(f"score{i}_delta", 0.1, **scope) for i in range(15)]
    block = deltas_block(captions_material(tmp_path, extra=extra))
    assert block is not None
    (made,) = block.figures
    assert made.panels[0].title == "Composite bias score (CBS)"
    assert len(made.panels) == 12
    assert any("In the table and in the files only: 4 scores" in note for note in made.notes)


def test_without_a_baseline_there_is_no_figure(tmp_path: Path) -> None:
    assert deltas_block(captions_material(tmp_path, models=1)) is None
