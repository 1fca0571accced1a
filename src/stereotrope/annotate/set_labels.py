"""Labels of sets of images made elsewhere: what people say to the items of a rubric."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import Field

from stereotrope.annotate.file_annotator import FileAnnotator
from stereotrope.annotate.label import Attributes, labels_frame
from stereotrope.annotate.picture import subject_id
from stereotrope.annotate.registry import annotator
from stereotrope.errors import MetadataError, did_you_mean
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import Design
from stereotrope.inputs.options import File, Name, Options, Texts
from stereotrope.inputs.row import Row
from stereotrope.inputs.rows import read_rows
from stereotrope.tables import LABELLED, MITIGATION, NOT_VALUES

_YES, _NO = ("1", "1.0", "yes", "true"), ("0", "0.0", "no", "false")  # whole numbers beside blanks: decimals
_WORDS = {**dict.fromkeys(_YES, "yes"), **dict.fromkeys(_NO, "no")}
_GENERATOR = "generator"
_TEXTS = ("prompt", "text")
_OVER, _ORIGINAL = MITIGATION, "none"


class ImportedSetLabels(FileAnnotator):
    """Labels of sets of images from a CSV, JSON Lines or Parquet file, a row a set.

    Columns with the names of factors, ``generator``, and ``prompt`` or ``text`` say which set a row is of:
    the images of one prompt and generator, ``size`` by ``size``; without a column ``mitigation`` it is of the
    prompt as it was designed, where that has the same. Every other column is an item; ``yes`` and
    ``no``, ``1`` and ``0`` are its values, ``unclear``, ``refused`` and ``invalid`` that status, an empty
    cell no label.

    items: Columns to take; all that name no set when None.
    size: Images in a set.

    Raises MetadataError: The file cannot be used.
    """

    subject = "set"

    def __init__(
        self,
        file: Path | str,
        *,
        name: str,
        items: Sequence[str] | None = None,
        size: int = 4,
        folder: Path | str | None = None,
    ) -> None:
        super().__init__(file, name=name, folder=folder)
        found = read_rows(self.path, name=self.file)
        self.size, self._rows, self._columns = size, found.rows, found.columns
        self._items = [found.require(item, "items") for item in items or ()]
        self.attributes: Attributes = dict.fromkeys(self._items or found.columns, ("yes", "no"))
        self.labelled_sets: Mapping[str, tuple[str, ...]] = {}
        self.identify("set_labels", {"items": self._items, "size": size}, found.data)

    def tell_design(self, design: Design) -> None:
        """Know the factors, whose columns say which set a row is of."""
        super().tell_design(design)
        keys = self._keys()
        items = self._items or [column for column in self._columns if column not in keys]
        self.attributes = dict.fromkeys(items, ("yes", "no"))
        if not keys:
            raise MetadataError(
                f"{self.file}: a column must say which set a row is of ({_GENERATOR}, prompt, or a factor: "
                f"{', '.join(self.design)}), found {', '.join(self._columns)}; add it"
            )
        for row in self._rows:
            list(self._said("", row))  # a word that is none is refused before anything is drawn

    def _keys(self) -> list[str]:
        known = {_GENERATOR, _OVER, *_TEXTS, *self.design}
        return [column for column in self._columns if column in known and column not in self._items]

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the labels of the sets that rows name, in the order of the sets."""
        keys, self.notes, self.trouble = self._keys(), [], None
        sets = dict(self._sets(images))
        by_key: dict[tuple[str | None, ...], list[str]] = {}
        for one, (_, of) in sets.items():
            by_key.setdefault(tuple(of.get("text" if k in _TEXTS else k) for k in keys), []).append(one)
        told: dict[str, Row] = {}
        strays = []
        for row in self._rows:
            found = by_key.get(tuple(row.text(key) for key in keys), [])
            if len(found) > 1:
                found = [one for one in found if sets[one][1][_OVER] == _ORIGINAL] or found
            if len(found) > 1:
                raise row.error(
                    f"must name one set of {self.size} images, found {len(found)} with the same "
                    f"{', '.join(keys)}; add the columns that tell them apart"
                )
            if not found:
                strays.append(row.line)
            elif found[0] in told:
                raise row.error(f"is of the set of line {told[found[0]].line} too; give every rater a file")
            else:
                told[found[0]] = row
        self.note_rows(strays, "of no set of this run, or of one with an image refused or excluded")
        if not told:
            self.trouble = f"{self.file}: no row is of a set of this run"
            self.notes.append(self.trouble)
        self._note_items(labels)
        self.labelled_sets = {one: sets[one][0] for one in sets if one in told}
        return labels_frame([said for one in self.labelled_sets for said in self._said(one, told[one])])

    def _note_items(self, labels: pl.DataFrame) -> None:
        """Note items that others who look at sets do not know, as a name that is written otherwise is."""
        known = labels.filter(subject_kind="set")["attribute"].unique().sort().to_list()
        for item in self.attributes if known else ():
            if item not in known:
                there = did_you_mean(item, known, otherwise=f"others are {', '.join(known)}")
                said = f"column {item!r} is an item that nobody else answers; {there}"
                self.notes.append(f"{self.file}: {said}")

    def _sets(self, images: pl.DataFrame) -> Iterator[tuple[str, tuple[tuple[str, ...], dict[str, Any]]]]:
        """Id of each set of which no image was refused or excluded, with these and what their prompt says."""
        usable = set(images.filter(pl.col("status").is_in(LABELLED))["image_id"])
        of = {row["image_id"]: row for row in images.to_dicts()}
        for ids in self.sets(images):
            if usable.issuperset(ids):
                yield subject_id(*ids), (ids, {_OVER: _ORIGINAL, **of[ids[0]]})

    def _said(self, one: str, row: Row) -> Iterator[dict[str, Any]]:
        for item in self.attributes:
            if (written := row.text(item)) is None:
                continue
            plain = written.strip().casefold()
            value = None if plain in NOT_VALUES else _WORDS.get(plain)
            if value is None and plain not in NOT_VALUES:
                raise row.error(
                    f"{item!r} must be yes or no, 1 or 0, {', '.join(NOT_VALUES)} or empty, found "
                    f"{written!r}; correct it, or name the columns of items with `items:`"
                )
            status = "ok" if value is not None else plain
            fixed = {"subject_kind": "set", "subject_id": one, "annotator": self.name}
            yield {**fixed, "attribute": item, "value": value, "status": status}


class SetLabelOptions(Options):
    """As of :class:`ImportedSetLabels`."""

    set_labels: File
    name: Name
    items: Texts | None = None
    size: int = Field(4, ge=1, le=16)


@annotator(
    SetLabelOptions,
    summary="what people say of sets of images by the items of a rubric, from a CSV, JSONL or Parquet file",
    example="{set_labels: human.csv, name: people}",
)
def set_labels(options: SetLabelOptions, context: Context) -> ImportedSetLabels:
    """Read the file."""
    given = options.model_dump(include={"name", "items", "size"})
    return ImportedSetLabels(options.set_labels, folder=context.folder, **given)
