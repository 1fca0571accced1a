from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from stereotrope import measure
from stereotrope.measure.findings import RunFindings
from stereotrope.report import headline
from stereotrope.report.exhibits import Exhibits, Thumbnails
from stereotrope.report.finding_lists import first_lists
from stereotrope.report.material import Material, level_words


def test_implied_and_constant_factors_are_left_out(objects_run: Any) -> None:
    material = Material(objects_run)
    assert material.shown == ["object", "group"]
    assert material.row_factor == "group"


def test_a_factor_that_another_implies_by_not_being_given_is_kept(objects_run: Any) -> None:
    """A change with the wording names no mitigation, and one with a mitigation no wording."""
    changes = pl.DataFrame({"phrasing": ["targeted at", None], "mitigation": [None, "range of styles"]})
    assert Material(objects_run).scope_columns(changes) == ["phrasing", "mitigation"]
    twins = pl.DataFrame({"region": [None, "north"], "climate": ["warm", "cold"]})
    assert Material(objects_run).scope_columns(twins) == ["climate"]


def test_sheets_follow_the_design_with_the_baseline_first(objects_run: Any) -> None:
    titles = [s.title for s in Material(objects_run).sheets]
    assert titles[:3] == ["laptop, base", "laptop, men", "laptop, women"]
    assert len(titles) == 12


def test_a_level_called_none_says_of_what() -> None:
    assert level_words("mitigation", "none") == "no mitigation"
    assert level_words("category", "none") == "none"  # a value that was seen


def test_an_estimate_leads_to_the_pictures_behind_it(objects_run: Any) -> None:
    material = Material(objects_run)
    sheet = material.find_sheet(
        {"generator": "calibrated", "object": "cup", "group": "women", "dimension": "gender"}
    )
    assert sheet is not None
    assert sheet.title == "cup, women"
    assert material.find_sheet({"generator": "no such"}) is None
    assert material.find_sheet({}) is None


def test_findings_that_show_the_same_pictures_are_told_each(objects_run: Any) -> None:
    again = objects_run.findings.with_columns(rank=pl.col("rank") + 10, kind=pl.lit("share_difference"))
    run = replace(objects_run, findings=pl.concat([again, objects_run.findings]))
    assert Material(run).findings["rank"].to_list() == [1, 2, 3, 4, 11, 12, 13, 14]


def _two_contrasts_of_one_condition(pictures: int = 40) -> tuple[pl.DataFrame, dict[str, pl.DataFrame]]:
    """Cups of women are pink by one model alone: beside its baseline, and beside the other model."""
    labels = pl.DataFrame(
        [
            (f"{model}-{group}-{i}", model, group, "colour", "pink" if pink and i else "grey")
            for model, group, pink in (
                ("a", "base", 0),
                ("b", "base", 0),
                ("a", "women", 0),
                ("b", "women", 1),
            )
            for i in range(pictures)
        ],
        schema=["image_id", "generator", "group", "attribute", "value"],
        orient="row",
    )
    by_group = measure.bds(labels, baseline="base", within=["generator"], n_permutations=200)
    by_model = measure.share_difference(labels, "colour", "generator", baseline="a", within=["group"])
    return labels, RunFindings.of(pl.concat([by_group, by_model], how="diagonal"), labels).tables()


def test_as_many_differences_are_listed_as_the_summary_counts(objects_run: Any) -> None:
    """A contrast of groups and one of models may point at the same pictures."""
    _, tables = _two_contrasts_of_one_condition()
    told = tables["findings"].filter(list="difference")
    assert told["image_ids"].n_unique() < told.height == 2
    assert {*told.select("contrast", "reference").iter_rows()} == {("group", "base"), ("generator", "a")}
    run = replace(objects_run, findings=tables["findings"], comparisons=tables["comparisons"])
    (differing,) = Material(run).first_findings[:1]
    counted = re.match(r"(\d+) of \d+ comparisons differ", Material(run).tested or "")
    assert counted is not None
    assert int(counted[1]) == len(differing.rows) == 2
    assert differing.more == ""


@pytest.mark.parametrize(("listed", "differing"), [(4, 4), (9, 9), (50, 63)])
def test_findings_that_are_not_shown_are_counted_where_they_stand(listed: int, differing: int) -> None:
    one = _two_contrasts_of_one_condition()[1]
    told = one["findings"].filter(list="difference")[:1]
    rows = pl.concat([told.with_columns(finding_id=pl.lit(str(i))) for i in range(listed)])
    compared = one["comparisons"].filter(verdict="differs")[:1]
    (differences,) = first_lists(rows, pl.concat([compared] * differing))
    assert len(differences.rows) + differences.n_more + differences.n_beyond == differing
    said = [int(n) for n in re.findall(r"(\d+) more", differences.more)]
    assert said == [n for n in (listed - len(differences.rows), differing - listed) if n]


def test_findings_point_at_what_they_are_about_also_where_no_picture_is_at_hand(objects_run: Any) -> None:
    about = {"object": "cup", "group": "elderly"}
    last = objects_run.findings.tail(1).with_columns(scope=pl.lit(json.dumps(about)), image_ids=pl.lit("[]"))
    away = objects_run.images.with_columns(status=pl.lit("absent"))
    material = Material(replace(objects_run, findings=last, images=away))
    pointed = {s.anchor for s in material.sheets if about.items() <= s.scope.items()}
    assert pointed
    assert material.highlighted == {anchor: [] for anchor in pointed}
    every = replace(objects_run, findings=last.with_columns(scope=pl.lit("{}")), images=away)
    assert Material(every).highlighted == {}


def test_what_is_said_of_a_pictures_quality_is_no_label_of_looks(objects_run: Any) -> None:
    quality = objects_run.labels.head(3).with_columns(attribute=pl.lit("blank"), value=pl.lit("yes"))
    material = Material(replace(objects_run, labels=pl.concat([objects_run.labels, quality])))
    assert "blank" not in material.shown_labels["attribute"]
    assert material.shown_labels["n_subjects"].sum() == objects_run.labels.height


def test_no_blank_picture_stands_for_the_baseline_beside_a_finding(objects_run: Any) -> None:
    material = Material(objects_run)
    women = next(s for s in material.sheets if s.title == "cup, women")
    base = material.baseline_of(women)
    assert base is not None
    image = base.images[0]["image_id"]
    thumbs = Thumbnails({picture: picture for picture in objects_run.images["image_id"]})

    about = {"image_ids": json.dumps([women.images[0]["image_id"]])}

    def beside(material: Material) -> list[str]:
        shown = Exhibits(material, thumbs).groups(about, most=100)
        return [one["uri"] for one in shown[1]["images"]]

    said = objects_run.labels.filter(subject_id=image).head(1)
    blank = said.with_columns(attribute=pl.lit("blank"), value=pl.lit("yes"), status=pl.lit("ok"))
    without = Material(replace(objects_run, labels=pl.concat([objects_run.labels, blank])))
    assert beside(without) == [one for one in beside(material) if one != image] != beside(material)


def test_the_baseline_stands_beside_a_condition(objects_run: Any) -> None:
    material = Material(objects_run)
    beside = {s.title: material.baseline_of(s) for s in material.sheets}
    assert beside["cup, women"] is not None
    assert beside["cup, women"].title == "cup, base"
    assert beside["cup, base"] is None
    assert Material(replace(objects_run, info={})).baseline_of(material.sheets[2]) is None


def test_beside_a_finding_stands_what_it_is_compared_with(objects_run: Any) -> None:
    """A finding between models shows both, a rare value of one not alone."""
    images = objects_run.images.with_columns(
        image_id=pl.lit("other-") + pl.col("image_id"), generator=pl.lit("other")
    )
    run = replace(objects_run, images=pl.concat([objects_run.images, images]))
    material = Material(run)
    women = next(s for s in material.sheets if s.title == "cup, women" and s.generator == "calibrated")
    named = {"image_ids": json.dumps(women.usable[:1])}
    thumbs = Thumbnails({picture: picture for picture in run.images["image_id"]})

    def told(finding: dict[str, Any]) -> list[tuple[str, int, str]]:
        shown = Exhibits(material, thumbs).groups(finding, most=4)
        return [(group["title"], len(group["images"]), group["more"]) for group in shown]

    n = women.n_usable
    first = ("calibrated: cup, women", 1, f"the 1 it points at, of {n} pictures")
    by_model = {**named, "contrast": "generator", "reference": "other"}
    assert told(by_model) == [first, ("other: cup, women", 4, f"4 of {n} pictures")]
    by_group = {**named, "contrast": "group", "reference": "men"}
    assert [title for title, *_ in told(by_group)] == [first[0], "calibrated: cup, men"]
    assert [title for title, *_ in told(named)] == [first[0], "calibrated: cup, base"]
    both = json.dumps([*women.usable[:6], f"other-{women.usable[0]}"])
    assert told({**by_model, "image_ids": both}) == [
        ("calibrated: cup, women", 4, f"4 of the 6 it points at, of {n} pictures"),
        ("other: cup, women", 1, f"the 1 it points at, of {n} pictures"),
    ]


def test_looks_at_a_run_are_told_where_there_were_several(objects_run: Any) -> None:
    looks = [
        {"look": 1, "pictures": 72, "alpha": 0.04, "told": 1},
        {"look": 2, "pictures": 1_096, "alpha": 0.005, "told": 0},
    ]
    assert Material(objects_run).looks == []
    once = replace(objects_run, info={**objects_run.info, "looks": looks[:1]})
    assert Material(once).looks == headline(once)["looks"] == []
    twice = replace(objects_run, info={**objects_run.info, "looks": looks})
    assert Material(twice).looks == [
        "Look 1: 72 pictures, error 0.04, 1 difference found.",
        "Look 2: 1096 pictures, error 0.005, 0 differences found.",
    ]
    assert headline(twice)["looks"] == Material(twice).looks
