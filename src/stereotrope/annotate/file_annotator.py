"""What annotators whose labels were made elsewhere share: a file, and the pictures that its rows mean."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate.contract import Annotator
from stereotrope.inputs.lookup import Design, PictureMatching
from stereotrope.inputs.rows import places
from stereotrope.tables import LABELLED


class FileAnnotator(Annotator):
    """Labels or vectors from a file.

    file: The file, as the user wrote it.
    name: Who made what is in it.
    folder: Folder that a relative ``file`` starts from.

    notes: What was odd about the file, and what could not be matched last, one sentence each.
    trouble: Why nothing in it could be used last; None where something could.
    design: What the prompts of the audit say, where that is known.
    place: What the place of a row is called: ``line`` or ``row``.
    """

    version = 1
    place = "line"

    def __init__(self, file: Path | str, *, name: str, folder: Path | str | None = None) -> None:
        self.name: str = name
        self.file = str(file)
        self.path: Path = Path(folder or ".") / file
        self.notes: list[str] = []
        self.trouble: str | None = None
        self.design: Design = {}

    def tell_design(self, design: Design) -> None:
        """Know a row of another prompt, which lacks no image."""
        self.design = design

    def matched(self, images: pl.DataFrame, rows: Iterable[tuple[int, str]], **how: Any) -> PictureMatching:
        """Find the images of rows, given by place and name; keywords as of :class:`PictureMatching`."""
        matching = PictureMatching(images, rows, file=self.file, place=self.place, **how)
        self.notes += matching.notes
        self.trouble = matching.trouble
        return matching

    def first_rows(
        self, images: pl.DataFrame, rows: Sequence[tuple[int, str]], what: str, **how: Any
    ) -> dict[str, int]:
        """Return image → its first row; rows of several images, and further ones, are noted."""
        matching = self.matched(images, rows, bare=True, option="image", **how)
        first: dict[str, int] = {}
        several, again = [], []
        for at, (ids, many) in enumerate(zip(matching.ids, matching.several, strict=True)):
            if many:
                several.append(rows[at][0])
                continue
            again += [rows[at][0]] * any(one in first for one in ids)
            for one in ids:
                first.setdefault(one, at)
        self.note_rows(several, "whose name several images have; left out")
        self.note_rows(again, f"of images that have a {what} already; the first counts")
        usable = images.filter(pl.col("status").is_in(LABELLED))["image_id"]
        self.note_lacking(usable.len() - len(first), usable.len(), f"images have no {what}")
        return {one: first[one] for one in usable if one in first}

    def note_rows(self, numbers: Sequence[int], why: str) -> None:
        """Note which rows something is said of, where there are such."""
        if numbers:
            rows = "row" if len(numbers) == 1 else "rows"
            self.notes.append(f"{self.file}: {len(numbers)} {rows} {places(numbers, self.place)} {why}")

    def note_lacking(self, missing: int, of: int, what: str) -> None:
        """Note how many have nothing, where some have."""
        if missing:
            self.notes.append(f"{self.file}: {missing} of {of} {what}")
