"""Vectors made elsewhere as an annotator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate.embeddings.file import read_embeddings
from stereotrope.annotate.embeddings.vectors import Vector, embeddings_rows
from stereotrope.annotate.file_annotator import FileAnnotator
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.registry import annotator
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import HASH
from stereotrope.inputs.options import File, Name, Options, Text
from stereotrope.tables import fingerprint_of


class GivenEmbeddings(FileAnnotator):
    """Vectors of pictures, and of prompts' texts, from a Parquet, JSON Lines or CSV file.

    Its texts are found by ``prompt_id`` or by the prompt's text, word for word. Every vector is brought to
    unit length. ``trouble`` stays None where the file has no vectors of pictures.

    image, vector: Columns; found by their usual names when None (see :func:`read_embeddings`).

    Raises MetadataError: The file cannot be used.
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
        self._read = read = read_embeddings(self.path, image=image, vector=vector, name=self.file)
        self.notes += read.notes
        parameters = {"image": image, "vector": vector}
        self.fingerprint: str = fingerprint_of(f"embeddings:{name}", self.version, parameters, read.data)

    def embed(
        self, images: pl.DataFrame, prompts: pl.DataFrame, outcomes: Mapping[str, Mapping[str, Any]]
    ) -> pl.DataFrame:
        """Return the vectors of the images and prompts of a run, in the order of the tables."""
        read = self._read
        self.notes = list(read.notes)
        named = [(place, called) for place, called, _ in read.images]
        column = HASH if read.by_hash else read.image
        seen = self.first_rows(images, named, "vector", column=column, place=read.place)
        texts = self._texts(prompts)
        rows = [("image", one, read.images[at][2]) for one, at in seen.items()]
        rows += [("text", one, texts[one]) for one in prompts["prompt_id"] if one in texts]
        return embeddings_rows(self.name, rows)

    def _texts(self, prompts: pl.DataFrame) -> dict[str, Vector]:
        by_name: dict[str, list[str]] = {one: [one] for one in prompts["prompt_id"]}
        for one, text in prompts.select("prompt_id", "text").drop_nulls("text").iter_rows():
            by_name.setdefault(text.strip(), []).append(one)
        found: dict[str, Vector] = {}
        strays, again = [], []
        for place, called, vector in self._read.texts:
            ids = by_name.get(called, [])
            strays += [place] * (not ids)
            again += [place] * any(one in found for one in ids)
            for one in ids:
                found.setdefault(one, vector)
        kind = self._read.place
        self.note_rows(strays, "of texts that are no prompt of the run, word for word; left out", kind)
        self.note_rows(again, "of texts that have a vector already; the first counts", kind)
        self.note_lacking(prompts.height - len(found), prompts.height, "prompts have no vector of their text")
        return found


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
