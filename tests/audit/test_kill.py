"""SIGKILL at random moments of ``stereotrope run``, continued each time: the same bytes, nothing twice."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.audit.counted_run import noting
from tests.run import kill

import stereotrope as st

HERE = Path(__file__).resolve().parent
LANES = 4
"""Most calls that are in flight at once: no generator or annotator of this audit has more."""

AUDIT = """\
suite: objects
objects: [cup, sofa]
dimensions: {gender: [men, women], age: [elderly]}
images_per_prompt: IMAGES
generators: [{calibrated: , refuse: {elderly: 0.3}}]
annotators: [blank, duplicates, colour]
permutations: 199
report: {figures: false}
resamples: 100
"""


def assert_survives(tmp_path: Path, images: int, kills: int, seed: int, more: str = "") -> None:
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("IMAGES", str(images)) + more)
    with noting(tmp_path / "calm.log"):
        st.Audit.from_yaml(tmp_path / "audit.yaml").run(tmp_path / "undisturbed")
    calls = len((tmp_path / "calm.log").read_text().splitlines())
    script = str(HERE / "counted_run.py")
    report = kill.kill_and_continue(
        [sys.executable, script, "killed.log", "--quiet", "run", "audit.yaml", "-o", "killed"],
        log=tmp_path / "killed.log",
        points=kill.random_points(kills, calls, seed=seed),
        folder=tmp_path,
    )
    assert report.killed >= max(1, kills // 2)
    assert kill.tables(tmp_path / "killed") == kill.tables(tmp_path / "undisturbed")
    calm = Counter((tmp_path / "calm.log").read_text().splitlines())
    disturbed = Counter((tmp_path / "killed.log").read_text().splitlines())
    assert set(disturbed) == set(calm)
    assert max(calm.values()) == 1
    again = disturbed.total() - calm.total()
    assert again <= LANES * report.killed, f"{again} calls again after {report.killed} kills"


def test_a_run_killed_at_random_moments_ends_in_the_same_bytes(tmp_path):
    # Of one measure: what is measured begins when everything else is kept.
    assert_survives(tmp_path, images=3, kills=1, seed=7, more="measures: [share]\n")


@pytest.mark.slow
def test_a_run_killed_50_times_ends_in_the_same_bytes(tmp_path):
    assert_survives(tmp_path, images=15, kills=50, seed=11)
