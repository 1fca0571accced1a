"""Files of captions as they come: what is odd about them is said and never silent."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from stereotrope.annotate.lookup import IMAGE_COLUMNS
from stereotrope.errors import MetadataError, did_you_mean
from stereotrope.rows import Row, RowFile, read_rows

__all__ = ["CaptionFile", "read_captions"]

_CAPTION = ("caption", "captions", "description", "generated_caption", "image_caption", "text")
_PROMPT = ("prompt", "prompt_id", "category", "prompt_category", "class")
_MODEL = ("model", "model_name", "generator")
_HASH = "sha256"
_HEADER_WORDS = frozenset((*IMAGE_COLUMNS, *_CAPTION, _HASH))
_NUMBERED = re.compile(r"^(?P<stem>.*?[^\W\d_].*?)[\W_]*\d+$")
_EXTENSION = re.compile(r"\.(?:png|jpe?g|webp|gif|bmp|tiff?)$", re.IGNORECASE)
_LONG = 40
"""Characters from which a column's name reads like a caption."""
_SHOWN = 5


@dataclass(frozen=True)
class CaptionFile:
    """A file of captions.

    Attributes
    ----------
    frame
        A row an image: ``line``, ``image`` (what the file calls it), ``caption``, ``prompt`` (null where
        the file has no such column), and the file's other columns as texts.
    notes
        What was odd about the file and what was made of it, one sentence each.
    by_hash
        Whether ``image`` is the SHA-256 of the picture's bytes.
    data
        The bytes it was read from.
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
    """Read a file of captions, CSV or JSON lines.

    Parameters
    ----------
    path
        The file.
    image, caption, prompt
        Its columns; found by their usual names, blanks and case aside, when None.
    name
        What messages call the file.
    need_images
        Whether a file without a column of images is refused; else its images are null.

    Returns
    -------
    CaptionFile
        Its captions, the first of each image, and notes on: columns found under other names; a first row
        that is data where the header belongs (it is read as data); header rows among the data (left
        out); rows without image or caption (left out); images given twice (the first counts); images
        whose name belongs to another prompt than their row says (kept as the row says).

    Raises
    ------
    MetadataError
        The file cannot be read, or has no column of images or captions.
    """
    path = Path(path)
    found = read_rows(path, name=name or str(path))
    return _Reading(found, image, caption, prompt, need_images=need_images).done()


class _Reading:
    """One file being read."""

    def __init__(
        self,
        found: RowFile,
        image: str | None,
        caption: str | None,
        prompt: str | None,
        *,
        need_images: bool,
    ) -> None:
        self.found = found
        self.need_images = need_images
        self.notes: list[str] = []
        self.rows = list(found.rows)
        self._take_back_header((image, caption))
        self.image = self._column(image, (*IMAGE_COLUMNS, _HASH), "the picture", _looks_like_image)
        self.caption = self._column(caption, _CAPTION, "the caption", None)
        self.prompt = self._column(prompt, _PROMPT, None, None)
        if found.unnamed:
            self._note(f"{_several(len(found.unnamed), 'column')} without a name left out")

    def _note(self, text: str, lines: Sequence[int] = ()) -> None:
        shown = ", ".join(map(str, lines[:_SHOWN])) + (" …" if len(lines) > _SHOWN else "")
        where = f" (line {shown})" if lines else ""
        self.notes.append(f"{self.found.file}: {text}{where}")

    def _take_back_header(self, given: Sequence[str | None]) -> None:
        """Count the first row as data where it is no header."""
        columns = self.found.columns
        usual = {_plain(column) for column in columns} & {*_HEADER_WORDS, *_PROMPT}
        odd = any(len(c) >= _LONG or _looks_like_image(c) for c in columns)
        if usual or not odd or any(given):
            return
        first = Row(self.found.file, self.found.header, {column: column for column in columns})
        self.rows.insert(0, first)
        self._note("the first row is data and no header; it counts as a row", [self.found.header])

    def _column(
        self, given: str | None, usual: Sequence[str], what: str | None, fits: Callable[[str], bool] | None
    ) -> str | None:
        if given is not None:
            return self.found.require(given, what or "the prompt")
        plain: dict[str, str] = {}
        for column in self.found.columns:
            plain.setdefault(_plain(column), column)
        for name in usual:
            if name in plain:
                if plain[name] != name and what is not None:
                    self._note(f"column {plain[name]!r} is taken as {what}")
                return plain[name]
        if what is None:
            return None
        return self._by_content(what, usual, fits)

    def _by_content(self, what: str, usual: Sequence[str], fits: Callable[[str], bool] | None) -> str | None:
        """Find the column of images by its values, that of captions as the one of longest texts."""
        best, score = None, 0.0
        for column in self.found.columns:
            texts = [row.text(column) or "" for row in self.rows]
            if fits is not None:
                of_column = sum(map(fits, texts)) / len(texts)
                good = of_column > 0.5
            else:
                of_column = sum(map(len, texts)) / len(texts)
                good = of_column >= _LONG
            if good and of_column > score:
                best, score = column, of_column
        if best is None and fits is not None and not self.need_images:
            return None
        if best is None:
            hint = did_you_mean(usual[0], self.found.columns)
            raise MetadataError(
                f"{self.found.file}:{self.found.header}: a column must give {what} ({', '.join(usual)}), "
                f"found {', '.join(map(repr, self.found.columns))}; {hint or 'rename one, or name it'}"
            )
        place = self.found.columns.index(best) + 1
        self._note(f"column {place} is taken as {what} by its values")
        return best

    def done(self) -> CaptionFile:
        assert self.caption is not None
        usable = self._without_gaps(self._without_headers(self.rows))
        if self.prompt is not None:
            self._mislabelled(usable)
        self._misplaced(usable)
        kept = self._without_duplicates(usable)
        taken = {self.image, self.caption, self.prompt}
        reserved = {"line", "image", "caption", "prompt"}
        others = [c for c in self.found.columns if c not in taken and c not in reserved]
        columns = {
            "line": pl.Series([row.line for row in kept], dtype=pl.Int64),
            "image": self._texts(kept, self.image),
            "caption": self._texts(kept, self.caption),
            "prompt": self._texts(kept, self.prompt),
            **{column: self._texts(kept, column) for column in others},
        }
        by_hash = _plain(self.image or "") == _HASH
        return CaptionFile(pl.DataFrame(columns), tuple(self.notes), by_hash, self.found.data)

    def _texts(self, rows: Sequence[Row], column: str | None) -> pl.Series:
        texts = [None if column is None else row.text(column) for row in rows]
        return pl.Series(texts, dtype=pl.String)

    def _without_headers(self, rows: Sequence[Row]) -> list[Row]:
        """Leave out rows that repeat the header, or are the header of another file."""
        kept: list[Row] = []
        strays: list[Row] = []
        header = [_plain(column) for column in self.found.columns]
        for row in rows:
            cells = [_plain(row.text(column) or "") for column in self.found.columns]
            name = _plain(row.text(self.image or "") or "")
            stray = name in _HEADER_WORDS or (cells == header and row.line != self.found.header)
            (strays if stray else kept).append(row)
        if strays:
            self._note(
                f"{_several(len(strays), 'header row')} among the data left out", [row.line for row in strays]
            )
        return kept

    def _without_gaps(self, rows: Sequence[Row]) -> list[Row]:
        for column, what in ((self.image, "image"), (self.caption, "caption")):
            if column is None:
                continue
            gaps = [row for row in rows if row.text(column) is None]
            if gaps:
                self._note(f"{_several(len(gaps), 'row')} without {what} left out", [r.line for r in gaps])
            rows = [row for row in rows if row.text(column) is not None]
        return list(rows)

    def _without_duplicates(self, rows: Sequence[Row]) -> list[Row]:
        if self.image is None:
            return list(rows)
        plain = {_plain(column): column for column in reversed(self.found.columns)}
        models = [plain[name] for name in _MODEL if name in plain]
        keys = [*models, *filter(None, (self.prompt, self.image))]
        first: dict[tuple[str | None, ...], Row] = {}
        same: list[int] = []
        other: list[int] = []
        for row in rows:
            earlier = first.setdefault(tuple(map(row.text, keys)), row)
            if earlier is not row:
                alike = row.text(self.caption or "") == earlier.text(self.caption or "")
                (same if alike else other).append(row.line)
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
            stem = _stem(row.text(self.image or ""))
            if stem is not None:
                series[stem][row.text(self.prompt or "") or ""] += 1
        home = {
            stem: prompts.most_common(1)[0][0]
            for stem, prompts in series.items()
            if 2 * prompts.most_common(1)[0][1] > prompts.total()
        }
        odd: dict[tuple[str, str, str], list[int]] = defaultdict(list)
        for row in rows:
            stem, said = _stem(row.text(self.image or "")), row.text(self.prompt or "") or ""
            if stem in home and home[stem] != said:
                odd[stem or "", said, home[stem or ""]].append(row.line)
        for (stem, said, usual), lines in odd.items():
            self._note(
                f"{_several(len(lines), 'image')} named {stem} said to be of {said or 'no prompt'!r}, the "
                f"others of {usual!r}; kept as the rows say",
                lines,
            )


def _plain(text: str) -> str:
    return re.sub(r"[\s\-_]+", "_", text.strip().casefold()).strip("_")


def _looks_like_image(text: str) -> bool:
    return bool(_EXTENSION.search(text)) or (len(text) < _LONG and _NUMBERED.match(text) is not None)


def _stem(image: str | None) -> str | None:
    """Return what the numbered names of a series share, None where a name has no number."""
    if image is None:
        return None
    found = _NUMBERED.match(_EXTENSION.sub("", image.replace("\\", "/").rsplit("/", 1)[-1]))
    return found["stem"] if found else None


def _numbered(image: str | None) -> tuple[str, int] | None:
    stem = _stem(image)
    digits = re.findall(r"[0-9]+", _EXTENSION.sub("", image or ""))
    return None if stem is None or not digits or len(digits[-1]) > _LONG else (stem, int(digits[-1]))


def _several(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
