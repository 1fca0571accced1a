"""Vectors made elsewhere as an annotator: a Parquet, JSON Lines or CSV file; what is odd about it is said."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.annotate.contract import KeptOutcomes
from stereotrope.annotate.embeddings.vectors import embeddings_rows
from stereotrope.annotate.file_annotator import FileAnnotator
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.registry import annotator
from stereotrope.errors import MetadataError, UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import HASH, IMAGE_COLUMNS
from stereotrope.inputs.options import File, Name, Options, Text
from stereotrope.inputs.rows import PARQUET, RowFile, read_rows
from stereotrope.stats.vectors import Vector, unit_vector

_COLUMNS = {
    "image": ("the picture", (*IMAGE_COLUMNS, HASH)),
    "vector": (
        "the vector",
        ("vector", "embedding", "embeddings", "features", "image_embeds", "image_embedding"),
    ),
}
"""Option that names a column → what that gives, and its usual names."""
_TEXT = ("prompt_id", "text", "prompt")
_OTHERS = (".npz", ".npy", ".pt", ".pkl", ".safetensors", ".h5")
_MOST_BYTES = 2**33
_NUMBERS = {int, float, type(None)}

NamedVector = tuple[int, str, Vector]
"""Place in the file, what it calls the picture or the prompt, and the vector at unit length."""


class GivenEmbeddings(FileAnnotator):
    """Vectors of pictures, and of prompts' texts, from a Parquet, JSON Lines or CSV file.

    A vector is a list of numbers, in CSV a JSON list; every one is brought to unit length. A row with an
    image is the vector of a picture; a row without one is that of a prompt's text, named by its
    ``prompt_id``, or by the text itself, word for word, in a column ``text`` or ``prompt``. Rows that have no
    vector, no name, or a vector that is not finite or all 0 are left out and noted. ``trouble`` stays None
    where the file has no vectors of pictures.

    image, vector: Columns; found by their usual names when None.

    Raises MetadataError: The file cannot be read or lacks a column, a vector is no list of numbers, or two
        differ in length.
    """

    gives = ("embeddings",)

    def __init__(
        self,
        file: Path | str,
        *,
        name: str,
        image: str | None = None,
        vector: str | None = None,
        folder: Path | str | None = None,
    ) -> None:
        super().__init__(file, name=name, folder=folder)
        self.attributes: Attributes = {}
        self.sentences: list[str] = []
        suffix = self.path.suffix.lower()
        if suffix in _OTHERS:
            raise MetadataError(
                f"{self.file}: must be Parquet, JSON Lines or CSV, found {self.path.suffix}; write a table "
                "with a column image and a column vector"
            )
        found = read_rows(self.path, name=self.file, most=_MOST_BYTES)
        self.place = "row" if suffix == PARQUET else "line"
        self._image = _column(found, image, "image")
        self._pictures: list[NamedVector] = []
        self._texts: list[NamedVector] = []
        self._read(found, _column(found, vector, "vector"))
        self._oddities = list(self.notes)
        parameters = {"image": image, "vector": vector}
        self.identify("embeddings", parameters, found.data)

    def _read(self, found: RowFile, vector: str) -> None:
        """Tell vectors of pictures from those of texts, and note the rows that give neither."""
        texts = [
            column for column in _TEXT if column in found.columns and column not in (self._image, vector)
        ]
        odd: dict[str, list[int]] = {}
        first: tuple[int, int] | None = None
        for row in found.rows:
            where = f"{self.file}: {self.place} {row.line}"
            numbers = _numbers(row.values.get(vector), where)
            if numbers is None:
                odd.setdefault("without a vector", []).append(row.line)
                continue
            first = first or (len(numbers), row.line)
            if len(numbers) != first[0]:
                raise MetadataError(
                    f"{where}: vectors must have one length, found {len(numbers)} numbers and {first[0]} in "
                    f"{self.place} {first[1]}; keep those of one encoder"
                )
            unit = unit_vector(numbers)
            called = _text(row.values.get(self._image))
            text = next(filter(None, (_text(row.values.get(column)) for column in texts)), None)
            if unit is None:
                odd.setdefault("whose vector is not finite or all 0", []).append(row.line)
            elif called is not None:
                self._pictures.append((row.line, called, unit))
            elif text is not None:
                self._texts.append((row.line, text, unit))
            else:
                odd.setdefault("that name neither a picture nor a prompt", []).append(row.line)
        for why, lines in odd.items():
            self.note_rows(lines, f"{why} left out")

    def also_encode(self, sentences: Sequence[str]) -> None:
        """Take sentences that others want vectors of.

        Raises UsageError: The file has none of one.
        """
        known = {called for _, called, _ in self._texts}
        if lacking := [one for one in sentences if one.strip() not in known]:
            raise UsageError(
                f"{self.file}: {len(lacking)} of {len(sentences)} sentences have no vector ({lacking[0]!r} …)"
                "; add a row for each, with the sentence in the column text"
            )
        self.sentences = list(dict.fromkeys([*self.sentences, *sentences]))

    def embed(self, images: pl.DataFrame, prompts: pl.DataFrame, kept: KeptOutcomes) -> pl.DataFrame:
        """Return the vectors of the images and prompts of a run, in the order of the tables."""
        self.notes = list(self._oddities)
        pairs = [(place, called) for place, called, _ in self._pictures]
        named = pl.DataFrame(pairs, {"at": pl.Int64, "called": pl.String}, orient="row")
        column = HASH if self._image.strip().casefold() == HASH else self._image
        seen = self.first_rows(images, named, "vector", column=column)
        texts = self._of_prompts(prompts)
        rows = [("image", one, self._pictures[at][2]) for one, at in seen.iter_rows()]
        rows += [("text", one, texts[one]) for one in prompts["prompt_id"] if one in texts]
        first = {called: vector for _, called, vector in reversed(self._texts)}
        rows += [("sentence", one, first[one.strip()]) for one in self.sentences]
        return embeddings_rows(self.name, rows)

    def _of_prompts(self, prompts: pl.DataFrame) -> dict[str, Vector]:
        by_name: dict[str, list[str]] = {one: [one] for one in prompts["prompt_id"]}
        for one, text in prompts.select("prompt_id", "text").drop_nulls("text").iter_rows():
            by_name.setdefault(text.strip(), []).append(one)
        found: dict[str, Vector] = {}
        wanted = {one.strip() for one in self.sentences}
        strays, again = [], []
        for place, called, vector in self._texts:
            ids = by_name.get(called, [])
            strays += [place] * (not ids and called not in wanted)
            again += [place] * any(one in found for one in ids)
            for one in ids:
                found.setdefault(one, vector)
        self.note_rows(strays, "of texts that are no prompt of the run, word for word; left out")
        self.note_rows(again, "of texts that have a vector already; the first counts")
        self.note_lacking(prompts.height - len(found), prompts.height, "prompts have no vector of their text")
        return found


def _column(found: RowFile, given: str | None, option: str) -> str:
    what, usual = _COLUMNS[option]
    if given is not None:
        return found.require(given, what)
    by_plain = {column.strip().casefold(): column for column in reversed(found.columns)}
    column = next((by_plain[name] for name in usual if name in by_plain), None)
    if column is None:
        raise MetadataError(
            f"{found.where}: a column must give {what} ({', '.join(usual)}), found "
            f"{', '.join(map(repr, found.columns)) or 'none'}; rename one, or name it with `{option}:`"
        )
    return column


def _numbers(value: Any, where: str) -> NDArray[np.float64] | None:
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, list) or not value or not _NUMBERS.issuperset(map(type, value)):
        listed = "a list of something else" if value else "an empty list"
        found = listed if isinstance(value, list) else type(value).__name__
        raise MetadataError(
            f"{where}: a vector must be a list of numbers, found {found}; write [0.1, 0.2, …]"
        )
    return np.array([_real(number) for number in value], np.float64)


def _real(number: Any) -> float:
    """A number as a float; not finite where it is none or larger than any."""
    try:
        return float("nan") if number is None else float(number)
    except OverflowError:
        return float("inf")


def _text(value: Any) -> str | None:
    return None if value is None or isinstance(value, list | dict) else str(value).strip() or None


class EmbeddingOptions(Options):
    """As of :class:`GivenEmbeddings`."""

    embeddings: File
    name: Name
    image: Text | None = None
    vector: Text | None = None


@annotator(
    EmbeddingOptions,
    summary="vectors made elsewhere, from a Parquet, JSONL or CSV file",
    example="{embeddings: clip.parquet, name: clip}",
)
def embeddings(options: EmbeddingOptions, context: Context) -> GivenEmbeddings:
    """Read the file."""
    given = options.model_dump(exclude={"embeddings"})
    return GivenEmbeddings(options.embeddings, folder=context.folder, **given)
