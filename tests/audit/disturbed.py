"""Commands that something befalls at a given step: a signal, a kill, a disk that takes no more.

A step is a measure computed, or a file synced or renamed into its place: moments of the work itself, not
of a clock. Run as ``python disturbed.py SIGNAL STEP ARGUMENTS…`` it is ``stereotrope ARGUMENTS…`` that
sends itself a signal at its step ``STEP``.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from stereotrope.audit import estimating
from stereotrope.cli import main
from stereotrope.run import disk

AUDIT = """\
suite: objects
objects: [cup]
dimensions: {gender: [women, men]}
images_per_prompt: 4
generators: [{calibrated: , size: 128}]
annotators: [blank, colour]
permutations: 99
resamples: 100
"""


@contextmanager
def at_step(step: int, act: Callable[[], None]) -> Iterator[list[str]]:
    """Call ``act`` at a step; what is yielded holds the steps so far."""
    steps: list[str] = []

    def counted(name, function):
        def wrapped(*arguments, **options):
            steps.append(name)
            if len(steps) == step:
                act()
            return function(*arguments, **options)

        return wrapped

    with (
        mock.patch.object(estimating, "refuse_stopped", counted("measure", estimating.refuse_stopped)),
        mock.patch.object(os, "fsync", counted("fsync", os.fsync)),
        mock.patch.object(os, "replace", counted("replace", os.replace)),
    ):
        yield steps


@contextmanager
def disk_with_room_for(room: int) -> Iterator[list[int]]:
    """Let so many bytes be written into files of a run, then no more; what is yielded holds sizes so far."""
    written: list[int] = []

    class Filling(io.FileIO):
        def write(self, data):
            fits = max(0, room - sum(written))
            written.append(super().write(bytes(data)[:fits]))
            if written[-1] < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return len(data)

    with mock.patch.object(disk, "open", lambda path, mode: Filling(path, mode), create=True):
        yield written


def files(folder: Path) -> dict[str, str]:
    """Name → SHA-256 of every file of a run with its report; not of ledger, lock and what is kept by time."""
    return {
        file.relative_to(folder).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and not file.name.startswith(("ledger.db", "lock", ".lock", ".owner"))
        and file.relative_to(folder).parts[0] != "cache"
    }


def age(folder: Path) -> dict[str, str]:
    """Make another of every file of a report, as if of an earlier version, so that all is written again."""
    shutil.rmtree(folder / "cache", ignore_errors=True)
    for file in (folder / "report").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes() + b"\n")
    return files(folder)


def is_whole(folder: Path, *known: Mapping[str, str]) -> bool:
    """Whether every finished file of a run is as it was at one of these times."""
    there = {name: one for name, one in files(folder).items() if ".tmp-" not in name}
    return all(one in [at.get(name) for at in known] for name, one in there.items())


if __name__ == "__main__":
    number = int(sys.argv[1])
    with at_step(int(sys.argv[2]), lambda: os.kill(os.getpid(), number)):
        main(sys.argv[3:])
