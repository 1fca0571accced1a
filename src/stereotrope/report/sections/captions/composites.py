"""The composite scores of each prompt with their intervals, against the bands they are read by."""

from dataclasses import replace

import polars as pl

from stereotrope.report.contract import Block
from stereotrope.report.material import Material
from stereotrope.report.numbers import count, number
from stereotrope.report.panels import Figure, Panel
from stereotrope.report.prose import MeasureProse, listing
from stereotrope.report.sections.captions.alongside import (
    MOST_ENTRIES,
    SeriesStyle,
    entries_by_scope,
    figure_of,
    labeller,
    panel_of,
    scope_of,
)
from stereotrope.report.sections.captions.bases import Basis, block_by_basis
from stereotrope.report.sections.captions.scores import COMPOSITE_MEASURES
from stereotrope.tables import BANDS


def composites_block(material: Material) -> Block | None:
    """Both composites, a panel each; None without any."""
    every = material.scores.filter(pl.col("measure").is_in(COMPOSITE_MEASURES))
    return block_by_basis(material, every, _figure)


def _figure(material: Material, basis: Basis) -> Figure:
    definition, frame = basis.definition, basis.frame
    scope = scope_of(material, frame)
    edges = [band.most for band in BANDS]
    panels: list[Panel] = []
    parts: list[MeasureProse] = []
    cut = 0
    for measure in COMPOSITE_MEASURES:
        rows = frame.filter(pl.col("measure") == measure)
        if not rows.height:
            continue
        prose = material.explain(measure, definition)
        parts.append(prose)
        look = replace(
            SeriesStyle.for_frame(frame, prose.unit, zero_line=False),
            domain=(0.0, 1.0),
            ticks=(0.0, *edges),
            banded=True,
        )
        entries = entries_by_scope(material, rows, scope, labeller(rows, scope, ("attribute",)))
        cut += max(0, len(entries) - MOST_ENTRIES)
        panels.append(panel_of(material, prose.short, entries[:MOST_ENTRIES], look, title=prose.title))
    prose = replace(
        parts[0],
        title=f"{parts[0].title if len(parts) == 1 else 'The composite scores of each prompt'}{basis.named}",
        unit="",
        definition=" ".join(f"{p.short}: {p.definition}" for p in parts),
        source="; ".join(dict.fromkeys(s for p in parts for s in p.source.split("; "))),
    )
    bands = listing([f"{band.name} up to {number(band.most, places=2)}" for band in BANDS[:-1]])
    reads = (
        f"The lines are the edges of the bands: {bands}, {BANDS[-1].name} above. "
        "They are a convention of the authors and no test. "
        + " ".join(f"{p.short}: {p.reads}" for p in parts)
    )
    notes = [f"{count(cut, 'further line is', 'further lines are')} in the table only."] * bool(cut)
    name = basis.called("captions-composites")
    return figure_of(material, frame, prose, panels, name=name, notes=notes, reads=reads)
