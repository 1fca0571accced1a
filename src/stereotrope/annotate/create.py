"""From a line of an audit file to an annotator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from stereotrope.annotate.blank import BlankAnnotator
from stereotrope.annotate.colour import ColourAnnotator
from stereotrope.annotate.duplicates import DuplicatesAnnotator
from stereotrope.annotate.imported import ImportedLabels
from stereotrope.annotate.label import PictureAnnotator, TableAnnotator
from stereotrope.annotate.text import TextAnnotator
from stereotrope.errors import UsageError

__all__ = ["KINDS", "create"]

_MAKERS: Mapping[str, Callable[[], PictureAnnotator]] = {
    "blank": BlankAnnotator,
    "colour": ColourAnnotator,
    "duplicates": DuplicatesAnnotator,
    "text": TextAnnotator,
}
KINDS: Mapping[str, str] = {
    "blank": "is the picture blank, or near one colour",
    "colour": "product colour and background colour, named on a documented palette",
    "duplicates": "exact and near duplicates",
    "text": "text on the product and on the background, by OCR",
    "labels": "labels made elsewhere, from a CSV or JSONL file",
}
"""Name → what it looks at, one line."""
_LABELS_KEYS = ("labels", "name", "key", "attributes", "layout")


def create(
    spec: str | Mapping[str, Any], *, relative_to: Path | str | None = None
) -> PictureAnnotator | TableAnnotator:
    """Make an annotator.

    Parameters
    ----------
    spec
        A name (``"colour"``, ``"text"``, ``"blank"``, ``"duplicates"``), or a mapping for labels made
        elsewhere: ``{"labels": "human.csv", "name": "rater-1", "key": …, "attributes": […], "layout": …}``
        (see :class:`ImportedLabels`).
    relative_to
        Folder that relative paths start from; the working directory when None.

    Raises
    ------
    UsageError
        The name or a key is unknown; the nearest known one is named.
    MetadataError
        The file of labels cannot be used.
    """
    if isinstance(spec, Mapping):
        return _imported(spec, relative_to)
    if spec in _MAKERS:
        return _MAKERS[spec]()
    hint = "write {labels: FILE, name: NAME}" if spec == "labels" else _hint(spec, KINDS)
    raise UsageError(f"annotator {spec!r}: no such annotator; {hint}")


def _imported(spec: Mapping[str, Any], relative_to: Path | str | None) -> ImportedLabels:
    for key in spec:
        if key not in _LABELS_KEYS:
            raise UsageError(f"annotator: unknown key {key!r}; {_hint(str(key), _LABELS_KEYS)}")
    for key in ("labels", "name"):
        if not isinstance(spec.get(key), str) or not spec[key]:
            raise UsageError(
                f"annotator: {key!r} must be given as text, found {spec.get(key)!r}; "
                "write {labels: human.csv, name: rater-1}"
            )
    for key in ("key", "layout"):
        if not isinstance(spec.get(key), str | None):
            raise UsageError(f"annotator {spec['name']!r}: {key!r} must be a text, found {spec[key]!r}")
    attributes = spec.get("attributes")
    listed = isinstance(attributes, Sequence) and not isinstance(attributes, str)
    if attributes is not None and not (listed and attributes and all(isinstance(a, str) for a in attributes)):
        raise UsageError(
            f"annotator {spec['name']!r}: 'attributes' must be a list of names, found {attributes!r}"
        )
    return ImportedLabels(
        spec["labels"],
        name=spec["name"],
        key=spec.get("key"),
        attributes=attributes,
        layout=spec.get("layout"),
        folder=relative_to,
    )


def _hint(found: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    close = get_close_matches(found.lower(), known, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(known)}"
