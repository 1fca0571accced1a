"""Tables of captions as they come: every row with its line, and what each column is."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from stereotrope.inputs.files import read_data
from stereotrope.inputs.options import shorten
from stereotrope.inputs.row import Row, Rows
from stereotrope.inputs.rows import RowFile, csv_records, long_fields

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
_NOT_UTF8 = "the text is not UTF-8 and is read as Windows-1252; check letters with accents"
_JSON = (".json", ".jsonl", ".ndjson")
_SHOWN, _MOST_NAMED = 60, 6


class NoCaptions(MetadataError):
    """A table that holds no captions: an error by itself, passed over and told in a folder."""


@dataclass(frozen=True)
class CaptionTable(RowFile):
    """A file of captions as read; a column without a header is called by its place (``column 2``).

    header: Line of the header; 0 where the first row is data.
    roles: ``image``, ``caption``, ``prompt``, ``model`` → the column that is it, where there is one.
    notes: What was odd about the file as such, one sentence each.
    renamed, guessed: What was made of columns under other names and without any, and without regard to their
        names, likewise.
    """

    roles: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    renamed: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()

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
    name, given = name or str(path), given or {}
    data = read_data(path, name)
    text, notes = _decoded(data, name)
    suffix = path.suffix.lower()
    is_json = suffix in _JSON or (text.lstrip()[:1] == "{" and suffix != ".csv")
    read = _objects(text, name) if is_json else _cells(text, name, given)
    table = _with_roles(read, given, needed, among_others=among_others)
    for row in table.rows:
        for role, column in table.roles.items():
            value = row.values.get(column)
            if isinstance(value, dict | list) or (role == "caption" and not isinstance(value, str | None)):
                raise row.error(f"{role} must be a text, found {shorten(value)}")
    return replace(table, notes=(*notes, *table.notes), data=data)


def _decoded(data: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    wide = next((encoding for mark, encoding in _WIDE_MARKS.items() if data.startswith(mark)), None)
    if wide is None and b"\0" in data:
        raise NoCaptions(f"{name}: holds bytes that are no text (byte {data.index(0)}); expected captions")
    tried: dict[str, tuple[str, ...]] = {wide: ()} if wide else {"utf-8-sig": (), "cp1252": (_NOT_UTF8,)}
    found = "the captions are neither UTF-8 nor Windows-1252"
    for encoding, notes in tried.items():
        try:
            return data.decode(encoding), notes
        except UnicodeDecodeError as error:
            found = f"begins as {wide.upper()} and is not ({error.reason})" if wide else found
    raise MetadataError(f"{name}: {found}; save the file as UTF-8")


def _cells(text: str, name: str, given: Mapping[str, str]) -> CaptionTable:
    wanted = {plain_heading(column) for column in given.values()}

    def known(cells: Sequence[str]) -> tuple[bool, int, int]:
        roles = named_roles(cells)
        fits = len(wanted & {plain_heading(cell) for cell in cells})
        return "caption" in roles or fits > 0, len(roles) + fits, len(cells)

    tried = [(_first(text, delimiter), delimiter) for delimiter in _DELIMITERS]
    first, delimiter = max(tried, key=lambda one: known(one[0]))
    if not known(first)[0]:
        first, delimiter = next((one for one in tried if _is_row(one[0])), (first, delimiter))
    records = csv_records(name, text, delimiter)
    if not records:
        raise MetadataError(f"{name}: holds no row; expected captions")
    usual = named_roles(first) or wanted & {plain_heading(cell) for cell in first}
    if not usual and any(len(cell) >= LONG or looks_like_image(cell) for cell in first):
        columns = [f"column {place}" for place in range(1, len(first) + 1)]
        return CaptionTable(name, tuple(columns), _rows(records, columns, name), 0)
    (header, cells), *records = records
    clean = list(map(clean_heading, cells))
    columns = ["" if heading in clean[:at] else heading for at, heading in enumerate(clean)]
    twice = [heading for at, heading in enumerate(clean) if heading and heading in clean[:at]]
    empty = clean.count("")
    return CaptionTable(
        name,
        tuple(filter(None, columns)),
        _rows(records, columns, name),
        header,
        notes=tuple(f"column {heading!r} is there twice; the first counts" for heading in twice),
        renamed=(f"{empty} column{'s' if empty > 1 else ''} without a name left out",) if empty else (),
    )


def _rows(records: Sequence[tuple[int, list[str]]], columns: Sequence[str], name: str) -> Rows:
    rows = []
    for line, cells in records:
        more = any(cell.strip() for cell in cells[len(columns) :])
        if more or len(cells) < len(columns):
            hint = "quote cells with commas" if more else "is a quote left open?"
            raise MetadataError(f"{name}:{line}: {len(columns)} columns expected, found {len(cells)}; {hint}")
        rows.append((line, {c: v for c, v in zip(columns, cells, strict=False) if c}))
    return Rows.of(name, rows)


def _is_row(cells: Sequence[str]) -> bool:
    """Whether these are cells of a file without header: names without a blank, then a caption."""
    return len(cells) in _BY_WIDTH and not any(" " in cell.strip() for cell in cells[-2:-1])


def _first(text: str, delimiter: str) -> list[str]:
    """The cells of the first row that is not blank."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        with long_fields():
            return next((cells for cells in rows if any(cell.strip() for cell in cells)), [])
    except csv.Error:
        return []


def _objects(text: str, name: str) -> CaptionTable:
    """One object a line, one object, or one list of objects."""
    if text.lstrip().startswith("["):
        records = list(enumerate(_json(text, name, 1), start=1))
    else:
        lines = [(line, record) for line, record in enumerate(text.split("\n"), start=1) if record.strip()]
        if lines and lines[0][1].strip() == "{":  # written over several lines
            lines = [(1, text)]
        records = [(line, _json(record, name, line)) for line, record in lines]
    if not records:
        raise MetadataError(f"{name}: holds no row; expected captions")
    rows = []
    for line, record in records:
        if not isinstance(record, dict):
            raise NoCaptions(f"{name}:{line}: expected an object with a caption, found {shorten(record)}")
        values = {clean_heading(str(key)): _whole(value) for key, value in reversed(record.items())}
        rows.append((line, dict(reversed(values.items()))))
    made = Rows.of(name, rows)
    return CaptionTable(name, tuple(filter(None, made.cells)), made, records[0][0])


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


def _with_roles(
    table: CaptionTable, given: Mapping[str, str], needed: Sequence[str], *, among_others: bool
) -> CaptionTable:
    """The table with what each column is, and what was made of columns under other names or none."""
    own = {plain_heading(column): column for column in reversed(table.columns)}
    roles = {
        role: own.get(plain_heading(column)) or table.require(column, _WHAT[role])
        for role, column in given.items()
    }
    renamed: list[str] = []
    guessed: list[str] = []
    if table.header == 0:
        first = table.rows[0]
        guessed.append(f"the first row is data and no header; it counts as a row (line {first.line})")
        if _is_row(list(first.values.values())):
            roles = {**dict(zip(_BY_WIDTH[len(table.columns)], table.columns, strict=True)), **roles}
            return replace(table, roles=roles, guessed=tuple(guessed))
    found = {role: table.columns[at] for role, at in named_roles(table.columns).items() if table.header}
    for role in ROLES:
        if role not in roles and role in found and found[role] not in roles.values():
            roles[role] = found[role]
            if role in ("image", "caption") and found[role] not in ROLES[role]:
                renamed.append(f"column {found[role]!r} is taken as {_WHAT[role]}")
    for role, fits in (("image", looks_like_image), ("caption", None)):
        if role in roles:
            continue
        hidden = role == "caption" and among_others and "image" not in roles
        best = None if hidden else _by_values(table, fits, set(roles.values()))
        if best is not None:
            roles[role] = best
            place = table.columns.index(best) + 1
            guessed.append(f"column {place} is taken as {_WHAT[role]} by its values")
        elif role in needed:
            raise _without(table, role)
    return replace(table, roles=roles, renamed=(*renamed, *table.renamed), guessed=tuple(guessed))


def _without(table: CaptionTable, role: str) -> NoCaptions:
    hint = did_you_mean(ROLES[role][0], table.columns, otherwise="rename one, or name it")
    shown = ", ".join(repr(column[:_SHOWN]) for column in table.columns[:_MOST_NAMED]) or "none"
    more = len(table.columns) - _MOST_NAMED
    return NoCaptions(
        f"{table.where}: a column must give {_WHAT[role]} ({', '.join(ROLES[role][:4])}, …), found "
        f"{shown}{f' and {more} more' if more > 0 else ''}; {hint}"
    )


def _by_values(table: CaptionTable, fits: Callable[[str], bool] | None, taken: set[str]) -> str | None:
    """The column of images by its values, or that of captions as the one of longest texts."""
    best, score = None, 0.0
    for column in table.columns if table.rows else ():
        if column in taken or any(isinstance(row.values.get(column), dict | list) for row in table.rows):
            continue
        texts = [row.text(column) or "" for row in table.rows]
        of_column = sum(map(fits or len, texts)) / len(texts)
        if of_column > score and (of_column > 0.5 if fits else of_column >= LONG):
            best, score = column, of_column
    return best
