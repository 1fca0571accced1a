"""Small pictures as data URIs, within a budget, every condition served before any gets more."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import zip_longest

from PIL import Image

from stereotrope.errors import StereotropeError
from stereotrope.pictures import decode
from stereotrope.report.material import Material
from stereotrope.run import refuse_stopped

BUDGET = 25_000_000
"""Bytes of all thumbnails in one page, as data URIs."""
_SIDE = 144
_LARGE = 256
_BATCH = 64


@dataclass
class Thumbnails:
    """Data URIs by image id; what could not be shown is known too."""

    uris: dict[str, str] = field(default_factory=dict)
    large: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    left_out: int = 0

    @classmethod
    def make(
        cls,
        material: Material,
        *,
        findings: Iterable[str] = (),
        first: Iterable[str] = (),
        budget: int = BUDGET,
        stop: threading.Event | None = None,
    ) -> Thumbnails:
        """Draw thumbnails in turns, the first of every condition first, until the budget is spent.

        Larger ones of ``findings`` come before; of the small ones those named in ``first`` do.
        """
        made, spent = cls(), 0

        def keep(images: list[str], side: int, uris: dict[str, str]) -> None:
            nonlocal spent
            for image, uri in _draw(material, images, side):
                if uri is None:
                    made.broken.add(image)
                elif spent + len(uri) <= budget:
                    uris[image] = uri
                    spent += len(uri)

        keep(list(dict.fromkeys(findings)), _LARGE, made.large)
        queue = list(dict.fromkeys([*first, *_in_turns(material)]))
        for start in range(0, len(queue), _BATCH):
            refuse_stopped(stop, f"report: stopped after {start} of {len(queue)} thumbnails")
            if spent < budget:
                keep(queue[start : start + _BATCH], _SIDE, made.uris)
        made.left_out = len([i for i in queue if i not in made.uris and i not in made.broken])
        return made

    def best(self, image: str) -> str | None:
        """The largest thumbnail of an image, None where there is none."""
        return self.large.get(image) or self.uris.get(image)


def _in_turns(material: Material) -> Iterator[str]:
    columns = [[i["image_id"] for i in s.images if i["status"] == "ok"] for s in material.sheets]
    for turn in zip_longest(*columns):
        yield from (image for image in turn if image is not None)


def _draw(material: Material, images: list[str], side: int) -> Iterator[tuple[str, str | None]]:
    def one(image: str) -> str | None:
        try:
            pixels = decode(material.run.picture(image), max_side=side)
        except (StereotropeError, OSError):
            return None
        out = io.BytesIO()
        small = Image.fromarray(pixels)
        small.thumbnail((side, side))
        small.save(out, "WEBP", quality=78, method=4)
        return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode("ascii")

    with ThreadPoolExecutor(max_workers=2) as pool:
        yield from zip(images, pool.map(one, images), strict=True)
