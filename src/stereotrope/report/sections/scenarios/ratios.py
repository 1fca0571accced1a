"""Ratios by scenario as a run stores them, and what else is stored of the same."""

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from stereotrope.report.datatable import pairs_of
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.numbers import count, thousands
from stereotrope.report.panels import MOST_PANELS, Figure, Panel, notes_of
from stereotrope.report.prose import MeasureProse, listing
from stereotrope.report.series import Estimate

MEAN = "mean_ratio"
LEAST_KEPT = 0.5
"""Part of its pictures that a scenario must have a definite label of to be drawn, as in the measures."""
_FEW = f"a definite label of less than {LEAST_KEPT:.0%} of the pictures"
ALL_MODELS = "all models"
IN_SHARES = "shares"
"""Section of the measures of shares: scores of others are no ratios, and have their own."""
_BASIS = ("definition", "attribute", "category", "annotator")


def only(material: Material, frame: pl.DataFrame) -> Material:
    """The same run with these estimates alone."""
    part = copy.copy(material)
    part.__dict__.pop("scores", None)
    part.estimates = frame
    return part


@dataclass(frozen=True)
class RatioCell:
    """Scenarios of one line and group: of a model, at a level of what crosses scenarios.

    shown: Those with a definite label of enough pictures.
    left_out: How many others there are, by reason.
    """

    line: str
    group: str
    shown: pl.DataFrame
    left_out: Mapping[str, int]


@dataclass(frozen=True)
class _Source:
    """What a run reads ratios over scenarios from: rows of one measure at the levels of one factor.

    within: The sets of factors that it reads them by, the most frequent first.
    """

    measure: str
    over: str
    within: Sequence[frozenset[str]]

    @classmethod
    def of(cls, material: Material) -> list["_Source"]:
        """Those that a measure of the run names: what it reads, and which factor tells scenarios apart."""
        found: dict[tuple[str, str], Counter[frozenset[str]]] = {}
        for call in material.info.get("measures") or []:
            on, over = call.get("on"), call.get("over")
            if isinstance(on, str) and over in material.factors and material.explain(on).section == IN_SHARES:
                among = call.get("among") or call.get("group")
                by = frozenset([*(call.get("within") or ()), *([among] if isinstance(among, str) else ())])
                by -= {"annotator"}
                found.setdefault((on, over), Counter())[by] += 1
        return [cls(*key, [by for by, _ in told.most_common()]) for key, told in found.items()]

    def rows(self, material: Material) -> tuple[list[str], pl.DataFrame]:
        """Columns that hold scenarios apart, and an estimate each: those that most measures read."""
        scores = material.scores
        if self.over not in scores.columns:
            return [], scores.clear()
        rows = scores.filter(pl.col(self.over).is_not_null(), measure=self.measure)
        columns = [c for c in ("generator", *material.factors) if c in rows.columns and c != self.over]
        there = [pl.col(c).is_not_null() for c in columns]
        found = [
            frozenset(c for c, told in zip(columns, row, strict=True) if told)
            for row in rows.select(there).unique(maintain_order=True).iter_rows()
        ]
        if not found:
            return [], rows
        known = {by: i for i, by in enumerate(self.within)}
        chosen = min(found, key=lambda by: (known.get(by, len(known)), len(by)))
        alone = [there[i] if c in chosen else ~there[i] for i, c in enumerate(columns)]
        return [c for c in columns if c in chosen], rows.filter(*alone)


@dataclass(frozen=True)
class Ratios:
    """Ratios by scenario of one attribute, definition and annotator.

    measure, over: What they are estimates of, and the factor that tells scenarios apart.
    basis: What these are; ``varies`` is what tells them from others of the run.
    groups: Factors that a scenario has one level of, such as the kind of prompt.
    crossing: Factors beside the model that each scenario has several levels of, such as an instruction.
    rows: An estimate a scenario, model and level of these.
    """

    material: Material
    measure: str
    over: str
    basis: Mapping[str, Any]
    groups: Sequence[str]
    crossing: Sequence[str]
    rows: pl.DataFrame
    varies: Sequence[str] = ()

    @classmethod
    def of(cls, material: Material) -> list["Ratios"]:
        """The ratios over scenarios that measures of a run read; empty where none does."""
        return [ratios for source in _Source.of(material) for ratios in cls._from(material, source)]

    @classmethod
    def _from(cls, material: Material, source: _Source) -> list["Ratios"]:
        columns, rows = source.rows(material)
        factors = [c for c in columns if c != "generator"]
        of_scenario = material.prompts.group_by(source.over).agg(pl.col(factors).n_unique())
        groups = [c for c in factors if of_scenario[c].max() == 1]
        crossing = [c for c in factors if c not in groups and rows[c].n_unique() > 1]
        by = [c for c in _BASIS if c in rows.columns]
        parts = rows.partition_by(by, maintain_order=True) if rows.height else []
        bases = [dict(zip(by, part.select(by).row(0), strict=True)) for part in parts]
        varies = [c for c in by if len({basis[c] for basis in bases}) > 1]
        return [
            cls(material, source.measure, source.over, b, groups, crossing, part, varies)
            for b, part in zip(bases, parts, strict=True)
        ]

    @property
    def apart(self) -> "Ratios":
        """The same with a panel instead of a line for each level of what crosses scenarios."""
        return replace(self, groups=[*self.groups, *self.crossing], crossing=())

    @property
    def named(self) -> str:
        """What tells these ratios from others of the run, in brackets."""
        known = [words(str(self.basis[c])) for c in self.varies if self.basis[c] is not None]
        return f" ({', '.join(known)})" if known else ""

    @property
    def prose(self) -> MeasureProse:
        """The words of the ratio."""
        return self.material.explain(self.measure, self.basis["definition"])

    @property
    def unit(self) -> str:
        """What a ratio is a share of, for an axis."""
        return f"share labelled {words(str(self.basis['category']))}, of pictures with a definite label"

    @cached_property
    def references(self) -> dict[tuple[str, str], float]:
        """Line and scenario → the share in the reference that its ratio was set beside, where it was."""
        told = self.stored("amplification", by=[self.over]).filter(pl.col("value").is_not_null())
        apart = {(self.line_of(r), str(r[self.over])): r["value"] for r in told.iter_rows(named=True)}
        own = {(self.line_of(r), str(r[self.over])): r["value"] for r in self.rows.iter_rows(named=True)}
        return {place: gap + own[place] for place, gap in apart.items() if own.get(place) is not None}

    @property
    def line_head(self) -> str:
        """What a line is, for a heading."""
        return "condition" if self.crossing else "model"

    @property
    def left_notes(self) -> list[str]:
        """How many ratios are not shown, and why."""
        left = sum((Counter(cell.left_out) for cell in self.cells), Counter[str]())
        few, of = left.pop(_FEW, 0), f"of {count(self.rows.height, 'ratio')}"
        told = "; ".join(f"{why} ({thousands(n)})" for why, n in left.most_common())
        notes = [f"Not defined: {thousands(left.total())} {of}: {told}."] * bool(left)
        return [*notes, *[f"Not shown: {thousands(few)} {of}, with {_FEW}."] * bool(few)]

    @cached_property
    def lines(self) -> list[str]:
        """The models that have a row, at every level of what crosses scenarios, in the order of the run."""
        by = [c for c in ("generator", *self.crossing) if c in self.rows.columns]
        first = [part.row(0, named=True) for part in self.material.parts(self.rows, by).values()]
        return list(dict.fromkeys(map(self.line_of, first)))

    @cached_property
    def _single(self) -> bool:
        """Whether what crosses scenarios alone tells lines apart."""
        one = "generator" not in self.rows.columns or self.rows["generator"].n_unique() == 1
        return one and bool(self.crossing)

    @cached_property
    def cells(self) -> list[RatioCell]:
        """Every line in every group, in the order of the design."""
        by = ["generator"] * ("generator" in self.rows.columns)
        parts = self.material.parts(self.rows, [*self.groups, *by, *self.crossing])
        return [self._cell(rows) for rows in parts.values()]

    def _cell(self, rows: pl.DataFrame) -> RatioCell:
        first = rows.row(0, named=True)
        enough = pl.col("n") >= LEAST_KEPT * (pl.col("n") + pl.col("n_excluded").fill_null(0))
        defined = rows.filter(pl.col("value").is_not_null())
        shown = defined.filter(enough)
        left = Counter(
            str(why or "no reason given") for why in rows.filter(pl.col("value").is_null())["undefined"]
        )
        if few := defined.height - shown.height:
            left[_FEW] = few
        return RatioCell(self.line_of(first), self.group_of(first), shown, left)

    def line_of(self, row: Estimate) -> str:
        """The model that an estimate is of, with the levels of what crosses scenarios."""
        model = [] if self._single else [str(row.get("generator") or ALL_MODELS)]
        return ", ".join(model + [level_words(c, row[c]) for c in self.crossing if row.get(c) is not None])

    def group_of(self, row: Estimate) -> str:
        """The group that an estimate is of, empty where there are none."""
        return " · ".join(level_words(c, row[c]) for c in self.groups if row.get(c) is not None)

    @cached_property
    def group_names(self) -> list[str]:
        """The groups in the order of the design."""
        return list(dict.fromkeys(cell.group for cell in self.cells))

    def stored(self, *measures: str, by: Sequence[str] = ()) -> pl.DataFrame:
        """What is stored of other measures on these ratios, by line, group and the factors ``by`` alone."""
        alike = [c for c in ("attribute", "annotator") if c in self.basis]
        known = ("generator", *self.groups, *self.crossing, *by)
        others = [c for c in self.material.factors if c in self.material.scores.columns and c not in known]
        return self.material.scores.filter(
            pl.col("measure").is_in(measures),
            *(pl.col(c).eq_missing(pl.lit(self.basis[c])) for c in alike),
            *(pl.col(c).is_null() for c in others),
        )

    @cached_property
    def means(self) -> dict[tuple[str, str], Estimate]:
        """The mean ratio of each line and group, where it is stored."""
        rows = self.stored(MEAN).iter_rows(named=True)
        return {(self.line_of(row), self.group_of(row)): row for row in rows}

    def mean_in(self, cell: RatioCell) -> Estimate:
        """The mean ratio of a cell as stored, else that of what is drawn: a description without interval."""
        plain = cell.shown["value"].mean()
        bare = {"value": plain, "low": None, "high": None, "n": cell.shown.height, "undefined": "no ratio"}
        return self.means.get((cell.line, cell.group), bare)

    def part_of(self, row: Estimate) -> str:
        """Which part of the scenarios an estimate is of: its category without the value that is counted."""
        return str(row["category"] or "").removeprefix(f"{self.basis['category']}: ")

    def by_place(self, rows: pl.DataFrame) -> Iterator[tuple[str, list[Estimate]]]:
        """Estimates of each group, in the order of the design."""
        for _, part in self.material.parts(rows, [c for c in self.groups if c in rows.columns]).items():
            of: list[Estimate] = list(part.iter_rows(named=True))
            by = ("generator", *self.crossing)
            of.sort(key=lambda r: [self.material.position(c, r.get(c)) for c in by])
            yield self.group_of(of[0]), of


def scenario_figure(
    ratios: Ratios, frame: pl.DataFrame, measure: str, panels: Sequence[Panel], *, name: str = "", **more: Any
) -> Figure:
    """A figure of one measure in the words of this."""
    material = ratios.material
    prose = material.explain(measure, ratios.basis["definition"])
    title = more.pop("title", "") or f"{prose.title}{ratios.named}"
    more.setdefault("notes", notes_of(frame, 0, 0, dots=False))
    more.setdefault("reads", prose.reads)
    drawn = list(panels)[:MOST_PANELS]
    return Figure.of(
        material, frame, prose, title, name or f"scenarios-{measure}{ratios.named}", drawn, **more
    )


@dataclass(frozen=True)
class ScenarioLine:
    """Figures of the section behind one line, and the estimates that they show."""

    title: str
    figures: Sequence[Figure]
    shows: pl.DataFrame


def shortened(names: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The words that all names begin with, two at least of three names, and what is left of each."""
    split = [name.split() for name in names]
    alike = 0
    while len(split) > 2 and all(len(parts) > alike + 1 for parts in split):
        if len({parts[alike] for parts in split}) > 1:
            break
        alike += 1
    alike = alike if alike > 1 else 0
    begin = " ".join(split[0][:alike]) if alike else ""
    return begin, {name: " ".join(name.split()[alike:]) if alike else name for name in names}


def headed(group: str, begin: str) -> str:
    """The title of a panel whose names are shortened."""
    return ": ".join(filter(None, (group, f"{begin} …" if begin else "")))


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
