"""The tutorial over real pictures, carried out on the data it speaks of."""

import csv

import polars as pl
import pytest
from tests.golden.audits import AUDITS
from tests.golden.compare import assert_as_kept


@pytest.fixture(scope="module")
def data(shared):
    return shared / "data" / "occupations"


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    return AUDITS["occupations"](tmp_path_factory.mktemp("tutorial"), data.parent)


def published(data):
    with (data / "published_gender.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for condition, column in (
                ("baseline", "Baseline (F/M, %F)"),
                ("controlled", "Controlled (F/M, %F)"),
            ):
                female, male = row[column].split(" ")[0].split("/")
                yield row["model"], row["Occupation"].lower(), condition, int(female), int(male)


def test_female_counts_are_those_of_the_published_table(run, data):
    ratios = run.estimates.filter(measure="female_ratio")
    expected = list(published(data))
    assert len(expected) == ratios.height == 30
    for model, occupation, condition, female, male in expected:
        row = ratios.filter(generator=model, occupation=occupation, condition=condition).row(0, named=True)
        assert row["n"] == female + male
        assert row["n"] + row["n_excluded"] == 10
        assert round(row["value"] * row["n"]) == female
        assert row["value"] == pytest.approx(female / (female + male), abs=1e-12)
        assert row["low"] <= row["value"] <= row["high"]


def test_the_run_says_what_it_said_before(run):
    assert_as_kept(run, "occupations")


def test_pictures_labelled_both_are_excluded_by_reason(run):
    ratios = run.estimates.filter(measure="female_ratio")
    assert ratios["n_excluded"].sum() == 32
    assert all("both" in reasons for reasons in ratios["excluded"].drop_nulls())


@pytest.mark.parametrize("attribute", ["gender", "race", "background_colour"])
def test_the_effect_of_the_instruction_has_interval_and_q(run, attribute):
    rows = run.estimates.filter(measure="share_difference", attribute=attribute)
    given = rows.filter(pl.col("value").is_not_null())
    assert given.height >= 15
    for column in ("low", "high", "p_value", "q_value"):
        assert given[column].null_count() == 0
    assert (given["low"] <= given["value"]).all()
    assert (given["value"] <= given["high"]).all()
    divergence = run.estimates.filter(measure="bds", attribute=attribute)
    assert divergence.filter(pl.col("occupation").is_not_null()).height == 15
    assert divergence["floor"].null_count() == 0


def test_every_picture_is_read_by_the_offline_annotators(run):
    assert run.images["status"].to_list() == ["ok"] * 300
    assert "product_colour" not in run.labels["attribute"]
    for attribute in ("background_colour", "text_presence", "blank"):
        said = run.labels.filter(attribute=attribute, annotator=_reader(attribute))
        assert said["subject_id"].n_unique() == 300


def _reader(attribute):
    return {"blank": "blank", "text_presence": "text"}.get(attribute, "colour")


def test_the_report_is_written_and_speaks_of_perceived_presentation(run):
    page = (run.path / "report" / "index.html").read_text(encoding="utf-8")
    assert "perceived" in page.lower()
    assert "sdxl_turbo" in page
