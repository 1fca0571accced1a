"""Labels made elsewhere: by people, or by another tool."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import ValidationInfo, field_validator

from stereotrope.annotate.corners import box_column, box_of
from stereotrope.annotate.counted import CountedLabels
from stereotrope.annotate.file_annotator import FileAnnotator
from stereotrope.annotate.label import Attributes, image_labels
from stereotrope.annotate.picture import subject_id
from stereotrope.annotate.registry import annotator
from stereotrope.errors import MetadataError, UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import SAMPLE, normal_path, outside_design
from stereotrope.inputs.options import File, Name, Options, Text, Texts
from stereotrope.inputs.rows import PICTURE_KEYS, Row, RowFile, picture_column, read_rows
from stereotrope.tables import LABELLED, NOT_VALUES, fingerprint_of, whole_problem

_NO_LABEL = frozenset(["nan", "null", "none", "na", "n/a", "#n/a", "<na>", "undefined", "unknown", "?", "-"])
"""Words that mostly mean that there is no label; they are told, and count as values."""
_ROW_NUMBER = re.compile(r"Unnamed: \d+(_level_\d+)?")
"""What pandas calls a column without a name."""
_LONGEST = 131_072
"""Characters a label may have; the standard library's limit of a CSV field."""
_TIDY = ("attribute", "value")
_SAID = {
    "line": pl.Int64,
    **dict.fromkeys(("key", "model", "region", "attribute", "value"), pl.String),
    "confidence": pl.Float64,
    "rationale": pl.String,
}


class ImportedLabels(FileAnnotator):
    """Labels from a CSV, JSON Lines or Parquet file.

    *Tidy* files have the columns ``attribute`` and ``value`` (and may have ``confidence``, ``rationale``
    and ``status``), *wide* ones a column an attribute. Rows name their picture by ``image_id``,
    ``file_name`` or ``source`` (path inside the folder the pictures came from) or ``sha256``, else by
    another column with a usual name (``image``, ``path``, ``id`` …): by id, path or hash.

    An empty cell is a missing label; ``None`` and ``NA`` are values. The words ``unclear``, ``refused``
    and ``invalid`` become that status. The same row twice counts once.

    key: Column that names the picture; found by its name when None.
    attributes: Attributes to take; all when None.
    layout: ``"tidy"`` or ``"wide"``; found from the columns when None.
    model: Column that names the generator, where pictures of several have the same name.
    regions: Where rows are of regions of pictures: attribute by whose labels regions are known, such as
        ``person`` of a detector or of :class:`~stereotrope.annotate.boxes.GivenBoxes`.
    box: Column with the region's box, as of these; ``box`` where there is one of that name.

    Raises MetadataError: The file cannot be used; the message names file, line, rule, what was found and what
        to do.
    """

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
        super().__init__(file, name=name, folder=folder)
        if regions is not None:
            self.subject, self.needs = "region", (regions,)
            self.remedies = {regions: f"`{{boxes: {file}, attribute: {regions}, name: found}}`"}
        if layout not in (None, "tidy", "wide"):
            raise UsageError(f"annotator {name!r}: 'layout' must be 'tidy' or 'wide', found {layout!r}")
        found = read_rows(self.path, name=self.file)
        self._columns, rows = found.columns, self._rows(found)
        self.model = model if model is None else found.require(model, "model")
        self.key = picture_column(found, option="key") if key is None else found.require(key, "key")
        self.box = box_column(found, box) if regions is not None else None
        self._only: str | None = None
        self._values = {row.line: row.values for row in rows}
        others = [column for column in self._columns if column != self.key]
        self._others = {c: [text for row in rows[:SAMPLE] if (text := row.text(c))] for c in others}
        tidy = layout == "tidy" or (layout is None and set(_TIDY) <= set(self._columns))
        for column in _TIDY if tidy else ():
            found.require(column, "a tidy file needs it; else give layout: wide")
        if attributes and not tidy:
            attributes = [found.require(column, "attributes") for column in attributes]
        said = list(self._tidy(rows) if tidy else self._wide(rows, attributes))
        self._said = self._checked(pl.DataFrame(said, _SAID, orient="row"))
        self._doubled = len(said) - self._said.height
        # A column without any value is asked for all the same: what was never answered is missing.
        present = set(self._said["attribute"]) if tidy else set(filter(self._is_attribute, self._columns))
        if absent := [name for name in attributes or () if present and name not in present]:
            raise MetadataError(
                f"{self.file}: no label of attribute {absent[0]!r}, found {', '.join(sorted(present))}; "
                "correct 'attributes'"
            )
        self.attributes: Attributes = dict.fromkeys(attributes or sorted(present))
        self._open = not tidy and attributes is None
        self._odd = self._oddities(layout)
        parameters = {"key": self.key, "attributes": attributes and list(attributes), "tidy": tidy}
        parameters |= {"regions": regions, "box": self.box} if regions is not None else {}
        self.fingerprint: str = fingerprint_of(f"labels:{name}", self.version, parameters, found.data)

    def leave_out(self, columns: Collection[str], generator: str | None) -> None:
        """As :meth:`Annotator.leave_out`, but for columns that were asked for."""
        self._only = generator
        left = [name for name in self.attributes if name in columns]
        if self._open and left:
            self.attributes = {name: None for name in self.attributes if name not in left}
            self._odd.append(
                f"{self.file}: {', '.join(map(repr, left))} say what was asked for, and are no labels; list "
                "under attributes: what is"
            )

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the file's labels of the images in the table, in the table's order."""
        self.notes = list(self._odd)
        if self._doubled:
            count = "label given twice counts" if self._doubled == 1 else "labels given twice count"
            self.notes.append(f"{self.file}: {self._doubled} {count} once")
        said = self._said.filter(pl.col("attribute").is_in(list(self.attributes)))
        matched = self._matched(images, said)
        if said.is_empty():
            self.trouble = f"{self.file}: no label in it"
            self.notes.append(self.trouble)
        usable = images.filter(pl.col("status").is_in(LABELLED)).select(subject_id="image_id")
        asked = pl.DataFrame({"attribute": list(self.attributes)}, {"attribute": pl.String})
        told = asked.join(usable, how="cross").join(
            matched, on=["attribute", "subject_id"], how="inner", maintain_order="left_right"
        )
        given = Counter(told["attribute"])
        for attribute in self.attributes if self.box is None else ():
            lacking = usable.height - given[attribute]
            self.note_lacking(lacking, usable.height, f"images have no label of {attribute!r}")
        if doubtful := Counter(value for value in told["value"] if value.casefold() in _NO_LABEL):
            listed = ", ".join(f"{n} × {value!r}" for value, n in doubtful.most_common(5))
            self.notes.append(
                f"{self.file}: {listed} count as values; where there is no label leave the cell empty, or "
                "write unclear"
            )
        folded = pl.col("value").str.to_lowercase()
        is_status = folded.is_in(NOT_VALUES)
        status = pl.when(is_status).then(folded).otherwise(pl.lit("ok"))
        told = told.with_columns(value=pl.when(~is_status).then("value"), status=status)
        if self.box is not None:
            told = self._of_regions(told, labels.filter(pl.col("attribute").is_in(self.needs)))
        return image_labels(told, annotator=self.name)

    def _of_regions(self, told: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
        """Labels of the regions that somebody found, under their own ids."""
        here = told.join(found, on=["subject_id", "region"], how="semi", maintain_order="left")
        strays = told.join(found, on=["subject_id", "region"], how="anti", maintain_order="left")
        self.note_rows(strays["line"].to_list(), f"of a box that no label of {self.needs[0]!r} has; left out")
        ids = [subject_id(image, box) for image, box in here.select("subject_id", "region").iter_rows()]
        return here.with_columns(subject_id=pl.Series(ids, dtype=pl.String), subject_kind=pl.lit("region"))

    def _matched(self, images: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
        """What was said, a row an image that it is of."""
        matching = self.matched(
            images,
            said.select("line", "key").iter_rows(),
            column=self.key,
            others=self._others,
            models=[model or self._only for model in said["model"]] if self.model or self._only else None,
            outside=outside_design((self._values[line] for line in said["line"]), self.design),
        )
        for (line, key), ids, several in zip(
            said.select("line", "key").iter_rows(), matching.ids, matching.several, strict=True
        ):
            if several:
                raise MetadataError(
                    f"{self.file}:{line}: {self.key!r} must name one image, found {len(ids)} for {key!r}; "
                    "give image_id or sha256, or name the column of the model with model:"
                )
        found = said.with_columns(subject_id=pl.Series(matching.ids, dtype=pl.List(pl.String)))
        return self._once(found.explode("subject_id").drop_nulls("subject_id"), "subject_id", "region")

    def _rows(self, found: RowFile) -> list[Row]:
        """Return the rows with every value as text in composed form (NFC)."""
        if found.unnamed:
            raise MetadataError(
                f"{found.where}: every column needs a name, found none for column "
                f"{found.unnamed[0]} beside {', '.join(found.columns)}; name it, or leave it out (pandas: "
                "to_csv(index=False))"
            )
        rows = []
        for row in found.rows:
            texts = {c: unicodedata.normalize("NFC", row.text(c) or "") for c in found.columns}
            rows.append(Row(row.file, row.line, texts))
        return rows

    def _oddities(self, layout: str | None) -> list[str]:
        """What was taken for granted of the file, one sentence each."""
        told = []
        half = [c for c in _TIDY if c in self._columns]
        if layout is None and len(half) == 1 and half[0] in self.attributes:
            other = next(c for c in _TIDY if c not in half)
            told.append(
                f"{self.file}: there is a column {half[0]!r} and none {other!r}, so every column is taken "
                f"for an attribute; where a row is one label, call its columns {' and '.join(_TIDY)}"
            )
        numbers = [c for c in self._columns if _ROW_NUMBER.fullmatch(c) and c not in self.attributes]
        if numbers:
            told.append(f"{self.file}: column {numbers[0]!r} is a row number by its name, and no label")
        return told

    def _is_attribute(self, column: str) -> bool:
        places = (self.key, self.model, self.box, *PICTURE_KEYS)
        return column not in places and not _ROW_NUMBER.fullmatch(column)

    def _tidy(self, rows: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
        for row in rows:
            written = row.text("status") or ""
            status = written.casefold()
            if status not in ("", "ok", *NOT_VALUES):
                raise row.error(
                    f"'status' must be ok, {', '.join(NOT_VALUES)} or empty, found {written!r}; correct it"
                )
            value = status if status in NOT_VALUES else row.text("value")
            attribute = row.text("attribute")
            if attribute is None:
                raise row.error("'attribute' must be given, found nothing; fill it in")
            if value is not None:
                yield *self._place(row), attribute, value, _confidence(row), row.text("rationale")

    def _wide(self, rows: Iterable[Row], attributes: Sequence[str] | None) -> Iterator[tuple[Any, ...]]:
        given = attributes or [c for c in self._columns if self._is_attribute(c)]
        for row in rows:
            for attribute in given:
                if (value := row.text(attribute)) is not None:
                    yield *self._place(row), attribute, value, None, None

    def _place(self, row: Row) -> tuple[int, str, str | None, str | None]:
        key = row.text(self.key)
        if key is None:
            raise row.error(f"{self.key!r} must name a picture, found nothing; fill it in")
        model = None if self.model is None else row.text(self.model)
        box = None if self.box is None else box_of(row, self.box)
        if self.box is not None and box is None:
            raise row.error(f"a label of a region needs its box, found nothing in {self.box!r}; fill it in")
        return row.line, normal_path(key), model, box

    def _checked(self, said: pl.DataFrame) -> pl.DataFrame:
        for line, attribute in (
            said.unique("attribute", maintain_order=True).select("line", "attribute").rows()
        ):
            if problem := whole_problem(attribute):
                raise MetadataError(f"{self.file}:{line}: attribute {problem}")
        long = said.with_columns(n=pl.col("value").str.len_chars()).filter(pl.col("n") > _LONGEST)
        for line, attribute, n in long.select("line", "attribute", "n").head(1).iter_rows():
            raise MetadataError(
                f"{self.file}:{line}: a label must have at most {_LONGEST} characters, found {n} of "
                f"{attribute!r}; shorten it"
            )
        return self._once(said, "key", "model", "region")

    def _once(self, said: pl.DataFrame, *picture: str) -> pl.DataFrame:
        """The first label of every attribute of a picture, where all say the same."""
        of = [*picture, "attribute"]
        first = pl.col("line", "value").first().over(of).name.prefix("first_")
        other = said.with_columns(first).filter(pl.col("value") != pl.col("first_value"))
        for row in other.head(1).iter_rows(named=True):
            thing = "picture" if self.box is None else "region"
            raise MetadataError(
                f"{self.file}:{row['line']}: a {thing} has one label of an attribute, found "
                f"{row['attribute']!r} {row['value']!r} here and {row['first_value']!r} on line "
                f"{row['first_line']} for {row['key']!r}; keep one, give every rater a file, or name the "
                "column of the model with model:"
            )
        return said.unique(of, keep="first", maintain_order=True)


def _confidence(row: Row) -> float | None:
    text = row.text("confidence")
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise row.error(f"'confidence' must be a number from 0 to 1, found {text!r}; correct it")
    return number


class LabelOptions(Options):
    """As of :class:`ImportedLabels`."""

    labels: File
    name: Name
    key: Text | None = None
    attributes: Texts | None = None
    layout: Literal["tidy", "wide"] | None = None
    model: Text | None = None
    regions: Text | None = None
    box: Text | None = None

    @field_validator("box")
    @classmethod
    def _of_regions(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("regions") is None:
            raise ValueError("needs `regions` beside it; write regions: person where rows are of people")
        return value


@annotator(
    LabelOptions,
    summary="labels made elsewhere, from a CSV, JSONL or Parquet file",
    example="{labels: human.csv, name: rater-1}",
)
def labels(options: LabelOptions, context: Context) -> FileAnnotator:
    """Read the file."""
    kind = CountedLabels if context.counted else ImportedLabels
    return kind(options.labels, folder=context.folder, **options.model_dump(exclude={"labels"}))
