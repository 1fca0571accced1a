"""The lock of a run folder: one writer at a time."""

import contextlib
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import filelock

from stereotrope.errors import RunLocked
from stereotrope.run.disk import write_atomic

if sys.platform != "win32":  # where a file that is open cannot be removed
    import fcntl

LOCK_FILES = _LOCK, _OWNER = ".lock", ".owner.json"
"""What lies in a run folder that is, or was, written."""


class RunLock:
    """The lock of a run folder, free once its process is gone; a file beside it names the owner to others."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner = folder / _OWNER
        self._lock = filelock.FileLock(folder / _LOCK, thread_local=False)
        self._handle: int | None = None

    def acquire(self) -> str | None:
        """Take the lock; return a note when its last owner died holding it.

        Raises RunLocked: Another process (or another :class:`RunFolder` of this one) writes this run.
        """
        if not self._taken():
            raise RunLocked(
                f"{self._folder}: is being written by {_described(self._folder)}; one writer a run. Wait for "
                "it, stop it, or choose another folder; meanwhile `stereotrope show` and `stereotrope report "
                "-o <elsewhere>` read"
            )
        died = writer_of(self._folder)
        now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        mine = {"host": socket.gethostname(), "pid": os.getpid(), "started": now}
        try:
            write_atomic(self._owner, json.dumps(mine, sort_keys=True).encode())
        except BaseException:
            self._give_back()
            raise
        if died is None:
            return None
        return f"the last writer, {died}, ended without closing the run; continued from its ledger"

    def release(self) -> None:
        """Give the lock back."""
        self._owner.unlink(missing_ok=True)
        self._give_back()

    def _taken(self) -> bool:
        """Take both locks or none: that of the file, and the folder's own, as the file can be removed."""
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout:
            return False
        if sys.platform == "win32":
            return True
        self._handle = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._give_back()
            return False
        except OSError:  # of a file system that locks files alone
            pass
        return True

    def _give_back(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
        self._lock.release()


def writer_of(folder: Path) -> str | None:
    """Who writes a run, or did until it died; None where nobody does, or all ended as they should."""
    return _described(folder) if (folder / _OWNER).exists() else None


def _described(folder: Path) -> str:
    try:
        owner = json.loads((folder / _OWNER).read_bytes())
        return f"process {int(owner['pid'])} on host {owner['host']} since {owner['started']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process that left no name"


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Keep others from writing a run while its report is written.

    Raises RunLocked: Another process (or another :class:`~stereotrope.run.RunFolder` of this one) writes it.
    """
    lock = RunLock(folder)
    lock.acquire()
    try:
        yield
    finally:
        lock.release()
