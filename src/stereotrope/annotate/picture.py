"""Pictures as an annotator gets them, and the subjects that they make."""

from __future__ import annotations

import copy
import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereotrope import pictures
from stereotrope.pictures import container
from stereotrope.stats.vectors import Vector

SubjectKind = Literal["image", "region", "set", "text"]
DECODING_THREADS = min(16, max(4, os.cpu_count() or 1))


class Picture:
    """One picture to look at: its id, the hash of its bytes, and its pixels.

    image_id: Id in the ``images`` table.
    sha256: Of the original bytes.
    data: The original bytes, or a function that reads them when they are first needed.
    n_pixels: How many the picture has; 0 where that is not known.
    prompt: The text that it was asked for, where who looks may know it.
    vector: Its vector at unit length, where who looks asks for one and there is one.
    regions: Boxes of its regions, where who looks asks for them.
    """

    prompt: str | None = None
    vector: Vector | None = None
    regions: Sequence[str] = ()

    def __init__(
        self, image_id: str, sha256: str, data: bytes | Callable[[], bytes], *, n_pixels: int = 0
    ) -> None:
        self.image_id = image_id
        self.sha256 = sha256
        self.n_pixels = n_pixels
        self._data = data
        self._decoded: dict[int | None, NDArray[np.uint8]] = {}
        self._lock = threading.Lock()

    def original(self) -> bytes:
        """Return the original bytes, read anew where they were given as a function."""
        return self._data if isinstance(self._data, bytes) else self._data()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the upright original, as its header says."""
        return container.read(self.original()).upright

    def pixels(self, max_side: int | None = None) -> NDArray[np.uint8]:
        """Return the normalised copy: uint8 sRGB, (height, width, 3), upright, read-only.

        It is decoded once a size and kept as long as the picture.

        Raises PictureError: As :func:`stereotrope.pictures.decode`.
        """
        with self._lock:
            if max_side not in self._decoded:
                pixels = pictures.decode(self.original(), max_side=max_side)
                pixels.setflags(write=False)
                self._decoded[max_side] = pixels
            return self._decoded[max_side]

    def plain(self, max_side: int) -> bytes:
        """Return a file that shows it to others as it is measured; see :func:`stereotrope.pictures.plain`."""
        return pictures.plain(self.original(), max_side=max_side)

    def cropped(self, box: str) -> Picture:
        """Return a region of it as a picture; ``box`` is JSON ``[x0, y0, x1, y1]`` in upright pixels."""
        digest = hashlib.sha256(f"{self.sha256}\n{box}".encode()).hexdigest()
        return Picture(self.image_id, digest, lambda: pictures.crop(self.original(), box))

    def asked_for(self, prompt: str) -> Picture:
        """Return it with the text that it was asked for."""
        made = copy.copy(self)
        made.prompt = prompt
        return made

    def __repr__(self) -> str:
        return f"Picture({self.image_id!r})"


def subject_id(*parts: str) -> str:
    """Return the id of a region, made of its picture's and the box, or of a set, made of its pictures'."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Subject:
    """What one look is at.

    kind: ``image``, ``region`` of one, ``set`` of images, or ``text`` of a prompt.
    id: ``image_id``, ``prompt_id``, or a short hash of what makes the region or set.
    images: Rows of the images table: of a set several, in its order, of a text none.
    region: Box as JSON, of a region.
    text: Of a text; of an image, region or set the prompt's, where who looks may know it.
    """

    kind: SubjectKind
    id: str
    images: tuple[Mapping[str, Any], ...] = ()
    region: str | None = None
    text: str | None = None

    def shown(self, picture_of: Callable[[Mapping[str, Any]], Picture]) -> Any:
        """Return what an annotator gets: a picture, a tuple of them, or the text."""
        if self.kind == "text":
            return self.text
        seen = [picture_of(row) for row in self.images]
        if self.region is not None:
            seen = [picture.cropped(self.region) for picture in seen]
        if self.text is not None:
            seen = [picture.asked_for(self.text) for picture in seen]
        return tuple(seen) if self.kind == "set" else seen[0]

    def key(self, fingerprint: str) -> str:
        """Return the content key of a look at it, whatever image or prompt it is of."""
        content = [row["sha256"] for row in self.images]
        if self.kind in ("set", "text"):
            content = [self.kind, *content]
        content += [more for more in (self.region, self.text) if more is not None]
        text = "\n".join([fingerprint, *content])
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def picture_parts(shown: Sequence[Picture]) -> Iterator[list[Picture]]:
    """Parts of a batch of pictures of which each fits into memory at once."""
    part: list[Picture] = []
    pixels = 0
    for picture in shown:
        pixels += picture.n_pixels
        if part and pixels > pictures.PIXELS_AT_ONCE:
            yield part
            part, pixels = [], picture.n_pixels
        part.append(picture)
    yield part
