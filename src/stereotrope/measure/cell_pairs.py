"""Cells that are compared with each other, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl

from stereotrope.measure.cell_reading import exclusions_of
from stereotrope.measure.cell_table import CellTable
from stereotrope.measure.cells import Key, reference_of
from stereotrope.measure.units import FEWEST_PROMPTS

_PAIR, _CELL = "pair", "cell"


@dataclass(frozen=True)
class CellPairs:
    """Comparisons of two cells of one attribute, a row each.

    cell, other: The number of the cell, and of the one that it is compared with, null where there is none.
    name: The level of the other.
    """

    table: CellTable
    cell: pl.Series
    other: pl.Series
    name: pl.Series

    @cached_property
    def sides(self) -> pl.DataFrame:
        """What the table says of the cell, and under names that end in ``_other`` of the other."""
        one, other = (self.table.cells.select(pl.all().gather(side)) for side in (self.cell, self.other))
        return pl.concat([one, other.select(pl.all().name.suffix("_other"))], how="horizontal")

    def left_out(self) -> pl.DataFrame:
        """``n_excluded`` and JSON ``excluded`` of both sides together."""
        sides = (
            pl.DataFrame({_CELL: side}).with_row_index(_PAIR).join(self.table.left_out, on=_CELL)
            for side in (self.cell, self.other)
        )
        reasons = pl.concat(sides).group_by(_PAIR, "excluded").agg(pl.col("n").sum())
        told = exclusions_of(reasons.sort(_PAIR, "excluded"), _PAIR)
        every = pl.DataFrame({_PAIR: np.arange(len(self.cell), dtype=np.uint32)})
        found = every.join(told, on=_PAIR, how="left", maintain_order="left")
        return found.select(pl.col("n_excluded").fill_null(0), "excluded")

    def shown(self) -> pl.DataFrame:
        """``pair, category``: every value that one of both sides shows, sorted; null where none shows any."""
        sides = [
            pl.DataFrame({_CELL: side})
            .with_row_index(_PAIR)
            .join(self.table.values, on=_CELL)
            .select(_PAIR, category="value")
            for side in (self.cell, self.other)
        ]
        every = pl.DataFrame({_PAIR: np.arange(len(self.cell), dtype=np.uint32)})
        values = pl.concat(sides).unique().sort(_PAIR, "category")
        return every.join(values, on=_PAIR, how="left", maintain_order="left_right")

    def claims(self) -> pl.DataFrame:
        """What each speaks of, of those with an other: see :func:`stereotrope.measure.units.claim_of`.

        Columns: ``prompts, clustered, unknown, matched``; a comparison without an other claims nothing.
        """
        enough = pl.min_horizontal("n_prompts", "n_prompts_other") >= FEWEST_PROMPTS
        told = self.sides.select(
            prompts=(enough & pl.col("n_other").is_not_null()).fill_null(False),
            dependent=(pl.col("dependent") | pl.col("dependent_other")).fill_null(False),
            unknown=(pl.col("unknown") | pl.col("unknown_other")).fill_null(False),
        )
        asked = told.select((pl.col("prompts") & ~pl.col("unknown")).arg_true()).to_series()
        matched = np.zeros(told.height, bool)
        matched[asked.to_numpy()] = self.table.alike(self.cell[asked], self.other[asked])
        return told.select(
            "prompts",
            "unknown",
            clustered=pl.col("prompts") & pl.col("dependent"),
            matched=pl.Series(matched),
        )


def with_baseline(table: CellTable, baseline: str, n_within: int) -> CellPairs:
    """Every cell but those of the baseline, which is a level of the last factor, with its baseline's.

    n_within: How many factors, the first ones, are held equal: see
        :func:`stereotrope.measure.cells.reference_of`.
    """
    keys, attributes = table.levels.rows(), table.cells["attribute"].to_list()
    references: dict[str, dict[Key, int]] = {}
    for at, (key, attribute) in enumerate(zip(keys, attributes, strict=True)):
        if key[-1] == baseline:
            references.setdefault(attribute, {})[key[:n_within]] = at
    cells = [at for at, key in enumerate(keys) if key[-1] != baseline]
    others = [reference_of(keys[at][:n_within], references.get(attributes[at], {})) for at in cells]
    return _pairs(table, cells, others, pl.repeat(baseline, len(cells), dtype=pl.String, eager=True))


def of_two_levels(table: CellTable, but: str | None) -> CellPairs:
    """Every two cells that differ in the last factor alone, but those of the level ``but``."""
    together: dict[tuple[str, Key], list[int]] = {}
    for at, (key, attribute) in enumerate(zip(table.levels.rows(), table.cells["attribute"], strict=True)):
        if but is None or key[-1] != but:
            together.setdefault((attribute, key[:-1]), []).append(at)
    pairs = [pair for members in together.values() for pair in combinations(members, 2)]
    cells, others = zip(*pairs, strict=True) if pairs else ((), ())
    return _pairs(table, cells, others, table.levels.to_series(-1).gather(list(others)))


def all_of(parts: Sequence[CellPairs]) -> CellPairs:
    """Several lists of comparisons of one table as one."""
    joined = (pl.concat([getattr(part, name) for part in parts]) for name in ("cell", "other", "name"))
    return CellPairs(parts[0].table, *joined)


def _pairs(
    table: CellTable, cells: Sequence[int], others: Sequence[int | None], names: pl.Series
) -> CellPairs:
    return CellPairs(
        table, pl.Series(cells, dtype=pl.UInt32), pl.Series(others, dtype=pl.UInt32), names.alias("name")
    )
