"""How much more often captions name one declared side than the other."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.report.contract import Block
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count
from stereotrope.report.panels import Figure
from stereotrope.report.sections.captions.alongside import (
    SeriesStyle,
    entries_by_scope,
    figure_of,
    panel_of,
    scope_of,
    scope_words,
)
from stereotrope.report.sections.captions.bases import Basis, bases_of

SIGNED, UNSIGNED = "signed_parity", "parity_difference"
_REST = {"others": "all other groups", "rest": "all others and unknown"}
"""References that stand for every other group: the named ones, or those and unknown."""
_ONE_PANEL = 14
_MOST_LINES = 14


def declared() -> pl.Expr:
    """Rows whose two sides somebody chose: the lexicon does, or the attribute has two groups only."""
    return pl.col("sides").eq_missing("declared")


def sides_words(row: Mapping[str, Any]) -> str:
    """The difference in words: ``white less all other groups``."""
    second = _REST.get(str(row["reference"]), words(str(row["reference"])))
    return f"{words(str(row['category']))} less {second}"


def parity_block(material: Material) -> Block | None:
    """Signed differences of the declared sides; None where there is none."""
    every = material.scores.filter(pl.col("measure").is_in((SIGNED, UNSIGNED)))
    figures = [
        figure for basis in bases_of(material, every) if (figure := _figure(material, basis)) is not None
    ]
    if not figures:
        return None
    present = set(every["measure"].unique().to_list())
    return Block(figures=figures, replaces=frozenset(present))


def _figure(material: Material, basis: Basis) -> Figure | None:
    frame = basis.frame
    chosen = frame.filter(declared())
    rows = chosen if chosen.height else frame
    drawn = rows.filter(pl.col("measure") == SIGNED)
    measure = SIGNED if drawn.height else UNSIGNED
    drawn = rows.filter(pl.col("measure") == measure)
    if not drawn.height:
        return None
    prose = material.explain(measure, basis.definition)
    prose = replace(prose, title=f"{prose.title}{basis.named}")
    scope = scope_of(material, frame)
    look = SeriesStyle.for_frame(drawn, prose.unit)
    entries = entries_by_scope(
        material, drawn, scope, lambda r: ": ".join(filter(None, (scope_words(r, scope), sides_words(r))))
    )
    notes = []
    if len(entries) <= _ONE_PANEL:
        panels = [panel_of(material, "", entries, look, title=prose.title)]
    else:
        panels, left = [], 0
        for attribute in drawn["attribute"].unique(maintain_order=True).to_list():
            here = [e for e in entries if next(iter(e.rows.values()))["attribute"] == attribute]
            left += max(0, len(here) - _MOST_LINES)
            panels.append(
                panel_of(material, words(str(attribute)), here[:_MOST_LINES], look, title=prose.title)
            )
        if left:
            notes.append(f"{count(left, 'further line is', 'further lines are')} in the table only.")
    notes += _others(frame.filter(pl.col("measure") == measure), drawn.height)
    if (rows["measure"] == UNSIGNED).any() and measure == SIGNED:
        notes.append("The table has the same differences without their sign too, as the paper's PD.")
    name = basis.called("captions-parity")
    return figure_of(material, rows, prose, panels, name=name, notes=notes)


def _others(every: pl.DataFrame, drawn: int) -> list[str]:
    """How many pairs of groups are not drawn, and where they are."""
    left = every.height - drawn
    if not left:
        return []
    measure = every["measure"][0]
    return [
        f"{count(left, 'other pair', 'other pairs')} of groups, which nobody set against each other, "
        f"{'is' if left == 1 else 'are'} in the files tables/{measure}.csv and .parquet."
    ]
