"""Models alongside each other: one line a thing measured, one dot or one column a model."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

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
    all_zero,
    domain_of,
    files_of,
    notes_of,
    panel_words,
)
from stereotrope.report.prose import ALL_ZERO, MeasureProse, listing
from stereotrope.report.sections.captions.scores import Basis, band_words, in_band
from stereotrope.report.series import Estimate, series_in

MOST_SERIES = 3
"""Models whose dots stand in one row; of more, each gets a column of numbers."""
MOST_ENTRIES = 14
"""Lines of a panel of one line a prompt."""
_MOST_MODELS = 12
"""Columns of one panel."""
_WIDE = 5

Labeller = Callable[[Estimate], str]


@dataclass(frozen=True)
class ScoreEntry:
    """One line of a panel: what it is about, and the estimate of each model."""

    label: str
    rows: Mapping[str, Estimate]
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
    def for_frame(cls, frame: pl.DataFrame, unit: str, **more: Any) -> Self:
        """One axis and one number of digits for every estimate of a frame; ``more`` are other fields."""
        rows = frame.select("value", "low", "high", "floor").to_dicts()
        size = max((abs(v) for row in rows for v in row.values() if v is not None), default=1.0)
        signed = bool((frame["value"] < 0).any())
        style = cls(unit, domain_of(rows), decimals(size, frame["n"].min()), zero_line=signed)  # type: ignore[arg-type]
        return replace(style, **more)

    @property
    def drawn(self) -> dict[str, Any]:
        """What a chart of dots takes of it."""
        return {name: getattr(self, name) for name in ("unit", "domain", "zero_line", "bars", "ticks")}


def joined_prose(parts: Iterable[MeasureProse], title: str) -> MeasureProse:
    """The words of a figure of several measures."""
    parts = list(parts)
    return replace(
        parts[0],
        title=title,
        unit="",
        definition=" ".join(f"{p.short}: {p.definition}" for p in parts),
        reads=" ".join(f"{p.short}: {p.reads}" for p in parts),
        source="; ".join(dict.fromkeys(s for p in parts for s in p.source.split("; "))),
    )


@dataclass
class Drawing:
    """A figure in the making: panels in which models stand side by side, and a table of all rows.

    scope: Factors that tell prompts apart, those of the estimates only.
    prose: Its title, unit and words; given before the first panel.
    cut: Lines that no panel has room for.
    """

    material: Material
    basis: Basis
    panels: list[Panel] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    cut: int = 0

    def __post_init__(self) -> None:
        self.frame, material = self.basis.frame, self.material
        named = [c for c in material.shown if c in self.frame.columns and self.frame[c].count()]
        others = ("generator", "annotator")
        self.scope = named or [c for c in material.scope_columns(self.frame) if c not in others]
        self.prose: MeasureProse

    def titled(self, prose: MeasureProse, title: str = "") -> None:
        """Take the words of the figure; its title says of which definition and lexicon it is."""
        self.prose = replace(prose, title=f"{title or prose.title}{self.basis.named}")

    def explained(self, measures: Sequence[str]) -> dict[str, MeasureProse]:
        """The words of those measures that there are estimates of."""
        there = set(self.frame["measure"])
        return {m: self.material.explain(m, self.basis.definition) for m in measures if m in there}

    def of(self, *measures: str) -> pl.DataFrame:
        """The estimates of some measures."""
        return self.frame.filter(pl.col("measure").is_in(measures))

    def by_prompt(self, frame: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """The rows of each prompt with its name, in the order of the design."""
        parts = self.material.parts(frame, self.scope).values()
        return [(_levels(p.row(0, named=True), self.scope), p) for p in parts if p.height]

    def labeller(
        self, rows: pl.DataFrame, extra: Sequence[str] = (), *, otherwise: str = "all captions"
    ) -> Labeller:
        """The label of a line: the prompt, and of ``extra`` what else tells lines apart."""
        told = [*self.scope, *(c for c in extra if rows[c].drop_nulls().n_unique() > 1)]
        return lambda row: _levels(row, told) or otherwise

    def lines(
        self, rows: pl.DataFrame, label: Labeller | Sequence[str] = (), *, apart: bool = False
    ) -> list[ScoreEntry]:
        """A line for each different label, in the order of the design.

        label: Names them; else they are named by the prompt and these columns.
        apart: They are set apart from the others.
        """
        named = label if callable(label) else self.labeller(rows, label)
        found: dict[str, dict[str, Estimate]] = {}
        position = self.material.position
        ordered = sorted(rows.iter_rows(named=True), key=lambda r: [position(c, r[c]) for c in self.scope])
        for row in ordered:
            found.setdefault(named(row), {}).setdefault(str(row.get("generator") or ""), row)
        return [ScoreEntry(name, by_model, apart) for name, by_model in found.items()]

    def models(self, entries: Sequence[ScoreEntry]) -> list[str]:
        """The models of these lines, in the order of the run."""
        found = {model for entry in entries for model in entry.rows}
        return sorted(found, key=lambda model: self.material.position("generator", model))

    def add(
        self, heading: str, entries: Sequence[ScoreEntry], look: SeriesStyle, most: int | None = None
    ) -> None:
        """A panel of lines as dots, a colour and a shape a model, or as columns where models are many."""
        kept = entries[:most]
        self.cut += len(entries) - len(kept)
        every = self.models(kept)
        models = every[:_MOST_MODELS]
        shown = [(entry, model) for entry in kept for model in models if model in entry.rows]
        drawn = [
            _dot(self.material, entry.label, entry.rows[model], model if len(models) > 1 else None, look)
            for entry, model in shown
        ]
        said = panel_words(self.prose.title, heading, drawn)
        if len(every) <= MOST_SERIES:
            apart = [entry.label for entry in kept if entry.apart]
            spec = dots(drawn, **look.drawn, series=models, apart=apart, wrapped=LABEL_SIGNS)
            self.panels.append(Panel(heading, spec, said, len(drawn)))
            return
        cells = [
            {"line": entry.label, "column": model}
            | {"value": dot["value"], "text": dot["short"], "tip": dot["tip"]}
            for (entry, model), dot in zip(shown, drawn, strict=True)
        ]
        lines = [entry.label for entry in kept]
        top = max(abs(end) for end in look.domain)
        spec = heat(cells, columns=models, lines=lines, signed=look.zero_line, top=top)
        self.panels.append(Panel(heading, spec, said, len(lines)))

    def figure(self, name: str, *, reads: str = "", frame: pl.DataFrame | None = None) -> Figure:
        """The figure; ``frame`` holds the rows of its table where these are not those of its basis."""
        frame = self.frame if frame is None else frame
        models = frame["generator"].drop_nulls().n_unique() if "generator" in frame.columns else 0
        files = [series.name for series in series_in(frame)]
        notes = list(self.notes)
        if self.panels and all_zero(frame):
            self.panels, notes = [], [ALL_ZERO]
        if self.cut:
            left = count(self.cut, "further line is", "further lines are")
            notes.append(f"{left} in the table and in the files only.")
        if (undrawn := len(self.panels) - MOST_PANELS) > 0:
            many = f"the files of {listing(files, most=4)} in tables/"
            where = files_of(files[0]) if len(files) == 1 else many
            notes.append(f"Not drawn: {count(undrawn, 'panel')}; the rows are in {where}.")
        if models > MOST_SERIES and self.panels:
            out = models - _MOST_MODELS
            more = f" {count(out, 'model is', 'models are')} in the table only." if out > 0 else ""
            notes.append(f"One column a model; the table has the intervals.{more}")
        title, notes = self.prose.title, [*notes, *notes_of(frame, 0, 0, dots=False)]
        table = table_of(self.material, frame, title, file=f"tables/{files[0]}.csv")
        name, panels = "-".join([name, *self.basis.marks]), self.panels[:MOST_PANELS]
        told = {"table": table, "notes": notes, "reads": reads or self.prose.reads, "stacked": models > _WIDE}
        return Figure.of(self.material, frame, self.prose, title, name, panels, **told)


def _dot(
    material: Material, label: str, row: Estimate, model: str | None, look: SeriesStyle
) -> dict[str, Any]:
    said = estimate_text(material, row, places=look.places)
    if look.banded and (band := band_words(row)):
        said = f"{in_band(row, look.places)}\u2003{band}"
    defined = row["value"] is not None
    base = (look.base or None) if defined and row["floor"] is not None else None
    short = number(row["value"], places=look.places)
    return dot_of(row, label, said, short, series=model or None, base=base)


def _levels(row: Estimate, columns: Sequence[str]) -> str:
    """The levels of an estimate in words."""
    return ", ".join(words(str(row[c])) for c in columns if row.get(c) is not None)
