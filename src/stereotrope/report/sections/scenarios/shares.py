"""Shares of other labels beside the ratios: by model, and the scenarios in which each value is shown most."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import polars as pl

from stereotrope.report.charts.dots import dots
from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.charts.heat import head_width, heat
from stereotrope.report.datatable import dot_of, estimate_cell, estimate_text, table_by
from stereotrope.report.figures import figures_of
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count
from stereotrope.report.panels import MOST_PANELS, Figure, Panel, domain_of, notes_of, panel_words
from stereotrope.report.sections.scenarios.ends import heat_rows, ranked
from stereotrope.report.sections.scenarios.ratios import (
    Ratios,
    ScenarioLine,
    headed,
    only,
    scenario_figure,
    shortened,
)
from stereotrope.report.series import Series

SHARE = "share"
_TOP = 5
"""Scenarios of each value that are drawn."""
_LISTED = 10
_MOST_LINES = 10
_HEADS_BESIDE = 40


def share_lines(ratios: Ratios, attributes: Collection[str]) -> list[ScenarioLine]:
    """A line an attribute that has no ratios (``attributes`` have): by model, then by scenario."""
    material, over = ratios.material, ratios.over
    shares = material.scores.filter(measure=SHARE)
    known = ("generator", *ratios.crossing)
    factors = [c for c in material.factors if c in shares.columns]
    whole = [pl.col(c).is_null() for c in factors if c not in known]
    inside = (*known, over, *ratios.groups)
    single = [pl.col(c).is_null() for c in factors if c not in inside]
    lines = []
    for rows in shares.partition_by("attribute", maintain_order=True) if shares.height else []:
        attribute = str(rows["attribute"][0])
        by_model, of_scenarios = rows.filter(*whole), rows.clear()
        if over in rows.columns:
            of_scenarios = rows.filter(*single, pl.col(over).is_not_null())
        figures = list(_by_model(ratios, by_model))
        if attribute not in attributes:
            figures += _tops(ratios, of_scenarios)
        rest = rows.filter(pl.col(over).is_null() if over in rows.columns else True)
        rest = rest.join(by_model, on=rest.columns, how="anti", nulls_equal=True)
        figures += figures_of(only(material, rest), Series(SHARE)) if rest.height else []
        if figures:
            lines.append(ScenarioLine(f"Shares of labels: {words(attribute)}", figures, rows))
    return lines


def _parts(rows: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Rows of one annotator each, with its name where there are several."""
    if "annotator" not in rows.columns or rows["annotator"].n_unique() < 2:
        yield "", rows
        return
    for (name,), part in rows.group_by("annotator", maintain_order=True):
        yield f" ({name})", part


def _by_model(ratios: Ratios, rows: pl.DataFrame) -> Iterator[Figure]:
    """A row a value, a dot a model."""
    if not rows.height:
        return
    for named, part in _parts(rows):
        material, attribute = ratios.material, str(part["attribute"][0])
        order = _order(material, attribute, part)
        records = sorted(
            part.iter_rows(named=True),
            key=lambda r: (order[r["category"]], [material.position(c, r.get(c)) for c in _lines_by(ratios)]),
        )
        lines = list(dict.fromkeys(map(ratios.line_of, records)))
        if len(lines) > len(PALETTE):
            yield from figures_of(only(material, part), Series(SHARE))
            continue
        drawn = [
            dot_of(
                row,
                words(str(row["category"])),
                estimate_text(material, row),
                estimate_text(material, row, bare=True),
                series=ratios.line_of(row),
            )
            for row in records
        ]
        prose = material.explain(SHARE, part["definition"][0])
        title = f"{prose.title}: {words(attribute)}{named}"
        spec = dots(drawn, unit=prose.unit, domain=domain_of(records), series=lines)
        panel = Panel("", spec, panel_words(title, "", drawn), len(drawn))
        name = f"scenarios-share-{attribute}{named}"
        more = {"title": title, "notes": notes_of(part, 0, 0)}
        yield scenario_figure(ratios, part, SHARE, [panel], name=name, **more)


def _lines_by(ratios: Ratios) -> tuple[str, ...]:
    return ("generator", *ratios.crossing)


def _order(material: Material, attribute: str, rows: pl.DataFrame) -> Mapping[Any, int]:
    """The values in the order in which they were offered; else by the number in them, or by their share."""
    offered: dict[Any, None] = {}
    for annotator in material.info.get("annotators") or []:
        offered |= dict.fromkeys((annotator.get("attributes") or {}).get(attribute) or [])
    found = (
        rows.group_by("category")
        .agg(pl.col("value").mean())
        .sort("value", "category", descending=[True, False])
    )
    values = found["category"].to_list()
    numbers = {value: re.search(r"\d+", str(value)) for value in values}
    if all(numbers.values()):
        # “Less than 20” comes before “20-29”.
        values.sort(key=lambda v: (int(n[0]) if (n := numbers[v]) else 0, str(v)[0].isdigit()))
    offered |= dict.fromkeys(values)
    return {value: i for i, value in enumerate(offered)}


def _tops(ratios: Ratios, rows: pl.DataFrame) -> Iterator[Figure]:
    """A table of colours a value: the scenarios whose pictures show it most, by their mean over all lines."""
    enough = pl.col("n") >= 0.5 * (pl.col("n") + pl.col("n_excluded").fill_null(0))
    rows = rows.filter(enough, pl.col("value").is_not_null())
    if not rows.height:
        return
    for named, part in _parts(rows):
        of = [ratios.line_of(row) for row in part.iter_rows(named=True)]
        every = part.with_columns(_line=pl.Series(of, dtype=pl.String))
        material, attribute = ratios.material, str(part["attribute"][0])
        shown = [line for line in ratios.lines if line in set(of)][:_MOST_LINES]
        panels, listed = [], []
        order = _order(material, attribute, part)
        for value in sorted(part["category"].unique(), key=lambda v: order[v]):
            mine = every.filter(category=value)
            ever = set(mine.filter(pl.col("value") > 0)[ratios.over])
            names = [n for n in ranked(mine, ratios.over, mine["_line"].n_unique()) if n in ever]
            place = {name: i for i, name in enumerate(names[:_LISTED])}
            chosen = mine.filter(pl.col(ratios.over).is_in(list(place)))
            chosen = chosen.sort(pl.col(ratios.over).replace_strict(place, default=None), maintain_order=True)
            listed.append(chosen)
            drawn = names[:_TOP]
            begin, short = shortened(drawn)
            cells = list(heat_rows(ratios, chosen.filter(pl.col(ratios.over).is_in(drawn)), short))
            if cells:
                spec = heat(cells, columns=shown, lines=[short[name] for name in drawn], top=1.0)
                told = panel_words("Scenarios", str(value), cells)
                panels.append(Panel(headed(words(str(value)), begin), spec, told, len(drawn)))
        title = f"The scenarios with the largest share of each {words(attribute)}{named}"
        columns: dict[str, Any] = {
            words(attribute): lambda row: str(row["category"]),
            "scenario": lambda row: str(row[ratios.over]),
            ratios.line_head: lambda row: row["_line"],
            "share [interval]": lambda row: estimate_cell(ratios.material, row),
            "n": lambda row: row["n"],
            "left out": lambda row: row["n_excluded"],
        }
        table = table_by(title, pl.concat(listed).to_dicts(), columns, f"tables/{SHARE}.csv")
        notes = [
            "These are the first of a ranking: with other pictures the same scenarios would, on average, "
            "read less."
        ]
        if cut := len(panels) - MOST_PANELS:
            notes += [f"Not drawn: {count(cut, 'value')}; the table has them."] * (cut > 0)
        reads = (
            f"Of each value the {_TOP} scenarios with the largest share by the mean over the columns; "
            f"lighter is more. Intervals are in the table, of {_LISTED} each."
        )
        more: dict[str, Any] = {"title": title, "notes": notes, "reads": reads, "table": table}
        more["stacked"] = sum(map(head_width, shown)) > _HEADS_BESIDE
        name = f"scenarios-top-{attribute}{named}"
        yield scenario_figure(ratios, part, SHARE, panels, name=name, **more)
