"""Files that hold fewer pictures than the design asks for: told, by condition, and never an error."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from stereotrope import Audit, Run
from stereotrope.audit.delivery import undelivered
from stereotrope.report import headline

JOBS = ("nurse", "teacher", "pilot", "baker", "farmer")
FULL = {(model, job): 4 for model in ("one", "two") for job in JOBS}


def study(base: Path, *, lacking: Mapping[tuple[str, str], int] | None = None, **more: Any) -> Audit:
    with (base / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["image_id", "model", "occupation", "gender"])
        for (model, job), n in {**FULL, **(lacking or {})}.items():
            writer.writerows([f"{model}-{job}-{i}", model, job, "female"] for i in range(n))
    content = {
        "prompts": {"template": "A {occupation}", "occupation": list(JOBS)},
        "generators": [{"labels": "labels.csv", "name_from": "model", "factors": ["occupation"]}],
        "annotators": [{"labels": "labels.csv", "name": "people", "attributes": ["gender"]}],
        "measures": [{"female_ratio": "gender"}],
        "permutations": 99,
        "resamples": 100,
    }
    given = {key: value for key, value in (content | more).items() if value is not None}
    return Audit.from_text(json.dumps(given), base=base)


def told(run: Run) -> list[str]:
    return run.findings.filter(list="instrument", measure="effective_n")["sentence"].to_list()


def missing(run: Run) -> list[str]:
    return [str(one) for one in headline(run)["missing"]["items"]]


LACKING = {("one", "pilot"): 3, ("two", "farmer"): 0}


@pytest.mark.usefixtures("reported")
@pytest.mark.parametrize("counted", [False, True])
def test_what_did_not_come_is_told_by_condition_and_is_no_error(tmp_path: Path, counted: bool) -> None:
    audit = study(tmp_path, lacking=LACKING, counted=counted)
    run = audit.run(tmp_path / "run")
    end = (
        "Estimates say nothing of those: add them to the files and run again, or take them out of the design."
    )
    expected = [
        "“one”: 1 of 20 asked pictures did not come (4 a prompt, as most prompts have): 1 prompt has fewer "
        f"(3 of 4 with occupation “pilot”). {end}",
        "“two”: 4 of 20 asked pictures did not come (4 a prompt, as most prompts have): 1 of 5 prompts has "
        f"none (occupation “farmer”). {end}",
    ]
    assert told(run) == expected
    table = pl.read_csv(tmp_path / "run" / "report" / "tables" / "undelivered.csv")
    assert table.rows() == [("one", "pilot", 4, 3), ("two", "farmer", 4, 0)]
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert "Asked pictures that did not come, by condition" in page
    asked = "one and two lack pictures that the design asks for: see the findings about the instruments."
    assert missing(run) == [asked]
    assert told(audit.measure(tmp_path / "run")) == expected
    whole = study(tmp_path, counted=counted).run(tmp_path / "run")
    assert told(whole) == missing(whole) == []


def test_a_number_that_the_audit_file_says_is_what_was_asked(tmp_path: Path) -> None:
    run = study(tmp_path, images_per_prompt=5).run(tmp_path / "run")
    assert [sentence.split(". Est")[0] for sentence in told(run)] == [
        "“one”, “two”, each: 5 of 25 asked pictures did not come (5 a prompt, images_per_prompt): 5 "
        "prompts have fewer (4 of 5 with occupation “nurse”; 4 of 5 with occupation “teacher”; 4 of 5 with "
        "occupation “pilot”; 2 more)"
    ]


def test_without_a_design_nothing_was_asked(tmp_path: Path) -> None:
    run = study(tmp_path, lacking=LACKING, prompts=None).run(tmp_path / "run")
    assert told(run) == []


PROMPTS = pl.DataFrame(
    {
        "prompt_id": ["a", "b", "c", "d"],
        "text": ["A", "B", "C", "D"],
        "negative": [None] * 4,
        "job": ["nurse", "nurse", "pilot", "pilot"],
        "group": [None, "old", None, "old"],
    },
    schema_overrides={"negative": pl.String},
)


def sentences(asked: int | None = None, **came: int) -> list[str]:
    rows = [("m", prompt) for prompt, n in came.items() for _ in range(n)]
    pictures = pl.DataFrame(rows, schema={"generator": pl.String, "prompt_id": pl.String}, orient="row")
    return [one["sentence"].split(". Est")[0] for one in undelivered(PROMPTS, pictures, asked)]


def test_where_no_number_is_usual_only_prompts_without_a_picture_are_told() -> None:
    assert sentences(a=7, b=5, c=2, d=1) == []
    assert sentences(a=7, b=5, c=2) == ["“m”: 1 of 4 prompts has none (job “pilot”, group “old”)"]
    assert sentences(a=3, b=2) == ["“m”: 2 of 4 prompts have none (job “pilot”)"]
    assert sentences(a=3, c=2) == ["“m”: 2 of 4 prompts have none (group “old”)"]
    assert sentences(b=3, d=2) == ["“m”: 2 of 4 prompts have none (group none)"]


def test_more_than_was_asked_makes_up_for_nothing() -> None:
    assert sentences(a=9, b=3, c=3, d=2, asked=3) == [
        "“m”: 1 of 12 asked pictures did not come (3 a prompt, images_per_prompt): 1 prompt has fewer (2 of "
        "3 with job “pilot”, group “old”)"
    ]
    assert sentences(a=9, b=3, c=3, d=3, asked=3) == []


@pytest.mark.parametrize("counted", [False, True])
def test_few_labels_that_lack_are_told_where_they_are_all_of_a_condition(
    tmp_path: Path, counted: bool
) -> None:
    jobs = [f"job{i}" for i in range(25)]
    rows = [(f"{job}-{i}", job) for job in jobs for i in range(10)]

    def warnings(labelled: list[str]) -> list[str]:
        listed = ["image_id,occupation", *map(",".join, rows)]
        labels = [f"{image},female" for image in labelled]
        (tmp_path / "list.csv").write_text("\n".join(listed))
        audit = study(
            tmp_path,
            prompts={"template": "A {occupation}", "occupation": jobs},
            generators=[{"labels": "list.csv", "name": "one", "factors": ["occupation"]}],
            counted=counted,
        )
        (tmp_path / "labels.csv").write_text("\n".join(["image_id,gender", *labels]))
        return audit.run(tmp_path / "run").findings.filter(list="instrument")["sentence"].to_list()

    assert warnings([image for image, job in rows if job != "job7"]) == [
        "10 of 250 pictures have no label of the gender by the annotator “people” that can be used (not "
        "labelled: 10); 10 of 10 with occupation “job7”, but 0 of 10 with occupation “job0”."
    ]
    assert warnings([image for image, job in rows if image != "job7-0"]) == []
