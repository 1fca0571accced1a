"""Finding the images that the rows of a file made elsewhere mean, and saying why they mean none."""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from stereotrope.inputs.mismatch import likeliest_cause
from stereotrope.inputs.rows import places
from stereotrope.tables import LABELLED

IMAGE_COLUMNS = (
    *("image_id", "image", "image_name", "image_file", "file_name", "filename", "file", "path", "source"),
    "id",
)
"""What a file made elsewhere may call its column of images."""

HASH = "sha256"
"""What it calls that column where pictures are named by the SHA-256 of their bytes."""

_PATHS = ("source", "path")
_BY_BYTES = (HASH, "path")
"""Columns of ``images`` that are of the bytes: pictures with the same ones share what is said of them."""

Design = Mapping[str, Collection[str]]
"""What the prompts of an audit say, by the column in which a file may say it too."""

SAMPLE = 200
"""So many rows say what a column holds."""


class Lookup:
    """Finds images by a key; paths also without, or with other, leading folders."""

    def __init__(self, images: pl.DataFrame, column: str) -> None:
        self.column = column
        is_path = column in _PATHS
        self._exact = _by_key(images, column, lambda value: [normal_path(value) if is_path else value])
        self._tail = _by_key(images, column, _tails) if is_path else {}

    def find(self, key: str) -> list[str]:
        """Ids of the images that the key names; empty where there is none."""
        if self.column not in _PATHS:
            return self._exact.get(key.lower() if self.column == HASH else key, [])
        tails = _tails(key)
        known = next((tail for tail in tails if tail in self._exact), None)
        return self._tail.get(tails[0], []) if known is None else self._exact[known]


def _by_key(
    images: pl.DataFrame, column: str, keys: Callable[[str], Iterable[str]]
) -> Mapping[str, list[str]]:
    """Key → the images that have it."""
    found: dict[str, list[str]] = defaultdict(list)
    for image_id, value in zip(images["image_id"], images[column], strict=True):
        for key in keys(value) if value is not None else ():
            found[key].append(image_id)
    return found


class ImageFinder:
    """Finds images by what a file calls them.

    column: What the file calls its column. By :data:`HASH` images are found by that, by a ``file_name`` or
        ``source`` by path or name, by any other column by id, else by path, name or hash.
    bare: Whether a name may lack its ending, or have another; then images are found by id under any column
        but :data:`HASH`.
    """

    def __init__(self, images: pl.DataFrame, column: str, *, bare: bool = False) -> None:
        strict = column == HASH or not bare
        ways = _WAYS.get(column if strict else "", ("image_id", *_PATHS, HASH))
        self._ways = [Lookup(images, way) for way in ways if way in images.columns]
        self._bare = (
            _by_key(images, "source", lambda name: [_stem(name)]) if bare and "source" in ways else {}
        )

    def __call__(self, image: str) -> tuple[list[str], bool]:
        """Ids of the images that are called so, empty where there is none; whether that is by their bytes."""
        for way in self._ways:
            if ids := way.find(image):
                return ids, way.column in _BY_BYTES
        return self._bare.get(_stem(image), []), False


_WAYS: Mapping[str, tuple[str, ...]] = {"file_name": _PATHS, "source": _PATHS, HASH: (HASH, "source")}
"""Column of a file → the only columns of ``images`` that it can mean."""


class PictureMatching:
    """The rows of a file made elsewhere, each with the images that it means.

    rows: Place in the file and what it calls the image, of every row.
    place: What a place is called: ``line`` or ``row``.
    bare: As of :class:`ImageFinder`.
    others: Further columns of the file with their first values: one of them may name the images instead.
    option: Key of an audit file's entry that names the column.
    models: For every row the only generator whose images it can mean; of any when None.
    outside: For every row what it says of its prompt, where the audit asks for no such one.
    ids: For every row, the images that it means and that labels may be of.
    several: For every row, whether these are different pictures of one name.
    notes: Which rows mean none, and why, one sentence each.
    trouble: Why no row means an image that can be used; None where some do, or where there is no row.
    """

    def __init__(
        self,
        images: pl.DataFrame,
        rows: Iterable[tuple[int, str]],
        *,
        file: str,
        column: str,
        place: str = "line",
        bare: bool = False,
        others: Mapping[str, Sequence[str]] | None = None,
        option: str = "key",
        models: Sequence[str | None] | None = None,
        outside: Sequence[str | None] | None = None,
    ) -> None:
        self.file, self.column, self.place, self.option = file, column, place, option
        self.images, self.others = images, others or {}
        find = ImageFinder(images, column, bare=bare)
        usable = set(images.filter(pl.col("status").is_in(LABELLED))["image_id"])
        self.ids: list[list[str]] = []
        self.several: list[bool] = []
        self._strays: dict[int, str] = {}
        self._useless: dict[int, str] = {}
        self._outside: dict[int, str] = {}
        seen = set()
        made_by = dict(images.select("image_id", "generator").iter_rows()) if models is not None else {}
        for number, (at, called) in enumerate(rows):
            there, by_bytes = find(called)
            if models is not None:
                there = [one for one in there if made_by[one] == models[number]]
            found = [one for one in there if one in usable]
            self.ids.append(found)
            self.several.append(len(found) > 1 and not by_bytes)
            seen.add(at)
            if not there and outside is not None and (said := outside[number]) is not None:
                self._outside[at] = said
            elif not there:
                self._strays[at] = called
            elif not found:
                self._useless[at] = there[0]
        self.n_rows = len(seen)
        self.notes: list[str] = []
        self.trouble: str | None = None
        self._explain()

    def _explain(self) -> None:
        cause = self._cause() if self._strays else ""
        reasons = self._reasons() if self._useless else ""
        at, prompt = next(iter(self._outside.items()), (0, ""))
        unasked, elsewhere = "that this audit does not ask for", f"; {self.place} {at} says {prompt}"
        self._note(self._useless, "is of a picture", "are of pictures", "that cannot be used", f": {reasons}")
        self._note(self._outside, "is of a prompt", "are of prompts", unasked, elsewhere)
        self._note(self._strays, "matches", "match", "no image", cause)
        named = [ids for ids, several in zip(self.ids, self.several, strict=True) if ids and not several]
        if self.n_rows and not named:
            what = (
                "names one picture alone"
                if any(self.ids)
                else f"is of a picture that can be used: {reasons}"
                if self._useless
                else "matches a picture of the run"
            )
            self.trouble = f"{self.file}: none of its rows ({self.n_rows:,}) {what}{cause}"

    def _note(self, lines: Mapping[int, str], does: str, do: str, what: str, why: str) -> None:
        if not lines:
            return
        rows = f"row {does}" if len(lines) == 1 else f"rows {do}"
        where = places(sorted(lines), self.place)
        self.notes.append(f"{self.file}: {len(lines)} {rows} {what} {where}{why}")

    def _reasons(self) -> str:
        """``3 × file is missing``, most frequent first, of the pictures that cannot be used."""
        said = [name for name in ("reason", "status") if name in self.images.columns]
        of = dict(self.images.select("image_id", pl.coalesce(said)).iter_rows())
        counts = pl.Series([of[one] for one in self._useless.values()]).value_counts(sort=True, name="n")
        return ", ".join(f"{n} × {reason}" for reason, n in counts.iter_rows())

    def _cause(self) -> str:
        """What most of the strays have in common, or what the pictures are called."""
        few = len(self._strays) * 2 > self.n_rows
        strays = dict(list(self._strays.items())[:SAMPLE])
        named = self._named_otherwise(list(strays.values()))
        if named is None:
            names = [source or one for source, one in self.images.select("source", "image_id").iter_rows()]
            named = likeliest_cause(strays, names, place=self.place, column=self.column)
            if named is None and few:
                shown = ", ".join(map(repr, names[:2]))
                at, called = next(iter(strays.items()))
                return (
                    f"; {self.place} {at} says {called!r}, the pictures are called {shown or 'nothing'}"
                    f"{' …' if len(names) > 2 else ''}, and neither endings, case, numbers, folders, blanks "
                    "nor another column explain it; check that the file belongs to these pictures"
                )
        return f"; likeliest cause: {named}" if named else ""

    def _named_otherwise(self, strays: Sequence[str]) -> str | None:
        """Whether the strays are keys of another kind, or another column of the file names the images."""
        kinds = {"image_id": "image_id", "file_name": "source", HASH: HASH}
        finders = {
            name: Lookup(self.images, way) for name, way in kinds.items() if way in self.images.columns
        }
        for name, finder in finders.items():
            if name != self.column and _most(map(finder.find, strays)):
                return f"{self.column!r} holds what is called {name} here; call the column {name}"
        for other, values in self.others.items():
            if other != self.column and any(_most(map(f.find, values)) for f in finders.values()):
                return (
                    f"the column {other!r} names the pictures, not {self.column!r}; write "
                    f"{self.option}: {other}"
                )
        return None


def outside_design(rows: Iterable[Mapping[str, str | None]], design: Design) -> list[str | None]:
    """For every row what it says of its prompt, where no prompt of the audit is so; else None.

    A column in which no row says what some prompt does is about something else.
    """
    listed = list(rows)
    known = {column: set(map(_folded, levels)) for column, levels in design.items()}
    telling = [c for c in design if any(_folded(row.get(c) or "") in known[c] for row in listed)]
    return [
        next(
            (f"{c} {said!r}" for c in telling if (said := row.get(c)) and _folded(said) not in known[c]), None
        )
        for row in listed
    ]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().casefold()


def _most(found: Iterable[Sequence[str]]) -> bool:
    listed = [bool(one) for one in found]
    return sum(listed) * 2 > len(listed)


def _stem(name: str) -> str:
    return Path(name.replace("\\", "/")).stem


def _tails(path: str) -> list[str]:
    parts = normal_path(path).split("/")
    return ["/".join(parts[at:]) for at in range(len(parts))]


def normal_path(path: str) -> str:
    """Path with forward slashes, NFC, without empty and ``.`` parts. It is compared, never opened."""
    parts = unicodedata.normalize("NFC", path).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", "."))
