"""Finding the image that a row of a file of labels means."""

from __future__ import annotations

import unicodedata
from collections import defaultdict

import polars as pl

__all__ = ["Lookup", "normal_path"]


class Lookup:
    """Finds images by a key; paths also without, or with other, leading folders."""

    def __init__(self, images: pl.DataFrame, column: str) -> None:
        self.column = column
        self._exact: dict[str, list[str]] = defaultdict(list)
        self._tail: dict[str, list[str]] = defaultdict(list)
        for image_id, value in zip(images["image_id"], images[column], strict=True):
            if value is None:
                continue
            key = normal_path(value) if column == "source" else value
            self._exact[key].append(image_id)
            if column == "source":
                for tail in _tails(key)[1:]:
                    self._tail[tail].append(image_id)

    def find(self, key: str) -> list[str]:
        """Ids of the images that the key names; empty where there is none."""
        if self.column != "source":
            return self._exact.get(key, [])
        for tail in _tails(key):
            if tail in self._exact:
                return self._exact[tail]
        return self._tail.get(key, [])


def _tails(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[at:]) for at in range(len(parts))]


def normal_path(path: str) -> str:
    """Path with forward slashes, NFC, without empty and ``.`` parts. It is compared, never opened."""
    parts = unicodedata.normalize("NFC", path).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", "."))
