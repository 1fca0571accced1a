from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.made_up import FakeRun
from tests.report.sections.captions.made_up_gallery import gallery_run, score

from stereotrope import report
from stereotrope.report.material import Material
from stereotrope.report.panels import MOST_PANELS
from stereotrope.report.sections.captions.profile import Profile, profile_blocks


def profiles(run: FakeRun) -> list[Profile]:
    return [block.content for block in profile_blocks(Material(run))]


def stored(run: FakeRun, measure: str, by_model: dict[str, float | None]) -> FakeRun:
    value = pl.col("generator").replace_strict(by_model, default=None, return_dtype=pl.Float64)
    run.estimates = run.estimates.with_columns(
        value=pl.when(pl.col("measure") == measure).then(value).otherwise(pl.col("value"))
    )
    return run


def drawn(profile: Profile, panel: int = 0) -> dict[str, list[dict[str, Any]]]:
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for value in profile.figure.panels[panel].spec["data"]["values"]:
        by_kind.setdefault(value["kind"], []).append(value)
    return by_kind


def test_each_model_has_a_polygon_over_the_prompts_in_the_order_of_the_design(tmp_path: Path) -> None:
    (profile,) = profiles(gallery_run(tmp_path))
    assert [p.title.partition(":")[0] for p in profile.figure.panels] == ["model-0", "model-1"]
    parts = drawn(profile)
    assert [v["text"][0] for v in parts["name"]] == [f"prompt {i}" for i in range(4)]
    assert [v["text"] for v in parts["own"]] == [f"{score(0, i):.2f}" for i in range(4)]
    up, right, down, left = parts["own"]
    assert (up["x"], up["y"]) == (0.0, pytest.approx(score(0, 0)))
    assert (right["x"], right["y"]) == (pytest.approx(score(0, 1)), 0.0)
    assert down["y"] == pytest.approx(-score(0, 2))
    assert left["x"] == pytest.approx(-score(0, 3))
    assert len(parts["interval"]) == 4
    assert len(parts["other"]) == 4


def test_rings_carry_the_edges_of_the_bands(tmp_path: Path) -> None:
    (profile,) = profiles(gallery_run(tmp_path))
    assert [v["text"] for v in drawn(profile)["edge"]] == ["0.30 low", "0.55 moderate", "1.00 high"]
    assert "moderate above 0.30, up to 0.55" in profile.figure.reads


def test_models_differ_in_form_and_not_only_in_colour(tmp_path: Path) -> None:
    (profile,) = profiles(gallery_run(tmp_path, models=9))
    shapes = [
        next(m for layer in p.spec["layer"] if (m := layer["mark"]).get("size") == 58)
        for p in profile.figure.panels
    ]
    assert len({(m["shape"], m["fill"]) for m in shapes}) == 9


def test_area_and_place_stand_in_an_open_table_smallest_first(tmp_path: Path) -> None:
    run = stored(gallery_run(tmp_path), "radar_rank", {"model-0": 2.0, "model-1": 1.0})
    run = stored(run, "radar_area", {"model-0": 0.4, "model-1": 0.2})
    (profile,) = profiles(stored(run, "radar_rank_orders", {"model-0": 1.0, "model-1": 1.0}))
    assert profile.ranks is not None
    assert [row[0].text for row in profile.ranks.rows] == ["model-1", "model-0"]
    assert profile.ranks.columns[:4] == ["model", "place", "area", "orders with this place"]
    assert [c.text[:4] for c in profile.ranks.rows[0]][1:4] == ["1", "0.20", "100%"]
    assert profile.figure.panels[0].title == "model-0: area 0.40"


def test_it_is_said_that_the_area_depends_on_the_order_and_how_far_the_places_hold(tmp_path: Path) -> None:
    run = stored(gallery_run(tmp_path), "radar_rank", {"model-0": 2.0, "model-1": 1.0})
    (same,) = profiles(stored(run, "radar_rank_orders", {"model-0": 1.0, "model-1": 1.0}))
    assert "depends on the order of its axes" in same.said
    assert "Every model has the same place under every order" in same.said
    (other,) = profiles(stored(run, "radar_rank_orders", {"model-0": 0.9999, "model-1": 2 / 3}))
    assert "model-1 keeps place 1 under 67% and model-0 keeps place 2 under over 99%" in other.said


def test_without_stored_areas_the_polygons_stand_alone(tmp_path: Path) -> None:
    (profile,) = profiles(gallery_run(tmp_path, with_profile=False))
    assert profile.ranks is None
    assert profile.said == ""
    assert len(profile.figure.panels) == 2
    assert profile.figure.panels[0].title == "model-0"


def test_fewer_than_three_prompts_have_no_radar_and_the_reason(tmp_path: Path) -> None:
    (profile,) = profiles(gallery_run(tmp_path, prompts=2))
    assert profile.figure.panels == []
    assert profile.figure.notes[0] == (
        "No radar is drawn: it needs at least 3 axes, and there are 2 prompts with a composite score."
    )
    assert profile.figure.table.total == 4


def test_too_many_axes_are_a_table(tmp_path: Path) -> None:
    (profile,) = profiles(gallery_run(tmp_path, prompts=20, models=1, pictures=1, with_profile=False))
    assert profile.figure.panels == []
    assert "of 20 axes none could be read" in profile.figure.notes[0]


def test_a_model_without_one_of_the_scores_has_dots_and_no_polygon(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, models=3)
    lost = pl.col("measure").eq("cbs") & pl.col("generator").eq("model-1") & pl.col("prompt").eq("prompt 1")
    run.estimates = run.estimates.with_columns(
        pl.when(lost).then(None).otherwise(pl.col(c)).alias(c) for c in ("value", "low", "high")
    )
    (profile,) = profiles(run)
    assert len(drawn(profile, 1)["own"]) == 3
    outline = [
        layer["mark"] for layer in profile.figure.panels[1].spec["layer"]
        if layer["mark"]["type"] == "line" and "fill" in layer["mark"]
    ]  # fmt: skip
    assert outline == []
    assert {v["series"] for v in drawn(profile, 0)["other"]} == {"model-2"}
    assert any("Without a polygon" in note and "model-1" in note for note in profile.figure.notes)


def test_more_models_than_fit_are_named(tmp_path: Path) -> None:
    (profile,) = profiles(gallery_run(tmp_path, models=MOST_PANELS + 2, pictures=1, with_profile=False))
    assert len(profile.figure.panels) == MOST_PANELS
    assert any("model-12 and model-13" in note for note in profile.figure.notes)


def test_definitions_have_a_radar_each_with_their_own_areas(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, definitions=("paper", "released"))
    area = pl.col("measure").eq("radar_area") & pl.col("definition").eq("released")
    run.estimates = run.estimates.with_columns(value=pl.when(area).then(0.77).otherwise(pl.col("value")))
    one, other = profiles(run)
    assert (one.figure.name, other.figure.name) == ("radar", "radar-2")
    assert "0.77" not in one.figure.panels[0].title
    assert other.figure.panels[0].title == "model-0: area 0.77"


def test_lexicons_have_a_radar_each_with_their_own_areas(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, second={v: v for v in ("female", "male", "unknown")})
    area = pl.col("measure").eq("radar_area") & pl.col("annotator").eq("second")
    run.estimates = run.estimates.with_columns(value=pl.when(area).then(0.9).otherwise(pl.col("value")))
    one, other = profiles(run)
    assert (one.figure.name, other.figure.name) == ("radar", "radar-2")
    assert other.figure.title.endswith("(by lexicon second)")
    assert all(p.title.endswith("area 0.90") for p in other.figure.panels)
    assert not any(p.title.endswith("area 0.90") for p in one.figure.panels)


def test_rows_of_profiles_have_no_figures_of_their_own(tmp_path: Path) -> None:
    page = report.write(gallery_run(tmp_path), out=tmp_path / "o", figures=False).read_text(encoding="utf-8")
    assert 'id="figure-radar"' in page
    assert not any(
        f'id="figure-{measure}"' in page for measure in ("radar_area", "radar_rank", "composite_mean")
    )


def test_long_names_of_axes_are_broken_and_cut(tmp_path: Path) -> None:
    run = gallery_run(tmp_path)
    long = "a very long name of a prompt that nobody would read at the end of an axis"
    for table in ("estimates", "prompts"):
        frame = getattr(run, table)
        setattr(run, table, frame.with_columns(pl.col("prompt").replace({"prompt 0": long})))
    (profile,) = profiles(run)
    lines = drawn(profile)["name"][0]["text"]
    assert len(lines) == 3
    assert all(len(line) <= 12 for line in lines)
    assert lines[-1].endswith("…")


def test_it_is_drawn_for_the_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    report.write(gallery_run(tmp_path), out=out)
    svg = (out / "figures" / "radar.svg").read_text(encoding="utf-8")
    assert "var(--" not in svg
    assert "0.55 moderate" in svg
    assert "NaN" not in svg
    assert (out / "figures" / "radar.png").stat().st_size > 10_000
    page = (out / "index.html").read_text(encoding="utf-8")
    shapes = json.loads(page.partition('id="charts">')[2].partition("</script>")[0])["charts"]
    assert "chart-radar-1" in shapes


def test_many_axes_carry_no_numbers_and_many_models_no_others_behind(tmp_path: Path) -> None:
    (profile,) = profiles(gallery_run(tmp_path, models=7, prompts=12, pictures=1, with_profile=False))
    parts = drawn(profile)
    assert {v["text"] for v in parts["own"]} == {""}
    assert "other" not in parts
    assert "Grey" not in profile.figure.reads
