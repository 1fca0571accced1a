"""Files of rows made elsewhere (metadata, labels …): CSV, JSON lines or Parquet; rows know their line."""

import codecs
import csv
import io
import json
import re
import threading
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
from stereotrope.inputs.row import Pairs, Rows, column_name

PICTURE_KEYS = ("image_id", "file_name", "source", "sha256")
"""Columns that name the picture of a label, in the order they are looked for; they are no attributes."""

_PICTURE_NAMES = (*PICTURE_KEYS, "image", "image_name", "image_file", "filename", "file", "path", "id")

_PICTURES_ALONE = ("image_id", "file_name", "sha256", "image_name", "image_file", "filename")
"""Those that are no words of a longer name."""

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

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_SHOWN = 5
_KEPT_AT_ONCE = 20_000
_END = "end"
"""A row behind the last: where a quote is still open, it is no row of its own."""
_LONGEST_FIELD = 64 * 1024 * 1024
_FIELD_LIMIT = threading.Lock()
_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


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
    rows: Rows
    header: int = 1
    unnamed: tuple[int, ...] = ()
    data: bytes = field(default=b"", repr=False)

    @property
    def where(self) -> str:
        """The file and the line of its header, for messages."""
        return f"{self.file}:{self.header}" if self.header else self.file

    def require(self, column: str, purpose: str) -> str:
        """Return ``column`` as it is called here, or raise naming the nearest one there is."""
        name = column if column in self.columns else column_name(column)
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


def read_rows(
    path: Path, *, name: str | None = None, most: int = MOST_DATA, may_be_empty: bool = False
) -> RowFile:
    """Read a file of rows: CSV (``.csv``, ``.tsv``), JSON lines (``.jsonl``, ``.ndjson``) or ``.parquet``.

    Under another name it is JSON lines when it begins with ``{``, else CSV. CSV is separated by commas,
    semicolons or tabs, whichever the header has most of outside quotes. Blank rows are skipped. The line of a
    row of Parquet is its number, from 1.

    name: What messages call it; its name without folders when None.
    most: Bytes that it has at most.
    may_be_empty: Whether a header without rows will do.
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
    if not found.rows and not may_be_empty:
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
    with long_fields():
        records = _records(name, text, delimiter)
        header, cells = next(records, (1, []))
        columns = [column_name(cell) for cell in cells]
        named = [column for column in columns if column]
        if len(named) == 1 and (mark := next((m for m in ";\t|," if m in named[0]), None)):
            raise MetadataError(
                f"{name}:{header}: columns must be separated by commas, semicolons or tabs, found {mark!r} "
                f"in the only column {shorten(named[0])}; save it so, the header without quotes"
            )
        if len(named) == 1 and _spaced(named[0]):
            raise MetadataError(
                f"{name}:{header}: columns must be separated by commas, semicolons or tabs, found a space in "
                f"the only column {shorten(named[0])}; save it so"
            )
        _refuse_twins(f"{name}:{header}", named)
        kept = _Cells(len(columns))
        for line, record in records:
            if len(record) > len(columns) and not any(cell.strip() for cell in record[len(columns) :]):
                record = record[: len(columns)]  # a spreadsheet ends its rows so
            if len(record) != len(columns):
                alone = f", {shorten(named[0])}" if len(named) == 1 else ""
                raise MetadataError(
                    f"{name}:{line}: must have {len(columns)} fields as the header{alone}, found "
                    f"{len(record)}; add or remove {DELIMITERS[delimiter]}, and put values that hold "
                    f"{DELIMITERS[delimiter]} in double quotes"
                )
            kept.add(line, record)
    lines, values = kept.columns()
    by_name = dict(zip(columns, values, strict=True))
    unnamed = [
        at
        for at, (column, cells_of) in enumerate(zip(columns, values, strict=True), start=1)
        if not column and (cells_of.str.strip_chars() != "").any()
    ]
    rows = Rows(name, lines, {column: by_name[column] for column in named})
    return RowFile(name, tuple(named), rows, header, tuple(unnamed))


def _spaced(header: str) -> bool:
    """Whether a header of one column is several ones apart by spaces, of which one names the picture."""
    parts = header.casefold().split()
    return len(parts) > 1 and any(part in _PICTURES_ALONE for part in parts)


class _Cells:
    """Cells of records, kept by column; few of them as objects."""

    def __init__(self, n: int) -> None:
        self._done: list[pl.DataFrame] = []
        self._lines: list[int] = []
        self._open: list[list[str]] = [[] for _ in range(n)]

    def add(self, line: int, record: Sequence[str]) -> None:
        """Take the cells of one record."""
        self._lines.append(line)
        for cells, cell in zip(self._open, record, strict=True):
            cells.append(cell)
        if len(self._lines) == _KEPT_AT_ONCE:
            self._close()

    def columns(self) -> tuple[pl.Series, list[pl.Series]]:
        """The lines of all records, and their columns."""
        self._close()
        lines, *cells = pl.concat(self._done, rechunk=True)
        return lines, cells

    def _close(self) -> None:
        made = {str(at): pl.Series(cells, dtype=pl.String) for at, cells in enumerate(self._open)}
        self._done.append(pl.DataFrame({"line": pl.Series(self._lines, dtype=pl.Int64), **made}))
        self._lines.clear()
        for cells in self._open:
            cells.clear()


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


def csv_records(name: str, text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """Return the records of a CSV text that are not blank, each with the line it begins on.

    Signs beside a quoted value are passed over; a quote that is never closed is refused.

    name: What messages call the file.
    Raises MetadataError: It is no CSV.
    """
    with long_fields():
        try:
            return list(_records(name, text, delimiter))
        except MetadataError as strict:
            if isinstance(strict.__cause__, csv.Error) and _is_open(strict.__cause__):
                raise
        found = list(_records(name, f"{text}\n{_END}", delimiter, strict=False))
    line, last = found.pop()
    if last != [_END]:
        raise _malformed(name, line, None)
    return found


def _records(name: str, text: str, delimiter: str, *, strict: bool = True) -> Iterator[tuple[int, list[str]]]:
    """Yield records that are not blank; inside :func:`long_fields`."""
    line, reader = 1, csv.reader(_lines(text), delimiter=delimiter, strict=strict)
    try:
        for record in reader:
            if any(cell.strip() for cell in record):
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise _malformed(name, line, error) from error


def _lines(text: str) -> Iterator[str]:
    """The lines of a text with their ends, as a file gives them that translates none."""
    return (found.group() for found in _LINE.finditer(text))


def _is_open(error: csv.Error) -> bool:
    return "unexpected end" in str(error)


def _malformed(name: str, line: int, error: csv.Error | None) -> MetadataError:
    what = f'is not well-formed CSV ({error}); close every quote, and write one inside a value as ""'
    if error is None or _is_open(error):
        what = "a quote is opened in this row and never closed; close it, or double it inside a value"
    return MetadataError(f"{name}:{line}: {what}")


def _jsonl(name: str, text: str) -> RowFile:
    rows = Rows.of(name, _objects(name, text))
    unnamed = tuple(at for at, column in enumerate(rows.cells, start=1) if not column)
    return RowFile(name, tuple(filter(None, rows.cells)), rows, unnamed=unnamed)


def _objects(name: str, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        try:
            value = json.loads(content, object_pairs_hook=Pairs, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise MetadataError(
                f"{name}:{line}: must be one JSON object a line ({error}); mend the line or write "
                "the file anew"
            ) from error
        if not isinstance(value, Pairs):
            raise MetadataError(
                f"{name}:{line}: must be one JSON object a line, found {shorten(value)}; "
                'write {"column": "value", …} on each line'
            )
        values = [(column_name(key), cell) for key, cell in value]
        _refuse_twins(f"{name}:{line}", [key for key, _ in values])
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise MetadataError(
                f"{name}:{line}: must be Unicode text, found half a surrogate pair; write the "
                "character itself"
            ) from error
        yield line, dict(values)


def _parquet(name: str, data: bytes) -> RowFile:
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        found = " ".join(str(error).split())
        raise MetadataError(f"{name}: is no Parquet file ({found}); write it anew") from error
    columns = [column_name(column) for column in frame.columns]
    _refuse_twins(name, list(filter(None, columns)))
    cells = {column: cells for column, cells in zip(columns, frame, strict=True) if column}
    lines = pl.int_range(1, frame.height + 1, eager=True)
    held = zip(columns, frame, strict=True)
    unnamed = tuple(at for at, (column, of) in enumerate(held, start=1) if not column and of.count())
    return RowFile(name, tuple(cells), Rows(name, lines, cells), header=0, unnamed=unnamed)


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")


def _refuse_twins(where: str, columns: Sequence[str]) -> None:
    if len(set(columns)) < len(columns):
        twin = next(column for column in columns if columns.count(column) > 1)
        raise MetadataError(f"{where}: column {twin!r} is there twice; rename or remove one")
