from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.sections.captions.made_up_captions import captions_material

from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.panels import Figure, Panel
from stereotrope.report.sections.captions.measured import measured_blocks


def figure(tmp_path: Path, name: str = "captions-groups", **of: Any) -> Figure:
    blocks = measured_blocks(captions_material(tmp_path, **of))
    return next(f for block in blocks for f in block.figures if f.name == name)


def panel(made: Figure, begins: str) -> Panel:
    return next(p for p in made.panels if p.title.startswith(begins))


def test_pieces_of_a_bar_add_up_and_begin_where_the_last_ended(tmp_path: Path) -> None:
    values = panel(figure(tmp_path), "gender").spec["data"]["values"]
    bar = [v for v in values if v["line"] == "prompt 0" and v["series"] == "model 1" and "group" in v]
    assert [v["group"] for v in bar] == ["female", "male", "unknown"]
    assert [v["start"] for v in bar] == pytest.approx([0.0, 0.5, 0.6])
    assert bar[-1]["end"] == pytest.approx(1.0)


def test_unknown_stands_last_in_a_colour_of_no_group(tmp_path: Path) -> None:
    scale = panel(figure(tmp_path), "gender").spec["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == ["female", "male", "unknown"]
    assert scale["range"][:2] == list(PALETTE[:2])
    assert scale["range"][2] not in PALETTE


def test_a_panel_says_how_many_groups_there_are_and_whether_unknown_is_one(tmp_path: Path) -> None:
    titles = [p.title for p in figure(tmp_path, prompts=1).panels]
    assert titles[0] == "gender: k = 3 groups, unknown in"
    assert titles[2] == "species: k = 13 groups, unknown in"


def test_a_share_comes_with_its_interval_when_pointed_at(tmp_path: Path) -> None:
    values = panel(figure(tmp_path), "gender").spec["data"]["values"]
    assert values[0]["tip"] == "prompt 0, model 0: female 0.50 [0.45, 0.55], n = 100"


def test_of_very_many_groups_those_named_get_a_line_and_the_others_a_sentence(tmp_path: Path) -> None:
    made = figure(tmp_path, prompts=1)
    values = panel(made, "species").spec["data"]["values"]
    assert list(dict.fromkeys(v["label"] for v in values)) == ["unknown", "species 0", "species 11"]
    assert any("no caption names species 1, species 2" in note for note in made.notes)


def test_bars_are_bounded_and_the_rest_is_counted(tmp_path: Path) -> None:
    made = figure(tmp_path, models=8, prompts=10)
    assert panel(made, "gender").rows == 40
    assert any("Gender: 40 further bars are not drawn" in note for note in made.notes)


def test_a_bar_without_usable_captions_is_empty_and_says_so(tmp_path: Path) -> None:
    values = panel(figure(tmp_path, undefined=True), "gender").spec["data"]["values"]
    assert all("group" not in v for v in values)
    assert values[0]["said"] == "model 0, not defined"


def test_entropy_and_amplification_stand_beside_each_other_with_their_floors(tmp_path: Path) -> None:
    made = figure(tmp_path, "captions-evenness")
    assert [p.title.partition(" (")[0] for p in made.panels] == ["Entropy", "Bias amplification"]
    entropy, amplification = (p.spec["data"]["values"][0] for p in made.panels)
    assert (entropy["floor"], entropy["base"]) == (0.98, 1.0)
    assert amplification["floor"] == 0.1
    assert "base" not in amplification


def test_the_divergence_that_entropy_determines_is_in_the_table(tmp_path: Path) -> None:
    made = figure(tmp_path, "captions-evenness")
    assert any("(KL) is not drawn" in note for note in made.notes)
    assert any(r[0].text == "Divergence from equal shares (KL)" for r in made.table.rows)
