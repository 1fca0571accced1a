from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from stereotrope.audit import Audit
from stereotrope.cli import main
from stereotrope.errors import RunError, RunLocked
from stereotrope.run import Run, RunFolder

AUDIT = """\
prompts: [{text: a cup}]
generators: [{calibrated: , size: 64}]
annotators: [colour]
images_per_prompt: 2
measures: [share]
report: {figures: false}
"""
HOLD = (
    "import sys, time\nfrom stereotrope.run import RunFolder\n"
    "with RunFolder(sys.argv[1]) as run:\n    print('held', flush=True)\n    time.sleep(600)\n"
)


@pytest.fixture
def owner(tmp_path: Path):  # type: ignore[no-untyped-def]
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_writer_is_refused_and_told_who_the_first_is(tmp_path: Path, owner) -> None:  # type: ignore[no-untyped-def]
    with (
        pytest.raises(RunLocked, match=f"process {owner.pid} on host {socket.gethostname()} since 20"),
        RunFolder(tmp_path / "run"),
    ):
        pass
    assert owner.poll() is None


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open cannot be removed")
def test_a_second_writer_is_refused_though_the_lock_file_was_removed(tmp_path: Path, owner) -> None:  # type: ignore[no-untyped-def]
    for name in (".lock", ".owner.json"):
        (tmp_path / "run" / name).unlink()
        with pytest.raises(RunLocked, match="one writer a run"), RunFolder(tmp_path / "run"):
            pass
    owner.kill()
    owner.wait()
    for _ in range(2):
        with RunFolder(tmp_path / "run"):
            pass


def test_a_second_writer_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with (
        RunFolder(tmp_path / "run"),
        pytest.raises(RunLocked, match=f"process {os.getpid()} .*one writer a run"),
        RunFolder(tmp_path / "run"),
    ):
        pass


def test_the_lock_of_a_killed_owner_is_taken_over_and_said(tmp_path: Path, owner) -> None:  # type: ignore[no-untyped-def]
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    with RunFolder(tmp_path / "run") as run:
        assert run.notes == [
            note for note in run.notes if f"process {owner.pid} on host" in note and "ended without" in note
        ]
        assert len(run.notes) == 1
        mine = json.loads((tmp_path / "run" / ".owner.json").read_text())
        assert mine["pid"] == os.getpid()


def test_a_closed_run_is_opened_again_without_a_note(tmp_path: Path) -> None:
    for _ in range(2):
        with RunFolder(tmp_path / "run") as run:
            assert run.notes == []
    assert not (tmp_path / "run" / ".owner.json").exists()


def test_an_owner_that_left_a_torn_name_is_still_an_owner(tmp_path: Path, owner) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "run" / ".owner.json").write_text('{"pid": ')
    with pytest.raises(RunLocked, match="another process that left no name"), RunFolder(tmp_path / "run"):
        pass


def test_a_report_is_not_written_beside_a_writer_and_may_lie_elsewhere(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    Audit.from_text(AUDIT).run(tmp_path / "run")
    before = (tmp_path / "run" / "report" / "index.html").stat()
    with RunFolder(tmp_path / "run"), pytest.raises(SystemExit) as refused:
        main(["--quiet", "report", str(tmp_path / "run")])
    assert refused.value.code == 3
    assert "one writer a run" in capsys.readouterr().err
    assert (tmp_path / "run" / "report" / "index.html").stat() == before
    with RunFolder(tmp_path / "run"), pytest.raises(SystemExit) as written:
        main(["--quiet", "report", str(tmp_path / "run"), "-o", str(tmp_path / "elsewhere")])
    assert not written.value.code
    assert (tmp_path / "elsewhere" / "index.html").is_file()


@pytest.mark.parametrize("again", ["run", "measure"])
def test_a_run_is_locked_until_its_report_is_written(tmp_path: Path, monkeypatch, again: str) -> None:  # type: ignore[no-untyped-def]
    audit, tried = Audit.from_text(AUDIT), []
    audit.run(tmp_path / "run")

    def meanwhile(*_, **__):  # type: ignore[no-untyped-def]
        with pytest.raises(RunLocked), RunFolder(tmp_path / "run"):
            pass
        tried.append(again)

    monkeypatch.setattr("stereotrope.report.write", meanwhile)
    getattr(audit, again)(tmp_path / "run")
    assert tried == [again]


def test_what_is_not_there_yet_is_waited_for_where_somebody_writes_it(tmp_path: Path, owner) -> None:  # type: ignore[no-untyped-def]
    told = f"not there yet; .*; wait for process {owner.pid} on host .*, or where that has ended continue it"
    with pytest.raises(RunError, match=told):
        _ = Run(tmp_path / "run").images


def test_a_reader_needs_no_lock(tmp_path: Path, owner) -> None:  # type: ignore[no-untyped-def]
    assert Run(tmp_path / "run").info["format_version"] == 2


def test_a_disk_too_full_to_begin_leaves_the_lock_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("stereotrope.run.disk.os.fsync", full)
        with pytest.raises(RunError, match="No space left on device"):
            RunFolder(tmp_path / "run").__enter__()
    with RunFolder(tmp_path / "run") as run:
        assert run.notes == []
