"""What a figure is made of: panels, words for those who cannot see them, notes on what is not drawn."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import polars as pl

from stereotrope.escape import ellipsis, visible
from stereotrope.report.datatable import MOST_ROWS, Table, table_of
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.numbers import WHOSE_Q, count, thousands
from stereotrope.report.prose import MeasureProse, listing
from stereotrope.report.series import Estimate, series_in, series_of
from stereotrope.tables import ESTIMATE_COLUMNS, MARKS, warnings_of

MOST_PANELS = 12
"""Panels of one figure; what has more is drawn as an overview, and the files hold every row."""
MOST_CELLS = 800
"""Cells of one figure, as :data:`MOST_PANELS`."""
FEW_VALUES = 3
"""Levels or values up to which they are set side by side in one row."""
NEUTRAL = ("absent", "no", "none")
"""Of two values the one that needs no drawing."""
SIGNIFICANT = 0.05
"""q at or below which a dot is drawn full."""


_MOST_REASONS = 4
_PLACES = ("value", "start", "x")
"""Where a mark stands: what a row without one of them lacks."""
_MOST_OPEN = 50
_ROWS_AROUND = 3
"""Rows that the head and the axis of a panel take the place of."""
_TELLING = ("definition", "contrast", "reference", "attribute", "category", "method")


@dataclass(frozen=True)
class Panel:
    """One chart of a figure."""

    title: str
    spec: Mapping[str, Any]
    alt: str
    rows: int

    @property
    def is_empty(self) -> bool:
        """Whether its axes would have no mark."""
        return not any(place in row for row in self.spec["data"]["values"] for place in _PLACES)


@dataclass(frozen=True)
class Figure:
    """A figure with everything that is needed to believe it.

    ``crowded`` marks an overview of very many conditions, ``detail`` what stands beside such a one: it is
    exported as SVG only. ``cut`` counts rows and panels that are not drawn, though they have a value.
    ``stacked`` panels stand below one another, and of a narrow page are as wide as they need unless each
    ``fits``.
    """

    name: str
    title: str
    prose: MeasureProse
    n: str
    panels: Sequence[Panel]
    table: Table
    notes: Sequence[str] = field(default=())
    reads: str = ""
    defined: bool = True
    stacked: bool = False
    fits: bool = False
    crowded: bool = False
    detail: bool = False
    cut: int = 0

    @classmethod
    def of(
        cls,
        material: Material,
        frame: pl.DataFrame,
        prose: MeasureProse,
        title: str,
        name: str,
        panels: Sequence[Panel],
        **more: Any,
    ) -> Self:
        """The figure of estimates of one series, its table with all of their columns."""
        if "table" not in more:
            more["table"] = table_of(material, frame, title, file=f"tables/{prose.name}.csv")
        return cls(safe_name(name), title, prose, n_text(material, frame), panels, **more)

    @property
    def tall(self) -> bool:
        """Whether it takes more than about one screen and a half, panels standing two abreast."""
        rows = sum(panel.rows + _ROWS_AROUND for panel in self.panels)
        return rows / (1 if self.stacked or len(self.panels) == 1 else 2) > _MOST_OPEN


def all_zero(frame: pl.DataFrame) -> bool:
    """Whether every value that is defined is 0, so that a figure would show nothing."""
    known = frame["value"].drop_nulls()
    return bool(known.len()) and not any(known)


def undefined_words(frame: pl.DataFrame) -> str:
    """The reasons of the rows without a value, each with its count, the most frequent first."""
    why = frame.filter(pl.col("value").is_null())["undefined"].replace("", None)
    reasons = Counter(why.fill_null("no reason given")).items()
    ordered = sorted(reasons, key=lambda x: (-x[1], x[0]))
    cut = len(ordered) if len(ordered) <= _MOST_REASONS else _MOST_REASONS - 1
    told = [f"{reason} ({thousands(k)})" for reason, k in ordered[:cut]]
    if rest := ordered[cut:]:
        told.append(f"{count(len(rest), 'other reason')} ({thousands(sum(k for _, k in rest))})")
    return "; ".join(told)


def row_labels(records: Sequence[Estimate], columns: Sequence[str], places: Sequence[Any]) -> list[str]:
    """The levels of each row in words; rows of one label and one of ``places`` say in what they differ."""
    labels: list[str] = []
    alike: dict[tuple[str, Any], list[int]] = {}
    each = any(row.get("generator") for row in records)
    for i, (row, place) in enumerate(zip(records, places, strict=True)):
        parts = ["all models"] * (each and "generator" in columns and row.get("generator") is None)
        parts += [level_words(c, row[c]) for c in columns if row.get(c) is not None]
        labels.append(", ".join(parts) or str(row.get("generator") or "all pictures"))
        alike.setdefault((labels[i], place), []).append(i)
    for members in (found for found in alike.values() if len(found) > 1):
        rows = [records[i] for i in members]
        varying = [c for c in rows[0] if len({str(r[c]) for r in rows}) > 1]
        differs = [c for c in varying if c not in ESTIMATE_COLUMNS] or [c for c in varying if c in _TELLING]
        for i in members:
            more = [words(str(records[i][c])) for c in differs if records[i][c] is not None]
            labels[i] = ", ".join([labels[i], *more])
    return labels


def varying_columns(material: Material, frame: pl.DataFrame) -> list[str]:
    """What tells the rows of a frame apart beside attribute and value: factors, references."""
    reference = ["reference"] * (frame["reference"].drop_nulls().n_unique() > 1)
    return [*material.scope_columns(frame), *reference]


def rows_and_panels(material: Material, frame: pl.DataFrame) -> tuple[str | None, list[str]]:
    """The column whose levels are set side by side, and the others that vary."""
    columns = varying_columns(material, frame)
    row = material.row_factor if material.row_factor in columns else next(reversed(columns), None)
    return row, [c for c in columns if c != row]


def without_neutral(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """The rows of the telling one of two values, and the neutral one that is left out."""
    values = rows["category"].drop_nulls().unique().to_list()
    neutral = [value for value in values if value in NEUTRAL]
    if len(values) != 2 or len(neutral) != 1:
        return rows, []
    return rows.filter(pl.col("category") != neutral[0]), neutral


def parts_of(material: Material, frame: pl.DataFrame, by: Sequence[str]) -> list[tuple[str, pl.DataFrame]]:
    """The panels of a figure with their titles, in the order of the design."""
    parts = material.parts(frame, by).items()
    return [
        (" · ".join(level_words(*at) for at in zip(by, levels, strict=True) if at[1] is not None), rows)
        for levels, rows in parts
    ]


def domain_of(rows: Sequence[Estimate], *, ranks: bool = False) -> list[float]:
    """Ends of the axis that holds every value, interval and floor; 0 is always in it."""
    ends = [r[c] for r in rows for c in ("value", "low", "high", "floor") if r.get(c) is not None]
    if not ends:
        return [0.0, 1.0]
    if ranks:
        return [min(ends) - 0.5, max(ends) + 0.5]
    low, high = min(0.0, *ends), max(0.0, *ends)
    if high == low:
        high = 1.0
    margin = 0.03 * (high - low)
    return [low - margin if low < 0 else 0.0, high + margin]


def panel_words(title: str, heading: str, rows: Sequence[Estimate]) -> str:
    """A panel for those who cannot see it: what it is about and its first rows."""
    said = "; ".join(f"{r['tip']}" for r in rows[:6])
    more = f"; {len(rows) - 6} more in the data table" if len(rows) > 6 else ""
    return visible(ellipsis(f"{title}. {heading + ': ' if heading else ''}{said}{more}.", 700))


def files_of(name: str) -> str:
    """The files that hold every row of a series, in words."""
    return f"the files tables/{name}.csv and .parquet"


def safe_name(name: str) -> str:
    """A name that is one in an anchor and in a file; a changed one ends in a part of its hash."""
    safe = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in name)[:80]
    if safe == name:
        return safe
    return f"{safe[:71]}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def n_text(material: Material, frame: pl.DataFrame) -> str:
    """How many pictures, or scores, a row is made of."""
    n = frame["n"].drop_nulls()
    if not len(n):
        return "n is not given"
    low, high = int(n.min() or 0), int(n.max() or 0)  # type: ignore[arg-type]
    text = thousands(low) if low == high else f"{thousands(low)} to {thousands(high)}"
    most: dict[str, int] = {}
    columns = ("measure", *MARKS, "definition", "attribute")
    left_out = frame.filter(pl.col("n_excluded") > 0).group_by(columns, maintain_order=True)
    for row in left_out.agg(pl.col("n_excluded").max()).iter_rows(named=True):
        what = material.explain(series_of(row), row["definition"]).counts_left_out(row["attribute"])
        most[what] = max(row["n_excluded"], most.get(what, 0))
    counted = listing([count(n, what) if what else thousands(n) for what, n in most.items()])
    left = f", at most {counted} left out" if most else ""
    if all(series.mean for series in series_in(frame)):
        return f"Mean of {text} scores a row{left}"
    return f"n = {text} a row{left}"


def notes_of(frame: pl.DataFrame, panels_cut: int, rows_cut: int, *, dots: bool = True) -> list[str]:
    """What must be said below a figure: tests, undefined rows, what is not drawn, warnings."""
    notes = []
    tested = frame.filter(pl.col("q_value").is_not_null())
    if dots and tested.height:
        full, able = tested.filter(pl.col("q_value") <= SIGNIFICANT).height, tested
        if "p_least" in tested.columns:
            able = tested.filter(pl.col("p_least").fill_null(0.0).fill_nan(0.0) <= SIGNIFICANT)
        expected = SIGNIFICANT * able.height
        chance = thousands(round(expected)) if expected > 9 else f"{expected:.2g}"
        notes.append(
            f"● q ≤ {SIGNIFICANT}: {thousands(full)} of {thousands(tested.height)} rows. ○ q above it. "
            f"If nothing differed, {'at most ' * (able.height < tested.height)}about {chance} "
            f"would have p ≤ {SIGNIFICANT} by chance."
        )
    if tested.height:
        notes.append(WHOSE_Q)
    undefined = frame.filter(pl.col("value").is_null()).height
    if undefined:
        are = f"{thousands(undefined)} of {count(frame.height, 'row')} {'is' if undefined == 1 else 'are'}"
        notes.append(f"{are} not defined: {undefined_words(frame)}.")
    if frame["bound_low"].count():
        notes.append(
            "Where more than 5% of the labels are missing, the table gives the bounds: the value if none, "
            "and if all, of these were the one counted."
        )
    if panels_cut or rows_cut:
        parts = [count(panels_cut, "panel")] * bool(panels_cut) + [count(rows_cut, "row")] * bool(rows_cut)
        files = files_of(series_in(frame)[0].name)
        where = "the table and in the files" if frame.height <= MOST_ROWS else files
        notes.append(f"Not drawn: {' and '.join(parts)}; they are in {where}.")
    flags = sorted({flag for cell in frame["flags"].unique() for flag in warnings_of(cell)})
    if flags:
        notes.append(f"Warnings in this figure: {', '.join(words(f) for f in flags)}; see the table.")
    return notes
