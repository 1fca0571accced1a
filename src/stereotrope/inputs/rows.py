"""Files of rows made elsewhere (metadata, labels …): CSV, JSON lines or Parquet; rows know their line."""

import codecs
import csv
import io
import json
import math
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.confusables import reads_like
from stereotrope.errors import MetadataError, did_you_mean
from stereotrope.inputs.files import MOST_DATA, read_data
from stereotrope.inputs.options import shorten

PICTURE_KEYS = ("image_id", "file_name", "source", "sha256")
"""Columns that name the picture of a label, in the order they are looked for; they are no attributes."""

_PICTURE_NAMES = (*PICTURE_KEYS, "image", "image_name", "image_file", "filename", "file", "path", "id")

_KINDS = {".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json"}
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_HEADER_PARTS = re.compile(r'"[^"]*"?|[,;\t]|[\r\n]+|[^,;\t\r\n]+')
"""Quoted text, a delimiter, line ends, or text up to one of them: a quote opens only where a field does."""
_OTHER_FILES = {
    b"PK\x03\x04": "an Excel workbook or another zip archive; save the sheet as CSV (UTF-8)",
    b"\xd0\xcf\x11\xe0": "an Excel workbook; save the sheet as CSV (UTF-8)",
    b"PAR1": "Parquet; call the file .parquet",
    b"\x1f\x8b": "a gzip archive; unpack it",
    b"SQLite format 3": "an SQLite database; write the table as CSV",
    b"%PDF": "a PDF; write the table as CSV",
    b"<!DOCTYPE": "a web page; fetch the file itself",
    b"<html": "a web page; fetch the file itself",
    b"<?xml": "XML; write it as CSV or JSON lines",
    b"version https://git-lfs": "a pointer of Git LFS, not the file; run `git lfs pull` where it came from",
}
"""First bytes of files that are no rows → what they are, and what to do."""

PARQUET = ".parquet"
"""Ending of files whose rows are numbered, as they have no lines."""

_PICTURE = re.compile(r"\.(png|jpe?g|webp|gif|bmp|tiff?|avif|heic)$", re.IGNORECASE)

_SEP = re.compile(r"sep=([^\r\n])[\r\n]", re.IGNORECASE)
"""The line that Excel reads to learn the delimiter."""

_SHOWN = 5
_END = "end"
"""A row behind the last: where a quote is still open, it is no row of its own."""
_LONGEST_FIELD = 64 * 1024 * 1024
_FIELD_LIMIT = threading.Lock()
_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Row:
    """One row of a file: the line it begins on (1 is the first) and its values by column."""

    file: str
    line: int
    values: dict[str, Any]

    def text(self, column: str) -> str | None:
        """Return a value as text without outer blanks; None where it is empty.

        Raises MetadataError: The value is a list or an object.
        """
        value = self.values.get(_clean(column))
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int):
            return str(value).strip() or None
        if isinstance(value, float) and math.isfinite(value):
            return repr(int(value)) if value.is_integer() else repr(value)
        found = "an object" if isinstance(value, _Pairs) else f"{type(value).__name__} {shorten(value)}"
        raise self.error(
            f"column {column!r} must hold text, a number, true, false or null, found {found}; write one "
            "plain value"
        )

    def raw(self, column: str) -> str | None:
        """Return a text exactly as it stands (prompts, file names); None where it is empty."""
        value = self.values.get(_clean(column))
        return value or None if isinstance(value, str) else self.text(column)

    def error(self, message: str) -> MetadataError:
        """Make the error that names this row."""
        return MetadataError(f"{self.file}:{self.line}: {message}")


@dataclass(frozen=True)
class RowFile:
    """A file of rows.

    columns: Names of its columns, stripped and in Unicode's composed form (NFC); columns without a name are
        left out.
    header: Line of the header; 1 for JSON lines, 0 where there is none.
    unnamed: Positions, from 1, of the columns without a name that hold something.
    """

    file: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    header: int = 1
    unnamed: tuple[int, ...] = ()
    data: bytes = field(default=b"", repr=False)

    @property
    def where(self) -> str:
        """The file and the line of its header, for messages."""
        return f"{self.file}:{self.header}" if self.header else self.file

    def require(self, column: str, purpose: str) -> str:
        """Return ``column`` as it is called here, or raise naming the nearest one there is."""
        name = column if column in self.columns else _clean(column)
        if name in self.columns:
            return name
        there = f"There are {', '.join(map(repr, self.columns)) or 'none'}"
        hint = f"{did_you_mean(name, self.columns)} {there}".lstrip()
        raise MetadataError(f"{self.where}: no column {column!r} ({purpose}); {hint}")


def picture_column(found: RowFile, *, option: str) -> str:
    """Return the column of a file of labels that names the picture, by its usual names, case aside.

    ``option`` is what the user can name it with.

    Raises MetadataError: There is none.
    """
    plain = {re.sub(r"[\s-]+", "_", c.casefold()): c for c in reversed(found.columns)}
    for name in _PICTURE_NAMES:
        if name in plain:
            return plain[name]
    if any(_PICTURE.search(column) for column in found.columns):
        raise MetadataError(
            f"{found.where}: the first line must be the header, found "
            f"{shorten(', '.join(found.columns))}; write above it what the columns are: file_name,gender"
        )
    raise MetadataError(
        f"{found.where}: a column must name the picture ({', '.join(PICTURE_KEYS)}), found "
        f"{', '.join(found.columns)}; rename one, or name it with {option}: {found.columns[0]}"
        f"{reads_like(found.columns, _PICTURE_NAMES)}"
    )


def read_rows(path: Path, *, name: str | None = None, most: int = MOST_DATA) -> RowFile:
    """Read a file of rows: CSV (``.csv``, ``.tsv``), JSON lines (``.jsonl``, ``.ndjson``) or ``.parquet``.

    Under another name it is JSON lines when it begins with ``{``, else CSV. CSV is separated by commas,
    semicolons or tabs, whichever the header has most of outside quotes. Blank rows are skipped. The line of a
    row of Parquet is its number, from 1.

    name: What messages call it; its name without folders when None.
    most: Bytes that it has at most.
    Raises MetadataError: Not there, none of these, not UTF-8, ragged, badly quoted, or without rows.
        The message begins with ``file:line:``.
    """
    data = read_data(path, name or str(path), most=most)
    name = name or path.name
    if path.suffix.lower() == PARQUET:
        found = _parquet(name, data)
    else:
        text = _decoded(name, data)
        found = _jsonl(name, text) if _kind_of(path, name, text) == "json" else _csv(name, text)
    if not found.rows:
        raise MetadataError(f"{found.where}: must have at least one row, found none; add the rows")
    return replace(found, data=data)


def _kind_of(path: Path, name: str, text: str) -> str:
    start = text.lstrip()[:2]
    if re.match(r"\s*\[\s*\{", text[:1000]):
        raise MetadataError(
            f"{name}:1: must be CSV or JSON lines, found a JSON list; write one object a line, without the "
            "brackets and commas around them (`jq -c '.[]'`)"
        )
    kind = _KINDS.get(path.suffix.lower(), "json" if start.startswith("{") else "csv")
    if kind == "csv" and start == '{"':
        raise MetadataError(
            f"{name}:1: must be CSV, as {path.suffix} says, found a JSON object; call the file .jsonl"
        )
    return kind


def places(numbers: Iterable[int], place: str = "line") -> str:
    """Return where something stands: ``(line 3, 9)``, the first five places of many."""
    listed = list(map(str, numbers))
    return f"({place} {', '.join(listed[:_SHOWN])}{' …' if len(listed) > _SHOWN else ''})"


def _clean(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip()


def _decoded(name: str, data: bytes) -> str:
    for start, what in _OTHER_FILES.items():
        if data.lower().startswith(start.lower()) if start[:1] == b"<" else data.startswith(start):
            raise MetadataError(f"{name}:1: must be CSV or JSON lines, found {what}")
    if data.startswith(_WIDE_MARKS):
        raise MetadataError(f"{name}:1: must be UTF-8, found UTF-16 or UTF-32; save it as UTF-8 text")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MetadataError(
            f"{name}:{line}: must be UTF-8, found byte 0x{data[error.start]:02X}; save it as UTF-8 text, "
            "CSV or JSON lines"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise MetadataError(
            f"{name}:{line}: must be text, found a NUL character; save it as UTF-8 text, CSV or JSON lines"
        )
    return text


def _csv(name: str, text: str) -> RowFile:
    if told := _SEP.match(text):
        text = text[: told.start()] + text[told.end() - 1 :]
    delimiter = _delimiter(text)
    (header, cells), *records = csv_records(name, text, delimiter) or [(1, [])]
    columns = [_clean(cell) for cell in cells]
    named = [column for column in columns if column]
    if len(named) == 1 and (mark := next((m for m in ";\t|," if m in named[0]), None)):
        raise MetadataError(
            f"{name}:{header}: columns must be separated by commas, semicolons or tabs, found {mark!r} in "
            f"the only column {shorten(named[0])}; save it so, the header without quotes"
        )
    _refuse_twins(name, header, named)
    rows, unnamed = [], set()
    for line, record in records:
        if len(record) > len(columns) and not any(cell.strip() for cell in record[len(columns) :]):
            record = record[: len(columns)]  # a spreadsheet ends its rows so
        if len(record) != len(columns):
            alone = f", {shorten(named[0])}" if len(named) == 1 else ""
            raise MetadataError(
                f"{name}:{line}: must have {len(columns)} fields as the header{alone}, found {len(record)}; "
                f"add or remove {DELIMITERS[delimiter]}, and put values that hold {DELIMITERS[delimiter]} in "
                "double quotes"
            )
        values = {column: value for column, value in zip(columns, record, strict=True) if column}
        rows.append(Row(name, line, values))
        unnamed |= {at for at, cell in enumerate(record, start=1) if not columns[at - 1] and cell.strip()}
    return RowFile(name, tuple(named), tuple(rows), header, tuple(sorted(unnamed)))


def _delimiter(text: str) -> str:
    """Return the delimiter that the header has most of outside quotes; the comma where it has none."""
    counts = dict.fromkeys(DELIMITERS, 0)
    blank = True
    for part in _HEADER_PARTS.finditer(text):
        found = part.group()
        if found in counts:
            counts[found] += 1
        elif found[0] not in "\r\n":
            blank = blank and not found.strip(' \t"')
        elif blank:
            counts = dict.fromkeys(DELIMITERS, 0)
        else:
            break
    return max(DELIMITERS, key=counts.__getitem__)


@contextmanager
def long_fields() -> Iterator[None]:
    """Let the csv module read long fields; its limit is one for the whole process."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def csv_records(name: str, text: str, delimiter: str, *, strict: bool = True) -> list[tuple[int, list[str]]]:
    """Return the records of a CSV text that are not blank, each with the line it begins on.

    name: What messages call the file.
    strict: Whether signs beside a quoted value are refused; a quote that is never closed always is.
    Raises MetadataError: It is no CSV.
    """
    found, line, error = _parsed(text, delimiter, strict=True)
    is_open = "unexpected end" in str(error)
    if error is not None and not strict and not is_open:
        found, line, error = _parsed(f"{text}\n{_END}", delimiter, strict=False)
        if error is None:
            line, last = found.pop()
            is_open = last != [_END]
    if error is not None or is_open:
        what = f'is not well-formed CSV ({error}); close every quote, and write one inside a value as ""'
        if is_open:
            what = "a quote is opened in this row and never closed; close it, or double it inside a value"
        raise MetadataError(f"{name}:{line}: {what}") from error
    return found


def _parsed(
    text: str, delimiter: str, *, strict: bool
) -> tuple[list[tuple[int, list[str]]], int, csv.Error | None]:
    """Records that are not blank; the line on which reading ended, and why where that is before the end."""
    found, line = [], 1
    with long_fields():
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=strict)
        try:
            for record in reader:
                if any(cell.strip() for cell in record):
                    found.append((line, record))
                line = reader.line_num + 1
        except csv.Error as error:
            return found, line, error
    return found, line, None


def _jsonl(name: str, text: str) -> RowFile:
    rows = []
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        try:
            value = json.loads(content, object_pairs_hook=_Pairs, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise MetadataError(
                f"{name}:{line}: must be one JSON object a line ({error}); mend the line or write "
                "the file anew"
            ) from error
        if not isinstance(value, _Pairs):
            raise MetadataError(
                f"{name}:{line}: must be one JSON object a line, found {shorten(value)}; "
                'write {"column": "value", …} on each line'
            )
        values = [(_clean(key), cell) for key, cell in value]
        _refuse_twins(name, line, [key for key, _ in values])
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise MetadataError(
                f"{name}:{line}: must be Unicode text, found half a surrogate pair; write the "
                "character itself"
            ) from error
        rows.append(Row(name, line, dict(values)))
    columns = list(dict.fromkeys(key for row in rows for key in row.values))
    unnamed = tuple(at for at, column in enumerate(columns, start=1) if not column)
    return RowFile(name, tuple(filter(None, columns)), tuple(rows), unnamed=unnamed)


def _parquet(name: str, data: bytes) -> RowFile:
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        found = " ".join(str(error).split())
        raise MetadataError(f"{name}: is no Parquet file ({found}); write it anew") from error
    frame = frame.rename({column: _clean(column) for column in frame.columns})
    rows = [Row(name, at, values) for at, values in enumerate(frame.iter_rows(named=True), start=1)]
    return RowFile(name, tuple(frame.columns), tuple(rows), header=0)


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a key given twice is seen."""


def _refuse_twins(name: str, line: int, columns: Sequence[str]) -> None:
    if len(set(columns)) < len(columns):
        twin = next(column for column in columns if columns.count(column) > 1)
        raise MetadataError(f"{name}:{line}: column {twin!r} is there twice; rename or remove one")
