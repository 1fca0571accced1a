"""What a folder of pictures says about itself: its metadata files, read into entries."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from stereotrope.confusables import lookalikes, reads_like
from stereotrope.errors import MetadataError, PictureError
from stereotrope.generate.containment import FolderIndex
from stereotrope.inputs.rows import Row, RowFile, read_rows
from stereotrope.tables import factors_of, prompt_id

FILE_COLUMNS = ("file_name", "file", "filename", "image", "path")
"""Columns that may name the file, in the order they are looked for; the first is Hugging Face's."""

TEXT_COLUMNS = ("prompt", "text", "caption")
"""Columns that may hold the prompt, in the order they are looked for."""

LABEL, SPLIT = "label", "split"
METADATA_NAMES = ("metadata.jsonl", "metadata.csv", "labels.csv")
"""Files that list the pictures of a folder, in the order they are looked for."""

MOST_ALIKE = 5
"""Sets of look-alikes that are told of a folder."""

Listing = tuple[PurePosixPath, RowFile]
"""A metadata file with the folder that its file names are relative to."""


def listings_of(index: FolderIndex, metadata: Path | str | None, notes: list[str]) -> list[Listing]:
    """Find and read the metadata files of a folder, the given one or those with the usual names.

    Raises MetadataError: A file cannot be read, or the folder holds neither metadata nor pictures.
    """
    if metadata is not None:
        return [(PurePosixPath(), read_rows(index.root / metadata))]
    usual = [name for name in METADATA_NAMES if (index.root / name).is_file()]
    if usual:
        if set(METADATA_NAMES[:2]) <= set(usual):
            notes.append("metadata.jsonl is read, metadata.csv beside it is not")
        return [(PurePosixPath(), _read_found(index, index.root / usual[0]))]
    nested = [path for name in reversed(METADATA_NAMES[:2]) for path in index.root.rglob(name)]
    folders = {path.parent: path for path in nested}
    if not folders:
        return [(PurePosixPath(), _from_names(index.pictures))]
    return [_of_split(index, folders[parent]) for parent in sorted(folders)]


def file_column(found: RowFile) -> str:
    """Return the column that names the files."""
    usual = next((column for column in FILE_COLUMNS if column in found.columns), FILE_COLUMNS[0])
    alike = "" if usual in found.columns else reads_like(found.columns, FILE_COLUMNS)
    return found.require(usual, f"the file of each row, relative to this file's folder{alike}")


def columns_by_name(
    listings: Sequence[Listing], factors: Sequence[str], *, alone: bool = False
) -> tuple[dict[str, str], str | None]:
    """Find the columns that say which designed prompt a picture belongs to: factors by name, else the text.

    Raises MetadataError: There is neither, and the prompt is not ``alone``.
    """
    columns = [column for _, found in listings for column in found.columns]
    named = {factor: factor for factor in factors if factor in columns}
    text = None if named else next((column for column in TEXT_COLUMNS if column in columns), None)
    if not named and text is None and not alone:
        raise MetadataError(
            f"{listings[0][1].file or 'the folder'}: must say which designed prompt a picture belongs to, "
            f"by a column {', '.join(map(repr, dict.fromkeys((*factors, *TEXT_COLUMNS))))}; found "
            f"{', '.join(map(repr, dict.fromkeys(columns)))}; add one, or name it with factors: or prompt:"
            f"{reads_like(columns, (*factors, *TEXT_COLUMNS))}"
        )
    return named, text


def _read_found(index: FolderIndex, path: Path) -> RowFile:
    """Read a metadata file that nobody named, so only if it lies in the folder."""
    relative = path.relative_to(index.root).as_posix()
    try:
        index.locate(relative)
    except PictureError as error:
        raise MetadataError(f"{relative}: {error.reason}; name the file to read with metadata:") from error
    return read_rows(path)


def _of_split(index: FolderIndex, path: Path) -> Listing:
    relative = PurePosixPath(path.parent.relative_to(index.root).as_posix())
    found = _read_found(index, path)
    name = f"{relative}/{found.file}"
    rows = tuple(Row(name, row.line, {SPLIT: relative.parts[0], **row.values}) for row in found.rows)
    columns = tuple(dict.fromkeys((SPLIT, *found.columns)))
    return relative, replace(found, file=name, columns=columns, rows=rows)


def _from_names(pictures: Sequence[str]) -> RowFile:
    """Read class-named sub-folders as metadata: the last folder is the label, the one above the split."""
    if not pictures:
        raise MetadataError("the folder holds no picture and no metadata file; check the path")
    rows = []
    for name in pictures:
        folders = name.split("/")[:-1]
        values = {
            "file_name": name,
            LABEL: folders[-1] if folders else None,
            SPLIT: folders[0] if len(folders) > 1 else None,
        }
        rows.append(Row("", 0, values))
    labelled = any(row.values[LABEL] for row in rows)
    return RowFile("", ("file_name", *((LABEL, SPLIT) if labelled else ())), tuple(rows))


@dataclass(frozen=True)
class ListedPicture:
    """One row of the metadata, read."""

    row: Row
    source: str
    sha256: str | None
    generator: str
    factors: dict[str, str | None]
    text: str | None
    negative: str | None
    seed: int | None
    absent: bool = False
    among: str = ""

    @property
    def key(self) -> str:
        """The same for two rows of one file; a file that is not there is known by its name's NFC form.

        Rows that name no file are of different pictures, and so are rows ``among`` different ones.
        """
        if self.among:
            return f"{self.among}\0{self.source or self.row.line}"
        if not self.source:
            return f"\0\0{self.row.file}:{self.row.line}"
        return self.source if self.sha256 else "\0" + unicodedata.normalize("NFC", self.source)

    @property
    def place(self) -> str:
        """Where it is listed; its file where nothing lists it."""
        return f"{self.row.file}:{self.row.line}" if self.row.file else self.source

    def said(self) -> tuple[Any, ...]:
        """Return all that the row says of its file."""
        return (self.generator, self.factors, self.text, self.negative, self.seed)

    def prompt_row(self) -> dict[str, str | None]:
        """Return the row of the ``prompts`` table this entry belongs to."""
        key = prompt_id(self.text, self.negative, self.factors)
        return {"prompt_id": key, **self.factors, "text": self.text, "negative": self.negative}


class Designed:
    """Designed prompts, looked up by text or by the factors that the metadata gives."""

    def __init__(self, prompts: pl.DataFrame, *, by_text: bool, factors: Sequence[str] = ()) -> None:
        self.factors = [] if by_text else [f for f in factors_of(prompts.columns) if f in factors]
        self.rest = [f for f in factors_of(prompts.columns) if f not in self.factors]
        self.by_text = by_text
        self.rows: dict[Any, list[dict[str, str | None]]] = {}
        for row in prompts.iter_rows(named=True):
            self.rows.setdefault(self._key(row["text"], row), []).append(row)

    def _key(self, text: str | None, factors: Mapping[str, str | None]) -> Any:
        return text if self.by_text else tuple(factors.get(f) for f in self.factors)

    def match(self, entry: ListedPicture) -> dict[str, str | None] | None:
        """Return the designed prompt of an entry, None where there is none.

        Raises MetadataError: The entry fits several designed prompts.
        """
        found = self.rows.get(self._key(entry.text, entry.factors), [])
        if len(found) > 1:
            raise entry.row.error(
                f"a picture must belong to one designed prompt, {self.says(entry) or 'this one'} fits "
                f"{len(found)}; add a column {' or '.join(map(repr, self.rest))}"
            )
        return found[0] if found else None

    def lookalikes(self, entries: Sequence[ListedPicture]) -> list[str]:
        """What entries say that reads like a part of the design and is none, in a sentence each."""
        where, mend = "in the metadata and in the design", "write it as the design has it"
        sentences: list[str] = []
        for name in ["text"] if self.by_text else self.factors:
            designed = {text: 0 for rows in self.rows.values() for row in rows if (text := row[name])}
            written = (entry.text if self.by_text else entry.factors.get(name) for entry in entries)
            given = Counter(text for text in written if text)
            sentences += [pair.sentence(f"{name!r} {where}", mend) for pair in lookalikes(given, designed)]
        return sentences[:MOST_ALIKE]

    def says(self, entry: ListedPicture) -> str:
        """What an entry says that decides its prompt."""
        return _written(self._key(entry.text, entry.factors), self.factors)

    def example(self) -> str:
        """What the first designed prompt would have it say."""
        return _written(next(iter(self.rows)), self.factors)


def check_told_apart(
    matched: Sequence[tuple[ListedPicture, Mapping[str, str | None]]], designed: pl.DataFrame
) -> None:
    """Refuse factors that the design lacks where pictures of one prompt differ in them.

    Raises MetadataError: What was asked for differently would be counted as the same.
    """
    known = factors_of(designed.columns)
    first: dict[tuple[str, str | None], ListedPicture] = {}
    for entry, prompt in matched:
        for factor in (f for f in entry.factors if f not in known):
            other = first.setdefault((factor, prompt["prompt_id"]), entry)
            if other.factors[factor] != entry.factors[factor]:
                raise entry.row.error(
                    f"factor {factor!r} must be one of the design, which has {', '.join(known)}; pictures of "
                    f"one prompt would be counted together, {other.factors[factor] or ''!r} "
                    f"({other.place}) and {entry.factors[factor] or ''!r}; add it to the design "
                    "(phrasings:, mitigations:, prompts:) or take it out of factors:"
                )


def _written(key: Any, factors: Sequence[str]) -> str:
    if not isinstance(key, tuple):
        return repr(key)
    return ", ".join(f"{factor}={level or ''}" for factor, level in zip(factors, key, strict=True))


def seed_of(row: Row, column: str | None) -> int | None:
    """Return the seed of a row, a whole number of 64 bits; None where there is no column or no value."""
    text = row.text(column) if column is not None else None
    if text is None:
        return None
    try:
        seed = int(text)
    except ValueError:
        seed = 2**63
    if not -(2**63) <= seed < 2**63:
        raise row.error(
            f"column {column!r} must hold a whole number of 64 bits, found {text[:40]!r}; mend it"
        )
    return seed
