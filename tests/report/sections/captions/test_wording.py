from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from tests.report.sections.captions.made_up_captions import captions_material, row

from stereotrope.report.panels import Figure
from stereotrope.report.sections.captions.measured import measured_blocks


def figures(tmp_path: Path, **of: Any) -> dict[str, Figure]:
    made = {f.name: f for block in measured_blocks(captions_material(tmp_path, **of)) for f in block.figures}
    kept = ("cas", "captions-variety", "captions-alignment")
    return {name: f for name, f in made.items() if name.startswith(kept)}


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


def test_each_encoder_has_a_panel_that_names_it(tmp_path: Path) -> None:
    scope = {"generator": "model 0", "prompt": "prompt 0"}
    extra = [
        row(name, value, annotator=encoder, **scope)
        for encoder, value in (("clip-a", 2.0), ("clip-b", 3.0))
        for name in ("image_vendi", "image_vendi_normalised", "prompt_alignment")
    ]
    material = captions_material(tmp_path)
    material.estimates = pl.concat([material.estimates, pl.DataFrame(extra)], how="diagonal")
    made = {f.name: f for block in measured_blocks(material) for f in block.figures}
    assert [p.title for p in made["captions-variety"].panels] == [
        "Vendi score",
        "Vendi score of pictures, by clip-a",
        "Vendi score of pictures, by clip-b",
        "Vendi score, normalised",
    ]
    titles = [p.title for p in made["captions-alignment"].panels]
    assert titles[1:] == [
        "Prompt alignment of pictures, by clip-a",
        "Prompt alignment of pictures, by clip-b",
    ]
    told = [p.alt for p in made["captions-variety"].panels[1:3]]
    assert "2.00" in told[0]
    assert "3.00" in told[1]
    assert "Vendi score of pictures, normalised" not in str(told)


def test_pictures_stand_once_where_captions_have_two_definitions(tmp_path: Path) -> None:
    scope = {"generator": "model 0", "prompt": "prompt 0"}
    made = figures(tmp_path, definitions=("paper", "released"), extra=[row("prompt_alignment", 0.3, **scope)])
    assert {name: len(f.panels) for name, f in made.items() if "alignment" in name} == {
        "captions-alignment-paper": 2,
        "captions-alignment-released": 1,
    }
