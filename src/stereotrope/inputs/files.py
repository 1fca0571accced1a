"""Reading files that people name: whole, and none that is larger than it may be."""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

from stereotrope.errors import InputError, MetadataError

_PART = 2**20
MOST_DATA = 2**31
_MOST_TEXT = 4_000_000
"""Bytes of a text that people write by hand; long lists of prompts belong into a CSV file."""


def read_whole(path: Path, most: int) -> bytes:
    """Read a file of at most ``most`` bytes; a device or a pipe, which may have no end, is read no further.

    Raises OSError: It cannot be read, or is larger.
    """
    data = bytearray()
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISREG(found.st_mode) and found.st_size <= most:
            return file.read()
        while found.st_size <= most and len(data) <= most and (part := file.read(_PART)):
            data += part
    if (size := max(found.st_size, len(data))) > most:
        raise OSError(errno.EFBIG, f"larger than {most:,} bytes, found {size:,}")
    return bytes(data)


def read_data(path: Path, name: str, *, most: int = MOST_DATA) -> bytes:
    """Read a file of data that messages call ``name``; of at most ``most`` bytes.

    Raises MetadataError: It cannot be read, or is larger.
    """
    try:
        return read_whole(path, most)
    except OSError as error:
        raise MetadataError(f"{name}: cannot be read ({error.strerror}); check the path") from error


def read_text(
    path: Path | str,
    *,
    what: str,
    absent: str,
    large: str = "split it",
    most: int = _MOST_TEXT,
    error: Callable[[str], Exception] = InputError,
) -> str:
    """Read a file of text in UTF-8.

    what: What it is, for messages.
    absent, large: What to do where it is not there, and where it is too large.
    most: Bytes that it has at most; a device, which may have no end, is read no further.
    error: Makes what is raised from a message.
    """
    try:
        return read_whole(Path(path), most).decode("utf-8-sig")
    except IsADirectoryError:
        raise error(f"{path}: is a folder; name {what} (YAML)") from None
    except FileNotFoundError:
        raise error(f"{path}: no such file; {absent}") from None
    except UnicodeDecodeError as failed:
        at = failed.start
        raise error(
            f"{path}: must be UTF-8 text, found another encoding at byte {at}; save it as UTF-8"
        ) from None
    except OSError as failed:
        hint = f"; {large}" if failed.errno == errno.EFBIG else ""
        raise error(f"{path}: cannot be read: {failed.strerror}{hint}") from failed
