"""Finding the images that the rows of a file made elsewhere mean, and saying why they mean none."""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np
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

_ODD_PATH = r"[^\x00-\x7F]|\\|//|^/|/$|(^|/)\.(/|$)"

SAMPLE = 200
"""So many rows say what a column holds."""


class Lookup:
    """Finds images by a key; paths also without, or with other, leading folders."""

    def __init__(self, images: pl.DataFrame, column: str) -> None:
        self.column = column
        known = images.select("image_id", key=pl.col(column).cast(pl.String)).drop_nulls("key")
        self._images = known.with_columns(self._key(known["key"])).with_row_index("_at")

    def _key(self, texts: pl.Series) -> pl.Series:
        return (normal_paths(texts) if self.column in _PATHS else texts).alias("key")

    def find(self, keys: pl.Series) -> pl.DataFrame:
        """``called, image_id``: the images that each key names, in their order; none where there is none."""
        asked = pl.DataFrame({"called": keys, "key": self._key(keys)})
        if self.column == HASH:
            asked = asked.with_columns(pl.col("key").str.to_lowercase())
        found = [self._named(asked)]
        left = asked.join(found[0], on="called", how="anti")
        if self.column in _PATHS:
            shorter = left
            while (shorter := _without_folder(shorter)).height:
                found.append(self._named(shorter))
                shorter = shorter.join(found[-1], on="called", how="anti")
            left = left.join(pl.concat(found), on="called", how="anti")
            found.append(self._below(left))
        return pl.concat(found)

    def _named(self, asked: pl.DataFrame) -> pl.DataFrame:
        both = asked.join(self._images, on="key", how="inner", maintain_order="left_right")
        return both.select("called", "image_id")

    def _below(self, asked: pl.DataFrame) -> pl.DataFrame:
        """Images whose paths end in the keys behind some folders."""
        hits, images = [self._images.clear().select("_at", called="key", image_id="image_id")], self._images
        while asked.height and (images := _without_folder(images)).height:
            hits.append(images.join(asked, on="key", how="inner").select("_at", "called", "image_id"))
        return pl.concat(hits).unique(["_at", "called"]).sort("called", "_at").drop("_at")


def _without_folder(rows: pl.DataFrame) -> pl.DataFrame:
    """Those whose key has a folder, without the first of these."""
    inside = rows.filter(pl.col("key").str.contains("/", literal=True))
    return inside.with_columns(key=pl.col("key").str.splitn("/", 2).struct[1])


def found_images(images: pl.DataFrame, keys: pl.Series, column: str, *, bare: bool = False) -> pl.DataFrame:
    """Find images by what a file calls them: ``called, image_id``, and whether that is ``by_bytes``.

    keys: What images are called, each once.
    column: What the file calls its column. By :data:`HASH` images are found by that, by a ``file_name`` or
        ``source`` by path or name, by any other column by id, else by path, name or hash.
    bare: Whether a name may lack its ending, or have another; then images are found by id under any column
        but :data:`HASH`.
    """
    strict = column == HASH or not bare
    ways = _WAYS.get(column if strict else "", ("image_id", *_PATHS, HASH))
    none = {"called": pl.String, "image_id": pl.String, "by_bytes": pl.Boolean}
    found = [pl.DataFrame(schema=none)]
    for way in ways:
        if way in images.columns and keys.len():
            there = Lookup(images, way).find(keys)
            found.append(there.with_columns(by_bytes=pl.lit(way in _BY_BYTES)))
            keys = keys.filter(~keys.is_in(there["called"].unique().implode()))
    if bare and "source" in ways and keys.len():
        named = images.drop_nulls("source")
        stems = named.select("image_id", key=pl.Series(map(_stem, named["source"]), dtype=pl.String))
        asked = pl.DataFrame({"called": keys, "key": pl.Series(map(_stem, keys), dtype=pl.String)})
        there = asked.join(stems, on="key", how="inner", maintain_order="left_right").drop("key")
        found.append(there.with_columns(by_bytes=pl.lit(False)))
    return pl.concat(found)


_WAYS: Mapping[str, tuple[str, ...]] = {"file_name": _PATHS, "source": _PATHS, HASH: (HASH, "source")}
"""Column of a file → the only columns of ``images`` that it can mean."""


class PictureMatching:
    """The rows of a file made elsewhere, each with the images that it means.

    rows: ``at``, the place in the file, and ``called``, what that calls the image.
    place: What a place is called: ``line`` or ``row``.
    bare: As of :func:`found_images`.
    others: Further columns of the file with their first values: one of them may name the images instead.
    option: Key of an audit file's entry that names the column.
    models: For every row the only generator whose images it can mean; of any when None.
    outside: For every row what it says of its prompt, where the audit asks for no such one.
    found: ``row`` (from 0) and ``image_id`` of every image that is meant and that labels may be of.
    several: For every row, whether these are different pictures of one name.
    notes: Which rows mean none, and why, one sentence each.
    trouble: Why no row means an image that can be used; None where some do, or where there is no row.
    """

    def __init__(
        self,
        images: pl.DataFrame,
        rows: pl.DataFrame,
        *,
        file: str,
        column: str,
        place: str = "line",
        bare: bool = False,
        others: Mapping[str, Sequence[str]] | None = None,
        option: str = "key",
        models: pl.Series | None = None,
        outside: pl.Series | None = None,
    ) -> None:
        self.file, self.column, self.place, self.option = file, column, place, option
        self.images, self.others = images, others or {}
        self.n_rows = rows["at"].n_unique()
        rows = rows.with_row_index("row")
        named = found_images(images, rows["called"].unique(maintain_order=True), column, bare=bare)
        there = (
            rows.drop("at").join(named, on="called", how="inner", maintain_order="left_right").drop("called")
        )
        if models is not None:
            made_by = images.select("image_id", "generator")
            there = there.join(made_by, on="image_id", how="left", maintain_order="left").filter(
                pl.col("generator") == models.alias("model").gather(there["row"])
            )
        usable = images.filter(pl.col("status").is_in(LABELLED)).select("image_id")
        found = there.join(usable, on="image_id", how="semi", maintain_order="left")
        self.found = found.select("row", "image_id")
        n, by_bytes = (pl.Series(np.zeros(rows.height, kind)) for kind in (np.int64, np.bool_))
        counts = found.group_by("row").agg(n=pl.len(), by_bytes=pl.col("by_bytes").first())
        n, by_bytes = (
            n.scatter(counts["row"], counts["n"]),
            by_bytes.scatter(counts["row"], counts["by_bytes"]),
        )
        self.several = (n > 1) & ~by_bytes
        lost = rows.filter(n == 0).with_columns(
            outside=pl.lit(None, pl.String) if outside is None else outside.filter(n == 0)
        )
        first = there.unique("row", keep="first").select("row", image_id="image_id")
        lost = lost.join(first, on="row", how="left", maintain_order="left").unique("at", maintain_order=True)
        useless = pl.col("image_id").is_not_null()
        self._useless = lost.filter(useless)
        self._outside = lost.filter(~useless, pl.col("outside").is_not_null())
        self._strays = lost.filter(~useless, pl.col("outside").is_null())
        self._any, self._any_alone = bool(found.height), bool(((n > 0) & ~self.several).any())
        self.notes: list[str] = []
        self.trouble: str | None = None
        self._explain()

    def _explain(self) -> None:
        cause = self._cause() if self._strays.height else ""
        reasons = self._reasons() if self._useless.height else ""
        at, prompt = next(self._outside.select("at", "outside").iter_rows(), (0, ""))
        unasked, elsewhere = "that this audit does not ask for", f"; {self.place} {at} says {prompt}"
        self._note(self._useless, "is of a picture", "are of pictures", "that cannot be used", f": {reasons}")
        self._note(self._outside, "is of a prompt", "are of prompts", unasked, elsewhere)
        self._note(self._strays, "matches", "match", "no image", cause)
        if self.n_rows and not self._any_alone:
            what = (
                "names one picture alone"
                if self._any
                else f"is of a picture that can be used: {reasons}"
                if self._useless.height
                else "matches a picture of the run"
            )
            self.trouble = f"{self.file}: none of its rows ({self.n_rows:,}) {what}{cause}"

    def _note(self, rows: pl.DataFrame, does: str, do: str, what: str, why: str) -> None:
        if rows.is_empty():
            return
        which = f"row {does}" if rows.height == 1 else f"rows {do}"
        where = places(rows["at"].sort(), self.place)
        self.notes.append(f"{self.file}: {rows.height} {which} {what} {where}{why}")

    def _reasons(self) -> str:
        """``3 × file is missing``, most frequent first, of the pictures that cannot be used."""
        said = [name for name in ("reason", "status") if name in self.images.columns]
        of = self.images.select("image_id", why=pl.coalesce(said))
        told = self._useless.join(of, on="image_id", how="left", maintain_order="left")["why"]
        counts = told.value_counts(sort=True, name="n")
        return ", ".join(f"{n} × {reason}" for reason, n in counts.iter_rows())

    def _cause(self) -> str:
        """What most of the strays have in common, or what the pictures are called."""
        few = self._strays.height * 2 > self.n_rows
        strays = dict(self._strays.head(SAMPLE).select("at", "called").iter_rows())
        named = self._named_otherwise(list(strays.values()))
        if named is None:
            # Pictures that rows name already are not those that others mean.
            free = self.images.filter(~pl.col("image_id").is_in(self.found["image_id"].implode()))
            if free.is_empty():
                return "; every picture of the run has a row already, so that these are of others"
            names, left = (
                [source or one for source, one in of.select("source", "image_id").iter_rows()]
                for of in (self.images, free)
            )
            named = likeliest_cause(strays, left, place=self.place, column=self.column)
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
            if name != self.column and _most(finder, strays):
                return f"{self.column!r} holds what is called {name} here; call the column {name}"
        for other, values in self.others.items():
            if other != self.column and any(_most(f, values) for f in finders.values()):
                return (
                    f"the column {other!r} names the pictures, not {self.column!r}; write "
                    f"{self.option}: {other}"
                )
        return None


def outside_design(rows: pl.DataFrame, design: Design) -> pl.Series:
    """For every row what it says of its prompt, where no prompt of the audit is so; else null.

    A column in which no row says what some prompt does is about something else.
    """
    told = [pl.lit(None, pl.String)]
    for column, levels in design.items():
        if rows.schema.get(column) != pl.String:
            continue
        said = rows[column].unique().drop_nulls().to_list()
        known = set(map(_folded, levels))
        strange = [one for one in said if one and _folded(one) not in known]
        if any(_folded(one) in known for one in said):
            sayings = [f"{column} {one!r}" for one in strange]
            told.append(pl.col(column).replace_strict(strange, sayings, default=None, return_dtype=pl.String))
    return rows.with_columns(pl.coalesce(told).alias("outside"))["outside"]


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().casefold()


def _most(lookup: Lookup, keys: Sequence[str]) -> bool:
    """Whether most of some keys name an image."""
    named = pl.Series(list(keys), dtype=pl.String)
    found = lookup.find(named.unique())["called"].unique()
    return int(named.is_in(found.implode()).sum()) * 2 > named.len()


def _stem(name: str) -> str:
    return Path(name.replace("\\", "/")).stem


def normal_paths(paths: pl.Series) -> pl.Series:
    """Each as :func:`normal_path` has it."""
    odd = paths.filter(paths.str.contains(_ODD_PATH)).unique()
    return paths.replace(odd, pl.Series(map(normal_path, odd), dtype=pl.String)) if odd.len() else paths


def normal_path(path: str) -> str:
    """Path with forward slashes, NFC, without empty and ``.`` parts. It is compared, never opened."""
    parts = unicodedata.normalize("NFC", path).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", "."))
