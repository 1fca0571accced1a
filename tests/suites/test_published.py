from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from stereotrope.audit import Audit
from stereotrope.errors import AuditFileError, UsageError
from stereotrope.report.write import write
from stereotrope.suites.published import PUBLISHED, published
from stereotrope.suites.reading import load_suite

SIZES = {"2": 54, "3": 30, "4": 45, "5": 8, "6": 6, "9": 12, "10": 50, "11": 369, "13": 50}


@pytest.fixture(scope="module")
def figures() -> pl.DataFrame:
    return published("objects")


def test_every_figure_of_the_nine_tables_is_there(figures: pl.DataFrame) -> None:
    assert figures.columns == list(PUBLISHED)
    assert dict(figures["table"].value_counts().iter_rows()) == SIZES
    always = figures.select("table", "measure", "definition", "attribute", "value", "source")
    assert always.null_count().sum_horizontal().item() == 0


def test_a_frame_that_its_reader_changes_is_whole_for_the_next() -> None:
    published("objects").drop_in_place("value")
    assert published("objects").columns == list(PUBLISHED)


def test_levels_are_spelled_as_the_suite_spells_them(figures: pl.DataFrame) -> None:
    suite = load_suite("objects")
    groups = {g for of in suite["dimensions"].values() for g in of}
    assert set(figures["group"].drop_nulls()) == groups | {"base"}
    assert set(figures["object"].drop_nulls()) == set(suite["objects"])
    assert set(figures["dimension"].drop_nulls()) == set(suite["dimensions"])
    assert set(figures["phrasing"].drop_nulls()) < set(suite["known_phrasings"])
    assert set(figures["mitigation"].drop_nulls()) < set(suite["known_mitigations"])
    assert figures["generator"].n_unique() == 6


def test_every_source_names_paper_table_and_licence(figures: pl.DataFrame) -> None:
    for table, source in figures.select("table", "source").unique().iter_rows():
        assert source == f"SODA (arXiv:2508.03483v3), Table {table}, CC BY 4.0"


def test_table_11_is_the_one_the_authors_printed(figures: pl.DataFrame, shared: Path) -> None:
    wide = pl.read_csv(shared / "data" / "soda" / "table11_bds.csv")
    short = {"young": "young adults", "mid": "middle-aged"}
    people = {g: f"{g.capitalize()} people" for g in ("white", "black", "asian", "latinx")}
    theirs = wide.unpivot(wide.columns[2:], index=["model", "object"], variable_name="group").select(
        generator="model",
        object=pl.col("object").str.to_lowercase(),
        group=pl.col("group").replace(short | people),
        value="value",
    )
    keys = ["generator", "object", "group"]
    ours = figures.filter(pl.col("table") == "11", pl.col("generator").is_not_null())
    assert ours.select(*keys, "value").sort(keys).equals(theirs.sort(keys))


def test_every_row_of_a_table_stands_in_the_text_of_the_paper(shared: Path) -> None:
    text = (shared / "papers" / "soda.txt").read_text(encoding="utf-8")
    folder = Path(__file__).parents[2] / "src/stereotrope/suites/objects/published"
    for name in ("table02", "table03", "table04", "table11"):
        for line in (folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()[1:]:
            numbers = [part for part in line.split(",") if part.replace(".", "").isdigit()]
            assert " ".join(numbers) in text, (name, line)
    for line in (folder / "table10.csv").read_text(encoding="utf-8").splitlines()[1:]:
        model, *counts, total = line.split(",")
        assert f"{model} {' '.join(f'{k}/8' for k in counts)} {total}/72" in text
    for line in (folder / "table09.csv").read_text(encoding="utf-8").splitlines()[1:]:
        assert " ".join(line.split(",")[2:]) in text
    for name in ("table05", "table06"):
        for line in (folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()[1:]:
            for number in line.split(",")[-2:]:
                assert (number if number.startswith("-") else f"+{number}") + "\\%" in text
    for line in (folder / "table13.csv").read_text(encoding="utf-8").splitlines()[1:]:
        _, thing, attribute, group, before, after, source, target = line.split(",")
        assert f"{thing} {attribute} {group} {before} {after} {source} \\to {target}" in text


def test_changes_are_fractions_and_a_value_called_none_is_kept(figures: pl.DataFrame) -> None:
    assert (
        figures.filter(table="5", measure="cds_change", mitigation="no stereotypes")["value"].item() == -0.309
    )
    assert "None" in figures.filter(table="13")["category"].to_list()


def test_an_unknown_suite_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="no suite 'object'; did you mean"):
        published("object")


AUDIT = """\
suite: objects
objects: [cup, car]
dimensions: {gender: [men, women]}
images_per_prompt: 2
permutations: 99
resamples: 100
generators: [{calibrated: , name: NAME, size: 64}]
annotators: [colour]
"""


def test_a_model_of_the_paper_is_scored_by_the_published_definition_too(tmp_path):
    audit = Audit.from_text(AUDIT.replace("NAME", "flux-2-pro"))
    run = audit.run(tmp_path / "run")
    scores = run.estimates.filter(attribute="all")
    assert set(scores.filter(measure="bds")["definition"]) == {"paper", "released"}
    means = scores.filter(measure="bds", aggregate="object")
    assert means.group_by("definition").len().sort("definition").rows() == [("paper", 2), ("released", 2)]
    figures = [row for row in run.info["published"] if row["table"] == "2"]
    assert {(row["generator"], row["group"]): row["value"] for row in figures} == {
        ("flux-2-pro", "men"): 0.317,
        ("flux-2-pro", "women"): 0.286,
    }
    assert "Beside published figures" in write(run, figures=False).read_text()
    again = Audit.from_run(tmp_path / "run").measure(tmp_path / "run")
    assert again.estimates.equals(run.estimates)
    assert again.info["published"] == run.info["published"]


def test_a_model_that_is_not_in_the_paper_is_scored_by_one_definition(tmp_path):
    plan = Audit.from_text(AUDIT.replace("NAME", "another")).plan()
    assert {call.arguments.get("definition", "paper") for call in plan.measures} == {"paper"}


def test_a_mean_names_the_definition_it_reads():
    text = AUDIT + "measures: [bds, {average: bds, definition: released}]\n"
    with pytest.raises(AuditFileError, match=r"'average': reads scores by the definition 'paper', found"):
        Audit.from_text(text).plan()
