"""What the registry says of a measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from stereotrope.tables import Band

__all__ = ["Bounds", "MeasureInfo", "Suite"]

Suite = Literal["objects", "biasbench", "everyday", "general"]

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class MeasureInfo:
    """One measure and what a reader of its numbers must know."""

    name: str
    function: Callable[..., pl.DataFrame]
    summary: str
    suite: Suite
    bounds: Bounds
    """Least and greatest possible ``value``; None where there is none."""
    direction: str
    source: str
    needs: Literal["labels", "images", "estimates", "constraints", "captions", "embeddings"]
    """What it reads; ``constraints``: tidy labels with those of :data:`stereotrope.tables.CONSTRAINTS`;
    ``captions``: the frame of :func:`stereotrope.measure.captions.captions_frame`; ``embeddings``: that of
    :func:`stereotrope.measure.embeddings_frame`."""
    also: tuple[str, ...] = ()
    """Further names that its rows carry in the column ``measure``."""
    suffix: str = ""
    """Ends the names of its rows where these are named after the measure that they were made from."""
    reads: tuple[str, ...] = ()
    """Measures whose estimates it reads together; its rows then bear the names of ``also`` alone."""
    bands: tuple[Band, ...] = ()
    """Named ranges that ``value`` is read by, ascending; ``flags`` says which a row lies in: ``band=low``."""
    own_bounds: Mapping[str, Bounds] = field(default_factory=dict)
    """Bounds of rows of another name, or of another definition, where they differ."""
