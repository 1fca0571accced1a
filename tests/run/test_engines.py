"""Choosing an engine by its name, and what is said where the one that is asked for cannot work."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from stereotrope.audit import Audit
from stereotrope.audit.mitigating import Mitigation
from stereotrope.audit.needs import needs_of
from stereotrope.calibrate import calibrate
from stereotrope.cli.app import app
from stereotrope.errors import UsageError
from stereotrope.generate import create
from stereotrope.run import Engine, Needs, RunFolder, engine_of
from stereotrope.run.engine.cluster import crew as crews
from stereotrope.run.engine.cluster.nodes import require_nodes
from stereotrope.version import __version__


def test_an_engine_is_known_by_its_name() -> None:
    assert engine_of("ray") == Engine("ray")
    assert engine_of(Engine("ray", "auto")).ray_address == "auto"
    with pytest.raises(UsageError, match="there is no engine 'rai'; did you mean 'ray'"):
        engine_of("rai")
    with pytest.raises(UsageError, match="there is no engine 'cloud'; there are local and ray"):
        engine_of("cloud")


def test_an_address_without_the_engine_is_refused() -> None:
    with pytest.raises(UsageError, match="--ray-address is of the engine ray; add --engine ray"):
        Engine("local", "auto")


def test_a_wrong_engine_touches_nothing(tmp_path: Path) -> None:
    audit = Audit.from_text("suite: objects\nobjects: [cup]\ngenerators: [calibrated]\n")
    with pytest.raises(UsageError, match="no engine"):
        audit.run(tmp_path / "run", engine="rai")
    assert not (tmp_path / "run").exists()


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        RunFolder(tmp_path / "run") as folder,
        pytest.raises(UsageError, match=r"the package ray is not installed here; .*'stereotrope\[ray\]'"),
    ):
        Engine("ray").crew(folder, Needs())


def test_where_no_cluster_answers_the_address_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nobody:
        @staticmethod
        def init(*_: Any, **__: Any) -> None:
            raise ConnectionError("nobody there")

    with pytest.raises(
        UsageError, match=r"no cluster can be reached at 'head:1' \(nobody there\).*ray status"
    ):
        crews.connect(Nobody, "head:1")  # type: ignore[arg-type]
    monkeypatch.setenv("RAY_ADDRESS", "other:2")
    with pytest.raises(UsageError, match="'other:2'"):
        crews.connect(Nobody, None)  # type: ignore[arg-type]


def test_nothing_but_the_engine_loads_ray_and_it_reports_to_nobody() -> None:
    lines = [
        "import os, sys, stereotrope.cli, stereotrope.audit, stereotrope.run.engine.cluster",
        "assert 'ray' not in sys.modules",
        "from stereotrope.run.engine.cluster.crew import ray_module",
        "os.environ['RAY_USAGE_STATS_ENABLED'] = '1'",
        "ray_module()",
        "from ray._common.usage import usage_lib",
        "assert not usage_lib.usage_stats_enabled()",
    ]
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_instruments_need_is_said_of_all_their_parts(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    there = create({"folder": str(pictures)})
    asked = create({"images": "openai:gpt-image-1", "key": "SOME_KEY"})
    needs = needs_of([there, asked, create("calibrated")])
    assert needs.variables == ("SOME_KEY",)
    assert needs.on_disk == (pictures.resolve(),)
    assert needs.devices == ("cpu",)
    assert needs.packages["stereotrope"] == __version__
    assert {"pillow", "numpy"} <= needs.packages.keys()


def test_a_cluster_without_a_processor_is_refused() -> None:
    class Empty:
        nodes = staticmethod(lambda: [{"Alive": True, "Resources": {"memory": 1.0}}, {"Alive": False}])
        cluster_resources = staticmethod(dict)

    with pytest.raises(UsageError, match="the cluster has no node with a processor; the cluster has no GPU"):
        require_nodes(Empty, "run", ("", ""), None, Needs(devices=("cuda",)))


def test_every_command_that_draws_or_looks_takes_an_engine(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no engine 'rai'"):
        calibrate(["colour"], tmp_path / "calibrated", engine="rai")
    with pytest.raises(UsageError, match="no engine 'rai'"):
        Mitigation(tmp_path, ["ethical"], engine="rai")
    audit = tmp_path / "audit.yaml"
    audit.write_text("suite: objects\nobjects: [cup]\ngenerators: [calibrated]\n")
    runner = CliRunner()
    for command in (["run", str(audit)], ["calibrate"], ["mitigate", str(tmp_path), "--with", "ethical"]):
        ended = runner.invoke(app, [*command, "--ray-address", "auto"])
        assert isinstance(ended.exception, UsageError), command
        assert "--ray-address is of the engine ray" in str(ended.exception)


@pytest.mark.parametrize(
    ("in_hand", "halted", "other"), [(True, False, "b"), (False, False, None), (True, True, None)]
)
def test_a_worker_that_ends_with_work_in_hand_is_replaced(
    in_hand: bool, halted: bool, other: str | None
) -> None:
    crew = object.__new__(crews.RayCluster)
    told: list[str] = []
    crew._ray = SimpleNamespace(get=lambda ref: None, exceptions=SimpleNamespace(RayActorError=OSError))
    crew._head = SimpleNamespace(has=lambda number, name: in_hand)
    crew._replaced = lambda name, why: told.append(why) or "b"
    job = SimpleNamespace(halted=threading.Event())
    if halted:
        job.halted.set()
    assert crew._successor(None, "a", 0, job) == other
    assert [why.count("ended with work in hand") for why in told] == [1] * (other is not None)
