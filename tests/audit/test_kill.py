"""SIGKILL at random moments of ``stereotrope run``, continued each time: the same bytes, nothing twice."""

import importlib.util
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
LANES = 4
"""Most calls that are in flight at once: no generator or annotator of this audit has more."""

AUDIT = """\
suite: objects
objects: [cup, sofa]
dimensions: {gender: [men, women], age: [elderly]}
images_per_prompt: 15
generators: [{calibrated: , refuse: {elderly: 0.3}}]
annotators: [blank, duplicates, colour]
permutations: 199
resamples: 100
"""


def harness():
    spec = importlib.util.spec_from_file_location("kill_harness", HERE.parent / "run" / "kill.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["kill_harness"] = module
    spec.loader.exec_module(module)
    return module


def assert_survives(tmp_path: Path, kills: int, seed: int) -> None:
    kill = harness()
    (tmp_path / "audit.yaml").write_text(AUDIT)

    def command(folder: str, log: str) -> list[str]:
        script = str(HERE / "counted_run.py")
        return [sys.executable, script, log, "--quiet", "run", "audit.yaml", "-o", folder]

    begun = time.monotonic()
    kill.run_through(command("undisturbed", "calm.log"), folder=tmp_path)
    whole = time.monotonic() - begun
    moments = kill.random_moments(kills, 0.2 * whole, 0.9 * whole, seed=seed)
    report = kill.kill_and_continue(command("killed", "killed.log"), moments=moments, folder=tmp_path)
    assert report.killed >= kills // 2
    assert kill.tables(tmp_path / "killed") == kill.tables(tmp_path / "undisturbed")
    calm = Counter((tmp_path / "calm.log").read_text().splitlines())
    disturbed = Counter((tmp_path / "killed.log").read_text().splitlines())
    assert set(disturbed) == set(calm)
    assert max(calm.values()) == 1
    again = disturbed.total() - calm.total()
    assert again <= LANES * report.killed, f"{again} calls again after {report.killed} kills"


def test_a_run_killed_at_random_moments_ends_in_the_same_bytes(tmp_path):
    assert_survives(tmp_path, kills=5, seed=7)


@pytest.mark.slow
def test_a_run_killed_50_times_ends_in_the_same_bytes(tmp_path):
    assert_survives(tmp_path, kills=50, seed=11)
