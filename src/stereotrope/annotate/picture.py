"""A picture as an annotator gets it."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stereotrope import pictures
from stereotrope.pictures import container

__all__ = ["Picture"]


class Picture:
    """One picture to look at: its id, the hash of its bytes, and its pixels.

    Parameters
    ----------
    image_id
        Id in the ``images`` table.
    sha256
        Of the original bytes.
    data
        The original bytes, or a function that reads them when they are first needed.
    """

    def __init__(self, image_id: str, sha256: str, data: bytes | Callable[[], bytes]) -> None:
        self.image_id = image_id
        self.sha256 = sha256
        self._data = data
        self._decoded: dict[int | None, NDArray[np.uint8]] = {}
        self._lock = threading.Lock()

    def original(self) -> bytes:
        """Return the original bytes, read anew where they were given as a function."""
        return self._data if isinstance(self._data, bytes) else self._data()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the upright original, as its header says."""
        found = container.read(self.original())
        width, height = found.stored
        return (width, height) if found.orientation < 5 else (height, width)

    def pixels(self, max_side: int | None = None) -> NDArray[np.uint8]:
        """Return the normalised copy: uint8 sRGB, (height, width, 3), upright, read-only.

        It is decoded once a size and kept as long as the picture.

        Raises
        ------
        PictureError
            As :func:`stereotrope.pictures.decode`.
        """
        with self._lock:
            if max_side not in self._decoded:
                pixels = pictures.decode(self.original(), max_side=max_side)
                pixels.setflags(write=False)
                self._decoded[max_side] = pixels
            return self._decoded[max_side]

    def __repr__(self) -> str:
        return f"Picture({self.image_id!r})"
