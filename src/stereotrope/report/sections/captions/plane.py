"""Cultural accuracy beside contextual association: two scores of one model as a place in a plane."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.report.charts.radar import plane
from stereotrope.report.contract import Block
from stereotrope.report.datatable import Table, TableCell, estimate_text, shown_rows
from stereotrope.report.escape import ellipsis, visible
from stereotrope.report.material import Material
from stereotrope.report.numbers import thousands
from stereotrope.report.panels import MOST_PANELS, Figure, Panel, n_text, notes_of
from stereotrope.report.prose import listing
from stereotrope.report.sections.captions.scores import Part, line_label, parts_by_definition, warnings

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
_Pair = tuple[Mapping[str, Any], Mapping[str, Any]]


def plane_blocks(material: Material) -> list[Block]:
    """One figure a definition and level of further factors, with a panel a prompt that has both scores."""
    both = material.scores.filter(
        pl.col("measure").is_in([_ACROSS, _UP]), pl.col("attribute").is_null(), pl.col("category").is_null()
    )
    if both["measure"].n_unique() < 2:
        return []
    figures = []
    for i, part in enumerate(parts_by_definition(material, both), start=1):
        panels = _pairs(material, part)
        if panels:
            figures.append(_figure(material, part, panels, "plane" if i == 1 else f"plane-{i}"))
    return [Block(figures=figures)] if figures else []


def _pairs(material: Material, part: Part) -> dict[str, list[_Pair]]:
    """Prompt → the two rows of each model, where the prompt has both scores."""
    cells: dict[tuple[Any, ...], dict[str, dict[str, Any]]] = {}
    for row in part.frame.iter_rows(named=True):
        cells.setdefault((*(row[f] for f in part.lines), row["generator"]), {})[row["measure"]] = row
    names = [*part.lines, "generator"]
    order = sorted(cells, key=lambda k: [material.position(f, v) for f, v in zip(names, k, strict=True)])
    found: dict[str, list[_Pair]] = {}
    for key in order:
        if len(cells[key]) == 2:
            pair = (cells[key][_ACROSS], cells[key][_UP])
            found.setdefault(line_label(pair[0], part.lines), []).append(pair)
    return found


def _figure(material: Material, part: Part, pairs: Mapping[str, Sequence[_Pair]], name: str) -> Figure:
    suffix = f" ({part.named})" if part.named else ""
    title = f"Markers of the culture and breadth of what captions say, by model{suffix}"
    every = [pair for panel in pairs.values() for pair in panel]
    frame = pl.DataFrame([row for pair in every for row in pair], schema=part.frame.schema)
    models = [g for g in material.named_generators if g in frame["generator"].to_list()]
    panels, undrawn = [], []
    for heading, of_prompt in list(pairs.items())[:MOST_PANELS]:
        rows = [
            _dot(material, x, y) for x, y in of_prompt if x["value"] is not None and y["value"] is not None
        ]
        undrawn += [
            f"{x['generator']}, {heading}" for x, y in of_prompt if x["value"] is None or y["value"] is None
        ]
        if rows:
            spec = plane(rows, x_title=_X_TITLE, y_title=_Y_TITLE, names=models)
            said = "; ".join(row["tip"] for row in rows[:6])
            alt = visible(ellipsis(f"{title}. {heading}: {said}.", 700))
            panels.append(Panel(heading, spec, alt, _ROWS))
    notes = [_NOTE, *notes_of(frame, max(0, len(pairs) - MOST_PANELS), 0, dots=False)]
    if undrawn:
        notes.append(f"Without a dot, because one of the two is not defined: {listing(undrawn)}.")
    return Figure(
        name=name,
        title=title,
        prose=material.explain(_ACROSS, part.definition),
        n=n_text(material, frame),
        panels=panels,
        table=_table(material, part, every, title),
        notes=[*notes, *_meaning(material, part.definition)],
        reads=_READS,
        defined=False,
    )


def _meaning(material: Material, definition: str | None) -> list[str]:
    """What the two scores are."""
    prose = [material.explain(measure, definition) for measure in (_ACROSS, _UP)]
    return [f"{p.short}: {p.definition} Source: {p.source}." for p in prose if p.definition]


def _dot(material: Material, x: Mapping[str, Any], y: Mapping[str, Any]) -> dict[str, Any]:
    across, up = estimate_text(material, x), estimate_text(material, y)
    return {
        "name": str(x["generator"]),
        "x": x["value"],
        "x_low": x["low"],
        "x_high": x["high"],
        "y": y["value"],
        "y_low": y["low"],
        "y_high": y["high"],
        "tip": f"{x['generator']}: CAR {across}, CAS {up}, n = {x['n']}",
    }


def _table(material: Material, part: Part, pairs: Sequence[_Pair], title: str) -> Table:
    rows = []
    for x, y in pairs:
        sheet = material.find_sheet(x)
        rows.append(
            [
                TableCell(line_label(x, part.lines)),
                TableCell(str(x["generator"])),
                *(
                    TableCell(estimate_text(material, row), numeric=row["value"] is not None)
                    for row in (x, y)
                ),
                *(TableCell("" if r["n"] is None else thousands(r["n"]), numeric=True) for r in (x, y)),
                TableCell("; ".join(dict.fromkeys(w for r in (x, y) if (w := warnings(r))))),
                TableCell("see", href=f"#{sheet.anchor}") if sheet else TableCell(""),
            ]
        )
    heads = [
        "prompt",
        "model",
        "CAR [interval]",
        "CAS [interval]",
        "n of CAR",
        "n of CAS",
        "warnings",
        "pictures",
    ]
    shown = rows[: shown_rows(len(rows))]
    return Table(title, heads, shown, len(rows), f"tables/{_ACROSS}.csv and tables/{_UP}.csv")
