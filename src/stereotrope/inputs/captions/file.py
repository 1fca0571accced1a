"""Files of captions as they come: what is odd about them is said and never silent."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from stereotrope.inputs.captions.headings import is_header_row, numbered_stem, plain_heading
from stereotrope.inputs.captions.table import CaptionTable, read_caption_table
from stereotrope.inputs.rows import Row, places

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
    given = {"image": image, "caption": caption, "prompt": prompt}
    table = read_caption_table(
        Path(path),
        name=name or str(path),
        given={role: column for role, column in given.items() if column is not None},
        needed=("image", "caption") if need_images else ("caption",),
    )
    return _Reading(table, need_images=need_images).done()


class _Reading:
    def __init__(self, table: CaptionTable, *, need_images: bool) -> None:
        self.table = table
        self.need_images = need_images
        self.notes = [f"{table.file}: {note}" for note in (*table.notes, *table.renamed, *table.guessed)]
        self.image, self.caption = table.roles.get("image"), table.roles["caption"]
        self.prompt, self.model = table.roles.get("prompt"), table.roles.get("model")
        nested = {c for row in table.rows for c, v in row.values.items() if isinstance(v, dict | list)}
        self.columns = [column for column in table.columns if column not in nested]

    def _note(self, text: str, lines: Sequence[int]) -> None:
        self.notes.append(f"{self.table.file}: {text} {places(lines)}")

    def done(self) -> CaptionFile:
        usable = self._without_gaps(self._without_headers(self.table.rows))
        if self.prompt is not None:
            self._mislabelled(usable)
        self._misplaced(usable)
        kept = self._without_duplicates(usable)
        taken = {self.image, self.caption, self.prompt}
        reserved = {"line", "image", "caption", "prompt"}
        others = [c for c in self.columns if c not in taken and c not in reserved]
        columns = {
            "line": pl.Series([row.line for row in kept], dtype=pl.Int64),
            "image": self._texts(kept, self.image),
            "caption": self._texts(kept, self.caption),
            "prompt": self._texts(kept, self.prompt),
            **{column: self._texts(kept, column) for column in others},
        }
        by_hash = plain_heading(self.image or "") == _HASH
        return CaptionFile(pl.DataFrame(columns), tuple(self.notes), by_hash, self.table.data)

    def _texts(self, rows: Sequence[Row], column: str | None) -> pl.Series:
        texts = [None if column is None else row.text(column) for row in rows]
        return pl.Series(texts, dtype=pl.String)

    def _without_headers(self, rows: Sequence[Row]) -> list[Row]:
        """Leave out rows that repeat the header, or are the header of another file."""
        kept: list[Row] = []
        strays: list[Row] = []
        header = [plain_heading(column) for column in self.columns]
        for row in rows:
            cells = [plain_heading(row.text(column) or "") for column in self.columns]
            image = "" if self.image is None else row.text(self.image) or ""
            stray = is_header_row(image, row.text(self.caption) or "") or cells == header
            (strays if stray else kept).append(row)
        if strays:
            self._note(
                f"{_several(len(strays), 'header row')} among the data left out", [row.line for row in strays]
            )
        return kept

    def _without_gaps(self, rows: Sequence[Row]) -> list[Row]:
        needed = (self.image if self.need_images else None, "image"), (self.caption, "caption")
        for column, what in needed:
            if column is None:
                continue
            gaps = [row for row in rows if row.text(column) is None]
            if gaps:
                self._note(f"{_several(len(gaps), 'row')} without {what} left out", [r.line for r in gaps])
            rows = [row for row in rows if row.text(column) is not None]
        return list(rows)

    def _without_duplicates(self, rows: Sequence[Row]) -> list[Row]:
        """Keep the first caption of each image where images are needed, else all; tell which are further."""
        if self.image is None:
            return list(rows)
        keys = list(filter(None, (self.model, self.prompt, self.image)))
        first: dict[tuple[str | None, ...], Row] = {}
        same: list[int] = []
        other: list[int] = []
        for row in rows:
            earlier = (
                row if row.text(self.image) is None else first.setdefault(tuple(map(row.text, keys)), row)
            )
            if earlier is not row:
                alike = row.text(self.caption) == earlier.text(self.caption)
                (same if alike else other).append(row.line)
        if not self.need_images:
            if again := [*same, *other]:
                self._note(f"{_several(len(again), 'further caption')} of images; each counts", sorted(again))
            return list(rows)
        if same:
            self._note(f"{_several(len(same), 'row')} given twice counted once", same)
        if other:
            self._note(
                f"{_several(len(other), 'further caption')} of images left out; the first of each counts",
                other,
            )
        return list(first.values())

    def _misplaced(self, rows: Sequence[Row]) -> None:
        """Note images given twice that stand where the numbers of another series are missing."""
        names = [_numbered(row.text(self.image or "")) for row in rows]
        there = set(names)
        seen: set[tuple[str, int] | None] = set()
        odd: dict[tuple[str, str], list[int]] = defaultdict(list)
        around: str | None = None
        for row, name in zip(rows, names, strict=True):
            if name is not None and name in seen and around not in (None, name[0]):
                if (around, name[1]) not in there:
                    odd[name[0], around or ""].append(row.line)
            elif name is not None:
                around = name[0]
            seen.add(name)
        for (stem, series), lines in odd.items():
            self._note(
                f"{_several(len(lines), 'row')} named {stem} a second time among those named {series}, whose "
                "rows of the same numbers are missing: likely mislabelled",
                lines,
            )

    def _mislabelled(self, rows: Sequence[Row]) -> None:
        """Note rows whose image is numbered in the series of another prompt."""
        series: dict[str, Counter[str]] = defaultdict(Counter)
        for row in rows:
            stem = numbered_stem(row.text(self.image or ""))
            if stem is not None:
                series[stem][row.text(self.prompt or "") or ""] += 1
        home = {
            stem: prompts.most_common(1)[0][0]
            for stem, prompts in series.items()
            if 2 * prompts.most_common(1)[0][1] > prompts.total()
        }
        odd: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for row in rows:
            stem, said = numbered_stem(row.text(self.image or "")), row.text(self.prompt or "") or ""
            if stem in home and home[stem] != said:
                odd[stem or "", said, home[stem or ""]].append(row.line)
        for (stem, said, usual), lines in odd.items():
            self._note(
                f"{_several(len(lines), 'image')} named {stem} said to be of {said or 'no prompt'!r}, the "
                f"others of {usual!r}; kept as the rows say",
                lines,
            )


def _numbered(image: str | None) -> tuple[str, int] | None:
    stem = numbered_stem(image)
    digits = re.findall(r"[0-9]+", re.sub(r"\.[A-Za-z]+\d?$", "", image or ""))
    return (
        None if stem is None or not digits or len(digits[-1]) > _LONGEST_NUMBER else (stem, int(digits[-1]))
    )


def _several(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
