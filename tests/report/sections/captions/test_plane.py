from __future__ import annotations

from pathlib import Path

import polars as pl
from tests.report.made_up import FakeRun
from tests.report.sections.captions.made_up_captions import row
from tests.report.sections.captions.made_up_gallery import gallery_run

from stereotrope.report.material import Material
from stereotrope.report.panels import Figure
from stereotrope.report.sections.captions.profile import plane_blocks


def figures(run: FakeRun) -> list[Figure]:
    return [figure for block in plane_blocks(Material(run)) for figure in block.figures]


def test_each_model_is_a_dot_with_both_intervals_where_a_prompt_has_both_scores(tmp_path: Path) -> None:
    (figure,) = figures(gallery_run(tmp_path, models=3))
    (panel,) = figure.panels
    assert panel.title == "prompt 1"
    values = panel.spec["data"]["values"]
    assert [v["name"] for v in values] == ["model-0", "model-1", "model-2"]
    assert [round(v["x"], 2) for v in values] == [0.3, 0.45, 0.6]
    assert [round(v["y"], 2) for v in values] == [0.9, 0.8, 0.7]
    assert all(v["x_low"] < v["x"] < v["x_high"] and v["y_low"] < v["y"] < v["y_high"] for v in values)


def test_the_axes_say_their_direction(tmp_path: Path) -> None:
    (figure,) = figures(gallery_run(tmp_path))
    encoding = figure.panels[0].spec["layer"][2]["encoding"]
    assert encoding["x"]["axis"]["title"] == [
        "Cultural accuracy (CAR)",
        "→ more captions hold a marker of the culture",
    ]
    assert encoding["y"]["axis"]["title"][1] == "↑ more of the hits are stereotype terms"
    assert encoding["x"]["scale"]["domain"] == encoding["y"]["scale"]["domain"] == [0, 1]


def test_several_prompts_are_panels_and_definitions_figures(tmp_path: Path) -> None:
    more = [
        row(measure, 0.5, generator="model-0", prompt="prompt 2", definition=definition)
        for measure in ("car", "cas")
        for definition in ("paper", "released")
    ]
    one, other = figures(gallery_run(tmp_path, definitions=("paper", "released"), extra=more))
    assert [p.title for p in one.panels] == ["prompt 1", "prompt 2"]
    assert one.title.endswith("(definition paper)")
    assert (one.name, other.name) == ("plane", "plane-2")


def test_a_prompt_with_one_of_the_scores_is_no_panel(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, extra=[row("cas", 0.5, generator="model-0", prompt="prompt 0")])
    (figure,) = figures(run)
    assert [p.title for p in figure.panels] == ["prompt 1"]
    run.estimates = run.estimates.filter(pl.col("measure") != "car")
    assert figures(run) == []


def test_an_undefined_score_is_no_dot_and_is_said(tmp_path: Path) -> None:
    run = gallery_run(tmp_path)
    lost = pl.col("measure").eq("cas") & pl.col("generator").eq("model-1")
    run.estimates = run.estimates.with_columns(
        value=pl.when(lost).then(None).otherwise(pl.col("value")), undefined=pl.lit("no term found")
    )
    (figure,) = figures(run)
    assert [v["name"] for v in figure.panels[0].spec["data"]["values"]] == ["model-0"]
    assert any("Without a dot" in note and "model-1, prompt 1" in note for note in figure.notes)
    assert "not defined: no term found" in [c.text for c in figure.table.rows[1]]


def test_elements_of_a_list_are_no_dots(tmp_path: Path) -> None:
    of = {"generator": "model-0", "prompt": "prompt 1"}
    (figure,) = figures(gallery_run(tmp_path, extra=[row("car", 0.1, category="diya", **of)]))
    assert [round(v["x"], 2) for v in figure.panels[0].spec["data"]["values"]] == [0.3, 0.45]


def test_names_of_near_dots_do_not_stand_on_each_other(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, models=4)
    same = pl.col("measure").is_in(["car", "cas"])
    run.estimates = run.estimates.with_columns(
        pl.when(same).then(0.6).otherwise(pl.col(c)).alias(c) for c in ("value",)
    )
    (figure,) = figures(run)
    values = figure.panels[0].spec["data"]["values"]
    assert len({(v["dx"], v["dy"]) for v in values}) == 4


def test_what_the_two_lines_are_not_is_said(tmp_path: Path) -> None:
    (figure,) = figures(gallery_run(tmp_path))
    assert any("bound no region" in note for note in figure.notes)
    assert any("CAS" in note and "Source" in note for note in figure.notes)
    assert "n = 100" in figure.n
