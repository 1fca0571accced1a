"""Files of captions as they come: what is odd about them is said and never silent."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from stereotrope.inputs.captions.headings import is_header_row, numbered_stem, plain_heading
from stereotrope.inputs.captions.table import CaptionTable, read_caption_table
from stereotrope.inputs.rows import places

_HASH = "sha256"
_LONGEST_NUMBER = 40


@dataclass(frozen=True)
class CaptionFile:
    """A file of captions.

    frame: A row an image: ``line``, ``image`` (what the file calls it), ``caption``, ``prompt`` (null where
        the file has no such column), and the file's other columns as texts.
    notes: What was odd about the file and what was made of it, one sentence each.
    by_hash: Whether ``image`` is the SHA-256 of the picture's bytes.
    """

    frame: pl.DataFrame
    notes: tuple[str, ...]
    by_hash: bool
    data: bytes


def read_captions(
    path: Path | str,
    *,
    image: str | None = None,
    caption: str | None = None,
    prompt: str | None = None,
    name: str | None = None,
    need_images: bool = True,
) -> CaptionFile:
    """Read a file of captions (:func:`~stereotrope.inputs.captions.table.read_caption_table`).

    image, caption, prompt: Its columns; found by their usual names, blanks, signs and case aside, when None.
    need_images: Whether a file without a column of images is refused and an image has one caption, the first;
        else images may be null, and every caption counts.
    Returns: Its captions, and notes on: another encoding; columns found under other names; a first row that
        is data where the header belongs (it is read as data); header rows among the data (left out); rows
        without caption, or without an image that is needed (left out); images given twice; images whose name
        belongs to another prompt than their row says (kept as the row says).
    Raises MetadataError: The file cannot be read, or has no column of images or captions.
    """
    needed = ("image", "caption") if need_images else ("caption",)
    given = {"image": image, "caption": caption, "prompt": prompt}
    table = read_caption_table(
        Path(path),
        name=name or str(path),
        given={role: column for role, column in given.items() if column is not None},
        needed=needed,
    )
    notes = _Notes(table.file, [*table.notes, *table.renamed, *table.guessed])
    frame = _rows(table, notes)
    for column in needed:
        notes.add(frame.filter(pl.col(column).is_null()), "row", f"without {column} left out")
        frame = frame.drop_nulls(column)
    if "prompt" in table.roles:
        _note_mislabelled(frame, notes)
    _note_misplaced(frame, notes)
    keys = [table.roles.get("model", ""), *(role for role in ("prompt", "image") if role in table.roles)]
    frame = _counted(frame, [key for key in keys if key in frame.columns], notes, need_images=need_images)
    by_hash = plain_heading(table.roles.get("image", "")) == _HASH
    return CaptionFile(frame, tuple(f"{table.file}: {note}" for note in notes.said), by_hash, table.data)


class _Notes:
    def __init__(self, file: str, said: list[str]) -> None:
        self.file, self.said = file, said

    def add(self, rows: pl.DataFrame, noun: str, what: str) -> None:
        """Note what is said of rows, where there are any."""
        if rows.height:
            counted = f"{rows.height} {noun}" if rows.height == 1 else f"{rows.height} {noun}s"
            self.said.append(f"{counted} {what} {places(rows['line'])}")


def _rows(table: CaptionTable, notes: _Notes) -> pl.DataFrame:
    """The rows as texts, but for those that repeat the header, or are the header of another file."""
    nested = {c for row in table.rows for c, v in row.values.items() if isinstance(v, dict | list)}
    columns = [column for column in table.columns if column not in nested]
    texts = {column: [row.text(column) for row in table.rows] for column in columns}
    roles = {role: table.roles.get(role) for role in ("image", "caption", "prompt")}
    none: list[str | None] = [None] * len(table.rows)
    held = {role: none if column is None else texts[column] for role, column in roles.items()}
    held |= {c: texts[c] for c in columns if c not in (*roles.values(), *roles, "line")}
    frame = pl.DataFrame(held, dict.fromkeys(held, pl.String))
    frame.insert_column(0, pl.Series("line", [row.line for row in table.rows], pl.Int64))
    header = tuple(map(plain_heading, columns))
    cells = zip(*texts.values(), strict=True)
    stray = pl.Series(
        [
            is_header_row(image or "", caption or "") or tuple(plain_heading(c or "") for c in row) == header
            for image, caption, row in zip(held["image"], held["caption"], cells, strict=True)
        ],
        dtype=pl.Boolean,
    )
    notes.add(frame.filter(stray), "header row", "among the data left out")
    return frame.filter(~stray)


def _counted(frame: pl.DataFrame, keys: Sequence[str], notes: _Notes, *, need_images: bool) -> pl.DataFrame:
    """The first caption of each image where images are needed, else all; further ones are noted."""
    if "image" not in keys:
        return frame
    again = ~pl.struct(keys).is_first_distinct() & pl.col("image").is_not_null()
    further = frame.with_columns(first=pl.col("caption").first().over(keys)).filter(again)
    if not need_images:
        notes.add(further, "further caption", "of images; each counts")
        return frame
    is_same = pl.col("caption") == pl.col("first")
    notes.add(further.filter(is_same), "row", "given twice counted once")
    notes.add(further.filter(~is_same), "further caption", "of images left out; the first of each counts")
    return frame.unique(keys, keep="first", maintain_order=True)


def _note_misplaced(frame: pl.DataFrame, notes: _Notes) -> None:
    """Note images given twice that stand where the numbers of another series are missing."""
    names = [_numbered(image) for image in frame["image"]]
    there = set(names)
    seen: set[tuple[str, int] | None] = set()
    odd: dict[tuple[str, str], list[int]] = defaultdict(list)
    around: str | None = None
    for at, name in enumerate(names):
        if name is not None and name in seen and around not in (None, name[0]):
            if (around, name[1]) not in there:
                odd[name[0], around or ""].append(at)
        elif name is not None:
            around = name[0]
        seen.add(name)
    for (stem, series), rows in odd.items():
        what = f"named {stem} a second time among those named {series}, whose rows of the same numbers"
        notes.add(frame[rows], "row", f"{what} are missing: likely mislabelled")


def _note_mislabelled(frame: pl.DataFrame, notes: _Notes) -> None:
    """Note rows whose image is numbered in the series of another prompt."""
    stems = pl.Series("stem", list(map(numbered_stem, frame["image"])), pl.String)
    numbered = frame.select("line", pl.col("prompt").fill_null(""), stems).drop_nulls("stem")
    counts = numbered.group_by("stem", "prompt", maintain_order=True).agg(n=pl.len())
    most = counts.filter(2 * pl.col("n") > pl.col("n").sum().over("stem")).select("stem", home="prompt")
    odd = numbered.join(most, on="stem", maintain_order="left").filter(pl.col("prompt") != pl.col("home"))
    for (stem, said, usual), rows in odd.group_by("stem", "prompt", "home", maintain_order=True):
        what = f"named {stem} said to be of {said or 'no prompt'!r}, the others of {usual!r}"
        notes.add(rows, "image", f"{what}; kept as the rows say")


def _numbered(image: str | None) -> tuple[str, int] | None:
    stem = numbered_stem(image)
    digits = re.findall(r"[0-9]+", re.sub(r"\.[A-Za-z]+\d?$", "", image or ""))
    return (
        None if stem is None or not digits or len(digits[-1]) > _LONGEST_NUMBER else (stem, int(digits[-1]))
    )
