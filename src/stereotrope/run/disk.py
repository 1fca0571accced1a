"""Writing to disk so that a file is either the old one or the new one, never half of either."""

import contextlib
import errno
import hashlib
import itertools
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from stereotrope.errors import RunError

TMP_PREFIX = ".tmp-"
"""Every unfinished file of a run begins with this; what a killed process left is swept at the next start."""

QUARANTINE = "quarantine"

LONGEST_STEM = 100
"""Characters of a thing's name in that of its file."""

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def file_stem(name: str) -> str:
    """Name of the file that belongs to a thing with a name of the user's.

    A name that no file can have as it is gets a part of its hash, so that no two share a file.

    >>> file_stem("clip-vit"), file_stem("a b/c")
    ('clip-vit', 'a-b-c-539138d5')
    """
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip(".")[:LONGEST_STEM]
    return stem if stem == name else f"{stem}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def explain_full(path: Path, found: str) -> RunError:
    """The error for a disk that takes no more: what is kept, and how to go on."""
    folder = path if path.is_dir() else path.parent
    free = shutil.disk_usage(folder).free if folder.is_dir() else 0
    return RunError(
        f"{path}: cannot be written ({found}; {free / 1e6:,.0f} MB free on this disk). Everything finished "
        "before is kept; make room (or raise the quota), then run the same command again to continue"
    )


@contextlib.contextmanager
def full_is_run_error(path: Path) -> Iterator[None]:
    """Turn a full disk, quota or file-size limit into one clear :class:`RunError`."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise explain_full(path, os.strerror(error.errno or 0)) from error
        raise


def sync_folder(folder: Path | str) -> None:
    """Make renames in ``folder`` durable; does nothing where folders cannot be synced (Windows)."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def require_folder_name(path: Path) -> None:
    """Refuse what can be no name of a folder of ours.

    Raises RunError: It is an address, or not UTF-8, which readers of tables cannot open.
    """
    name = str(path)
    if _ADDRESS.match(name) and not path.is_dir():
        raise RunError(
            f"{name}: is an address, and runs and reports lie in folders of this "
            "computer; choose one (pictures of a run can lie elsewhere: --pictures)"
        )
    try:
        name.encode()
    except UnicodeEncodeError:
        raise RunError(f"{name!a}: the name of the folder must be UTF-8; rename it") from None


def make_folder(path: Path) -> Path:
    """Make a folder and those above it, where they are not there; return it.

    Raises RunError: The disk is full, or it has the name of something else.
    """
    require_folder_name(path)
    with full_is_run_error(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` as :func:`written_atomic` does."""
    with written_atomic(path) as handle:
        handle.write(data)


@contextlib.contextmanager
def written_atomic(path: Path) -> Iterator[BinaryIO]:
    """Let the content of ``path`` be written: temporary file, fsync, rename, fsync of the folder.

    Raises RunError: The disk is full; what was at ``path`` is as it was.
    Raises OSError: It cannot be written; it names ``path``.
    """
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f"{TMP_PREFIX}{secrets.token_hex(6)}-{name}")
    with full_is_run_error(path):
        try:
            with open(temporary, "xb") as handle:
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            os.replace(temporary, path)
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            if isinstance(error, OSError):
                raise OSError(error.errno, error.strerror, str(path)) from error
            raise
        sync_folder(folder or os.curdir)


def sweep(folder: Path, *, below: bool = True) -> None:
    """Remove the unfinished files a killed process left in a folder, and ``below`` it."""
    for parent, folders, names in os.walk(folder):
        if not below:
            folders.clear()
        for name in names:
            if name.startswith(TMP_PREFIX):
                (Path(parent) / name).unlink(missing_ok=True)


def quarantine(root: Path, path: Path) -> Path:
    """Move a damaged file of the run at ``root`` into ``quarantine/``, under a name not taken yet."""
    folder = root / QUARANTINE
    folder.mkdir(exist_ok=True)
    names = (folder / f"{number}-{path.name}" for number in itertools.count(1))
    target = next(name for name in names if not name.exists())
    os.replace(path, target)
    sync_folder(folder)
    sync_folder(path.parent)
    return target
