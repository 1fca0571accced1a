"""Studies made elsewhere: folders of pictures and files of labels, as people have them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image

from stereotrope import Audit, Run
from stereotrope.errors import AuditFileError, IncompleteError
from stereotrope.run import open as open_run
from stereotrope.tables import RESERVED

HEAD = "file_name,model,occupation,condition,gender,race"
MODELS, CONDITIONS = ("flux", "sdxl"), ("plain", "asked")


def rows_of(n: int = 4, ending: str = ".png") -> list[list[str]]:
    """A study of two models under two conditions, ``n`` pictures each: the first is labelled male."""
    return [
        [f"pictures/{model}-{condition}-{i}{ending}", model, "nurse", condition, gender, "white"]
        for model, condition in itertools.product(MODELS, CONDITIONS)
        for i, gender in enumerate(["male"] + ["female"] * (n - 1))
    ]


def write(base: Path, rows: Iterable[Sequence[str]], name: str = "labels.csv", head: str = HEAD) -> None:
    text = "\n".join([head, *(",".join(row) for row in rows)])
    (base / name).write_text(text + "\n", encoding="utf-8")


def draw(base: Path, rows: Iterable[Sequence[str]]) -> None:
    (base / "pictures").mkdir(exist_ok=True)
    for number, row in enumerate(rows):
        Image.new("RGB", (8, 8), (number % 256, number // 256, 90)).save(base / row[0])


def audit(base: Path, *, generator: dict[str, Any] | None = None, **more: Any) -> Audit:
    study = {"folder": ".", "metadata": "labels.csv", "name_from": "model"}
    study |= {"factors": ["occupation", "condition"]}
    said = {"labels": "labels.csv", "name": "people", "attributes": ["gender", "race"]}
    content = {"generators": [generator or study], "annotators": [said], "permutations": 99, "resamples": 100}
    return Audit.from_text(json.dumps(content | more), base=base)


def ratios(run: Run) -> dict[tuple[str, ...], tuple[float | None, int]]:
    found = run.estimates.filter(measure="female_ratio")
    columns = [c for c in ("generator", "occupation", "condition") if c in found.columns]
    return {tuple(row[c] for c in columns): (row["value"], row["n"]) for row in found.iter_rows(named=True)}


@pytest.fixture
def study(tmp_path: Path) -> Path:
    rows = rows_of()
    write(tmp_path, rows)
    draw(tmp_path, rows)
    return tmp_path


def test_a_model_named_by_a_column_can_be_the_baseline(study: Path) -> None:
    asked = audit(
        study,
        baseline={"generator": "flux"},
        measures=[{"female_ratio": "gender"}, {"delta": ["female_ratio"]}],
    )
    run = asked.run(study / "run")
    deltas = run.estimates.filter(measure="female_ratio", baseline="flux")
    assert set(deltas["generator"]) == {"sdxl"}
    assert set(deltas["value"]) == {0.0}
    assert asked.measure(study / "run").estimates.equals(run.estimates)


def test_a_baseline_model_that_no_row_names_is_refused_with_those_there_are(study: Path) -> None:
    with pytest.raises(AuditFileError, match="no generator 'dalle' to compare with; there is: flux, sdxl"):
        audit(study, baseline={"generator": "dalle"}, measures=[{"female_ratio": "gender"}]).plan()


@pytest.mark.parametrize(
    ("spoil", "cause"),
    [
        (lambda name: name.removesuffix(".png"), "one has no ending, or another"),
        (str.upper, "capitals differ"),
        (lambda name: f"x{name[::-1]}", "check that the file belongs to these pictures"),
    ],
)
def test_a_label_file_that_matches_no_picture_ends_incomplete_with_the_cause(study, spoil, cause):
    rows = rows_of()
    write(study, [[f"{spoil(row[0])}{n if n > 9 else ''}", *row[1:]] for n, row in enumerate(rows)], "l.csv")
    said = {"labels": "l.csv", "name": "people", "attributes": ["gender"]}
    asked = audit(study, annotators=[said], measures=[{"female_ratio": "gender"}])
    with pytest.raises(IncompleteError, match=r"annotator 'people': l.csv: none of its rows \(16\)") as error:
        asked.run(study / "run")
    assert cause in str(error.value)
    assert any(cause in note for note in open_run(study / "run").info["notes"])
    with pytest.raises(IncompleteError, match=r"none of its rows"):
        Audit.from_run(study / "run").measure(study / "run")
    write(study, rows, "l.csv")
    assert asked.run(study / "run").labels.height == 16


def test_labels_of_pictures_that_are_missing_are_told_as_such(study):
    (study / rows_of()[0][0]).unlink()
    run = audit(study, max_excluded=0.1, measures=[{"female_ratio": "gender"}]).run(study / "run")
    assert (
        "labels.csv: 1 row is of a picture that cannot be used (line 2): 1 × file is missing"
        in run.info["notes"]
    )
    assert not any("match" in note for note in run.info["notes"])


def test_a_label_file_without_a_label_ends_incomplete(study):
    write(study, [[row[0], "", ""] for row in rows_of()], "l.csv", "file_name,gender,race")
    with pytest.raises(IncompleteError, match=r"'people': l\.csv: no label in it"):
        audit(study, annotators=[{"labels": "l.csv", "name": "people"}]).run(study / "run")


@pytest.mark.parametrize(
    "name",
    [
        # All are refused by one rule; one in nine is asked for here.
        pytest.param(name, marks=[pytest.mark.slow] * (i % 9 > 0))
        for i, name in enumerate(sorted(RESERVED - {"text", "negative", "file_name"}))
    ],
)
def test_a_column_whose_name_is_taken_can_be_a_factor_under_another(tmp_path, name):
    (tmp_path / "labels.csv").write_text(f"file_name,{name}\na,web\nb,book\n", encoding="utf-8")
    (tmp_path / "prompts.csv").write_text(f"text,{name}\na cup,web\na car,book\n", encoding="utf-8")
    (tmp_path / "people.csv").write_text("file_name,seen\na,yes\nb,no\n", encoding="utf-8")
    entry = {"labels": "labels.csv", "factors": [name], "file": "file_name"}
    said = {"labels": "people.csv", "name": "people", "key": "file_name"}
    asked = audit(tmp_path, generator=entry, annotators=[said], measures=["refusal_rate"])
    with pytest.raises(AuditFileError, match=rf"'{name}': this name is reserved.*\{{given_{name}: {name}}}"):
        asked.plan()
    entry["factors"] = {f"given_{name}": name}
    asked = audit(tmp_path, generator=entry, annotators=[said], measures=["refusal_rate"])
    assert asked.plan().prompts[f"given_{name}"].to_list() == ["web", "book"]
    prompts = {"generators": ["calibrated"], "annotators": [said], "measures": ["refusal_rate"]}
    with pytest.raises(AuditFileError, match=rf"'{name}': this name is reserved.*\{{given_{name}: {name}}}"):
        Audit.from_text(json.dumps({**prompts, "prompts": "prompts.csv"}), base=tmp_path).plan()
    prompts["prompts"] = {"file": "prompts.csv", "factors": {f"given_{name}": name}}
    plan = Audit.from_text(json.dumps({**prompts, "generators": [entry]}), base=tmp_path).plan()
    assert plan.factors == [f"given_{name}"]


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        ({"file": "prompts.csv", "factor": ["x"]}, "takes `file` and `factors`, found 'factor'"),
        ({"file": "prompts.csv", "factors": "x"}, "factors must be a list of columns or a mapping"),
        ({"file": "prompts.csv", "factors": ["y"]}, r"prompts\.csv:1: no column 'y' \(factor 'y'\)"),
        ({"file": 3}, "file must be the name of a file of prompts, found 3"),
        ({"file": "none.csv"}, "no file 'none.csv' beside the audit file"),
    ],
)
def test_mistakes_about_a_file_of_prompts_are_told(tmp_path, prompts, message):
    (tmp_path / "prompts.csv").write_text("text,x\na cup,1\n", encoding="utf-8")
    with pytest.raises(AuditFileError, match=message):
        audit(tmp_path, generator={"calibrated": None}, prompts=prompts).plan()


def test_rows_that_name_no_file_are_pictures_that_cannot_be_used(study):
    rows = rows_of()
    write(
        study,
        [*rows, ["", "flux", "nurse", "plain", "", ""], ["", "sdxl", "nurse", "asked", "", ""]],
        "m.csv",
    )
    entry = {"folder": ".", "metadata": "m.csv", "name_from": "model", "factors": ["occupation", "condition"]}
    run = audit(study, generator=entry, max_excluded=0.5, measures=["share"]).run(study / "run")
    assert run.images.filter(status="excluded")["reason"].to_list() == ["no file name"] * 2
    assert run.images["image_id"].n_unique() == 18


def test_columns_of_the_design_in_the_same_file_are_no_labels(study):
    run = audit(study, annotators=[{"labels": "labels.csv", "name": "people"}], measures=["share"]).run(
        study / "run"
    )
    assert set(run.labels["attribute"]) == {"gender", "race"}
    assert any("'condition', 'model', 'occupation' say what was asked for" in n for n in run.info["notes"])
    assert Audit.from_run(study / "run").measure(study / "run").estimates.equals(run.estimates)
    found = {"folder": ".", "name_from": "model", "factors": ["occupation", "condition"]}
    again = audit(study, generator=found, annotators=[{"labels": "labels.csv", "name": "people"}]).plan()
    assert list(again.annotators[0].attributes) == ["gender", "race"]


@pytest.mark.parametrize("named", [False, True])
def test_columns_of_a_copy_that_say_of_each_picture_what_was_asked_for_are_no_labels(study, named):
    write(study, rows_of(), "l.csv")
    people = {"labels": "l.csv", "name": "people"} | (
        {"attributes": ["gender", "condition"]} if named else {}
    )
    run = audit(study, annotators=[people], measures=["share"]).run(study / "run")
    again = Audit.from_run(study / "run").measure(study / "run")
    assert again.estimates.equals(run.estimates)
    assert set(run.labels["attribute"]) == ({"gender", "condition"} if named else {"gender", "race"})
    told = any("'condition', 'model', 'occupation' say what was asked for" in n for n in run.info["notes"])
    assert told is not named


def test_a_column_named_as_a_factor_that_says_something_else_of_one_picture_is_a_label(study):
    write(study, [[*rows_of()[0][:3], "seen", *rows_of()[0][4:]], *rows_of()[1:]], "l.csv")
    run = audit(study, annotators=[{"labels": "l.csv", "name": "people"}], measures=["share"]).run(
        study / "run"
    )
    assert set(run.labels["attribute"]) == {"condition", "gender", "race"}


def test_listed_files_that_are_called_otherwise_are_told_with_the_cause(study):
    write(
        study,
        [[row[0].replace(".png", ".PNG").replace("pictures", "Pictures"), *row[1:]] for row in rows_of()],
    )
    with pytest.raises(
        IncompleteError, match=r"16 × file is missing\); likeliest cause: capitals differ: line 2 says"
    ):
        audit(study, measures=["share"]).run(study / "run")
    folder = {"folder": ".", "metadata": "labels.csv", "name_from": "model", "absent": "allowed"}
    run = audit(study, generator=folder, measures=["share"]).run(study / "allowed")
    assert any("16 of 16 listed files are not in the folder; likeliest cause" in n for n in run.info["notes"])


def test_studies_without_pictures_may_name_pictures_of_several_models_alike(tmp_path):
    rows = [[str(i), model, "nurse", "plain", "male", "white"] for model in MODELS for i in range(3)]
    write(tmp_path, rows)
    entry = {"labels": "labels.csv", "name_from": "model", "factors": ["occupation"]}
    said = {"labels": "labels.csv", "name": "people", "attributes": ["gender"], "model": "model"}
    run = audit(tmp_path, generator=entry, annotators=[said], measures=[{"female_ratio": "gender"}])
    found = run.run(tmp_path / "run").estimates
    assert found.select("generator", "n", "value").rows() == [("flux", 3, 0.0), ("sdxl", 3, 0.0)]


def test_a_file_a_model_may_name_its_pictures_as_another_does(tmp_path):
    for name, female in (("a", 1), ("b", 3)):
        rows = [[f"{i}.png", "x", "nurse", "plain", "female" if i < female else "male", ""] for i in range(4)]
        write(tmp_path, rows, f"{name}.csv")
    content = {
        "generators": [{"labels": "a.csv", "factors": ["occupation"]}, {"labels": "b.csv", "name": "B"}],
        "annotators": [{"labels": f"{n}.csv", "name": n, "attributes": ["gender"]} for n in "ab"],
        "measures": [{"female_ratio": "gender", "by": ["generator", "annotator"]}],
    }
    run = Audit.from_text(json.dumps(content), base=tmp_path).run(tmp_path / "run")
    found = run.estimates.filter(pl.col("value").is_not_null())
    assert found.select("generator", "annotator", "value", "n").rows() == [
        ("a", "a", 0.25, 4),
        ("B", "b", 0.75, 4),
    ]
