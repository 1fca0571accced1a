"""Labels made elsewhere: by people, or by another tool."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.label import Attributes, labels_frame
from stereotrope.annotate.registry import annotator
from stereotrope.errors import MetadataError, UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import Design, PictureMatching, normal_path, outside_design
from stereotrope.inputs.options import File, Name, Options, Text, Texts
from stereotrope.inputs.rows import PICTURE_KEYS, Row, RowFile, picture_column, read_rows
from stereotrope.tables import LABELLED, NOT_VALUES, fingerprint_of, whole_problem

_NO_LABEL = frozenset(["nan", "null", "none", "na", "n/a", "#n/a", "<na>", "undefined", "unknown", "?", "-"])
"""Words that mostly mean that there is no label; they are told, and count as values."""
_ROW_NUMBER = re.compile(r"Unnamed: \d+(_level_\d+)?")
"""What pandas calls a column without a name."""
_FIRST = 200
"""So many rows say what another column holds."""
_LONGEST = 131_072
"""Characters a label may have; the standard library's limit of a CSV field."""
_TIDY = ("attribute", "value")
_TIDY_EXTRAS = ("confidence", "rationale", "status")


@dataclass(frozen=True)
class _Said:
    line: int
    key: str
    attribute: str
    value: str
    model: str | None = None
    confidence: float | None = None
    rationale: str | None = None


class ImportedLabels(Annotator):
    """Labels from a CSV or JSON Lines file.

    *Tidy* files have the columns ``attribute`` and ``value`` (and may have ``confidence``, ``rationale``
    and ``status``), *wide* ones a column an attribute. Rows name their picture by ``image_id``,
    ``file_name`` or ``source`` (path inside the folder the pictures came from) or ``sha256``, else by
    another column with a usual name (``image``, ``path``, ``id`` …): by id, path or hash.

    An empty cell is a missing label; ``None`` and ``NA`` are values. The words ``unclear``, ``refused``
    and ``invalid`` become that status. The same row twice counts once.

    file: The file, as the user wrote it.
    name: Name of the rater or tool, the ``annotator`` of its labels.
    key: Column that names the picture; found by its name when None.
    attributes: Attributes to take; all when None.
    layout: ``"tidy"`` or ``"wide"``; found from the columns when None.
    model: Column that names the generator, where pictures of several have the same name.
    folder: Folder that a relative ``file`` starts from.

    notes: What the last derivation left out or could not match, one sentence each.
    trouble: Why the last derivation gave no label at all; None where it gave some.
    only: The one generator whose pictures the file is of, where that is known.
    design: What the prompts of the audit say, where that is known.

    Raises MetadataError: The file cannot be used; the message names file, line, rule, what was found and what
        to do.
    """

    version = 1

    def __init__(
        self,
        file: Path | str,
        *,
        name: str,
        key: str | None = None,
        attributes: Sequence[str] | None = None,
        layout: Literal["tidy", "wide"] | None = None,
        model: str | None = None,
        folder: Path | str | None = None,
    ) -> None:
        self.name: str = name
        self.model = model
        self.file = str(file)
        self.notes: list[str] = []
        self.trouble: str | None = None
        self.only: str | None = None
        self.design: Design = {}
        if layout not in (None, "tidy", "wide"):
            raise UsageError(f"annotator {name!r}: 'layout' must be 'tidy' or 'wide', found {layout!r}")
        self.path: Path = Path(folder or ".") / file
        found = read_rows(self.path, name=self.file)
        columns, rows = found.columns, self._rows(found)
        self._head = f"{self.file}:{found.header}"
        for option, column in (("key", key), ("model", model)):
            if column is not None and column not in columns:
                raise MetadataError(
                    f"{self._head}: no column {column!r}, found {', '.join(columns)}; correct {option!r}"
                )
        self.key = key or picture_column(found, option="key")
        tidy = layout == "tidy" or (layout is None and all(c in columns for c in _TIDY))
        self._values = {row.line: row.values for row in rows}
        self._others = {
            column: [text for row in rows[:_FIRST] if (text := row.text(column)) is not None]
            for column in columns
            if column != self.key
        }
        said = self._tidy(columns, rows) if tidy else self._wide(columns, rows, attributes)
        self._doubled = 0
        taken = next((one for one in said if whole_problem(one.attribute)), None)
        if taken is not None:
            raise MetadataError(f"{self.file}:{taken.line}: attribute {whole_problem(taken.attribute)}")
        self._said = self._once(said)
        # A column without any value is asked for all the same: what was never answered is missing.
        asked = {s.attribute for s in self._said} if tidy else {c for c in columns if self._is_attribute(c)}
        if attributes is not None:
            self._said = self._chosen(attributes, asked)
        self.attributes: Attributes = dict.fromkeys(attributes or sorted(asked))
        self._open = not tidy and attributes is None
        self._odd = self._oddities(columns, layout)
        parameters: dict[str, Any] = {
            "key": self.key,
            "attributes": attributes and list(attributes),
            "tidy": tidy,
        }
        self.fingerprint: str = fingerprint_of(f"labels:{name}", self.version, parameters, found.data)

    def tell_design(self, design: Design) -> None:
        """Know a row of another prompt, which lacks no image."""
        self.design = design

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the file's labels of the images in the table, in the table's order."""
        self.notes = list(self._odd)
        if self._doubled:
            what = (
                "1 label given twice counts"
                if self._doubled == 1
                else f"{self._doubled} labels given twice count"
            )
            self.notes.append(f"{self.file}: {what} once")
        matching = PictureMatching(
            images,
            ((said.line, said.key) for said in self._said),
            file=self.file,
            column=self.key,
            others=self._others,
            models=[said.model or self.only for said in self._said] if self.model or self.only else None,
            outside=outside_design((self._values[said.line] for said in self._said), self.design),
        )
        self.trouble = matching.trouble if self._said else f"{self.file}: no label in it"
        self.notes += matching.notes if self._said else [self.trouble or ""]
        usable = images.filter(pl.col("status").is_in(LABELLED))
        matched = self._matched(matching)
        rows_out = []
        for attribute in self.attributes:
            of = matched[attribute]
            missing = usable.height - len(of)
            if missing:
                self.notes.append(
                    f"{self.file}: {missing} of {usable.height} images have no label of {attribute!r}"
                )
            rows_out += [
                self._row(image_id, of[image_id]) for image_id in usable["image_id"] if image_id in of
            ]
        self.notes += self._doubtful(rows_out)
        return labels_frame(rows_out)

    def _row(self, image_id: str, said: _Said) -> dict[str, Any]:
        status = said.value.casefold() if said.value.casefold() in NOT_VALUES else "ok"
        return {
            "subject_kind": "image",
            "subject_id": image_id,
            "attribute": said.attribute,
            "value": said.value if status == "ok" else None,
            "confidence": said.confidence,
            "annotator": self.name,
            "status": status,
            "rationale": said.rationale,
        }

    def _rows(self, found: RowFile) -> list[Row]:
        """Return the rows with every value as text in composed form (NFC)."""
        if found.unnamed:
            raise MetadataError(
                f"{self.file}:{found.header}: every column needs a name, found none for column "
                f"{found.unnamed[0]} beside {', '.join(found.columns)}; name it, or leave it out (pandas: "
                "to_csv(index=False))"
            )
        rows = []
        for row in found.rows:
            texts = {column: row.text(column) or "" for column in found.columns}
            composed = {column: unicodedata.normalize("NFC", text) for column, text in texts.items()}
            rows.append(Row(row.file, row.line, composed))
        return rows

    def leave_out(self, columns: Collection[str], generator: str | None) -> None:
        """As :meth:`Annotator.leave_out`, but for columns that were asked for."""
        self.only = generator
        left = [name for name in self.attributes if name in columns]
        if self._open and left:
            self.attributes = {name: None for name in self.attributes if name not in left}
            self._said = [said for said in self._said if said.attribute not in left]
            self._odd.append(
                f"{self.file}: {', '.join(map(repr, left))} say what was asked for, and are no labels; list "
                "under attributes: what is"
            )

    def _oddities(self, columns: Sequence[str], layout: str | None) -> list[str]:
        """What was taken for granted of the file, one sentence each."""
        told = []
        half = [c for c in _TIDY if c in columns]
        if layout is None and len(half) == 1 and half[0] in self.attributes:
            other = next(c for c in _TIDY if c not in half)
            told.append(
                f"{self.file}: there is a column {half[0]!r} and none {other!r}, so every column is taken "
                f"for an attribute; where a row is one label, call its columns {' and '.join(_TIDY)}"
            )
        numbers = [c for c in columns if _ROW_NUMBER.fullmatch(c) and c not in self.attributes]
        if numbers:
            told.append(f"{self.file}: column {numbers[0]!r} is a row number by its name, and no label")
        return told

    def _doubtful(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """Say how many values are words that mostly mean that there is none."""
        values = (row["value"] for row in rows if row["value"] is not None)
        found = Counter(value for value in values if value.casefold() in _NO_LABEL)
        if not found:
            return []
        listed = ", ".join(f"{n} × {value!r}" for value, n in found.most_common(5))
        return [
            f"{self.file}: {listed} count as values; where there is no label leave the cell empty, or "
            "write unclear"
        ]

    def _is_attribute(self, column: str) -> bool:
        names = (self.key, self.model, *PICTURE_KEYS)
        return column not in names and not _ROW_NUMBER.fullmatch(column)

    def _tidy(self, columns: Sequence[str], rows: Iterable[Row]) -> list[_Said]:
        for column in _TIDY:
            if column not in columns:
                raise MetadataError(
                    f"{self._head}: a tidy file needs the column {column!r}, found {', '.join(columns)}; "
                    "add it or give layout: wide"
                )
        said = []
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
                sure, why = self._confidence(row), row.text("rationale")
                said.append(_Said(row.line, self._key(row), attribute, value, self._model(row), sure, why))
        return said

    def _confidence(self, row: Row) -> float | None:
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

    def _wide(
        self, columns: Sequence[str], rows: Iterable[Row], attributes: Sequence[str] | None
    ) -> list[_Said]:
        given = attributes or [c for c in columns if self._is_attribute(c)]
        for attribute in given:
            if attribute not in columns:
                raise MetadataError(
                    f"{self._head}: no column {attribute!r}, found {', '.join(columns)}; correct 'attributes'"
                )
        return [
            _Said(row.line, self._key(row), attribute, value, self._model(row))
            for row in rows
            for attribute in given
            if (value := row.text(attribute)) is not None
        ]

    def _key(self, row: Row) -> str:
        key = row.text(self.key)
        if key is None:
            raise row.error(f"{self.key!r} must name a picture, found nothing; fill it in")
        return normal_path(key)

    def _model(self, row: Row) -> str | None:
        return row.text(self.model) if self.model is not None else None

    def _once(self, said: Iterable[_Said]) -> list[_Said]:
        first: dict[tuple[str, str, str | None], _Said] = {}
        for one in said:
            if len(one.value) > _LONGEST:
                raise MetadataError(
                    f"{self.file}:{one.line}: a label must have at most {_LONGEST} characters, found "
                    f"{len(one.value)} of {one.attribute!r}; shorten it"
                )
            earlier = first.setdefault((one.key, one.attribute, one.model), one)
            if earlier is one:
                continue
            self._doubled += 1
            self._refuse_conflict(earlier, one)
        return list(first.values())

    def _refuse_conflict(self, earlier: _Said, one: _Said) -> None:
        if earlier.value != one.value:
            raise MetadataError(
                f"{self.file}:{one.line}: a picture has one label of an attribute, found {one.attribute!r} "
                f"{one.value!r} here and {earlier.value!r} on line {earlier.line} for {one.key!r}; keep one, "
                "give every rater a file, or name the column of the model with model:"
            )

    def _chosen(self, attributes: Sequence[str], present: Collection[str]) -> list[_Said]:
        for attribute in attributes:
            if attribute not in present and present:
                raise MetadataError(
                    f"{self.file}: no label of attribute {attribute!r}, found {', '.join(sorted(present))}; "
                    "correct 'attributes'"
                )
        return [s for s in self._said if s.attribute in attributes]

    def _matched(self, matching: PictureMatching) -> dict[str, dict[str, _Said]]:
        """Attribute → image_id → what was said."""
        matched: dict[str, dict[str, _Said]] = defaultdict(dict)
        for said, ids, several in zip(self._said, matching.ids, matching.several, strict=True):
            if several:
                raise MetadataError(
                    f"{self.file}:{said.line}: {self.key!r} must name one image, found {len(ids)} "
                    f"for {said.key!r}; give image_id or sha256, or name the column of the model with model:"
                )
            for image_id in ids:
                earlier = matched[said.attribute].setdefault(image_id, said)
                if earlier is not said:
                    self._refuse_conflict(earlier, said)
        return matched


class LabelOptions(Options):
    """As of :class:`ImportedLabels`."""

    labels: File
    name: Name
    key: Text | None = None
    attributes: Texts | None = None
    layout: Literal["tidy", "wide"] | None = None
    model: Text | None = None


@annotator(
    LabelOptions,
    summary="labels made elsewhere, from a CSV or JSONL file",
    example="{labels: human.csv, name: rater-1}",
)
def labels(options: LabelOptions, context: Context) -> ImportedLabels:
    """Read the file."""
    given = options.model_dump(exclude={"labels"})
    return ImportedLabels(options.labels, folder=context.folder, **given)
