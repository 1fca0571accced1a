from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from tests.report.made_up import FakeRun
from tests.report.sections.captions.made_up_gallery import gallery_run, score

from stereotrope import report
from stereotrope.report.exhibits import Exhibits, Thumbnails
from stereotrope.report.material import Material
from stereotrope.report.sections.captions.gallery import (
    MOST_COLUMNS,
    MOST_GALLERIES,
    MOST_LINES,
    Gallery,
    chosen_pictures,
    gallery_blocks,
)
from stereotrope.tables import BANDS


def galleries(run: FakeRun, *, budget: int = 10**7) -> list[Gallery]:
    material = Material(run)
    thumbs = Thumbnails.make(material, first=chosen_pictures(material), budget=budget)
    return [block.content for block in gallery_blocks(material, Exhibits(material, thumbs))]


def undefined(run: FakeRun, reason: str) -> FakeRun:
    lost = pl.col("measure").eq("cbs") & pl.col("generator").eq("model-0")
    run.estimates = run.estimates.with_columns(
        pl.when(lost).then(None).otherwise(pl.col(c)).alias(c) for c in ("value", "low", "high")
    ).with_columns(undefined=pl.when(lost).then(pl.lit(reason)).otherwise(pl.col("undefined")))
    return run


def test_prompts_are_lines_in_the_order_of_the_design_and_models_columns(tmp_path: Path) -> None:
    (gallery,) = galleries(gallery_run(tmp_path, models=3))
    assert [line.title for line in gallery.lines] == [f"prompt {i}" for i in range(4)]
    assert gallery.models == ["model-0", "model-1", "model-2"]
    assert [line.prompt for line in gallery.lines][:2] == ["A picture of prompt 0", "A picture of prompt 1"]
    cell = gallery.lines[1].cells[2]
    assert cell.scores[0].text.startswith(f"{score(2, 1):.2f} [")


def test_a_cell_says_which_of_the_two_scores_it_has(tmp_path: Path) -> None:
    (gallery,) = galleries(gallery_run(tmp_path))
    names = [line.cells[0].scores[0].name for line in gallery.lines]
    assert names == ["CBS"] * 3 + ["Contextual diversity; high is low diversity"]
    assert [name for name, _ in gallery.scores] == ["CBS", "Contextual diversity"]


def test_the_legend_writes_the_edges_of_every_band(tmp_path: Path) -> None:
    (gallery,) = galleries(gallery_run(tmp_path))
    assert [name for name, _ in gallery.bands] == [band.name for band in BANDS]
    assert all(f"{band.most:.2f}" in " ".join(e for _, e in gallery.bands) for band in BANDS[:-1])


def test_every_band_stands_in_words_beside_its_colour(tmp_path: Path) -> None:
    (gallery,) = galleries(gallery_run(tmp_path, models=3))
    scores = [c.scores[0] for line in gallery.lines for c in line.cells]
    assert {s.band for s in scores} == {0, 1, 2}
    assert all(s.band is not None and s.said.startswith(BANDS[s.band].name) for s in scores)


def test_a_score_that_is_mostly_unknown_says_so_after_its_band_and_is_not_filled(tmp_path: Path) -> None:
    run = gallery_run(tmp_path)
    doubted = (
        pl.col("measure").eq("cbs") & pl.col("generator").eq("model-0") & pl.col("prompt").eq("prompt 0")
    )
    flags = pl.when(doubted).then(pl.lit("mostly_unknown,small_n")).otherwise(pl.col("flags"))
    run.estimates = run.estimates.with_columns(flags=flags)
    (gallery,) = galleries(run)
    one, other = (cell.scores[0] for cell in gallery.lines[0].cells)
    band = BANDS[one.band or 0].name
    assert (one.tentative, other.tentative) == (True, False)
    assert one.said.startswith(f"{band}, mostly unknown")
    assert one.n == "n = 100; small n"
    assert "over half of the captions name no group" in gallery.tentative
    page = report.write(run, out=tmp_path / "out").read_text(encoding="utf-8")
    assert page.count(' tentative"><span class="which">') == 1
    assert 'stroke-dasharray="5,4"' in (tmp_path / "out/figures/gallery-1.svg").read_text(encoding="utf-8")
    (plain,) = galleries(gallery_run(tmp_path))
    assert plain.tentative == ""


def test_an_undefined_score_has_its_reason_and_no_colour(tmp_path: Path) -> None:
    (gallery,) = galleries(undefined(gallery_run(tmp_path), "no parity declared"))
    one = gallery.lines[0].cells[0].scores[0]
    assert (one.text, one.said, one.band) == ("not defined", "no parity declared", None)
    assert gallery.lines[0].cells[1].scores[0].band is not None


def test_a_model_without_a_prompt_says_so(tmp_path: Path) -> None:
    run = gallery_run(tmp_path)
    run.estimates = run.estimates.filter(
        ~(pl.col("prompt").eq_missing("prompt 2") & pl.col("generator").eq("model-1"))
    )
    (gallery,) = galleries(run)
    empty = gallery.lines[2].cells[1]
    assert empty.scores[0].text == "no score"
    assert empty.pictures == ()


def test_the_rule_by_which_pictures_are_chosen_is_told(tmp_path: Path) -> None:
    (gallery,) = galleries(gallery_run(tmp_path, pictures=12))
    assert any("the first 3 of each condition" in note for note in gallery.notes)
    cells = [c for line in gallery.lines for c in line.cells]
    assert all(len(c.pictures) == 3 and c.anchor and "Caption:" in c.pictures[0]["alt"] for c in cells)
    assert cells[0].link == "all 12 pictures"


def test_many_prompts_and_models_are_cut_and_named(tmp_path: Path) -> None:
    (gallery,) = galleries(gallery_run(tmp_path, models=10, prompts=14, pictures=1, with_profile=False))
    assert (len(gallery.lines), len(gallery.models)) == (MOST_LINES, MOST_COLUMNS)
    told = " ".join(gallery.notes)
    assert "prompt 12 and prompt 13" in told
    assert "models model-8 and model-9" in told
    assert gallery.table.total == 140


def test_one_gallery_a_definition_and_level_of_a_further_factor_up_to_a_bound(tmp_path: Path) -> None:
    phrasings = ("plain", "formal", "diverse")
    made = galleries(
        gallery_run(
            tmp_path, phrasings=phrasings, definitions=("paper", "released"), pictures=1, with_profile=False
        )
    )
    assert len(made) == MOST_GALLERIES
    assert made[0].title.endswith("(plain, definition paper)")
    assert any("formal, definition released" in note for note in made[-1].notes)
    assert made[1].lines[0].cells[0].anchor != made[0].lines[0].cells[0].anchor


def test_each_lexicon_has_a_gallery_with_pictures_by_its_own_labels(tmp_path: Path) -> None:
    swapped = {"female": "male", "male": "female", "unknown": "unknown"}
    run = gallery_run(tmp_path, second=swapped, shares=(0.2, 0.6, 0.2), pictures=4)
    made = galleries(run)
    ends = [gallery.title.rpartition(" (")[2] for gallery in made]
    assert ends == ["by lexicon lexicon)", "by lexicon second)"]
    first, second = (g.lines[0].cells[0] for g in made)
    assert [p["alt"].rpartition(" ")[2] for p in first.pictures] == ["male"]
    assert [p["alt"].rpartition(" ")[2] for p in second.pictures] == ["female", "female"]
    assert first.named == second.named == "most named gender: male, 0.60"
    assert made[0].table.total == made[1].table.total == 8


def test_pictures_of_the_gallery_are_drawn_before_others(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, pictures=12, shares=(0.1, 0.2, 0.7))
    material = Material(run)
    first = chosen_pictures(material)
    full = Thumbnails.make(material, budget=10**7)
    budget = sum(len(full.uris[image]) for image in first) + 100
    (gallery,) = galleries(run, budget=budget)
    assert all(len(c.pictures) == 3 for line in gallery.lines for c in line.cells)
    assert len(full.uris) > len(first)


def test_a_run_without_composite_scores_has_no_gallery(objects_run: FakeRun) -> None:
    assert galleries(objects_run) == []


def test_what_others_wrote_stays_text_in_the_page(tmp_path: Path) -> None:
    nasty = "<img src=x onerror=alert(1)>"
    run = gallery_run(tmp_path)
    run.labels = run.labels.with_columns(
        value=pl.when(pl.col("attribute") == "caption").then(pl.lit(nasty)).otherwise(pl.col("value"))
    )
    run.prompts = run.prompts.with_columns(text=pl.lit(nasty))
    page = report.write(run, out=tmp_path / "out", figures=False).read_text(encoding="utf-8")
    assert nasty not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_the_scores_are_written_as_a_chart_too(tmp_path: Path) -> None:
    out = tmp_path / "out"
    report.write(gallery_run(tmp_path), out=out)
    drawn = (out / "figures" / "gallery-1.svg").read_text(encoding="utf-8")
    assert "var(--" not in drawn
    assert ">prompt 0<" in drawn
    assert (out / "figures" / "gallery-1.png").exists()


def test_the_data_table_holds_every_cell_with_warnings_and_links(tmp_path: Path) -> None:
    run = gallery_run(tmp_path)
    run.estimates = run.estimates.with_columns(flags=pl.lit("small_n"), band=pl.lit("high"))
    (gallery,) = galleries(run)
    rows: list[Any] = list(gallery.table.rows)
    assert gallery.table.total == len(rows) == 8
    assert all(len(r) == len(gallery.table.columns) for r in rows)
    assert rows[0][-2].text == "small n"
    assert gallery.lines[0].cells[0].scores[0].n == "n = 100; small n"
    assert rows[0][-1].href is not None


def test_a_number_at_an_edge_has_the_digits_that_tell_its_band(tmp_path: Path) -> None:
    run = gallery_run(tmp_path)
    edge = pl.col("measure").eq("cbs") & pl.col("generator").eq("model-0")
    run.estimates = run.estimates.with_columns(value=pl.when(edge).then(0.5504).otherwise(pl.col("value")))
    (gallery,) = galleries(run)
    one = gallery.lines[0].cells[0].scores[0]
    assert one.text.startswith("0.5504 [")
    assert one.said.startswith("high")
    assert len(gallery.lines[0].cells[1].scores[0].text) == len("0.38 [0.33, 0.43]")
