from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.report.sections.captions.made_up_captions import captions_material

from stereotrope.report.contract import Block
from stereotrope.report.panels import Figure
from stereotrope.report.sections.captions.measured import measured_blocks


def block(tmp_path: Path, **of: Any) -> Block:
    blocks = measured_blocks(captions_material(tmp_path, **of))
    return next(block for block in blocks if block.figures[0].name == "captions-covered")


def figure(tmp_path: Path, **of: Any) -> Figure:
    return block(tmp_path, **of).figures[0]


def labels(made: Figure, panel: int) -> list[str]:
    values = made.panels[panel].spec["data"]["values"]
    return list(dict.fromkeys(v["label"].replace("\n", " ") for v in values))


def test_covered_faces_and_what_is_unknown_among_them_stand_together(tmp_path: Path) -> None:
    made = figure(tmp_path, prompts=1)
    assert labels(made, 0) == [
        "face covered",
        "no group named: all captions",
        "no group named: face covered",
        "no group named: not covered",
    ]


def test_the_composite_of_all_captions_stands_above_that_without_covered_faces(tmp_path: Path) -> None:
    made = figure(tmp_path)
    assert made.panels[1].title == "prompt 0: composite with and without them"
    assert labels(made, 1) == ["all captions", "without covered faces"]
    assert "would move without these captions" in made.reads


def test_the_composite_itself_keeps_its_own_place(tmp_path: Path) -> None:
    assert block(tmp_path).replaces == {"unknown_share", "occluded_share", "cbs_without_occluded"}


def test_runs_that_measured_no_covers_have_no_such_figure(objects_run: Any) -> None:
    from stereotrope.report.material import Material

    assert measured_blocks(Material(objects_run)) == []
