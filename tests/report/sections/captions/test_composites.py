from __future__ import annotations

from pathlib import Path

from tests.report.sections.captions.made_up_captions import captions_material, row

from stereotrope.report.contract import Block
from stereotrope.report.material import Material
from stereotrope.report.sections.captions.measured import measured_blocks
from stereotrope.tables import BANDS


def composites(material: Material) -> list[Block]:
    """The blocks that stand for the composites."""
    return [block for block in measured_blocks(material) if "cbs" in block.replaces]


def test_scores_stand_with_their_interval_and_the_band_that_their_row_names(tmp_path: Path) -> None:
    (block,) = composites(captions_material(tmp_path))
    values = block.figures[0].panels[0].spec["data"]["values"]
    assert [v["label"] for v in values] == ["prompt 0", "prompt 0", "prompt 1", "prompt 1"]
    assert values[0]["text"] == "0.200 [0.150, 0.250]\u2003moderate"


def test_the_lines_of_the_axis_are_the_edges_of_the_bands(tmp_path: Path) -> None:
    (block,) = composites(captions_material(tmp_path))
    axis = block.figures[0].panels[0].spec["layer"][0]["encoding"]["x"]["axis"]
    assert axis["values"] == [0.0, *(band.most for band in BANDS)]
    assert "low up to 0.30 and moderate up to 0.55, high above" in block.figures[0].reads


def test_the_two_composites_are_two_panels(tmp_path: Path) -> None:
    scope = {"generator": "model 0", "prompt": "prompt 1", "attribute": "species", "definition": "paper"}
    material = captions_material(tmp_path, extra=[row("contextual_diversity", 0.9, **scope)])
    (block,) = composites(material)
    assert [p.title for p in block.figures[0].panels] == [
        "Composite bias score (CBS)",
        "Contextual diversity",
    ]
