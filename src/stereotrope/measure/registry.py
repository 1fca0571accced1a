"""What there is to measure: one entry a measure, for the command line, the report and the docs.

Bounds and direction are data here, so that figures and prose cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import polars as pl

from stereotrope.measure.refusal_rate import refusal_rate
from stereotrope.measure.share import female_ratio, share
from stereotrope.measure.share_difference import share_difference

__all__ = ["REGISTRY", "MeasureInfo"]

Suite = Literal["objects", "everyday", "general"]


@dataclass(frozen=True)
class MeasureInfo:
    """One measure and what a reader of its numbers must know."""

    name: str
    function: Callable[..., pl.DataFrame]
    summary: str
    suite: Suite
    bounds: tuple[float | None, float | None]
    """Least and greatest possible ``value``; None where there is none."""
    direction: str
    source: str
    needs: Literal["labels", "images", "estimates"]
    also: tuple[str, ...] = ()
    """Further names that its rows carry in the column ``measure``."""


def _entries() -> tuple[MeasureInfo, ...]:
    return (
        MeasureInfo(
            "share",
            share,
            "How often each value of an attribute is seen.",
            "general",
            (0.0, 1.0),
            "higher: seen more often",
            "Wilson 1927; Goodman 1965",
            "labels",
        ),
        MeasureInfo(
            "share_difference",
            share_difference,
            "How much more often a value is seen for a group than for the reference.",
            "general",
            (-1.0, 1.0),
            "above 0: seen more often for the group; below 0: less often",
            "Newcombe 1998, method 10; Fisher 1934",
            "labels",
        ),
        MeasureInfo(
            "female_ratio",
            female_ratio,
            "Share labelled female among figures labelled female or male.",
            "everyday",
            (0.0, 1.0),
            "0.5: both equally often; 1: only figures labelled female",
            "everyday gender, R_f",
            "labels",
        ),
        MeasureInfo(
            "refusal_rate",
            refusal_rate,
            "How often the generator refuses to draw, and whether that depends on the group.",
            "objects",
            (0.0, 1.0),
            "higher: refuses more often",
            "spec/06 §11; Wilson 1927",
            "images",
            also=("refusal_rate_difference",),
        ),
    )


REGISTRY: Mapping[str, MeasureInfo] = MappingProxyType({m.name: m for m in _entries()})
"""Every public measure by its name."""
