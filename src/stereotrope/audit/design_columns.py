"""What a file made elsewhere says of the design: no labels, and perhaps prompts that nobody asks for."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate import Annotator
from stereotrope.generate import METADATA_NAMES
from stereotrope.tables import factors_of

_ONE = ("name_from", "prompt", "negative", "seed", "file")
"""Keys of a generator's entry that name a column each."""


def leave_design(annotators: Sequence[Annotator], generators: Sequence[Any], base: Path) -> None:
    """Let an annotator from the very file of a generator take none of the design's columns for labels.

    Where that file is of one model, its labels are of the pictures of that one: others may have one name.
    """
    for annotator in annotators:
        if annotator.path is None:
            continue
        file = annotator.path.resolve()
        listing = [each for each in generators if isinstance(each, Mapping) and file in _files_of(each, base)]
        alone = len(listing) == 1 and listing[0].get("name_from") is None
        for entry in listing:
            annotator.leave_out(set(_columns_of(entry)), _name_of(entry, base) if alone else None)


def tell_design(annotators: Sequence[Annotator], prompts: pl.DataFrame) -> None:
    """Let annotators from files know which prompts there are: a row of another one lacks no image."""
    levels = {name: set(prompts[name].drop_nulls()) for name in factors_of(prompts.columns)}
    texts = set(prompts["text"].drop_nulls())
    for annotator in annotators:
        annotator.tell_design({**levels, "text": texts, "prompt": texts | levels.get("prompt", set())})


def _name_of(entry: Mapping[str, Any], base: Path) -> str:
    """Name of the model that an entry is of."""
    if entry.get("name") is not None:
        return str(entry["name"])
    if "labels" in entry:
        return Path(str(entry["labels"])).stem
    return (base / str(entry["folder"])).resolve().name


def _files_of(entry: Mapping[str, Any], base: Path) -> list[Path]:
    """The files that may list the pictures of a generator."""
    if isinstance(entry.get("labels"), str):
        return [(base / str(entry["labels"])).resolve()]
    if not isinstance(entry.get("folder"), str):
        return []
    folder, given = base / str(entry["folder"]), entry.get("metadata")
    if not isinstance(given, str):
        return [(folder / name).resolve() for name in METADATA_NAMES]
    there = [path for path in (folder / given, base / given) if path.is_file()]
    return [path.resolve() for path in there[:1]]


def _columns_of(entry: Mapping[str, Any]) -> Iterator[str]:
    yield from (str(entry[key]) for key in _ONE if entry.get(key) is not None)
    factors = entry.get("factors") or ()
    yield from map(str, factors.values() if isinstance(factors, Mapping) else factors)
