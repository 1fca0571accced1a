"""What a measure is: a function from a frame to estimates, with all that others must know of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import polars as pl

from stereotrope.plugins import Registry
from stereotrope.tables import AVERAGE, DELTA, WITHOUT_VIOLATIONS, Band

__all__ = ["REGISTRY", "Bounds", "MeasureInfo", "bounds_of", "register"]

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class MeasureInfo:
    """One measure and what a reader of its numbers must know."""

    name: str
    function: Callable[..., pl.DataFrame]
    summary: str
    suite: str
    """The suite whose paper it is from, or ``general``."""
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


REGISTRY: Registry[MeasureInfo] = Registry("measures", "stereotrope.measure")
"""Every measure by its name."""

Function = TypeVar("Function", bound=Callable[..., pl.DataFrame])


def register(**facts: Any) -> Callable[[Function], Function]:
    """Register a function as the measure of its name; ``facts`` are fields of :class:`MeasureInfo`."""

    def registered(function: Function) -> Function:
        REGISTRY.add(function.__name__, MeasureInfo(function.__name__, function, **facts))
        return function

    return registered


def bounds_of(row: str, definition: str | None = None) -> Bounds:
    """Least and greatest value of the rows of this name; None where there is none, or the name is not known.

    Examples
    --------
    >>> bounds_of("bds_without_violations_average"), bounds_of("share_difference"), bounds_of("cbs_delta")
    ((0.0, 1.0), (-1.0, 1.0), (-1.0, 1.0))
    """
    if row.endswith(DELTA):
        low, high = bounds_of(row.removesuffix(DELTA), definition)
        return (None, None) if low is None or high is None else (low - high, high - low)
    name = row.removesuffix(AVERAGE).removesuffix(WITHOUT_VIOLATIONS)
    info = _measure_of(name)
    if info is None:
        return None, None
    return info.own_bounds.get(name, info.own_bounds.get(definition or "", info.bounds))


@functools.cache
def _measure_of(row: str) -> MeasureInfo | None:
    """The measure that gives rows of a name."""
    return next((m for m in REGISTRY.values() if row in (m.name, *m.also, *m.own_bounds)), None)
