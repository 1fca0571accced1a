"""Files of labels made elsewhere: CSV or JSON Lines, with the line of every row."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereotrope.errors import MetadataError

__all__ = ["Row", "read_rows"]

_DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True)
class Row:
    """One row: its line in the file (1 is the first) and its cells by column, stripped, NFC."""

    line: int
    cells: Mapping[str, str]


def read_rows(data: bytes, *, file: str) -> tuple[list[str], list[Row]]:
    """Return the columns and the rows of a file; JSON Lines when it begins with ``{``, CSV otherwise.

    Blank lines are skipped. ``None``, ``NA`` and the like stay text; an empty cell is a missing one.

    Raises
    ------
    MetadataError
        Not UTF-8, no rows, a damaged line; with file, line, rule, found and fix.
    """
    text = _text(data, file)
    if text.lstrip().startswith("{"):
        return _jsonl(text, file)
    return _csv(text, file)


def _text(data: bytes, file: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise MetadataError(f"{file}:1: the text must be UTF-8, found UTF-16; save the file as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise MetadataError(
            f"{file}:{line}: the text must be UTF-8, found byte 0x{data[error.start]:02X}; "
            "save the file as UTF-8"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise MetadataError(
            f"{file}:{line}: a text file holds no NUL, found one; is this a CSV or JSONL file?"
        )
    if not text.strip():
        raise MetadataError(f"{file}:1: a file of labels needs a header and rows, found nothing; fill it")
    return text


def _clean(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()


def _csv(text: str, file: str) -> tuple[list[str], list[Row]]:
    first = next(line for line in text.splitlines() if line.strip())
    delimiter = max(_DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    columns: list[str] | None = None
    rows: list[Row] = []
    for line, cells in _numbered(reader, file):
        if columns is None:
            columns = _header(cells, file, line)
        elif len(cells) != len(columns):
            raise MetadataError(
                f"{file}:{line}: a row must have as many cells as the header ({len(columns)}), "
                f"found {len(cells)}; quote cells that hold a comma"
            )
        else:
            rows.append(Row(line, dict(zip(columns, map(_clean, cells), strict=True))))
    assert columns is not None
    return columns, rows


def _numbered(reader: Any, file: str) -> Iterator[tuple[int, list[str]]]:
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise MetadataError(
                f"{file}:{line}: the row must be valid CSV, found: {error}; check its quotes"
            ) from error
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield line, cells


def _header(cells: Sequence[str], file: str, line: int) -> list[str]:
    columns = [_clean(cell) for cell in cells]
    for at, column in enumerate(columns, start=1):
        if not column:
            raise MetadataError(
                f"{file}:{line}: every column needs a name, found none for column {at}; name it"
            )
        if columns.count(column) > 1:
            raise MetadataError(f"{file}:{line}: columns must differ, found {column!r} twice; rename one")
    return columns


def _jsonl(text: str, file: str) -> tuple[list[str], list[Row]]:
    columns: dict[str, None] = {}
    rows = []
    for line, raw in enumerate(text.split("\n"), start=1):
        if not raw.strip():
            continue
        try:
            pairs = json.loads(raw, object_pairs_hook=list, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise MetadataError(
                f"{file}:{line}: each line must be one JSON object, found: {error}; fix the line"
            ) from error
        if not isinstance(pairs, list) or not all(isinstance(p, tuple) for p in pairs):
            raise MetadataError(
                f"{file}:{line}: each line must be one JSON object, found {raw.strip()[:20]!r}; fix the line"
            )
        cells: dict[str, str] = {}
        for key, value in pairs:
            name = _clean(key)
            if name in cells:
                raise MetadataError(f"{file}:{line}: keys must differ, found {name!r} twice; rename one")
            cells[name] = _cell(value, name, file, line)
        columns.update(dict.fromkeys(cells))
        rows.append(Row(line, cells))
    return list(columns), rows


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _cell(value: Any, name: str, file: str, line: int) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, list):
        raise MetadataError(
            f"{file}:{line}: {name!r} must be text or a number, found a list or object; write text"
        )
    return json.dumps(value)
