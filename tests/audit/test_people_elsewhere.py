"""Regions that somebody else found and labelled: files instead of a detector and a judge."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import stereotrope as st
from stereotrope import annotate
from stereotrope.errors import MetadataError, StereotropeError

PLANTED = ["f", "ff", "m", "m?", "", "??", "fm", "f?", "r", "mm"]
"""Who is in each picture; ``r`` is a refused request."""
WHO = {"f": "female", "m": "male", "?": "unclear"}
SHOWN = {"female": 3, "male": 3}
REASONS = {
    "nothing clear": 1,
    "nothing found": 1,
    "refused by the generator": 1,
    "several values": 1,
}
AUDIT = """\
generators: [{{labels: images.{ending}, name_from: model, factors: [job], status: status}}]
annotators:
  - {{boxes: people.{ending}, name: detector}}
  - {{labels: people.{ending}, regions: person, attributes: [perceived_gender, age], name: judge}}
  - {{consensus: judge, regions: detector, attributes: [perceived_gender], name: shown}}
measures:
  - {{share: [perceived_gender, n_people], by: [generator]}}
  - {{female_ratio: perceived_gender, by: [generator, job]}}
  - {{refusal_rate: {{by: [generator]}}}}
"""


def write(folder: Path, ending: str = "csv") -> None:
    images = pl.DataFrame(
        {
            "image": [f"{i}.png" for i in range(len(PLANTED))],
            "model": "m",
            "job": ["a" if i % 2 else "b" for i in range(len(PLANTED))],
            "status": ["refused" if who == "r" else "ok" for who in PLANTED],
        }
    )
    people = pl.DataFrame(
        [
            (f"{i}.png", f"[{10 * at}, 0, {10 * at + 9}, 20]", WHO[who], "20-29" if at else None)
            for i, all_ in enumerate(PLANTED)
            for at, who in enumerate(all_ if all_ != "r" else "")
        ],
        schema=["image", "box", "perceived_gender", "age"],
        orient="row",
    )
    for name, frame in (("images", images), ("people", people)):
        path = folder / f"{name}.{ending}"
        {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}[ending](path)


@pytest.fixture
def run(tmp_path: Path) -> st.Run:
    write(tmp_path)
    return st.Audit.from_text(AUDIT.format(ending="csv"), base=tmp_path).run(tmp_path / "run")


def test_what_a_picture_shows_follows_from_the_people_that_files_list(run: st.Run) -> None:
    shares = run.estimates.filter(measure="share", attribute="perceived_gender")
    assert dict(shares.select("category", "numerator").iter_rows()) == SHOWN
    assert {text: json.loads(text) for text in shares["excluded"]}.popitem()[1] == REASONS
    people = run.estimates.filter(measure="share", attribute="n_people")
    assert dict(people.select("category", "numerator").iter_rows()) == {"0": 1, "1": 2, "2": 6}
    refused = run.estimates.filter(measure="refusal_rate").row(0, named=True)
    assert (refused["numerator"], refused["n"]) == (1, 10)


def test_regions_are_subjects_with_labels_of_their_own(run: st.Run) -> None:
    regions = run.labels.filter(subject_kind="region")
    assert regions.filter(attribute="perceived_gender").height == run.subjects.height == 14
    assert set(regions["subject_id"]) == set(run.subjects["subject_id"])
    assert set(run.subjects["annotators"]) == {'["judge"]'}
    assert regions.filter(attribute="age").height == 6


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_other_files_say_the_same(run: st.Run, tmp_path: Path, ending: str) -> None:
    write(tmp_path, ending)
    other = st.Audit.from_text(AUDIT.format(ending=ending), base=tmp_path).run(tmp_path / ending)
    assert other.estimates.equals(run.estimates)


def test_it_is_continued_and_measured_again(run: st.Run, tmp_path: Path, reported: None) -> None:
    audit = st.Audit.from_run(run.path)
    assert audit.run(run.path).labels.equals(run.labels)
    assert audit.measure(run.path).estimates.equals(run.estimates)
    page = (run.path / "report" / "index.html").read_text(encoding="utf-8")
    assert "1 of 10 requests was refused by a model" in page
    assert "how many were refused is not known" not in page


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1.png,[1, 2],female,", r"people.csv:16: 'box' must be a box \[x0, y0, x1, y1\], found '\[1, 2\]'"),
        ('1.png,"[1, 2, 3, ""a""]",female,', r"people.csv:16: 'box' must be a box"),
        ('1.png,"[NaN, 2, 3, 4]",female,', r"people.csv:16: 'box' must be a box"),
        pytest.param(f'1.png,"[0, 0, {10**400}, 4]",female,', r":16: 'box' must be a box", id="far"),
        pytest.param(f'1.png,"{"[" * 99999}",female,', r":16: 'box' must be a box", id="deep"),
        (
            '1.png,"[9, 2, 3, 4]",female,',
            r":16: .* x0 below x1 and y0 below y1, found '\[9, 2, 3, 4\]'; write",
        ),
        ('1.png,"[1, 4, 3, 4]",female,', r"people.csv:16: .* write corners, not width and height"),
        (
            '1.png,"[0.1, 0, 0.5, 1]",female,',
            r"people.csv:16: .* in pixels, found .*; multiply shares by width",
        ),
        ("1.png,,female,", r"people.csv:16: a label of a region needs its box, found nothing in 'box'"),
        (',"[1, 2, 3, 4]",female,', r"people.csv:16: 'image' must name a picture, found nothing"),
        (
            '0.png,"[0, 0, 9, 20]",male,',
            r"people.csv:16: a region has one label of an attribute, found 'perceived_gender' 'male'",
        ),
    ],
)
def test_mistakes_in_files_are_told(tmp_path: Path, row: str, message: str) -> None:
    write(tmp_path)
    file = tmp_path / "people.csv"
    file.write_text(file.read_text() + row.replace("[1, 2],", '"[1, 2]",') + "\n")
    with pytest.raises(StereotropeError, match=message):
        st.Audit.from_text(AUDIT.format(ending="csv"), base=tmp_path).run(tmp_path / "run")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  - {boxes: people.csv, name: detector}\n", "", r"needs 'person', .*add `\{boxes: people.csv"),
        (
            "status: status",
            "status: job",
            r"images.csv:2: column 'job' must be ok, refused, excluded or empty",
        ),
        ("status: status", "reason: status", r"reason needs `status` beside it"),
        (
            "regions: person,",
            "box: box,",
            r"box needs `regions` beside it, found 'box'; write regions: person",
        ),
        ("name: detector}", "name: detector, box: x}", r"no column 'x' \(the box of each row"),
        ("name: detector}", "name: detector, attribute: all}", r"annotator 'detector': attribute: .*all"),
    ],
)
def test_mistakes_in_the_audit_file_are_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    write(tmp_path)
    text = AUDIT.format(ending="csv")
    assert old in text
    with pytest.raises(StereotropeError, match=message):
        st.Audit.from_text(text.replace(old, new, 1), base=tmp_path).plan()


def test_rows_of_no_picture_and_boxes_that_nobody_found_are_noted(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "more.csv").write_text(
        'image,box,perceived_gender\n0.png,"[5, 5, 9, 20]",male\nx.png,"[5, 5, 9, 20]",male\n'
    )
    text = AUDIT.format(ending="csv").replace("{labels: people.csv", "{labels: more.csv").replace(", age", "")
    run = st.Audit.from_text(text, base=tmp_path).run(tmp_path / "run")
    notes = " ".join(run.info["notes"])
    assert "more.csv: 1 row (line 2) of a box that no label of 'person' has; left out" in notes
    assert "more.csv: 1 row matches no image (line 3)" in notes
    assert "people.csv: 1 of 9 images have no row, and so no person" in notes
    assert run.labels.filter(annotator="shown")["status"].unique().to_list() == ["unclear"]


SECOND = """\
  - {labels: people.csv, regions: person, attributes: [perceived_gender], name: other}
  - {consensus: other, regions: detector, attributes: [perceived_gender], name: shown too}
measures: [MEASURE]
"""


@pytest.mark.parametrize("asked", ["agreement", "{agreement: {reference: shown too}}"])
def test_raters_of_people_in_pictures_are_compared_by_what_their_pictures_show(tmp_path: Path, asked: str):
    write(tmp_path)
    text = AUDIT.format(ending="csv").split("measures:")[0] + SECOND.replace("MEASURE", asked)
    rows = st.Audit.from_text(text, base=tmp_path).run(tmp_path / "run").estimates
    assert set(rows["attribute"]) == {"perceived_gender"}
    assert rows.row(0, named=True)["value"] == 1
    assert set(rows["n"]) == {6}
    alone = "\n".join(line for line in text.splitlines() if "consensus" not in line).replace(
        "shown too", "other"
    )
    with pytest.raises(
        StereotropeError, match="labels of regions are compared by picture: add a `consensus`"
    ):
        st.Audit.from_text(alone, base=tmp_path).plan()


def test_a_name_that_several_pictures_have_is_refused(tmp_path: Path) -> None:
    images = pl.DataFrame(
        {"image_id": ["a", "b"], "source": "x.png", "generator": ["k", "m"], "status": "ok", "path": None}
    )
    (tmp_path / "p.csv").write_text('image,model,box\nx.png,k,"[1, 2, 3, 4]"\n')
    given = {"boxes": "p.csv", "name": "found", "model": "model"}
    labels = annotate.create(given, relative_to=tmp_path).derive(images, pl.DataFrame())
    assert labels.filter(attribute="n_people").select("subject_id", "value").rows() == [
        ("a", "1"),
        ("b", "0"),
    ]
    with pytest.raises(MetadataError, match=r"p.csv:2: 'image' must name one image, found 2 for 'x.png'"):
        annotate.create({**given, "model": None}, relative_to=tmp_path).derive(images, pl.DataFrame())
