"""Files of millions of rows: read column by column when they are needed, and never whole."""

import csv
import hashlib
import shutil
import tempfile
import unicodedata
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.errors import MetadataError
from stereotrope.inputs.row import Rows
from stereotrope.inputs.rows import DELIMITERS, PARQUET, RowFile, long_fields

ROW = "\0row"
"""Column with the number of a row, from 1, under a name that no column of a file has."""
Only = Callable[[pl.Expr], pl.Expr]
"""Gives, of an expression of keys (:func:`text_key`), which of them are wanted."""
_FAILED = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
_MARKS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True)
class ScannedFile:
    """A Parquet or CSV file whose rows are read when they are needed.

    head: The file without its rows: what it is called, and its columns.
    rows: Its rows, their columns as they are called in ``head``.
    digest: SHA-256 of its bytes.
    """

    path: Path
    head: RowFile
    rows: pl.LazyFrame
    digest: str
    n_rows: int
    _kept: Any = field(default=None, repr=False)
    """What is deleted once nobody reads it any more."""

    def texts(self, columns: Sequence[str], *, only: tuple[str, Only] | None = None) -> pl.LazyFrame:
        """These columns as text without outer blanks, and :data:`ROW`; see :func:`without_empty`.

        only: A column and which rows are wanted by the keys of its texts.
        """
        schema = self.rows.collect_schema()
        if wrong := [name for name in columns if schema[name].is_nested() or schema[name].is_temporal()]:
            raise MetadataError(
                f"{self.head.file}: column {wrong[0]!r} must hold text, numbers, true or false, found "
                f"{schema[wrong[0]]}; write one plain value a row"
            )
        rows = self.rows
        if only is not None:
            rows = rows.filter(only[1](text_key(_text(only[0], schema[only[0]])).fill_null(0)))
        return rows.select(ROW, *(_text(name, schema[name]) for name in columns))

    def read(self, rows: pl.LazyFrame) -> pl.DataFrame:
        """Read what is asked of its rows.

        Raises MetadataError: They cannot be read: the file is damaged, or another than when it was looked at.
        """
        try:
            return rows.collect(engine="streaming")
        except _FAILED as error:
            raise _unreadable(self.head.file, error) from error

    def named(self, column: str, numbers: Iterable[int]) -> dict[int, str | None]:
        """What a column says in the rows of some numbers."""
        asked = pl.Series(list(numbers), dtype=pl.UInt32)
        found = self.read(self.texts([column]).filter(pl.col(ROW).is_in(asked.implode())))
        return dict(found.sort(ROW).iter_rows())


def text_key(text: pl.Expr) -> pl.Expr:
    """A number of 64 bits that stands for a text, null where there is none.

    Two of ten million texts have the same one in 3 of a million studies; then the file is refused.
    """
    return pl.when(text != "").then(text.hash())


class _Folder:
    """A folder that is deleted once nobody has it any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="stereotrope-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def _text(name: str, kind: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if kind.is_float():  # a whole number is written without decimals, as in files that are read whole
        number = column.fill_nan(None)
        column = pl.when(number == number.round()).then(number.cast(pl.Int64, strict=False).cast(pl.String))
        column = column.otherwise(number.cast(pl.String))
    return column.cast(pl.String).str.strip_chars().alias(name)


def without_empty(texts: pl.DataFrame) -> pl.DataFrame:
    """Texts with null where they are empty."""
    columns = [name for name, kind in texts.schema.items() if kind == pl.String]
    empty = [name for name in columns if (texts[name] == "").any()]
    return texts.with_columns(pl.when(pl.col(name) != "").then(pl.col(name)) for name in empty)


def scan_rows(path: Path, *, name: str | None = None) -> ScannedFile:
    """Look at a file of rows, and read none of them yet. One that is no Parquet is written as such, once.

    name: What messages call it; its name without folders when None.

    Raises MetadataError: It is not there, neither Parquet nor CSV, has no rows, or a column twice.
    """
    called, kept, suffix = name or path.name, None, path.suffix.lower()
    if suffix not in (PARQUET, *_MARKS):
        raise MetadataError(
            f"{called}: of a study that is counted it must be Parquet or CSV, found {suffix or 'no ending'}; "
            "write it as Parquet"
        )
    try:
        digest = _digest(path)
        if suffix != PARQUET:
            kept = _Folder()
            path = _as_parquet(path, kept.path, called, _MARKS[suffix])
        rows = pl.scan_parquet(path, row_index_name=ROW, row_index_offset=1, glob=False)
        given = [name for name in rows.collect_schema().names() if name != ROW]
        n_rows = int(rows.select(pl.len()).collect().item())
    except _FAILED as error:
        raise _unreadable(called, error) from error
    columns = [unicodedata.normalize("NFC", column).strip() for column in given]
    if twice := [column for column in columns if columns.count(column) > 1 or not column]:
        what = f"column {twice[0]!r} is there twice" if twice[0] else "a column has no name"
        raise MetadataError(f"{called}: {what}; rename or remove one")
    if not n_rows:
        raise MetadataError(f"{called}: must have at least one row, found none; add the rows")
    head = RowFile(called, tuple(columns), Rows.of(called, ()), header=0)
    return ScannedFile(path, head, rows.rename(dict(zip(given, columns, strict=True))), digest, n_rows, kept)


def _unreadable(called: str, error: BaseException) -> MetadataError:
    told = error.strerror if isinstance(error, OSError) and error.strerror else " ".join(str(error).split())
    return MetadataError(f"{called}: cannot be read ({told}); check the path, or write it anew")


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _as_parquet(path: Path, folder: Path, called: str, mark: str) -> Path:
    """The same rows as a Parquet file in a folder, every column as text."""
    with path.open("rb") as file:
        header = file.readline()
    if mark == "," and header.count(b",") < max(header.count(b";"), header.count(b"\t")):
        mark = ";" if header.count(b";") >= header.count(b"\t") else "\t"
    written = folder / "rows.parquet"
    read = pl.scan_csv(path, separator=mark, infer_schema=False, encoding="utf8", glob=False)
    read.filter(~pl.all_horizontal(pl.all().is_null())).sink_parquet(written, compression="lz4")
    columns = read.collect_schema().names()
    if pl.scan_parquet(written, glob=False).select(pl.col(columns[-1]).has_nulls()).collect().item():
        _refuse_short(path, called, mark, len(columns))
    return written


def _refuse_short(path: Path, called: str, mark: str, n: int) -> None:
    """Refuse rows of fewer fields than the header, which Polars fills with nothing: it cannot tell them.

    Raises MetadataError: There is one; the message has its line.
    """
    with path.open(encoding="utf-8-sig", newline="") as file, long_fields():
        line, reader = 1, csv.reader(file, delimiter=mark)
        for record in reader:
            if len(record) < n and any(record):
                raise MetadataError(
                    f"{called}:{line}: must have {n} fields as the header, found {len(record)}; add "
                    f"{DELIMITERS[mark]} where values are empty"
                )
            line = reader.line_num + 1
