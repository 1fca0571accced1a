"""Pictures for the page: small copies within a budget, shared by all conditions, and what is said of them."""

import base64
import contextlib
import io
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import zip_longest
from typing import Any, Self

import PIL
import polars as pl
from PIL import Image

from stereotrope.errors import StereotropeError
from stereotrope.pictures import decode
from stereotrope.report.kept import FOLDER, KeptTexts
from stereotrope.report.material import Material, image_ids, words
from stereotrope.report.numbers import count, thousands
from stereotrope.report.sheets import Sheet
from stereotrope.run import Run, refuse_stopped
from stereotrope.run.engine import processors

MOST_EXHIBITED = 6
"""Pictures of one condition beside a finding."""
_MANY_PICTURES = 2000
_MOST_LABELS, _FEW_LABELS = 8, 3
BUDGET = 25_000_000
"""Bytes of all thumbnails in one page, as data URIs."""
_SIDE = 144
_LARGE = 256
_BATCH = 64
_QUALITY, _METHOD = 78, 4
_RECIPE = f"webp-{_QUALITY}-{_METHOD}-pillow-{PIL.__version__}"
"""How a picture is made small; what was made in another way is made anew."""


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
        columns = [sheet.usable for sheet in material.sheets]
        in_turns = (image for turn in zip_longest(*columns) for image in turn if image is not None)
        large, small = list(dict.fromkeys(findings)), list(dict.fromkeys([*first, *in_turns]))
        made, spent, full = cls(), 0, False
        with SmallCopies(material.run) as copies:
            for images, side, uris in ((large, _LARGE, made.large), (small, _SIDE, made.uris)):
                for start in range(0, len(images), _BATCH):
                    refuse_stopped(stop, f"report: stopped after {start} of {len(images)} thumbnails")
                    some = images[start : start + _BATCH] if not full else []
                    for image, uri in copies.of(some, side):
                        full = full or spent + len(uri or "") > budget
                        if uri is None:
                            made.broken.add(image)
                        elif not full:
                            uris[image] = uri
                            spent += len(uri)
        n_usable = sum(sheet.n_usable for sheet in material.sheets)
        made.left_out = n_usable - len([i for i in small if i in made.uris or i in made.broken])
        return made

    @property
    def told(self) -> str | None:
        """What there is to say of pictures that could not be shown; None where there are none."""
        if not self.broken:
            return None
        n = len(self.broken | self.uris.keys() | self.large.keys())
        return (
            f"{thousands(len(self.broken))} of {count(n, 'picture')} that were looked at can no longer be "
            "read: lost, changed, or their place is out of reach. Labels and scores are of the pictures as "
            "they were; the command that made the run makes lost ones anew."
        )

    def best(self, image: str) -> str | None:
        """The largest thumbnail of an image, None where there is none."""
        return self.large.get(image) or self.uris.get(image)


class SmallCopies:
    """Small copies of a run's pictures, drawn on all processors unless the last report drew them.

    A picture is as it was while its file has the same size and times; what else is drawn is checked first.
    """

    def __init__(self, run: Run) -> None:
        self._run, self._kept = run, KeptTexts(run.path / FOLDER / "thumbnails")
        self._ending = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._ending.enter_context(self._kept.saved())
        # Decoding, shrinking and encoding release the interpreter.
        self._pool = self._ending.enter_context(ThreadPoolExecutor(processors()))
        return self

    def __exit__(self, *error: Any) -> None:
        self._ending.__exit__(*error)

    def of(self, images: Sequence[str], side: int) -> Iterator[tuple[str, str | None]]:
        """Each image with its copy as a data URI; None where it is no picture any more."""
        stamps = self._run.stamps(images)

        def one(image: str) -> str | None:
            return self._one(image, side, stamps.get(image))

        yield from zip(images, self._pool.map(one, images), strict=True)

    def _one(self, image: str, side: int, stamp: str | None) -> str | None:
        key = f"{stamp}-{side}-{_RECIPE}"
        uri = self._kept.get(key) if stamp else None
        if uri is None and (uri := small_copy(partial(self._run.picture, image), side)) and stamp:
            self._kept.put(key, uri)
        return uri


def small_copy(read: Callable[[], bytes], side: int = _SIDE) -> str | None:
    """A picture as a data URI of pixels drawn anew, no side longer than ``side``; None for no picture."""
    try:
        pixels = decode(read(), max_side=side)
    except (StereotropeError, OSError):
        return None
    out = io.BytesIO()
    small = Image.fromarray(pixels)
    small.thumbnail((side, side))
    small.save(out, "WEBP", quality=_QUALITY, method=_METHOD)
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode("ascii")


class Exhibits:
    """Pictures with their words, ready for the template."""

    def __init__(self, material: Material, thumbs: Thumbnails) -> None:
        self.material = material
        self.thumbs = thumbs

    @cached_property
    def _labels(self) -> dict[str, list[tuple[str, str]]]:
        return self.material.labels_of([*{**self.thumbs.large, **self.thumbs.uris}])

    @cached_property
    def _sheets(self) -> dict[str, Sheet]:
        shown = self.material.sheet_of.by_sheet([*{**self.thumbs.large, **self.thumbs.uris}])
        return {image: sheet for sheet, images in shown for image in images}

    def alt(self, image: str, *, captioned: bool = False) -> str:
        """What a picture that is shown was asked for and what annotators saw in it.

        captioned: What it was asked for stands above it, and of very many pictures is not said again.
        """
        sheet = self._sheets.get(image) or self.material.sheet_of[image]
        short = captioned and self.material.n_images > _MANY_PICTURES
        most = _FEW_LABELS if short else _MOST_LABELS
        labels = self._labels.get(image, [])
        seen = "; ".join(f"{words(a)}: {words(v)}" for a, v in labels[:most])
        if short and labels:
            return f"{seen} … ({len(labels)} labels)" if len(labels) > most else seen
        asked = f"{sheet.generator}, {sheet.title}"
        return f"{asked}. Labelled {seen}" if seen else asked

    def groups(self, finding: Mapping[str, Any], *, most: int = MOST_EXHIBITED) -> list[dict[str, Any]]:
        """Images of a finding by condition, each beside what it is compared with.

        That is what the finding says, or else the baseline of a single condition. There the first pictures
        that count stand, of the condition those that the finding points at, and how many these are.
        """
        placed = self.material.sheet_of.by_sheet(image_ids(finding))
        of_finding = {sheet.anchor: (sheet, members) for sheet, members in placed}
        several = len(self.material.generators) > 1
        out, seen = [], set(of_finding)
        for sheet, members in of_finding.values():
            sides = [(sheet, members)]
            base = self._compared_with(finding, sheet, alone=len(of_finding) == 1)
            if base is not None and base.anchor not in seen:
                seen.add(base.anchor)
                usable = [i for i in base.usable if i not in self.material.blank]
                sides.append((base, usable))
            for side, images in sides:
                uris = [(i, uri) for i in images if (uri := self.thumbs.best(i))][:most]
                if uris:
                    title = f"{side.generator}: {side.title}" if several else side.title
                    shown = [{"uri": uri, "alt": self.alt(i)} for i, uri in uris]
                    more = _how_many(len(uris), len(images), side.n_usable)
                    out.append({"anchor": side.anchor, "title": title, "images": shown, "more": more})
        return out

    def _compared_with(self, finding: Mapping[str, Any], sheet: Sheet, *, alone: bool) -> Sheet | None:
        contrast, reference = finding.get("contrast"), finding.get("reference")
        if contrast is not None and reference is not None:
            return self.material.reference_of(sheet, contrast, reference)
        return self.material.baseline_of(sheet) if alone else None


def _how_many(shown: int, pointed: int, n: int) -> str:
    """How many pictures of a condition are shown, of those that a finding points at where these are fewer."""
    if pointed >= n:
        return f"{shown} of {thousands(pointed)} pictures" if shown < pointed else ""
    some = f"{shown} of the {thousands(pointed)}" if shown < pointed else f"the {thousands(pointed)}"
    return f"{some} it points at, of {count(n, 'picture')}"


def exhibited(material: Material, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The pictures that findings show: of each the first of every condition."""
    wanted: list[str] = []
    for row in rows:
        usable = material.sheet_of.of(image_ids(row)).filter("usable")
        first = usable.filter(pl.int_range(pl.len()).over("sheet") < MOST_EXHIBITED)
        wanted += first["image_id"].to_list()
    return wanted
