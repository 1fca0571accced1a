"""Files of vectors made elsewhere: Parquet, JSON Lines or CSV; what is odd about them is said."""

import io
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.annotate.embeddings.vectors import Vector, unit_vector
from stereotrope.errors import MetadataError, did_you_mean
from stereotrope.inputs.files import read_whole
from stereotrope.inputs.lookup import IMAGE_COLUMNS
from stereotrope.inputs.rows import Row, RowFile, places, read_rows

_VECTOR = ("vector", "embedding", "embeddings", "features", "image_embeds", "image_embedding")
_TEXT = ("prompt_id", "text", "prompt")
_HASH = "sha256"
_OTHERS = (".npz", ".npy", ".pt", ".pkl", ".safetensors", ".h5")
_MOST_BYTES = 2**33

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class EmbeddingFile:
    """A file of vectors.

    images, texts: (place in the file, what it calls the picture or the prompt, vector at unit length), in its
        order.
    notes: What was odd about the file and what was made of it, one sentence each.
    image: The column that names them.
    by_hash: Whether pictures are named by the SHA-256 of their bytes.
    place: What a place is: ``row`` or ``line``.
    data: The bytes it was read from.
    """

    images: Sequence[tuple[int, str, Vector]]
    texts: Sequence[tuple[int, str, Vector]]
    notes: tuple[str, ...]
    image: str
    by_hash: bool
    place: str
    data: bytes


def read_embeddings(
    path: Path | str, *, image: str | None = None, vector: str | None = None, name: str | None = None
) -> EmbeddingFile:
    """Read a file of vectors.

    A row with an image is the vector of a picture; a row without one is that of a prompt's text, named by
    its ``prompt_id``, or by the text itself in a column ``text`` or ``prompt``.

    path: Parquet (``.parquet``, the vector a list of numbers), JSON Lines, or CSV whose vectors are JSON
        lists.
    image, vector: Its columns; found by their usual names when None.
    name: What messages call the file.

    Notes say which rows have no vector, no name, or a vector that is not finite or all 0; these are left out.

    Raises MetadataError: The file cannot be read or lacks a column, a vector is no list of numbers, or two
        differ in length.
    """
    path, name = Path(path), name or str(path)
    if path.suffix.lower() in _OTHERS:
        raise MetadataError(
            f"{name}: must be Parquet, JSON Lines or CSV, found {path.suffix}; write a table with a column "
            "image and a column vector"
        )
    is_parquet = path.suffix.lower() == ".parquet"
    found = _parquet(path, name) if is_parquet else read_rows(path, name=name)
    images = _column(found, image, (*IMAGE_COLUMNS, _HASH), "image")
    vectors = _column(found, vector, _VECTOR, "vector")
    return _read(found, images, vectors, "row" if is_parquet else "line")


def _parquet(path: Path, name: str) -> RowFile:
    try:
        data = read_whole(path, _MOST_BYTES)
        frame = pl.read_parquet(io.BytesIO(data))
    except OSError as error:
        raise MetadataError(f"{name}: cannot be read ({error.strerror}); check the path") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        found = " ".join(str(error).split())
        raise MetadataError(f"{name}: is no Parquet file ({found}); write it anew") from error
    rows = [Row(name, at, values) for at, values in enumerate(frame.iter_rows(named=True), start=1)]
    if not rows:
        raise MetadataError(f"{name}: must have at least one row, found none; add the rows")
    return RowFile(name, tuple(frame.columns), tuple(rows), data=data)


def _column(found: RowFile, given: str | None, usual: Sequence[str], option: str) -> str:
    what = "the picture" if option == "image" else "the vector"
    there = ", ".join(map(repr, found.columns)) or "none"
    if given is not None and given not in found.columns:
        hint = did_you_mean(given, found.columns, otherwise=f"there are {there}")
        raise MetadataError(f"{found.file}: no column {given!r} ({what}); {hint}")
    by_plain = {column.strip().casefold(): column for column in reversed(found.columns)}
    column = given or next((by_plain[name] for name in usual if name in by_plain), None)
    if column is None:
        raise MetadataError(
            f"{found.file}: a column must give {what} ({', '.join(usual)}), found {there}; rename one, or "
            f"name it with `{option}:`"
        )
    return column


def _read(found: RowFile, image: str, vector: str, place: str) -> EmbeddingFile:
    texts = [column for column in _TEXT if column in found.columns and column not in (image, vector)]
    images: list[tuple[int, str, Vector]] = []
    named: list[tuple[int, str, Vector]] = []
    odd: dict[str, list[int]] = {}
    first: tuple[int, int] | None = None
    for row in found.rows:
        where = f"{found.file}: {place} {row.line}"
        numbers = _numbers(row.values.get(vector), where)
        called = _text(row.values.get(image))
        text = next(filter(None, (_text(row.values.get(column)) for column in texts)), None)
        if numbers is None:
            odd.setdefault("without a vector", []).append(row.line)
            continue
        first = first or (len(numbers), row.line)
        if len(numbers) != first[0]:
            raise MetadataError(
                f"{where}: vectors must have one length, found {len(numbers)} numbers and {first[0]} in "
                f"{place} {first[1]}; keep those of one encoder"
            )
        unit = unit_vector(numbers)
        if unit is None:
            odd.setdefault("whose vector is not finite or all 0", []).append(row.line)
        elif called is not None:
            images.append((row.line, called, unit))
        elif text is not None:
            named.append((row.line, text, unit))
        else:
            odd.setdefault("that name neither a picture nor a prompt", []).append(row.line)
    notes = tuple(
        f"{found.file}: {len(at)} {'row' if len(at) == 1 else 'rows'} {places(at, place)} {why} left out"
        for why, at in odd.items()
    )
    by_hash = image.strip().casefold() == _HASH
    return EmbeddingFile(images, named, notes, image, by_hash, place, found.data)


def _numbers(value: Any, where: str) -> Numbers | None:
    if isinstance(value, str) and value.lstrip().startswith("["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, list) or not value or not all(map(_is_number, value)):
        found = type(value).__name__ if not isinstance(value, list) else "a list of something else"
        found = "an empty list" if value == [] else found
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


def _is_number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, list | dict):
        return None
    return str(value).strip() or None
