"""Killing a program at random points of its work and continuing it: nothing is lost or done twice.

The program is any command that writes a run folder, continues it when started again, and notes each call in
a log. A kill comes once the log has so many lines, so that as many hit on a busy machine as on an idle one::

    report = kill_and_continue([sys.executable, "-m", "stereotrope", "run", "audit.yaml", "-o", str(folder)],
                               log=log, points=random_points(50, calls, seed=1))
    assert tables(folder) == tables(undisturbed)
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["KillReport", "kill_and_continue", "random_points", "run_through", "tables"]


_POLL = 0.001
_LONGEST_WAIT = 0.02


@dataclass(frozen=True)
class KillReport:
    """Kills that hit a living process, starts that ended first, and what the last run wrote."""

    killed: int
    ended_first: int
    stdout: str
    stderr: str


def random_points(n: int, calls: int, *, seed: int) -> list[tuple[int, float]]:
    """Return ``n`` seeded points: lines of the log, rising, and seconds to wait after that line."""
    rng = random.Random(seed)
    lines = sorted(rng.randrange(calls) for _ in range(n))
    return [(line, rng.uniform(0, _LONGEST_WAIT)) for line in lines]


def kill_and_continue(
    command: Sequence[str],
    *,
    log: Path,
    points: Sequence[tuple[int, float]],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout: float = 600,
) -> KillReport:
    """Start ``command`` once a point and SIGKILL it (and its children) there; at last let it end.

    Parameters
    ----------
    command
        Must continue when started again.
    log
        Gains a line a call.
    points
        Lines that the log has at the kill, and seconds between that line and the kill.
    environment
        Further environment variables.
    folder
        Where it is started.

    Raises
    ------
    AssertionError
        A start ended by itself with an error, before the kill or at last.
    """
    killed = ended_first = 0
    for line, wait in points:
        process = _start(command, environment, folder)
        while process.poll() is None and _lines(log) <= line:
            time.sleep(_POLL)
        time.sleep(wait)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            killed += 1
            continue
        _, errors = process.communicate()
        assert process.returncode == 0, f"exit {process.returncode} before the kill: {errors}"
        ended_first += 1
    stdout, stderr = run_through(command, environment=environment, folder=folder, timeout=timeout)
    return KillReport(killed, ended_first, stdout, stderr)


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def run_through(
    command: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout: float = 600,
) -> tuple[str, str]:
    """Let a command run to its end; return what it wrote to stdout and stderr."""
    process = _start(command, environment, folder)
    stdout, stderr = process.communicate(timeout=timeout)
    assert process.returncode == 0, f"exit {process.returncode}: {stderr}"
    return stdout, stderr


def tables(folder: Path) -> dict[str, str]:
    """Return name → SHA-256 of every Parquet file, picture and JSON or YAML file that a run consists of."""
    kept = (".parquet", ".png", ".jpg", ".webp", ".json", ".yaml")
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.suffix in kept and "report" not in file.relative_to(folder).parts[:1]
    }


def _start(
    command: Sequence[str], environment: Mapping[str, str] | None, folder: Path | None
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
