"""What there is to measure: one entry a measure, for the command line, the report and the docs.

Bounds and direction are data here, so that figures and prose cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import polars as pl

from stereotrope.measure.agreement import agreement
from stereotrope.measure.average import average
from stereotrope.measure.default_rank import default_rank
from stereotrope.measure.dominance import deterministic_share, dominance_shift
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
        MeasureInfo(
            "deterministic_share",
            deterministic_share,
            "Share of condition × attribute cells in which every image shows the same value.",
            "objects",
            (0.0, 1.0),
            "higher: more of the design has one look only",
            "SODA, deterministic cases",
            "labels",
            also=("dominant_share",),
        ),
        MeasureInfo(
            "dominance_shift",
            dominance_shift,
            "Whether one value dominates the baseline and another one the group.",
            "objects",
            (0.0, 1.0),
            "1: the dominant value changes with the group; 0: it does not",
            "SODA, dominance shifts",
            "labels",
        ),
        MeasureInfo(
            "default_rank",
            default_rank,
            "Groups ranked by how near their pictures are to the prompt without a cue.",
            "objects",
            (-1.0, None),
            "rank 1: nearest to the baseline, the implicit default; agreement 1: same ranking everywhere",
            "SODA, section 5.1",
            "estimates",
            also=("default_rank_agreement",),
        ),
        MeasureInfo(
            "average",
            average,
            "Mean of any score over the levels of a factor, missing ones counted and never 0.",
            "general",
            (None, None),
            "as the score that is averaged",
            "SODA, Table 2",
            "estimates",
        ),
        MeasureInfo(
            "agreement",
            agreement,
            "Accuracy and Cohen's κ of an annotator against a reference.",
            "general",
            (-1.0, 1.0),
            "1: full agreement; κ 0: no more than chance",
            "Cohen 1960; Wilson 1927",
            "labels",
        ),
    )


REGISTRY: Mapping[str, MeasureInfo] = MappingProxyType({m.name: m for m in _entries()})
"""Every public measure by its name."""
