"""Studies whose pictures are not at hand, all or some: what others said of them counts."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import stereotrope as st
import stereotrope.report
from stereotrope.audit import Audit
from stereotrope.audit.interim import look_at_run
from stereotrope.audit.outstanding import outstanding
from stereotrope.errors import AuditFileError, IncompleteError, MetadataError, StereotropeError, UsageError
from stereotrope.generate import FolderGenerator, LabelledGenerator, create, image_requests
from stereotrope.report.write import write
from stereotrope.run import Ledger
from stereotrope.run.looks import looks_in

FEW = {"permutations": 99, "resamples": 100}
DESIGN = {"name_from": "model", "factors": ["occupation", "condition"]}
MEASURES = [{"female_ratio": "gender"}, {"share": "race", "of": ["asian", "black", "hispanic", "white"]}]
ABSENT = "picture not at hand"


def audit(base: Path, generator: dict[str, Any], **more: Any) -> Audit:
    said = {"labels": "labels.csv", "name": "people", "attributes": ["gender", "race"]}
    content = {"generators": [generator], "annotators": [said], "measures": MEASURES, **FEW}
    content |= {"baseline": {"condition": "baseline"}, **more}
    given = {key: value for key, value in content.items() if value is not None}
    return Audit.from_text(json.dumps(given), base=base)


@pytest.fixture(scope="module")
def data(shared: Path) -> Path:
    return shared / "data" / "occupations"


@pytest.fixture(scope="module")
def alone(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The labels of the study of occupations, without any picture."""
    base = tmp_path_factory.mktemp("labels")
    shutil.copy(data / "labels.csv", base)
    return base


@pytest.fixture(scope="module")
def run(alone: Path) -> st.Run:
    more = [{"labels": "labels.csv", "name": "people", "attributes": ["gender", "race"]}]
    more += ["blank", {"colour": ["background_colour"]}]
    measures = [*MEASURES, {"share": "background_colour"}, "refusal_rate", {"bds": ["gender", "race"]}]
    asked = audit(alone, {"labels": "labels.csv", **DESIGN}, annotators=more, measures=measures)
    return asked.run(alone / "run")


def published(data: Path, name: str) -> Iterator[tuple[tuple[str, str, str], str]]:
    with (data / f"published_{name}.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for column in row:
                condition = column.split(" ")[0].lower()
                if condition in ("baseline", "controlled") and "/" in row[column]:
                    yield (row["model"], row["Occupation"].lower(), condition), row[column].split(" ")[0]


def counted(run: st.Run, measure: str, **where: str) -> dict[tuple[str, str, str], tuple[int, int]]:
    rows = run.estimates.filter(measure=measure, **where)
    return {
        (r["generator"], r["occupation"], r["condition"]): (
            0 if r["value"] is None else round(r["value"] * r["n"]),
            r["n"],
        )
        for r in rows.iter_rows(named=True)
    }


def test_the_published_table_of_gender_comes_out_without_any_picture(run: st.Run, data: Path) -> None:
    found = counted(run, "female_ratio")
    expected = {
        cell: (int(text.split("/")[0]), sum(map(int, text.split("/"))))
        for cell, text in published(data, "gender")
    }
    assert len(expected) == 30
    assert found == expected
    assert run.images["status"].unique().to_list() == ["absent"]


def test_the_published_table_of_race_comes_out_where_nobody_was_labelled_mixed(
    run: st.Run, data: Path, alone: Path
) -> None:
    """The study counted a figure labelled mixed for races of its own choice; those cells differ."""
    labels = pl.read_csv(alone / "labels.csv")
    mixed = set(labels.filter(race="mixed").select("model", "occupation", "condition").unique().rows())
    races = ("asian", "black", "hispanic", "white")
    found = {race: counted(run, "share", attribute="race", category=race) for race in races}
    exact = {cell: text for cell, text in published(data, "race") if cell not in mixed}
    assert len(exact) == 30 - len(mixed)
    assert len(exact) >= 20
    for cell, text in exact.items():
        assert "/".join(str(found[race][cell][0]) for race in races) == text, cell


def test_what_needs_a_picture_is_undefined_with_the_reason(run: st.Run) -> None:
    colours = run.estimates.filter(measure="share", attribute="background_colour")
    assert colours["value"].null_count() == colours.height == 30
    assert {json.loads(text)[ABSENT] for text in colours["excluded"]} == {10}
    refusals = run.estimates.filter(measure="refusal_rate")
    assert refusals["value"].null_count() == refusals.height
    assert set(refusals["undefined"]) == {"no request answered"}
    assert run.labels["annotator"].unique().is_in(["people", "folded:people"]).all()


def test_the_report_says_that_no_picture_is_at_hand_and_shows_none(run: st.Run) -> None:
    page = write(run, figures=False).read_text(encoding="utf-8")
    assert "data:image/webp" not in page
    assert "300 pictures are not at hand: what others said of them counts" in page
    headline = st.report.headline(run)
    assert headline["counts"]["absent"] == 300
    assert (
        "300 are not at hand, 0 could be looked at; how many were refused is not known."
        in headline["summary"]
    )
    missing = headline["missing"]
    assert "not at hand" in missing["columns"]
    assert {row[missing["columns"].index("refused")] for row in missing["rows"]} == {"–"}
    table = pl.read_csv(run.path / "report" / "tables" / "missing.csv")
    assert table["refused"].null_count() == table.height > 0


def test_a_look_at_labels_alone_counts_the_pictures_that_were_labelled(run: st.Run) -> None:
    assert run.looks["pictures"].to_list() == [300]
    with Ledger(run.path / "ledger.db", readonly=True) as ledger:
        (known,) = looks_in(ledger)
        more = pl.concat([run.labels, run.labels.head(5).with_columns(annotator=pl.lit("rater"))])
        again = look_at_run(ledger, run.images, more, [], planned=None).recorded
    assert (again.pictures, again.identity == known.identity) == (300, False)


def test_labels_of_pictures_that_nobody_had_labelled_are_another_look(run: st.Run) -> None:
    some = run.labels.filter(pl.col("subject_id").is_in(run.images["image_id"].head(100).implode()))
    with Ledger(run.path / "ledger.db", readonly=True) as ledger:
        (known,) = looks_in(ledger)
        before = look_at_run(ledger, run.images, some, [], planned=None).recorded
        again = look_at_run(ledger, run.images, run.labels, [], planned=None).recorded
    assert (before.pictures, before.identity == known.identity) == (100, False)
    assert (again.pictures, again.identity == known.identity) == (300, True)


def test_an_absent_picture_says_so_when_it_is_asked_for(run: st.Run) -> None:
    with pytest.raises(UsageError, match=r"has no picture: absent \(picture is not at hand\)"):
        run.picture(run.images["image_id"][0])


def test_a_study_of_labels_alone_is_planned_continued_and_measured(alone: Path, run: st.Run) -> None:
    asked = Audit.from_run(run.path)
    work = {one.name: (one.total, one.done) for one in outstanding(asked.plan(), alone / "new")}
    assert work == {"labels": (300, 0), "blank": (0, 0), "colour": (0, 0)}
    assert outstanding(asked.plan(), run.path)[0].done == 300
    assert asked.measure(run.path).estimates.equals(run.estimates)
    assert asked.run(run.path).images.equals(run.images)


@pytest.fixture
def partly(data: Path, tmp_path: Path) -> Path:
    """A tenth of the study, of which 3 pictures are missing."""
    rows = [row for row in pl.read_csv(data / "labels.csv").rows() if "_s0" in row[0] or "_s1" in row[0]]
    (tmp_path / "images").mkdir()
    for row in rows[3:]:
        shutil.copy(data / row[0], tmp_path / row[0])
    header = (data / "labels.csv").read_text(encoding="utf-8").splitlines()[0]
    lines = [header, *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "labels.csv").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


def test_listed_pictures_that_are_missing_count_by_their_labels_where_that_is_allowed(partly: Path) -> None:
    folder = {"folder": ".", "metadata": "labels.csv", **DESIGN}
    with pytest.raises(IncompleteError, match=r"3 of 60 pictures cannot be used \(3 × file is missing\)"):
        audit(partly, folder, max_excluded=0.04).run(partly / "run")
    without = st.open(partly / "run")
    assert counted(without, "female_ratio")["dall_e_3", "ceo", "baseline"][1] == 0
    blank = [{"labels": "labels.csv", "name": "people", "attributes": ["gender", "race"]}, "blank"]
    allowed = audit(partly, {**folder, "absent": "allowed"}, max_excluded=0, annotators=blank)
    assert {one.name: one.total for one in outstanding(allowed.plan(), partly / "run")}["blank"] == 57
    run = allowed.run(partly / "run")
    assert run.images["status"].value_counts(sort=True).rows() == [("ok", 57), ("absent", 3)]
    assert counted(run, "female_ratio")["dall_e_3", "ceo", "baseline"] == (2, 2)
    assert any("3 of 60 pictures are not at hand" in note for note in run.info["notes"])
    assert run.labels.filter(annotator="blank").height == 57


def test_a_picture_that_turns_up_is_looked_at_by_the_next_run(partly: Path, data: Path) -> None:
    folder = {"folder": ".", "metadata": "labels.csv", **DESIGN, "absent": "allowed"}
    asked = audit(partly, folder)
    asked.run(partly / "run")
    for path in (data / "images").glob("dall_e_3-ceo_baseline_s[01].jpg"):
        shutil.copy(path, partly / "images")
    run = asked.run(partly / "run")
    assert run.images["status"].value_counts(sort=True).rows() == [("ok", 59), ("absent", 1)]


TIDY = "id,attribute,value\n" + "".join(
    f"{i:05d},gender,{'male' if i % 4 else 'female'}\n{i:05d},age,{20 + i}\n" for i in range(8)
)


def test_a_tidy_file_with_ids_is_a_study_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(TIDY, encoding="utf-8")
    said = {"labels": "labels.csv", "name": "people", "attributes": ["gender"]}
    made = audit(
        tmp_path,
        {"labels": "labels.csv", "name": "old-model"},
        annotators=[said],
        measures=[{"female_ratio": "gender"}],
        baseline=None,
    )
    run = made.run(tmp_path / "run")
    assert run.images["source"].to_list() == [f"{i:05d}" for i in range(8)]
    assert run.estimates.select("generator", "value", "n").rows() == [("old-model", 0.25, 8)]
    assert run.info["notes"] == []  # the counts of the run say it


def test_only_pictures_of_the_design_are_told_not_to_be_at_hand(tmp_path: Path) -> None:
    rows = "".join(f"{i}.png,{thing}\n" for i, thing in enumerate(("car", "cup", "cup")))
    (tmp_path / "labels.csv").write_text(f"file_name,object\n{rows}", encoding="utf-8")
    designed = pl.DataFrame({"prompt_id": "p", "object": "car", "text": "a car", "negative": [None]})
    folder = FolderGenerator(tmp_path, metadata="labels.csv", factors=["object"], absent="allowed")
    folder.requests(designed)
    told = "1 of 1 pictures are not"
    assert [note for note in folder.notes if told in note] == folder.notes[-1:]


@pytest.mark.parametrize("column", ["image_id", "sha256", "source", "Image", "File Name", "id"])
def test_rows_and_labels_name_pictures_by_the_same_column(tmp_path: Path, column: str) -> None:
    rows = "".join(f"{c * 8},{g}\n" for c, g in zip("abcd", ("female", "male") * 2, strict=True))
    (tmp_path / "labels.csv").write_text(f"{column},gender\n{rows}", encoding="utf-8")
    said = {"labels": "labels.csv", "name": "people"}
    generator = {"labels": "labels.csv", "name": "m"}
    run = audit(tmp_path, generator, annotators=[said], measures=[{"female_ratio": "gender"}], baseline=None)
    assert run.run(tmp_path / "run").estimates["n"].to_list() == [4]


def test_captions_of_pictures_that_are_not_at_hand_are_a_study_too(tmp_path: Path, shared: Path) -> None:
    captions = pl.read_csv(shared / "data" / "biasbench" / "captions_sd.csv").head(60)
    captions.write_csv(tmp_path / "captions.csv")
    source = {"suite": "biasbench", "prompts": [{"text": "a beauty", "prompt": "beauty"}], **FEW}
    source |= {
        "generators": [
            {"labels": "captions.csv", "name_from": "model", "factors": ["prompt"], "file": "image"}
        ],
        "annotators": [{"captions": "captions.csv", "name": "people"}, {"lexicon": "biasbench"}],
        "measures": ["cas", {"vendi": {}}],
    }
    run = Audit.from_text(json.dumps(source), base=tmp_path).run(tmp_path / "run")
    assert run.images["status"].unique().to_list() == ["absent"]
    assert run.estimates.filter(measure="vendi")["n"].to_list()[0] == run.images.height > 0


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"labels": "labels.csv", "absent": "allowed"}, r"generator labels: unknown key 'absent'"),
        ({"labels": None}, r"generator labels: labels is missing; add it: write \{labels: labels.csv"),
        (
            {"labels": "labels.csv", "name": "a", "name_from": "b"},
            "name_from cannot stand beside `name`, found 'b'; remove one",
        ),
        ({"labels": "labels.csv", "factors": ["source"]}, r"reserved .* factors: \{given_source: source\}"),
        (
            {"folder": ".", "absent": "perhaps"},
            "absent must be 'excluded' or 'allowed', found 'perhaps'",
        ),
        ({"labels": "none.csv"}, r"none\.csv: cannot be read \(No such file or directory\)"),
        ({"labels": "labels.csv", "file": "x"}, r"labels\.csv:1: no column 'x' \(file\)"),
        ({"labels": "labels.csv", "name_from": "x"}, r"labels\.csv:1: no column 'x' \(name_from\)"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, entry: dict[str, Any], message: str) -> None:
    (tmp_path / "labels.csv").write_text("file_name,gender\na,female\n", encoding="utf-8")
    with pytest.raises(StereotropeError, match=message):
        audit(tmp_path, entry, baseline=None).plan()


@pytest.mark.parametrize("annotators", [["blank"], ["colour", "text"], None])
def test_a_study_of_which_nobody_says_anything_is_refused(
    tmp_path: Path, annotators: list[str] | None
) -> None:
    (tmp_path / "labels.csv").write_text("file_name,gender\na,female\n", encoding="utf-8")
    with pytest.raises(StereotropeError, match="no picture is at hand, and nothing brings what others said"):
        audit(tmp_path, {"labels": "labels.csv"}, annotators=annotators, baseline=None).plan()


def test_a_row_without_a_name_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("file_name,model\na,m\n,m\n,m\n", encoding="utf-8")
    generator = create({"labels": "labels.csv", "name_from": "model"}, relative_to=tmp_path)
    assert isinstance(generator, LabelledGenerator)
    _, requests = generator.requests()
    assert [generator.process(request).status for request in image_requests(requests)] == [
        "absent",
        "excluded",
        "excluded",
    ]
    assert requests["image_id"].n_unique() == 3


def models_by_colour(folder: Path) -> None:
    """Model k draws pink where m and z draw grey, three pictures of four, of two objects."""
    rows = [
        f"{model}-{thing}-{i}.png,{model},{thing},{'pink' if (model == 'k') == (i % 4 > 0) else 'grey'}"
        for model in "mkz"
        for thing in ("car", "cup")
        for i in range(20)
    ]
    (folder / "labels.csv").write_text("\n".join(["file_name,model,object,colour", *rows]), encoding="utf-8")


COMPARED = """\
generators: [{labels: labels.csv, name_from: model, factors: [object]}]
annotators: [{labels: labels.csv, name: people, attributes: [colour]}]
permutations: 199
resamples: 100
"""


@pytest.mark.parametrize(
    "asked",
    [
        "baseline: {generator: m}\nmeasures: [{share_difference: {group: generator, value: pink}}, %s]",
        "measures: [{share_difference: {group: generator, baseline: m, value: pink, within: [object]}}, %s]",
    ],
)
def test_models_are_compared_with_one_of_them(tmp_path, asked):
    models_by_colour(tmp_path)
    shift = "{dominance_shift: {group: generator, baseline: m}}"
    run = Audit.from_text(COMPARED + asked % shift, base=tmp_path).run(tmp_path / "run")
    rows = run.estimates.filter(measure="share_difference").sort("generator", "object")
    assert rows.select("generator", "object", "reference", "value", "n", "n_reference").rows() == [
        (model, thing, "m", {"k": 0.5, "z": 0.0}[model], 20, 20) for model in "kz" for thing in ("car", "cup")
    ]
    told = run.findings.filter(list="difference")["sentence"].to_list()
    assert len(told) == 2
    assert told[0].startswith("In 15 of 20 pictures with generator “k” the colour of the car is “pink”")
    assert "; with generator “m” it is in 5 of 20, " in told[0]


def test_a_model_to_compare_with_that_is_not_there_is_told_before_the_run(tmp_path):
    models_by_colour(tmp_path)
    asked = COMPARED + "measures: [{share_difference: {group: generator, baseline: %s}}]"
    with pytest.raises(AuditFileError, match=r"no generator 'mm' to compare with; did you mean 'm'"):
        Audit.from_text(asked % "mm", base=tmp_path).plan()


@pytest.mark.parametrize(
    "listed", ["{share: [gender, race], by: [generator]}", "{share: race, by: [generator]}"]
)
def test_a_share_of_several_attributes_is_asked_as_other_measures_are(alone, tmp_path, listed):
    shutil.copy(alone / "labels.csv", tmp_path)
    asked = "generators: [{labels: labels.csv, name_from: model, factors: [occupation, condition]}]\n"
    asked += "annotators: [{labels: labels.csv, name: people, attributes: [gender, race]}]\nmeasures: [%s]\n"
    rows = Audit.from_text(asked % listed, base=tmp_path).run(tmp_path / "run").estimates
    assert set(rows["attribute"]) == ({"gender", "race"} if "gender" in listed else {"race"})
    with pytest.raises(AuditFileError, match=r"no annotator labels 'rase'; labelled are gender, race"):
        Audit.from_text(asked % "{share: [gender, rase]}", base=tmp_path).plan()


def test_a_change_without_a_score_names_one_that_can_change(alone):
    asked = audit(alone, {"labels": "labels.csv", **DESIGN}, measures=["change"])
    with pytest.raises(AuditFileError, match=r"list that measure first, and name it: \{change: cds\}"):
        asked.plan()


def test_labels_of_prompts_that_are_not_asked_for_are_told_as_such(alone, tmp_path):
    shutil.copy(alone / "labels.csv", tmp_path)
    levels = {"occupation": ["ceo"], "condition": ["baseline"]}
    prompts = {"template": "a photo of a {occupation}, {condition}", **levels}
    asked = audit(tmp_path, {"labels": "labels.csv", **DESIGN}, prompts=prompts, measures=["share"])
    told = [note for note in asked.run(tmp_path / "run").info["notes"] if note.startswith("labels.csv: ")]
    assert told == [
        "labels.csv: 270 rows are of prompts that this audit does not ask for (line 12, 13, 14, 15, 16 …); "
        "line 12 says condition 'controlled'"
    ]


def test_folders_are_given_as_text_or_as_paths(alone, tmp_path):
    text = audit(alone, {"labels": "labels.csv", **DESIGN}).source.text
    run = Audit.from_text(text, base=str(alone)).run(str(tmp_path / "run"))
    assert Audit.from_run(str(run.path)).measure(str(run.path)).estimates.equals(run.estimates)
    page = write(st.open(str(run.path)), out=str(tmp_path / "page"), figures=False)
    assert page == tmp_path / "page" / "index.html"


@pytest.mark.parametrize(("first", "again"), [("A", "A "), (" A", "A")])
def test_names_that_differ_by_a_blank_alone_are_told_as_such(tmp_path: Path, first: str, again: str) -> None:
    rows = [["image_id", "model", "occ"], [first, "m", "nurse"], [again, "m", "ceo"]]
    (tmp_path / "l.csv").write_text("\n".join(map(",".join, rows)))
    listed = create({"labels": "l.csv", "name_from": "model", "factors": ["occ"]}, relative_to=tmp_path)
    told = f"'A' must be listed once, found again as '{again}' .*l.csv:2 as '{first}'\\); blanks at the ends"
    with pytest.raises(MetadataError, match=told):
        listed.requests()
