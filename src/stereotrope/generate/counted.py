"""Studies of millions of pictures that exist as files alone: rows that are alike are counted."""

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import PurePosixPath
from typing import Any

import polars as pl

from stereotrope.errors import MetadataError
from stereotrope.generate.contract import CountableGenerator, generator
from stereotrope.generate.labelled import LABELS_EXAMPLE, LabelledGenerator, outcome_of
from stereotrope.generate.listing import LabelledOptions, ListedPicture, listed_again
from stereotrope.inputs.entries import Context
from stereotrope.inputs.row import Row
from stereotrope.inputs.rows import picture_column
from stereotrope.inputs.scan import ROW, Only, ScannedFile, scan_rows, text_key

_NAMED, _MODEL, _STATUS, _REASON, _PROMPT = "\0named", "\0model", "\0status", "\0reason", "\0prompt"
_GROUP = "\0group"
"""What is known of groups, under names that no column of a file has."""


class CountedListing(LabelledGenerator, CountableGenerator):
    """What :class:`LabelledGenerator` takes, of which no picture is kept by itself.

    Its file is Parquet or CSV and is read in parts. Names of pictures are compared letter for letter, and
    seeds are not read.
    """

    _file_rows: ScannedFile
    _groups: pl.DataFrame

    def cells(self, designed: pl.DataFrame | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Group rows by what they say of prompts and outcomes, and match that to ``designed`` prompts.

        Raises MetadataError: As :meth:`requests`.
        """
        self.notes = []
        self._file_rows = file = scan_rows(self._file)
        self.digests, self.files = [file.digest], {self._file: file.digest}
        factors, self._text = self._columns_of([(PurePosixPath(), file.head)], designed)
        said = {"name_from": self.columns.name_from, "status": self._status, "reason": self._reason}
        said |= {"prompt": self._text, "negative": self.columns.negative}
        said |= {f"factor {factor!r}": column for factor, column in factors.items()}
        columns = [file.head.require(column, key) for key, column in said.items() if column is not None]
        self._said = list(dict.fromkeys(columns))
        named = self.columns.file
        self._column = (
            picture_column(file.head, option="file") if named is None else file.head.require(named, "file")
        )
        groups = self._texts().group_by([*self._said, _NAMED])
        counted = groups.agg(line=pl.col(ROW).min(), n_subjects=pl.len().cast(pl.Int64)).sort("line")
        self._groups = file.read(counted).with_row_index("cell")
        asked = [self._text, self.columns.negative, *factors.values()]
        columns = list(dict.fromkeys(name for name in asked if name is not None))
        entries = self._each(columns, factors)
        if designed is not None:
            matched = self._matched(entries, designed, list(factors))
        else:
            matched = [(entry, entry.prompt_row()) for entry in entries]
            schema = dict.fromkeys(("prompt_id", *factors, "text", "negative"), pl.String)
            rows = pl.DataFrame([row for _, row in matched], schema=schema)
            designed = rows.unique("prompt_id", keep="first", maintain_order=True)
        ids = [{**entry.row.values, _PROMPT: prompt["prompt_id"]} for entry, prompt in matched]
        return designed, self._cells(columns, ids)

    def _cells(self, columns: Sequence[str], ids: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
        """The groups whose pictures belong to a prompt, with what came of them; ``ids`` by ``columns``."""
        said = [self._status, self._reason, self.columns.name_from]
        others = [_NAMED, *dict.fromkeys(name for name in said if name is not None)]
        came = []
        for entry in self._each(others, {}):
            told = dict(entry.outcome)
            status, reason = outcome_of(told.get("status"), told.get("reason"), named=bool(entry.source))
            came.append({**entry.row.values, _MODEL: entry.generator, _STATUS: status, _REASON: reason})
        groups = self._beside(self._groups, others, came, (_MODEL, _STATUS, _REASON))
        self._groups = groups
        names = {"generator": _MODEL, "prompt_id": _PROMPT, "status": _STATUS, "reason": _REASON}
        cells = self._beside(groups, columns, ids, (_PROMPT,)).sort("cell")
        return cells.select("cell", **names, n_subjects="n_subjects")

    def _each(self, columns: Sequence[str], factors: Mapping[str, str]) -> list[ListedPicture]:
        """One entry for each combination of what groups say in some columns, in the order of the file."""
        first = (
            self._groups.unique(columns, keep="first", maintain_order=True) if columns else self._groups[:1]
        )
        return [self._entry(PurePosixPath(), self._row(row), _NAMED, factors) for row in first.to_dicts()]

    def _beside(
        self, groups: pl.DataFrame, on: Sequence[str], rows: Sequence[Mapping[str, Any]], more: Sequence[str]
    ) -> pl.DataFrame:
        """Groups with what is known of each by some columns."""
        schema = {name: groups.schema.get(name, pl.String) for name in (*on, *more)}
        told = pl.DataFrame([{name: row[name] for name in schema} for row in rows], schema=schema)
        return groups.join(told, on=on, nulls_equal=True) if on else groups.join(told, how="cross")

    def listed(self, only: Only) -> pl.DataFrame:
        """Return a row a picture; rows that say the same of one picture count once.

        Raises MetadataError: Two rows say different things of a picture.
        """
        # Of the numbers that can stand for a group the first that no two groups share.
        hashes = (pl.struct(*self._said, _NAMED).hash(seed) for seed in count())
        alike = next(h for h in hashes if self._groups.select(h.is_unique().all()).item())
        groups = self._groups.select("cell", alike.alias(_GROUP), generator=_MODEL)
        rows = self._texts(only).select(ROW, alike.alias(_GROUP), key=text_key(pl.col(self._column)))
        found = self._file_rows.read(rows)
        found = found.join(groups, on=_GROUP, maintain_order="left").drop(_GROUP)
        named = found.drop_nulls("key")
        same = pl.col("key") ^ pl.col("generator").hash()
        if named.select(same.n_unique()).item() < named.height:
            named = self._each_once(named)
        return pl.concat([named, found.filter(pl.col("key").is_null())]).select("key", "cell")

    def some_names(self, n: int) -> list[str]:
        """As of :class:`CountableGenerator`."""
        names = self._file_rows.texts([self._column]).filter(pl.col(self._column) != "").head(n)
        return self._file_rows.read(names)[self._column].to_list()

    def _texts(self, only: Only | None = None) -> pl.LazyFrame:
        wanted = None if only is None else (self._column, only)
        texts = self._file_rows.texts([*self._said, self._column], only=wanted)
        named = pl.when(pl.col(self._column) != "").then(pl.lit("named"))
        return texts.with_columns(named.alias(_NAMED))

    def _row(self, group: Mapping[str, Any]) -> Row:
        values = {column: group[column] for column in self._said}
        return Row(self._file_rows.head.file, group["line"], {**values, _NAMED: group[_NAMED]})

    def _each_once(self, named: pl.DataFrame) -> pl.DataFrame:
        one, file = ["key", "generator"], self._file_rows
        again = named.filter(pl.struct(one).is_duplicated())
        names = file.named(self._column, again[ROW])
        told = again.with_columns(name=pl.Series(map(names.get, again[ROW]), dtype=pl.String))
        said = pl.struct("name", "cell")
        first = pl.col(ROW).first().over(one)
        other = told.with_columns(first_row=first).filter(said != said.first().over(one))
        for row in other.head(1).iter_rows(named=True):
            numbers = (row["first_row"], row[ROW])
            both = file.rows.filter(pl.col(ROW).is_in(numbers)).select(pl.col(self._column).cast(pl.String))
            written = file.read(both).to_series().to_list()
            message = listed_again(row["name"], written, f"in row {numbers[0]}")
            raise MetadataError(f"{file.head.file}:{row[ROW]}: {message}")
        return named.unique(one, keep="first", maintain_order=True)


@generator(
    LabelledOptions,
    summary="takes pictures that are not at hand, as a file lists them; labels made elsewhere count",
    example=LABELS_EXAMPLE,
)
def labels(options: LabelledOptions, context: Context) -> LabelledGenerator:
    """Take what a file names."""
    given = options.model_dump(exclude={"labels"})
    kind = CountedListing if context.counted else LabelledGenerator
    return kind(context.folder / options.labels, **given)
