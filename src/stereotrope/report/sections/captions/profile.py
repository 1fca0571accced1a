"""The profile of each model over the prompts: a radar of its composite scores, its area and its rank."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from stereotrope.report.charts.radar import RADAR_HEIGHT, radar
from stereotrope.report.contract import Block
from stereotrope.report.datatable import Table, TableCell, count_cell, estimate_text, shown_rows
from stereotrope.report.escape import ellipsis, visible
from stereotrope.report.material import Material
from stereotrope.report.numbers import count, number
from stereotrope.report.panels import MOST_PANELS, Figure, Panel, n_text, notes_of
from stereotrope.report.prose import listing
from stereotrope.report.sections.captions.scores import (
    Estimate,
    ScoreGrid,
    composite_files,
    composite_grids,
    edges_text,
    reach,
    warnings,
)
from stereotrope.tables import BANDS

_HEADS = {
    "radar_rank": "place",
    "radar_area": "area",
    "radar_rank_orders": "orders with this place",
    "radar_area_any_order": "area, mean of all orders",
    "composite_mean": "mean score",
}
"""Estimates of a model's profile over its prompts, with their columns."""
_LEAST_AXES, _MOST_AXES = 3, 16
_MOST_NUMBERED = 9
"""Axes up to which the scores stand in the radar too."""
_MOST_BEHIND = 5
"""Other models up to which their polygons are drawn behind."""
_MOST_FIGURES = 4
_STEP, _ABOVE = 24, 60
"""What the page keeps for a row of a chart, and for its axes."""
_NO_SCORE = {
    **dict.fromkeys(("value", "low", "high", "n", "flags", "band")),
    "undefined": "no score of this prompt",
}
Stored = Mapping[str, Mapping[str, Estimate]]
"""Model → measure → its row, of what is stored of profiles."""


@dataclass(frozen=True)
class Profile:
    """A radar figure with what stands open below it; ``said`` is empty where no area is stored."""

    figure: Figure
    ranks: Table | None
    said: str


def profile_blocks(material: Material) -> list[Block]:
    """A radar figure a definition and level of further factors, for the first of very many."""
    replaced = frozenset(set(_HEADS) & set(material.scores["measure"]))
    blocks = []
    for i, grid in enumerate(composite_grids(material)[:_MOST_FIGURES], start=1):
        made = _Radar(grid).profile("radar" if i == 1 else f"radar-{i}")
        blocks.append(Block("profile", figures=[made.figure], content=made, replaces=replaced))
    return blocks


class _Radar:
    """The polygons of one grid: an axis a prompt and score."""

    def __init__(self, grid: ScoreGrid) -> None:
        self.grid, self.material, self.models = grid, grid.material, grid.models
        self.behind = 1 < len(self.models) <= _MOST_BEHIND + 1
        axes = grid.rows_by("measure")
        self.names = [grid.label(rows[0]) for rows in axes]
        self.short = [self.material.explain(rows[0]["measure"]).abbreviation for rows in axes]
        self.scores: dict[str, list[Estimate]] = {model: [] for model in self.models}
        for rows in axes:
            by_model = {row["generator"]: row for row in rows}
            for model, scores in self.scores.items():
                scores.append(by_model.get(model) or {**rows[0], **_NO_SCORE, "generator": model})
        self.stored = _stored(grid)

    def profile(self, name: str) -> Profile:
        grid, why = self.grid, self._why_not()
        title = f"The composite scores of each model over the prompts{grid.suffix}"
        defined = {m: [row["value"] is not None for row in scores] for m, scores in self.scores.items()}
        shown = [model for model in self.models if any(defined[model])]
        panels = (
            [] if why else [self._panel(model, at, title) for at, model in enumerate(shown[:MOST_PANELS])]
        )
        notes = [why] if why else []
        if left := shown[MOST_PANELS:]:
            notes.append(f"Not drawn: {listing(left)}; their scores are in the data table.")
        open_ = [model for model in self.models if not all(defined[model])]
        if open_ and panels:
            notes.append(f"Without a polygon, because a score of it is not defined: {listing(open_)}.")
        figure = Figure(
            name=name,
            title=title,
            prose=replace(self.material.explain("radar_area", grid.basis.definition), unit=""),
            n=n_text(self.material, grid.frame),
            panels=panels,
            table=self._table(),
            notes=[*notes, *notes_of(grid.frame, 0, 0, dots=False)],
            reads=self._reads() if panels else "",
        )
        return Profile(figure, self._ranks(), _order_sentence(self.stored, self.models))

    def _why_not(self) -> str:
        axes = len(self.names)
        if axes < _LEAST_AXES:
            return (
                f"No radar is drawn: it needs at least {_LEAST_AXES} axes, and there "
                f"{'is' if axes == 1 else 'are'} {count(axes, 'prompt')} with a composite score."
            )
        none = f"No radar is drawn: of {axes} axes none could be read. The table has the scores."
        return none if axes > _MOST_AXES else ""

    def _reads(self) -> str:
        edges = "; ".join(f"{band.name} {edges_text(band)}" for band in BANDS)
        measures = sorted(set(self.grid.frame["measure"]))
        proses = [self.material.explain(measure) for measure in measures]
        told = "".join(f"; {prose.abbreviation}: {prose.sense}" for prose in proses if prose.sense)
        return " ".join(
            [
                f"Every axis runs from 0 in the middle to 1; rings are the edges of the bands: {edges}. "
                "Lines on the axes are intervals.",
                *[f"The axes hold two different scores, which stand at their ends{told}."]
                * (len(proses) > 1),
                *["Grey: the other models."] * self.behind,
            ]
        )

    def _panel(self, model: str, place: int, title: str) -> Panel:
        mixed, numbered = len(set(self.short)) > 1, len(self.names) <= _MOST_NUMBERED
        own = [
            {
                **{c: row[c] for c in ("value", "low", "high")},
                "text": number(row["value"], places=2) if numbered else "",
                "tip": f"{name}, {short}: {estimate_text(self.material, row)}, {reach(row)}, n = {row['n']}",
            }
            for row, name, short in zip(self.scores[model], self.names, self.short, strict=True)
        ]
        values = {m: [row["value"] for row in rows] for m, rows in self.scores.items() if m != model}
        others = {m: v for m, v in values.items() if None not in v and self.behind}
        axes = [
            f"{name}\n{short}" if mixed else name for name, short in zip(self.names, self.short, strict=True)
        ]
        area = self.stored.get(model, {}).get("radar_area")
        heading = model
        if area is not None and area["value"] is not None:
            heading = f"{model}: area {number(area['value'], places=2)}"
        said = "; ".join(row["tip"] for row in own)
        alt = visible(ellipsis(f"{title}. {heading}: {said}.", 900))
        return Panel(heading, radar(axes, own, others, place=place), alt, (RADAR_HEIGHT - _ABOVE) // _STEP)

    def _table(self) -> Table:
        grid = self.grid
        columns = {
            "axis": grid.label,
            "score": lambda row: self.material.explain(row["measure"]).abbreviation,
            "model": lambda row: row["generator"],
            "value [interval]": grid.value_cell,
            "band": lambda row: reach(row) or "–",
            "n": lambda row: count_cell(row["n"]),
            "warnings": warnings,
        }
        rows = [row for axis in zip(*self.scores.values(), strict=True) for row in axis]
        return grid.table("The scores on the axes", rows, columns, composite_files(grid.frame))

    def _ranks(self) -> Table | None:
        """Models by the area of their polygon, the smallest first."""
        there = [model for model in self.models if model in self.stored]
        if not there:
            return None

        def rank(model: str) -> float:
            value = (self.stored[model].get("radar_rank") or {}).get("value")
            return float("inf") if value is None else value

        columns = [m for m in _HEADS if any(m in self.stored[model] for model in there)]
        rows = []
        for model in sorted(there, key=rank):
            of_model = self.stored[model]
            texts = [_ranked(self.material, of_model.get(m), m) for m in columns]
            n = next((row["n"] for row in of_model.values() if row["n"] is not None), None)
            rows.append(
                [TableCell(model), *(TableCell(t, numeric=t[:1].isdigit()) for t in texts), count_cell(n)]
            )
        title = "Area of each model's polygon, as a share of the greatest possible one"
        heads = ["model", *(_HEADS[m] for m in columns), "prompts"]
        return Table(title, heads, rows[: shown_rows(len(rows))], len(rows), "tables/radar_area.csv")


def _stored(grid: ScoreGrid) -> Stored:
    found: dict[str, dict[str, Estimate]] = {}
    if len(grid.lines) > 1:
        return found
    same = pl.col("measure").is_in(_HEADS) & pl.col("definition").eq_missing(grid.basis.definition)
    if grid.basis.lexicon is not None:
        same &= pl.col("annotator") == grid.basis.lexicon
    for factor, level in grid.scope.items():
        same &= pl.col(factor).eq_missing(level)
    for row in grid.material.scores.filter(same).iter_rows(named=True):
        found.setdefault(row["generator"], {}).setdefault(row["measure"], row)
    return found


def _ranked(material: Material, row: Estimate | None, measure: str) -> str:
    if row is None:
        return "–"
    value = row["value"]
    if value is not None and measure == "radar_rank":
        return number(value, places=0 if float(value).is_integer() else 1)
    if value is not None and measure == "radar_rank_orders":
        return _share(value)
    return estimate_text(material, row)


def _share(value: float) -> str:
    """A share of orders as percent, never rounded to all or none."""
    if 0.99 < value < 1.0:
        return "over 99%"
    return "under 1%" if 0.0 < value < 0.01 else f"{100 * value:.0f}%"


def _order_sentence(stored: Stored, models: Sequence[str]) -> str:
    """That the area depends on the order of the axes, and under how many of the orders the ranking holds."""
    if not any("radar_area" in rows for rows in stored.values()):
        return ""
    first = (
        "The area of a polygon depends on the order of its axes, here the order of the prompts in the "
        "design; a smaller area means lower scores. Where the intervals of two areas overlap, the models may "
        "as well stand the other way round."
    )
    held = []
    for model in models:
        rows = [stored.get(model, {}).get(m) for m in ("radar_rank", "radar_rank_orders")]
        rank, share = (None if row is None else row["value"] for row in rows)
        if rank is not None and share is not None:
            held.append((rank, model, share))
    if not held:
        return first
    if all(share == 1.0 for _, _, share in held):
        return f"{first} Every model has the same place under every order."
    held.sort(key=lambda place: place[0])
    told = [f"{model} keeps place {rank:g} under {_share(share)}" for rank, model, share in held]
    return f"{first} Of all orders, {listing(told, most=6)}. A place that depends on the order says nothing."
