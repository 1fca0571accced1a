"""Labels and regions from files of millions of rows: read in parts, and none kept by itself."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from stereotrope.annotate.attributes import region_attributes
from stereotrope.annotate.corners import box_column, box_of
from stereotrope.annotate.file_annotator import FileAnnotator
from stereotrope.annotate.label import Attributes, number_of
from stereotrope.annotate.part import CountedPart, RowReading, coded_texts, said_frame
from stereotrope.errors import MetadataError
from stereotrope.inputs.mismatch import likeliest_cause
from stereotrope.inputs.options import shorten
from stereotrope.inputs.row import Row
from stereotrope.inputs.rows import PICTURE_KEYS, picture_column
from stereotrope.inputs.scan import ROW, ScannedFile, scan_rows
from stereotrope.tables import NOT_VALUES, QUALITY_ATTRIBUTES, whole_problem

_TIDY = ("attribute", "value")
_TRIED = 200


class CountedFile(FileAnnotator):
    """What annotators of counted files share: rows that name pictures letter for letter.

    rows: The file, whose rows are read in parts.
    """

    place = "row"

    def __init__(
        self,
        file: Path | str,
        *,
        name: str,
        key: str | None,
        model: str | None,
        box: str | None,
        regions: bool,
        folder: Path | str | None,
    ) -> None:
        super().__init__(file, name=name, folder=folder)
        self.rows: ScannedFile = scan_rows(self.path, name=self.file)
        head = self.rows.head
        self.key = picture_column(head, option="key") if key is None else head.require(key, "key")
        self.model = model if model is None else head.require(model, "model")
        self.box = box_column(head, box) if regions else None
        self._only: str | None = None
        self._read = self._matched = 0
        self._strays: list[tuple[int, str]] = []

    def identify(self, kind: str, parameters: Mapping[str, Any], data: bytes) -> None:
        """As of :class:`FileAnnotator`, of a file that is read in parts."""
        super().identify(kind, parameters, data)
        self.files = {self.path: self.rows.digest}

    @property
    def reading(self) -> RowReading:
        """How it reads its file."""
        return RowReading(self.rows.digest, self.key, self.model, self.box, self._only)

    @property
    def columns(self) -> Collection[str]:
        """Columns that it takes from its file beside those."""
        return ()

    def of_part(self, part: CountedPart) -> pl.DataFrame:
        """Rows that are of pictures of a part, as of :class:`~stereotrope.annotate.part.FoundRows`."""
        found = part.rows(self.rows, self.reading)
        if found.no_box is not None and self.box is not None:
            line, text = found.no_box
            row = Row(self.file, line, {self.box: text})
            box_of(row, self.box)
            raise row.error(f"{self.box!r} must be a box, found {shorten(text)}; write [x0, y0, x1, y1]")
        self._read, self._matched = self._read + found.n_read, self._matched + found.rows.height
        self._strays += found.strays[: max(0, _TRIED - len(self._strays))]
        return found.rows

    def tell(self, names: Sequence[str]) -> None:
        """Say which rows were of no picture; ``names`` are what some pictures are called."""
        if not (lost := self._read - self._matched):
            return
        does = "row matches" if lost == 1 else "rows match"
        cause = likeliest_cause(dict(self._strays), names, place=self.place, column=self.key)
        cause = f"; likeliest cause: {cause}" if cause else ""
        first = f"; the first says {self._strays[0][1]!r}" if self._strays and not cause else ""
        self.notes.append(f"{self.file}: {lost:,} {does} no image{cause}{first}")
        if not self._matched:
            self.trouble = (
                f"{self.file}: none of its rows ({self._read:,}) matches a picture of the run{cause}"
            )

    def leave_out(self, columns: Collection[str], generator: str | None) -> None:
        """As :meth:`Annotator.leave_out`."""
        self._only = generator


class CountedBoxes(CountedFile):
    """What :class:`~stereotrope.annotate.GivenBoxes` takes, counted."""

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
        super().__init__(file, name=name, key=key, model=model, box=box, regions=True, folder=folder)
        self._thing, self._number, self.several = attribute, number_of(attribute), (attribute,)
        self.attributes: Attributes = region_attributes(name, attribute)
        parameters = {"key": self.key, "model": self.model, "box": self.box, "attribute": attribute}
        self.identify("boxes", parameters, self.rows.digest.encode())

    def derive_part(self, part: CountedPart) -> pl.DataFrame:
        """Say which regions there are, and how many each picture has."""
        regions = self.of_part(part).filter(pl.col("region") == pl.col(ROW)).select("picture", "region")
        counts = np.bincount(regions["picture"].to_numpy(), minlength=part.pictures.height)
        texts = pl.Series(map(str, range(counts.max(initial=0) + 1)), dtype=pl.Categorical)
        number = part.usable.to_frame().with_columns(value=texts.gather(counts[part.usable.to_numpy()]))
        thing = said_frame(regions, attribute=self._thing, value=self._thing)
        return pl.concat([thing, said_frame(number, attribute=self._number)])


class CountedLabels(CountedFile):
    """What :class:`~stereotrope.annotate.ImportedLabels` takes, counted."""

    def __init__(
        self,
        file: Path | str,
        *,
        name: str,
        key: str | None = None,
        attributes: Sequence[str] | None = None,
        layout: Literal["tidy", "wide"] | None = None,
        model: str | None = None,
        regions: str | None = None,
        box: str | None = None,
        folder: Path | str | None = None,
    ) -> None:
        super().__init__(
            file, name=name, key=key, model=model, box=box, regions=regions is not None, folder=folder
        )
        if regions is not None:
            self.subject, self.needs = "region", (regions,)
            self.remedies = {regions: f"`{{boxes: {file}, attribute: {regions}, name: found}}`"}
        head = self.rows.head
        self._tidy = layout == "tidy" or (layout is None and set(_TIDY) <= set(head.columns))
        for column in _TIDY if self._tidy else ():
            head.require(column, "a tidy file needs it; else give layout: wide")
        if attributes and not self._tidy:
            attributes = [head.require(column, "attributes") for column in attributes]
        self._open = not self._tidy and attributes is None
        self.attributes: Attributes = dict.fromkeys(attributes or self._found())
        self._check()
        parameters = {"key": self.key, "attributes": attributes and list(attributes), "tidy": self._tidy}
        parameters |= {"regions": regions, "box": self.box}
        self.identify("labels", parameters, self.rows.digest.encode())

    @property
    def columns(self) -> Collection[str]:
        """As of :class:`CountedFile`."""
        if not self._tidy:
            return list(self.attributes)
        return [*_TIDY, *(name for name in ("status",) if name in self.rows.head.columns)]

    def _found(self) -> list[str]:
        if self._tidy:
            given = self.rows.texts(["attribute"]).select("attribute").unique()
            return sorted(filter(None, self.rows.read(given)["attribute"]))
        places = (self.key, self.model, self.box, *PICTURE_KEYS)
        return sorted(column for column in self.rows.head.columns if column not in places)

    def _check(self) -> None:
        for name in self.attributes:
            if problem := whole_problem(name):
                raise MetadataError(f"{self.file}: attribute {problem}")
            if name in QUALITY_ATTRIBUTES:
                raise MetadataError(
                    f"{self.file}: {name!r} says whether a picture can be used, and no picture of a study "
                    "that is counted is kept by itself; list others under attributes:"
                )

    def leave_out(self, columns: Collection[str], generator: str | None) -> None:
        """As :meth:`Annotator.leave_out`, but for columns that were asked for."""
        super().leave_out(columns, generator)
        if self._open:
            self.attributes = {name: None for name in self.attributes if name not in columns}

    def derive_part(self, part: CountedPart) -> pl.DataFrame:
        """Say what the file says of the pictures of a part, or of their regions."""
        said = self._long(part).drop_nulls("value")
        if self.box is not None and (lost := said.filter(pl.col("region").is_null())).height:
            raise MetadataError(
                f"{self.file}:{min(lost[ROW])}: a label of a region needs its box, found nothing in "
                f"{self.box!r}; fill it in"
            )
        code, words = coded_texts(said["value"])
        folded = [str(word).lower() for word in words]
        value = [None if low in NOT_VALUES else word for low, word in zip(folded, words, strict=True)]
        status = [low if low in NOT_VALUES else "ok" for low in folded]
        columns = [pl.Series("value", value, pl.Categorical), pl.Series("status", status, pl.Categorical)]
        return said_frame(self._once(said.with_columns(one.gather(code) for one in columns)))

    def _long(self, part: CountedPart) -> pl.DataFrame:
        """A row a label: its row, ``picture, region, attribute, value``."""
        index = [ROW, "picture", "region"]
        rows = self.of_part(part)
        if not self._tidy:
            long = rows.unpivot(list(self.attributes), index=index, variable_name="attribute")
            return long.with_columns(pl.col("attribute").cast(pl.Categorical))
        rows = rows.filter(pl.col("attribute").is_in(list(self.attributes)) | pl.col("attribute").is_null())
        if (lost := rows.filter(pl.col("attribute").is_null())).height:
            raise MetadataError(
                f"{self.file}:{min(lost[ROW])}: 'attribute' must be given, found nothing; fill it in"
            )
        for name in set(self.columns) - set(_TIDY):
            written = pl.col(name).str.to_lowercase()
            wrong = rows.filter(~written.is_in(["ok", *NOT_VALUES]))
            for row, found in wrong.select(ROW, name).head(1).iter_rows():
                raise MetadataError(
                    f"{self.file}:{row}: 'status' must be ok, {', '.join(NOT_VALUES)} or empty, found "
                    f"{found!r}; correct it"
                )
            value = pl.when(written.is_in(NOT_VALUES)).then(written).otherwise("value")
            rows = rows.with_columns(value=value)
        return rows.select(*index, *_TIDY)

    def _once(self, said: pl.DataFrame) -> pl.DataFrame:
        """The first label of every attribute of a subject, where all say the same."""
        of = ["picture" if self.box is None else "region", "attribute"]
        one = pl.col(of[0]).hash() ^ pl.col("attribute").hash()
        if said.select(one.n_unique()).item() == said.height:
            return said
        same = pl.coalesce("value", "status").cast(pl.String)
        first = pl.col(ROW).first().over(of)
        said = said.sort(ROW).with_columns(said=same, first=same.first().over(of), first_row=first)
        for row in said.filter(pl.col("said") != pl.col("first")).head(1).iter_rows(named=True):
            thing = "picture" if self.box is None else "region"
            raise MetadataError(
                f"{self.file}:{row[ROW]}: a {thing} has one label of an attribute, found "
                f"{row['attribute']!r} {row['said']!r} here and {row['first']!r} in row {row['first_row']}; "
                "keep one, give every rater a file, or name the column of the model with model:"
            )
        return said.unique(of, keep="first", maintain_order=True)
