"""Vectors made elsewhere as an annotator."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.embeddings.file import read_embeddings, said_of
from stereotrope.annotate.embeddings.vectors import Vector, embeddings_rows
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.registry import annotator
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import HASH, PictureMatching
from stereotrope.inputs.options import File, Name, Options, Text
from stereotrope.tables import LABELLED, fingerprint_of


class GivenEmbeddings(Annotator):
    """Vectors of pictures, and of prompts' texts, from a Parquet, JSON Lines or CSV file.

    The file's images are found by ``image_id``, by ``sha256`` where the column is called so, else by the
    path or name of the file they came from, with or without its extension; its texts by ``prompt_id`` or by
    the prompt's text, word for word. Every vector is brought to unit length.

    file: The file, as the user wrote it.
    name: What made them, the ``encoder`` of the table.
    image, vector: Columns; found by their usual names when None (see :func:`read_embeddings`).
    folder: Folder that a relative ``file`` starts from.

    notes: What was odd about the file, and what could not be matched, one sentence each.
    trouble: Why no vector of the file is of a picture of the run; None where one is, or it has none of
        pictures.

    Raises MetadataError: The file cannot be used.
    """

    version = 1
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
        self.name: str = name
        self.file = str(file)
        self.attributes: Attributes = {}
        self._read = read_embeddings(Path(folder or ".") / file, image=image, vector=vector, name=self.file)
        self.notes: list[str] = list(self._read.notes)
        self.trouble: str | None = None
        parameters = {"image": image, "vector": vector}
        self.fingerprint: str = fingerprint_of(
            f"embeddings:{name}", self.version, parameters, self._read.data
        )

    def embed(
        self, images: pl.DataFrame, prompts: pl.DataFrame, outcomes: Mapping[str, Mapping[str, Any]]
    ) -> pl.DataFrame:
        """Return the vectors of the images and prompts of a run, in the order of the tables."""
        self.notes = list(self._read.notes)
        usable = images.filter(pl.col("status").is_in(LABELLED))
        seen = self._images(images, usable.height)
        texts = self._texts(prompts)
        rows = [("image", one, seen[one]) for one in usable["image_id"] if one in seen]
        rows += [("text", one, texts[one]) for one in prompts["prompt_id"] if one in texts]
        return embeddings_rows(self.name, rows)

    def _images(self, images: pl.DataFrame, n_usable: int) -> dict[str, Vector]:
        matching = PictureMatching(
            images,
            [(place, called) for place, called, _ in self._read.images],
            file=self.file,
            column=HASH if self._read.by_hash else self._read.image,
            place=self._read.place,
            bare=True,
            option="image",
        )
        self.notes += matching.notes
        self.trouble = matching.trouble
        found: dict[str, Vector] = {}
        several, again = [], []
        for (place, _, vector), ids, many in zip(
            self._read.images, matching.ids, matching.several, strict=True
        ):
            if many:
                several.append(place)
                continue
            again += [place] if any(one in found for one in ids) else []
            for one in ids:
                found.setdefault(one, vector)
        self._note("whose name several pictures have; left out", several)
        self._note("of pictures that have a vector already; the first counts", again)
        self._lacking(n_usable - len(found), n_usable, "pictures have no vector")
        return found

    def _texts(self, prompts: pl.DataFrame) -> dict[str, Vector]:
        by_name: dict[str, list[str]] = {one: [one] for one in prompts["prompt_id"]}
        for one, text in prompts.select("prompt_id", "text").iter_rows():
            if text is not None:
                by_name.setdefault(text.strip(), []).append(one)
        found: dict[str, Vector] = {}
        strays, again = [], []
        for place, called, vector in self._read.texts:
            ids = by_name.get(called, [])
            strays += [place] * (not ids)
            again += [place] * any(one in found for one in ids)
            for one in ids:
                found.setdefault(one, vector)
        self._note("of texts that are no prompt of the run, word for word; left out", strays)
        self._note("of texts that have a vector already; the first counts", again)
        self._lacking(prompts.height - len(found), prompts.height, "prompts have no vector of their text")
        return found

    def _note(self, why: str, places: list[int]) -> None:
        if places:
            self.notes.append(f"{self.file}: {said_of(places, self._read.place)} {why}")

    def _lacking(self, missing: int, of: int, what: str) -> None:
        if missing:
            self.notes.append(f"{self.file}: {missing} of {of} {what}")


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
