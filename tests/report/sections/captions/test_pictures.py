from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from tests.report.sections.captions.made_up_gallery import gallery_run

from stereotrope.report.material import Material
from stereotrope.report.sections.captions.gallery import MOST_CHOSEN, Chooser


def first_score(material: Material) -> dict[str, Any]:
    return material.estimates.filter(measure="cbs").row(0, named=True)


def values(run: Any, images: list[str], annotator: str = "lexicon") -> list[str]:
    said = run.labels.filter(pl.col("annotator") == annotator, pl.col("attribute") == "gender")
    of = dict(said.select("subject_id", "value").iter_rows())
    return [of[image] for image in images]


def test_pictures_are_the_first_whose_caption_has_the_most_frequent_value(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, pictures=12)
    material = Material(run)
    images = Chooser(material).pictures(first_score(material))
    assert values(run, images) == ["female"] * MOST_CHOSEN
    order = [i["image_id"] for i in material.sheets[0].images]
    assert images == [order[0], order[2], order[4]]


def test_where_most_captions_name_no_group_the_pictures_are_of_these(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, pictures=12, shares=(0.2, 0.1, 0.7))
    material = Material(run)
    row, chooser = first_score(material), Chooser(material)
    assert values(run, chooser.pictures(row)) == ["unknown"] * MOST_CHOSEN
    assert chooser.named(row) == "most named gender: female, 0.20; none named: 0.70"


def test_equally_frequent_groups_are_all_named(tmp_path: Path) -> None:
    material = Material(gallery_run(tmp_path, shares=(0.4, 0.4, 0.2)))
    assert Chooser(material).named(first_score(material)) == "most named gender: female and male, 0.40 each"


def test_no_group_at_all_is_said(tmp_path: Path) -> None:
    material = Material(gallery_run(tmp_path, shares=(0.0, 0.0, 1.0)))
    assert Chooser(material).named(first_score(material)) == "no gender named"


def test_without_shares_the_first_pictures_stand_and_nothing_is_claimed(tmp_path: Path) -> None:
    run = gallery_run(tmp_path)
    run.estimates = run.estimates.filter(pl.col("measure") != "representation_parity")
    material = Material(run)
    row, chooser = first_score(material), Chooser(material)
    assert chooser.named(row) == ""
    assert chooser.pictures(row) == [i["image_id"] for i in material.sheets[0].images][:MOST_CHOSEN]


def test_groups_are_those_the_lexicon_reads_and_no_other_annotator(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, pictures=12)
    other = run.labels.filter(pl.col("attribute") == "gender").with_columns(
        annotator=pl.lit("another"), value=pl.lit("male")
    )
    run.labels = pl.concat([other, run.labels])
    material = Material(run)
    assert values(run, Chooser(material).pictures(first_score(material))) == ["female"] * MOST_CHOSEN


def test_pictures_that_cannot_be_used_are_never_chosen(tmp_path: Path) -> None:
    run = gallery_run(tmp_path, pictures=12)
    run.images = run.images.with_columns(
        status=pl.when(pl.col("seed") == 0).then(pl.lit("excluded")).otherwise(pl.col("status"))
    )
    material = Material(run)
    seeds = [material.image_row(i)["seed"] for i in Chooser(material).pictures(first_score(material))]
    assert seeds == [2, 4, 6]


def test_the_caption_is_what_is_told_to_those_who_cannot_see_the_picture(tmp_path: Path) -> None:
    run = gallery_run(tmp_path)
    material = Material(run)
    image = run.images["image_id"][0]
    assert Chooser(material).alt(image) == (
        "model-0, prompt 0. Caption: caption 0 of prompt 0 by model-0 says female"
    )
    assert Chooser(material).alt("none") == ""
