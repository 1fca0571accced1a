"""Captions of the benchmark as files hold them: columns model, prompt, image, caption, or some of these."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stereotrope.errors import InputError
from stereotrope.suites.biasbench.prompts import PROMPTS

__all__ = ["COLUMNS", "CaptionRow", "CaptionsFile", "prompt_of_name", "read_captions"]

COLUMNS: Mapping[str, frozenset[str]] = {
    "model": frozenset({"model", "model_name", "generator"}),
    "prompt": frozenset({"prompt", "prompt_id", "prompt_name", "category"}),
    "image": frozenset({"image", "image_id", "image_name", "file", "file_name", "filename", "id"}),
    "caption": frozenset({"caption", "captions", "text", "description", "image_caption"}),
}
"""Headings taken for each column, case aside."""

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
_ENDINGS = (".csv", ".jsonl")


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
    """

    path: Path
    header: bool
    rows: tuple[CaptionRow, ...]
    skipped: str = ""


class _NotCaptions(InputError):
    """A table without captions: an error by itself, passed over in a folder."""


def prompt_of_name(image: str) -> str | None:
    """Return the prompt that a picture's name says, such as culture for ``Cultural_3.png``."""
    found = re.match(r"[A-Za-z]+", image.rsplit("/", 1)[-1])
    return _NAMES.get(found.group().lower()) if found else None


def read_captions(path: Path) -> list[CaptionsFile]:
    """Read a file of captions, or every ``.csv`` and ``.jsonl`` file of a folder that holds captions.

    Without a header row, two columns are image and caption, three have the prompt before them, four the
    model before that. A model that no column names is the name of the file; a prompt that none names is the
    one the image's name says.

    Raises
    ------
    InputError
        Nothing to read, or no caption can be told in it; the message says what was found.
    """
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.suffix.lower() in _ENDINGS and p.is_file())
        if not files:
            raise InputError(f"{path}: holds no .csv or .jsonl file of captions")
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
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: the captions cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: the captions are not UTF-8 (byte {error.start}); save them as such"
        ) from error
    if path.suffix.lower() == ".jsonl":
        return CaptionsFile(path, True, tuple(_json_rows(text, path)))
    return _csv(text, path)


def _csv(text: str, path: Path) -> CaptionsFile:
    cells = list(_cells(text, path))
    if not cells:
        raise InputError(f"{path}: holds no row; expected captions")
    line, first = cells[0]
    named = [_column(cell) for cell in first]
    header = "caption" in named
    if header:
        columns = named
        cells = cells[1:]
    elif len(first) in _BY_WIDTH and not any(named):
        columns = list(_BY_WIDTH[len(first)])
    else:
        shown = ", ".join(map(repr, first[:6]))
        raise _NotCaptions(
            f"{path}:{line}: no column is called caption; name the columns model, prompt, image, caption "
            f"(found {shown})"
        )
    rows = []
    for line, found in cells:
        if len(found) != len(columns):
            raise InputError(
                f"{path}:{line}: {len(columns)} columns expected, found {len(found)}; quote cells with commas"
            )
        values = {name: cell.strip() for name, cell in zip(columns, found, strict=True) if name}
        rows.append(_row(line, values, path))
    return CaptionsFile(path, header, tuple(rows))


def _cells(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Rows that hold something, each with the line it begins on."""
    reader = csv.reader(text.splitlines(keepends=True))
    begin = 1
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield begin, cells
            begin = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}:{begin}: not a CSV row ({error})") from error


def _json_rows(text: str, path: Path) -> Iterator[CaptionRow]:
    for line, record in enumerate(text.split("\n"), start=1):
        if not record.strip():
            continue
        try:
            data: Any = json.loads(record)
        except ValueError as error:
            raise InputError(f"{path}:{line}: not JSON ({error})") from error
        if not isinstance(data, dict) or "caption" not in (named := {_column(k): v for k, v in data.items()}):
            raise InputError(f"{path}:{line}: expected an object with a caption")
        yield _row(line, {k: str(v).strip() for k, v in named.items() if k and v is not None}, path)


def _row(line: int, values: Mapping[str, str], path: Path) -> CaptionRow:
    image = values.get("image", "")
    prompt = values.get("prompt", "").lower() or prompt_of_name(image) or ""
    if prompt not in PROMPTS:
        prompt = prompt_of_name(prompt) or prompt
    return CaptionRow(line, values.get("model", "") or path.stem, prompt, image, values.get("caption", ""))


def _column(cell: str) -> str:
    bare = cell.strip().lower().replace(" ", "_")
    return next((name for name, headings in COLUMNS.items() if bare in headings), "")
