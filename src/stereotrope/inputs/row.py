"""Rows of a file: kept by column, each made when it is asked for."""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, overload

import polars as pl

from stereotrope.errors import MetadataError
from stereotrope.inputs.options import shorten

LINE = "\0line"
"""Column with the line of a row, under a name that no column of a file has."""
_MADE_AT_ONCE = 10_000
_BLANKS = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""What ``str.strip`` takes for blank."""
_PLAIN = (pl.String, pl.Boolean, pl.Null, pl.Categorical, pl.Enum)


_NOTHING: dict[str, Any] = {}


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, so that a key given twice is seen."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: the line it begins on (1 is the first) and its values by column."""

    file: str
    line: int
    values: dict[str, Any]

    def text(self, column: str) -> str | None:
        """Return a value as text without outer blanks; None where it is empty.

        Raises MetadataError: The value is a list or an object.
        """
        value = self.values.get(column_name(column))
        if value is None:
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, str | int):
            return str(value).strip() or None
        if isinstance(value, float) and math.isfinite(value):
            return _number(value)
        found = "an object" if isinstance(value, Pairs) else f"{type(value).__name__} {shorten(value)}"
        raise self.error(
            f"column {column!r} must hold text, a number, true, false or null, found {found}; write one "
            "plain value"
        )

    def raw(self, column: str) -> str | None:
        """Return a text exactly as it stands (prompts, file names); None where it is empty."""
        value = self.values.get(column_name(column))
        return value or None if isinstance(value, str) else self.text(column)

    def without_values(self) -> Self:
        """Where it stands, and nothing of what it says."""
        return replace(self, values=_NOTHING)

    def error(self, message: str) -> MetadataError:
        """Make the error that names this row."""
        return MetadataError(f"{self.file}:{self.line}: {message}")


class Rows(Sequence[Row]):
    """The rows of a file.

    lines: Of each the line it begins on.
    cells: Column → its values, one a row.
    """

    def __init__(self, file: str, lines: pl.Series, cells: Mapping[str, pl.Series | list[Any]]) -> None:
        self.file, self.lines, self.cells = file, lines, cells

    @classmethod
    def of(cls, file: str, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> Self:
        """Rows given one by one, each with its line; what one lacks is None."""
        lines: list[int] = []
        cells: dict[str, list[Any]] = {}
        for line, values in rows:
            for name, value in values.items():
                kept = cells.setdefault(name, [])
                kept += [None] * (len(lines) - len(kept))
                kept.append(value)
            lines.append(line)
        for kept in cells.values():
            kept += [None] * (len(lines) - len(kept))
        return cls(file, pl.Series(lines, dtype=pl.Int64), {n: _as_series(kept) for n, kept in cells.items()})

    def __len__(self) -> int:
        return self.lines.len()

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | Sequence[Row]:
        if isinstance(at, slice):
            return Rows(self.file, self.lines[at], {name: cells[at] for name, cells in self.cells.items()})
        values = {name: cells[at] for name, cells in self.cells.items()}
        return Row(
            self.file,
            self.lines[at],
            {n: list(v) if isinstance(v, pl.Series) else v for n, v in values.items()},
        )

    def __iter__(self) -> Iterator[Row]:
        for at in range(0, len(self), _MADE_AT_ONCE):
            part = slice(at, at + _MADE_AT_ONCE)
            cells = [c[part].to_list() if isinstance(c, pl.Series) else c[part] for c in self.cells.values()]
            for line, *values in zip(self.lines[part].to_list(), *cells, strict=True):
                yield Row(self.file, line, dict(zip(self.cells, values, strict=True)))

    def texts(self, columns: Sequence[str]) -> pl.DataFrame:
        """:data:`LINE`, and the columns as :meth:`Row.text` has them.

        Raises MetadataError: As there.
        """
        found = {LINE: self.lines}
        for column in columns:
            if (texts := _texts(self.cells[column])) is None:
                rows = [[row.text(name) for name in columns] for row in self]
                schema = dict.fromkeys(columns, pl.String)
                return pl.DataFrame(rows, schema, orient="row").insert_column(0, self.lines.alias(LINE))
            found[column] = texts
        return pl.DataFrame(found)


def _as_series(cells: list[Any]) -> pl.Series | list[Any]:
    """Texts alone as a series; others stay as they are."""
    return pl.Series(cells, dtype=pl.String) if all(isinstance(c, str | None) for c in cells) else cells


def column_name(name: str) -> str:
    """The name of a column without outer blanks, in Unicode's composed form (NFC)."""
    return unicodedata.normalize("NFC", name).strip()


def composed_texts(texts: pl.Series) -> pl.Series:
    """Texts in Unicode's composed form (NFC)."""
    odd = texts.filter(texts.str.len_bytes() != texts.str.len_chars()).unique()
    if odd.is_empty():
        return texts
    return texts.replace(odd, pl.Series([unicodedata.normalize("NFC", one) for one in odd], dtype=pl.String))


def _texts(values: pl.Series | list[Any]) -> pl.Series | None:
    """Values as text without outer blanks, null where they are empty; None where one may be no such."""
    if isinstance(values, list):
        return None
    if values.dtype.is_float():
        if values.is_finite().all():
            kept = values.unique().drop_nulls()
            return values.replace_strict(kept, pl.Series(map(_number, kept), dtype=pl.String), default=None)
        return None
    if values.dtype.is_integer() or values.dtype in _PLAIN:
        text = values.cast(pl.String).str.strip_chars(_BLANKS)
        return text.set(text == "", None) if (text == "").any() else text
    return None


def _number(value: float) -> str:
    return repr(int(value)) if value.is_integer() else repr(value)
