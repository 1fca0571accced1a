"""Metadata of pictures made elsewhere: the options that say how to read it, and its rows as entries."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self

import polars as pl
from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from stereotrope.confusables import lookalikes, reads_like
from stereotrope.errors import MetadataError, PictureError, UsageError
from stereotrope.generate.containment import FolderIndex
from stereotrope.inputs.options import File, Name, Options, Text
from stereotrope.inputs.row import Row, Rows
from stereotrope.inputs.rows import RowFile, read_rows
from stereotrope.tables import RESERVED, SCOPES, check_factors, factors_of, prompt_id

FILE_COLUMNS = ("file_name", "file", "filename", "image", "path")
"""Columns that may name the file, in the order they are looked for; the first is Hugging Face's."""

TEXT_COLUMNS = ("prompt", "text", "caption")
"""Columns that may hold the prompt, in the order they are looked for."""

LABEL, SPLIT = "label", "split"
METADATA_NAMES = ("metadata.jsonl", "metadata.csv", "labels.csv")
"""Files that list the pictures of a folder, in the order they are looked for."""

STATUSES = ("ok", "refused", "excluded")
"""What a column can say came of a request."""

MOST_ALIKE = 5
"""Sets of look-alikes that are told of a folder."""

Listing = tuple[PurePosixPath, RowFile]
"""A metadata file with the folder that its file names are relative to."""


def _factors(value: Any) -> Any:
    pairs = {name: name for name in value} if isinstance(value, list | tuple) else value
    if not isinstance(pairs, Mapping) or not all(isinstance(t, str) for pair in pairs.items() for t in pair):
        raise ValueError("must be a list of columns or a mapping of factor to column")
    for factor, column in pairs.items():
        if factor in RESERVED:
            model = ", or name_from where it names the model" if factor in SCOPES else ""
            raise UsageError(
                f"factor {factor!r}: this name is reserved for a column of every run; give the factor "
                f"another name and say which column it is, factors: {{given_{factor}: {column}}}{model}"
            )
    return {factor: pairs[factor] for factor in check_factors(list(pairs))}


class ListedOptions(Options):
    """Pictures that a file lists, a row a picture.

    name: Name of the model that made the pictures; by default that of the folder, or of the file.
    name_from: Column with the model's name, where they are several models' pictures.
    factors: Columns that are factors, or a mapping factor → column. Only for class-named sub-folders the
        default is ``label``; else there is none.
    prompt, negative, seed: Columns with the prompt, the negative prompt and the seed; without it seeds are
        unknown (null).
    file: Column with the file; by default the one that has a usual name.
    """

    name: Name | None = None
    name_from: Text | None = None
    factors: Annotated[dict[str, str], BeforeValidator(_factors)] | None = None
    prompt: Text | None = None
    negative: Text | None = None
    seed: Text | None = None
    file: Text | None = None

    @field_validator("name_from")
    @classmethod
    def _only_one(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("name") is not None:
            raise ValueError("cannot stand beside `name`; remove one of them")
        return value


class FolderOptions(ListedOptions):
    """A folder of pictures.

    metadata: CSV or JSON lines with one row a picture, relative to the folder or to the audit file. By
        default the first of ``metadata.jsonl``, ``metadata.csv``, ``labels.csv``; else those of its
        sub-folders (the splits of a Hugging Face imagefolder, read as column ``split``); else the names of
        the sub-folders are read as column ``label``.
    absent: What a row is whose file is not there: ``excluded``, it cannot be used; or ``allowed``, the
        picture was made and is not at hand: what others said of it counts, and whatever looks at pictures
        leaves it out.
    """

    folder: File
    metadata: File | None = None
    absent: Literal["excluded", "allowed"] | None = Field(None, examples=["allowed"])


class LabelledOptions(ListedOptions):
    """A file that names pictures which are not at hand.

    labels: CSV, JSON lines or Parquet: a row a picture, or several that agree in all that is said of the
        design, as where each is one label.
    status: Column that says what came of each request: ``ok`` (or nothing), ``refused`` or ``excluded``.
        Without it nobody knows what was refused.
    reason: Column with the reason of that.
    """

    labels: File
    status: Text | None = None
    reason: Text | None = None

    @field_validator("reason")
    @classmethod
    def _of_a_status(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("status") is None:
            raise ValueError("needs `status` beside it; name the column that says what came of a request")
        return value


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
        index.contained(index.locate(relative))
    except PictureError as error:
        raise MetadataError(f"{relative}: {error.reason}; name the file to read with metadata:") from error
    return read_rows(path)


def _of_split(index: FolderIndex, path: Path) -> Listing:
    relative = PurePosixPath(path.parent.relative_to(index.root).as_posix())
    found = _read_found(index, path)
    name = f"{relative}/{found.file}"
    split = pl.repeat(relative.parts[0], len(found.rows), dtype=pl.String, eager=True)
    rows = Rows(name, found.rows.lines, {SPLIT: split, **found.rows.cells})
    columns = tuple(dict.fromkeys((SPLIT, *found.columns)))
    return relative, replace(found, file=name, columns=columns, rows=rows)


def _from_names(pictures: Sequence[str]) -> RowFile:
    """Read class-named sub-folders as metadata: the last folder is the label, the one above the split."""
    if not pictures:
        raise MetadataError("the folder holds no picture and no metadata file; check the path")
    folders = [name.split("/")[:-1] for name in pictures]
    values: dict[str, list[str | None]] = {
        "file_name": [*pictures],
        LABEL: [of[-1] if of else None for of in folders],
        SPLIT: [of[0] if len(of) > 1 else None for of in folders],
    }
    cells = {name: pl.Series(texts, dtype=pl.String) for name, texts in values.items()}
    rows = Rows("", pl.zeros(len(pictures), dtype=pl.Int64, eager=True), cells)
    named = (LABEL, SPLIT) if cells[LABEL].count() else ()
    return RowFile("", ("file_name", *named), rows)


def listed_again(name: str, written: Sequence[str], first: str) -> str:
    """What is said of a picture that two rows, the ``first`` one somewhere, describe in different ways.

    written: Its name as it stands in both.
    """
    start = f"{name!r} must be listed once, found again"
    if not any(text != text.strip() for text in written):
        return f"{start} with other values (first {first}); remove one of the rows"
    before, now = written
    return (
        f"{start} as {now!r} with other values (first {first} as {before!r}); blanks at the ends of a name "
        "do not count: rename one of the pictures, or remove one of the rows"
    )


@dataclass(frozen=True, slots=True)
class ListedPicture:
    """One row of the metadata, read.

    row: Where it stands.
    prompt: What it says of its prompt: factors, ``text`` and ``negative``.
    among: Of whose pictures it is one, where others may have pictures by the same name.
    outcome: What the metadata says came of its request, as pairs of ``status`` and ``reason``.
    """

    row: Row
    source: str
    sha256: str | None
    generator: str
    prompt: dict[str, str | None]
    seed: int | None
    absent: bool
    among: str
    outcome: tuple[tuple[str, str], ...] = ()

    @property
    def key(self) -> str:
        """The same for two rows of one file; a file that is not there is known by its name's NFC form.

        Rows that name no file are of different pictures, and so are rows ``among`` different ones.
        """
        if self.among:
            return f"{self.among}\0{self.source or self.row.line}"
        if not self.source:
            return f"\0\0{self.place}"
        return self.source if self.sha256 else "\0" + unicodedata.normalize("NFC", self.source)

    @property
    def place(self) -> str:
        """Where it is listed; its file where nothing lists it."""
        return f"{self.row.file}:{self.row.line}" if self.row.file else self.source

    def agrees(self, other: Self) -> bool:
        """Whether another row says the same of its file."""
        told = attrgetter("generator", "prompt", "seed", "outcome")
        return bool(told(self) == told(other))

    def prompt_row(self) -> dict[str, str | None]:
        """Return the row of the ``prompts`` table this entry belongs to."""
        levels = {name: level for name, level in self.prompt.items() if name not in ("text", "negative")}
        return {"prompt_id": prompt_id(self.prompt["text"], self.prompt["negative"], levels), **self.prompt}


class Designed:
    """Designed prompts, looked up by text or by the factors that the metadata gives."""

    def __init__(self, prompts: pl.DataFrame, *, by_text: bool, factors: Sequence[str] = ()) -> None:
        self.factors = factors_of(prompts.columns)
        self.columns = ["text"] if by_text else [factor for factor in self.factors if factor in factors]
        self.rows: dict[tuple[str | None, ...], list[dict[str, str | None]]] = {}
        for row in prompts.iter_rows(named=True):
            self.rows.setdefault(self._key(row), []).append(row)

    def _key(self, prompt: Mapping[str, str | None]) -> tuple[str | None, ...]:
        return tuple(prompt[column] for column in self.columns)

    def match(self, entry: ListedPicture) -> dict[str, str | None] | None:
        """Return the designed prompt of an entry, None where there is none.

        Raises MetadataError: The entry fits several designed prompts.
        """
        found = self.rows.get(self._key(entry.prompt), [])
        if len(found) > 1:
            rest = (repr(factor) for factor in self.factors if factor not in self.columns)
            raise entry.row.error(
                f"a picture must belong to one designed prompt, {self.says(entry) or 'this one'} fits "
                f"{len(found)}; add a column {' or '.join(rest)}"
            )
        return found[0] if found else None

    def lookalikes(self, entries: Sequence[ListedPicture]) -> list[str]:
        """What entries say that reads like a part of the design and is none, in a sentence each."""
        where, mend = "in the metadata and in the design", "write it as the design has it"
        sentences: list[str] = []
        for name in self.columns:
            designed = {text: 0 for rows in self.rows.values() for row in rows if (text := row[name])}
            given = Counter(text for entry in entries if (text := entry.prompt[name]))
            sentences += [pair.sentence(f"{name!r} {where}", mend) for pair in lookalikes(given, designed)]
        return sentences[:MOST_ALIKE]

    def says(self, entry: ListedPicture) -> str:
        """What an entry says that decides its prompt."""
        return self._written(self._key(entry.prompt))

    def example(self) -> str:
        """What the first designed prompt would have it say."""
        return self._written(next(iter(self.rows)))

    def _written(self, key: tuple[str | None, ...]) -> str:
        if self.columns == ["text"]:
            return repr(key[0])
        return ", ".join(f"{factor}={level or ''}" for factor, level in zip(self.columns, key, strict=True))

    def check_told_apart(self, matched: Sequence[tuple[ListedPicture, Mapping[str, str | None]]]) -> None:
        """Refuse factors that the design lacks where pictures of one prompt differ in them.

        Raises MetadataError: What was asked for differently would be counted as the same.
        """
        beyond = [f for entry, _ in matched[:1] for f in factors_of(entry.prompt) if f not in self.factors]
        first: dict[tuple[str, str | None], ListedPicture] = {}
        for entry, prompt in matched:
            for factor in beyond:
                other = first.setdefault((factor, prompt["prompt_id"]), entry)
                before, now = other.prompt[factor] or "", entry.prompt[factor] or ""
                if before != now:
                    raise entry.row.error(
                        f"factor {factor!r} must be one of the design, which has {', '.join(self.factors)}; "
                        f"pictures of one prompt would be counted together, {before!r} ({other.place}) and "
                        f"{now!r}; add it to the design (phrasings:, mitigations:, prompts:) or take it out "
                        "of factors:"
                    )


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
