"""One file that lists pictures and labels them: what it says of the design is no label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from stereotrope.annotate import ImportedLabels
from stereotrope.generate import METADATA_NAMES

__all__ = ["leave_design"]

_ONE = ("name_from", "prompt", "negative", "seed", "file")
"""Keys of a generator's entry that name a column each."""


def leave_design(annotators: Sequence[Any], generators: Sequence[Any], base: Path) -> None:
    """Let an annotator from the very file of a generator take none of the design's columns for labels.

    Where that file is of one model, its labels are of the pictures of that one: others may have one name.
    """
    for annotator in annotators:
        if not isinstance(annotator, ImportedLabels):
            continue
        listing = [
            entry
            for entry in generators
            if isinstance(entry, Mapping) and annotator.path.resolve() in _files_of(entry, base)
        ]
        for entry in listing:
            annotator.leave_out(set(_columns_of(entry)))
        if len(listing) == 1 and listing[0].get("name_from") is None:
            annotator.only = _name_of(listing[0], base)


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
    names = [entry["metadata"]] if isinstance(entry.get("metadata"), str) else METADATA_NAMES
    return [(base / str(entry["folder"]) / str(name)).resolve() for name in names]


def _columns_of(entry: Mapping[str, Any]) -> Iterator[str]:
    yield from (str(entry[key]) for key in _ONE if entry.get(key) is not None)
    factors = entry.get("factors") or ()
    yield from map(str, factors.values() if isinstance(factors, Mapping) else factors)
