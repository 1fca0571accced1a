"""A run on a cluster of three nodes: the bytes of a local one, whatever is killed, and what is told.

Kills are of the small run of the other kill tests: each call that would cost money adds a line to its log.
All tests are of one module, so that one cluster serves them.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.run import small_run
from tests.run.cluster.conftest import KEY, NODES, ROOT, node
from tests.run.kill import kill_and_continue, random_points, tables

from stereotrope.audit import Audit
from stereotrope.clients.limiter import LATE, LIMITERS
from stereotrope.errors import UsageError
from stereotrope.plugins import version_of
from stereotrope.run import Engine, Items, Job, Needs, PictureStore, RunFolder, Stage, engine
from stereotrope.run.engine.cluster import RayCluster
from stereotrope.run.engine.cluster.nodes import require_nodes
from stereotrope.run.place import PicturePlace
from stereotrope.testing import Loopback

CALIBRATED = """
suite: objects
objects: [cup]
dimensions: {{gender: [women, men]}}
images_per_prompt: 4
generators: [calibrated]
annotators: [blank, colour, {{encoder: 'clip:{clip}', batch: 16, device: cpu}}]
"""
REMOTE = """
suite: objects
objects: [cup]
dimensions: {{gender: [women, men]}}
images_per_prompt: 4
generators:
- {{images: openai:painter, base_url: {url}, key: CLUSTER_KEY, seed: true, price: {{image: 0.01}},
   requests_per_minute: 600}}
annotators:
- {{questions: openai:judge, base_url: {url}, key: CLUSTER_KEY, discover: true, price: {{call: 0.001}}}}
"""


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


def struck_run(folder: Path, strikes: Sequence[tuple[int, Callable[[], None]]]) -> int:
    """Carry the small run out on the cluster, and strike each time its log has so many lines; say how often.

    The run has a thread of its own, as nodes can be added in the main one only.
    """
    log, hits = Path(f"{folder}.log"), 0
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(small_run.main, folder, log, by="ray")
        for line, strike in strikes:
            while len(lines(log)) <= line and not run.done():
                time.sleep(0.002)
            if not run.done():
                strike()
                hits += 1
        run.result()
    return hits


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


def killing(cluster: Any, name: str, seed: int = 5) -> Callable[[], None]:
    """What kills one actor of a class."""
    rng = random.Random(seed)
    return lambda: os.kill(rng.choice(actors(cluster, name)), signal.SIGKILL)


def losing(cluster: Any, seed: int = 6) -> Callable[[], None]:
    """What kills one node with all that runs there, and adds another one like it."""
    rng = random.Random(seed)

    def lose_one() -> None:
        lost = rng.choice([one for one in cluster.list_all_nodes() if one is not cluster.head_node])
        gpus = lost._ray_params.num_gpus
        cluster.remove_node(lost, allow_graceful=False)
        node(cluster, num_gpus=gpus)

    return lose_one


def check_strikes(
    folder: Path, undisturbed: dict[str, str], strikes: Sequence[tuple[int, Callable[[], None]]]
) -> None:
    hits = struck_run(folder, strikes)
    assert hits >= (len(strikes) + 1) // 2
    assert_small_run(folder, undisturbed, hits)


def test_a_worker_the_desk_and_a_node_that_are_lost_cost_what_was_in_flight(
    cluster: Any, tmp_path: Path, undisturbed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers do not see the run folder: pictures travel."""
    kept: list[str] = []
    put, enter = PictureStore.put, RayCluster.__enter__

    def counted(store: PictureStore, data: bytes) -> Any:
        kept.append("here")
        return put(store, data)

    def entered(crew: RayCluster) -> RayCluster:
        enter(crew)
        crew._token = ("a file that is not there", "")
        return crew

    monkeypatch.setattr(PictureStore, "put", counted)
    monkeypatch.setattr(RayCluster, "__enter__", entered)
    blows = (killing(cluster, "Hand"), killing(cluster, "Desk"), losing(cluster))
    check_strikes(
        tmp_path / "run", undisturbed, list(zip((CALLS // 8, CALLS // 4, CALLS // 2), blows, strict=True))
    )
    assert len(kept) >= PICTURES


def driver(cluster: Any, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Command of the small run on the cluster, and its environment."""
    command = [sys.executable, "-m", "tests.run.small_run", str(folder), f"{folder}.log"]
    return command, {"SMALL_RUN_ENGINE": "ray", "RAY_ADDRESS": cluster.address}


def test_a_driver_that_is_killed_goes_on_where_it_was_without_a_cluster(
    cluster: Any, tmp_path: Path, undisturbed: dict[str, str]
) -> None:
    folder = tmp_path / "run"
    command, environment = driver(cluster, folder)
    with subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environment}) as process:
        while process.poll() is None and len(lines(Path(f"{folder}.log"))) <= CALLS // 3:
            time.sleep(0.002)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    # Ray ends the workers of a driver that is gone; what one had half written is swept by the next start.
    while actors(cluster, "Hand"):
        time.sleep(0.01)
    small_run.main(folder, Path(f"{folder}.log"))
    assert_small_run(folder, undisturbed, 1)


@pytest.mark.slow
def test_an_audit_without_a_network_ends_in_the_same_bytes(
    cluster: Any, tmp_path: Path, tiny_clip: Path
) -> None:
    audit = Audit.from_text(CALIBRATED.format(clip=tiny_clip))
    audit.run(tmp_path / "here")
    audit.run(tmp_path / "there", engine="ray")
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    assert not list((tmp_path / "there").glob(".tmp-*"))


def assert_paced(url: str, n: int, *, per_minute: float) -> None:
    """By the clock of the limiter: so many requests left, none of them earlier than the rate allows."""
    (limiter,) = [one for (address, _), one in LIMITERS._limiters.items() if address == url]
    left = list(limiter._left)
    assert len(left) == n
    every = 60 / per_minute
    early = [k * every - LATE - (left[i + k] - left[i]) for i in range(n) for k in range(n - i)]
    assert max(early) <= 0


def test_models_behind_a_server_say_the_same_and_are_asked_as_often(cluster: Any, tmp_path: Path) -> None:
    asked = []
    for name in ("here", "there"):
        with Loopback(key=KEY) as server:
            audit = Audit.from_text(REMOTE.format(url=server.url))
            audit.run(tmp_path / name, engine="ray" if name == "there" else "local")
            asked.append(Counter((one.kind, one.model, one.status) for one in server.received))
            assert_paced(server.url, len(server.received), per_minute=600)
    assert asked[0] == asked[1]
    here, there = (dict(tables(tmp_path / name)) for name in ("here", "there"))
    assert here.pop("images.parquet") != there.pop("images.parquet")  # how long each call took is in it
    images = [
        pl.read_parquet(tmp_path / name / "images.parquet").drop("latency") for name in ("here", "there")
    ]
    assert images[0].equals(images[1])
    for timed in ("run.json", "seal.json", "audit.yaml"):
        here.pop(timed), there.pop(timed)
    assert here == there
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_what_a_node_lacks_is_told_before_anything_is_asked(cluster: Any, tmp_path: Path) -> None:
    import ray

    with RunFolder(tmp_path / "run") as folder:
        needs = Needs(
            {"pillow": "0.1", "no-such-package": "7"},
            ("A_VARIABLE_NOBODY_SETS",),
            (Path("/no/such/model"),),
            ("auto", "cpu"),
        )
        with pytest.raises(UsageError) as told, Engine("ray").crew(folder, needs):
            raise AssertionError
        assert not list(folder.path.glob(".tmp-*"))
    said = str(told.value)
    assert "what this audit needs is missing, and nothing was asked: node " in said
    assert f"has pillow {version_of('pillow')}, and here is 0.1" in said
    assert "the package no-such-package 7 is not installed" in said
    assert "the environment variable A_VARIABLE_NOBODY_SETS is not set" in said
    assert "/no/such/model is not there" in said
    assert said.count("node ") >= NODES
    notes = require_nodes(ray, str(tmp_path), ("absent", ""), None, Needs())
    assert [note.count(" (") for note in notes] == [NODES]
    assert "the run folder is not there: their pictures travel through this computer" in notes[0]
    with pytest.raises(UsageError, match="each worker gets a GPU; write `device: cuda`"):
        require_nodes(ray, str(tmp_path), ("absent", ""), None, Needs(devices=("cuda:1",)))
    there = PicturePlace(f"file://{tmp_path}/there")
    with pytest.raises(UsageError, match="there is another place there than here; name one that all"):
        require_nodes(ray, str(tmp_path), ("absent", ""), there.url, Needs())
    there.write("token", b"of the head")
    assert require_nodes(ray, str(tmp_path), ("token", "of the head"), there.url, Needs()) == []
    with pytest.raises(UsageError, match=r"node .*: file:///proc/no/about/this.txt: cannot be written"):
        require_nodes(ray, str(tmp_path), ("absent", ""), "file:///proc/no", Needs())


@pytest.mark.slow
def test_a_full_cluster_is_told_and_the_run_goes_on_once_it_has_room(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    monkeypatch.setattr("stereotrope.run.engine.cluster.crew._PATIENCE_SECONDS", 0.5)
    holders = [ray.remote(num_cpus=1)(Seeing).remote() for _ in range(NODES)]
    ray.get([one.__ray_ready__.remote() for one in holders])
    while ray.available_resources().get("CPU", 0):
        time.sleep(0.1)
    told: list[str] = []

    def say(note: str) -> None:
        told.append(note)
        for one in holders:
            ray.kill(one)

    items = Items.of([(f"k{i}", i) for i in range(2)])
    with RunFolder(tmp_path / "run") as folder, Engine("ray").crew(folder, Needs(), say) as crew:
        jobs = [Job(Stage(name, Seeing), items) for name in ("one", "other")]
        done = [summary.done for summary in engine.run(jobs, ledger=folder.ledger, crew=crew)]
    assert done == [2, 2]
    assert len(told) == 1
    assert f"each asks for 1 CPU, and 0 of {NODES} in the cluster are free" in told[0]


@pytest.mark.slow
def test_a_cluster_that_loses_all_its_room_is_told_and_the_run_goes_on_once_a_node_comes(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stereotrope.run.engine.cluster.crew._PATIENCE_SECONDS", 0.5)
    (lost,) = [one for one in cluster.list_all_nodes() if one._ray_params.num_gpus]
    told: list[str] = []
    items = Items.of([(f"k{i:03}", i) for i in range(400)])
    with (
        RunFolder(tmp_path / "run") as folder,
        Engine("ray").crew(folder, Needs(devices=("cuda",)), told.append) as crew,
        ThreadPoolExecutor(1) as pool,
    ):
        see = Job(Stage("see", Seeing, device="cuda"), items)
        run = pool.submit(engine.run, [see], ledger=folder.ledger, crew=crew)
        while not folder.ledger.totals().get("see"):
            time.sleep(0.01)
        told.clear()
        cluster.remove_node(lost, allow_graceful=False)
        while not told and not run.done():
            time.sleep(0.1)
        time.sleep(2)  # it is not said twice
        node(cluster, num_gpus=2)
        (summary,) = run.result()
    assert summary.done == 400
    assert len(told) == 1
    assert "each asks for 1 GPU, and 0 of 0 in the cluster are free" in told[0]


@pytest.mark.slow
def test_pictures_are_written_at_their_url_by_the_workers(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[str] = []
    put = PictureStore.put
    monkeypatch.setattr(PictureStore, "put", lambda store, data: kept.append("here") or put(store, data))
    there = tmp_path / "there"
    with (
        RunFolder(tmp_path / "run", pictures=f"file://{there}") as folder,
        Engine("ray").crew(folder, Needs()) as crew,
    ):
        job = Job(
            Stage("draw", lambda: small_run._Draw(tmp_path / "log"), concurrency=3),
            Items.of((f"k{n}", n) for n in range(12)),
            commit=lambda _key, _item, data: folder.store.put(data)._asdict(),
        )
        engine.run([job], ledger=folder.ledger, crew=crew)
        stored = folder.ledger.get_all("draw")
        assert all(folder.store.get(one["path"]) for one in stored.values())
    assert len(stored) == 12 == len([*there.rglob("*.png")])
    assert not kept
    assert not (tmp_path / "run" / "pictures").exists()


class Seeing:
    """Says which GPUs its process sees."""

    def process(self, item: int) -> dict[str, Any]:
        time.sleep(0.01)
        return {"gpu": os.environ.get("CUDA_VISIBLE_DEVICES"), "process": os.getpid()}


class Broken:
    """Fails at the item 1."""

    def process(self, item: int) -> dict[str, Any]:
        return {"v": 1 // (1 - item)}


@pytest.mark.slow
def test_what_computes_on_a_gpu_gets_one_a_worker_and_a_bug_comes_back_as_it_is(
    cluster: Any, tmp_path: Path
) -> None:
    many, two = (Items.of([(f"k{i:02}", i) for i in range(n)]) for n in (60, 2))
    with RunFolder(tmp_path / "run") as folder, Engine("ray").crew(folder, Needs(devices=("cuda",))) as crew:
        see = Job(Stage("see", Seeing, device="cuda"), many)
        (summary,) = engine.run([see], ledger=folder.ledger, crew=crew)
        seen = {(one["gpu"], one["process"]) for one in folder.ledger.get_all("see").values()}
        with pytest.raises(ZeroDivisionError):
            engine.run([Job(Stage("bug", Broken), two)], ledger=folder.ledger, crew=crew)
        failing = Stage("failing", Broken, expected=(ZeroDivisionError,))
        (failed,) = engine.run([Job(failing, two)], ledger=folder.ledger, crew=crew)
    assert summary.done == 60
    assert {gpu for gpu, _ in seen} <= {"0", "1"}
    assert len({process for _, process in seen}) == len(seen) <= 2
    assert failed.done == 1
    assert list(failed.failed) == ["k01"]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["Hand", "Desk", "node", "driver"])
def test_20_random_moments_each(
    cluster: Any, tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(small_run, "PICTURES", 1_000)
    monkeypatch.setenv("SMALL_RUN_PICTURES", "1000")
    monkeypatch.setattr(sys.modules[__name__], "CALLS", 2_000)
    here, there = tmp_path / "here", tmp_path / "there"
    small_run.main(here, Path(f"{here}.log"))
    points = random_points(20, 1_800, seed=7)
    expected = tables(here)
    if what == "driver":
        command, environment = driver(cluster, there)
        log = Path(f"{there}.log")
        report = kill_and_continue(command, log=log, points=points, environment=environment, folder=ROOT)
        assert_small_run(there, expected, report.killed)
        return
    strike = losing(cluster) if what == "node" else killing(cluster, what)
    check_strikes(there, expected, [(line, strike) for line, _ in points])
