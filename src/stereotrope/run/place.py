"""A place for pictures outside the run folder: whatever fsspec reaches by a URL."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from stereotrope.errors import PictureUnavailable, RunError, UsageError
from stereotrope.run.disk import make_folder, quarantine, write_atomic

RECORD = "pictures.url"
"""File of a run that says where its pictures lie, if not in its folder."""
_ABOUT = "about/this.txt"
_SAYS = b"Pictures of a run of stereotrope, each named by the SHA-256 of its bytes.\n"


class PicturePlace:
    """Pictures at a URL of an object store: ``s3://bucket/first``, ``gs://…``, ``abfs://…``.

    Keys come from the environment, as the package of that protocol finds them. Such a store keeps what is
    written whole or not at all, and needs no folders to be made.

    Raises UsageError: fsspec, or what it needs for the protocol, is not installed; it knows no such URL; the
        URL cannot be reached, or holds a password.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        try:
            parts = urlsplit(url)
            if "://" not in url or not (parts.netloc or parts.path.strip("/")):
                raise UsageError(
                    f"pictures: {url!r} is no URL; write s3://bucket/first, say, or file:///mnt/pictures"
                )
            if parts.password is not None:
                raise UsageError(
                    "pictures: a URL is kept in the run folder and must hold no password; leave it out, and "
                    "give it by the environment"
                )
            import fsspec  # noqa: PLC0415

            self._files, self._base = fsspec.core.url_to_fs(self.url)
        except ImportError as error:
            raise UsageError(
                f"pictures: {self.url} needs a package that is not installed ({error}); pip install fsspec, "
                "and what it asks for"
            ) from error
        except ValueError as error:
            raise UsageError(f"pictures: {self.url!r} is no URL that fsspec knows: {error}") from error
        except OSError as error:  # some protocols connect at once
            raise UsageError(
                f"pictures: {self.url} cannot be reached ({_said(error)}); correct the URL, or see that its "
                "server runs and lets you in"
            ) from error
        self._is_here = "file" in (self._files.protocol, *self._files.protocol)
        if self._is_here:  # the whole path, wherever it is typed
            self.url = f"file://{self._base}"

    def check(self) -> None:
        """Write a line about what lies here.

        Raises RunError: It cannot be written.
        """
        self.write(_ABOUT, _SAYS)

    def write(self, name: str, data: bytes) -> None:
        """Keep bytes under a name; durable when this returns.

        A folder of that name on this computer is moved into ``quarantine/``.

        Raises RunError: They cannot be written.
        """
        path = f"{self._base}/{name}"
        try:
            if self._is_here:
                make_folder(Path(path).parent)
                if os.path.isdir(path):
                    quarantine(Path(self._base), Path(path))
                write_atomic(Path(path), data)
            else:
                self._files.pipe_file(path, data)
        except RunError:
            raise
        except Exception as error:
            raise RunError(
                f"{self.url}/{name}: cannot be written ({_said(error)}). Everything finished before is kept; "
                "see that it can be reached and your keys may write there, then run the same command again"
            ) from error

    def read(self, name: str) -> bytes | None:
        """Return the bytes under a name, None where there are none.

        Raises PictureUnavailable: It cannot be read just now.
        """
        try:
            data: bytes = self._files.cat_file(f"{self._base}/{name}")
        except FileNotFoundError:
            return None
        except Exception as error:
            raise PictureUnavailable(
                f"{self.url}/{name}: cannot be read ({_said(error)}); the same command tries again"
            ) from error
        return data

    def remove(self, name: str) -> None:
        """Remove what is under a name, where it can be."""
        with contextlib.suppress(Exception):
            self._files.rm_file(f"{self._base}/{name}")

    def names(self) -> set[str]:
        """Return the names under which there is something, by one listing.

        Raises PictureUnavailable: It cannot be listed just now.
        """
        try:
            found = self._files.find(self._base)
        except FileNotFoundError:
            return set()
        except Exception as error:
            raise PictureUnavailable(
                f"{self.url}: cannot be listed ({_said(error)}); the same command tries again"
            ) from error
        return {os.path.relpath(path, self._base) for path in found}


def _said(error: Any) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def recorded(root: Path) -> str | None:
    """Return the URL where the pictures of a run lie; None where it is its folder."""
    try:
        return (root / RECORD).read_text(encoding="utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError):
        return None


def record(root: Path, url: str) -> None:
    """Say of a run where its pictures lie, before any is kept.

    Raises UsageError: It has pictures elsewhere.
    """
    place, known = PicturePlace(url), recorded(root)
    here = (root / "pictures").is_dir() and any((root / "pictures").iterdir())
    if (known or here) and known != place.url:
        raise UsageError(
            f"{root}: its pictures lie {f'at {known}' if known else 'in its folder'}, and --pictures says "
            f"{place.url}; leave --pictures out, or choose another run folder"
        )
    if known is None:
        place.check()
        write_atomic(root / RECORD, f"{place.url}\n".encode())
