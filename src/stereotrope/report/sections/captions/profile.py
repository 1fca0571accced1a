"""Each model over the prompts: a radar of its composite scores, its area and rank; two scores as a plane."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

import polars as pl

from stereotrope.escape import ellipsis, visible
from stereotrope.report.charts.radar import RADAR_HEIGHT, plane, radar
from stereotrope.report.contract import Block
from stereotrope.report.datatable import Table, TableCell, estimate_text, table_by
from stereotrope.report.material import Material
from stereotrope.report.numbers import count, number
from stereotrope.report.panels import MOST_PANELS, Figure, Panel, notes_of, panel_words
from stereotrope.report.prose import listing
from stereotrope.report.sections.captions.scores import (
    ScoreGrid,
    composite_files,
    composite_grids,
    edges_text,
    reach,
    score_grids,
    warnings,
)
from stereotrope.report.series import Estimate
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
        prose = replace(self.material.explain("radar_area", grid.basis.definition), unit="")
        notes += notes_of(grid.frame, 0, 0, dots=False)
        more = {"table": self._table(), "notes": notes, "reads": self._reads() if panels else ""}
        figure = Figure.of(self.material, grid.frame, prose, title, name, panels, **more)
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
                "tip": f"{name}, {short}: "
                + ", ".join([estimate_text(self.material, row), *reach(row), f"n = {row['n']}"]),
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
        columns: dict[str, Callable[[Any], Any]] = {
            "axis": grid.label,
            "score": lambda row: self.material.explain(row["measure"]).abbreviation,
            "model": itemgetter("generator"),
            "value [interval]": grid.value_cell,
            "band": lambda row: ", ".join(reach(row)) or "–",
            "n": itemgetter("n"),
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

        def prompts(model: str) -> int | None:
            return next((row["n"] for row in self.stored[model].values() if row["n"] is not None), None)

        measures = [m for m in _HEADS if any(m in self.stored[model] for model in there)]
        areas = {_HEADS[measure]: partial(self._ranked, measure) for measure in measures}
        title = "Area of each model's polygon, as a share of the greatest possible one"
        columns: dict[str, Callable[[Any], Any]] = {"model": str, **areas, "prompts": prompts}
        return table_by(title, sorted(there, key=rank), columns, "tables/radar_area.csv")

    def _ranked(self, measure: str, model: str) -> TableCell:
        row = self.stored[model].get(measure)
        value = None if row is None else row["value"]
        if row is None:
            text = "–"
        elif value is not None and measure == "radar_rank":
            text = number(value, places=0 if float(value).is_integer() else 1)
        elif value is not None and measure == "radar_rank_orders":
            text = _share(value)
        else:
            text = estimate_text(self.material, row)
        return TableCell(text, numeric=text[:1].isdigit())


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


_ACROSS, _UP = "car", "cas"
_ROWS = 13
_X_TITLE = ("Cultural accuracy (CAR)", "→ more captions hold a marker of the culture")
_Y_TITLE = ("Contextual association (CAS)", "↑ more of the hits are stereotype terms")
_READS = (
    "To the right: more captions hold a marker of the culture asked for. Downwards: the terms that captions "
    "use lean to the list of diversity, which is the breadth. Lines are intervals."
)
_NOTE = (
    "Each line is the interval of one score on its own; both come from the same captions, so that the two "
    "lines bound no region for the pair. Accuracy and breadth are shares of captions and of terms found, and "
    "hang on the lists of the lexicon."
)
_ENDS = {"": "value", "_low": "low", "_high": "high"}
_Pair = tuple[Estimate, Estimate]


def plane_blocks(material: Material) -> list[Block]:
    """One figure a definition and level of further factors, with a panel a prompt that has both scores."""
    both = material.scores.filter(
        pl.col("measure").is_in([_ACROSS, _UP]), pl.col("attribute").is_null(), pl.col("category").is_null()
    )
    if both["measure"].n_unique() < 2:
        return []
    figures = [
        _plane(grid, pairs, "plane" if i == 1 else f"plane-{i}")
        for i, grid in enumerate(score_grids(material, both), start=1)
        if (pairs := _pairs(grid))
    ]
    return [Block(figures=figures)] if figures else []


def _pairs(grid: ScoreGrid) -> dict[str, list[_Pair]]:
    """Prompt → the two rows of each model, where the prompt has both scores."""
    found: dict[str, list[_Pair]] = {}
    for rows in grid.rows_by("generator"):
        by_measure = {row["measure"]: row for row in rows}
        if len(by_measure) == 2:
            found.setdefault(grid.label(rows[0]), []).append((by_measure[_ACROSS], by_measure[_UP]))
    return found


def _plane(grid: ScoreGrid, pairs: Mapping[str, Sequence[_Pair]], name: str) -> Figure:
    material, every = grid.material, [pair for panel in pairs.values() for pair in panel]
    title = f"Markers of the culture and breadth of what captions say, by model{grid.suffix}"
    frame = pl.DataFrame([row for pair in every for row in pair], schema=grid.frame.schema)
    models = replace(grid, frame=frame).models
    panels, undrawn = [], []
    for heading, of_prompt in list(pairs.items())[:MOST_PANELS]:
        known = [(x, y) for x, y in of_prompt if x["value"] is not None and y["value"] is not None]
        undrawn += [f"{pair[0]['generator']}, {heading}" for pair in of_prompt if pair not in known]
        if rows := [_dot(material, x, y) for x, y in known]:
            spec = plane(rows, x_title=_X_TITLE, y_title=_Y_TITLE, names=models)
            panels.append(Panel(heading, spec, panel_words(title, heading, rows), _ROWS))
    notes = [_NOTE, *notes_of(frame, max(0, len(pairs) - MOST_PANELS), 0, dots=False)]
    if undrawn:
        notes.append(f"Without a dot, because one of the two is not defined: {listing(undrawn)}.")
    proses = [material.explain(measure, grid.basis.definition) for measure in (_ACROSS, _UP)]
    notes += [f"{p.short}: {p.definition} Source: {p.source}." for p in proses if p.definition]
    columns: dict[str, Callable[[_Pair], Any]] = {
        "prompt": lambda pair: grid.label(pair[0]),
        "model": lambda pair: str(pair[0]["generator"]),
        "CAR [interval]": lambda pair: grid.value_cell(pair[0]),
        "CAS [interval]": lambda pair: grid.value_cell(pair[1]),
        "n of CAR": lambda pair: pair[0]["n"],
        "n of CAS": lambda pair: pair[1]["n"],
        "warnings": lambda pair: "; ".join(dict.fromkeys(filter(None, map(warnings, pair)))),
    }
    files = f"tables/{_ACROSS}.csv and tables/{_UP}.csv"
    table = grid.table(title, every, columns, files, of=itemgetter(0))
    more = {"table": table, "notes": notes, "reads": _READS, "defined": False}
    return Figure.of(material, frame, proses[0], title, name, panels, **more)


def _dot(material: Material, x: Estimate, y: Estimate) -> dict[str, Any]:
    across, up = estimate_text(material, x), estimate_text(material, y)
    return {
        "name": str(x["generator"]),
        **{f"{axis}{end}": row[c] for axis, row in (("x", x), ("y", y)) for end, c in _ENDS.items()},
        "tip": f"{x['generator']}: CAR {across}, CAS {up}, n = {x['n']}",
    }
