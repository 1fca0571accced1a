"""Tables of captions as they come: every row with its line, and what each column is."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stereotrope.errors import MetadataError, did_you_mean
from stereotrope.inputs.captions.headings import (
    LONG,
    ROLES,
    clean_heading,
    looks_like_image,
    named_roles,
    plain_heading,
)
from stereotrope.inputs.files import read_whole
from stereotrope.inputs.options import shorten
from stereotrope.inputs.rows import Row, long_fields

_MAX_BYTES = 2**31
_BY_WIDTH = {
    2: ("image", "caption"),
    3: ("prompt", "image", "caption"),
    4: ("model", "prompt", "image", "caption"),
}
_WHAT = {"image": "the picture", "caption": "the caption", "prompt": "the prompt", "model": "the model"}
_DELIMITERS = ",;\t|"
_WIDE_MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_JSON = (".json", ".jsonl", ".ndjson")
_SHOWN, _MOST_NAMED = 60, 6


class NoCaptions(MetadataError):
    """A table that holds no captions: an error by itself, passed over and told in a folder."""


@dataclass(frozen=True)
class CaptionTable:
    """A file of captions as read.

    columns: Names of its columns, cleaned; a place (``column 2``) where it has no header.
    roles: ``image``, ``caption``, ``prompt``, ``model`` → the column that is it, where there is one.
    header: Line of the header; 0 where the first row is data.
    notes: What was odd about the file as such, one sentence each.
    renamed, guessed: What was made of columns under other names and without any, and without regard to their
        names, likewise.
    """

    file: str
    columns: tuple[str, ...]
    roles: Mapping[str, str]
    rows: tuple[Row, ...]
    header: int
    notes: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    data: bytes = field(default=b"", repr=False)

    def text(self, row: Row, role: str) -> str | None:
        """Return what a row says of a role, without outer blanks; None where it says nothing."""
        return row.text(self.roles[role]) if role in self.roles else None


def read_caption_table(
    path: Path,
    *,
    name: str | None = None,
    given: Mapping[str, str] | None = None,
    needed: Sequence[str] = ("caption",),
    among_others: bool = False,
) -> CaptionTable:
    """Read a table of captions: CSV, JSON lines, or a JSON list of objects.

    Columns go by their headings: case, blanks of any kind, signs and a byte order mark aside; of several
    names of a role the first of :data:`~stereotrope.inputs.captions.headings.ROLES` counts, else a heading
    that holds the word caption or description. Without a heading that fits, the column of images is the one
    whose values look like names of pictures, that of captions the one of longest texts. Cells are set apart
    by comma, semicolon, tab or bar. Text is UTF-8, or UTF-16 or UTF-32 with a byte order mark, else
    Windows-1252, which is noted.

    name: What messages call it; its path when None.
    given: Role → the column that the user says it is.
    needed: Roles without which the file is refused.
    among_others: Whether it is one of many files, which need not all hold captions: long texts are taken for
        captions only beside a column of images.
    Raises MetadataError: It cannot be read, or is malformed; :class:`NoCaptions` where no column can be
        ``needed``.
    """
    name = name or str(path)
    try:
        data = read_whole(path, _MAX_BYTES)
    except OSError as error:
        raise MetadataError(f"{name}: cannot be read ({error.strerror}); check the path") from error
    text, notes = _decoded(data, name)
    given = given or {}
    if path.suffix.lower() in _JSON or (text.lstrip()[:1] == "{" and path.suffix.lower() != ".csv"):
        read = _objects(text, name)
    else:
        with long_fields():
            read = _cells(text, name, given)
    roles, renamed, guessed = _roles(read, given, needed, among_others=among_others)
    if read.of_objects:
        _check_values(read, roles)
    return CaptionTable(
        name,
        read.columns,
        roles,
        tuple(read.rows),
        read.header,
        (*notes, *read.notes),
        (*renamed, *read.unnamed),
        tuple(guessed),
        data,
    )


@dataclass
class _Read:
    """A file's rows, before it is known what its columns are."""

    file: str
    columns: tuple[str, ...]
    rows: list[Row]
    header: int
    notes: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()
    by_width: bool = False
    of_objects: bool = False

    @property
    def where(self) -> str:
        return f"{self.file}:{self.header or 1}"


def _decoded(data: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    for mark, encoding in _WIDE_MARKS.items():
        if data.startswith(mark):
            try:
                return data.decode(encoding), ()
            except UnicodeDecodeError as error:
                raise MetadataError(
                    f"{name}: begins as {encoding.upper()} and is not ({error.reason}); save it as UTF-8"
                ) from None
    if b"\0" in data:
        raise NoCaptions(f"{name}: holds bytes that are no text (byte {data.index(0)}); expected captions")
    try:
        return data.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        pass
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        raise MetadataError(
            f"{name}: the captions are neither UTF-8 nor Windows-1252; save them as UTF-8"
        ) from None
    return text, ("the text is not UTF-8 and is read as Windows-1252; check letters with accents",)


def _cells(text: str, name: str, given: Mapping[str, str]) -> _Read:
    tried = [(_first(text, delimiter), delimiter) for delimiter in _DELIMITERS]
    wanted = {plain_heading(column) for column in given.values()}

    def known(cells: Sequence[str]) -> tuple[bool, int, int]:
        roles = named_roles(cells)
        fits = len(wanted & {plain_heading(cell) for cell in cells})
        return "caption" in roles or fits > 0, len(roles) + fits, len(cells)

    first, delimiter = max(tried, key=lambda one: known(one[0]))
    if not known(first)[0]:
        first, delimiter = next((one for one in tried if _is_row(one[0])), (first, delimiter))
    records = list(_records(text, name, delimiter))
    if not records:
        raise MetadataError(f"{name}: holds no row; expected captions")
    usual = named_roles(first) or wanted & {plain_heading(cell) for cell in first}
    if usual or not any(len(cell) >= LONG or looks_like_image(cell) for cell in first):
        header, *rest = records
        columns, notes = _headings(header[1])
        empty = sum(not clean_heading(cell) for cell in header[1])
        unnamed = (f"{empty} column{'s' if empty > 1 else ''} without a name left out",) if empty else ()
        return _Read(
            name, tuple(filter(None, columns)), _rows(rest, columns, name), header[0], notes, unnamed
        )
    columns = [f"column {place}" for place in range(1, len(first) + 1)]
    rows = _rows(records, columns, name)
    return _Read(name, tuple(columns), rows, 0, by_width=_is_row(first))


def _headings(cells: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Columns, empty where they have no name or one that is there already."""
    columns: list[str] = []
    twice = []
    for cell in map(clean_heading, cells):
        if cell and cell in columns:
            twice.append(cell)
        columns.append("" if cell in columns else cell)
    notes = [f"column {cell!r} is there twice; the first counts" for cell in twice]
    return columns, tuple(notes)


def _rows(records: Sequence[tuple[int, list[str]]], columns: Sequence[str], name: str) -> list[Row]:
    rows = []
    for line, cells in records:
        if any(cell.strip() for cell in cells[len(columns) :]):
            raise MetadataError(
                f"{name}:{line}: {len(columns)} columns expected, found {len(cells)}; quote cells with commas"
            )
        if len(cells) < len(columns):
            raise MetadataError(
                f"{name}:{line}: {len(columns)} columns expected, found {len(cells)}; is a quote left open?"
            )
        rows.append(Row(name, line, {c: v for c, v in zip(columns, cells, strict=False) if c}))
    return rows


def _is_row(cells: Sequence[str]) -> bool:
    """Whether these are cells of a file without header: names without a blank, then a caption."""
    return len(cells) in _BY_WIDTH and not any(" " in cell.strip() for cell in cells[-2:-1])


def _first(text: str, delimiter: str) -> list[str]:
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return next((cells for cells in rows if any(cell.strip() for cell in cells)), [])
    except csv.Error:
        return []


def _records(text: str, name: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that hold something, each with the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    begin = start = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield begin, cells
            start = begin
            begin = reader.line_num + 1
    except csv.Error as error:
        raise MetadataError(f"{name}:{begin}: not a CSV row ({error}); is a quote left open?") from error
    if _is_open(text, delimiter):
        raise MetadataError(
            f"{name}:{start}: a quote is opened in this row and never closed; close or double it"
        )


def _is_open(text: str, delimiter: str) -> bool:
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _objects(text: str, name: str) -> _Read:
    """One object a line, one object, or one list of objects."""
    records: list[tuple[int, Any]]
    if text.lstrip().startswith("["):
        records = list(enumerate(_json(text, name, 1), start=1))
    else:
        lines = [(line, record) for line, record in enumerate(text.split("\n"), start=1) if record.strip()]
        if lines and lines[0][1].strip() == "{":  # written over several lines
            records = [(1, _json(text, name, 1))]
        else:
            records = [(line, _json(record, name, line)) for line, record in lines]
    if not records:
        raise MetadataError(f"{name}: holds no row; expected captions")
    rows = []
    for line, record in records:
        if not isinstance(record, dict):
            raise NoCaptions(f"{name}:{line}: expected an object with a caption, found {shorten(record)}")
        values = {clean_heading(str(key)): _whole(value) for key, value in reversed(record.items())}
        rows.append(Row(name, line, dict(reversed(values.items()))))
    columns = dict.fromkeys(key for row in rows for key in row.values if key)
    return _Read(name, tuple(columns), rows, records[0][0], of_objects=True)


def _json(text: str, name: str, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MetadataError(f"{name}:{line}: not JSON ({error})") from error


def _whole(value: Any) -> Any:
    """A text with halves of characters replaced."""
    if not isinstance(value, str):
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _check_values(read: _Read, roles: Mapping[str, str]) -> None:
    for row in read.rows:
        for role, column in roles.items():
            value = row.values.get(column)
            if isinstance(value, dict | list) or (role == "caption" and not isinstance(value, str | None)):
                raise MetadataError(f"{read.file}:{row.line}: {role} must be a text, found {shorten(value)}")


def _roles(
    read: _Read, given: Mapping[str, str], needed: Sequence[str], *, among_others: bool
) -> tuple[dict[str, str], list[str], list[str]]:
    """What each column is, and what was made of columns under other names, and of those without."""
    own = {plain_heading(column): column for column in reversed(read.columns)}
    roles: dict[str, str] = {}
    renamed: list[str] = []
    guessed: list[str] = []
    for role, column in given.items():
        if plain_heading(column) not in own:
            there = f"There are {', '.join(map(repr, read.columns)) or 'none'}"
            hint = f"{did_you_mean(column, read.columns)} {there}".lstrip()
            raise MetadataError(f"{read.where}: no column {column!r} ({_WHAT[role]}); {hint}")
        roles[role] = own[plain_heading(column)]
    if read.header == 0:
        line = read.rows[0].line
        guessed.append(f"the first row is data and no header; it counts as a row (line {line})")
    if read.by_width:
        for role, column in zip(_BY_WIDTH[len(read.columns)], read.columns, strict=True):
            roles.setdefault(role, column)
        return roles, renamed, guessed
    found = {role: read.columns[at] for role, at in named_roles(read.columns).items()} if read.header else {}
    for role in ROLES:
        if role not in roles and role in found and found[role] not in roles.values():
            roles[role] = found[role]
            if role in ("image", "caption") and found[role] not in ROLES[role]:
                renamed.append(f"column {found[role]!r} is taken as {_WHAT[role]}")
    for role, fits in (("image", looks_like_image), ("caption", None)):
        if role in roles:
            continue
        hidden = role == "caption" and among_others and "image" not in roles
        best = None if hidden else _by_values(read, fits, set(roles.values()))
        if best is not None:
            roles[role] = best
            place = read.columns.index(best) + 1
            guessed.append(f"column {place} is taken as {_WHAT[role]} by its values")
        elif role in needed:
            hint = did_you_mean(ROLES[role][0], read.columns)
            shown = ", ".join(repr(column[:_SHOWN]) for column in read.columns[:_MOST_NAMED])
            more = len(read.columns) - _MOST_NAMED
            shown += f" and {more} more" if more > 0 else ""
            raise NoCaptions(
                f"{read.where}: a column must give {_WHAT[role]} ({', '.join(ROLES[role][:4])}, …), found "
                f"{shown or 'none'}; "
                f"{hint or 'rename one, or name it'}"
            )
    return roles, renamed, guessed


def _by_values(read: _Read, fits: Callable[[str], bool] | None, taken: set[str]) -> str | None:
    """The column of images by its values, or that of captions as the one of longest texts."""
    best, score = None, 0.0
    for column in read.columns if read.rows else ():
        if column in taken or any(isinstance(row.values.get(column), dict | list) for row in read.rows):
            continue
        texts = [row.text(column) or "" for row in read.rows]
        of_column = sum(map(fits or len, texts)) / len(texts)
        if of_column > score and (of_column > 0.5 if fits else of_column >= LONG):
            best, score = column, of_column
    return best
