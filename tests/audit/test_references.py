"""People's labels of some pictures in an audit: `reference: true`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stereotrope import Audit
from stereotrope.errors import AuditFileError

ENDS = ("value", "low", "high")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A judge finds every picture of women female; people labelled every third picture."""
    judged, checked = [], []
    for at in range(120):
        group = "women" if at % 2 else "plain"
        true = "female" if at % 4 else "male"
        name = f"p{at}.png"
        judged.append((name, group, "female" if at % 2 else true))
        if at % 3 == 0:
            checked.append((name, group, true))
    for name, rows in (("judge", judged), ("people", checked)):
        text = "\n".join(["file_name,group,gender", *map(",".join, rows)])
        (tmp_path / f"{name}.csv").write_text(text + "\n", encoding="utf-8")
    return tmp_path


def audit(base: Path, *annotators: Any, measures: Any = ("share", "share_difference")) -> Audit:
    content = {
        "generators": [{"labels": "judge.csv", "name": "m", "factors": ["group"]}],
        "annotators": annotators
        or [
            {"labels": "judge.csv", "name": "judge", "attributes": ["gender"]},
            {"labels": "people.csv", "name": "people", "attributes": ["gender"], "reference": True},
        ],
        "baseline": {"group": "plain"},
        "measures": list(measures),
        "permutations": 99,
        "resamples": 100,
    }
    return Audit.from_text(json.dumps(content), base=base)


def test_powered_rows_stand_beside_shares_and_differences(study: Path) -> None:
    run = audit(study).run(study / "run")
    shares = run.estimates.filter(measure="ppi_share")
    assert set(shares["annotator"]) == {"judge"}
    female = shares.filter(category="female", group="women").row(0, named=True)
    assert (female["n"], female["n_reference"], female["definition"]) == (60, 20, "ppi")
    assert run.estimates.filter(measure="share", annotator="judge").height
    assert run.estimates.filter(measure="share", annotator="people").height
    difference = run.estimates.filter(measure="ppi_difference", category="female").row(0, named=True)
    assert (difference["group"], difference["reference"]) == ("women", "plain")
    assert difference["low"] < difference["value"] < difference["high"]
    again = audit(study).measure(study / "run")
    assert again.estimates.equals(run.estimates)


def test_people_taken_for_right_check_the_judge_wherever_agreement_is_measured(study: Path) -> None:
    rows = audit(study, measures=["share", "agreement"]).run(study / "run").estimates
    checked = rows.filter(measure="agreement", definition="accuracy").row(0, named=True)
    assert (checked["annotator"], checked["n"], checked["value"]) == ("judge", 40, 1.0)
    assert rows.filter(measure="agreement", definition="observed").height == 1
    named = audit(study, measures=["share", {"agreement": {"reference": "people"}}]).run(study / "named")
    assert named.estimates.filter(definition="accuracy").height == 1


def test_who_voted_for_a_majority_that_is_taken_for_right_is_not_checked_by_it(study: Path) -> None:
    read = [{"labels": f"{name}.csv", "name": name, "attributes": ["gender"]} for name in ("judge", "people")]
    judged = (study / "judge.csv").read_text(encoding="utf-8")
    (study / "other.csv").write_text(judged.replace("female", "male", 40), encoding="utf-8")
    other = {"labels": "other.csv", "name": "other", "attributes": ["gender"]}
    voted = {"majority": ["judge", "people"], "name": "most", "attributes": ["gender"], "reference": True}
    for readers, checked in ((read, []), ([*read, other], ["other"])):
        run = audit(study, *readers, voted, measures=["agreement"]).run(study / f"run{len(readers)}")
        accuracy = run.estimates.filter(definition="accuracy")
        assert (accuracy["annotator"].to_list() if accuracy.height else []) == checked
        told = "most: is taken for right (reference: true), and 'judge', 'people' are behind it, so that"
        assert any(note.startswith(told) for note in run.info["notes"]) is not bool(checked)


def test_powered_ratios_stand_beside_female_ratios(study: Path) -> None:
    """Of the same pictures: those that are labelled neither are in neither."""
    file = study / "judge.csv"
    text = file.read_text(encoding="utf-8")
    for row in ("p2.png,plain,female", "p4.png,plain,male"):
        assert row in text
        text = text.replace(row, f"{row.rpartition(',')[0]},both")
    file.write_text(text, encoding="utf-8")
    ratio = {"female_ratio": {"by": ["generator", "group", "annotator"]}}
    rows = audit(study, measures=[ratio, "share"]).run(study / "run").estimates.filter(group="plain")
    raw, powered = (
        rows.filter(measure=name, annotator="judge").to_dicts()
        for name in ("female_ratio", "ppi_female_ratio")
    )
    (one,), (other,) = raw, powered
    assert (one["value"], one["n"], other["n"], other["n_reference"]) == (0.5, 58, 58, 20)
    assert other["value"] == pytest.approx(0.5)
    assert other["low"] < 0.5 < other["high"]
    assert (other["category"], other["attribute"]) == ("female", "gender")


def test_powered_scores_stand_beside_stereotype_scores(study: Path, reported: None) -> None:
    """Of every woman both find that she is female, which is true of half."""
    known = {"shares": {"women": {"gender=female": {"share": 0.5, "source": "a survey", "year": 2020}}}}
    (study / "known.json").write_text(json.dumps(known), encoding="utf-8")
    score = {"stereotype_score": {"reference": "known.json", "over": "group"}}
    run = audit(study, measures=[score, "share", "share_difference"]).run(study / "run")
    rows = run.estimates.filter(group="women", annotator="judge", category="female")
    raw, powered, difference, share = (
        rows.filter(measure=name).row(0, named=True)
        for name in ("stereotype_score", "ppi_stereotype_score", "ppi_stereotype_difference", "ppi_share")
    )
    assert raw["value"] == 0.5
    assert difference["value"] == pytest.approx(share["value"] - 0.5)
    assert difference["low"] == pytest.approx(share["low"] - 0.5)
    assert [powered[name] for name in ENDS] == [difference[name] for name in ENDS]
    assert (powered["n"], powered["n_reference"], powered["p_value"]) == (60, 20, 0.5**20)
    assert "true share: a survey, 2020" in powered["source"]
    plain = run.estimates.filter(measure="ppi_stereotype_score", group="plain")
    assert set(plain["undefined"]) == {"no true share"}
    page = (study / "run" / "report" / "index.html").read_text(encoding="utf-8")
    assert "How much more often people would find an attribute shown" in page


def test_without_a_reference_there_are_no_such_rows(study: Path) -> None:
    judge = {"labels": "judge.csv", "name": "judge", "attributes": ["gender"]}
    run = audit(study, judge).run(study / "run")
    assert not run.estimates["measure"].str.starts_with("ppi").any()


def test_a_reference_without_a_usable_label_leaves_rows_that_say_so(study: Path) -> None:
    file = study / "people.csv"
    lines = file.read_text(encoding="utf-8").splitlines()
    unclear = [line.rpartition(",")[0] + ",unclear" for line in lines[1:]]
    file.write_text("\n".join([lines[0], *unclear]) + "\n", encoding="utf-8")
    rows = audit(study).run(study / "run").estimates.filter(measure="ppi_share")
    assert rows.height
    assert rows["value"].is_null().all()
    assert rows["undefined"].is_not_null().all()


def test_those_whose_majority_is_the_reference_are_not_put_right_by_it(study: Path) -> None:
    entries = [{"labels": f"{n}.csv", "name": n, "attributes": ["gender"]} for n in ("judge", "people")]
    again = {"mapping": "people", "values": {"gender": {"male": "male"}}, "name": "read"}
    most = {"majority": ["people", "read"], "attributes": ["gender"], "name": "most", "reference": True}
    rows = audit(study, *entries, again, most).run(study / "run").estimates
    assert set(rows.filter(measure="ppi_share")["annotator"]) == {"judge"}


@pytest.mark.parametrize("name", ["anna", "Müller, Anna"])
def test_a_rater_behind_the_reference_is_not_put_right_by_it_whatever_her_name(
    study: Path, name: str
) -> None:
    files = {"judge": "judge", name: "judge", "people": "people"}
    entries = [{"labels": f"{file}.csv", "name": n, "attributes": ["gender"]} for n, file in files.items()]
    most = {"majority": [name, "people"], "attributes": ["gender"], "name": "most", "least": 2}
    rows = audit(study, *entries, {**most, "reference": True}).run(study / "run").estimates
    assert set(rows.filter(measure="ppi_share")["annotator"]) == {"judge"}


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ({"reference": "yes"}, "reference must be true or false, found 'yes'"),
        ({"reference": True}, "'one' and 'two' both label 'gender'; take one, or their majority"),
    ],
)
def test_what_is_no_reference_is_refused(study: Path, second: dict[str, Any], told: str) -> None:
    entry = {"labels": "people.csv", "attributes": ["gender"]}
    with pytest.raises(AuditFileError, match=told):
        audit(study, {**entry, "name": "one", "reference": True}, {**entry, "name": "two", **second}).plan()


def test_a_powered_share_is_not_listed_but_follows_from_its_reference(study: Path) -> None:
    with pytest.raises(AuditFileError, match="reference: true` at the entry of the annotator"):
        audit(study, measures=[{"ppi_share": "gender", "reference": "people"}]).plan()
