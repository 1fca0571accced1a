"""Captions of the benchmark as files hold them: columns model, prompt, image, caption, or some of these."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stereotrope.errors import InputError
from stereotrope.suites.biasbench.prompts import PROMPTS, prompt_texts

__all__ = ["COLUMNS", "CaptionRow", "CaptionsFile", "prompt_of_name", "read_captions"]

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "model": ("model", "model_name", "generator"),
    "prompt": ("prompt", "prompt_id", "prompt_name", "prompt_type", "prompt_category", "category"),
    "image": (
        "image",
        "image_id",
        "image_name",
        "image_file",
        "image_path",
        "file",
        "file_name",
        "filename",
        "path",
        "id",
    ),
    "caption": ("caption", "captions", "image_caption", "generated_caption", "description", "text"),
}
"""Headings taken for each column, case aside; of several in one file the first listed."""

_BY_WIDTH = {
    2: ("image", "caption"),
    3: ("prompt", "image", "caption"),
    4: ("model", "prompt", "image", "caption"),
}
_NAMES = {
    "beauty": "beauty",
    "gender": "doctor",
    "doctor": "doctor",
    "neutral": "animal",
    "animal": "animal",
    "nature": "nature",
    "cultural": "culture",
    "culture": "culture",
    "festival": "culture",
}
_CAPTIONS = {"caption", "captions"}
_ENDINGS = (".csv", ".tsv", ".jsonl")
_SHOWN = 60
_DELIMITERS = ",;\t|"
_ENCODINGS = ("utf-8-sig", "cp1252")
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class CaptionRow:
    """One caption and where it stands."""

    line: int
    model: str
    prompt: str
    image: str
    caption: str


@dataclass(frozen=True)
class CaptionsFile:
    """One file as read.

    Attributes
    ----------
    path, rows
        The file and its captions.
    header
        Whether its first row names the columns.
    skipped
        Why a file of a folder is not read, else empty.
    notes
        How it had to be read where that is not as expected.
    sha256
        Of its bytes.
    """

    path: Path
    header: bool
    rows: tuple[CaptionRow, ...]
    skipped: str = ""
    notes: tuple[str, ...] = ()
    sha256: str = ""


class _NotCaptions(InputError):
    """A table without captions: an error by itself, passed over in a folder."""


def prompt_of_name(image: str) -> str | None:
    """Return the prompt that a picture's name says, such as culture for ``Cultural_3.png``.

    The first word of the name that is a prompt counts (``sdxl_doctor_7.png``); where none is, that of the
    nearest folder (``beauty/0007.png``).
    """
    for part in reversed(re.split(r"[/\\]", image)):
        if found := next((_NAMES[word] for word in _words(part) if word in _NAMES), None):
            return found
    return None


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]


def read_captions(path: Path) -> list[CaptionsFile]:
    """Read a file of captions, or all of a folder that end in ``.csv``, ``.tsv`` or ``.jsonl`` and hold some.

    Columns go by their headings, in any order; others are left alone. Without a header row, two columns are
    image and caption, three have the prompt before them, four the model before that. A model that no column
    names is the name of the file; a prompt that none names is the one the image's name says. A file named
    for a prompt alone (``beauty_captions.csv``) is of that prompt, and of the model its folder is named for.
    A prompt may be its name, or its text. Cells are set apart by comma, semicolon, tab or bar. Text is UTF-8,
    or UTF-16 with a byte order mark, else Windows-1252, which is noted.

    Raises
    ------
    InputError
        Nothing to read, or no caption can be told in it; the message says what was found.
    """
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix.lower() in _ENDINGS and p.is_file())
        if not files:
            raise InputError(f"{path}: holds no {', '.join(_ENDINGS)} file of captions")
    else:
        return [_read(path)]
    read = [_read_or_skip(file) for file in files]
    if all(file.skipped for file in read):
        raise InputError(f"{path}: none of its {len(read)} files holds captions; {read[0].skipped}")
    return read


def _read_or_skip(path: Path) -> CaptionsFile:
    try:
        return _read(path)
    except _NotCaptions as error:
        return CaptionsFile(path, False, (), skipped=str(error))


def _read(path: Path) -> CaptionsFile:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: the captions cannot be read ({error.strerror})") from error
    text, notes = _decoded(data, path)
    digest = hashlib.sha256(data).hexdigest()
    if path.suffix.lower() in (".jsonl", ".json"):
        rows = tuple(_json_rows(text, path))
        return CaptionsFile(path, True, rows, notes=notes, sha256=digest)
    header, rows = _csv(text, path)
    return CaptionsFile(path, header, rows, notes=notes, sha256=digest)


def _decoded(data: bytes, path: Path) -> tuple[str, tuple[str, ...]]:
    if data.startswith(_BYTE_ORDER_MARKS):
        try:
            return data.decode("utf-16"), ()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{path}: begins as UTF-16 and is not ({error.reason}); save it as UTF-8"
            ) from None
    if b"\0" in data:
        raise _NotCaptions(f"{path}: holds bytes that are no text (byte {data.index(0)}); expected captions")
    for encoding in _ENCODINGS:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if encoding == _ENCODINGS[0]:
            return text, ()
        return text, (f"{path.name} is not UTF-8; it is read as Windows-1252, so check letters with accents",)
    raise InputError(f"{path}: the captions are neither UTF-8 nor Windows-1252; save them as UTF-8")


def _csv(text: str, path: Path) -> tuple[bool, tuple[CaptionRow, ...]]:
    """Whether there is a header row, and the rows below it."""
    tried = [(list(_first(text, delimiter)), delimiter) for delimiter in _DELIMITERS]
    named = [(cells, delimiter) for cells, delimiter in tried if "caption" in _columns(cells)]
    wide = [(cells, delimiter) for cells, delimiter in tried if _is_row(cells)]
    first, delimiter = (named or wide or tried)[0]
    cells = list(_cells(text, path, delimiter))
    if not cells:
        raise InputError(f"{path}: holds no row; expected captions")
    columns = _columns(first)
    header = "caption" in columns
    if header:
        cells = cells[1:]
    elif _is_row(first) and not any(columns):
        columns = list(_BY_WIDTH[len(first)])
    else:
        shown = ", ".join(repr(cell[:_SHOWN]) for cell in first[:6])
        raise _NotCaptions(
            f"{path}:{cells[0][0]}: no column is called caption; name the columns model, prompt, image, "
            f"caption (found {shown})"
        )
    rows = []
    for line, found in cells:
        if len(found) != len(columns) and any(cell.strip() for cell in found[len(columns) :]):
            raise InputError(
                f"{path}:{line}: {len(columns)} columns expected, found {len(found)}; quote cells with commas"
            )
        if len(found) < len(columns):
            raise InputError(
                f"{path}:{line}: {len(columns)} columns expected, found {len(found)}; is a quote left open?"
            )
        values = {name: cell.strip() for name, cell in zip(columns, found, strict=False) if name}
        rows.append(_row(line, values, path))
    return header, tuple(rows)


def _is_row(cells: Sequence[str]) -> bool:
    """Whether these are cells of a file without header: names without a blank, then a caption."""
    return len(cells) in _BY_WIDTH and not any(" " in cell.strip() for cell in cells[-2:-1])


def _first(text: str, delimiter: str) -> list[str]:
    """The first row that holds something, none where it cannot be read."""
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return next((cells for cells in rows if any(cell.strip() for cell in cells)), [])
    except csv.Error:
        return []


def _cells(text: str, path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
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
        raise InputError(f"{path}:{begin}: not a CSV row ({error}); is a quote left open?") from error
    if _is_open(text, delimiter):
        raise InputError(
            f"{path}:{start}: a quote is opened in this row and never closed; close or double it"
        )


def _is_open(text: str, delimiter: str) -> bool:
    """Whether the text ends within quotes."""
    try:
        for _ in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True):
            pass
    except csv.Error as error:
        return "unexpected end" in str(error)
    return False


def _json_rows(text: str, path: Path) -> Iterator[CaptionRow]:
    """One object a line, or one list of objects."""
    if text.lstrip().startswith("["):
        records: Iterator[tuple[int, Any]] = enumerate(_json(text, path, 1), start=1)
    else:
        lines = enumerate(text.split("\n"), start=1)
        records = ((line, _json(record, path, line)) for line, record in lines if record.strip())
    empty = True
    for line, data in records:
        empty = False
        columns = _columns(list(data)) if isinstance(data, dict) else []
        if "caption" not in columns:
            raise InputError(f"{path}:{line}: expected an object with a caption, found {_short(data)}")
        values = {name: value for name, value in zip(columns, data.values(), strict=True) if name}
        for name, value in values.items():
            if isinstance(value, (dict, list)) or (name == "caption" and not isinstance(value, str | None)):
                raise InputError(f"{path}:{line}: {name} must be a text, found {_short(value)}")
        texts = {name: _text(value) for name, value in values.items() if value is not None}
        yield _row(line, texts, path)
    if empty:
        raise InputError(f"{path}: holds no row; expected captions")


def _json(text: str, path: Path, line: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}:{line}: not JSON ({error})") from error


def _text(value: Any) -> str:
    """A value as text, halves of characters replaced."""
    return str(value).strip().encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _short(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"


def _row(line: int, values: Mapping[str, str], path: Path) -> CaptionRow:
    image = values.get("image", "")
    own = _prompt_of_file(path)
    prompt = _prompt(values.get("prompt", "")) or prompt_of_name(image) or own or ""
    model = values.get("model", "") or (path.absolute().parent.name if own else path.stem)
    return CaptionRow(line, model, prompt, image, values.get("caption", ""))


@cache
def _prompt_of_file(path: Path) -> str | None:
    """The prompt that a file is named for, and for nothing else."""
    words = [word for word in _words(path.stem) if word not in _CAPTIONS]
    return _NAMES.get(words[0]) if len(words) == 1 else None


def _prompt(text: str) -> str:
    """The prompt that a cell names, by its name, by another name of it, or by its text."""
    bare = text.casefold().rstrip(" .")
    if bare in PROMPTS:
        return bare
    of_text = {told.casefold().rstrip(" ."): prompt for prompt, told in prompt_texts().items()}
    return of_text.get(bare) or prompt_of_name(bare) or bare


def _columns(headings: Sequence[str]) -> list[str]:
    """What each column is, empty where it is none of ours; a heading with the word will do for a caption."""
    bare = [re.sub(r"[\s-]+", "_", heading.strip().lower()) for heading in headings]
    found = [""] * len(bare)
    for name, known in COLUMNS.items():
        at = next((bare.index(heading) for heading in known if heading in bare), None)
        if at is not None:
            found[at] = name
    if "caption" not in found and any(found):
        likely = [at for at, heading in enumerate(bare) if "caption" in heading and not found[at]]
        if len(likely) == 1:
            found[likely[0]] = "caption"
    return found
