"""Regions found elsewhere: a file with a row for each, and its box."""

from pathlib import Path

import polars as pl
from pydantic import Field

from stereotrope.annotate.attributes import region_attributes
from stereotrope.annotate.corners import box_column, box_of
from stereotrope.annotate.counted import CountedBoxes
from stereotrope.annotate.file_annotator import FileAnnotator
from stereotrope.annotate.label import Attributes, image_labels, number_of
from stereotrope.annotate.registry import annotator
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import normal_path
from stereotrope.inputs.options import File, Name, Options, Text
from stereotrope.inputs.row import Row
from stereotrope.inputs.rows import picture_column, read_rows
from stereotrope.tables import LABELLED

_ROWS = {"at": pl.Int64, **dict.fromkeys(("called", "model", "region"), pl.String)}


class GivenBoxes(FileAnnotator):
    """People, or other things, that somebody found in pictures: a row each, with its box.

    As of :class:`~stereotrope.annotate.detection.Detector` each region is a label of its picture, and every
    picture has their number, so that one without a row has 0: the file must be of all pictures. A row without
    a box says that its picture was searched and nothing was found.

    file: CSV, JSON Lines or Parquet.
    name: Name in the ``annotator`` column.
    attribute: Name of the labels of boxes; their number is ``n_`` and that name, ``n_people`` for ``person``.
    key, model: As of :class:`~stereotrope.annotate.ImportedLabels`.
    box: Column with corners in upright pixels, ``[x0, y0, x1, y1]``; ``box`` when None.

    Raises MetadataError: The file cannot be used; the message names file, line, rule and what was found.
    """

    gives = ("regions",)

    def __init__(
        self,
        file: Path | str,
        *,
        name: str,
        attribute: str = "person",
        key: str | None = None,
        model: str | None = None,
        box: str | None = None,
        folder: Path | str | None = None,
    ) -> None:
        super().__init__(file, name=name, folder=folder)
        self._thing, self._number, self.several = attribute, number_of(attribute), (attribute,)
        self.attributes: Attributes = region_attributes(name, attribute)
        found = read_rows(self.path, name=self.file)
        self.key = picture_column(found, option="key") if key is None else found.require(key, "key")
        self.model = model if model is None else found.require(model, "model")
        self.box = box_column(found, box)
        self._rows = pl.DataFrame(map(self._read, found.rows), _ROWS, orient="row")
        parameters = {"key": self.key, "model": self.model, "box": self.box, "attribute": attribute}
        self.identify("boxes", parameters, found.data)

    def _read(self, row: Row) -> tuple[int, str, str | None, str | None]:
        if (key := row.text(self.key)) is None:
            raise row.error(f"{self.key!r} must name a picture, found nothing; fill it in")
        model = row.text(self.model) if self.model is not None else None
        return row.line, normal_path(key), model, box_of(row, self.box)

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the boxes of the images in the table, and how many each has."""
        self.notes = []
        matching = self.matched_alone(
            images,
            self._rows.select("at", "called"),
            column=self.key,
            models=self._rows["model"] if self.model is not None else None,
        )
        given = matching.found.select(
            subject_id="image_id", region=self._rows["region"].gather(matching.found["row"])
        )
        boxes = given.drop_nulls().unique(maintain_order=True)
        usable = images.filter(pl.col("status").is_in(LABELLED)).select(subject_id="image_id")
        counts = boxes.group_by("subject_id").agg(n=pl.len())
        counted = usable.join(counts, on="subject_id", how="left", maintain_order="left")
        without = counted["n"].null_count()
        self.note_lacking(without, usable.height, f"images have no row, and so no {self._thing}")
        number = counted.with_columns(value=pl.col("n").fill_null(0).cast(pl.String)).drop("n")
        things = usable.join(boxes, on="subject_id", maintain_order="left_right")
        thing = pl.lit(self._thing)
        said = [
            things.with_columns(attribute=thing, value=thing),
            number.with_columns(attribute=pl.lit(self._number)),
        ]
        return image_labels(pl.concat(said, how="diagonal"), annotator=self.name)


class BoxOptions(Options):
    """As of :class:`GivenBoxes`."""

    boxes: File
    name: Name
    attribute: Name = Field("person", examples=["person"])
    key: Text | None = None
    model: Text | None = None
    box: Text | None = None


@annotator(
    BoxOptions,
    summary="people or other things found elsewhere, a row and a box each, from a CSV, JSONL or Parquet file",
    example="{boxes: people.parquet, name: detector}",
)
def boxes(options: BoxOptions, context: Context) -> FileAnnotator:
    """Read the file."""
    kind = CountedBoxes if context.counted else GivenBoxes
    return kind(options.boxes, folder=context.folder, **options.model_dump(exclude={"boxes"}))
