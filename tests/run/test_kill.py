from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.run.kill import kill_and_continue, random_points, run_through, tables

ROOT = Path(__file__).resolve().parents[2]
IN_FLIGHT = 6


def command(folder: Path) -> list[str]:
    return [sys.executable, "-m", "tests.run.small_run", str(folder), f"{folder}.log"]


def check_random_kills(tmp_path: Path, kills: int, pictures: int, seed: int) -> None:
    environment = {"SMALL_RUN_PICTURES": str(pictures)}
    undisturbed, disturbed = tmp_path / "undisturbed", tmp_path / "disturbed"
    run_through(command(undisturbed), environment=environment, folder=ROOT)
    report = kill_and_continue(
        command(disturbed),
        log=Path(f"{disturbed}.log"),
        points=random_points(kills, 2 * pictures - 100, seed=seed),
        environment=environment,
        folder=ROOT,
    )
    assert tables(disturbed) == tables(undisturbed)
    calls = Path(f"{disturbed}.log").read_text().splitlines()
    assert len(set(calls)) == 2 * pictures
    twice = len(calls) - len(set(calls))
    print(f"{report.killed} kills, {report.ended_first} ended first, {twice} of {2 * pictures} done twice")
    assert report.killed >= kills // 2
    assert twice <= report.killed * IN_FLIGHT


def test_a_run_killed_at_3_random_points_ends_in_the_same_bytes(tmp_path: Path) -> None:
    check_random_kills(tmp_path, kills=3, pictures=200, seed=3)


@pytest.mark.slow
def test_a_run_killed_at_50_random_points_ends_in_the_same_bytes(tmp_path: Path) -> None:
    check_random_kills(tmp_path, kills=50, pictures=2000, seed=4)


def test_a_run_killed_at_points_of_durability_ends_in_the_same_bytes(tmp_path: Path) -> None:
    check_points(tmp_path, step=31)


@pytest.mark.slow
def test_a_run_killed_at_every_point_of_durability_ends_in_the_same_bytes(tmp_path: Path) -> None:
    check_points(tmp_path, step=1)


def check_points(tmp_path: Path, step: int) -> None:
    out, _ = run_through(
        [sys.executable, "-m", "tests.run.small_run", str(tmp_path), str(tmp_path / "log"), str(step)],
        environment={"SMALL_RUN_PICTURES": "24"},
        folder=ROOT,
    )
    print(f"{int(out)} points of durability, every {step}. tried")
    assert int(out) > 100


def test_a_finished_run_started_again_pays_nothing_and_changes_no_byte(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run_through(command(folder), folder=ROOT)
    before, paid = tables(folder), Path(f"{folder}.log").read_text()
    run_through(command(folder), folder=ROOT)
    assert tables(folder) == before
    assert Path(f"{folder}.log").read_text() == paid
