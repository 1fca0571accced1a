"""What an earlier report made and a later one need not make again; it may be deleted at any time.

Nothing here is needed: what is torn or cannot be read is not there, and where nothing can be written nothing
is kept.
"""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

from stereotrope.errors import RunError
from stereotrope.run import write_atomic

FOLDER = "cache"
"""Folder of a run that holds it."""


def bytes_at(path: Path) -> bytes | None:
    """What a file holds, None where there is none that can be read: a pipe would be waited for."""
    with contextlib.suppress(OSError):
        return path.read_bytes() if path.is_file() else None
    return None


def read_kept(file: Path) -> bytes | None:
    """What :func:`keep` wrote, to the last byte; None for anything else."""
    digest, _, data = (bytes_at(file) or b"").partition(b"\n")
    return data if hashlib.sha256(data).hexdigest().encode() == digest else None


def keep(file: Path, data: bytes) -> None:
    """Write a file behind its own hash, if it can be written."""
    with contextlib.suppress(OSError, RuntimeError, RunError):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, hashlib.sha256(data).hexdigest().encode() + b"\n" + data)


class KeptTexts:
    """Texts by key in one file: those of the last report until :meth:`save`, then those that this one used.

    Keys have no space and texts no line break.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = (read_kept(file) or b"").decode().splitlines()
        self._before = dict(line.split(" ", 1) for line in lines)
        self._used: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        """Return the text of a key, None where there is none."""
        text = self._used.get(key, self._before.get(key))
        if text is not None:
            self._used[key] = text
        return text

    def put(self, key: str, text: str) -> None:
        """Keep a text."""
        self._used[key] = text

    @contextlib.contextmanager
    def saved(self) -> Iterator[None]:
        """Save what was used when the work ends; of work that was stopped, also what was not come to."""
        try:
            yield
        except BaseException:
            self._used = self._before | self._used
            raise
        finally:
            if self._used != self._before:
                lines = [f"{key} {text}" for key, text in sorted(self._used.items())]
                keep(self._file, "\n".join(lines).encode())
