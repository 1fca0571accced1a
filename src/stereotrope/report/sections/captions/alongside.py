"""Models alongside each other: one line a thing measured, one dot or one column a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stereotrope.report.charts.dots import LABEL_SIGNS, dots
from stereotrope.report.charts.heat import heat
from stereotrope.report.datatable import dot_of, estimate_text, table_of
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, decimals, number
from stereotrope.report.panels import (
    MOST_PANELS,
    Figure,
    Panel,
    domain_of,
    files_of,
    n_text,
    notes_of,
    panel_words,
    safe_name,
)
from stereotrope.report.prose import MeasureProse, listing
from stereotrope.report.sections.captions.scores import band_words, in_band
from stereotrope.report.series import series_in

_GAP = "\u2003"
MOST_SERIES = 3
"""Models whose dots stand in one row; of more, each gets a column of numbers."""
MOST_MODELS = 12
"""Columns of one panel."""
MOST_LINES = 12
"""Lines of one panel besides those set apart."""
MOST_ENTRIES = 14
"""Lines of a panel of one line a prompt."""
_WIDE = 5

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ScoreEntry:
    """One line of a panel: what it is about, and the estimate of each model."""

    label: str
    rows: Mapping[str, Row]
    apart: bool = False

    @property
    def height(self) -> float:
        """Where the line stands among others: the mean over the models."""
        known = [r["value"] for r in self.rows.values() if r["value"] is not None]
        return sum(known) / len(known) if known else -1.0


@dataclass(frozen=True)
class SeriesStyle:
    """How the panels of one figure are drawn, the same for all of them."""

    unit: str
    domain: Sequence[float]
    places: int
    zero_line: bool = False
    bars: bool = False
    base: float = 0.0
    ticks: Sequence[float] = ()
    banded: bool = False

    @classmethod
    def for_frame(cls, frame: pl.DataFrame, unit: str, **more: Any) -> SeriesStyle:
        """One axis and one number of digits for every estimate of a frame."""
        rows = frame.select("value", "low", "high", "floor").to_dicts()
        domain = domain_of(rows)
        sizes = [abs(v) for row in rows for v in row.values() if v is not None]
        sizes_n = frame["n"].drop_nulls().to_list()
        places = decimals(max(sizes, default=1.0), min(sizes_n) if sizes_n else None)
        signed = any(v < 0 for v in frame["value"].drop_nulls())
        return cls(unit, domain, places, **{"zero_line": signed, **more})


def scope_of(material: Material, frame: pl.DataFrame) -> list[str]:
    """Factors that tell prompts apart, those of the estimates only."""
    named = [c for c in material.shown if c in frame.columns and frame[c].drop_nulls().len()]
    return named or [c for c in material.scope_columns(frame) if c not in ("generator", "annotator")]


def scope_words(row: Row, scope: Sequence[str]) -> str:
    """The prompt of an estimate in words."""
    return ", ".join(words(str(row[c])) for c in scope if row.get(c) is not None)


def parts_by_scope(
    material: Material, frame: pl.DataFrame, scope: Sequence[str]
) -> list[tuple[str, pl.DataFrame]]:
    """The rows of each prompt, in the order of the design."""
    parts = frame.partition_by(scope, maintain_order=True) if scope else [frame]
    parts.sort(key=lambda p: [material.position(c, p[c][0]) for c in scope])
    return [(scope_words(p.row(0, named=True), scope), p) for p in parts]


def entries_by_scope(
    material: Material, frame: pl.DataFrame, scope: Sequence[str], label: Callable[[Row], str]
) -> list[ScoreEntry]:
    """A line for each different label, in the order of the design."""
    rows = sorted(frame.iter_rows(named=True), key=lambda r: [material.position(c, r.get(c)) for c in scope])
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(label(row), {}).setdefault(str(row.get("generator") or ""), row)
    return [ScoreEntry(name, by_model) for name, by_model in found.items()]


def labeller(
    rows: pl.DataFrame, scope: Sequence[str], extra: Sequence[str] = ("attribute", "category")
) -> Callable[[Row], str]:
    """The label of a line: the prompt, and of ``extra`` what else tells lines apart."""
    varying = [c for c in extra if rows[c].drop_nulls().n_unique() > 1]

    def label(row: Row) -> str:
        more = [words(str(row[c])) for c in varying if row[c] is not None]
        return ", ".join([*filter(None, [scope_words(row, scope)]), *more]) or "all captions"

    return label


def models_of(material: Material, entries: Sequence[ScoreEntry]) -> list[str]:
    """The models of these lines, in the order of the run."""
    found = {model for entry in entries for model in entry.rows}
    return sorted(found, key=lambda m: material.position("generator", m))


def panel_of(
    material: Material, heading: str, entries: Sequence[ScoreEntry], look: SeriesStyle, *, title: str
) -> Panel:
    """The lines as dots, a colour and a shape a model, or as columns where models are many."""
    models = models_of(material, entries)
    if len(models) > MOST_SERIES:
        return _table_panel(material, heading, entries, models[:MOST_MODELS], look, title)
    rows = [
        _dot(material, entry.label, entry.rows[model], model if len(models) > 1 else "", look)
        for entry in entries
        for model in models
        if model in entry.rows
    ]
    spec = dots(
        rows,
        unit=look.unit,
        domain=look.domain,
        series=models,
        zero_line=look.zero_line,
        bars=look.bars,
        apart=[entry.label for entry in entries if entry.apart],
        wrapped=LABEL_SIGNS,
        ticks=look.ticks,
    )
    return Panel(heading, spec, panel_words(title, heading, rows), len(rows))


def _dot(material: Material, label: str, row: Row, model: str, look: SeriesStyle) -> dict[str, Any]:
    said = estimate_text(material, row, places=look.places)
    if look.banded and (band := band_words(row)):
        said = f"{in_band(row, look.places)}{_GAP}{band}"
    floored = row["value"] is not None and row["floor"] is not None
    base = (look.base or None) if floored else None
    return dot_of(row, label, said, series=model or None, base=base, short=_short(row, look))


def _short(row: Row, look: SeriesStyle) -> str:
    return "n. d." if row["value"] is None else number(row["value"], places=look.places)


def _table_panel(
    material: Material,
    heading: str,
    entries: Sequence[ScoreEntry],
    models: Sequence[str],
    look: SeriesStyle,
    title: str,
) -> Panel:
    rows = [
        {
            "line": entry.label,
            "column": model,
            "value": row["value"],
            "text": _short(row, look),
            "tip": _dot(material, entry.label, row, model, look)["tip"],
        }
        for entry in entries
        for model in models
        if (row := entry.rows.get(model)) is not None
    ]
    top = max(abs(end) for end in look.domain)
    lines = [entry.label for entry in entries]
    spec = heat(rows, columns=models, lines=lines, signed=look.zero_line, top=top)
    return Panel(heading, spec, panel_words(title, heading, rows), len(lines))


def figure_of(
    material: Material,
    frame: pl.DataFrame,
    prose: MeasureProse,
    panels: Sequence[Panel],
    *,
    name: str,
    notes: Sequence[str] = (),
    reads: str = "",
    defined: bool = True,
) -> Figure:
    """The panels as one figure, bounded, with a table of all its rows.

    ``frame`` holds the rows that the figure is about; ``prose`` its title, unit and definition.
    """
    models = frame["generator"].drop_nulls().unique().to_list() if "generator" in frame.columns else []
    said = []
    if len(panels) > MOST_PANELS:
        said.append(
            f"Not drawn: {count(len(panels) - MOST_PANELS, 'panel')}; the rows are in {_where(frame)}."
        )
    if len(models) > MOST_SERIES and panels:
        cut = len(models) - MOST_MODELS
        more = f" {count(cut, 'model is', 'models are')} in the table only." if cut > 0 else ""
        said.append(f"One column a model; the table has the intervals.{more}")
    return Figure(
        name=safe_name(name),
        title=prose.title,
        prose=prose,
        n=n_text(material, frame),
        panels=list(panels[:MOST_PANELS]),
        table=table_of(material, frame, prose.title, file=f"tables/{series_in(frame)[0].name}.csv"),
        notes=[*notes, *said, *notes_of(frame, 0, 0, dots=False)],
        reads=reads or prose.reads,
        defined=defined,
        stacked=len(models) > _WIDE,
    )


def _where(frame: pl.DataFrame) -> str:
    names = [series.name for series in series_in(frame)]
    return files_of(names[0]) if len(names) == 1 else f"the files of {listing(names, most=4)} in tables/"
