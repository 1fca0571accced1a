from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from tests.report.made_up import FINDING_TYPES, LABEL_TYPES, frame, label_row

from stereotrope.report import headline, write
from stereotrope.report.headline import asked, missing_table
from stereotrope.report.material import Material


def test_the_headline_is_plain_json(objects_run: Any) -> None:
    head = headline(objects_run)
    assert json.loads(json.dumps(head, allow_nan=False)) == head


def test_it_says_what_was_asked_and_what_is_missing(objects_run: Any) -> None:
    head = headline(objects_run)
    assert head["title"] == "Laptops and cups, drawn for whom?"
    assert head["counts"] == {
        "prompts": 12,
        "images": 240,
        "ok": 236,
        "refused": 3,
        "excluded": 1,
        "absent": 0,
        "blank": 0,
        "labels": 944,
        "derived_labels": 0,
        "labels_without_value": objects_run.labels.filter(pl.col("status") != "ok").height,
    }
    rows = {row[1]: row for row in head["missing"]["rows"]}
    assert rows["elderly"][2:6] == ["40", "37", "3", "0"]
    assert rows["men"][2:6] == ["40", "39", "0", "1"]


def test_most_refusals_are_looked_for_in_every_factor(objects_run: Any) -> None:
    """Laptops are refused as often for whom they are, and no cup is."""
    laptops = objects_run.prompts.filter(object="laptop")["prompt_id"]
    nth = pl.int_range(pl.len()).over("prompt_id", "generator")
    refused = pl.col("prompt_id").is_in(laptops.implode()) & (nth < 4)
    images = objects_run.images.with_columns(
        status=pl.when(refused).then(pl.lit("refused")).otherwise(pl.lit("ok"))
    )
    unmeasured = objects_run.estimates.filter(pl.col("measure") != "refusal_rate")
    material = Material(replace(objects_run, images=images, estimates=unmeasured))
    n = images.filter(refused).height
    of = images.filter(pl.col("prompt_id").is_in(laptops.implode())).height
    assert material.row_factor == "group"
    assert (
        f"Most refusals, as a share, are for calibrated, laptop: {n} of {of}."
        in (missing_table(material)["sentence"])
    )


def test_a_share_of_few_requests_is_not_named_for_refusals(objects_run: Any) -> None:
    images = objects_run.images.with_columns(status=pl.lit("ok"))
    few = images.filter(prompt_id=images["prompt_id"][0]).head(2).with_columns(status=pl.lit("refused"))
    others = images.filter(pl.col("prompt_id") != images["prompt_id"][0])
    others = others.with_columns(
        status=pl.when(pl.int_range(pl.len()) < 30).then(pl.lit("refused")).otherwise(pl.lit("ok"))
    )
    prompts = objects_run.prompts.with_columns(
        room=pl.when(prompt_id=images["prompt_id"][0]).then(pl.lit("attic")).otherwise(pl.lit("kitchen"))
    )
    unmeasured = objects_run.estimates.filter(pl.col("measure") != "refusal_rate")
    run = replace(objects_run, images=pl.concat([few, others]), prompts=prompts, estimates=unmeasured)
    sentence = missing_table(Material(run))["sentence"]
    assert "attic" not in sentence
    assert "Most refusals" in sentence


def test_most_refusals_are_those_that_a_measured_rate_bears_out(objects_run: Any) -> None:
    """A high share of few requests has a wide interval."""
    template = objects_run.estimates.filter(measure="refusal_rate").head(1)
    facts = {"numerator": [3, 90], "denominator": [10, 400], "value": [0.3, 0.225], "low": [0.11, 0.19]}
    rates = pl.concat([template, template]).with_columns(
        *(pl.Series(name, values).cast(template.schema[name]) for name, values in facts.items()),
        generator=pl.lit("calibrated"),
        object=pl.Series(["cup", "laptop"]),
        group=pl.lit(None, pl.String),
    )
    run = replace(objects_run, estimates=rates)
    assert (
        "Most refusals, as a share, by the lower end of its interval, are for calibrated, laptop: 90 of 400."
        in missing_table(Material(run))["sentence"]
    )


def test_a_complete_run_says_that_nothing_is_missing(make_run: Any) -> None:
    run = make_run(missing=[], notes=[])
    run.images = run.images.with_columns(status=pl.lit("ok"))
    assert headline(run)["missing"]["sentence"].startswith("Nothing is missing: all 4 pictures could be used")


def test_pictures_without_a_caption_are_missing(make_run: Any) -> None:
    run = make_run(missing=[])
    run.images = run.images.with_columns(status=pl.lit("ok"))
    first = run.images["image_id"][0]
    rows = [label_row(first, "caption", "A cup.", "blip"), label_row(first, "caption", None, "mute")]
    run.labels = pl.concat([run.labels, frame(rows, LABEL_TYPES)], how="diagonal_relaxed")
    missing = headline(run)["missing"]
    assert missing["items"] == [
        "blip: 3 of 4 pictures have no caption, and no score of captions counts them.",
        "mute: 4 of 4 pictures have no caption, and no score of captions counts them.",
    ]
    assert not missing["sentence"].startswith("Nothing is missing")


def test_factors_that_tell_nothing_apart_are_not_shown(objects_run: Any) -> None:
    terms = [row["term"] for row in headline(objects_run)["asked"]]
    assert terms == ["Model", "Object", "Group", "For example", "Compared with"]


def test_the_baseline_is_said_to_be_of_the_same_mitigation(objects_run: Any) -> None:
    assert headline(objects_run)["asked"][-1]["text"] == "group = base (same object)"
    named = pl.col("group").is_in(["base", "women"])
    few = objects_run.prompts.filter(named)
    phrasing = pl.when(pl.col("group") != "base").then(pl.lit("for"))
    both = [few.with_columns(phrasing=phrasing, mitigation=pl.lit(m)) for m in ("none", "avoid")]
    both.append(few.with_columns(phrasing=phrasing.replace("for", "from"), mitigation=pl.lit("none")))
    prompts = pl.concat(both).with_columns(prompt_id=pl.int_range(pl.len()).cast(pl.String))
    text = asked(Material(replace(objects_run, prompts=prompts)))[-1]["text"]
    assert text == "group = base (same object, no phrasing, same mitigation)"


def test_a_comparison_over_all_objects_is_not_said_to_be_of_the_same(objects_run: Any) -> None:
    calls = [{"measure": "bds", "group": "group", "baseline": "base", "within": w} for w in (["object"], [])]
    for measures, text in ((calls[:1], "group = base (same object)"), (calls, "group = base")):
        run = replace(objects_run, info={**objects_run.info, "measures": measures})
        assert headline(run)["asked"][-1]["text"] == text


def test_tables_hold_the_mean_over_attributes_with_numbers_beside_the_text(objects_run: Any) -> None:
    tables = {t["measure"]: t for t in headline(objects_run)["tables"]}
    assert list(tables)[:3] == ["bds", "cds", "vac"]
    bds = tables["bds"]
    assert len(bds["rows"]) == len(bds["estimates"]) == 10
    assert {e["attribute"] for e in bds["estimates"]} == {"all"}
    assert all(len(row) == len(bds["columns"]) for row in bds["rows"])


def test_undefined_is_null_with_its_reason(make_run: Any) -> None:
    share = {t["measure"]: t for t in headline(make_run("too few", "red"))["tables"]}["share"]
    assert share["estimates"][0]["value"] is None
    assert share["estimates"][0]["undefined"] == "too few"
    assert any("not defined: too few" in cell for cell in share["rows"][0])


def test_findings_come_in_their_rank_and_with_their_pictures(objects_run: Any) -> None:
    findings = headline(objects_run)["findings"]
    assert [f["rank"] for f in findings] == [1, 2, 3, 4]
    assert len(findings[0]["images"]) == 24


def test_blank_and_doubled_pictures_are_counted(objects_run: Any) -> None:
    blank = objects_run.labels.head(4).with_columns(attribute=pl.lit("blank"), value=pl.lit("yes"))
    labels = pl.concat([objects_run.labels, blank.unique("subject_id")])
    with_blank = replace(objects_run, labels=labels)
    head = headline(with_blank)
    assert head["missing"]["sentence"].endswith(" 1 picture is blank and left out of the scores.")
    assert "Nothing is missing" not in head["missing"]["sentence"]
    usable = headline(objects_run)["counts"]["ok"]
    assert f"; 1 is blank, {usable - 1} could be used, " in head["summary"]
    assert (head["counts"]["ok"], head["counts"]["blank"]) == (usable, 1)
    assert "blank" not in str(headline(objects_run)["missing"]["sentence"]) + headline(objects_run)["summary"]


def test_copies_of_a_picture_are_counted_once_beside_the_pictures(objects_run: Any) -> None:
    assert "of them distinct" not in missing_table(Material(objects_run))["columns"]
    copied = objects_run.images.with_columns(
        sha256=pl.when(pl.col("status") == "ok").then(pl.lit("one and the same")).otherwise(pl.col("sha256"))
    )
    table = missing_table(Material(replace(objects_run, images=copied)))
    at = table["columns"].index("of them distinct")
    assert {row[at] for row in table["rows"]} == {"1"}


def test_labels_that_follow_from_others_are_counted_and_told_apart(objects_run: Any) -> None:
    n = objects_run.labels.height
    assert "derived" not in headline(objects_run)["summary"]
    derived = objects_run.labels.head(3).with_columns(
        attribute=pl.lit("near_duplicate_of"), derived_from=pl.lit("duplicates")
    )
    more = replace(objects_run, labels=pl.concat([objects_run.labels, derived]))
    assert headline(more)["counts"]["labels"] == more.labels.height == n + 3
    assert headline(more)["counts"]["derived_labels"] == 3
    assert f"Annotators gave {n + 3} labels, 3 of them derived from others," in headline(more)["summary"]


def test_notes_of_a_run_stand_with_what_is_missing(make_run: Any) -> None:
    run = make_run(missing=[], notes=[f"m: {i} pictures belong to no designed prompt" for i in range(7)])
    run.images = run.images.with_columns(status=pl.lit("ok"))
    missing = headline(run)["missing"]
    assert missing["notes"][:5] == run.info["notes"][:5]
    assert missing["notes"][5:] == ["2 more notes stand at the end of the report."]
    assert missing["sentence"].startswith("All 4 pictures could be used")


def test_words_of_measures_are_those_of_the_run_else_those_that_are_handed_in(objects_run: Any) -> None:
    def first(info: dict[str, Any], **more: Any) -> str:
        tables = headline(replace(objects_run, info={**objects_run.info, **info}), **more)["tables"]
        return next(t["title"] for t in tables if t["measure"] == "bds")

    assert first({"words": {"bds": {"short": "divergence \u202eof old"}}}) == "Divergence ‹U+202E›of old"
    assert first({"words": {"bds": "no mapping"}}) == "Bds"
    assert first({"words": None}, words=lambda: {"bds": {"short": "handed in"}}) == "Handed in"
    assert first({"words": None}) == "Bds"


def test_where_nothing_was_compared_no_pattern_is_said_to_be_missing(objects_run: Any) -> None:
    bare = replace(objects_run, findings=objects_run.findings.clear())
    could_not = headline(bare)
    assert could_not["tested"] is None
    assert could_not["untested"].startswith("No comparison of this run could be tested")
    shares = objects_run.estimates.filter(pl.col("contrast").is_null())
    said = headline(replace(bare, estimates=shares))["untested"]
    assert said.startswith("The measures of this audit compare nothing, so that no difference was looked for")
    assert "`share_difference`" in said
    page = write(replace(bare, estimates=shares), out=bare.path / "nothing", figures=False).read_text()
    assert "compare nothing" in page
    assert "no pattern of this run" not in page
    assert headline(objects_run)["untested"] is None


@pytest.mark.parametrize("n", [2, 5])
def test_few_comparisons_are_named(objects_run: Any, n: int) -> None:
    summary = {"list": "summary", "kind": "summary", "rank": 0, "scope": "{}", "sentence": "No difference."}
    first = {"contrast": "generator", "reference": "b", "scope": '{"generator": "a", "object": "cup"}'}
    second = {"contrast": None, "reference": None, "scope": "{}"}
    compared = [{"kind": "group_gap", "attribute": "lid_colour", "verdict": "alike"} | first]
    compared += [{"kind": "group_gap", "attribute": None, "verdict": "alike"} | second] * (n - 1)
    findings = frame([summary], FINDING_TYPES)
    run = replace(objects_run, findings=findings, comparisons=pl.DataFrame(compared))
    named = " Compared: lid colour with generator “a” and “b” (object “cup”); group gap."
    assert headline(run)["tested"] == "No difference." + named * (n == 2)
