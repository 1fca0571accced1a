"""Label files of a counted study that are damaged, odd or interrupted: each is told, and nothing is lost."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from bench.everyday_study import write_study
from tests.audit.disturbed import disk_with_room_for, files
from tests.audit.test_counted import AUDIT, IMAGES, PEOPLE, assert_same, audit, small

import stereotrope as st
from stereotrope.errors import RunError, StereotropeError

PLAIN = AUDIT + "report: {figures: false}\n"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    write_study(folder, share=0.0004, pictures=6)
    audit(folder, PLAIN).run(folder / "run")
    return folder


def copied(study: Path, folder: Path) -> Path:
    for name in ("images", "people"):
        shutil.copy(study / f"{name}.parquet", folder)
    return folder


@pytest.mark.parametrize("name", ["images", "people"])
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:40] + bytes(len(data) // 3) + data[40 + len(data) // 3 :],
        lambda data: b"image,model",
    ],
    ids=["empty", "truncated", "overwritten", "text"],
)
def test_a_damaged_file_is_named(
    study: Path, tmp_path: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    path = copied(study, tmp_path) / f"{name}.parquet"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StereotropeError, match=rf"{name}.parquet: cannot be read \(.*write it anew"):
        audit(tmp_path, PLAIN).run(tmp_path / "run")


@pytest.mark.parametrize(
    ("images", "people", "message"),
    [
        (IMAGES, "", r"people.csv: must have at least one row, found none"),
        ("", PEOPLE, r"images.csv: must have at least one row, found none"),
        (IMAGES, PEOPLE + 'a.png,"[9, 9', r"people.csv: cannot be read"),
        (
            IMAGES + "a.png ,m,y,\n",
            PEOPLE,
            r"'a.png' must be listed once, found again as .a.png . .*first in row 1 as 'a.png'\); b",
        ),
        (
            IMAGES,
            PEOPLE + "a.png,female\n",
            r"people.csv:5: must have 3 fields as the header, found 2; add com",
        ),
        (IMAGES + "c.png\n", PEOPLE, r"images.csv:5: must have 4 fields as the header, found 1; add commas"),
        (IMAGES, PEOPLE + "a.png,,male,more\n", r"people.csv: cannot be read \(found more fields"),
        (
            IMAGES,
            PEOPLE + ',"[1, 2, 3, 4]",male\n',
            r"people.csv:4: 'image' must name a picture, found nothing",
        ),
        (
            IMAGES,
            PEOPLE + "a.png,here,male\n",
            r"people.csv:4: 'box' must be a box .*, found 'here'; correct",
        ),
        (
            IMAGES,
            PEOPLE + 'a.png,"[1, 2, 3]",male\n',
            r"people.csv:4: 'box' must be a box .*, found '\[1, 2, 3",
        ),
        (
            IMAGES,
            PEOPLE + 'a.png,"[5, 2, 1, 4]",male\n',
            r"people.csv:4: .* with x0 below x1 and y0 below y1",
        ),
        (IMAGES, PEOPLE + 'a.png,"[0, 0, 1, 1]",male\n', r"people.csv:4: .* in pixels, .* lies within one"),
        (IMAGES, PEOPLE + 'a.png,"[1,2,3.0,4]",male\n', r"people.csv:4: a region has one label .*in row 1"),
    ],
)
def test_odd_rows_are_refused_as_where_pictures_are_kept(
    tmp_path: Path, images: str, people: str, message: str
) -> None:
    with pytest.raises(StereotropeError, match=message):
        small(tmp_path, images, people).run(tmp_path / "run")


@pytest.mark.parametrize(
    "people",
    [
        'a.png,"[1, 2, 3, 4]",female\n',
        PEOPLE + 'a.png,"[9, 9, 19, 19]",robot\n' + 'b.png,"[9, 9, 19, 19]",\n',
        PEOPLE.replace('4]",\n', '4]",refused\n') + 'b.png,"[7, 7, 9, 9]",FEMALE\n',
    ],
    ids=["one row", "unknown and no values", "refused and two spellings"],
)
def test_odd_labels_are_counted_as_where_pictures_are_kept(tmp_path: Path, people: str) -> None:
    boxes = people.replace("[5, 2, 6, 4]", "[5, 2, 6, 7]")
    counted = small(tmp_path, IMAGES, boxes)
    kept = st.Audit.from_text(counted.source.text.replace("counted: true\n", ""), base=tmp_path)
    assert_same(counted.run(tmp_path / "counted").estimates, kept.run(tmp_path / "kept").estimates)


RACES, AGES = ("black", "east asian", "white", "unclear"), ("20-29", "60-69", "unclear")
BY_PERSON = PLAIN.replace("[perceived_gender]", "[perceived_gender, perceived_race, perceived_age]")


def test_race_and_age_of_people_become_those_of_pictures(study: Path, tmp_path: Path) -> None:
    folder, rng = copied(study, tmp_path), np.random.default_rng(1)
    people = pl.read_parquet(folder / "people.parquet")
    race, age = ([of[i] for i in rng.integers(0, len(of), people.height)] for of in (RACES, AGES))
    people = people.with_columns(perceived_race=pl.Series(race), perceived_age=pl.Series(age))
    people.write_parquet(folder / "people.parquet")
    runs = [audit(folder, BY_PERSON, counted=one).run(folder / f"{one}") for one in (True, False)]
    assert_same(runs[0].estimates, runs[1].estimates)
    clear = people.filter(pl.col("perceived_race") != "unclear").group_by("image")
    shown = clear.agg(n=pl.col("perceived_race").n_unique(), race=pl.col("perceived_race").first())
    alone = shown.filter(n=1).join(pl.read_parquet(folder / "images.parquet"), on="image")
    counts = alone.group_by("model", "race").agg(n=pl.len().cast(pl.Int64)).sort("model", "race")
    rows = runs[0].estimates.filter(pl.col("scenario").is_null(), attribute="perceived_race", measure="share")
    found = rows.filter(pl.col("numerator") > 0).sort("generator", "category")
    assert found.select("generator", "category", "numerator").rows() == counts.rows()
    assert set(rows["n"]) == set(counts.group_by("model").agg(pl.col("n").sum())["n"])
    assert runs[0].estimates.filter(attribute="perceived_age").height > 0


KILLED = """\
import os, signal, sys
import stereotrope as st
class Killed:
    def stage(self, name, *_, **__):
        if name == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGKILL)
    def advance(self, *_, **__): pass
    say = doing = advance
st.Audit.from_text(sys.argv[3], base=sys.argv[1]).run(sys.argv[1] + "/run", watcher=Killed())
"""


@pytest.mark.parametrize("stage", ["measure", pytest.param("report", marks=pytest.mark.slow)])
def test_what_was_killed_is_done_by_the_same_command(study: Path, tmp_path: Path, stage: str) -> None:
    text = PLAIN + "counted: true\n"
    command = [sys.executable, "-c", KILLED, str(copied(study, tmp_path)), stage, text]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    run = audit(tmp_path, PLAIN).run(tmp_path / "run")
    one, other = (
        {name: digest for name, digest in files(folder).items() if re.fullmatch(r"\w+\.parquet", name)}
        for folder in (study / "run", run.path)
    )
    assert one == other
    assert len(one) > 5


def test_a_full_disk_is_told_and_the_same_command_goes_on(study: Path, tmp_path: Path) -> None:
    copied(study, tmp_path)
    message = r"parquet: cannot be written \(No space .*Everything finished before is kept"
    with disk_with_room_for(30_000), pytest.raises(RunError, match=message):
        audit(tmp_path, PLAIN).run(tmp_path / "run")
    assert_same(audit(tmp_path, PLAIN).run(tmp_path / "run").estimates, st.open(study / "run").estimates)


def test_a_file_that_was_changed_between_is_read_again(study: Path, tmp_path: Path) -> None:
    folder = copied(study, tmp_path)
    shutil.copytree(study / "run", folder / "run")
    people = pl.read_parquet(folder / "people.parquet")
    people.with_columns(perceived_gender=pl.lit("male")).write_parquet(folder / "people.parquet")
    run = audit(folder, PLAIN).run(folder / "run")
    assert run.estimates.filter(measure="female_ratio")["numerator"].sum() == 0
