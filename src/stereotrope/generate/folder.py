"""Pictures made elsewhere, as a generator like any other."""

import filecmp
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from stereotrope.errors import PictureError, PictureUnavailable, UsageError
from stereotrope.generate.containment import FolderIndex
from stereotrope.generate.contract import (
    Generator,
    ImageRequest,
    ImageResult,
    generator,
    request_id,
    requests_frame,
)
from stereotrope.generate.listing import (
    LABEL,
    Designed,
    FolderOptions,
    ListedOptions,
    ListedPicture,
    Listing,
    columns_by_name,
    file_column,
    listed_again,
    listings_of,
    seed_of,
)
from stereotrope.inputs.entries import Context
from stereotrope.inputs.mismatch import likeliest_cause
from stereotrope.inputs.options import options_of
from stereotrope.inputs.row import Row
from stereotrope.inputs.rows import RowFile
from stereotrope.pictures import inspect
from stereotrope.tables import factors_of

_EXAMPLE = "{folder: pictures, factors: [occupation, condition]}"
_LISTED = 5
_TRIED = 200
_FEW_BLANK = 0.1
"""Part of the rows below which those that leave out a factor are told."""
FILE_MISSING = "file is missing"
NOT_AT_HAND = "picture is not at hand"
"""Reason of an image whose picture is absent, and known to be."""


class FolderGenerator(Generator):
    """A folder of pictures with a metadata file.

    folder: Where the pictures are.
    columns: As of :class:`~stereotrope.generate.listing.FolderOptions`.

    Raises UsageError: The folder is not there, or the arguments contradict each other.
    """

    kind = "folder"
    concurrency = 4
    quick = True
    note = "pictures made elsewhere, taken as they are"
    remedy: str | None = "where files are not at hand and labels of them are enough, write `absent: allowed`"
    _once = True
    """Whether a picture is said to be listed once: where it is not, that is told."""

    def __init__(self, folder: Path | str, **columns: Any) -> None:
        given = {"folder": folder, **columns}
        chosen = options_of(FolderOptions, given, "generator folder", example=_EXAMPLE)
        self._begin(Path(folder), chosen, Path(folder).resolve().name)
        self._metadata, self._allowed = chosen.metadata, chosen.absent == "allowed"

    def _begin(self, folder: Path, columns: ListedOptions, name: str) -> None:
        if not os.path.isdir(folder):  # a name too long for the system is not there either
            raise UsageError(f"folder {str(folder)!r}: there is no such folder; check the path")
        self.folder, self.columns, self.name = folder, columns, columns.name or name
        self.on_disk = folder.resolve()
        self.fingerprint = f"{self.kind}:{self.name}"
        self.notes: list[str] = []
        self._text, self._column = columns.prompt, ""

    @cached_property
    def _index(self) -> FolderIndex:
        return FolderIndex(self.folder)

    def requests(self, designed: pl.DataFrame | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Read the metadata and say which pictures there are, one request a row in their order.

        Rows are matched to the ``designed`` prompts by the prompt's text where ``prompt`` is given, by their
        factors where ``factors`` is; else by those columns that are named like a designed factor, or by a
        column ``prompt``, ``text`` or ``caption``. Rows that match none are left out and noted. Without such
        a column all belong to the one prompt where there is only one. A row whose file is missing or refused
        has a request too, whose result is ``excluded``.

        Raises MetadataError: The metadata cannot be used, no picture belongs to a designed prompt, or one
            belongs to several.
        """
        self.notes, self.trouble = [], None
        listings = self._listings()
        factors, self._text = self._columns_of(listings, designed)
        entries = list(self._entries(listings, factors))
        self._note_unread(listings, factors)
        self._note_pictures(entries)
        if designed is None:
            self._note_blank(entries, factors)
            prompts: dict[int, dict[str, str | None]] = {}
            for entry in entries:  # those of one prompt share what says so
                if id(entry.prompt) not in prompts:
                    prompts[id(entry.prompt)] = entry.prompt_row()
            matched = [(entry, prompts[id(entry.prompt)]) for entry in entries]
            schema = dict.fromkeys(("prompt_id", *factors, "text", "negative"), pl.String)
            rows = pl.DataFrame(list(prompts.values()), schema=schema)
            designed = rows.unique("prompt_id", keep="first", maintain_order=True)
        else:
            matched = self._matched(entries, designed, list(factors))
        self._note_absent([entry for entry, _ in matched])
        self._index.release()
        return designed, requests_frame(self._request(entry, row) for entry, row in matched)

    def _matched(
        self, entries: Sequence[ListedPicture], designed: pl.DataFrame, factors: Sequence[str]
    ) -> list[tuple[ListedPicture, dict[str, str | None]]]:
        """The entries that belong to a designed prompt, each with it."""
        known = Designed(designed, by_text=self._text is not None, factors=factors)
        found = [(entry, known.match(entry)) for entry in entries]
        matched = [(entry, row) for entry, row in found if row is not None]
        lost = [entry for entry, row in found if row is None]
        alike = known.lookalikes(entries) if lost else []
        if lost and not matched:
            raise lost[0].row.error(
                f"a picture must belong to a designed prompt, none of {len(entries)} does; this one "
                f"says {known.says(lost[0])}, the design has {known.example()} and "
                f"{len(known.rows) - 1} more; check the spelling, or name the columns with factors: "
                f"or prompt:{' '.join(['', *alike[:1]])}"
            )
        if lost:
            self._note(
                f"{len(lost)} of {len(entries)} pictures belong to no designed prompt and are left out; the "
                f"first, {lost[0].place}, says {known.says(lost[0])}",
                *alike,
            )
        known.check_told_apart(matched)
        return matched

    def _note(self, *sentences: str) -> None:
        self.notes += [f"{self.name}: {sentence}" for sentence in sentences]

    def _listings(self) -> list[Listing]:
        """Read what lists the pictures."""
        self._index = FolderIndex(self.folder)
        remarks: list[str] = []
        listings = listings_of(self._index, self._metadata, remarks)
        self._note(*remarks)
        self.files = {
            self.folder / (self._metadata or at / PurePosixPath(one.file).name): hashlib.sha256(
                one.data
            ).hexdigest()
            for at, one in listings
            if one.data
        }
        return listings

    def process(self, request: ImageRequest) -> ImageResult:
        """Read one picture; what cannot be used is ``excluded`` with the reason.

        Raises PictureUnavailable: The file is not what :meth:`requests` found, or cannot be read just now:
            nothing is said of it.
        """
        if request.absent:
            return ImageResult(None, "absent", NOT_AT_HAND)
        known, file = request.params["sha256"], self.folder / (request.source or "")
        try:
            data = self._index.read(self._index.locate(request.source or ""))
        except PictureError as error:
            if known is None:
                return ImageResult(None, "excluded", error.reason)
            lost = f"{file}: {error.reason}, and was there before"
            if not self.folder.is_dir():
                lost = f"folder {self.folder}: is not there any more"
            raise PictureUnavailable(f"{lost}; put it back") from error
        except PictureUnavailable as error:
            raise PictureUnavailable(f"{file}: {error}") from error
        if hashlib.sha256(data).hexdigest() != known:
            raise PictureUnavailable(f"{file}: file was changed while the audit ran; it is read anew")
        try:
            return ImageResult(data, "ok", size=inspect(data))
        except PictureError as error:
            return ImageResult(None, "excluded", error.reason)

    def _columns_of(
        self, listings: Sequence[Listing], designed: pl.DataFrame | None
    ) -> tuple[dict[str, str], str | None]:
        """Columns of the factors, and of the text."""
        if self.columns.factors is not None or self.columns.prompt is not None:
            return self.columns.factors or {}, self.columns.prompt
        if designed is None:
            labelled = any(LABEL in m.columns and m.file == "" for _, m in listings)
            return ({LABEL: LABEL} if labelled else {}), None
        named, text = columns_by_name(listings, factors_of(designed.columns), alone=designed.height == 1)
        if not named and text is None:
            self._note(
                "nothing says which prompt a picture belongs to; all are taken for the one "
                "prompt that there is"
            )
        return named, text

    def _entries(self, listings: Sequence[Listing], factors: Mapping[str, str]) -> Iterator[ListedPicture]:
        seen: dict[str, ListedPicture] = {}
        prompts: dict[tuple[str | None, ...], dict[str, str | None]] = {}
        doubled = []
        for folder, metadata in listings:
            named = self.columns.file
            file = self._file_column(metadata) if named is None else metadata.require(named, "file")
            for factor, column in factors.items():
                metadata.require(column, f"factor {factor!r}")
            for key in ("prompt", "negative", "seed", "name_from"):
                if (column := getattr(self.columns, key)) is not None:
                    metadata.require(column, key)
            self._column = file
            for row in metadata.rows:
                read = self._entry(folder, row, file, factors)
                alike = prompts.setdefault(tuple(read.prompt.values()), read.prompt)
                entry = replace(read, row=row.without_values(), prompt=alike)
                first = seen.setdefault(entry.key, entry)
                if first is entry:
                    yield entry
                elif entry.agrees(first):
                    doubled.append(entry.place)
                else:
                    known = metadata.rows if first.row.file == row.file else ()
                    before = next((one.raw(file) for one in known if one.line == first.row.line), None)
                    written = (before or first.source, row.raw(file) or "")
                    raise row.error(listed_again(entry.source, written, f"at {first.place}"))
        if doubled and self._once:
            rows = "row says" if len(doubled) == 1 else "rows say"
            self._note(f"{len(doubled)} {rows} the same again and count once: {_few(doubled)}")

    def _file_column(self, metadata: RowFile) -> str:
        return file_column(metadata)

    def _located(self, folder: PurePosixPath, listed: str) -> tuple[str, str | None, bool]:
        """The file that a row names, the hash of its bytes, and whether it is absent."""
        inside = listed and not listed.startswith("/") and folder != PurePosixPath()
        source = f"{folder}/{listed}" if inside else listed
        try:
            source = self._index.locate(source)
            return source, hashlib.sha256(self._index.read(source)).hexdigest(), False
        except PictureError as error:  # its request is kept, and `process` says the reason
            return source, None, self._allowed and error.reason == FILE_MISSING
        except PictureUnavailable:
            return source, None, False

    def _entry(self, folder: PurePosixPath, row: Row, file: str, factors: Mapping[str, str]) -> ListedPicture:
        source, sha256, absent = self._located(folder, row.raw(file) or "")
        column = self.columns.name_from
        name = self.name if column is None else row.text(column)
        if name is None:
            raise row.error(f"column {column!r} must name the model, found nothing; fill it in")
        prompt = {factor: row.text(column) for factor, column in factors.items()}
        for field, column in (("text", self._text), ("negative", self.columns.negative)):
            prompt[field] = row.raw(column) if column else None
        seed, among = seed_of(row, self.columns.seed), "" if self._once else name
        return ListedPicture(row, source, sha256, sys.intern(name), prompt, seed, absent, among)

    def _request(self, entry: ListedPicture, prompt: Mapping[str, str | None]) -> ImageRequest:
        further = {"row": "" if entry.source else entry.place, "absent": entry.absent, "model": entry.among}
        params: dict[str, Any] = {"file": entry.source, "sha256": entry.sha256}
        params |= {name: value for name, value in further.items() if value} | dict(entry.outcome)
        asked = (prompt["text"], prompt["negative"], entry.seed, params)
        image_id = request_id(self.fingerprint, *asked)
        told = (str(prompt["prompt_id"]), entry.generator, *asked)
        return ImageRequest(image_id, *told, source=entry.source, absent=entry.absent)

    def _note_misnamed(self, entries: Sequence[ListedPicture], unlisted: Sequence[str]) -> None:
        """Say what listed files that are not there differ by from pictures that no row lists."""
        lost = {entry.row.line: entry.source for entry in entries if entry.sha256 is None and entry.source}
        few = dict(list(lost.items())[:_TRIED])
        cause = likeliest_cause(few, unlisted, place="line", column=self._column) if lost and unlisted else ""
        if cause:
            self._note(
                f"{len(lost)} of {len(entries)} listed files are not in the folder; likeliest cause: {cause}"
            )
            self.trouble = cause if len(lost) == len(entries) else None

    def _note_unread(self, listings: Sequence[Listing], factors: Mapping[str, str]) -> None:
        """Say which columns are there by their usual names, and not read: units and seeds hang on them."""
        there = {column for _, metadata in listings for column in metadata.columns}
        read = {self._text, self.columns.seed, *factors.values()}
        for name in ("prompt", "seed"):
            if name in there - read and (name == "seed" or self._text is None):
                self._note(f"column {name!r} is not read; `{name}: {name}` in the audit file says what it is")

    def _note_blank(self, entries: Sequence[ListedPicture], factors: Iterable[str]) -> None:
        """Say where a few rows leave out a factor, as by mistake; where many do, it is what they mean."""
        for factor in factors:
            blank = [entry.place for entry in entries if entry.prompt[factor] is None]
            if 0 < len(blank) < _FEW_BLANK * len(entries):
                which = "row leaves" if len(blank) == 1 else "rows leave"
                self._note(f"{len(blank)} {which} out {factor!r}, a condition apart: {_few(blank)}")

    def _note_absent(self, entries: Sequence[ListedPicture]) -> None:
        """Say how many pictures of the audit are not at hand."""
        absent = [entry.source for entry in entries if entry.absent]
        if absent:
            self._note(
                f"{len(absent)} of {len(entries)} pictures are not at hand; labels made elsewhere count, and "
                f"whatever looks at pictures leaves them out: {_few(absent)}"
            )

    def _note_pictures(self, entries: Sequence[ListedPicture]) -> None:
        """Say which pictures have no row, and which rows have no picture."""
        listed = {entry.source for entry in entries}
        unlisted = [name for name in self._index.pictures if name not in listed]
        self._note_misnamed(entries, unlisted)
        for names, what in (
            (unlisted, "pictures in the folder have no row in the metadata and"),
            (self._index.closed, "folders may not be read and"),
            (self._index.unreadable, "file names are not UTF-8 and"),
        ):
            if names:
                self._note(f"{len(names)} {what} are left out: {_few(names)}")


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"


@generator(
    FolderOptions,
    summary="takes pictures made elsewhere, with metadata (CSV, JSON lines, Hugging Face imagefolder)",
    example=_EXAMPLE,
)
def folder(options: FolderOptions, context: Context) -> FolderGenerator:
    """Take what is in a folder."""
    given, path = options.model_dump(exclude={"folder"}), context.folder / options.folder
    if options.metadata is not None and os.path.isdir(path):
        given["metadata"] = _metadata(options.metadata, options.folder, context.folder)
    return FolderGenerator(path, **given)


def _metadata(name: str, folder: str, base: Path) -> Path:
    """The file that lists the pictures: beside the audit file, as other paths are, or in their folder."""
    beside, inside = (base / name).absolute(), (base / folder / name).absolute()
    files = [path for path in (inside, beside) if os.path.isfile(path)]
    if not files:
        raise UsageError(
            f"folder {folder!r}: no metadata file {name!r}, neither beside the audit file ({beside}) nor in "
            f"the folder ({inside}); check the name"
        )
    if len(files) > 1 and not filecmp.cmp(inside, beside, shallow=False):
        raise UsageError(
            f"folder {folder!r}: metadata {name!r} is a file beside the audit file ({beside}) and another "
            f"one in the folder ({inside}); write metadata: {Path(folder, name).as_posix()} for the one in "
            "the folder, or rename or remove the one that is not meant"
        )
    return files[0]
