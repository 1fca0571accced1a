"""The section of ratios over scenarios: what leads, the figure that answers, and the lines below it."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.report.arrangement import Disclosure
from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import estimate_text
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material
from stereotrope.report.numbers import count, thousands
from stereotrope.report.sections.scenarios.further import SHARE, further_lines, whole_lines
from stereotrope.report.sections.scenarios.ratios import (
    MEAN,
    RATIO,
    SCENARIO,
    Ratios,
    ScenarioLine,
)
from stereotrope.report.sections.scenarios.spread import (
    DOMINATED,
    FOR_CERTAIN,
    Dominances,
    histogram_rows,
    sentences,
    spread_figure,
)

_MOST_SENTENCES = 6


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    """The figure of each attribute's ratios, and what else is stored of them."""
    every = Ratios.of(material)
    if not every:
        return []
    blocks: list[Block] = []
    whole = whole_lines(material)
    lines = list(whole)
    for ratios in every:
        told, mine = sentences(ratios), further_lines(ratios)
        left = len(told) - _MOST_SENTENCES
        more = [f"The table below has {count(left, 'more model', 'more models')}."] if left > 0 else []
        blocks += [
            Block("text", [*told[:_MOST_SENTENCES], *more]),
            Block(figures=[spread_figure(ratios)]),
            *_behind(mine),
        ]
        lines += [*mine, ScenarioLine("", [], ratios.stored(DOMINATED, FOR_CERTAIN, MEAN))]
    return [*blocks, *_behind(whole), Block("text", [], replaces=_replaced(material, lines))]


def _behind(lines: Sequence[ScenarioLine]) -> list[Block]:
    told = [Disclosure(line.title, line.figures) for line in lines]
    return [Block("lines", told, figures=[f for d in told for f in d.figures])] * bool(told)


def _replaced(material: Material, lines: Sequence[ScenarioLine]) -> frozenset[str]:
    """The measures of which everything is shown here; ratios by scenario are in the histograms."""
    shown = pl.concat([line.shows.select("measure") for line in lines])["measure"].value_counts()
    single = pl.col(SCENARIO).is_not_null() & pl.col("measure").is_in([RATIO, SHARE])
    every = material.scores.filter(~single)["measure"].value_counts()
    whole = shown.join(every, on="measure").filter(pl.col("count") >= pl.col("count_right"))["measure"]
    return frozenset([RATIO, *whole])


def _headline(material: Material) -> tuple[Sequence[str], Sequence[Mapping[str, Any]]]:
    """For the first screen: a sentence a model, and a table with intervals."""
    every = Ratios.of(material)
    told = [sentence for ratios in every for sentence in sentences(ratios)]
    return told, [table for ratios in every if (table := _table(ratios))]


def _table(ratios: Ratios) -> dict[str, Any]:
    """How many scenarios lie at either end, a row a model and group."""
    stored = Dominances(ratios)
    rows, estimates = [], []
    heads: list[str] = []
    for cell in ratios.cells:
        if not (ends := stored.of(cell.model, cell.group)):
            continue
        first = ends[0].plain
        texts = []
        for one in ends:
            heads += [one.heading] * (one.heading not in heads)
            texts.append(estimate_text(ratios.material, one.plain))
            estimates += [row for row in (one.plain, one.certain) if row is not None]
        rows.append([cell.model, cell.group, *texts, thousands(first["n"] or 0)])
    if not rows:
        return {}
    columns = ["model", "group", *heads, "n"]
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
        "replaces": [],
    }


def _tables(material: Material) -> dict[str, tuple[str, pl.DataFrame]]:
    every = Ratios.of(material)
    rows = histogram_rows(every) if every else pl.DataFrame()
    return {"scenario_histograms": ("Scenarios by ratio", rows)} if rows.height else {}


add_section(
    "scenarios",
    "Whom the models draw when the prompt does not say",
    lead="A scenario is one prompt in all its wordings. Its ratio is the share of its pictures labelled with "
    "one of two values, of those labelled with either: perceived presentation as labelled by an annotator, "
    "and only these two values of it. Pictures without either label do not count; they are no random part.",
    place=45,
    make=_blocks,
    headline=_headline,
    tables=_tables,
)
