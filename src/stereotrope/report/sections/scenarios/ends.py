"""Scenarios by name: all of a small study; of others those with the highest and the lowest ratios."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.report.charts.dots import dots
from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.charts.heat import head_width, heat
from stereotrope.report.datatable import TableCell, dot_of, estimate_cell, estimate_text, table_by, table_of
from stereotrope.report.material import words
from stereotrope.report.numbers import count, number
from stereotrope.report.panels import MOST_PANELS, Figure, Panel, notes_of, panel_words
from stereotrope.report.prose import listing
from stereotrope.report.sections.scenarios.ratios import (
    Ratios,
    ScenarioLine,
    headed,
    scenario_figure,
    shortened,
)

_ENDS = 5
"""Scenarios at each end of a ranking that are drawn."""
_LISTED = 10
"""Scenarios at each end of a ranking that stand in the table."""
_MOST_LINES = 10
_MOST_NAMED, _AROUND = 48, 4
"""Scenarios up to which all stand in the first figure by name, each group counting for some more."""
_MOST_DOTS = 56
_OF_A_DOT = 0.8
"""Height of one of several dots, as a part of a row."""
_SIGNS = 26
_HALF = 0.5
_SELECTED = (
    "These are the ends of a ranking: with other pictures the same scenarios would, on average, lie less far "
    "out."
)
_TIES = "Of equal ratios those with the nearer end of the interval farther out come first."


def ends_line(ratios: Ratios) -> ScenarioLine | None:
    """Both ends of the scenarios, over all lines and of each; none where all stand in the first figure."""
    if is_small(ratios):
        return None
    cells = [cell.shown.with_columns(_line=pl.lit(cell.line)) for cell in ratios.cells if cell.shown.height]
    if not cells:
        return None
    every = pl.concat(cells)
    figures = [_of_each(ratios, every)]
    if len(ratios.lines) > 1 and (common := _of_all(ratios, every)):
        figures.insert(0, common)
    return ScenarioLine("Scenarios at both ends", figures, ratios.rows.clear())


def is_small(ratios: Ratios) -> bool:
    """Whether every scenario can stand in one open figure by its name."""
    groups = len(ratios.group_names)
    rows = ratios.rows.select(ratios.over, *ratios.groups).n_unique() + _AROUND * groups
    return rows <= _MOST_NAMED and len(ratios.lines) <= _MOST_LINES and groups <= MOST_PANELS


def named_figure(ratios: Ratios, notes: Sequence[str]) -> Figure:
    """Every scenario of a small study: dots with intervals, of many a table of colours."""
    every = pl.concat([cell.shown.with_columns(_line=pl.lit(cell.line)) for cell in ratios.cells])
    dotted = len(ratios.lines) <= len(PALETTE) and every.height <= _MOST_DOTS
    panels, listed = [], []
    by = [c for c in ratios.groups if c in every.columns]
    for part in ratios.material.parts(every, by).values() if every.height else ():
        group = ratios.group_of(part.row(0, named=True))
        order = (
            part.group_by(ratios.over)
            .agg(pl.col("value").mean())
            .sort("value", ratios.over, descending=[True, False])
        )
        names = [str(name) for name in order[ratios.over]]
        place = {name: i for i, name in enumerate(names)}
        rows = part.sort(pl.col(ratios.over).replace_strict(place, default=None), maintain_order=True)
        listed.append(rows)
        panel = _dots_panel if dotted else _heat_panel
        panels += panel(ratios, rows, group, names) if names else []
    value = words(str(ratios.basis["category"]))
    title = f"Whom the models draw: share labelled {value} in each scenario{ratios.named}"
    colours = "" if dotted else " Purple is above one half, orange below; the table has the intervals."
    colours += " The upright stroke is the share in the reference." if dotted and ratios.references else ""
    mean = f" mean over the {ratios.line_head}s" if len(ratios.lines) > 1 else ""
    sources = (
        ratios.stored("amplification", by=[ratios.over])["source"].drop_nulls().unique(maintain_order=True)
    )
    beside = [f"Source of the strokes: {listing(sources.to_list(), most=3)}."] if ratios.references else []
    more: dict[str, Any] = {
        "title": title,
        "notes": [*notes_of(every, 0, 0, dots=False), *notes, *beside],
        "reads": f"A row a scenario, the highest{mean} first.{colours}"
        if panels
        else "No scenario has a ratio that could be drawn.",
        "table": _table(ratios, pl.concat(listed) if listed else every, title),
        "stacked": len(panels) > 1 and not dotted,
    }
    return scenario_figure(
        ratios, ratios.rows, ratios.measure, panels, name=f"scenarios{ratios.named}", **more
    )


def _dots_panel(ratios: Ratios, rows: pl.DataFrame, group: str, names: Sequence[str]) -> list[Panel]:
    """A row a scenario, a dot a line of the section, with its interval."""
    begin, short = shortened(names)
    drawn = []
    several = len(ratios.lines) > 1
    for row in rows.iter_rows(named=True):
        said, bare = (estimate_text(ratios.material, row, bare=bare) for bare in (False, True))
        series = row["_line"] if several else None
        known = ratios.references.get((row["_line"], str(row[ratios.over])))
        told = said if known is None else f"{said}, in the reference {number(known, places=2)}"
        drawn.append(
            dot_of(row, short[str(row[ratios.over])], told, bare, series=series, text=said, mark=known)
        )
    spec = dots(drawn, unit=ratios.unit, series=ratios.lines, wrapped=_SIGNS, ticks=(0, 0.5, 1))
    lines = max(len(names), round(_OF_A_DOT * len(drawn)))
    return [Panel(headed(group, begin), spec, panel_words("Scenarios", group, drawn), lines)]


def ranked(rows: pl.DataFrame, over: str, lines: int) -> list[str]:
    """The scenarios that every line kept, the highest mean over the lines first."""
    of = rows.group_by(over).agg(pl.col("value").mean(), lines=pl.col("_line").n_unique())
    kept = of.filter(pl.col("lines") == lines).sort("value", over, descending=[True, False])
    return [str(name) for name in kept[over]]


def by_ratio(rows: pl.DataFrame, over: str) -> pl.DataFrame:
    """The highest ratio first; of equal ones that whose interval ends farther up."""
    return rows.sort("value", "low", "high", over, descending=[True, True, True, False])


def both_ends(names: Sequence[str], most: int) -> list[str]:
    """The first and the last of a ranking, all of a short one."""
    return list(names) if len(names) <= 2 * most else [*names[:most], *names[-most:]]


def heat_rows(
    ratios: Ratios, rows: pl.DataFrame, short: Mapping[str, str], middle: float = 0.0
) -> Iterator[dict[str, Any]]:
    """A cell a scenario and line: its number, coloured by how far it lies from ``middle``."""
    for row in rows.iter_rows(named=True):
        said = f"{estimate_text(ratios.material, row)}, n = {row['n']}"
        yield {
            "line": short[str(row[ratios.over])],
            "column": row["_line"],
            "value": row["value"] - middle,
            "text": number(row["value"], places=2),
            "tip": f"{row[ratios.over]}, {row['_line']}: {said}",
        }


def _of_all(ratios: Ratios, every: pl.DataFrame) -> Figure | None:
    """A table of colours a group: scenarios by their mean over all lines, a column a line."""
    panels, listed, left = [], [], 0
    by = [c for c in ratios.groups if c in every.columns]
    shown_lines = ratios.lines[:_MOST_LINES]
    for part in ratios.material.parts(every, by).values():
        group = ratios.group_of(part.row(0, named=True))
        names = ranked(part, ratios.over, part["_line"].n_unique())
        left += part[ratios.over].n_unique() - len(names)
        place = {name: i for i, name in enumerate(names)}
        rows = part.filter(pl.col(ratios.over).is_in(names))
        rows = rows.sort(pl.col(ratios.over).replace_strict(place, default=None), maintain_order=True)
        listed.append(rows.filter(pl.col(ratios.over).is_in(both_ends(names, _LISTED))))
        panels += _heat_panel(ratios, rows, group, both_ends(names, _ENDS))
    if not panels:
        return None
    line = ratios.line_head
    title = f"The scenarios with the highest and the lowest ratios over all {line}s{ratios.named}"
    notes = [*ratios.left_notes, _SELECTED]
    if left:
        notes.insert(-1, f"Not ranked: {count(left, 'scenario')} that some {line} has no ratio of.")
    reads = (
        f"The {_ENDS} highest and the {_ENDS} lowest of each group, by the mean over the columns. Purple is "
        f"above one half, orange below; intervals are in the table, of {_LISTED} at each end."
    )
    table = _table(ratios, pl.concat(listed), title)
    wide = sum(map(head_width, shown_lines)) > 2 * _SIGNS
    more: dict[str, Any] = {"title": title, "notes": notes, "reads": reads, "table": table, "stacked": wide}
    name = f"scenarios-ends-all{ratios.named}"
    return scenario_figure(ratios, every.drop("_line"), ratios.measure, panels, name=name, **more)


def _heat_panel(ratios: Ratios, rows: pl.DataFrame, group: str, drawn: Sequence[str]) -> list[Panel]:
    """A line a scenario, a column a line of the section."""
    begin, short = shortened(drawn)
    cells = list(heat_rows(ratios, rows.filter(pl.col(ratios.over).is_in(drawn)), short, _HALF))
    if not cells:
        return []
    columns, names = ratios.lines[:_MOST_LINES], [short[name] for name in drawn]
    spec = heat(cells, columns=columns, lines=names, signed=True, top=_HALF)
    return [Panel(headed(group, begin), spec, panel_words("Scenarios", group, cells), len(names))]


def _table(ratios: Ratios, rows: pl.DataFrame, title: str) -> Any:
    """A row a scenario and line, with its interval."""
    columns: dict[str, Any] = {
        "scenario": lambda row: str(row[ratios.over]),
        ratios.line_head: lambda row: row["_line"],
        "ratio [interval]": lambda row: estimate_cell(ratios.material, row),
        "n": lambda row: row["n"],
        "left out": lambda row: row["n_excluded"],
    }
    if any(ratios.group_names):
        columns = {"group": ratios.group_of, **columns}
    if ratios.references:
        columns["in the reference"] = lambda row: TableCell(
            number(ratios.references.get((row["_line"], str(row[ratios.over]))), places=2), numeric=True
        )
    return table_by(title, rows.to_dicts(), columns, f"tables/{ratios.measure}.csv")


def _of_each(ratios: Ratios, every: pl.DataFrame) -> Figure:
    """Each line's scenarios with the highest and the lowest ratios."""
    over = ratios.over
    every = by_ratio(every, over)
    panels = []
    for line in ratios.lines:
        mine = every.filter(_line=line)
        if not mine.height:
            continue
        few = mine.height <= 2 * _ENDS
        shown = mine if few else pl.concat([mine.head(_ENDS), mine.tail(_ENDS)])
        rows = []
        begin, names = shortened([str(name) for name in shown[over]])
        for row in shown.iter_rows(named=True):
            said, short = (estimate_text(ratios.material, row, bare=bare) for bare in (False, True))
            rows.append(dot_of(row, names[str(row[over])], said, short))
        top = [row["label"] for row in rows[:_ENDS]] if not few else []
        spec = dots(rows, unit=ratios.unit, apart=top, wrapped=_SIGNS)
        panels.append(Panel(headed(line, begin), spec, panel_words("Scenarios", line, rows), 2 * len(rows)))
    frame = every.drop("_line")
    title = f"The scenarios with the highest and the lowest ratios of each {ratios.line_head}{ratios.named}"
    more = {
        "title": title,
        "table": table_of(ratios.material, frame, title, file=f"tables/{ratios.measure}.csv"),
        "notes": [*notes_of(frame, 0, 0, dots=False), *ratios.left_notes, f"{_SELECTED} {_TIES}"],
        "reads": f"The {_ENDS} highest, above the line, and the {_ENDS} lowest of each {ratios.line_head}.",
    }
    name = f"scenarios-ends{ratios.named}"
    return scenario_figure(ratios, frame, ratios.measure, panels[:MOST_PANELS], name=name, **more)
