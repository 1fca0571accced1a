"""A measure with the arguments that an audit calls it with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stereotrope import measure
from stereotrope.audit.captions import CaptionReader

__all__ = ["AFTER_ESTIMATES", "GENERATOR", "PAPER", "MeasureCall"]

GENERATOR = "generator"
AFTER_ESTIMATES = "estimates"
PAPER = "paper"
READ_BESIDE = {("change", "vac"): ("vac_chao_shen",)}
"""Rows that a measure reads together with those of the measure it is of."""


@dataclass(frozen=True)
class MeasureCall:
    """A measure and the arguments an audit calls it with."""

    name: str
    arguments: Mapping[str, Any]
    on: str | None = None
    """The measure whose estimates it reads, where it reads estimates."""
    definition: str | None = None
    """Which definition of that measure, where there are several; the paper's when None."""
    reader: CaptionReader | None = None
    """Who reads the captions, where it is a measure of captions."""
    among: tuple[str, ...] = ()
    """Names of the rows it reads, where it reads those of several measures."""

    @property
    def needs(self) -> str:
        """``labels``, ``constraints``, ``images``, ``estimates`` or ``captions``."""
        return measure.REGISTRY[self.name].needs

    def with_taxonomy(self, taxonomy: pl.DataFrame) -> MeasureCall:
        """Take value lists that differ between parts of the design instead of those of the plan."""
        if "taxonomy" not in self.arguments:
            return self
        return replace(self, arguments={**self.arguments, "taxonomy": taxonomy})

    def __call__(self, data: pl.DataFrame) -> pl.DataFrame:
        """Compute the estimates."""
        if self.reader is not None:
            return self.reader.rows(self.name, data, self.arguments)
        if self.among:
            return _read_several(self.name, data, self.arguments, self.among, self.definition)
        if self.on is not None:
            beside = READ_BESIDE.get((self.name, self.on), ())
            data = data.filter(pl.col("measure").is_in([self.on, *beside]))
            if data["definition"].n_unique() > 1:
                data = data.filter(pl.col("definition") == (self.definition or PAPER))
        result: pl.DataFrame = measure.REGISTRY[self.name].function(data, **self.arguments)
        return result


def _read_several(
    name: str,
    estimates: pl.DataFrame,
    arguments: Mapping[str, Any],
    among: Sequence[str],
    definition: str | None,
) -> pl.DataFrame:
    """The estimates of such a measure: those of each definition by themselves, never mixed."""
    read = estimates.filter(pl.col("measure").is_in(list(among)))
    if definition is not None:
        read = read.filter(pl.col("definition") == definition)
    made = []
    for one in read["definition"].unique(maintain_order=True):
        part = read.filter(pl.col("definition") == one)
        own = dict(arguments)
        if own.get("axes") is not None and own["prompt"] in part.columns:
            there = set(part[own["prompt"]])
            own["axes"] = [axis for axis in own["axes"] if axis in there]
        made.append(measure.REGISTRY[name].function(part, **own))
    return pl.concat(made, how="diagonal") if made else measure.estimate_frame([], factors=(GENERATOR,))
