"""What annotators whose labels were made elsewhere share: a file, and the pictures that its rows mean."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate.contract import Annotator
from stereotrope.errors import MetadataError
from stereotrope.inputs.lookup import Design, PictureMatching
from stereotrope.inputs.rows import places
from stereotrope.tables import LABELLED, fingerprint_of


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

    def identify(self, kind: str, parameters: Mapping[str, Any], data: bytes) -> None:
        """Take the fingerprint, and note the digest, of what was read."""
        self.fingerprint: str = fingerprint_of(f"{kind}:{self.name}", self.version, parameters, data)
        self.files = {self.path: hashlib.sha256(data).hexdigest()}

    def tell_design(self, design: Design) -> None:
        """Know a row of another prompt, which lacks no image."""
        self.design = design

    def matched(self, images: pl.DataFrame, rows: pl.DataFrame, **how: Any) -> PictureMatching:
        """Find the images of rows, given by place and name, as of :class:`PictureMatching`."""
        matching = PictureMatching(images, rows, file=self.file, place=self.place, **how)
        self.notes += matching.notes
        self.trouble = matching.trouble
        return matching

    def matched_alone(self, images: pl.DataFrame, rows: pl.DataFrame, **how: Any) -> PictureMatching:
        """:meth:`matched` where a row means one picture; ``column`` names the file's column of these.

        Raises MetadataError: A name is that of several pictures.
        """
        matching = self.matched(images, rows, **how)
        for at in matching.several.arg_true().head(1):
            (line, called), n = rows.select("at", "called").row(at), (matching.found["row"] == at).sum()
            raise MetadataError(
                f"{self.file}:{line}: {how['column']!r} must name one image, found {n} for {called!r}; give "
                "image_id or sha256, or name the column of the model with model:"
            )
        return matching

    def first_rows(self, images: pl.DataFrame, rows: pl.DataFrame, what: str, **how: Any) -> pl.DataFrame:
        """Return ``image_id`` and its first ``row``; rows of several images, and further ones, are noted."""
        matching = self.matched(images, rows, bare=True, option="image", **how)
        named = matching.found.filter(~matching.several.gather(matching.found["row"]))
        again = named.filter(~pl.col("image_id").is_first_distinct())["row"].unique().sort()
        self.note_rows(
            rows["at"].filter(matching.several).to_list(), "whose name several images have; left out"
        )
        self.note_rows(
            rows["at"].gather(again).to_list(), f"of images that have a {what} already; the first counts"
        )
        usable = images.filter(pl.col("status").is_in(LABELLED)).select("image_id")
        first = named.unique("image_id", keep="first", maintain_order=True)
        self.note_lacking(usable.height - first.height, usable.height, f"images have no {what}")
        return usable.join(first, on="image_id", how="inner", maintain_order="left")

    def note_rows(self, numbers: Sequence[int], why: str) -> None:
        """Note which rows something is said of, where there are such."""
        if numbers:
            rows = "row" if len(numbers) == 1 else "rows"
            self.notes.append(f"{self.file}: {len(numbers)} {rows} {places(numbers, self.place)} {why}")

    def note_lacking(self, missing: int, of: int, what: str) -> None:
        """Note how many have nothing, where some have."""
        if missing:
            self.notes.append(f"{self.file}: {missing} of {of} {what}")
