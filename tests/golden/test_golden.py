"""Runs of whole audits, held against what they said before."""

import shutil

import pytest
from tests.conftest import unwritten
from tests.golden.audits import AUDITS, FORMAT_1, OURS, WHOLE
from tests.golden.compare import assert_as_kept, assert_same_rows

import stereotrope as st
from stereotrope.audit.work import Silent


@pytest.mark.parametrize("name", ["captions", "judges"])
def test_a_run_says_what_it_said_before(name, tmp_path, shared):
    with unwritten():
        run = AUDITS[name](tmp_path, shared / "data")
    assert_as_kept(run, name)


@pytest.mark.slow
def test_the_demo_says_what_it_said_before(tmp_path, shared):
    assert_as_kept(AUDITS["demo"](tmp_path, shared / "data"), "demo")


@pytest.mark.parametrize("name", OURS)
def test_a_run_of_format_1_is_opened(name):
    run = st.open(FORMAT_1 / name)
    assert run.info["format_version"] == 1
    assert run.labels.height
    assert run.estimates["value"].is_null().equals(run.estimates["undefined"].is_not_null())


class Stages(Silent):
    """Keeps how much of each stage was to do."""

    def __init__(self):
        self.left = {}

    def stage(self, name, total, done):
        self.left[name] = total - done


def test_a_run_of_format_1_goes_on_and_does_nothing_twice(tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(FORMAT_1 / "whole", folder)
    before = st.open(FORMAT_1 / "whole")
    measured = st.Audit.from_run(folder).measure(folder)
    assert_same_rows(measured.estimates, before.estimates)
    assert measured.info["format_version"] == 2
    seen = Stages()
    again = st.Audit.from_text(WHOLE, base=tmp_path).run(folder, watcher=seen)
    work = {name: left for name, left in seen.left.items() if name not in ("measure", "report")}
    assert len(work) >= 3
    assert set(work.values()) == {0}
    assert again.images.equals(before.images)
    assert again.labels.equals(before.labels)
    assert len(list(folder.glob("pictures/*/*"))) == before.images.height
    drawn = [folder / path for path in before.images["path"]]
    assert [file.read_bytes() for file in drawn] == [before.picture(i) for i in before.images["image_id"]]
