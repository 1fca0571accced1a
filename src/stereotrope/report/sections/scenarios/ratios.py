"""Ratios by scenario as a run stores them, and what else is stored of the same."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from stereotrope.report.datatable import pairs_of
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.numbers import count
from stereotrope.report.panels import Figure
from stereotrope.report.prose import MeasureProse, listing
from stereotrope.report.series import Estimate

RATIO = "female_ratio"
SCENARIO = "scenario"
MEAN = "mean_ratio"
LEAST_KEPT = 0.5
"""Part of its pictures that a scenario must have a definite label of to be drawn, as in the measures."""
ALL_MODELS = "all models"
_BASIS = ("definition", "attribute", "category", "annotator")


def only(material: Material, frame: pl.DataFrame) -> Material:
    """The same run with these estimates alone."""
    part = copy.copy(material)
    part.__dict__.pop("scores", None)
    part.estimates = frame
    return part


@dataclass(frozen=True)
class RatioCell:
    """Scenarios of one model and group.

    shown: Those with a definite label of enough pictures.
    left_out: How many others there are, by reason.
    """

    model: str
    group: str
    shown: pl.DataFrame
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class Ratios:
    """Ratios by scenario of one attribute, definition and annotator.

    basis: What these are.
    groups: Factors that a scenario has one level of, such as the kind of prompt.
    rows: An estimate a scenario, model and group.
    """

    material: Material
    basis: Mapping[str, Any]
    groups: Sequence[str]
    rows: pl.DataFrame
    several: bool = False

    @classmethod
    def of(cls, material: Material) -> list["Ratios"]:
        """The ratios by scenario of a run; empty where it has none."""
        scores = material.scores
        if SCENARIO not in scores.columns or SCENARIO not in material.factors:
            return []
        named = pl.col(SCENARIO).is_not_null()
        rows = scores.filter(named, measure=RATIO)
        factors = [c for c in material.factors if c in rows.columns and c != SCENARIO and rows[c].count()]
        of_scenario = material.prompts.group_by(SCENARIO).agg(pl.col(factors).n_unique()).drop(SCENARIO)
        groups = [c for c in factors if of_scenario[c].max() == 1]
        rows = rows.filter(named, *(pl.col(c).is_null() for c in factors if c not in groups))
        told = pl.sum_horizontal(pl.col(c).is_not_null() for c in groups) if groups else pl.lit(0)
        rows = rows.filter(told == told.max()) if groups else rows
        groups = [c for c in groups if rows[c].count()]
        by = [c for c in _BASIS if c in rows.columns]
        parts = rows.partition_by(by, maintain_order=True) if rows.height else []
        bases = [dict(zip(by, part.select(by).row(0), strict=True)) for part in parts]
        return [cls(material, b, groups, part, len(parts) > 1) for b, part in zip(bases, parts, strict=True)]

    @property
    def named(self) -> str:
        """What tells these ratios from others of the run, in brackets."""
        known = [words(str(v)) for c, v in self.basis.items() if c != "category" and v is not None]
        return f" ({', '.join(known)})" if self.several else ""

    @property
    def prose(self) -> MeasureProse:
        """The words of the ratio."""
        return self.material.explain(RATIO, self.basis["definition"])

    @cached_property
    def models(self) -> list[str]:
        """The models that have a row, in the order of the run."""
        found = self.rows["generator"].unique().to_list() if "generator" in self.rows.columns else [None]
        ordered = sorted(found, key=lambda m: self.material.position("generator", m))
        return [ALL_MODELS if m is None else str(m) for m in ordered]

    @cached_property
    def cells(self) -> list[RatioCell]:
        """Every model in every group, in the order of the design."""
        by = ["generator"] * ("generator" in self.rows.columns)
        parts = self.material.parts(self.rows, [*self.groups, *by])
        return [self._cell(rows) for rows in parts.values()]

    def _cell(self, rows: pl.DataFrame) -> RatioCell:
        first = rows.row(0, named=True)
        enough = pl.col("n") >= LEAST_KEPT * (pl.col("n") + pl.col("n_excluded").fill_null(0))
        defined = rows.filter(pl.col("value").is_not_null())
        shown = defined.filter(enough)
        few = f"a definite label of less than {LEAST_KEPT:.0%} of the pictures"
        left = {"no ratio": rows.height - defined.height, few: defined.height - shown.height}
        return RatioCell(
            self.model_of(first), self.group_of(first), shown, {k: n for k, n in left.items() if n}
        )

    def model_of(self, row: Estimate) -> str:
        """The model that an estimate is of."""
        return str(row.get("generator") or ALL_MODELS)

    def group_of(self, row: Estimate) -> str:
        """The group that an estimate is of, empty where there are none."""
        return " · ".join(level_words(c, row[c]) for c in self.groups if row.get(c) is not None)

    @cached_property
    def group_names(self) -> list[str]:
        """The groups in the order of the design."""
        return list(dict.fromkeys(cell.group for cell in self.cells))

    def stored(self, *measures: str, by: Sequence[str] = ()) -> pl.DataFrame:
        """What is stored of other measures on these ratios, by model, group and the factors ``by`` alone."""
        alike = [c for c in ("attribute", "annotator") if c in self.basis]
        known = ("generator", *self.groups, *by)
        others = [c for c in self.material.factors if c in self.material.scores.columns and c not in known]
        return self.material.scores.filter(
            pl.col("measure").is_in(measures),
            *(pl.col(c).eq_missing(pl.lit(self.basis[c])) for c in alike),
            *(pl.col(c).is_null() for c in others),
        )

    @cached_property
    def means(self) -> dict[tuple[str, str], Estimate]:
        """The mean ratio of each model and group, where it is stored."""
        rows = self.stored(MEAN).iter_rows(named=True)
        return {(self.model_of(row), self.group_of(row)): row for row in rows}

    def mean_in(self, cell: RatioCell) -> Estimate:
        """The mean ratio of a cell as stored, else that of what is drawn: a description without interval."""
        plain = cell.shown["value"].mean()
        bare = {"value": plain, "low": None, "high": None, "n": cell.shown.height, "undefined": "no ratio"}
        return self.means.get((cell.model, cell.group), bare)

    def part_of(self, row: Estimate) -> str:
        """Which part of the scenarios an estimate is of: its category without the value that is counted."""
        return str(row["category"] or "").removeprefix(f"{self.basis['category']}: ")

    def by_place(self, rows: pl.DataFrame) -> Iterator[tuple[str, list[Estimate]]]:
        """Estimates of each group, in the order of the design."""
        for _, part in self.material.parts(rows, [c for c in self.groups if c in rows.columns]).items():
            of: list[Estimate] = list(part.iter_rows(named=True))
            of.sort(key=lambda r: self.material.position("generator", r.get("generator")))
            yield self.group_of(of[0]), of


@dataclass(frozen=True)
class ScenarioLine:
    """Figures of the section behind one line, and the estimates that they show."""

    title: str
    figures: Sequence[Figure]
    shows: pl.DataFrame


def reasons(left_out: Mapping[str, int]) -> str:
    """How many scenarios are left out and why: ``3 left out (no ratio)``."""
    if not left_out:
        return "none left out"
    told = listing([why if len(left_out) == 1 else f"{n} {why}" for why, n in left_out.items()])
    return f"{count(sum(left_out.values()), 'scenario')} left out ({told})"


def counted_out(row: Estimate) -> dict[str, int]:
    """How many an estimate leaves out, by reason."""
    told = pairs_of(row["excluded"] or "{}") or {}
    return {why: n for why, n in told.items() if isinstance(n, int) and n}
