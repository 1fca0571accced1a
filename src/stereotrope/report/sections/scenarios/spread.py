"""How the ratios of scenarios are spread: small histograms, a line a model, and who dominates how many."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from stereotrope.escape import ellipsis, visible
from stereotrope.report.charts.histograms import histograms
from stereotrope.report.datatable import TableCell, estimate_text, table_by
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, interval, number, thousands
from stereotrope.report.panels import MOST_PANELS, Figure, Panel, n_text, safe_name
from stereotrope.report.sections.scenarios.ratios import RatioCell, Ratios, counted_out, reasons
from stereotrope.report.series import Estimate

DOMINATED, FOR_CERTAIN = "dominated", "dominated_at_least"
BINS = 10
_MOST_LINES = 12
_LOW, _HIGH = "at most", "at least"
_OUTER = re.compile(rf"({_LOW}|{_HIGH}) (\d\.?\d*)")
"""How :func:`stereotrope.measure.dominated` names its outermost ranges: no column holds their ends."""
_EVEN = 0.5
_NEAR = 1e-9


@dataclass(frozen=True)
class Dominance:
    """How many scenarios of a model lie at an end of the ratios, of one range.

    least: Whether it is the upper end; ``end`` is where it begins.
    """

    least: bool
    end: float
    plain: Estimate
    certain: Estimate | None

    @property
    def text(self) -> str:
        """Both counts: ``18 (13 for certain)``."""
        if self.plain["numerator"] is None:
            return ""
        sure = None if self.certain is None else self.certain["numerator"]
        certain = "" if sure is None else f" ({thousands(sure)} for certain)"
        return f"{thousands(self.plain['numerator'])}{certain}"

    @property
    def short(self) -> str:
        """Both counts where there is little room: ``18 (13)``."""
        return self.text.replace(" for certain", "")

    @property
    def heading(self) -> str:
        """The range: ``at least 0.7``."""
        return f"{_HIGH if self.least else _LOW} {self.end:g}"


class Dominances:
    """What is stored of how many scenarios lie at either end, by model and group."""

    def __init__(self, ratios: Ratios) -> None:
        found: dict[tuple[str, str, str], dict[str, Estimate]] = {}
        for row in ratios.stored(DOMINATED, FOR_CERTAIN).iter_rows(named=True):
            place = ratios.line_of(row), ratios.group_of(row), ratios.part_of(row)
            found.setdefault(place, {})[row["measure"]] = row
        self._of: dict[tuple[str, str], list[Dominance]] = {}
        for (model, group, part), rows in sorted(found.items(), key=lambda item: item[0][2], reverse=True):
            end = _OUTER.fullmatch(part)
            if end and DOMINATED in rows:
                one = Dominance(end[1] == _HIGH, float(end[2]), rows[DOMINATED], rows.get(FOR_CERTAIN))
                self._of.setdefault((model, group), []).append(one)

    def of(self, model: str, group: str) -> list[Dominance]:
        """The lower and the upper end of a model in a group; empty where nothing is stored."""
        return self._of.get((model, group), [])

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The ends of both ranges; those of the axis where nothing is stored."""
        every = [one for of in self._of.values() for one in of]
        low, high = ([one.end for one in every if one.least is least] for least in (False, True))
        return (low[0] if low else 0.0, high[0] if high else 1.0)


@dataclass(frozen=True)
class Binned:
    """A histogram: edges, and how many scenarios lie between two; of what lies on the middle a half each."""

    edges: Sequence[float]
    counts: Sequence[float]
    on_middle: int

    @classmethod
    def of(cls, values: pl.Series, low: float, high: float, bins: int) -> "Binned":
        """What lies on an edge counts to the bin that is farther from the middle, as what dominates does."""
        edges = [round(low + (high - low) * i / bins, 12) for i in range(bins + 1)]
        middle = (low + high) / 2
        found: Counter[int] = Counter()
        on = 0
        for value in values:
            if abs(value - middle) < _NEAR:
                on += 1
                continue
            at = (value - low) / (high - low) * bins
            place = math.floor(at + _NEAR) if value > middle else math.ceil(at - _NEAR) - 1
            found[min(max(place, 0), bins - 1)] += 1
        counts = [found[i] + (on / 2 if i in (bins // 2 - 1, bins // 2) else 0.0) for i in range(bins)]
        return cls(edges, counts, on)

    @property
    def n(self) -> int:
        """How many there are."""
        return round(sum(self.counts))

    def rows(self, line: int, name: str, most: float, ends: tuple[float, float]) -> list[dict[str, Any]]:
        """Its bars, the highest share of scenarios in the figure being ``most``."""
        drawn = []
        half = len(self.counts) // 2
        for i, k in enumerate(self.counts):
            if not k:
                continue
            start, end = self.edges[i], self.edges[i + 1]
            side = "low" if end <= ends[0] + _NEAR else "high" if start >= ends[1] - _NEAR else "middle"
            whole = k - self.on_middle / 2 if i in (half - 1, half) else k
            told = f"{name}: {number(start, places=1)} to {number(end, places=1)}: {thousands(round(whole))}"
            told += f" of {count(self.n, 'scenario')}"
            if whole != k:
                told += f", and half of the {thousands(self.on_middle)} at exactly {self.middle:g}"
            height = k / self.n / most
            drawn.append(
                {"line": line, "start": start, "end": end, "height": height, "side": side, "tip": told}
            )
        return drawn

    @property
    def middle(self) -> float:
        """The middle of the axis."""
        return (self.edges[0] + self.edges[-1]) / 2

    @property
    def highest(self) -> float:
        """The largest share of scenarios in one bin."""
        return max(self.counts) / self.n if self.n else 0.0


def spread_figure(ratios: Ratios, title: str = "") -> Figure:
    """Each model's ratios in each group, and how many scenarios are dominated; under a title of its own."""
    binned = [Binned.of(cell.shown["value"], 0.0, 1.0, BINS) for cell in ratios.cells]
    stored = Dominances(ratios)
    value = words(str(ratios.basis["category"]))
    name = safe_name(f"scenarios{'-spread' if title else ''}{ratios.named}")
    title = f"{title or f'Whom the models draw: share labelled {value} in each scenario'}{ratios.named}"
    most = max((b.highest for b in binned), default=0.0) or 1.0
    panels = []
    shown = dict(zip(map(id, ratios.cells), binned, strict=True))
    for group in ratios.group_names[:MOST_PANELS]:
        cells = [c for c in ratios.cells if c.group == group and shown[id(c)].n][:_MOST_LINES]
        if cells:
            panels.append(_panel(group, cells, [shown[id(c)] for c in cells], stored, most, ratios))
    return Figure(
        name,
        title,
        ratios.prose,
        n_text(ratios.material, ratios.rows),
        panels,
        _table(ratios, binned, stored, title),
        notes=spread_notes(ratios, stored),
        reads=_reads(stored) if panels else "No scenario has a ratio that could be drawn.",
    )


def _panel(
    group: str,
    cells: Sequence[RatioCell],
    binned: Sequence[Binned],
    stored: Dominances,
    most: float,
    ratios: Ratios,
) -> Panel:
    rows: list[dict[str, Any]] = []
    told = []
    for line, (cell, bins) in enumerate(zip(cells, binned, strict=True)):
        mean = ratios.mean_in(cell)
        told_mean = interval(mean["value"], mean["low"], mean["high"], mean["n"])
        said = f"{cell.line}: mean {told_mean} of {count(bins.n, 'scenario')}"
        rows += bins.rows(line, cell.line, most, stored.ends)
        ends_of = {end: mean[end] for end in ("low", "high") if mean[end] is not None}
        rows.append({"line": line, "mean": mean["value"], "tip": said, **ends_of})
        ends = {one.least: one for one in stored.of(cell.line, group)}
        for side, least in (("left", False), ("right", True)):
            if one := ends.get(least):
                rows.append({"line": line, side: one.text, f"short_{side}": one.short})
                said += f", {one.text} {one.heading}"
        told.append(said)
    ticks = sorted({0.0, stored.ends[0], 0.5, stored.ends[1], 1.0})
    lines = [cell.line for cell in cells]
    unit = ratios.unit
    spec = histograms(rows, lines=lines, domain=(0.0, 1.0), middle=_EVEN, ticks=ticks, unit=unit)
    alt = visible(ellipsis(f"Histogram of the scenarios' ratios. {group}: {'; '.join(told)}.", 700))
    return Panel(group, spec, alt, 2 * len(lines))


def _reads(stored: Dominances) -> str:
    drawn = (
        "One histogram a model: how many scenarios have which ratio, in ten bins; the highest bar of the "
        "figure fills its line. The dashed line is one half, ▲ the mean over the scenarios, with its "
        "interval where that is stored."
    )
    low, high = stored.ends
    if (low, high) == (0.0, 1.0):
        return drawn
    return (
        f"{drawn} In coloured bars one value dominates. At the ends of a line: how many scenarios have a "
        f"ratio of at most {low:g} and of at least {high:g}; for certain: their whole interval lies there."
    )


def spread_notes(ratios: Ratios, stored: Dominances | None = None) -> list[str]:
    """What is not drawn, and where counts are of other scenarios than the bars."""
    other: list[RatioCell] = []
    for cell in ratios.cells:
        counted = {one.plain["n"] for one in stored.of(cell.line, cell.group)} if stored else set()
        if counted - {cell.shown.height}:
            other.append(cell)
    notes = ratios.left_notes
    if other:
        notes.append(
            f"The counts at the ends are of other scenarios than the bars in {count(len(other), 'line')}."
        )
    groups = len(ratios.group_names)
    if stored and (groups > MOST_PANELS or len(ratios.lines) > _MOST_LINES):
        drawn = f"the first {_MOST_LINES} models of the first {MOST_PANELS} groups"
        notes.append(
            f"Drawn: {drawn}, of {count(len(ratios.lines), 'model')} and {groups}; the table has all."
        )
    return notes


def _table(ratios: Ratios, binned: Sequence[Binned], stored: Dominances, title: str) -> Any:
    """A row a model and group: how many scenarios, their mean, the ends, and every bin."""
    material = ratios.material
    columns: dict[str, Any] = {"model": lambda row: row[0].line}
    if any(ratios.group_names):
        columns["group"] = lambda row: row[0].group
    columns["scenarios"] = lambda row: row[1].n
    columns["left out"] = lambda row: reasons(row[0].left_out)
    columns["mean [interval]"] = lambda row: _mean_cell(ratios, row[0])
    of_rows = [(cell, bins) for cell, bins in zip(ratios.cells, binned, strict=True)]
    headings = dict.fromkeys(one.heading for c in ratios.cells for one in stored.of(c.line, c.group))
    for heading in headings:
        for name, certain in ((heading, False), (f"{heading} for certain", True)):
            columns[f"{name} [interval]"] = _end_cell(material, stored, heading, certain=certain)
    for i in range(BINS):
        columns[f"{i / BINS:g} to {(i + 1) / BINS:g}"] = lambda row, i=i: TableCell(
            f"{row[1].counts[i]:g}", numeric=True
        )
    return table_by(title, of_rows, columns, "tables/scenario_histograms.csv")


def _mean_cell(ratios: Ratios, cell: RatioCell) -> TableCell:
    mean = ratios.mean_in(cell)
    return TableCell(interval(mean["value"], mean["low"], mean["high"], mean["n"]), numeric=True)


def _end_cell(material: Material, stored: Dominances, heading: str, *, certain: bool) -> Any:
    def cell(row: tuple[RatioCell, Binned]) -> str:
        one = next((d for d in stored.of(row[0].line, row[0].group) if d.heading == heading), None)
        told = one and (one.certain if certain else one.plain)
        return estimate_text(material, told) if told else ""

    return cell


def histogram_rows(every: Sequence[Ratios]) -> pl.DataFrame:
    """How many scenarios of each model and group have which ratio, a row a bin; for the files."""
    rows = [
        {
            **ratios.basis,
            "line": cell.line,
            "group": cell.group or None,
            "from": bins.edges[i],
            "to": bins.edges[i + 1],
            "scenarios": k,
        }
        for ratios in every
        for cell in ratios.cells
        for bins in [Binned.of(cell.shown["value"], 0.0, 1.0, BINS)]
        for i, k in enumerate(bins.counts)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def sentences(ratios: Ratios) -> list[str]:
    """Of each model how many scenarios a value dominates, how many do so for certain, what is left out."""
    stored = Dominances(ratios)
    told = []
    for model in ratios.lines:
        whole = stored.of(model, "")
        parts = [whole] if whole else [stored.of(model, group) for group in ratios.group_names]
        if parts := [part for part in parts if part and part[0].plain["value"] is not None]:
            told.append(_sentence(ratios, model, parts))
    return told


def _sentence(ratios: Ratios, model: str, parts: Sequence[Sequence[Dominance]]) -> str:
    value = words(str(ratios.basis["category"]))
    n = sum(part[0].plain["n"] for part in parts)
    ends: list[str] = []
    for least in (True, False):
        of = [one for part in parts for one in part if one.least is least]
        if not of:
            continue
        plain = sum(one.plain["numerator"] for one in of)
        sure = [one.certain["numerator"] for one in of if one.certain is not None]
        told = [f"share {estimate_text(ratios.material, of[0].plain)}"] if len(of) == 1 else []
        told += [f"{thousands(sum(sure))} for certain"] if sure else []
        behind = f" ({', '.join(told)})" if told else ""
        have, their = ("has", "its") if plain <= 1 else ("have", "their")
        what = f" of {their} counted pictures labelled {value}" if not ends else ""
        ends.append(f"{thousands(plain) if plain else 'none'} {have} {of[0].heading}{what}{behind}")
    left: Counter[str] = Counter()
    for part in parts:
        left.update(counted_out(part[0].plain))
    missing = f" {reasons(left).capitalize()}." if left else ""
    return f"{model}{ratios.named}: of {count(n, 'scenario')} {' and '.join(ends)}.{missing}"
