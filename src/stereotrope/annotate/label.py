"""What an annotator says, and the two kinds of annotator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import polars as pl

from stereotrope.annotate.picture import Picture
from stereotrope.tables import LABELS, polars_types

__all__ = [
    "Attributes",
    "Label",
    "PictureAnnotator",
    "Status",
    "TableAnnotator",
    "labels_frame",
]

Status = Literal["ok", "unclear", "refused", "invalid"]
Attributes = Mapping[str, tuple[str, ...] | None]
"""Attribute → its value list, or None where any value may come."""

_TYPES = polars_types(LABELS)


@dataclass(frozen=True)
class Label:
    """One thing an annotator said of one picture.

    Attributes
    ----------
    attribute
        What was looked at.
    value
        What was seen; None unless ``status`` is ``ok``.
    confidence
        In [0, 1], None where the annotator gives none.
    status
        ``ok``, ``unclear`` (looked and cannot say), ``refused`` or ``invalid``.
    rationale
        In the annotator's words, or the reason of a status that is not ``ok``. Never markup, never run.
    region
        Box as JSON ``[x0, y0, x1, y1]`` in upright pixels, None for the whole picture.
    """

    attribute: str
    value: str | None
    confidence: float | None = None
    status: Status = "ok"
    rationale: str | None = None
    region: str | None = None

    def __post_init__(self) -> None:
        if (self.value is None) == (self.status == "ok"):
            raise ValueError(
                f"label of {self.attribute!r}: a value belongs to status 'ok' and to no other; "
                f"found value {self.value!r} with status {self.status!r}"
            )


@runtime_checkable
class PictureAnnotator(Protocol):
    """An instrument that looks at one picture at a time and at nothing else.

    It never sees a prompt, a generator or a factor. ``fingerprint`` changes with everything that can
    change a label; ``setup`` is called once before the first ``process`` and may be slow; ``process``
    is safe to call from ``concurrency`` threads at once.
    """

    @property
    def name(self) -> str:
        """Name in the ``annotator`` column."""

    @property
    def fingerprint(self) -> str:
        """Short hash of everything that can change a label."""

    @property
    def attributes(self) -> Attributes:
        """What it labels."""

    @property
    def concurrency(self) -> int:
        """How many threads may call ``process`` at once."""

    def setup(self) -> None:
        """Load what is slow to load."""

    def process(self, picture: Picture) -> list[Label]:
        """Label one picture."""


@runtime_checkable
class TableAnnotator(Protocol):
    """Derives labels from tables: no picture is read, no model is asked.

    Its labels are made anew whenever a run is measured. ``needs`` names the attributes whose labels it
    reads.
    """

    @property
    def name(self) -> str:
        """Name in the ``annotator`` column."""

    @property
    def fingerprint(self) -> str:
        """Short hash of everything that can change a label."""

    @property
    def attributes(self) -> Attributes:
        """What it labels."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Attributes that other annotators must have labelled before."""

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return a frame with the columns of :data:`stereotrope.tables.LABELS`.

        ``images`` also has the factors of the prompts, each in a column, and their ``text``.
        """


def labels_frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Frame of labels from dictionaries; columns not given are null."""
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in _TYPES}, schema=_TYPES)
