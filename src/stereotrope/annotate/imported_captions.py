"""Captions made elsewhere as an annotator."""

from pathlib import Path

import polars as pl

from stereotrope.annotate.file_annotator import FileAnnotator
from stereotrope.annotate.label import Attributes, image_labels
from stereotrope.annotate.registry import annotator
from stereotrope.inputs.captions.file import read_captions
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import HASH, outside_design
from stereotrope.inputs.options import File, Name, Options, Text
from stereotrope.tables import CAPTION, fingerprint_of

_FIRST = 200
"""So many rows say what another column holds."""


class ImportedCaptions(FileAnnotator):
    """Captions from a CSV or JSON Lines file.

    image, caption: Columns; found by their usual names when None (see :func:`read_captions`).

    Raises MetadataError: The file cannot be used.
    """

    def __init__(
        self,
        file: Path | str,
        *,
        name: str,
        image: str | None = None,
        caption: str | None = None,
        folder: Path | str | None = None,
    ) -> None:
        super().__init__(file, name=name, folder=folder)
        self.attributes: Attributes = {CAPTION: None}
        self._read = read_captions(self.path, image=image, caption=caption, name=self.file)
        self.notes += self._read.notes
        self._column = HASH if self._read.by_hash else image or "image"
        parameters = {"image": image, "caption": caption}
        self.fingerprint: str = fingerprint_of(f"captions:{name}", self.version, parameters, self._read.data)

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the captions of the images in the table, in the table's order."""
        self.notes = list(self._read.notes)
        read = self._read.frame
        others = read.drop("line", "image", "caption").select(pl.col(pl.String)).head(_FIRST)
        rows = self.first_rows(
            images,
            read.select("line", "image").rows(),
            "caption",
            column=self._column,
            others={name: others[name].drop_nulls().to_list() for name in others.columns},
            outside=outside_design(read.iter_rows(named=True), self.design),
        )
        said = pl.DataFrame({"subject_id": list(rows), "value": read["caption"].gather(list(rows.values()))})
        return image_labels(said, attribute=CAPTION, annotator=self.name)


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
