"""Finding files that a metadata file names, without ever leaving the folder."""

import errno
import itertools
import os
import re
import stat
import unicodedata
from pathlib import Path

from stereotrope.errors import PictureError, PictureUnavailable
from stereotrope.pictures import MAX_BYTES

_PICTURE_LIKE = re.compile(
    r"[^.].*\.(png|jpe?g|jpe|jfif|webp|gif|bmp|tiff?|svg|avif|hei[cf]|ico|eps)", re.I | re.S
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_DRIVE = re.compile(r"[A-Za-z]:")
_LONGEST_NAME = 4096
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}


def is_picture_like(name: str) -> bool:
    """Whether a file is called like a picture, of a format that is accepted or not."""
    return _PICTURE_LIKE.fullmatch(os.path.basename(name)) is not None


class FolderIndex:
    """The files below a folder; links to folders are not followed.

    root: The folder, resolved.
    pictures: Names of files called like pictures, relative with ``/``, sorted.
    unreadable: Names that are not UTF-8: no table could hold them.
    closed: Names of folders that may not be read.
    """

    def __init__(self, folder: Path) -> None:
        self.root = folder.resolve(strict=True)
        self.closed: list[str] = []
        walk = os.walk(self.root, onerror=self._note_closed)
        self._base = os.path.join(self.root, "")
        paths = (os.path.join(parent, name) for parent, _, names in walk for name in names)
        found = sorted(path.removeprefix(self._base).replace(os.sep, "/") for path in paths)
        self.closed.sort()
        self.unreadable = [name for name in found if _SURROGATE.search(name)]
        names = [name for name in found if not _SURROGATE.search(name)]
        self.pictures = [name for name in names if is_picture_like(name)]
        self._spellings: dict[str, list[str]] = {}
        for name in itertools.filterfalse(str.isascii, names):  # others are spelt in one way
            self._spellings.setdefault(unicodedata.normalize("NFC", name), []).append(name)

    def release(self) -> None:
        """Forget the names of what was found; files are still located and read."""
        self.pictures = []

    def locate(self, name: str) -> str:
        """Return the relative name that exists; where it leads is looked at when it is read.

        A name that is not there is looked for in its other Unicode normalisation, because archives made
        on macOS spell accents apart. Percent signs are plain characters; nothing is decoded.

        Raises PictureError: The name is refused, or there is no such file in the folder.
        """
        _refuse_unsafe(name)
        relative = "/".join(part for part in name.split("/") if part not in ("", "."))
        if not relative:
            raise PictureError("is no regular file")
        if not _is_there(os.path.join(self._base, relative)):
            spellings = self._spellings.get(unicodedata.normalize("NFC", relative), [])
            if len(spellings) != 1:
                raise PictureError("file is missing")
            relative = spellings[0]
        return relative

    def read(self, relative: str) -> bytes:
        """Read a located file.

        Raises PictureError: It leads out of the folder or nowhere, is no regular file, or too large.
        Raises PictureUnavailable: It cannot be read just now.
        """
        return read_file(self.contained(relative))

    def contained(self, relative: str) -> str:
        """Return where a located file leads.

        Raises PictureError: Out of the folder, or nowhere.
        Raises PictureUnavailable: It cannot be looked at just now.
        """
        path = os.path.join(self._base, relative)
        try:
            resolved = os.path.realpath(path, strict=True)
        except OSError as error:
            if error.errno not in _NOT_THERE:
                raise _unreadable(error) from error
            raise PictureError("link leads nowhere" if os.path.islink(path) else "file is missing") from error
        if not resolved.startswith(self._base):
            raise PictureError("link leads out of the folder")
        return resolved

    def _note_closed(self, error: OSError) -> None:
        """Pass over a folder that is closed to us; of a disk in trouble the names would be too few."""
        if error.errno not in (errno.EACCES, errno.EPERM):
            again = "; the same command tries again"
            raise _unreadable(error, f"folder {error.filename}:", again) from error
        self.closed.append(Path(error.filename).relative_to(self.root).as_posix())


def read_file(path: Path | str) -> bytes:
    """Read a regular file of at most :data:`stereotrope.pictures.MAX_BYTES`; never waits on a pipe or device.

    Raises PictureError: It is something else, or too large.
    Raises PictureUnavailable: It cannot be read just now.
    """
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        handle = os.open(path, flags)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise PictureError("is no regular file")
            if found.st_size > MAX_BYTES:
                raise PictureError(f"file is larger than {MAX_BYTES // 2**20} MiB")
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read(MAX_BYTES + 1)
        finally:
            os.close(handle)
    except OSError as error:
        raise _unreadable(error) from error


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise _unreadable(error) from error
    return True


def _unreadable(error: OSError, what: str = "file", mend: str = "") -> PictureUnavailable:
    return PictureUnavailable(f"{what} cannot be read ({os.strerror(error.errno or 0).lower()}){mend}")


def _refuse_unsafe(name: str) -> None:
    if not name.strip():
        raise PictureError("no file name")
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in name):
        raise PictureError("file name holds a control character")
    if "\\" in name:
        raise PictureError("file name holds a backslash; separate folders by /")
    if name.startswith("/"):
        raise PictureError("file name is absolute; it must be relative to the folder")
    if _DRIVE.match(name):
        raise PictureError("file name has a drive letter; it must be relative to the folder")
    if ".." in name.split("/"):
        raise PictureError("file name leads out of the folder (..)")
    if len(name.encode()) > _LONGEST_NAME:
        raise PictureError("file name is too long")
