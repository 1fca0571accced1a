"""Cultural accuracy beside contextual association: two scores of one model as a place in a plane."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.report.charts.radar import plane
from stereotrope.report.contract import Block
from stereotrope.report.datatable import TableCell, count_cell, estimate_text
from stereotrope.report.escape import ellipsis, visible
from stereotrope.report.material import Material
from stereotrope.report.panels import MOST_PANELS, Figure, Panel, n_text, notes_of
from stereotrope.report.prose import listing
from stereotrope.report.sections.captions.scores import Estimate, ScoreGrid, score_grids, warnings

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
_Pair = tuple[Estimate, Estimate]


def plane_blocks(material: Material) -> list[Block]:
    """One figure a definition and level of further factors, with a panel a prompt that has both scores."""
    both = material.scores.filter(
        pl.col("measure").is_in([_ACROSS, _UP]), pl.col("attribute").is_null(), pl.col("category").is_null()
    )
    if both["measure"].n_unique() < 2:
        return []
    figures = [
        _figure(grid, pairs, "plane" if i == 1 else f"plane-{i}")
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


def _figure(grid: ScoreGrid, pairs: Mapping[str, Sequence[_Pair]], name: str) -> Figure:
    material, every = grid.material, [pair for panel in pairs.values() for pair in panel]
    title = f"Markers of the culture and breadth of what captions say, by model{grid.suffix}"
    frame = pl.DataFrame([row for pair in every for row in pair], schema=grid.frame.schema)
    models = replace(grid, frame=frame).models
    panels, undrawn = [], []
    for heading, of_prompt in list(pairs.items())[:MOST_PANELS]:
        rows = []
        for x, y in of_prompt:
            if x["value"] is None or y["value"] is None:
                undrawn.append(f"{x['generator']}, {heading}")
            else:
                rows.append(_dot(material, x, y))
        if rows:
            said = "; ".join(row["tip"] for row in rows[:6])
            alt = visible(ellipsis(f"{title}. {heading}: {said}.", 700))
            spec = plane(rows, x_title=_X_TITLE, y_title=_Y_TITLE, names=models)
            panels.append(Panel(heading, spec, alt, _ROWS))
    notes = [_NOTE, *notes_of(frame, max(0, len(pairs) - MOST_PANELS), 0, dots=False)]
    if undrawn:
        notes.append(f"Without a dot, because one of the two is not defined: {listing(undrawn)}.")
    proses = [material.explain(measure, grid.basis.definition) for measure in (_ACROSS, _UP)]
    notes += [f"{p.short}: {p.definition} Source: {p.source}." for p in proses if p.definition]
    columns: dict[str, Callable[[_Pair], TableCell | str]] = {
        "prompt": lambda pair: grid.label(pair[0]),
        "model": lambda pair: str(pair[0]["generator"]),
        "CAR [interval]": lambda pair: grid.value_cell(pair[0]),
        "CAS [interval]": lambda pair: grid.value_cell(pair[1]),
        "n of CAR": lambda pair: count_cell(pair[0]["n"]),
        "n of CAS": lambda pair: count_cell(pair[1]["n"]),
        "warnings": lambda pair: "; ".join(dict.fromkeys(filter(None, map(warnings, pair)))),
    }
    files = f"tables/{_ACROSS}.csv and tables/{_UP}.csv"
    return Figure(
        name=name,
        title=title,
        prose=proses[0],
        n=n_text(material, frame),
        panels=panels,
        table=grid.table(title, every, columns, files, of=lambda pair: pair[0]),
        notes=notes,
        reads=_READS,
        defined=False,
    )


def _dot(material: Material, x: Estimate, y: Estimate) -> dict[str, Any]:
    across, up = estimate_text(material, x), estimate_text(material, y)
    return {
        "name": str(x["generator"]),
        **{f"{axis}{end}": row[c] for axis, row in (("x", x), ("y", y)) for end, c in _ENDS.items()},
        "tip": f"{x['generator']}: CAR {across}, CAS {up}, n = {x['n']}",
    }


_ENDS = {"": "value", "_low": "low", "_high": "high"}
