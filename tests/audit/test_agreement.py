"""How far the annotators of an audit agree: `measures: [agreement]`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stereotrope import Audit, measure
from stereotrope.errors import AuditFileError

RATERS = ("anna", "ben", "chen")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Six prompts of six pictures; anna says what was seen, ben and chen differ from her now and then."""
    rows, names = [], [f"p{i}-{j}.png" for i in range(6) for j in range(6)]
    for place, name in enumerate(names):
        gender = "female" if place % 2 else "male"
        ben = ("male" if gender == "female" else "female") if place % 7 == 0 else gender
        chen = "" if place % 5 == 0 else ("unclear" if place % 11 == 0 else gender)
        rows.append((name, f"job {name[1]}", gender, ben, chen))
    for at, rater in enumerate(RATERS):
        text = "\n".join(["file_name,occupation,gender", *(f"{r[0]},{r[1]},{r[2 + at]}" for r in rows)])
        (tmp_path / f"{rater}.csv").write_text(text + "\n", encoding="utf-8")
    return tmp_path


def audit(base: Path, measures: list[Any], raters: tuple[str, ...] = RATERS, **more: Any) -> Audit:
    content = {
        "generators": [{"labels": "anna.csv", "name": "m", "factors": ["occupation"]}],
        "annotators": [{"labels": f"{r}.csv", "name": r, "attributes": ["gender"]} for r in raters],
        "measures": measures,
        "permutations": 99,
        "resamples": 100,
    }
    return Audit.from_text(json.dumps(content | more), base=base)


def test_annotators_of_an_audit_are_compared_with_each_other(study: Path) -> None:
    run = audit(study, ["agreement"]).run(study / "run")
    rows = run.estimates.filter(measure="agreement")
    names = ["observed", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1"]
    assert rows["definition"].to_list() == names
    assert set(rows["n"]) == {36}
    assert set(rows["holds_for"]) == {"prompts like these"}
    assert rows["value"].is_between(0.5, 1, closed="none").all()
    assert (rows["low"] < rows["value"]).all()
    assert (rows["value"] < rows["high"]).all()
    labels = run.labels.rename({"subject_id": "image_id"}).join(
        run.images.select("image_id", "prompt_id"), on="image_id"
    )
    again = measure.agreement(labels)
    assert again["value"].to_list() == pytest.approx(rows["value"].to_list())
    assert again["high"].to_list() == pytest.approx(rows["high"].to_list())


def test_annotators_of_an_audit_are_compared_with_a_reference(study: Path) -> None:
    listed = [{"agreement": {"reference": "anna"}}, "agreement"]
    run = audit(study, listed).run(study / "run")
    rows = run.estimates.filter(measure="agreement", contrast="annotator", reference="anna")
    ben = rows.filter(annotator="ben", definition="accuracy").row(0, named=True)
    assert (ben["value"], ben["n"], ben["instrument"]) == (30 / 36, 36, "ben")
    chen = rows.filter(annotator="chen", definition="accuracy").row(0, named=True)
    assert (chen["value"], chen["n"]) == (1.0, 25)
    assert json.loads(chen["excluded"]) == {"label: not labelled": 8, "label: unclear": 3}
    assert run.estimates.filter(measure="agreement", definition="gwet_ac1").height == 1


def test_labels_in_other_words_are_compared_as_they_are_read(study: Path) -> None:
    file = study / "ben.csv"
    file.write_text(file.read_text().replace(",female", ",F").replace(",male", ",M"), encoding="utf-8")
    annotators = [{"labels": f"{r}.csv", "name": r, "attributes": ["gender"]} for r in ("anna", "ben")]
    read = {"mapping": "ben", "values": {"gender": {"F": "female", "M": "male"}}, "name": "ben read"}
    both = {"majority": ["anna", "ben read"], "attributes": ["gender"], "name": "most"}
    run = audit(study, ["agreement"], annotators=[*annotators, read, both]).run(study / "run")
    observed = run.estimates.filter(measure="agreement", definition="observed").row(0, named=True)
    assert observed["value"] == pytest.approx(30 / 36)


def test_other_words_of_a_rater_are_no_disagreement(study: Path) -> None:
    file = study / "ben.csv"
    file.write_text(file.read_text().replace(",female", ",F").replace(",male", ",M"), encoding="utf-8")
    listed = ["agreement", {"agreement": {"reference": "anna"}}, {"class_agreement": {"reference": "anna"}}]
    rows = audit(study, listed, ("anna", "ben")).run(study / "run").estimates
    told = (
        "have no value in common \\(.* female, male, .* f, m\\); write both alike, for example by `mapping`"
    )
    assert rows.height == 9
    assert rows["undefined"].str.contains(told).all()
    assert rows["value"].null_count() == 9
    assert set(rows["n"]) == {36}


def test_one_value_throughout_beside_another_is_disagreement(study: Path) -> None:
    for rater, value in (("anna", "no"), ("ben", "yes")):
        header, *lines = (study / f"{rater}.csv").read_text().splitlines()
        said = (f"{line.rpartition(',')[0]},{value}" for line in lines)
        (study / f"{rater}.csv").write_text("\n".join([header, *said, ""]), encoding="utf-8")
    listed = ["agreement", {"agreement": {"reference": "anna"}}]
    rows = audit(study, listed, ("anna", "ben")).run(study / "run").estimates
    assert rows.filter(pl.col("definition").is_in(["observed", "accuracy"]))["value"].to_list() == [0, 0]


def test_attributes_that_read_alike_are_told_where_none_is_labelled_twice(study: Path) -> None:
    text = (study / "ben.csv").read_text(encoding="utf-8")
    (study / "ben.csv").write_text(text.replace("gender", "Gender"), encoding="utf-8")
    files = [{"labels": f"{r}.csv", "name": r} for r in ("anna", "ben")]
    with pytest.raises(AuditFileError, match="; 'Gender' reads like 'gender' and differs in case"):
        audit(study, ["agreement"], annotators=files).plan()


def test_labels_that_are_taken_twice_are_told(study: Path) -> None:
    (study / "copy.csv").write_bytes((study / "ben.csv").read_bytes())
    run = audit(study, ["agreement"], ("anna", "ben", "copy")).run(study / "run")
    told = "annotators 'ben', 'copy' are one file with the same labels, which count as those of 2 annotators"
    assert [note for note in run.info["notes"] if note.startswith(told)]
    run = audit(study, ["agreement"], ("anna", "ben")).run(study / "other")
    assert not [note for note in run.info["notes"] if "one file" in note]


def test_who_voted_is_not_compared_with_the_majority(study: Path) -> None:
    files = [{"labels": f"{r}.csv", "name": r, "attributes": ["gender"]} for r in RATERS]
    most = {"majority": ["anna", "ben"], "attributes": ["gender"], "name": "most"}
    asked = {"agreement": {"reference": "most"}}
    run = audit(study, [asked], annotators=[*files, most]).run(study / "run")
    assert set(run.estimates["annotator"]) == {"chen"}
    named = {"agreement": {"reference": "most", "raters": ["anna"]}}
    run = audit(study, [named], annotators=[*files, most]).run(study / "other")
    assert set(run.estimates["annotator"]) == {"anna"}
    told = "no attribute is labelled by another annotator beside 'most' and anna, ben, of whose labels it is"
    with pytest.raises(AuditFileError, match=told):
        audit(study, [asked], annotators=[*files[:2], most]).plan()


def test_values_in_order_have_an_alpha_of_their_own(study: Path) -> None:
    listed = [{"agreement": {"attribute": "gender", "ordinal": {"gender": ["male", "female"]}}}]
    rows = audit(study, listed).run(study / "run").estimates.filter(measure="agreement")
    alphas = rows.filter(pl.col("definition").str.starts_with("krippendorff"))["value"]
    # Of two values the order says nothing more.
    assert alphas[0] == pytest.approx(alphas[1])


@pytest.mark.parametrize(
    ("listed", "raters", "told"),
    [
        ("agreement", ("anna",), "no attribute is labelled by another annotator; add one that labels it too"),
        ({"agreement": {"reference": "ana"}}, RATERS, "must be names of annotators, found 'ana'.*anna"),
        (
            {"agreement": {"reference": "anna", "ordinal": {"gender": ["male", "female"]}}},
            RATERS,
            "ordinal is for annotators among each other",
        ),
        ({"agreement": {"ordinal": {"age": ["young", "old"]}}}, RATERS, "ordinal: no attribute 'age' is"),
        ({"agreement": {"by": ["occupation"]}}, RATERS, "by must hold 'attribute'"),
    ],
)
def test_what_cannot_be_compared_is_refused(study: Path, listed: Any, raters: tuple[str, ...], told: str):
    with pytest.raises(AuditFileError, match=f"measure 'agreement': .*{told}"):
        audit(study, [listed], raters).run(study / "run")


def test_derived_labels_are_annotators_and_agree_with_nobody_by_default(study: Path) -> None:
    derived: list[Any] = [
        {"majority": list(RATERS), "attributes": ["gender"], "name": "people"},
        {"mapping": "people", "values": {"gender": {"Female": "F"}}, "name": "short"},
    ]
    files = [{"labels": f"{r}.csv", "name": r, "attributes": ["gender"]} for r in RATERS]
    listed = ["agreement", {"share": "gender", "by": ["annotator"]}]
    run = audit(study, listed, annotators=[*derived, *files]).run(study / "run")
    plain = audit(study, ["agreement"]).run(study / "other").estimates.filter(measure="agreement")
    both = run.estimates.filter(measure="agreement")
    assert both["value"].to_list() == plain["value"].to_list()
    shares = run.estimates.filter(measure="share", annotator="short")
    assert set(shares["category"]) >= {"f", "male"}
    labels = run.labels.filter(annotator="people")
    assert labels.height == 36
    assert set(labels["derived_from"]) == {"anna, ben, chen"}
    tied = labels.filter(status="unclear")
    assert tied["rationale"].to_list() == ["tie: female 1, male 1"] * tied.height
    assert tied.height == 2
    again = audit(study, listed, annotators=[*derived, *files]).measure(study / "run")
    assert again.estimates.equals(run.estimates)


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (
            {"majority": ["anna", "bne"], "attributes": ["gender"], "name": "p"},
            "annotator 'p': reads 'bne', which is no annotator; did you mean 'ben'",
        ),
        (
            {"majority": ["anna", "p"], "attributes": ["gender"], "name": "p"},
            "must have a name of its own, and reads 'p'; rename it",
        ),
        (
            {"majority": ["anna", "ben"], "attributes": ["gender"], "name": "p", "least": 3},
            "least must be from 1 to the number of annotators, found 3 of 2",
        ),
        (
            {"majority": ["anna"], "attributes": ["gender"], "name": "p"},
            "majority must name two annotators or more, found anna; .* write `mapping`",
        ),
        (
            {"majority": ["anna", "ben"], "attributes": ["gendre"], "name": "p"},
            "audit.yaml:1: annotator 'p': 'gendre' must be labelled by at least 2 of anna, ben, found 0; did "
            "you mean 'gender'",
        ),
        (
            {"majority": ["anna", "text"], "attributes": ["gender"], "name": "p"},
            "'gender' must be labelled by at least 2 of anna, text, found 1",
        ),
        (
            {"mapping": "anna", "values": {"age": {"young": "old"}}, "name": "p"},
            "'age' must be labelled by at least 1 of anna, found 0; labelled are gender",
        ),
        (
            {
                "mapping": "text",
                "values": {"text_presence": {"Unclear": "absent", "absnt": "x"}},
                "name": "p",
            },
            "'text' never says 'absnt' of 'text_presence', which values lists; did you mean 'absent'",
        ),
        (
            {"mapping": "anna", "values": {"gender": {"F": "female", "f": "male"}}, "name": "p"},
            "read 'f' as 'male' and as 'female'; both are one value",
        ),
    ],
)
def test_what_cannot_be_derived_is_refused(study: Path, entry: Any, told: str) -> None:
    files = [{"labels": f"{r}.csv", "name": r, "attributes": ["gender"]} for r in RATERS]
    with pytest.raises(AuditFileError, match=told):
        audit(study, ["agreement"], annotators=[entry, *files, "text"]).plan()


@pytest.mark.parametrize("first", [True, False])
def test_open_values_take_no_value_list_away(study: Path, first: bool) -> None:
    (study / "more.csv").write_text("file_name,text_presence\np0-0.png,some\n", encoding="utf-8")
    opened = {"labels": "more.csv", "name": "more", "attributes": ["text_presence"]}
    files = {"labels": "anna.csv", "name": "anna", "attributes": ["gender"]}
    entries = [opened, "text", files] if first else ["text", opened, files]
    listed = {"vac": "text_presence", "group": "occupation"}
    (call,) = audit(study, [listed], annotators=entries).plan().measures
    assert call.arguments["taxonomy"]["text_presence"] == ["present", "absent"]


@pytest.mark.parametrize("first", [True, False])
def test_derived_labels_take_no_value_list_away(study: Path, first: bool) -> None:
    derived = {"mapping": "text", "values": {"text_presence": {"ABSENT": "none"}}, "name": "read"}
    files = {"labels": "anna.csv", "name": "anna", "attributes": ["gender"]}
    entries = [derived, "text", files] if first else ["text", derived, files]
    listed = {"vac": "text_presence", "group": "occupation"}
    (call,) = audit(study, [listed], annotators=entries).plan().measures
    assert "text_presence" in call.arguments["taxonomy"]
