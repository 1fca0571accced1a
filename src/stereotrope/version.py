"""The version of the package, and the text that it is."""

import hashlib
import os
import time
from functools import cache
from pathlib import Path

__version__ = "0.1.0"
_BEGAN = time.time()


@cache
def program_text_hash() -> str:
    """Hash of every file of this package: between two releases they change under one version.

    A process carries out the text that was there when it began: where a file was written since, nobody can
    say what that was, and the hash is one that no other process has.
    """
    found, root = hashlib.sha256(), Path(__file__).parent
    files = sorted(file for file in root.rglob("*") if file.is_file() and file.suffix != ".pyc")
    for file in files:
        found.update(f"{file.relative_to(root).as_posix()}\n".encode())
        found.update(hashlib.sha256(file.read_bytes()).digest())
    if max(max(file.stat().st_mtime, file.stat().st_ctime) for file in files) >= _BEGAN:
        found.update(os.urandom(16))
    return found.hexdigest()
