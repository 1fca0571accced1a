"""Pictures made elsewhere, as a generator like any other."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Self

import polars as pl

from stereotrope.errors import PictureError, PictureUnavailable, UsageError, did_you_mean
from stereotrope.generate.containment import FolderIndex
from stereotrope.generate.contract import Generator, ImageRequest, ImageResult, request_id
from stereotrope.generate.listing import (
    LABEL,
    Designed,
    ListedPicture,
    Listing,
    check_told_apart,
    columns_by_name,
    file_column,
    listings_of,
    seed_of,
)
from stereotrope.inputs.mismatch import likeliest_cause
from stereotrope.inputs.rows import Row, RowFile
from stereotrope.pictures import inspect
from stereotrope.tables import RESERVED, SCOPES, check_factors, factors_of

__all__ = ["FolderGenerator"]

_KEYS = ("folder", "metadata", "name", "name_from", "factors", "prompt", "negative", "seed", "file", "absent")
_LISTED = 5
_TRIED = 200
MISSING = "file is missing"
NOT_AT_HAND = "picture is not at hand"
"""Reason of an image whose picture is absent, and known to be."""


class FolderGenerator(Generator):
    """A folder of pictures with a metadata file.

    Parameters
    ----------
    folder
        Where the pictures are.
    metadata
        CSV or JSON lines with one row a picture, relative to ``folder``; in an audit file also relative to
        that. By default the first of
        ``metadata.jsonl``, ``metadata.csv``, ``labels.csv``; else those of its sub-folders (the splits
        of a Hugging Face imagefolder, read as column ``split``); else the names of the sub-folders
        themselves are read as column ``label``.
    name
        Name of the model that made the pictures; the folder's name by default.
    name_from
        Column with the model's name, where the folder holds several models' pictures.
    factors
        Columns that are factors, or a mapping factor → column. Only for class-named sub-folders the
        default is ``label``; else there is none.
    prompt, negative
        Columns with the prompt and the negative prompt.
    seed
        Column with the seed; without it seeds are unknown (null).
    file
        Column with the file, relative to the folder of the metadata file that names it; by default
        ``file_name``, ``file``, ``filename``, ``image`` or ``path``.
    absent
        What a row is whose file is not there: ``"excluded"``, it cannot be used; or ``"allowed"``, the
        picture was made and is not at hand: what others said of it counts, and whatever looks at pictures
        leaves it out.

    Attributes
    ----------
    notes
        After :meth:`requests`: what was left out and why, one sentence each.
    trouble
        After :meth:`requests`: why none of the listed files is there; None where some are.

    Raises
    ------
    UsageError
        The folder is not there, or the arguments contradict each other.
    """

    concurrency = 4
    note = "pictures made elsewhere, taken as they are"
    kind = "folder"
    remedy = "where files are not at hand and labels of them are enough, write `absent: allowed`"
    _needs = "a folder; add folder: path/to/pictures"
    _keys: tuple[str, ...] = _KEYS
    _once = True
    """Whether a picture is said to be listed once: where it is not, that is told."""

    def __init__(
        self,
        folder: Path | str,
        *,
        metadata: Path | str | None = None,
        name: str | None = None,
        name_from: str | None = None,
        factors: Sequence[str] | Mapping[str, str] | None = None,
        prompt: str | None = None,
        negative: str | None = None,
        seed: str | None = None,
        file: str | None = None,
        absent: str | None = None,
    ) -> None:
        self.folder = Path(folder)
        if not os.path.isdir(self.folder):  # a name too long for the system is not there either
            raise UsageError(f"folder {str(folder)!r}: there is no such folder; check the path")
        if name is not None and name_from is not None:
            raise UsageError(f"folder {str(folder)!r}: give either name or name_from, found both; remove one")
        self.name = name or self.folder.resolve().name
        self.fingerprint = f"folder:{self.name}"
        self.metadata = metadata
        self.name_from, self.prompt, self.negative, self.seed, self.file = (
            name_from,
            prompt,
            negative,
            seed,
            file,
        )
        if absent not in (None, "excluded", "allowed"):
            raise UsageError(
                f"folder {str(folder)!r}: absent must be excluded or allowed, found {absent!r}; write "
                "absent: allowed where labels of pictures that are not at hand should count"
            )
        self.absent = absent or "excluded"
        self._text = prompt
        self.factors: dict[str, str] | None = None
        if factors is not None:
            pairs = factors if isinstance(factors, Mapping) else {factor: factor for factor in factors}
            for factor, column in pairs.items():
                if factor in RESERVED:
                    model = ", or name_from where it names the model" if factor in SCOPES else ""
                    raise UsageError(
                        f"factor {factor!r}: this name is reserved for a column of every run; give the "
                        "factor another name and say which column it is, "
                        f"factors: {{given_{factor}: {column}}}{model}"
                    )
            self.factors = {str(f): str(pairs[f]) for f in check_factors(list(pairs))}
        self.notes: list[str] = []
        self._column = ""
        self._index: FolderIndex | None = None

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """Make one from an entry of an audit file: ``{folder: …, metadata: …, name: …, factors: …}``.

        Raises
        ------
        UsageError
            A key is unknown or a value has the wrong type.
        """
        for key, value in spec.items():
            if key not in cls._keys:
                hint = f"{did_you_mean(key, cls._keys)} Keys are {', '.join(cls._keys)}".lstrip()
                raise UsageError(f"{cls.kind} generator: unknown key {key!r}; {hint}")
            if key == "factors" and not _is_factors(value):
                raise UsageError(
                    f"{cls.kind} generator: factors must be a list of columns or a mapping of factor to "
                    f"column, found {value!r}; write factors: [occupation, condition]"
                )
            if key != "factors" and not isinstance(value, str | Path | None):
                raise UsageError(
                    f"{cls.kind} generator: {key} must be text, found {value!r}; put it in quotes"
                )
        if spec.get(cls.kind) is None:
            raise UsageError(f"{cls.kind} generator: needs {cls._needs}")
        return cls(**spec)

    def requests(self, designed: pl.DataFrame | None = None) -> tuple[pl.DataFrame, list[ImageRequest]]:
        """Read the metadata and say which pictures there are.

        Parameters
        ----------
        designed
            Prompts designed already: rows are matched to them by prompt text where ``prompt`` is given,
            by their factors where ``factors`` is; else by those columns that are named like a designed
            factor, or by a column ``prompt``, ``text`` or ``caption``. Rows that match none are left
            out and noted. Without such a column all belong to the one prompt where there is only one.

        Returns
        -------
        prompts, requests
            The ``prompts`` table (``designed`` where given) and one request a row, in the order of the
            rows. A row whose file is missing or refused has a request too, whose result is ``excluded``.

        Raises
        ------
        MetadataError
            The metadata cannot be used, no picture belongs to a designed prompt, or one belongs to
            several.
        """
        self.notes, self.trouble = [], None
        listings = self._listings()
        factors, self._text = self._columns_of(listings, designed)
        entries = list(self._entries(listings, factors))
        self._note_pictures(entries)
        if designed is not None:
            matched = self._matched(entries, designed, list(factors))
            self._note_absent([entry for entry, _ in matched])
            return designed, [self._request(entry, row) for entry, row in matched]
        self._note_absent(entries)
        prompts: dict[str, dict[str, str | None]] = {}
        requests = []
        for entry in entries:
            row = entry.prompt_row()
            prompts.setdefault(str(row["prompt_id"]), row)
            requests.append(self._request(entry, row))
        columns = ["prompt_id", *factors, "text", "negative"]
        rows = list(prompts.values())
        frame = pl.DataFrame(
            {column: [row[column] for row in rows] for column in columns},
            schema=dict.fromkeys(columns, pl.String),
        )
        return frame, requests

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
            self.notes.append(
                f"{self.name}: {len(lost)} of {len(entries)} pictures belong to no designed prompt and are "
                f"left out; the first, {lost[0].place}, says {known.says(lost[0])}"
            )
            self.notes += [f"{self.name}: {sentence}" for sentence in alike]
        check_told_apart(matched, designed)
        return matched

    def _listings(self) -> list[Listing]:
        """Read what lists the pictures."""
        self._index = FolderIndex(self.folder)
        said: list[str] = []
        listings = listings_of(self._index, self.metadata, said)
        self.notes += [f"{self.name}: {note}" for note in said]
        return listings

    def process(self, request: ImageRequest) -> ImageResult:
        """Read one picture; what cannot be used is ``excluded`` with the reason.

        Raises
        ------
        PictureUnavailable
            The file is not what :meth:`requests` found, or cannot be read just now: nothing is said of it.
        """
        if request.absent:
            return ImageResult(None, "absent", NOT_AT_HAND)
        index = self._index = self._index or FolderIndex(self.folder)
        known, file = request.params["sha256"], self.folder / (request.source or "")
        try:
            data = index.read(index.locate(request.source or "")[0])
        except PictureError as error:
            if known is None:
                return ImageResult(None, "excluded", error.reason)
            if not self.folder.is_dir():
                raise PictureUnavailable(
                    f"folder {self.folder}: is not there any more; put it back"
                ) from error
            raise PictureUnavailable(f"{file}: {error.reason}, and was there before; put it back") from error
        except PictureUnavailable as error:
            raise PictureUnavailable(f"{file}: {error}") from error
        if hashlib.sha256(data).hexdigest() != known:
            raise PictureUnavailable(f"{file}: file was changed while the audit ran; it is read anew")
        try:
            inspect(data)
        except PictureError as error:
            return ImageResult(None, "excluded", error.reason)
        return ImageResult(data, "ok")

    def _columns_of(
        self, listings: Sequence[Listing], designed: pl.DataFrame | None
    ) -> tuple[dict[str, str], str | None]:
        """Columns of the factors, and of the text."""
        if self.factors is not None or self.prompt is not None:
            return self.factors or {}, self.prompt
        if designed is None:
            labelled = any(LABEL in m.columns and m.file == "" for _, m in listings)
            return ({LABEL: LABEL} if labelled else {}), None
        named, text = columns_by_name(listings, factors_of(designed.columns), alone=designed.height == 1)
        if not named and text is None:
            self.notes.append(
                f"{self.name}: nothing says which prompt a picture belongs to; all are taken for the one "
                "prompt that there is"
            )
        return named, text

    def _entries(self, listings: Sequence[Listing], factors: Mapping[str, str]) -> Iterator[ListedPicture]:
        seen: dict[str, ListedPicture] = {}
        doubled = []
        for folder, metadata in listings:
            file = metadata.require(self.file, "file") if self.file else self._file_column(metadata)
            for factor, column in factors.items():
                metadata.require(column, f"factor {factor!r}")
            for key in ("prompt", "negative", "seed", "name_from"):
                if (column := getattr(self, key)) is not None:
                    metadata.require(column, key)
            self._column = file
            for row in metadata.rows:
                entry = self._entry(folder, row, file, factors)
                first = seen.setdefault(entry.key, entry)
                if first is entry:
                    yield entry
                elif entry.said() == first.said():
                    doubled.append(f"{row.file}:{row.line}")
                else:
                    raise row.error(
                        f"{entry.source!r} must be listed once, found again with other values (first at "
                        f"{first.row.file}:{first.row.line}); remove one of the rows"
                    )
        if doubled and self._once:
            self.notes.append(
                f"{self.name}: {len(doubled)} rows say the same again and count once: {_few(doubled)}"
            )

    def _file_column(self, metadata: RowFile) -> str:
        return file_column(metadata)

    def _located(self, folder: PurePosixPath, listed: str) -> tuple[str, str | None, bool]:
        """The file that a row names, the hash of its bytes, and whether it is absent."""
        index = self._index = self._index or FolderIndex(self.folder)
        inside = listed and not listed.startswith("/") and folder != PurePosixPath()
        source = f"{folder}/{listed}" if inside else listed
        try:
            source, _ = index.locate(source)
            return source, hashlib.sha256(index.read(source)).hexdigest(), False
        except PictureError as error:  # its request is kept, and `process` says the reason
            return source, None, self.absent == "allowed" and error.reason == MISSING
        except PictureUnavailable:
            return source, None, False

    def _entry(self, folder: PurePosixPath, row: Row, file: str, factors: Mapping[str, str]) -> ListedPicture:
        source, sha256, absent = self._located(folder, row.raw(file) or "")
        name = self.name if self.name_from is None else row.text(self.name_from)
        if name is None:
            raise row.error(f"column {self.name_from!r} must name the model, found nothing; fill it in")
        return ListedPicture(
            row=row,
            source=source,
            sha256=sha256,
            generator=name,
            factors={factor: row.text(column) for factor, column in factors.items()},
            text=row.raw(self._text) if self._text else None,
            negative=row.raw(self.negative) if self.negative else None,
            seed=seed_of(row, self.seed),
            absent=absent,
        )

    def _request(self, entry: ListedPicture, prompt: Mapping[str, str | None]) -> ImageRequest:
        params: dict[str, Any] = {"file": entry.source, "sha256": entry.sha256}
        if not entry.source:
            params["row"] = f"{entry.row.file}:{entry.row.line}"
        if entry.absent:
            params["absent"] = True
        if entry.among:
            params["model"] = entry.among
        return ImageRequest(
            image_id=request_id(self.fingerprint, prompt["text"], prompt["negative"], entry.seed, params),
            prompt_id=str(prompt["prompt_id"]),
            generator=entry.generator,
            text=prompt["text"],
            negative=prompt["negative"],
            seed=entry.seed,
            params=params,
            source=entry.source,
            absent=entry.absent,
        )

    def _note_misnamed(self, entries: Sequence[ListedPicture], unlisted: Sequence[str]) -> None:
        """Say what listed files that are not there differ by from pictures that no row lists."""
        lost = {entry.row.line: entry.source for entry in entries if entry.sha256 is None and entry.source}
        few = dict(list(lost.items())[:_TRIED])
        cause = (
            likeliest_cause(few, unlisted, place="line", column=self._column) if lost and unlisted else None
        )
        if cause is not None:
            self.notes.append(
                f"{self.name}: {len(lost)} of {len(entries)} listed files are not in the folder; likeliest "
                f"cause: {cause}"
            )
            self.trouble = cause if len(lost) == len(entries) else None

    def _note_absent(self, entries: Sequence[ListedPicture]) -> None:
        """Say how many pictures of the audit are not at hand."""
        absent = [entry.source for entry in entries if entry.absent]
        if absent:
            self.notes.append(
                f"{self.name}: {len(absent)} of {len(entries)} pictures are not at hand; labels made "
                f"elsewhere count, and whatever looks at pictures leaves them out: {_few(absent)}"
            )

    def _note_pictures(self, entries: Sequence[ListedPicture]) -> None:
        """Say which pictures have no row, and which rows have no picture."""
        index = self._index = self._index or FolderIndex(self.folder)
        listed = {entry.source for entry in entries}
        self._note_misnamed(entries, [name for name in index.pictures if name not in listed])
        unlisted = [name for name in index.pictures if name not in listed]
        if unlisted:
            self.notes.append(
                f"{self.name}: {len(unlisted)} pictures in the folder have no row in the metadata "
                f"and are left out: {_few(unlisted)}"
            )
        if index.closed:
            self.notes.append(
                f"{self.name}: {len(index.closed)} folders may not be read and are left out: "
                f"{_few(index.closed)}"
            )
        if index.unreadable:
            self.notes.append(
                f"{self.name}: {len(index.unreadable)} file names are not UTF-8 and are left out: "
                f"{_few(index.unreadable)}"
            )


def _is_factors(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(text, str) for pair in value.items() for text in pair)
    return value is None or (isinstance(value, list | tuple) and all(isinstance(text, str) for text in value))


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED} more"
