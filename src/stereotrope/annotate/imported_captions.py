"""Captions made elsewhere as an annotator."""

from pathlib import Path

import polars as pl

from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.label import Attributes, labels_frame
from stereotrope.annotate.registry import annotator
from stereotrope.inputs.captions.file import read_captions
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import HASH, Design, PictureMatching, outside_design
from stereotrope.inputs.options import File, Name, Options, Text
from stereotrope.tables import CAPTION, LABELLED, fingerprint_of

_SHOWN = 5
_FIRST = 200
"""So many rows say what another column holds."""


class ImportedCaptions(Annotator):
    """Captions from a CSV or JSON Lines file.

    The file's images are found by ``image_id``, by ``sha256`` where the column is called so, else by the
    path or name of the file they came from, with or without its extension.

    file: The file, as the user wrote it.
    name: Who wrote them, the ``annotator`` of the labels.
    image, caption: Columns; found by their usual names when None (see :func:`read_captions`).
    folder: Folder that a relative ``file`` starts from.

    notes: What was odd about the file, and what the last derivation could not match, one sentence each.
    trouble: Why the last derivation gave no caption at all; None where it gave some.
    design: What the prompts of the audit say, where that is known.

    Raises MetadataError: The file cannot be used.
    """

    version = 1

    def __init__(
        self,
        file: Path | str,
        *,
        name: str,
        image: str | None = None,
        caption: str | None = None,
        folder: Path | str | None = None,
    ) -> None:
        self.name: str = name
        self.file = str(file)
        self.attributes: Attributes = {CAPTION: None}
        self._read = read_captions(Path(folder or ".") / file, image=image, caption=caption, name=self.file)
        self.notes: list[str] = list(self._read.notes)
        self.trouble: str | None = None
        self.design: Design = {}
        self._column = HASH if self._read.by_hash else image or "image"
        parameters = {"image": image, "caption": caption}
        self.fingerprint: str = fingerprint_of(f"captions:{name}", self.version, parameters, self._read.data)

    def tell_design(self, design: Design) -> None:
        """Know a row of another prompt, which lacks no image."""
        self.design = design

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the captions of the images in the table, in the table's order."""
        self.notes = list(self._read.notes)
        usable = images.filter(pl.col("status").is_in(LABELLED))
        read = self._read.frame
        matching = PictureMatching(
            images,
            read.select("line", "image").iter_rows(),
            file=self.file,
            column=self._column,
            bare=True,
            others={
                name: read[name].head(_FIRST).drop_nulls().to_list()
                for name in read.columns
                if name not in ("line", "image", "caption") and read[name].dtype == pl.String
            },
            option="image",
            outside=outside_design(read.iter_rows(named=True), self.design),
        )
        self.notes += matching.notes
        self.trouble = matching.trouble
        said: dict[str, str] = {}
        several, again = [], []
        captions = read.select("line", "caption").iter_rows()
        for (line, caption), ids, many in zip(captions, matching.ids, matching.several, strict=True):
            if many:
                several.append(line)
                continue
            again += [line] if any(one in said for one in ids) else []
            for one in ids:
                said.setdefault(one, caption)
        self._note(
            "row names several images and was left out", "rows name several images and were left out", several
        )
        self._note(
            "row names an image that has a caption; the first counts",
            "rows name an image that has a caption; the first counts",
            again,
        )
        missing = usable.height - len(said)
        if missing:
            self.notes.append(f"{self.file}: {missing} of {usable.height} images have no caption")
        return labels_frame(
            [
                {
                    "subject_kind": "image",
                    "subject_id": image_id,
                    "attribute": CAPTION,
                    "value": said[image_id],
                    "annotator": self.name,
                    "status": "ok",
                }
                for image_id in usable["image_id"]
                if image_id in said
            ]
        )

    def _note(self, one: str, many: str, lines: list[int]) -> None:
        if lines:
            shown = ", ".join(map(str, lines[:_SHOWN])) + (" …" if len(lines) > _SHOWN else "")
            self.notes.append(f"{self.file}: {len(lines)} {one if len(lines) == 1 else many} (line {shown})")


class ImportedCaptionOptions(Options):
    """As of :class:`ImportedCaptions`."""

    captions: File
    name: Name
    image: Text | None = None
    caption: Text | None = None


@annotator(
    ImportedCaptionOptions,
    summary="captions made elsewhere, from a CSV or JSONL file",
    example="{captions: captions.csv, name: blip-2}",
)
def captions(options: ImportedCaptionOptions, context: Context) -> ImportedCaptions:
    """Read the file."""
    given = options.model_dump(exclude={"captions"})
    return ImportedCaptions(options.captions, folder=context.folder, **given)
