"""One writer a run."""

import json
import os
import socket
import time
from pathlib import Path

import filelock

from stereotrope.errors import RunError, RunLocked
from stereotrope.run.disk import write_atomic

_LOCK, _OWNER = ".lock", ".owner.json"
LOCK_FILES = (_LOCK, _OWNER)


class RunLock:
    """The lock of a run folder, held by the one process that writes it.

    The operating system holds the lock for the life of the process, so a killed owner's lock is free at
    once. A file beside it says who the owner is, only for the message another process shows.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._owner = folder / _OWNER
        self._lock = filelock.FileLock(folder / _LOCK, thread_local=False)

    def acquire(self) -> str | None:
        """Take the lock; return a note when its last owner died holding it.

        Raises RunLocked: Another process (or another :class:`RunFolder` of this one) writes this run.
        """
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout as error:
            raise RunLocked(
                f"{self._folder}: is being written by {self._describe()}; one writer a run. Wait for it, "
                "stop it, or choose another folder; reading is possible meanwhile"
            ) from error
        died = self._describe() if self._owner.exists() else None
        now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
        mine = {"host": socket.gethostname(), "pid": os.getpid(), "started": now}
        try:
            write_atomic(self._owner, json.dumps(mine, sort_keys=True).encode())
        except RunError:
            self._lock.release()
            raise
        if died is None:
            return None
        return f"the last writer, {died}, ended without closing the run; continued from its ledger"

    def release(self) -> None:
        """Give the lock back."""
        self._owner.unlink(missing_ok=True)
        self._lock.release()

    def _describe(self) -> str:
        try:
            owner = json.loads(self._owner.read_bytes())
            return f"process {int(owner['pid'])} on host {owner['host']} since {owner['started']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process that left no name"
