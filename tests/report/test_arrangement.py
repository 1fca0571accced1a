"""What stands open in the page, what waits behind a line, and what is one sentence."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.made_up_judged import ATTRIBUTES, make_judged
from tests.report.made_up_large import make_large
from tests.report.made_up_remote import make_remote
from tests.report.sections.captions.made_up_captions import captions_run
from tests.report.sections.captions.made_up_gallery import gallery_run

from stereotrope import report
from stereotrope.measure import measure_words
from stereotrope.report.arrangement import arranged
from stereotrope.report.charts.dots import dots
from stereotrope.report.charts.heat import heat
from stereotrope.report.contract import SECTIONS, series_in_order
from stereotrope.report.figures import figures_of
from stereotrope.report.heats import heat_figure
from stereotrope.report.material import Material
from stereotrope.report.prose import Prose
from stereotrope.report.series import Series

PROSE = Prose(measure_words())
SHOWN: dict[str, Any] = {
    "drawn": ("corrected_share", "raw_share"),
    "repeated": {"distributions": SECTIONS["distributions"].repeated},
    "known": SECTIONS,
}

SCREEN = 900


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return make_judged(tmp_path_factory.mktemp("judged"))


@pytest.fixture(scope="module")
def index(judged: Any) -> Path:
    return report.write(judged, figures=False)


def made(material: Material) -> dict[str, Any]:
    return {series: figures_of(material, series) for series in series_in_order(material)}


def chapters(run: Any) -> dict[str, Any]:
    material = Material(run)
    return arranged(material, made(material), **SHOWN)


@pytest.fixture(scope="module")
def judged_chapters(judged: Any) -> Any:
    return chapters(judged)


def values(panel: Any) -> list[dict[str, Any]]:
    return list(panel.spec["data"]["values"])


def test_a_measure_without_a_defined_row_is_one_sentence_with_the_reasons_counted(
    judged_chapters: Any,
) -> None:
    remarks = [r for c in judged_chapters["cases"] for r in c.remarks]
    said = [r.sentence for r in remarks]
    assert (
        "Deterministic cases: none of 28 rows is defined: no cell with enough usable labels (14); "
        "only one value is possible (14)."
    ) in said
    assert any(s.startswith("Dominance shifts: none of 384 rows is defined: fewer than 10") for s in said)
    assert all(remark.table.total for remark in remarks)
    assert not [f for c in judged_chapters["cases"] for f in c.figures]


def test_no_figure_has_an_empty_panel_and_undefined_rows_are_counted_by_reason(judged_chapters: Any) -> None:
    (chapter,) = judged_chapters["other"]
    (panel,) = chapter.lead.panels
    assert len(values(panel)) == 1
    assert "3 of 4 rows are not defined: fewer than 4 scores (3)." in chapter.lead.notes
    for sections in judged_chapters.values():
        for figure in (f for c in sections for f in c.figures):
            assert all(any("value" in v for v in values(p)) for p in figure.panels), figure.name


def test_of_a_large_figure_the_strongest_rows_are_open_and_all_are_behind_a_line(
    judged_chapters: Any,
) -> None:
    bds = judged_chapters["divergence"][0]
    assert bds.lead.name == "bds-strongest"
    drawn = values(bds.lead.panels[0])
    assert len(drawn) == 10
    excess = [v["value"] - v["floor"] for v in drawn]
    assert excess == sorted(excess, reverse=True)
    assert bds.lead.reads.startswith("The 10 rows farthest above their noise floor, of ")
    figures = f"({1 + len(ATTRIBUTES)} figures)"
    assert [d.title for d in bds.further] == [
        "More of 64 rows",
        f"By attribute ({len(ATTRIBUTES)} figures)",
        f"Baseline divergence (BDS), average {figures}",
        f"Baseline divergence (BDS), without violations {figures}",
        f"Baseline divergence (BDS), without violations, average {figures}",
    ]


def test_a_row_without_an_interval_leads_none_that_has_one(judged: Any) -> None:
    """One picture that differs from another is a divergence of 1, and says nothing of its condition."""
    whole = (pl.col("measure") == "bds") & (pl.col("attribute") == "all") & pl.col("value").is_not_null()
    single = whole & (pl.int_range(pl.len()).over(whole) == 0)
    told = {"value": 1.0, "low": None, "high": None, "n": 1}
    changed = [pl.when(single).then(pl.lit(v)).otherwise(c).alias(c) for c, v in told.items()]
    run = replace(judged, estimates=judged.estimates.with_columns(changed))
    drawn = values(chapters(run)["divergence"][0].lead.panels[0])
    assert len(drawn) == 10
    assert all("low" in v for v in drawn)


def test_a_row_without_the_floor_that_others_have_leads_none_of_them(judged: Any) -> None:
    whole = (pl.col("measure") == "bds") & (pl.col("attribute") == "all") & pl.col("value").is_not_null()
    single = whole & (pl.int_range(pl.len()).over(whole) == 0)
    told = {"value": 1.0, "floor": None}
    changed = [pl.when(single).then(pl.lit(v)).otherwise(c).alias(c) for c, v in told.items()]
    run = replace(judged, estimates=judged.estimates.with_columns(changed))
    drawn = values(chapters(run)["divergence"][0].lead.panels[0])
    assert len(drawn) == 10
    assert all(v["value"] < 1 for v in drawn)


def test_rows_that_only_mirror_others_are_counted_where_the_strongest_stand(judged: Any) -> None:
    two = judged.estimates.filter(pl.col("category").ne_missing("black"))
    changed = chapters(replace(judged, estimates=two))["shares"][-1].lead
    rows = two.filter(pl.col("measure") == "share_difference", pl.col("value").is_not_null())
    red = rows.filter(pl.col("category") == "red").height
    every = two.filter(measure="share_difference").height
    assert changed.reads.startswith(
        f"The 10 largest of {red} rows; {every // 2} more say the same of the other of two values."
    )


def test_what_repeats_another_measure_waits_below_it(judged_chapters: Any) -> None:
    found = judged_chapters
    titles = [c.title for c in found["divergence"]]
    assert titles == [PROSE.explain(m).title for m in ("bds", "vac", "default_rank")]
    vac = found["divergence"][1]
    assert any("Chao–Shen" in d.title for d in vac.further)
    share = found["shares"][0]
    assert share.lead is None
    assert "The strips above show these labels" in share.note


def test_nothing_is_lost_between_what_is_made_and_what_is_shown(judged: Any) -> None:
    material = Material(judged)
    every = made(material)
    sections = arranged(material, every, **SHOWN)
    shown = {f.name for found in sections.values() for c in found for f in c.figures}
    told = {r.table.caption.split(".")[0] for found in sections.values() for c in found for r in c.remarks}
    for measure, figures in every.items():
        if PROSE.explain(measure).title in told:
            continue
        assert {f.name for f in figures} <= shown, measure


def test_a_small_figure_stands_open_as_it_is(objects_run: Any) -> None:
    bds = chapters(objects_run)["divergence"][0]
    assert bds.lead.name == "bds"
    assert [d.title for d in bds.further] == ["By attribute"]


def test_of_two_values_the_mirrored_difference_is_left_out_of_the_strongest(judged: Any) -> None:
    rows = judged.estimates.filter(pl.col("measure") == "share_difference", attribute="scene", category="red")
    both = [
        rows.with_columns(category=pl.lit(c), value=pl.lit(v)) for c, v in (("female", 0.4), ("male", -0.4))
    ]
    found = chapters(replace(judged, estimates=pl.concat(both)))["shares"][0]
    assert len(values(found.lead.panels[0])) == 10
    assert all(v["value"] == 0.4 for v in values(found.lead.panels[0]))


@pytest.mark.parametrize("make", [make_judged, make_remote, pytest.param(make_large, marks=pytest.mark.slow)])
def test_no_two_rows_of_a_panel_lie_upon_each_other_and_every_row_has_its_mark(
    make: Any, tmp_path: Path
) -> None:
    material = Material(make(tmp_path))
    for figures in made(material).values():
        for figure in figures:
            for panel in figure.panels:
                places = Counter(
                    (v.get("label", v.get("line")), v.get("series"), v.get("column")) for v in values(panel)
                )
                assert places.most_common(1)[0][1] == 1, (figure.name, panel.title)


def alike(run: Any, **columns: Any) -> Any:
    """Rows whose labels say nothing of what tells them apart."""
    rows = run.estimates.filter(pl.col("measure") == "bds", object="laptop", attribute="all")
    return pl.concat([rows.with_columns(**columns), rows.with_columns(value=pl.lit(0.9))])


def test_rows_of_one_label_say_in_what_they_differ(objects_run: Any) -> None:
    both = alike(objects_run, method=pl.lit("by another method"))
    (figure,) = figures_of(Material(replace(objects_run, estimates=both)), Series("bds"))
    labels = [" ".join(v["label"].split()) for p in figure.panels for v in values(p)]
    assert len(labels) == len(set(labels)) == 10
    assert sum(label.endswith("by another method") for label in labels) == 5
    assert dots([{"label": "a", "value": 1.0}] * 3)["encoding"]["y"]["sort"] == ["a", "a (2)", "a (3)"]


def test_labels_that_differ_only_beyond_the_cut_stay_two_rows() -> None:
    rows = [{"label": "x" * 90 + end, "value": 1.0, "text": "1"} for end in "ab"]
    assert len(dots(rows)["encoding"]["y"]["sort"]) == 2
    cells = [{"line": "x" * 90 + end, "column": "c", "value": 1.0, "text": "1"} for end in "ab"]
    lines = [cell["line"] for cell in cells]
    spec = heat(cells, columns=["c"], lines=lines)
    assert len({v["line"] for v in spec["data"]["values"]}) == 2
    assert set(spec["encoding"]["y"]["sort"]) == {v["line"] for v in spec["data"]["values"]}


def test_cells_of_one_place_are_two_lines(objects_run: Any) -> None:
    rows = objects_run.estimates.filter(pl.col("measure") == "bds", pl.col("attribute") != "all")
    both = pl.concat([rows, rows.with_columns(method=pl.lit("by another method"))])
    figure = heat_figure(
        Material(objects_run), both, PROSE.explain("bds"), "t", "attribute", reads="", defined=True
    )
    for panel in figure.panels:
        places = [(v["line"], v["column"]) for v in values(panel)]
        assert len(places) == len(set(places)) > 0


MEASURED = """() => {
  const specs = JSON.parse(document.getElementById("charts").textContent).charts;
  const marked = (v) => ["value", "start", "x"].some((name) => name in v);
  const empty = Object.values(specs).filter((chart) => !chart.values.some(marked));
  return [document.documentElement.scrollHeight, empty.length, Object.keys(specs).length];
}"""


def test_the_page_of_a_judged_run_is_short_has_no_empty_axes_and_draws_every_row(
    visit: Any, index: Path
) -> None:
    v = visit(index).drawn()
    height, empty, charts_made = v.page.evaluate(MEASURED)
    assert height <= 25 * SCREEN
    assert empty == 0
    assert charts_made > 100
    opened = v.page.locator(".chart > svg").count()
    assert 0 < opened < charts_made / 3, "what is behind a line is drawn when it is opened"
    v.page.locator("details.further > summary", has_text="More of 64 rows").first.click()
    line = v.page.locator("details.further[open]")
    line.locator(".chart > svg").first.wait_for()
    assert "More of 64 rows" in line.inner_text()
    drawn = v.page.evaluate(
        """() => { const specs = JSON.parse(document.getElementById("charts").textContent).charts;
          return [...document.querySelectorAll(".chart:has(> svg)")].map((box) => [
            box.id, box.querySelectorAll(".mark-symbol.role-mark path").length,
            specs[box.id].values.filter((v) => "label" in v && "value" in v).length]); }"""
    )
    assert [(name, n) for name, n, rows in drawn if rows and n != rows] == []
    assert v.said == []


def test_the_height_does_not_grow_with_the_number_of_conditions(
    visit: Any, index: Path, tmp_path: Path
) -> None:
    many = report.write(make_judged(tmp_path, models=3, objects=4, groups=4, n=1), figures=False)
    small, large = visit(index), visit(many)
    for width in (1280, 390):
        for each in (small, large):
            each.page.set_viewport_size({"width": width, "height": SCREEN})
        (low, *_), (height, empty, _) = (each.page.evaluate(MEASURED) for each in (small, large))
        assert height <= 1.3 * low
        assert empty == 0
        assert large.page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda p: make_large(p, n=1), id="large"),
        pytest.param(make_remote, id="remote", marks=pytest.mark.slow),
        pytest.param(lambda p: captions_run(p, models=3, prompts=20), id="captions", marks=pytest.mark.slow),
        pytest.param(lambda p: gallery_run(p, models=4, prompts=20), id="gallery"),
    ],
)  # fmt: skip
def test_other_large_pages_are_short_too(visit: Any, tmp_path: Path, make: Any) -> None:
    height, empty, _ = visit(report.write(make(tmp_path), figures=False)).page.evaluate(MEASURED)
    assert height <= 25 * SCREEN
    assert empty == 0


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda p: captions_run(p, models=3, undefined=True), id="captions"),
        pytest.param(gallery_run, id="gallery", marks=pytest.mark.slow),
        pytest.param(make_judged, id="judged"),
    ],
)
def test_where_nothing_is_defined_no_chart_is_drawn_and_the_reason_is_said(
    visit: Any, tmp_path: Path, make: Any
) -> None:
    run = make(tmp_path)
    none = [pl.lit(None, pl.Float64).alias(c) for c in ("value", "low", "high", "floor")]
    estimates = run.estimates.with_columns(*none, undefined=pl.lit("nothing to count"))
    v = visit(report.write(replace(run, estimates=estimates), figures=False))
    assert v.page.evaluate(MEASURED)[1:] == [0, 0]
    assert "nothing to count (" in v.page.locator("main").inner_text()
    assert v.said == []


def test_a_link_to_a_figure_behind_several_lines_opens_them_all(visit: Any, index: Path) -> None:
    v = visit(index)
    target = v.page.locator("#figure-share-scene")
    assert not target.is_visible()
    v.page.evaluate("location.hash = '#figure-share-scene'")
    target.wait_for()
    target.locator(".chart > svg").first.wait_for()


def test_definitions_behind_a_line_are_printed(visit: Any, objects_report: Path) -> None:
    v = visit(objects_report)
    assert re.search(r"\d+ further definitions", v.page.locator("#methods").inner_text())
    v.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert v.page.locator("details.printed[open]").count() == 1
