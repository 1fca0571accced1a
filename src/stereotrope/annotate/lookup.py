"""Finding the image that a row of a file of labels means."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from pathlib import Path

import polars as pl

__all__ = ["IMAGE_COLUMNS", "ImageFinder", "Lookup", "normal_path"]

IMAGE_COLUMNS = (
    "image_id",
    "image",
    "image_name",
    "image_file",
    "file_name",
    "filename",
    "file",
    "path",
    "source",
    "id",
)
"""What a file made elsewhere may call its column of images."""


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


class ImageFinder:
    """Finds images by what a file calls them: id, path or name, with or without extension; or by hash."""

    def __init__(self, images: pl.DataFrame, *, by_hash: bool) -> None:
        self._ways = (
            [Lookup(images, "sha256")] if by_hash else [Lookup(images, "image_id"), Lookup(images, "source")]
        )
        self._bare: dict[str, list[str]] = defaultdict(list)
        if not by_hash:
            for image_id, source in images.select("image_id", "source").iter_rows():
                if source is not None:
                    self._bare[Path(source.replace("\\", "/")).stem].append(image_id)

    def __call__(self, image: str) -> list[str]:
        """Ids of the images that are called so; empty where there is none."""
        for way in self._ways:
            spelt = {"sha256": image.lower(), "source": normal_path(image)}.get(way.column, image)
            ids = way.find(spelt)
            if ids:
                return ids
        return self._bare.get(Path(image.replace("\\", "/")).stem, []) if self._bare else []


def _tails(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[at:]) for at in range(len(parts))]


def normal_path(path: str) -> str:
    """Path with forward slashes, NFC, without empty and ``.`` parts. It is compared, never opened."""
    parts = unicodedata.normalize("NFC", path).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", "."))
