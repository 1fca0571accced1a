"""A ledger whose log was lost, and what stops leave in honesty: pictures without a row."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from PIL import Image
from tests.generate.remote.asking import fast

import stereotrope as st
from stereotrope.audit.unrecorded import UNRECORDED
from stereotrope.cli import main
from stereotrope.errors import RunDamaged
from stereotrope.run import Ledger, PictureStore
from stereotrope.testing import Loopback

N = 100
LOGS = ("ledger.db-wal", "ledger.db-shm")
LIST = "unrecorded.txt"
TOLD = (
    r"without a record, and stops can have left \d+; .* nothing was asked\. Put ledger\.db back with the log"
)


def text_of(server: Loopback, n: int = N, **more: Any) -> str:
    paid = {"base_url": server.url, "price": {"image": 0.05}, "concurrency": 4}
    asked = {
        "prompts": [{"text": "a cup"}],
        "images_per_prompt": n,
        "generators": [fast(images="openai:m", name="painter", **paid)],
        "annotators": ["blank"],
        "measures": ["refusal_rate"],
        "report": {"figures": False},
    }
    return json.dumps({**asked, **more})


def judged(server: Loopback, n: int) -> str:
    """Drawn here for nothing, and looked at by a model."""
    judge = fast(
        questions="openai:j",
        name="judge",
        base_url=server.url,
        price={"call": 0.01},
        attributes={"style": ["plain", "ornate"]},
    )
    return text_of(server, n, generators=["calibrated"], annotators=[judge])


def n_asked(server: Loopback) -> int:
    return len(server.received)


def kill_at(server: Loopback, audit: Path, folder: Path, n: int) -> None:
    """Run and SIGKILL once the server was asked so often."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stereotrope", "--quiet", "run", str(audit), "-o", str(folder)],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while n_asked(server) < n and process.poll() is None:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


class Killed(NamedTuple):
    server: Loopback
    audit: Path
    folder: Path

    def run(self) -> st.Run:
        return st.Audit.from_yaml(self.audit).run(self.folder)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Killed]:
    """A first run that was killed after 60 of its 100 pictures: all rows are in the log."""
    at = tmp_path_factory.mktemp("first")
    with Loopback(latency=0.02) as server:
        (at / "audit.yaml").write_text(text_of(server))
        kill_at(server, at / "audit.yaml", at / "run", 60)
        yield Killed(server, at / "audit.yaml", at / "run")


@pytest.fixture
def killed(first: Killed, tmp_path: Path) -> Killed:
    return first._replace(folder=Path(shutil.copytree(first.folder, tmp_path / "run")))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback() as running:
        yield running


def removed(folder: Path) -> None:
    for log in LOGS:
        (folder / log).unlink()


def cut(folder: Path) -> None:
    (folder / LOGS[1]).unlink()
    os.truncate(folder / LOGS[0], (folder / LOGS[0]).stat().st_size // 4)


@pytest.mark.parametrize("lose", [removed, cut])
def test_a_run_whose_log_is_lost_pays_for_nothing_again(
    killed: Killed, lose: Callable[[Path], None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, asked = killed.folder, n_asked(killed.server)
    shutil.copytree(folder, tmp_path / "sound")
    lose(folder)
    for command in (["--plan"], [], []):
        with pytest.raises(SystemExit) as stop:
            main(["run", str(killed.audit), "-o", str(folder), "--max-cost", "20", *command])
        assert stop.value.code == 3
        said = " ".join(capsys.readouterr().err.split())
        assert "pictures lie in pictures/ without a record" in said
        assert (folder / LIST).exists() == (not command)
    assert n_asked(killed.server) == asked
    named = (folder / LIST).read_text().split()
    assert named
    assert set(named) <= set(PictureStore(folder).paths)
    for name in LOGS:
        shutil.copy(tmp_path / "sound" / name, folder)
    assert killed.run().images["status"].to_list() == ["ok"] * N
    assert n_asked(killed.server) - asked <= N - 60 + 4
    assert not (folder / LIST).exists()


def test_the_user_can_have_what_was_lost_made_again(killed: Killed) -> None:
    removed(killed.folder)
    before, asked = (killed.folder / "ledger.db").read_bytes(), n_asked(killed.server)
    with pytest.raises(RunDamaged, match=TOLD):
        killed.run()
    assert (killed.folder / "ledger.db").read_bytes() == before
    (killed.folder / LIST).rename(killed.folder / "quarantine" / LIST)
    assert killed.run().images.height == N
    assert n_asked(killed.server) - asked == N
    more = json.loads(killed.audit.read_text()) | {"images_per_prompt": N + 1}
    assert st.Audit.from_text(json.dumps(more)).run(killed.folder).images.height == N + 1


def test_an_honest_kill_goes_on(killed: Killed) -> None:
    asked = n_asked(killed.server)
    assert killed.run().images["status"].to_list() == ["ok"] * N
    assert n_asked(killed.server) - asked <= N - 60 + 4


def test_a_run_killed_again_and_again_goes_on(tmp_path: Path) -> None:
    with Loopback(latency=0.005, seeds=False) as server:
        unseeded = json.loads(text_of(server))
        unseeded["generators"][0]["seed"] = False
        (tmp_path / "audit.yaml").write_text(json.dumps(unseeded))
        for n in (20, 45, 70):
            kill_at(server, tmp_path / "audit.yaml", tmp_path / "run", n)
        run = st.Audit.from_yaml(tmp_path / "audit.yaml").run(tmp_path / "run")
        assert run.images["status"].to_list() == ["ok"] * N
        assert n_asked(server) <= N + 3 * 4


def forget(folder: Path, n: int) -> list[str]:
    """Lose rows whose calls are recorded, as stops do between picture and row."""
    with Ledger(folder / "ledger.db") as ledger:
        keys = [*ledger.get_all("generate")][:n]
        ledger.forget("generate", keys)
    (folder / "images.parquet").unlink()
    return keys


def test_what_many_stops_left_is_known_by_its_calls(server: Loopback, tmp_path: Path) -> None:
    st.Audit.from_text(text_of(server, 60)).run(tmp_path)
    forget(tmp_path, 50)
    st.Audit.from_text(text_of(server, 60)).run(tmp_path)
    assert n_asked(server) == 60 + 50


def put_strays(folder: Path, n: int, name: str) -> None:
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for i in range(n):
        data = f"{name}{i}".encode()
        digest = hashlib.sha256(data).hexdigest()
        (folder / "pictures" / digest[:2]).mkdir(exist_ok=True)
        (folder / "pictures" / digest[:2] / f"{digest}.png").write_bytes(data)


def test_what_stops_left_of_pictures_drawn_here_does_not_add_up(server: Loopback, tmp_path: Path) -> None:
    for n in range(1, 5):
        st.Audit.from_text(judged(server, n)).run(tmp_path)
        put_strays(tmp_path, 60, f"stop {n}: ")
    st.Audit.from_text(judged(server, 5)).run(tmp_path)
    with Ledger(tmp_path / "ledger.db", readonly=True) as ledger:
        assert ledger.totals()[UNRECORDED] == 4 * 60
    put_strays(tmp_path, 200, "lost: ")
    asked = n_asked(server)
    with pytest.raises(RunDamaged, match=rf"200 pictures lie in pictures/ {TOLD}"):
        st.Audit.from_text(judged(server, 6)).run(tmp_path)
    assert n_asked(server) == asked
    st.Audit.from_text(judged(server, 5)).run(tmp_path)  # nothing is to be drawn: nothing is listed


def test_what_costs_nothing_is_drawn_again(tmp_path: Path) -> None:
    free = json.dumps(
        {"prompts": [{"text": "a cup"}], "images_per_prompt": 3, "generators": ["calibrated"]}
        | {"annotators": ["blank"], "measures": ["refusal_rate"], "report": {"figures": False}}
    )
    st.Audit.from_text(free).run(tmp_path)
    forget(tmp_path, 3)
    put_strays(tmp_path, 500, "lost: ")
    assert st.Audit.from_text(free).run(tmp_path).images.height == 3


def test_one_picture_for_all_is_no_loss(tmp_path: Path) -> None:
    one = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(one, "PNG")
    with Loopback(painter=lambda *_: one.getvalue()) as server:
        st.Audit.from_text(text_of(server, 20)).run(tmp_path)
        forget(tmp_path, 15)
        assert st.Audit.from_text(text_of(server, 30)).run(tmp_path).images.height == 30


def test_pictures_of_what_the_audit_no_longer_asks_for_are_known(server: Loopback, tmp_path: Path) -> None:
    both = {"prompts": [{"text": "a cup"}, {"text": "a car"}]}
    st.Audit.from_text(text_of(server, 40, **both)).run(tmp_path)
    run = st.Audit.from_text(text_of(server, 42)).run(tmp_path)
    assert run.images.height == 42
    assert n_asked(server) == 82


def test_pictures_of_others_at_one_place_are_not_counted(server: Loopback, tmp_path: Path) -> None:
    put_strays(tmp_path / "place", 100, "of another run: ")
    place = f"file://{tmp_path / 'place'}"
    for n in (1, 2):
        st.Audit.from_text(text_of(server, n)).run(tmp_path / "run", pictures=place)
    assert n_asked(server) == 2


def test_who_was_told_of_an_older_ledger_is_not_told_again(server: Loopback, tmp_path: Path) -> None:
    st.Audit.from_text(text_of(server, 3)).run(tmp_path)
    older, audit = (tmp_path / "ledger.db").read_bytes(), st.Audit.from_text(text_of(server, 60))
    audit.run(tmp_path)
    (tmp_path / "ledger.db").write_bytes(older)
    with pytest.raises(RunDamaged, match="an older copy: it lacks 57 of 60 pictures"):
        audit.run(tmp_path)
    (tmp_path / "images.parquet").unlink()
    assert audit.run(tmp_path).images.height == 60
    assert n_asked(server) == 60 + 57
