"""Labels made elsewhere: by people, or by another tool."""

import contextlib
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Literal

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
from stereotrope.inputs.lookup import SAMPLE, normal_paths, outside_design
from stereotrope.inputs.options import File, Name, Options, Text, Texts
from stereotrope.inputs.row import LINE, Row, composed_texts
from stereotrope.inputs.rows import PICTURE_KEYS, RowFile, picture_column, read_rows
from stereotrope.tables import LABELLED, NOT_VALUES, whole_problem

_NO_LABEL = frozenset(["nan", "null", "none", "na", "n/a", "#n/a", "<na>", "undefined", "unknown", "?", "-"])
"""Words that mostly mean that there is no label; they are told, and count as values."""
_ROW_NUMBER = re.compile(r"Unnamed: \d+(_level_\d+)?")
"""What pandas calls a column without a name."""
_LONGEST = 131_072
"""Characters a label may have; the standard library's limit of a CSV field."""
_OF_PICTURE = {"model": "generator", "prompt": "text"}
"""What images call what a file may call otherwise."""
_TIDY = ("attribute", "value")
_OF_LABEL = ("value", "confidence", "rationale")


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
        self._columns, texts = found.columns, self._texts(found)
        self.model = model if model is None else found.require(model, "model")
        self.key = picture_column(found, option="key") if key is None else found.require(key, "key")
        self.box = box_column(found, box) if regions is not None else None
        self._only: str | None = None
        others = texts.head(SAMPLE).select(column for column in self._columns if column != self.key)
        self._others = {column.name: column.drop_nulls().to_list() for column in others}
        tidy = layout == "tidy" or (layout is None and set(_TIDY) <= set(self._columns))
        for column in _TIDY if tidy else ():
            found.require(column, "a tidy file needs it; else give layout: wide")
        if attributes and not tidy:
            attributes = [found.require(column, "attributes") for column in attributes]
        self._told = texts.drop(self.key)
        said = self._tidy(texts) if tidy else self._wide(texts, attributes)
        self._said = self._checked(self._placed(said))
        self._doubled = said.height - self._said.height
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
        self.identify("labels", parameters, found.data)

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

    def tell_pictures(self, pictures: Callable[[], pl.DataFrame]) -> None:
        """Take columns that give every picture its own level of a factor, or its model, as no labels."""
        named = [name for name in self.attributes if self._open and name in (*self.design, "model")]
        if not named:
            return
        images, own = pictures(), []
        kinds = {name: name if name in images.columns else _OF_PICTURE[name] for name in named}
        asked = (pl.col(column).cast(pl.String).alias(f"asked {name}") for name, column in kinds.items())
        with contextlib.suppress(MetadataError):  # it is raised where labels are taken
            matched = self._matched(images, self._said.filter(pl.col("attribute").is_in(named)))
            told = matched.join(
                images.select("image_id", *asked), left_on="subject_id", right_on="image_id", how="left"
            )
            for name in named:
                alike = told.filter(pl.col("attribute") == name).select(
                    pl.col(f"asked {name}").eq_missing(pl.col("value"))
                )
                own += [name] * bool(alike.height and alike.to_series().all())
        self.notes, self.trouble = [], None
        self.leave_out(own, self._only)

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
        parts = []
        for attribute in self.attributes:
            own = matched.filter(pl.col("attribute") == attribute).with_columns(attribute=pl.lit(attribute))
            parts.append(usable.join(own, on="subject_id", how="inner", maintain_order="left_right"))
            if self.box is None:
                lacking = usable.height - parts[-1].height
                self.note_lacking(lacking, usable.height, f"images have no label of {attribute!r}")
        told = pl.concat(
            [matched.with_columns(pl.col("attribute").cast(pl.String)).clear(), *parts], how="diagonal"
        )
        words = [value for value in told["value"].unique() if value.casefold() in _NO_LABEL]
        if words:
            doubtful = (
                told.filter(pl.col("value").is_in(words)).group_by("value", maintain_order=True).len("n")
            )
            most = doubtful.sort("n", descending=True, maintain_order=True).head(5)
            listed = ", ".join(f"{n} × {value!r}" for value, n in most.iter_rows())
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
        rows = said.unique("line").sort("line")
        told = rows.select(pl.col("line").alias(LINE)).join(self._told, on=LINE, maintain_order="left")
        only = pl.lit(self._only, pl.String)
        model = pl.coalesce("model", only) if self.model is not None else only
        matching = self.matched_alone(
            images,
            rows.select(at="line", called="key"),
            column=self.key,
            others=self._others,
            models=rows.with_columns(model=model)["model"] if self.model or self._only else None,
            outside=outside_design(told, self.design),
        )
        found = matching.found.select(line=rows["line"].gather(matching.found["row"]), subject_id="image_id")
        matched = said.join(found, on="line", how="inner", maintain_order="left_right")
        return self._once(matched, "subject_id", "region")

    def _texts(self, found: RowFile) -> pl.DataFrame:
        """Every value as text in composed form (NFC), with the line of its row."""
        if found.unnamed:
            raise MetadataError(
                f"{found.where}: every column needs a name, found none for column "
                f"{found.unnamed[0]} beside {', '.join(found.columns)}; name it, or leave it out (pandas: "
                "to_csv(index=False))"
            )
        texts = found.rows.texts(found.columns)
        return texts.with_columns(composed_texts(texts[column]) for column in found.columns)

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

    def _tidy(self, texts: pl.DataFrame) -> pl.DataFrame:
        """A row a label of a file that has one a row."""
        rows = texts
        if "status" in texts.columns:
            status = pl.col("status").str.to_lowercase()
            odd = texts.filter(~status.is_in(["ok", *NOT_VALUES])).select(LINE, "status")
            for line, written in odd.head(1).iter_rows():
                raise MetadataError(
                    f"{self.file}:{line}: 'status' must be ok, {', '.join(NOT_VALUES)} or empty, found "
                    f"{written!r}; correct it"
                )
            rows = texts.with_columns(
                value=pl.when(status.is_in(list(NOT_VALUES))).then(status).otherwise("value")
            )
        for line in rows.filter(pl.col("attribute").is_null())[LINE].head(1):
            raise MetadataError(f"{self.file}:{line}: 'attribute' must be given, found nothing; fill it in")
        said = rows.drop_nulls("value").with_columns(pl.col("attribute").cast(pl.Categorical))
        if "confidence" in said.columns:
            said = said.with_columns(self._confidence(said))
        return said.select(*self._place, "attribute", *(c for c in _OF_LABEL if c in said.columns))

    def _wide(self, texts: pl.DataFrame, attributes: Sequence[str] | None) -> pl.DataFrame:
        """A row a label of a file with a column an attribute; attribute by attribute."""
        given = list(attributes or [c for c in self._columns if self._is_attribute(c)])
        places = texts.select(*self._place)
        none = places.clear().with_columns(
            attribute=pl.lit(None, pl.Categorical), value=pl.lit(None, pl.String)
        )
        said = [
            places.with_columns(attribute=pl.lit(name, pl.Categorical), value=texts[name]).drop_nulls("value")
            for name in given
        ]
        return pl.concat([none, *said])

    @property
    def _place(self) -> list[pl.Expr]:
        names = {"line": LINE, "key": self.key, "model": self.model, "region": self.box}
        return [pl.col(column).alias(name) for name, column in names.items() if column is not None]

    def _placed(self, said: pl.DataFrame) -> pl.DataFrame:
        """Labels with the paths that their keys mean, and with their boxes as tables have them."""
        wrong, boxes = pl.col("key").is_null(), dict[str, str | None]()
        if self.box is not None:
            for written in said["region"].unique().drop_nulls():
                with contextlib.suppress(MetadataError):
                    boxes[written] = box_of(Row(self.file, 0, {self.box: written}), self.box)
            wrong |= ~pl.col("region").is_in(list(boxes)).fill_null(False)
        for row in said.filter(wrong).sort("line").head(1).iter_rows(named=True):
            one = Row(self.file, row["line"], {self.key: row["key"]})
            if row["key"] is None:
                raise one.error(f"{self.key!r} must name a picture, found nothing; fill it in")
            if self.box is not None and row["region"] is not None:
                box_of(Row(self.file, row["line"], {self.box: row["region"]}), self.box)
            raise one.error(f"a label of a region needs its box, found nothing in {self.box!r}; fill it in")
        if self.box is not None:
            region = pl.col("region").replace_strict(boxes, return_dtype=pl.String)
            said = said.with_columns(region)
        return said.with_columns(normal_paths(said["key"]))

    def _confidence(self, said: pl.DataFrame) -> pl.Series:
        written = said["confidence"]
        numbers = {text: _sure(text) for text in written.unique().drop_nulls()}
        wrong = [text for text, number in numbers.items() if number is None]
        for line, text in said.filter(written.is_in(wrong)).select(LINE, "confidence").head(1).iter_rows():
            raise MetadataError(
                f"{self.file}:{line}: 'confidence' must be a number from 0 to 1, found {text!r}; correct it"
            )
        return written.replace_strict(numbers, default=None, return_dtype=pl.Float64)

    def _checked(self, said: pl.DataFrame) -> pl.DataFrame:
        first = said.group_by("attribute").agg(pl.col("line").min()).sort("line")
        for attribute, line in first.iter_rows():
            if problem := whole_problem(attribute):
                raise MetadataError(f"{self.file}:{line}: attribute {problem}")
        long = said.filter(pl.col("value").str.len_chars() > _LONGEST).sort("line")
        for line, attribute, value in long.select("line", "attribute", "value").head(1).iter_rows():
            raise MetadataError(
                f"{self.file}:{line}: a label must have at most {_LONGEST} characters, found {len(value)} of "
                f"{attribute!r}; shorten it"
            )
        return self._once(said, "key", "model", "region")

    def _once(self, said: pl.DataFrame, *picture: str) -> pl.DataFrame:
        """The first label of every attribute of a picture, where all say the same."""
        of = [*(name for name in picture if name in said.columns), "attribute"]
        if said.select(pl.struct(of).hash().n_unique()).item() == said.height:
            return said
        first = pl.col("line", "value").sort_by("line").first().over(of).name.prefix("first_")
        other = said.with_columns(first).filter(pl.col("value") != pl.col("first_value")).sort("line")
        for row in other.head(1).iter_rows(named=True):
            thing = "picture" if self.box is None else "region"
            raise MetadataError(
                f"{self.file}:{row['line']}: a {thing} has one label of an attribute, found "
                f"{row['attribute']!r} {row['value']!r} here and {row['first_value']!r} on line "
                f"{row['first_line']} for {row['key']!r}; keep one, give every rater a file, or name the "
                "column of the model with model:"
            )
        return said.unique(of, keep="first", maintain_order=True)


def _sure(text: str) -> float | None:
    """A number from 0 to 1; None where the text is another or none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


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
