"""Signals, kills and full disks while measures and report are made, and a disk that fills during a run.

Each time the same command ends in the same files.
"""

import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.audit.disturbed import AUDIT, age, at_step, disk_with_room_for, files, is_whole

from stereotrope.audit import Audit
from stereotrope.cli import main

FEW = f"{AUDIT}measures: [bds, share]\n"
COMMANDS = ("measure", "report")
pytestmark = pytest.mark.usefixtures("reported")
DRIVER = Path(__file__).with_name("disturbed.py")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    place = tmp_path_factory.mktemp("undisturbed")
    (place / "audit.yaml").write_text(FEW)
    Audit.from_yaml(place / "audit.yaml").run(place / "run")
    return place / "run"


@pytest.fixture(scope="module")
def lengths(undisturbed, tmp_path_factory):
    """Command → its number of steps."""
    folder = tmp_path_factory.mktemp("counted") / "run"
    shutil.copytree(undisturbed, folder)
    found = {}
    for command in COMMANDS:
        age(folder)
        with at_step(0, lambda: None) as steps:
            assert code(command, folder) == 0
        found[command] = len(steps)
    assert files(folder) == files(undisturbed)
    return found


def code(*arguments):
    with pytest.raises(SystemExit) as ended:
        main(["--quiet", *map(str, arguments)])
    return ended.value.code or 0


def moments(lengths, command, n):
    """Seeded steps of a command, the first and the last always among them."""
    inner = random.Random(command).sample(range(2, lengths[command]), n - 2)
    return sorted([1, *inner, lengths[command]])


@pytest.mark.parametrize(
    ("number", "command"),
    [
        (signal.SIGINT, "measure"),
        (signal.SIGTERM, "report"),
        pytest.param(signal.SIGTERM, "measure", marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, "report", marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_the_work_after_the_measure_or_file_at_hand(
    undisturbed, lengths, tmp_path, capsys, monkeypatch, command, number
):
    folder = tmp_path / "run"
    monkeypatch.setattr(sys, "argv", ["stereotrope", command, "the run"])
    shutil.copytree(undisturbed, folder)
    for step in moments(lengths, command, 3):
        age(folder)
        guard = signal.signal(number, lambda *_: pytest.fail("the signal met no handler of the command"))
        try:
            with at_step(step, lambda: signal.raise_signal(number)) as steps:
                assert code(command, folder) == 128 + number
        finally:
            signal.signal(number, guard)
        left = steps[step:]
        assert left.count("measure") == 0
        assert left.count("replace") <= 2  # the file at hand, and what is kept of those before
        assert f"continue with: stereotrope {command} 'the run'" in capsys.readouterr().err
    assert code(command, folder) == 0
    assert files(folder) == files(undisturbed)


@pytest.mark.parametrize("kills", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_kill_while_measures_and_report_are_made_leaves_no_half_file(
    undisturbed, lengths, tmp_path, command, kills
):
    folder = tmp_path / "run"
    shutil.copytree(undisturbed, folder)
    after = files(undisturbed)
    for step in moments(lengths, command, kills + 2)[1:-1]:
        before = age(folder)
        ended = subprocess.run(
            [sys.executable, DRIVER, str(int(signal.SIGKILL)), str(step), "--quiet", command, folder],
            capture_output=True,
            check=False,
        )
        assert ended.returncode == -signal.SIGKILL
        assert is_whole(folder, before, after)
    assert code(command, folder) == 0
    assert files(folder) == after


def test_a_signal_before_the_work_begins_ends_the_command_too(monkeypatch, capsys):
    for number in (signal.SIGINT, signal.SIGTERM):
        monkeypatch.setattr(
            "stereotrope.cli.catalogue.print_suites", lambda *_, n=number: signal.raise_signal(n)
        )
        assert code("suites") == 128 + number
        assert "stopped; this command had nothing to keep yet\nbegin again with: " in capsys.readouterr().err


def test_a_signal_after_the_work_says_that_it_is_kept(undisturbed, tmp_path, monkeypatch, capsys):
    shutil.copytree(undisturbed, folder := tmp_path / "run")

    def printed(*_, **__):
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr("stereotrope.cli.console.print_headline", printed)
    assert code("measure", folder) == 128 + signal.SIGTERM
    assert "stopped; everything finished is kept\ncontinue with: " in capsys.readouterr().err


ROOM = (
    "cannot be written .No space left on device; .* MB free on this disk.. Everything finished before is kept"
)


def test_a_disk_that_fills_at_10_random_bytes_of_run_and_report_costs_nothing_but_time(
    undisturbed, tmp_path, capsys
):
    (tmp_path / "audit.yaml").write_text(FEW)
    folder, rng = tmp_path / "run", random.Random(20)
    run = ("run", tmp_path / "audit.yaml", "-o", folder)
    pages = sum(file.stat().st_size for file in (undisturbed / "report").rglob("*") if file.is_file())
    for command in (run, ("report", folder)):
        for room in sorted(int(pages ** rng.random()) for _ in range(5)):
            before = age(folder)
            with disk_with_room_for(room):
                assert code(*command) == 3
            error = capsys.readouterr().err
            assert error.count("error: ") == 1
            assert re.search(ROOM, error)
            if command[0] == "report":
                assert is_whole(folder, before, files(undisturbed))
        assert code(*run) == 0
    assert files(folder) == files(undisturbed)
