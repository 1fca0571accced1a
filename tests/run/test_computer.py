from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from stereotrope.annotate import ColourAnnotator, Picture, TextAnnotator
from stereotrope.errors import InputError, PictureError
from stereotrope.generate import CalibratedGenerator, ImageRequest
from stereotrope.run import Items, Job, Ledger, PictureStore, Stage, Summary, engine
from stereotrope.run.engine import ThisComputer

N = 140


class Asked:
    """Says in which process it was; misbehaves as it was made to."""

    def __init__(self, on: dict[int, str] | None = None) -> None:
        self.on = on or {}
        self.is_ready = False
        self.home = os.getpid()

    def setup(self) -> None:
        self.is_ready = True

    def process(self, item: int) -> dict[str, Any]:
        print("a library says something")
        match self.on.get(item):
            case "expected":
                raise PictureError("corrupt")
            case "unexpected":
                raise ZeroDivisionError("a bug")
            case "die" if os.getpid() != self.home:
                os.kill(os.getpid(), signal.SIGKILL)
            case "no bytes" if os.getpid() != self.home:
                return {"v": threading.Lock()}
        return {"v": 2 * item, "pid": os.getpid(), "ready": self.is_ready}


class AskedTogether(Asked):
    def process_batch(self, items: list[int]) -> list[dict[str, Any]]:
        return [self.process(item) for item in items]


class Unpicklable(Asked):
    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


class Alone(Unpicklable):
    """Cannot stand two threads at once."""

    def process(self, item: int) -> dict[str, Any]:
        assert self.lock.acquire(blocking=False), "two threads at once"
        time.sleep(0.001)
        self.lock.release()
        return super().process(item)


class AloneUnread(Alone):
    """Is sent, and cannot be read there."""

    def __reduce__(self) -> tuple[Any, ...]:
        return int, ("no number",)


class Odd(PictureError):
    def __init__(self, reason: str, where: str) -> None:
        super().__init__(reason)
        self.where = where


class Failing(Asked):
    """Fails in odd ways: where it is asked for some together, as one of the results."""

    def process(self, item: int) -> Any:
        if item == 3:
            raise Odd("corrupt", where="left")
        return super().process(item)

    def process_batch(self, items: list[int]) -> list[Any]:
        return [Odd("corrupt", where="left") if item == 3 else Asked.process(self, item) for item in items]


class Reading(Asked):
    """Asks other programs, which read what this process is sent, or stay."""

    def process(self, item: int) -> dict[str, Any]:
        if item == 5:
            subprocess.run(["cat"], check=True)
        if item == 6:
            subprocess.Popen(["sleep", "600"])
        return super().process(item)


class NeverReady(Asked):
    def setup(self) -> None:
        raise InputError("the model is not there")


class Awaited(Asked):
    async def process(self, item: int) -> dict[str, Any]:  # type: ignore[override]
        return super().process(item)

    async def close(self) -> None:
        """Let go."""


class Homesick(Asked):
    def __setstate__(self, state: dict[str, Any]) -> None:
        raise ImportError("it has no module here")


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stereotrope.run.engine.computer.processors", lambda: 2)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db") as ledger:
        yield ledger


def carried(worker: Asked, ledger: Ledger, n: int = N, **options: Any) -> Summary:
    options = {"concurrency": 2, **options}
    stage = Stage("s", lambda: worker, in_processes=True, **options)
    items = Items.of((f"k{i:03}", i) for i in range(n))
    with ThisComputer() as crew:
        return engine.run([Job(stage, items)], ledger=ledger, crew=crew)[0]


def pids(ledger: Ledger) -> set[int]:
    return {row["pid"] for row in ledger.get_all("s").values()}


def test_many_items_are_worked_at_by_processes_that_end_with_it(ledger: Ledger) -> None:
    assert carried(Asked(), ledger, quick=True) == Summary(total=N, done=N)
    rows = ledger.get_all("s")
    assert [rows[f"k{i:03}"]["v"] for i in range(N)] == [2 * i for i in range(N)]
    assert all(row["ready"] for row in rows.values())
    assert len(pids(ledger)) == 2
    assert os.getpid() not in pids(ledger)
    for pid in pids(ledger):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_few_items_are_worked_at_here(ledger: Ledger) -> None:
    carried(Asked(), ledger, n=100)
    assert pids(ledger) == {os.getpid()}


def test_one_processor_is_left_to_threads(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stereotrope.run.engine.computer.processors", lambda: 1)
    carried(Asked(), ledger)
    assert pids(ledger) == {os.getpid()}


def test_batches_travel(ledger: Ledger) -> None:
    assert carried(AskedTogether(), ledger, batch_size=10).done == N
    assert os.getpid() not in pids(ledger)


@pytest.mark.parametrize("worker", [Unpicklable, Homesick])
def test_what_cannot_travel_is_worked_at_here(ledger: Ledger, worker: type[Any]) -> None:
    assert carried(worker(), ledger).done == N
    assert pids(ledger) == {os.getpid()}
    assert all(row["ready"] for row in ledger.get_all("s").values())


def test_a_result_that_cannot_travel_is_made_here(ledger: Ledger) -> None:
    assert carried(Asked({50: "no bytes"}), ledger).done == N
    assert ledger.get_all("s")["k050"]["pid"] == os.getpid()


@pytest.mark.parametrize("worker", [Alone, AloneUnread])
def test_no_more_threads_than_asked_for_work_where_it_cannot_travel(
    ledger: Ledger, worker: type[Any]
) -> None:
    assert carried(worker(), ledger, concurrency=1).done == N


@pytest.mark.parametrize("batch_size", [1, 10])
def test_a_failure_keeps_its_kind_and_what_it_says(ledger: Ledger, batch_size: int) -> None:
    summary = carried(Failing(), ledger, batch_size=batch_size)
    assert summary.done == N - 1
    failed = summary.failed["k003"]
    assert (type(failed), failed.reason, failed.where) == (Odd, "corrupt", "left")  # type: ignore[attr-defined]


@pytest.mark.skipif(sys.platform != "linux", reason="asks programs of Linux")
def test_what_a_worker_starts_reads_no_question_and_holds_nothing_up(ledger: Ledger) -> None:
    assert carried(Reading(), ledger) == Summary(total=N, done=N)
    left = subprocess.run(["pgrep", "-x", "-f", "sleep 600"], capture_output=True, check=False).stdout.split()
    assert not [pid for pid in left if is_alive(int(pid))]


def test_what_python_writes_as_it_begins_is_no_answer(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    noise = "import os\nos.write(1, b'Loading\\nTracing enabled')\n"
    (tmp_path / "site" / "sitecustomize.py").write_text(noise)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'site'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    assert carried(Asked(), ledger).done == N
    assert os.getpid() not in pids(ledger)


def test_a_worker_that_cannot_be_made_ready_ends_the_run_as_in_threads(ledger: Ledger) -> None:
    with pytest.raises(InputError, match="the model is not there"):
        carried(NeverReady(), ledger)
    with pytest.raises(InputError, match="the model is not there"):
        carried(NeverReady(), ledger, n=10)


def test_what_is_awaited_needs_no_process(ledger: Ledger) -> None:
    assert carried(Awaited(), ledger, kind="async").done == N
    assert pids(ledger) == {os.getpid()}


def test_one_large_batch_needs_no_process(ledger: Ledger) -> None:
    assert carried(AskedTogether(), ledger, batch_size=1000).done == N
    assert pids(ledger) == {os.getpid()}


def test_workers_that_are_done_are_forgotten_and_a_crew_may_come_back(ledger: Ledger) -> None:
    def asked(name: str) -> int:
        stage = Stage(name, Asked, in_processes=True)
        items = Items.of((f"k{i:03}", i) for i in range(N))
        return engine.run([Job(stage, items)], ledger=ledger, crew=crew)[0].done

    crew = ThisComputer()
    for again in range(2):
        with crew:
            assert [asked(f"{name}{again}") for name in "stuv"] == [N] * 4
            assert {len(one.knows) for one in crew._processes._all} == {1}


def test_an_expected_failure_is_one_items_and_keeps_its_reason(ledger: Ledger) -> None:
    summary = carried(Asked({7: "expected"}), ledger)
    assert (summary.done, list(summary.failed)) == (N - 1, ["k007"])
    assert isinstance(summary.failed["k007"], PictureError)
    assert summary.failed["k007"].reason == "corrupt"


def test_a_bug_ends_the_run_and_says_where_it_is(ledger: Ledger) -> None:
    with pytest.raises(ZeroDivisionError, match="a bug") as raised:
        carried(Asked({7: "unexpected"}), ledger)
    assert 'raise ZeroDivisionError("a bug")' in "".join(raised.value.__notes__)
    assert ledger.get_all("s")  # what was finished is kept


@pytest.mark.parametrize("at", [{0}, {40, 41}, {3, 60, 90, 139}])
def test_a_process_that_is_killed_loses_nothing(ledger: Ledger, at: set[int]) -> None:
    summary = carried(Asked(dict.fromkeys(at, "die")), ledger)
    assert summary == Summary(total=N, done=N)
    rows = ledger.get_all("s")
    assert [rows[f"k{i:03}"]["v"] for i in range(N)] == [2 * i for i in range(N)]
    assert all(rows[f"k{i:03}"]["pid"] == os.getpid() for i in at)


def test_two_stages_share_the_processes(tmp_path: Path, ledger: Ledger) -> None:
    def job(name: str) -> Job:
        stage = Stage(name, Asked, in_processes=True)
        return Job(stage, Items.of((f"k{i:03}", i) for i in range(N)))

    with ThisComputer() as crew:
        done = [one.done for one in engine.run([job("s"), job("t")], ledger=ledger, crew=crew)]
        done += [one.done for one in engine.run([job("u")], ledger=ledger, crew=crew)]
    assert done == [N, N, N]
    found = {row["pid"] for name in "stu" for row in ledger.get_all(name).values()}
    assert len(found) == 2
    assert os.getpid() not in found


def test_no_process_can_be_started(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(subprocess, "Popen", refused)
    assert carried(Asked(), ledger).done == N
    assert pids(ledger) == {os.getpid()}


def test_processes_end_when_who_started_them_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            from stereotrope.run import Items, Job, Ledger, Stage, engine
            from stereotrope.run.engine import ThisComputer, computer
            from tests.run.test_computer import Slow
            computer.processors = lambda: 2
            items = Items.of((f"k{{i}}", i) for i in range(5000))
            stage = Stage("s", Slow, in_processes=True)
            with Ledger({str(tmp_path / "ledger.db")!r}) as ledger, ThisComputer() as crew:
                engine.run([Job(stage, items)], ledger=ledger, crew=crew)
            """
        )
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, str(script)], stderr=subprocess.PIPE, env=env) as running:
        found: set[int] = set()
        until = time.monotonic() + 60
        while len(found) < 2 and time.monotonic() < until:
            time.sleep(0.1)
            if (tmp_path / "ledger.db").exists():
                with Ledger(tmp_path / "ledger.db") as ledger:
                    found = pids(ledger)
        assert len(found) == 2
        running.kill()
        running.communicate()
    while any(map(is_alive, found)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_alive, found))


class Slow(Asked):
    def process(self, item: int) -> dict[str, Any]:
        time.sleep(0.01)
        return super().process(item)


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1][:3]
    except FileNotFoundError:
        return False


def test_what_computes_here_travels_and_says_the_same() -> None:
    generator = CalibratedGenerator(size=160)
    request = ImageRequest("i", "p", "calibrated", "a cup for women", None, 3)
    drawn = generator.process(request)
    assert pickle.loads(pickle.dumps(generator)).process(request) == drawn
    assert drawn.data is not None
    picture = Picture("i", "s", drawn.data)
    for annotator in (ColourAnnotator(), TextAnnotator()):
        come = pickle.loads(pickle.dumps(annotator))
        assert come.in_processes
        assert come.fingerprint == annotator.fingerprint
        assert come.process(picture) == annotator.process(picture)


def test_a_store_of_pictures_travels(tmp_path: Path) -> None:
    store = PictureStore(tmp_path)
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "PNG")
    path = store.put(out.getvalue()).path
    assert pickle.loads(pickle.dumps(store)).get(path) == out.getvalue()
