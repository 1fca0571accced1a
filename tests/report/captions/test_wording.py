from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.report.captions.made_up_captions import captions_material, row

from stereotrope.report.captions.wording import wording_block
from stereotrope.report.panels import Figure


def figures(tmp_path: Path, **of: Any) -> dict[str, Figure]:
    block = wording_block(captions_material(tmp_path, **of))
    assert block is not None
    return {f.name: f for f in block.figures}


def test_variety_and_its_normalised_form_are_two_panels_of_one_figure(tmp_path: Path) -> None:
    made = figures(tmp_path)
    assert set(made) == {"cas", "captions-variety", "captions-alignment"}
    assert [p.title for p in made["captions-variety"].panels] == ["Vendi score", "Vendi score, normalised"]


def test_variety_of_pictures_stands_beside_that_of_captions(tmp_path: Path) -> None:
    scope = {"generator": "model 0", "prompt": "prompt 0"}
    extra = [row("image_vendi", 20.0, **scope), row("prompt_alignment", 0.3, **scope)]
    made = figures(tmp_path, extra=extra)
    assert len(made["captions-variety"].panels) == 3
    assert len(made["captions-alignment"].panels) == 2
    assert "pictures" in made["captions-alignment"].title


def test_pictures_stand_once_where_captions_have_two_definitions(tmp_path: Path) -> None:
    scope = {"generator": "model 0", "prompt": "prompt 0"}
    made = figures(tmp_path, definitions=("paper", "released"), extra=[row("prompt_alignment", 0.3, **scope)])
    assert {name: len(f.panels) for name, f in made.items() if "alignment" in name} == {
        "captions-alignment-paper": 2,
        "captions-alignment-released": 1,
    }
