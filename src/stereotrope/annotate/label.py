"""What an annotator says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import polars as pl

from stereotrope.inputs.columns import require_row
from stereotrope.tables import LABELS, polars_types

Status = Literal["ok", "unclear", "refused", "invalid"]
Attributes = Mapping[str, tuple[str, ...] | None]
"""Attribute → its value list, or None where any value may come."""

_TYPES = polars_types(LABELS)
_PLURALS = {"person": "people"}


@dataclass(frozen=True)
class Label:
    """One thing an annotator said of one picture.

    attribute: What was looked at.
    value: What was seen; None unless ``status`` is ``ok``.
    confidence: In [0, 1], None where the annotator gives none.
    status: ``ok``, ``unclear`` (looked and cannot say), ``refused`` or ``invalid``.
    rationale: In the annotator's words, or the reason of a status that is not ``ok``. Never markup, never
        run.
    region: Box as JSON ``[x0, y0, x1, y1]`` in upright pixels, None for the whole picture.
    """

    attribute: str
    value: str | None
    confidence: float | None = None
    status: Status = "ok"
    rationale: str | None = None
    region: str | None = None

    def __post_init__(self) -> None:
        require_row(LABELS, vars(self))
        sure = 1.0 if self.confidence is None else self.confidence
        if self.attribute is None or self.status not in get_args(Status) or not 0 <= sure <= 1:
            raise ValueError(f"status is {' or '.join(get_args(Status))}, confidence in [0, 1]; found {self}")
        if (self.value is None) == (self.status == "ok"):
            raise ValueError(
                f"label of {self.attribute!r}: a value belongs to status 'ok' and to no other; "
                f"found value {self.value!r} with status {self.status!r}"
            )


def number_of(attribute: str) -> str:
    """Attribute that says how many regions of a kind a picture has: ``n_people`` of ``person``."""
    return f"n_{_PLURALS.get(attribute, attribute)}"


def labels_frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Frame of labels from dictionaries; columns not given are null."""
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in _TYPES}, schema=_TYPES)


def image_labels(rows: pl.DataFrame, **fixed: str) -> pl.DataFrame:
    """Frame of labels of images from some of its columns and what all rows have alike: ``ok`` unless said."""
    alike = {"subject_kind": "image", "status": "ok", **fixed}
    more = [pl.lit(alike.get(name), kind).alias(name) for name, kind in _TYPES.items() if name not in rows]
    return rows.with_columns(more).select(pl.col(name).cast(kind) for name, kind in _TYPES.items())
