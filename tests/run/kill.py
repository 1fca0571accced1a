"""Killing a program at random moments and continuing it, to see that nothing is lost or done twice.

The program is any command that writes a run folder and continues it when started again::

    report = kill_and_continue([sys.executable, "-m", "stereotrope", "run", "audit.yaml", "-o", str(folder)],
                               moments=random_moments(50, 0.3, 2.0, seed=1))
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

__all__ = ["KillReport", "kill_and_continue", "random_moments", "run_through", "tables"]


@dataclass(frozen=True)
class KillReport:
    """What happened: kills that hit a living process, starts that ended first, and the last run."""

    killed: int
    ended_first: int
    seconds: float
    stdout: str
    stderr: str


def random_moments(n: int, earliest: float, latest: float, *, seed: int) -> list[float]:
    """Return ``n`` seeded moments in seconds after the start."""
    rng = random.Random(seed)
    return [rng.uniform(earliest, latest) for _ in range(n)]


def kill_and_continue(
    command: Sequence[str],
    *,
    moments: Sequence[float],
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    timeout: float = 600,
) -> KillReport:
    """Start ``command`` once a moment and SIGKILL it (and its children) then; at last let it end.

    Parameters
    ----------
    command
        Must continue when started again.
    moments
        Seconds after each start.
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
    begun = time.monotonic()
    for moment in moments:
        process = _start(command, environment, folder)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            killed += 1
            continue
        _, errors = process.communicate()
        assert process.returncode == 0, f"exit {process.returncode} before the kill: {errors}"
        ended_first += 1
    stdout, stderr = run_through(command, environment=environment, folder=folder, timeout=timeout)
    return KillReport(killed, ended_first, time.monotonic() - begun, stdout, stderr)


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
