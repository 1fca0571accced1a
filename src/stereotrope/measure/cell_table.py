"""Cells as columns: what is said of each of many thousands is computed over arrays, never cell by cell."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from stereotrope.measure.cells import MUCH_MISSING, NOT_IN_OF, SMALL_N, counted_labels, unlabelled
from stereotrope.measure.units import FEWEST_PROMPTS, LIKE_THESE, THESE_PROMPTS
from stereotrope.stats import ICC_GRID, effective_trials, icc_evidence, icc_weights
from stereotrope.stats.arrays import Floats

_CELL, _PLACE = "cell", "\0place"
"""Columns with the number of a cell, and of its combination of factors, under a name that no factor has."""


@dataclass(frozen=True)
class CellTable:
    """What :func:`stereotrope.measure.cells.read_cells` says of each cell, in its order, a row each.

    levels: The factors.
    cells: ``attribute, n, missing, n_excluded, lacks_much, clustered, holds_for, flags``, JSON ``excluded``.
    """

    levels: pl.DataFrame
    cells: pl.DataFrame
    _seen: pl.DataFrame
    """``cell, value, prompt_id, k``: how many pictures of a prompt have a value that counts."""

    def levels_of(self, cells: pl.Series) -> pl.DataFrame:
        """The factors of some cells."""
        return self.levels[cells] if self.levels.width else self.levels

    @cached_property
    def _prompts(self) -> pl.DataFrame:
        """``cell, prompt_id, n``: usable labels of each prompt, sorted."""
        totals = self._seen.group_by(_CELL, "prompt_id").agg(n=pl.col("k").sum())
        return totals.sort(_CELL, pl.col("prompt_id").fill_null(""))

    def categories(self) -> dict[str, list[str]]:
        """As :func:`stereotrope.measure.cells.categories`."""
        attribute = self.cells["attribute"].gather(self._seen[_CELL])
        totals = (
            self._seen.with_columns(attribute=attribute)
            .group_by("attribute", "value")
            .agg(k=pl.col("k").sum())
        )
        ordered = totals.sort("attribute", "k", "value", descending=[False, True, False])
        found = ordered.group_by("attribute", maintain_order=True).agg("value")
        none: dict[str, list[str]] = {
            name: [] for name in self.cells["attribute"].unique(maintain_order=True)
        }
        return none | dict(found.iter_rows())

    def count(self, cell: pl.Series, category: pl.Series) -> pl.Series:
        """How many images of each of some cells have a value."""
        totals = self._seen.group_by(_CELL, "value").agg(k=pl.col("k").sum())
        asked = pl.DataFrame({_CELL: cell.cast(pl.UInt32), "value": category})
        return asked.join(totals, on=[_CELL, "value"], how="left", maintain_order="left")["k"].fill_null(0)

    @cached_property
    def weights(self) -> tuple[pl.Series, Floats]:
        """The cells whose units are prompts, and how probable each intra-class correlation is in each.

        Correlations of cells of one attribute are alike: see :func:`stereotrope.stats.icc_weights`.
        """
        numbered = self.cells.select("attribute", "clustered").with_row_index(_CELL)
        clustered = numbered.filter("clustered")
        found = np.zeros((clustered.height, ICC_GRID.size))
        at = 0
        for part in clustered.partition_by("attribute", maintain_order=True):
            found[at : at + part.height] = self._weights_of(part.select(_CELL))
            at += part.height
        return clustered[_CELL], found

    def _weights_of(self, cells: pl.DataFrame) -> Floats:
        """Weights of cells of one attribute."""
        owner = cells.with_row_index("owner")
        seen = self._seen.join(owner, on=_CELL, how="semi")
        values = seen.select(_CELL, "value").unique(maintain_order=True)
        each = values.join(self._prompts, on=_CELL).join(
            seen, on=[_CELL, "value", "prompt_id"], how="left", nulls_equal=True
        )
        each = each.join(owner, on=_CELL).with_columns(pl.col("k").fill_null(0)).sort("owner", "value")
        lengths = each.group_by("owner", "value", maintain_order=True).agg(pl.len())
        starts = np.cumsum(lengths["len"].to_numpy()) - lengths["len"].to_numpy()
        owners = lengths["owner"].to_numpy()
        evidence = np.zeros((cells.height, ICC_GRID.size))
        np.add.at(evidence, owners, icc_evidence(each["k"].to_numpy(), each["n"].to_numpy(), starts))
        # Of K values that add up to n only K − 1 say something of their own.
        n_values = np.bincount(owners, minlength=len(evidence))
        return icc_weights((1 - 1 / n_values)[:, None] * evidence)

    def trials(self, level: float) -> Floats:
        """Images of each cell that would tell as much if they were independent (see stats.icc)."""
        found = self.cells["n"].to_numpy().astype(np.float64)
        clustered, weights = self.weights
        if len(clustered):
            sizes = self._prompts.join(clustered.to_frame(), on=_CELL, how="semi", maintain_order="left")
            lengths = sizes.group_by(_CELL, maintain_order=True).agg(pl.len())["len"].to_numpy()
            starts = np.cumsum(lengths) - lengths
            told = effective_trials(sizes["n"].to_numpy(), weights, level=level, starts=starts)
            found[clustered.to_numpy()] = told
        return found

    def n_prompts(self) -> pl.Series:
        """Prompts of each cell that have a usable label."""
        cells = self.cells.select("n").with_row_index(_CELL)
        totals = self._prompts.group_by(_CELL).agg(pl.len())
        return cells.join(totals, on=_CELL, how="left", maintain_order="left")["len"].fill_null(0)


def read_cell_table(
    data: Any,
    *,
    by: Sequence[str],
    attributes: Collection[str] | None = None,
    of: Collection[str] | None = None,
) -> CellTable:
    """Read what :func:`stereotrope.measure.cells.read_cells` reads."""
    design, by_prompt = counted_labels(data, by=by, attributes=attributes, of=of)
    placed = design.with_row_index(_PLACE)
    if by:
        rows = by_prompt.join(placed, on=list(by), nulls_equal=True, maintain_order="left")
    else:
        rows = by_prompt.with_columns(pl.lit(0, pl.UInt32).alias(_PLACE))
    rows = rows.select(_PLACE, "attribute", "value", "excluded", "prompt_id", "n")
    there = rows.select("attribute", _PLACE).unique()
    lacking = [
        placed.join(missing, on=list(by), nulls_equal=True).select(attribute=pl.lit(name), place=_PLACE)
        for name in (there["attribute"].unique() if by else ())
        if (missing := unlabelled(design, design[there.filter(attribute=name)[_PLACE]], by)).height
    ]
    there = pl.concat([there, *(one.rename({"place": _PLACE}) for one in lacking)])
    index = there.sort("attribute", _PLACE).with_row_index(_CELL)
    rows = rows.join(index, on=["attribute", _PLACE], maintain_order="left")
    counts = pl.col("excluded").is_null()
    seen = rows.filter(counts).select(_CELL, "value", "prompt_id", k="n")
    told = index.join(_usable(seen), on=_CELL, how="left", maintain_order="left")
    told = told.join(_left_out(rows.filter(~counts)), on=_CELL, how="left", maintain_order="left")
    told = told.with_columns(pl.col("n", "missing", "n_excluded").fill_null(0))
    return CellTable(design[index[_PLACE]] if by else design, told.select(_CLAIMED), seen)


_PROMPTS = pl.col("n_prompts").fill_null(0) >= FEWEST_PROMPTS
_REPEATED = _PROMPTS & pl.col("repeated").fill_null(False)
_CLAIMED = [
    "attribute",
    "n",
    "missing",
    "n_excluded",
    "excluded",
    (pl.col("missing") > MUCH_MISSING * (pl.col("n") + pl.col("missing"))).alias("lacks_much"),
    _REPEATED.alias("clustered"),
    pl.when(_PROMPTS).then(pl.lit(LIKE_THESE)).otherwise(pl.lit(THESE_PROMPTS)).alias("holds_for"),
    pl.concat_str(
        pl.when(_REPEATED).then(pl.lit("clustered")),
        pl.when(pl.col("unknown").fill_null(False)).then(pl.lit("no_prompt_id")),
        pl.when(pl.col("n") < SMALL_N).then(pl.lit("small_n")),
        separator=",",
        ignore_nulls=True,
    )
    .replace("", None)
    .alias("flags"),
]
"""What a cell claims: see :func:`stereotrope.measure.units.claim_of`."""


def _usable(seen: pl.DataFrame) -> pl.DataFrame:
    """Usable labels of each cell, and over which prompts."""
    by_prompt = seen.group_by(_CELL, "prompt_id").agg(n=pl.col("k").sum())
    known = pl.col("prompt_id").is_not_null()
    return by_prompt.group_by(_CELL).agg(
        pl.col("n").sum(),
        n_prompts=known.sum(),
        repeated=pl.col("n").max() > 1,
        unknown=(~known & (pl.col("n") > 0)).any(),
    )


def _left_out(rows: pl.DataFrame) -> pl.DataFrame:
    """Labels of each cell that do not count, and how many for which reason."""
    reasons = rows.group_by(_CELL, "excluded").agg(pl.col("n").sum()).sort(_CELL, "excluded")
    quoted = {reason: json.dumps(reason, ensure_ascii=False) for reason in reasons["excluded"].unique()}
    written = pl.col("excluded").replace_strict(quoted, return_dtype=pl.String)
    kept = pl.col("n") > 0
    return reasons.group_by(_CELL, maintain_order=True).agg(
        missing=pl.col("n").filter(~pl.col("excluded").str.starts_with(NOT_IN_OF)).sum(),
        n_excluded=pl.col("n").sum(),
        excluded=pl.when(kept.any()).then(
            pl.format("{{{}}}", pl.format("{}: {}", written, "n").filter(kept).str.join(", "))
        ),
    )
