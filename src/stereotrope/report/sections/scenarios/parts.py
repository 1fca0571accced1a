"""The section of ratios over scenarios: what leads, the figure that answers, and the lines below it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.report.arrangement import Disclosure
from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import estimate_text
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, thousands
from stereotrope.report.prose import listing
from stereotrope.report.sections.scenarios.ends import by_ratio, is_small, named_figure
from stereotrope.report.sections.scenarios.further import further_lines, whole_line
from stereotrope.report.sections.scenarios.ratios import IN_SHARES, MEAN, Ratios, ScenarioLine, shortened
from stereotrope.report.sections.scenarios.shares import SHARE, share_lines
from stereotrope.report.sections.scenarios.spread import (
    DOMINATED,
    FOR_CERTAIN,
    Dominances,
    histogram_rows,
    sentences,
    spread_figure,
    spread_notes,
)

_TITLE = "Whom the models draw when the prompt does not say"
_SPREAD = "How the ratios of the scenarios are spread"
_MOST_SENTENCES = 6
_MOST_ENDS = 12


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    """The figure of each attribute's ratios, and what else is stored of them."""
    every = Ratios.of(material)
    if not every:
        return _unread(material)
    blocks: list[Block] = [Block("text", [], heading=(_TITLE, _lead(every)))]
    lines: list[ScenarioLine] = []
    for ratios in every:
        told, mine = sentences(ratios), further_lines(ratios)
        left = len(told) - _MOST_SENTENCES
        more = [f"The table below has {count(left, f'more {ratios.line_head}')}."] if left > 0 else []
        answer, spread = _answer(ratios)
        # Of a small study the figure says it all, and the first screen what no finding says.
        told = [] if spread or material.without_findings else [*told[:_MOST_SENTENCES], *more]
        blocks += [Block("text", told), answer]
        mine = [*spread, *mine]
        blocks += _behind(mine)
        lines += [*mine, ScenarioLine("", [], ratios.stored(DOMINATED, FOR_CERTAIN, MEAN))]
    whole = _whole(every)
    return [*blocks, *_behind(whole), Block("text", [], replaces=_replaced(every, [*lines, *whole]))]


def _unread(material: Material) -> list[Block]:
    """What to do where an older run does not say which ratios its measures read."""
    calls = [call for call in material.info.get("measures") or [] if "on" not in call]
    over = [call.get("measure", "") for call in calls if call.get("over") in material.factors]
    if not any(material.explain(name).section == IN_SHARES for name in over):
        return []
    told = (
        "This run was measured by a version that did not note which ratios its scores over scenarios are of, "
        "so that they stand below in general figures. `stereotrope measure` with this run's folder computes "
        "them again from the stored labels, asks no model, and gives them the figures of this section."
    )
    return [Block("note", [told], heading=(_TITLE, ""))]


def _answer(ratios: Ratios) -> tuple[Block, list[ScenarioLine]]:
    """The figure that answers: of a small study every scenario by name, with the histogram behind a line."""
    if not is_small(ratios):
        return Block(figures=[spread_figure(ratios.apart)]), []
    named, spread = named_figure(ratios, spread_notes(ratios)), spread_figure(ratios.apart, _SPREAD)
    spread = replace(spread, notes=[*sentences(ratios), *spread.notes])
    return Block(figures=[named]), [ScenarioLine(_SPREAD, [spread], ratios.rows.clear())]


def _lead(every: Sequence[Ratios]) -> str:
    """What a scenario and its ratio are, in the words of the run."""
    told = dict.fromkeys(ratios.prose.definition for ratios in every)
    factors = dict.fromkeys(words(ratios.over) for ratios in every)
    named = "" if "scenario" in factors else f" (here each {listing([*factors])})"
    return (
        f"A scenario{named} is what a prompt asks for, in all its wordings. Its ratio: {' '.join(told)} "
        "Pictures without such a label do not count, and which these are is not random."
    )


def _whole(every: Sequence[Ratios]) -> list[ScenarioLine]:
    """What is not of single ratios: each measure once."""
    known = {str(ratios.basis["attribute"]) for ratios in every}
    of = {ratios.measure: ratios for ratios in every}
    lines = [whole_line(ratios) for name, ratios in of.items() if name != SHARE]
    return [line for line in [*lines, *share_lines(every[0], known)] if line is not None and line.figures]


def _behind(lines: Sequence[ScenarioLine]) -> list[Block]:
    told = [Disclosure(line.title, [replace(f, detail=True) for f in line.figures]) for line in lines]
    return [Block("lines", told, figures=[f for d in told for f in d.figures])] * bool(told)


def _replaced(every: Sequence[Ratios], lines: Sequence[ScenarioLine]) -> frozenset[str]:
    """The measures of which everything is shown here; ratios by scenario are in the histograms."""
    material, ratios = every[0].material, {one.measure for one in every}
    shown = pl.concat([line.shows.select("measure") for line in lines])["measure"].value_counts()
    whole = shown.join(material.scores["measure"].value_counts(), on="measure")
    return frozenset([*ratios, *whole.filter(pl.col("count") >= pl.col("count_right"))["measure"]])


def _headline(material: Material) -> tuple[Sequence[str], Sequence[Mapping[str, Any]]]:
    """For the first screen: a sentence a model, and a table with intervals."""
    every = Ratios.of(material)
    told = [sentence for ratios in every for sentence in sentences(ratios)]
    return told, [table for ratios in every for table in (_table(ratios), _ends(ratios)) if table]


def _ends(ratios: Ratios) -> dict[str, Any]:
    """The highest and the lowest ratios of each line, as few as a screen takes."""
    rows, estimates = [], []
    each = max(1, _MOST_ENDS // (2 * len(ratios.lines)))
    for line in ratios.lines:
        shown = [cell.shown for cell in ratios.cells if cell.line == line and cell.shown.height]
        if shown:
            found = by_ratio(pl.concat(shown), ratios.over).to_dicts()
            ends = found if len(found) <= 2 * each else [*found[:each], *found[-each:]]
            estimates += [{k: v for k, v in row.items() if v is not None} for row in ends]
            rows += [
                [line, str(row[ratios.over]), estimate_text(ratios.material, row), thousands(row["n"])]
                for row in ends
            ]
    if not rows:
        return {}
    begin, short = shortened([row[1] for row in rows])
    kept = [0, 1, 2, 3] if len(ratios.lines) > 1 else [1, 2, 3]
    named = f" ({begin} …)" if begin else ""
    heads = [ratios.line_head, f"scenario{named}", "ratio [interval]", "n"]
    return {
        "what": "ends",
        "title": f"Scenarios with the highest and the lowest ratios{ratios.named}",
        "columns": [heads[i] for i in kept],
        "rows": [[[row[0], short[row[1]], *row[2:]][i] for i in kept] for row in rows],
        "estimates": estimates,
        "notes": ratios.left_notes,
        "replaces": [ratios.measure],
    }


def _table(ratios: Ratios) -> dict[str, Any]:
    """How many scenarios lie at either end, a row a model and group."""
    stored = Dominances(ratios)
    rows, estimates = [], []
    heads: list[str] = []
    for cell in ratios.cells:
        if not (ends := stored.of(cell.line, cell.group)):
            continue
        first = ends[0].plain
        texts = []
        for one in ends:
            heads += [one.heading] * (one.heading not in heads)
            texts.append(estimate_text(ratios.material, one.plain))
            estimates += [row for row in (one.plain, one.certain) if row is not None]
        rows.append([cell.line, cell.group, *texts, thousands(first["n"] or 0)])
    if not rows:
        return {}
    columns = [ratios.line_head, "group", *heads, "n"]
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    return {
        "what": "scenarios",
        "title": f"Share of scenarios at either end of the ratios{ratios.named}",
        "columns": [columns[i] for i in kept],
        "rows": [[row[i] for i in kept] for row in rows],
        "estimates": [
            {k: v for k, v in row.items() if v is not None or k in ("value", "undefined")}
            for row in estimates
        ],
        "replaces": [DOMINATED, FOR_CERTAIN],
    }


def _tables(material: Material) -> dict[str, tuple[str, pl.DataFrame]]:
    every = Ratios.of(material)
    rows = histogram_rows(every) if every else pl.DataFrame()
    return {"scenario_histograms": ("Scenarios by ratio", rows)} if rows.height else {}


add_section(
    "scenarios",
    _TITLE,
    place=35,
    make=_blocks,
    headline=_headline,
    tables=_tables,
)
