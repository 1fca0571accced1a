"""SIGKILL at random moments of ``stereotrope run``, continued each time: the same bytes, nothing twice."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.run import kill

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


def assert_survives(tmp_path: Path, images: int, kills: int, seed: int) -> None:
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("IMAGES", str(images)))

    def command(folder: str, log: str) -> list[str]:
        script = str(HERE / "counted_run.py")
        return [sys.executable, script, log, "--quiet", "run", "audit.yaml", "-o", folder]

    kill.run_through(command("undisturbed", "calm.log"), folder=tmp_path)
    calls = len((tmp_path / "calm.log").read_text().splitlines())
    report = kill.kill_and_continue(
        command("killed", "killed.log"),
        log=tmp_path / "killed.log",
        points=kill.random_points(kills, calls, seed=seed),
        folder=tmp_path,
    )
    assert report.killed >= kills // 2
    assert kill.tables(tmp_path / "killed") == kill.tables(tmp_path / "undisturbed")
    calm = Counter((tmp_path / "calm.log").read_text().splitlines())
    disturbed = Counter((tmp_path / "killed.log").read_text().splitlines())
    assert set(disturbed) == set(calm)
    assert max(calm.values()) == 1
    again = disturbed.total() - calm.total()
    assert again <= LANES * report.killed, f"{again} calls again after {report.killed} kills"


def test_a_run_killed_at_random_moments_ends_in_the_same_bytes(tmp_path):
    assert_survives(tmp_path, images=5, kills=3, seed=7)


@pytest.mark.slow
def test_a_run_killed_50_times_ends_in_the_same_bytes(tmp_path):
    assert_survives(tmp_path, images=15, kills=50, seed=11)
