"""The pictures of a run: original bytes, named by their content."""

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from stereotrope.errors import PictureUnavailable, RunDamaged, RunError
from stereotrope.pictures import sniff
from stereotrope.run.disk import full_is_run_error, quarantine, sync_folder, write_atomic
from stereotrope.run.place import PicturePlace, recorded

_EXTENSIONS = {"png": "png", "jpeg": "jpg", "webp": "webp"}
_PATH = re.compile(r"pictures/([0-9a-f]{2})/(\1[0-9a-f]{62})\.(?:png|jpg|webp)")
_HASHING_THREADS = 4


class StoredPicture(NamedTuple):
    """Where a picture lies."""

    sha256: str
    path: str


class PictureStore:
    """Content-addressed pictures below a run folder: ``pictures/ab/abcdef….png``.

    root: The run folder.
    url: Where they lie instead, as ``pictures.url`` in the run folder says (:class:`~.place.PicturePlace`).
    """

    def __init__(self, root: Path | str, url: str | None = None) -> None:
        self.root = Path(root)
        url = url or recorded(self.root)
        self.place = None if url is None else PicturePlace(url)

    def __reduce__(self) -> tuple[Any, ...]:
        return PictureStore, (self.root, None if self.place is None else self.place.url)

    def put(self, data: bytes) -> StoredPicture:
        """Keep the original bytes; durable when this returns, and free of charge the second time.

        What is no file and has its name is moved into ``quarantine/``.

        Raises PictureError: It is no PNG, JPEG or WebP.
        Raises RunError: The disk is full, or the run folder is not there any more.
        """
        extension = _EXTENSIONS[sniff(data)]
        sha256 = hashlib.sha256(data).hexdigest()
        stored = StoredPicture(sha256, f"pictures/{sha256[:2]}/{sha256}.{extension}")
        if self.place is not None:
            self.place.write(stored.path, data)
            return stored
        target = self.root / stored.path
        with contextlib.suppress(OSError):
            there = os.stat(target)
            if stat.S_ISREG(there.st_mode):
                if there.st_size == len(data):
                    return stored
            else:
                quarantine(self.root, target)
        if not os.path.isdir(target.parent):
            self._make(target.parent)
        write_atomic(target, data)
        return stored

    def _make(self, folder: Path) -> None:
        """Make a folder of pictures, durable when this returns.

        Never the run folder itself: where that was moved, the ledger went with it and would say of pictures
        that they are where they are not.
        """
        if not self.root.is_dir():
            raise RunError(
                f"{self.root}: the run folder was moved or removed while it is written; run the same command "
                "with -o and the folder's new place to continue"
            )
        with full_is_run_error(folder):
            for path in (folder.parent, folder):
                if not path.is_dir():
                    path.mkdir(exist_ok=True)
                    sync_folder(path.parent)

    def get(self, path: str) -> bytes:
        """Return the bytes of a picture, checked against its name.

        Raises RunDamaged: ``path`` is no picture's path, or the file is missing or was changed.
        Raises PictureUnavailable: The file is there and cannot be read just now.
        """
        sha256 = _sha256_of(path)
        if sha256 is None:
            raise RunDamaged(
                f"{self.root}: {path!r} is not the path of a picture in a run (pictures/ab/ab….png)"
            )
        file = f"{self.root if self.place is None else self.place.url}/{path}"
        data = self._read(path) if self.place is None else self.place.read(path)
        if data is None:
            raise RunDamaged(f"{file}: the picture is missing; run the same command again to make it anew")
        if hashlib.sha256(data).hexdigest() != sha256:
            first = "" if self.place is None else "remove it there, and "
            raise RunDamaged(
                f"{file}: the picture was changed since it was stored; {first}run the same command again to "
                "make it anew"
            )
        return data

    def _read(self, path: str) -> bytes | None:
        file = self.root / path
        if not file.is_file():
            return None
        try:
            return file.read_bytes()
        except OSError as error:
            found = os.strerror(error.errno or 0).lower()
            raise PictureUnavailable(
                f"{file}: cannot be read ({found}); the same command tries again"
            ) from error

    @property
    def is_there(self) -> bool:
        """Whether there is a picture."""
        if self.place is None:
            return any((self.root / "pictures").glob("*/*"))
        return any(map(_sha256_of, self._listed))

    @property
    def has_room(self) -> bool:
        """Whether the place of the pictures is there: their folder, or one of them elsewhere."""
        return (self.root / "pictures").is_dir() if self.place is None else self.is_there

    @property
    def paths(self) -> Iterator[str]:
        """The paths of all pictures that lie here, whether a run speaks of them or not."""
        if self.place is not None:
            yield from filter(_sha256_of, self._listed)
            return
        try:
            folders = sorted(entry.name for entry in os.scandir(self.root / "pictures") if entry.is_dir())
        except FileNotFoundError:
            return
        for folder in folders:
            for file in os.scandir(self.root / "pictures" / folder):
                path = f"pictures/{folder}/{file.name}"
                if _sha256_of(path) and file.is_file():
                    yield path

    @cached_property
    def _listed(self) -> set[str]:
        return set() if self.place is None else self.place.names()

    @cached_property
    def _there(self) -> set[str] | None:
        try:
            return self._listed
        except PictureUnavailable:
            return None

    def stamp(self, path: str) -> str | None:
        """Return what stays while the file of a picture is as it was; None where it is missing.

        A file that was written over has another time of its change, whatever time it says it has.
        Where its place elsewhere cannot be listed just now, none counts as missing.
        """
        sha256 = _sha256_of(path)
        if self.place is not None:  # whose files are not looked at one by one
            return sha256 if self._there is None or path in self._there else None
        try:
            told = (self.root / path).stat()
        except OSError:
            return None
        return f"{sha256}-{told.st_size}-{told.st_mtime_ns}-{told.st_ctime_ns}" if sha256 else None

    def damaged(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the paths whose picture is missing or changed, each with the reason.

        Reads every file of a folder. Elsewhere it looks what is missing; what was changed is found when it is
        read.
        """
        unique = list(dict.fromkeys(paths))
        if self.place is not None:
            return {path: "missing" for path in unique if path not in self._listed}
        with ThreadPoolExecutor(_HASHING_THREADS) as pool:
            reasons = zip(unique, pool.map(self._check, unique), strict=True)
            return {path: reason for path, reason in reasons if reason is not None}

    def remove_damaged(self, damaged: Mapping[str, str]) -> None:
        """Move what is left of damaged pictures into ``quarantine/``."""
        for path in damaged:
            if self.place is None and _sha256_of(path) and os.path.lexists(self.root / path):
                quarantine(self.root, self.root / path)

    def _check(self, path: str) -> str | None:
        sha256 = _sha256_of(path)
        if sha256 is None:
            return "no path of a picture"
        file = self.root / path
        if file.is_symlink() or not file.is_file():
            return "missing"
        with file.open("rb") as handle:
            found = hashlib.file_digest(handle, "sha256").hexdigest()
        return None if found == sha256 else "changed"


def _sha256_of(path: str) -> str | None:
    match = _PATH.fullmatch(path)
    return match[2] if match else None
