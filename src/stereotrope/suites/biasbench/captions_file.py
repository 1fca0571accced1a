"""Captions of the benchmark as files hold them: of which model and prompt each is."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stereotrope.errors import InputError
from stereotrope.inputs.captions.headings import ROLES, plain_heading
from stereotrope.inputs.captions.table import CaptionTable, NoCaptions, read_caption_table
from stereotrope.suites.biasbench.prompts import BENCHMARK_PROMPTS, data_of, prompt_texts

_NAMES: Mapping[str, str] = data_of("words.yaml")["file_names"]["prompts"]
FILLERS = frozenset(data_of("words.yaml")["file_names"]["fillers"])
"""Words of a file's name that say neither the model nor the prompt."""
_ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
_MOST_NAMED = 12


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
    """One file as read; ``header`` says whether its first row names the columns.

    ``skipped`` says why it is not read, ``notes`` how it had to be where that is not as expected; ``sha256``
    is of its bytes.
    """

    path: Path
    header: bool
    rows: tuple[CaptionRow, ...]
    skipped: str = ""
    notes: tuple[str, ...] = ()
    sha256: str = ""


def prompt_of_name(image: str) -> str | None:
    """Return the prompt that a picture's name says (``Cultural_3.png``), else its folder's name."""
    for part in reversed(re.split(r"[/\\]", image)):
        if found := next((_NAMES[word] for word in _words(part) if word in _NAMES), None):
            return found
    return None


def prompt_named(text: str) -> str:
    """Return the prompt that a cell names, by its name, another name of it or its text; else the cell."""
    bare = text.strip().casefold().rstrip(" .")
    if bare in BENCHMARK_PROMPTS:
        return bare
    of_text = {told.casefold().rstrip(" ."): prompt for prompt, told in prompt_texts().items()}
    return of_text.get(bare) or prompt_of_name(bare) or bare


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)]


def read_benchmark_captions(path: Path) -> list[CaptionsFile]:
    """Read a file of captions, or all files of a folder that hold some.

    A model that no column names is the name of the file; a prompt that none names is the one that the image's
    name says, or the file's. A file named for one prompt, which all its captions are of, is of the model that
    the rest of its name says, or its folder (``koala_beauty.csv``, ``koala/beauty.csv``).

    Raises InputError: Nothing to read, or no caption can be told in it; the message says what was found.
    """
    if not path.is_dir():
        return [_read(path)]
    there = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    files = [file for file in there if file.suffix.lower() in _ENDINGS]
    if not files:
        found = ", ".join(file.name for file in there[:_MOST_NAMED]) or "no file"
        raise InputError(f"{path}: holds no {', '.join(_ENDINGS)} file of captions, found {found}")
    read = [_read_or_skip(file) for file in files]
    if all(file.skipped for file in read):
        raise InputError(f"{path}: none of its {len(read)} files holds captions; {read[0].skipped}")
    others = [file for file in there if file not in files]
    why = f"captions are read from {', '.join(_ENDINGS)} files"
    return [*read, *(CaptionsFile(file, False, (), skipped=f"{file}: {why}") for file in others)]


def _read_or_skip(path: Path) -> CaptionsFile:
    try:
        return _read(path, among_others=True)
    except NoCaptions as error:
        return CaptionsFile(path, False, (), skipped=str(error))


def _read(path: Path, *, among_others: bool = False) -> CaptionsFile:
    table = read_caption_table(path, among_others=among_others)
    rows = list(_rows(table))
    named = {_NAMES[word] for word in _words(path.stem) if word in _NAMES}
    if len(named) == 1 and {row.prompt for row in rows} <= {"", *named}:
        rest = [part for part in map(_without_said, re.split(r"[\W_]+", path.stem)) if part]
        model = path.absolute().parent.name if all(map(str.isdigit, rest)) else "_".join(rest)
        rows = [replace(row, model=row.model or model, prompt=min(named)) for row in rows]
    rows = [replace(row, model=row.model or path.stem) for row in rows]
    notes = table.notes + (table.guessed if table.header else ())
    digest = hashlib.sha256(table.data).hexdigest()
    return CaptionsFile(path, bool(table.header), tuple(rows), notes=notes, sha256=digest)


def _rows(table: CaptionTable) -> Iterator[CaptionRow]:
    images = [column for name in ROLES["image"] for column in table.columns if plain_heading(column) == name]
    for row in table.rows:
        image, prompt = table.text(row, "image") or "", table.text(row, "prompt")
        names = [image, *(row.text(column) or "" for column in images)]
        own = prompt_named(prompt) if prompt else next(filter(None, map(prompt_of_name, names)), "")
        caption = table.text(row, "caption") or ""
        yield CaptionRow(row.line, table.text(row, "model") or "", own, image, caption)


def _without_said(part: str) -> str:
    """A part of a file's name without words that say its prompt, or nothing of the model."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", part)
    return "".join(word for word in words if word.lower() not in _NAMES and word.lower() not in FILLERS)
