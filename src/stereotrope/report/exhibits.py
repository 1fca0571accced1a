"""Pictures for the page: small copies within a budget, shared by all conditions, and what is said of them."""

import base64
import io
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any, Self

from PIL import Image

from stereotrope.errors import StereotropeError
from stereotrope.pictures import decode
from stereotrope.report.material import Material, Sheet, image_ids, words
from stereotrope.run import refuse_stopped

MOST_EXHIBITED = 6
"""Pictures of one condition beside a finding."""
_MANY_PICTURES = 2000
_MOST_LABELS, _FEW_LABELS = 8, 3
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
    ) -> Self:
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
        columns = [[i["image_id"] for i in s.images if i["status"] == "ok"] for s in material.sheets]
        in_turns = (image for turn in zip_longest(*columns) for image in turn if image is not None)
        queue = list(dict.fromkeys([*first, *in_turns]))
        for start in range(0, len(queue), _BATCH):
            refuse_stopped(stop, f"report: stopped after {start} of {len(queue)} thumbnails")
            if spent < budget:
                keep(queue[start : start + _BATCH], _SIDE, made.uris)
        made.left_out = len([i for i in queue if i not in made.uris and i not in made.broken])
        return made

    def best(self, image: str) -> str | None:
        """The largest thumbnail of an image, None where there is none."""
        return self.large.get(image) or self.uris.get(image)


def _draw(material: Material, images: list[str], side: int) -> Iterator[tuple[str, str | None]]:
    def one(image: str) -> str | None:
        return small_copy(partial(material.run.picture, image), side)

    with ThreadPoolExecutor(max_workers=2) as pool:
        yield from zip(images, pool.map(one, images), strict=True)


def small_copy(read: Callable[[], bytes], side: int = _SIDE) -> str | None:
    """A picture as a data URI of pixels drawn anew, no side longer than ``side``; None for no picture."""
    try:
        pixels = decode(read(), max_side=side)
    except (StereotropeError, OSError):
        return None
    out = io.BytesIO()
    small = Image.fromarray(pixels)
    small.thumbnail((side, side))
    small.save(out, "WEBP", quality=78, method=4)
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode("ascii")


class Exhibits:
    """Pictures with their words, ready for the template."""

    def __init__(self, material: Material, thumbs: Thumbnails) -> None:
        self.material = material
        self.thumbs = thumbs

    def alt(self, image: str, *, captioned: bool = False) -> str:
        """What a picture was asked for and what annotators saw in it.

        captioned: What it was asked for stands above it, and of very many pictures is not said again.
        """
        sheet = self.material.sheet_of[image]
        short = captioned and len(self.material.image_rows) > _MANY_PICTURES
        most = _FEW_LABELS if short else _MOST_LABELS
        labels = self.material.image_labels.get(image, [])
        seen = "; ".join(f"{words(a)}: {words(v)}" for a, v in labels[:most])
        if short and labels:
            return f"{seen} … ({len(labels)} labels)" if len(labels) > most else seen
        asked = f"{sheet.generator}, {sheet.title}"
        return f"{asked}. Labelled {seen}" if seen else asked

    def groups(self, images: Sequence[str], *, most: int = MOST_EXHIBITED) -> list[dict[str, Any]]:
        """Images of a finding by condition; beside a single one, those of its baseline that count."""
        by_sheet: dict[str, tuple[Sheet, list[str]]] = {}
        for image in images:
            sheet = self.material.sheet_of.get(image)
            if sheet is not None:
                by_sheet.setdefault(sheet.anchor, (sheet, []))[1].append(image)
        if len(by_sheet) == 1:
            base = self.material.baseline_of(next(iter(by_sheet.values()))[0])
            if base is not None:
                usable = (i["image_id"] for i in base.images if i["status"] == "ok")
                by_sheet[base.anchor] = (base, [i for i in usable if i not in self.material.blank])
        several = len(self.material.generators) > 1
        out = []
        for sheet, members in by_sheet.values():
            uris = [(i, uri) for i in members if (uri := self.thumbs.best(i))][:most]
            if uris:
                title = f"{sheet.generator}: {sheet.title}" if several else sheet.title
                shown = [{"uri": uri, "alt": self.alt(i)} for i, uri in uris]
                more = f"{len(uris)} of {len(members)} pictures" if len(members) > len(uris) else ""
                out.append({"anchor": sheet.anchor, "title": title, "images": shown, "more": more})
        return out


def exhibited(material: Material, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The pictures that findings show: of each the first of every condition."""
    wanted: list[str] = []
    for row in rows:
        by_sheet = Counter[str]()
        for image in image_ids(row):
            sheet = material.sheet_of.get(image)
            if sheet is None or material.image_rows[image]["status"] != "ok":
                continue
            by_sheet[sheet.anchor] += 1
            if by_sheet[sheet.anchor] <= MOST_EXHIBITED:
                wanted.append(image)
    return wanted
