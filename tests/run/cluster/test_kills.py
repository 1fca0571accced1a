"""Killing actors, nodes and the driver of a run on a cluster: it ends in the same bytes, what was paid stays.

The run is the small one of the other kill tests; each call that would cost money adds a line to its log.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.run import small_run
from tests.run.cluster.conftest import ROOT, node
from tests.run.kill import kill_and_continue, random_points, tables

IN_FLIGHT = small_run.REQUESTS
"""Of each stage at most: lanes that await, and one drawing a processor."""
PICTURES = small_run.PICTURES
CALLS = 2 * PICTURES


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("here") / "run"
    small_run.main(folder, Path(f"{folder}.log"))
    return tables(folder)


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


@contextlib.contextmanager
def struck(log: Path, at: list[int], strike: Callable[[], None]) -> Iterator[list[int]]:
    """Strike each time the log has so many lines, in a thread of its own; yields the lines there were."""
    hits: list[int] = []
    over = threading.Event()

    def watch() -> None:
        for line in at:
            while len(lines(log)) <= line:
                if over.is_set():
                    return
                time.sleep(0.002)
            strike()
            hits.append(line)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    yield hits
    over.set()
    thread.join()


def actors(cluster: Any, name: str) -> list[int]:
    """Processes of the cluster's actors of a class."""
    raylets = {one.all_processes["raylet"][0].process.pid for one in cluster.list_all_nodes()}
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            title = (entry / "cmdline").read_text()
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent in raylets and title.startswith(f"ray::{name}"):
                found.append(int(entry.name))
    return found


def assert_small_run(folder: Path, undisturbed: dict[str, str], kills: int) -> None:
    assert tables(folder) == undisturbed
    calls = lines(Path(f"{folder}.log"))
    assert len(set(calls)) == CALLS
    assert len(calls) - CALLS <= kills * IN_FLIGHT


def check_actors(cluster: Any, folder: Path, undisturbed: dict[str, str], at: list[int], name: str) -> None:
    rng = random.Random(5)

    def kill_one() -> None:
        while not (found := actors(cluster, name)):
            time.sleep(0.01)
        os.kill(rng.choice(found), signal.SIGKILL)

    with struck(Path(f"{folder}.log"), at, kill_one) as hits:
        small_run.main(folder, Path(f"{folder}.log"), by="ray")
    assert hits
    assert_small_run(folder, undisturbed, len(hits))


def test_a_worker_that_is_killed_costs_what_it_had_in_flight(
    cluster: Any, tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    check_actors(cluster, tmp_path / "run", undisturbed, [CALLS // 4, 3 * CALLS // 4], "Hand")


def test_the_desk_that_is_killed_is_replaced_with_all_workers(
    cluster: Any, tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    check_actors(cluster, tmp_path / "run", undisturbed, [CALLS // 3], "Desk")


def check_nodes(cluster: Any, folder: Path, undisturbed: dict[str, str], at: list[int]) -> None:
    rng = random.Random(6)

    def lose_one() -> None:
        lost = rng.choice([one for one in cluster.list_all_nodes() if one is not cluster.head_node])
        cluster.remove_node(lost, allow_graceful=False)
        node(cluster)

    with struck(Path(f"{folder}.log"), at, lose_one) as hits:
        small_run.main(folder, Path(f"{folder}.log"), by="ray")
    assert hits
    assert_small_run(folder, undisturbed, len(hits))


def test_a_node_that_is_lost_costs_what_it_had_in_flight(
    cluster: Any, tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    check_nodes(cluster, tmp_path / "run", undisturbed, [CALLS // 2])


def check_drivers(cluster: Any, folder: Path, undisturbed: dict[str, str], points: Any) -> None:
    log = Path(f"{folder}.log")
    report = kill_and_continue(
        [sys.executable, "-m", "tests.run.small_run", str(folder), str(log)],
        log=log,
        points=points,
        environment={"SMALL_RUN_ENGINE": "ray", "RAY_ADDRESS": cluster.address},
        folder=ROOT,
    )
    assert report.killed
    assert_small_run(folder, undisturbed, report.killed)


def test_a_driver_that_is_killed_goes_on_where_it_was(
    cluster: Any, tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    check_drivers(cluster, tmp_path / "run", undisturbed, [(CALLS // 3, 0.0)])


@pytest.mark.slow
@pytest.mark.parametrize("what", ["actors", "desk", "nodes", "driver"])
def test_20_random_moments_each(
    cluster: Any, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_run, "PICTURES", 1_000)
    monkeypatch.setenv("SMALL_RUN_PICTURES", "1000")
    monkeypatch.setattr(sys.modules[__name__], "CALLS", 2_000)
    here, there = tmp_path / "here", tmp_path / "there"
    small_run.main(here, Path(f"{here}.log"))
    points = random_points(20, 1_800, seed=7)
    at, expected = [line for line, _ in points], tables(here)
    match what:
        case "actors":
            check_actors(cluster, there, expected, at, "Hand")
        case "desk":
            check_actors(cluster, there, expected, at, "Desk")
        case "nodes":
            check_nodes(cluster, there, expected, at)
        case "driver":
            check_drivers(cluster, there, expected, points)
