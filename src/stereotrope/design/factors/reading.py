"""From files of further factors to columns of the prompts."""

import difflib
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from stereotrope.design.factors.contract import FactorFile, factor, prompts_of
from stereotrope.errors import MetadataError, UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import File, Options, Texts, shorten
from stereotrope.inputs.rows import RowFile, places, read_rows
from stereotrope.tables import RESERVED, SCOPES, factors_of

_Key = tuple[str | None, ...]
_AT = "\0at"
_NEAR = 0.9
"""Likeness (difflib's ratio) from which a row is taken for that of a prompt with a slip in it."""


class Joined(NamedTuple):
    """Prompts with their further factors, what is to be said, and which file gave what.

    files: One mapping a file: ``file``, ``factors`` and ``sha256``.
    """

    prompts: pl.DataFrame
    notes: tuple[str, ...]
    files: tuple[Mapping[str, Any], ...]


class FileOptions(Options):
    """A file of one's own, and which of its columns are factors."""

    file: File
    columns: Texts | None = None


@factor(
    FileOptions,
    summary="columns of a CSV file: those that the prompts have name the prompts, the others are factors",
    example="{file: regions.csv, columns: [region]}",
)
def file(options: FileOptions, context: Context) -> FactorFile:
    """Make a file of further factors that people wrote."""
    return FactorFile(context.folder / options.file, options.file, options.columns)


def join_factors(prompts: pl.DataFrame, files: Iterable[FactorFile]) -> Joined:
    """Give the prompts the factors of files, behind those that they have; texts and ids stay as they are.

    Raises UsageError: A file is not there, or brings a factor that the prompts have, or another file.
    Raises MetadataError: A file cannot be used, or lacks a prompt; the message has file and line.
    """
    own = factors_of(prompts.columns)
    notes: list[str] = []
    told: list[Mapping[str, Any]] = []
    columns: dict[str, list[str | None]] = {}
    for source in files:
        found = _opened(source)
        keys = [name for name in found.columns if name in (*own, "text") and name not in (source.names or ())]
        names = source.names or tuple(name for name in found.columns if name not in keys)
        _check(found, source, keys, names, (*own, *columns))
        there = prompts.with_columns(pl.Series(name, of, pl.String) for name, of in columns.items())
        of = prompts_of(there.with_row_index(_AT), source)
        rows, unknown = _looked_up(found, source, keys, names, of)
        levels = dict(zip(of[_AT], rows, strict=True))
        nothing = (None,) * len(names)
        rows = [levels.get(at, nothing) for at in range(prompts.height)]
        columns |= {name: [row[i] for row in rows] for i, name in enumerate(names)}
        digest = hashlib.sha256(found.data).hexdigest()
        told.append({"file": source.written, "factors": list(names), "sha256": digest})
        numbers = {name: len(set(columns[name]) - {None}) for name in names}
        counts = ", ".join(f"{name} ({n:,} value{'s' * (n != 1)})" for name, n in numbers.items())
        notes.append(f"factors {source.written}: {counts}, sha256 {digest[:12]}")
        if unknown:
            rows_are = f"row {places(unknown)} is" if len(unknown) == 1 else f"rows {places(unknown)} are"
            notes.append(
                f"factors {source.written}: {len(unknown):,} {rows_are} of no prompt of this "
                f"audit{_told_where(source)}"
            )
    if not columns:
        return Joined(prompts, (), ())
    ends = [name for name in ("text", "negative") if name in prompts.columns]
    joined = prompts.with_columns(pl.Series(name, values, pl.String) for name, values in columns.items())
    order = [*(name for name in joined.columns if name not in ends), *ends]
    return Joined(joined.select(order), tuple(notes), tuple(told))


def _told_where(source: FactorFile) -> str:
    """Which prompts a file is of: “ with household_chore yes”."""
    told = [f"{name} {' or '.join(levels)}" for name, levels in source.where.items()]
    return f" with {' and '.join(told)}" if told else ""


def _opened(source: FactorFile) -> RowFile:
    if not source.path.is_file():
        raise UsageError(f"no file {shorten(source.written)} beside the audit file; {source.remedy}")
    return read_rows(source.path, name=source.written)


def _check(
    found: RowFile, source: FactorFile, keys: Sequence[str], names: Sequence[str], taken: Sequence[str]
) -> None:
    if not keys:
        known = [name for name in taken if name not in names]
        raise MetadataError(
            f"{found.where}: a column must be one that the prompts have "
            f"({', '.join((*known, 'text'))}), found {', '.join(found.columns)}; add one that says which "
            "prompts a row is of"
        )
    if not names:
        raise MetadataError(
            f"{found.where}: every column ({', '.join(found.columns)}) is one that the prompts have; add the "
            "column that is to be a factor"
        )
    for name in names:
        found.require(name, "a further factor")
        if name in taken:
            raise UsageError(
                f"{source.written}: factor {name!r} is there already; call the column otherwise, or "
                "leave it out"
            )
        if name in RESERVED or name in SCOPES:
            raise UsageError(
                f"{source.written}: factor {name!r}: this name is reserved for a column of every run; call "
                f"the column otherwise, for example given_{name}"
            )


def _looked_up(
    found: RowFile, source: FactorFile, keys: Sequence[str], names: Sequence[str], prompts: pl.DataFrame
) -> tuple[list[Sequence[str | None]], list[int]]:
    """The levels of each prompt, None where it has none of the columns; and lines of rows of no prompt."""
    asked: list[_Key] = [tuple(map(_plain, key)) for key in prompts.select(keys).iter_rows()]
    wanted = set(asked)
    levels: dict[_Key, tuple[str | None, ...]] = {}
    lines: dict[_Key, int] = {}
    for row in found.rows:
        key = tuple(row.text(name) for name in keys)
        cells = []
        for name in names:
            cell = row.text(name)
            if cell is None and key in wanted:
                raise row.error(
                    f"column {name!r} must hold the {name} of {_said(key)}, found nothing; fill it in"
                )
            cells.append(cell)
        if key in levels:
            raise row.error(f"{_said(key)} stands in line {lines[key]} already; leave one of the rows out")
        levels[key], lines[key] = tuple(cells), row.line
    missing = [key for key in dict.fromkeys(asked) if key not in levels and any(key)]
    of_others = {key: line for key, line in lines.items() if key not in wanted}
    if missing:
        raise MetadataError(_missing(found, source, keys, missing, of_others))
    nothing = (None,) * len(names)
    return [levels.get(key, nothing) for key in asked], list(of_others.values())


def _missing(
    found: RowFile,
    source: FactorFile,
    keys: Sequence[str],
    missing: Sequence[_Key],
    others: Mapping[_Key, int],
) -> str:
    """What to say of prompts that have no row; where one is written nearly so, that is its line."""
    first = _said(missing[0])
    lines = {_said(key): line for key, line in others.items()}
    near = difflib.get_close_matches(first, lines, n=1, cutoff=_NEAR)
    more = f" and of {len(missing) - 1:,} more" if len(missing) > 1 else ""
    said = f"no row is of {first} ({', '.join(keys)}){more}{_told_where(source)}"
    hint = f"is {near[0]} meant for it? Else " if near else ""
    return f"{found.file}:{lines[near[0]] if near else found.header or 1}: {said}; {hint}{source.remedy}"


def _plain(cell: str | None) -> str | None:
    return None if cell is None else cell.strip() or None


def _said(key: _Key) -> str:
    return " / ".join("nothing" if cell is None else repr(cell) for cell in key)


def kept_rows(path: Path, name: str) -> pl.DataFrame | None:
    """Return what stands in a file of factors, all as text; None where it is not there."""
    if not path.is_file():
        return None
    found = read_rows(path, name=name)
    cells = [{column: row.text(column) for column in found.columns} for row in found.rows]
    return pl.DataFrame(cells, schema=dict.fromkeys(found.columns, pl.String))
