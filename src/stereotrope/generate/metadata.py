"""Reading the metadata file of a folder of pictures: CSV or JSON lines, row by row with line numbers."""

from __future__ import annotations

import codecs
import csv
import difflib
import io
import json
import math
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stereotrope.errors import MetadataError

__all__ = ["FILE_COLUMNS", "Metadata", "Row", "read_metadata"]

FILE_COLUMNS = ("file_name", "file", "filename", "image", "path")
"""Columns that may name the file, in the order they are looked for; the first is Hugging Face's."""

_LONGEST_FIELD = 64 * 1024 * 1024
_FIELD_LIMIT = threading.Lock()
_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True)
class Row:
    """One row of a metadata file."""

    file: str
    line: int
    values: dict[str, Any]

    def text(self, column: str) -> str | None:
        """Return a value as text without outer blanks; None where it is empty.

        Raises
        ------
        MetadataError
            The value is a list or an object.
        """
        value = self.values.get(column)
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int):
            return str(value).strip() or None
        if isinstance(value, float) and math.isfinite(value):
            return repr(int(value)) if value.is_integer() else repr(value)
        raise self.error(
            f"column {column!r} must hold text, a number, true, false or null, found "
            f"{_kind(value)}; write one plain value"
        )

    def raw(self, column: str) -> str | None:
        """Return a text exactly as it stands (prompts, file names); None where it is empty."""
        value = self.values.get(column)
        return value or None if isinstance(value, str) else self.text(column)

    def error(self, message: str) -> MetadataError:
        """Make the error that names this row."""
        return MetadataError(f"{self.file}:{self.line}: {message}")


@dataclass(frozen=True)
class Metadata:
    """A metadata file: its name for messages, its columns and rows."""

    file: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def require(self, column: str, purpose: str) -> str:
        """Return ``column``, or raise naming the nearest one there is."""
        if column in self.columns:
            return column
        near = difflib.get_close_matches(column, self.columns, 1)
        raise MetadataError(
            f"{self.file}:1: no column {column!r} ({purpose}); "
            + (f"did you mean {near[0]!r}? " if near else "")
            + f"There are {', '.join(map(repr, self.columns)) or 'none'}"
        )

    def file_column(self) -> str:
        """Return the column that names the files."""
        for column in FILE_COLUMNS:
            if column in self.columns:
                return column
        return self.require(FILE_COLUMNS[0], "the file of each row, relative to this file's folder")


def read_metadata(path: Path) -> Metadata:
    """Read a metadata file.

    Raises
    ------
    MetadataError
        Not there, not CSV or JSON lines, not UTF-8, ragged, badly quoted, or without rows. The message
        begins with ``file:line:``.
    """
    reader = {".csv": _csv, ".jsonl": _jsonl}.get(path.suffix.lower())
    if reader is None:
        raise MetadataError(f"{path.name}: metadata must be a .csv or .jsonl file; convert it to one of them")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise MetadataError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    columns, rows = reader(path.name, _decoded(path.name, data))
    if not rows:
        raise MetadataError(f"{path.name}:1: has no rows; it needs one row a picture")
    return Metadata(path.name, columns, tuple(rows))


def _decoded(name: str, data: bytes) -> str:
    if data.startswith(_WIDE_MARKS):
        raise MetadataError(f"{name}:1: must be UTF-8, found UTF-16 or UTF-32; save it as UTF-8")
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MetadataError(
            f"{name}:{line}: must be UTF-8, found byte 0x{data[error.start]:02X}; save it as UTF-8"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise MetadataError(
            f"{name}:{line}: must be text, found a NUL character; save it as plain UTF-8 text"
        )
    return text


def _csv(name: str, text: str) -> tuple[tuple[str, ...], list[Row]]:
    records = _records(name, text)
    line, header = next(records, (1, []))
    columns = [column.strip() for column in header]
    named = [column for column in columns if column]
    if len(named) == 1 and (mark := next((m for m in ";\t|" if m in named[0]), None)):
        raise MetadataError(f"{name}:{line}: columns must be separated by commas, found {mark!r}; save it so")
    _refuse_twins(name, line, named)
    rows = []
    for line, record in records:
        if len(record) != len(columns):
            raise MetadataError(
                f"{name}:{line}: must have {len(columns)} fields as the header, found {len(record)}; add or "
                "remove commas, and put values that hold commas in double quotes"
            )
        values = {column: value for column, value in zip(columns, record, strict=True) if column}
        rows.append(Row(name, line, values))
    return tuple(named), rows


def _records(name: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not blank, each with the line it begins on."""
    with _FIELD_LIMIT:
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            reader = csv.reader(io.StringIO(text, newline=""), strict=True)
            found = []
            line = 1
            while True:
                try:
                    record = next(reader)
                except StopIteration:
                    break
                except csv.Error as error:
                    raise MetadataError(
                        f"{name}:{line}: is not well-formed CSV ({error}); close every double quote, and "
                        'write a quote inside a value as ""'
                    ) from error
                if any(field.strip() for field in record):
                    found.append((line, record))
                line = reader.line_num + 1
        finally:
            csv.field_size_limit(before)
    yield from found


def _jsonl(name: str, text: str) -> tuple[tuple[str, ...], list[Row]]:
    rows = []
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        try:
            value = json.loads(content, object_pairs_hook=_Pairs)
        except (ValueError, RecursionError) as error:
            raise MetadataError(
                f"{name}:{line}: must be one JSON object a line ({error}); mend the line or write "
                "the file anew"
            ) from error
        if not isinstance(value, _Pairs):
            raise MetadataError(
                f"{name}:{line}: must be one JSON object a line, found {_short(value)}; "
                'write {"file_name": …} on each line'
            )
        _refuse_twins(name, line, [key for key, _ in value])
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise MetadataError(
                f"{name}:{line}: must be Unicode text, found half a surrogate pair; write the "
                "character itself"
            ) from error
        rows.append(Row(name, line, dict(value)))
    return tuple(dict.fromkeys(key for row in rows for key in row.values)), rows


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a key given twice is seen."""


def _refuse_twins(name: str, line: int, columns: Iterable[str]) -> None:
    seen = set()
    for column in columns:
        if column in seen:
            raise MetadataError(f"{name}:{line}: column {column!r} is there twice; rename or remove one")
        seen.add(column)


def _kind(value: object) -> str:
    return "an object" if isinstance(value, _Pairs) else f"{type(value).__name__} {_short(value)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"
