"""The tutorial over real pictures, carried out on the data it speaks of."""

import csv

import polars as pl
import pytest
from tests.conftest import unwritten
from tests.golden.audits import AUDITS, NUMBERS
from tests.golden.compare import assert_as_kept

from stereotrope.annotate.marks import WORDS
from stereotrope.annotate.picture import Picture
from stereotrope.annotate.text import TextAnnotator

WITH_TEXT = ("dall_e_3", "teacher", "controlled")
"""Model, occupation and condition of the pictures on which most is read."""


@pytest.fixture(scope="module")
def data(shared):
    return shared / "data" / "occupations"


@pytest.fixture(scope="module")
def run(data, tmp_path_factory):
    with unwritten():
        return AUDITS["unread"](tmp_path_factory.mktemp("tutorial"), data.parent)


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
    assert_as_kept(run, "unread")


@pytest.mark.slow
def test_text_is_read_on_as_many_pictures_of_a_condition_as_before(data):
    reader, files = TextAnnotator(), [*labelled(data, WITH_TEXT)]
    read = {attribute: [] for attribute in WORDS}
    for file in files:
        for label in reader.process(Picture(file.name, "", file.read_bytes())):
            if label.attribute in WORDS:
                read[label.attribute].append(label.value)
    model, occupation, condition = WITH_TEXT
    shares = pl.read_parquet(NUMBERS / "occupations" / "estimates.parquet").filter(
        measure="share", category="present", generator=model, occupation=occupation, condition=condition
    )
    counted = {attribute: values.count("present") for attribute, values in read.items()}
    assert counted == dict(
        shares.filter(pl.col("attribute").is_in(WORDS)).select("attribute", "numerator").rows()
    )
    assert sum(counted.values()) > 5


def labelled(data, cell):
    with (data / "labels.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if (row["model"], row["occupation"], row["condition"]) == cell:
                yield data / row["file_name"]


@pytest.mark.slow
def test_the_whole_run_says_what_it_said_before(data, tmp_path):
    run = AUDITS["occupations"](tmp_path, data.parent)
    assert_as_kept(run, "occupations")
    for attribute in WORDS:
        assert run.labels.filter(attribute=attribute, annotator="text")["subject_id"].n_unique() == 300
    page = (run.path / "report" / "index.html").read_text(encoding="utf-8")
    assert "perceived" in page.lower()
    assert "sdxl_turbo" in page


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
    for attribute, reader in (("background_colour", "colour"), ("blank", "blank")):
        assert run.labels.filter(attribute=attribute, annotator=reader)["subject_id"].n_unique() == 300
