from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.report.sections.captions.made_up_captions import captions_material, captions_run, row

from stereotrope import report
from stereotrope.report.charts.drawing import side_by_side
from stereotrope.report.panels import MOST_PANELS, Figure
from stereotrope.report.sections.captions.measured import measured_blocks
from stereotrope.report.series import series_in

SIZES: dict[str, dict[str, Any]] = {
    "one model": {"models": 1},
    "one prompt": {"prompts": 1},
    "eight models": {"models": 8},
    "twenty models": {"models": 20, "prompts": 1},
    "ten prompts": {"prompts": 10},
    "thirty prompts": {"prompts": 30, "models": 4},
    "forty elements": {"elements": 40},
    "nothing defined": {"undefined": True},
    "both definitions": {"definitions": ("paper", "released")},
    "two lexicons": {"lexicons": ("first", "second")},
}


def figures(tmp_path: Path, **of: Any) -> list[Figure]:
    return [f for block in measured_blocks(captions_material(tmp_path, **of)) for f in block.figures]


@pytest.mark.parametrize("size", SIZES)
def test_a_run_of_any_size_has_bounded_figures_that_can_be_drawn(size: str, tmp_path: Path) -> None:
    made = figures(tmp_path, **SIZES[size])
    assert len({f.name for f in made}) == len(made)
    for figure in made:
        assert len(figure.panels) <= MOST_PANELS
        assert figure.panels or size == "nothing defined"
        assert sum(p.rows for p in figure.panels) <= 600
        for panel in figure.panels:
            assert panel.spec["height"] <= 1600
            json.dumps(panel.spec, allow_nan=False)
        vega = side_by_side([(p.title, p.spec) for p in figure.panels], title=figure.title)
        assert "containerWidth" in json.dumps(vega)


def test_a_run_with_both_definitions_has_a_figure_of_each(tmp_path: Path) -> None:
    titles = [f.title for f in figures(tmp_path, definitions=("paper", "released"))]
    assert len(set(titles)) == len(titles)
    assert (
        sum(t.endswith("(definition paper)") for t in titles)
        == sum(t.endswith("(definition released)") for t in titles)
        > 5
    )


def test_a_run_with_two_lexicons_has_a_figure_of_each_that_holds_no_row_of_the_other(tmp_path: Path) -> None:
    one = figures(tmp_path)
    both = figures(tmp_path, lexicons=("first", "second"))
    assert [f.name for f in both] == [f"{f.name}-{name}" for f in one for name in ("first", "second")]
    assert [f.title for f in both] == [
        f"{f.title} (by lexicon {name})" for f in one for name in ("first", "second")
    ]
    assert [f.table.total for f in both] == [f.table.total for f in one for _ in range(2)]
    assert [len(f.panels) for f in both] == [len(f.panels) for f in one for _ in range(2)]


def test_lexicons_whose_names_are_no_names_of_files_have_a_figure_each(tmp_path: Path) -> None:
    names = [f.name for f in figures(tmp_path, lexicons=("词典", "辞書"), definitions=("paper", "released"))]
    assert len(set(names)) == len(names)
    assert "captions-composites-released-lexicon_2" in names


def test_differences_from_the_baseline_come_after_what_they_compare(tmp_path: Path) -> None:
    names = [f.name for f in figures(tmp_path)]
    assert names.index("captions-delta") == len(names) - 1


def test_differences_from_the_baseline_are_one_entry_of_the_methods(tmp_path: Path) -> None:
    scope = {"generator": "model 1", "prompt": "prompt 0", "reference": "model 0", "contrast": "generator"}
    run = captions_run(tmp_path, extra=[row("gmr", 0.1, **scope, baseline="model 0")])
    page = report.write(run, figures=False).read_text(encoding="utf-8")
    methods = page.partition('id="methods"')[2]
    assert methods.count("<dt>Differences from the baseline model <code>") == 1
    assert "of Missing keywords (GMR) and Composite bias score (CBS)." in methods
    assert "cbs_delta</code>" not in methods


def test_measures_that_have_a_figure_here_get_no_other(tmp_path: Path) -> None:
    material = captions_material(tmp_path)
    told = {measure for block in measured_blocks(material) for measure in block.replaces}
    assert told == {series.name for series in series_in(material.estimates)}


def test_a_run_without_captions_has_nothing_of_it(objects_run: Any) -> None:
    from stereotrope.report.material import Material

    assert measured_blocks(Material(objects_run)) == []


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    bad = '"] >= 0 || alert(1) //</script>\u202e'
    for figure in figures(tmp_path, names=bad):
        for panel in figure.panels:
            assert "\u202e" not in json.dumps(panel.spec, ensure_ascii=False)


@pytest.mark.parametrize("size", ["eight models", "both definitions", "nothing defined"])
def test_the_page_of_such_a_run_is_written_with_its_figures_in_it(size: str, tmp_path: Path) -> None:
    run = captions_run(tmp_path, **SIZES[size])
    page = report.write(run, figures=False).read_text(encoding="utf-8")
    for name in ("composites", "groups", "parity", "covered"):
        assert f'id="figure-captions-{name}' in page
    assert page.count("How often captions name each group") >= 1
