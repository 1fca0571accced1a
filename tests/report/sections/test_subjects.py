"""Regions and sets in the report."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.report.made_up import LABEL_TYPES, FakeRun, frame, label_row

from stereotrope import report
from stereotrope.tables import SUBJECTS, polars_types

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def run(make_run: Callable[..., FakeRun]) -> FakeRun:
    """Fourteen regions of one picture, one of them without a value, and a set of both pictures."""
    made = make_run()
    first, second = made.images.filter(status="ok")["image_id"]
    boxes = [json.dumps([i, 0, i + 5, 9]) for i in range(14)]
    members = [("region", f"r{i}", first, 0, box, None) for i, box in enumerate(boxes)]
    members += [("set", "s", first, 0, None, None), ("set", "s", second, 1, None, None)]
    said = [
        label_row(f"r{i}", "shade", None if i == 1 else HOSTILE, "shades", subject_kind="region", region=box)
        | ({"status": "unclear"} if i == 1 else {})
        for i, box in enumerate(boxes)
    ]
    said.append(label_row("s", "alike", "yes", "twins", subject_kind="set"))
    labels = pl.concat([made.labels, frame(said, LABEL_TYPES)])
    subjects = pl.DataFrame(members, schema=polars_types(SUBJECTS), orient="row")
    return replace(made, labels=labels, subjects=subjects)


def shown(run: FakeRun, out: Path) -> str:
    page = report.write(run, out=out, figures=False).read_text(encoding="utf-8")
    return page.partition('<section id="subjects"')[2].partition("</section>")[0]


def test_boxes_are_numbered_bounded_and_their_labels_inert(run: FakeRun, tmp_path: Path) -> None:
    part = shown(run, tmp_path)
    assert "shades: 1 picture with its regions." in part
    assert part.count('class="box"') == 12
    assert "2 more in the run&#39;s table of labels" in part
    assert "<li>shade: unclear</li>" in part
    assert "<script" not in part
    assert part.count("<li>shade: &lt;script&gt;") == 11


def test_a_box_says_what_gave_it_before_what_was_said_of_it(run: FakeRun, tmp_path: Path) -> None:
    box = run.subjects.filter(subject_id="r0")
    given = label_row(box["image_id"][0], "spot", "left", "spots", region=box["region"][0])
    told = replace(run, labels=pl.concat([run.labels, frame([given], LABEL_TYPES)]))
    assert shown(told, tmp_path).count("<li>spot: left; shade: &lt;script&gt;") == 1


def test_a_set_is_shown_in_its_order_with_its_labels(run: FakeRun, tmp_path: Path) -> None:
    part = shown(run, tmp_path).partition("twins: 1 set.")[2]
    assert part.count("<img ") == 2
    assert "alike: yes" in part


def test_what_cannot_be_drawn_is_counted(run: FakeRun, tmp_path: Path) -> None:
    part = shown(replace(run, pictures=dict.fromkeys(run.pictures, b"torn")), tmp_path)
    assert "shades: 0 of 1 picture with its regions." in part
    assert "<image" not in part


def test_labels_of_regions_and_sets_are_counted_where_those_of_images_are(
    run: FakeRun, make_run: Callable[..., FakeRun]
) -> None:
    told, before = report.headline(run), report.headline(make_run())
    assert told["counts"]["labels"] == before["counts"]["labels"] + 15
    assert told["counts"]["labels_without_value"] == 1
    at = told["missing"]["columns"].index("labels unclear")
    assert sum(int(row[at]) for row in told["missing"]["rows"]) == 1
    assert "1 of 17 labels has no value" in told["missing"]["sentence"]


def test_a_run_without_regions_or_sets_has_no_such_section(
    make_run: Callable[..., FakeRun], tmp_path: Path
) -> None:
    assert shown(make_run(), tmp_path) == ""
