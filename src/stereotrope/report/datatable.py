"""Estimates as a table: formatted in one way, undefined ones with their reason, linked to pictures."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from stereotrope.escape import ellipsis
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.numbers import interval, number, probability, thousands
from stereotrope.report.series import Estimate, series_in, series_of
from stereotrope.tables import warnings_of

MOST_ROWS = 300
"""Rows up to which a data table stands whole in the page."""
FIRST_ROWS = 40
"""Rows that are shown of a longer one; the files hold all."""
_UNBROKEN = 36
_BOUNDS = ("bound_low", "bound_high")


@dataclass(frozen=True)
class TableCell:
    """One cell of a table."""

    text: str
    numeric: bool = False
    href: str | None = None

    @property
    def long(self) -> bool:
        """Whether the text may be broken over lines."""
        return len(self.text) > _UNBROKEN


@dataclass(frozen=True)
class Table:
    """A data table; ``total`` counts the rows that there are, shown or not."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[TableCell]]
    total: int
    file: str = ""

    def __post_init__(self) -> None:
        texts = [[cell.text for cell in row] for row in self.rows]
        object.__setattr__(self, "columns", heads_of(self.columns, texts))


_INTERVAL = " [interval]"


def heads_of(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The heads of columns, without ``[interval]`` where no row has one."""
    return [
        name if any(" [" in row[i] for row in rows) else name.removesuffix(_INTERVAL)
        for i, name in enumerate(columns)
    ]


def shown_rows(total: int) -> int:
    """How many rows of a table stand in the page: all, or of a long one the first."""
    return total if total <= MOST_ROWS else FIRST_ROWS


def dot_of(
    row: Estimate, label: str, said: str, bare: str, *, series: str | None = None, text: str = "", **more: Any
) -> dict[str, Any]:
    """An estimate as a dot: where it, its interval and its floor lie, and what is said of it.

    ``said`` is its :func:`estimate_text`, ``bare`` that of the value alone, ``text`` what stands beside
    the dot where that is more.
    """
    drawn = row["value"] is not None
    n = "" if row.get("n") is None else f", n = {row['n']}"
    return {
        "label": label,
        "series": series,
        "value": row["value"],
        "low": row.get("low"),
        "high": row.get("high"),
        "floor": row.get("floor") if drawn else None,
        "text": ellipsis(text or said, 60),
        "short": bare if drawn else "n. d.",
        "tip": f"{', '.join(filter(None, (label, series)))}: {said}{n}",
        **more,
    }


def estimate_text(material: Material, row: Estimate, *, places: int | None = None, bare: bool = False) -> str:
    """Value and interval of an estimate, or its ``bare`` value, to ``places`` digits; or why it has none."""
    if row["value"] is None:
        return f"not defined: {row['undefined'] or 'no reason given'}"
    ends = (row["value"], row["low"], row["high"])
    if places is None and material.explain(series_of(row)).scale == "rank":
        places = 0 if all(x is None or float(x).is_integer() for x in ends) else 1
    return interval(*ends, row["n"], places=places, bare=bare)


def table_by(
    caption: str,
    rows: Sequence[Any],
    columns: Mapping[str, Callable[[Any], TableCell | str | int | None]],
    file: str = "",
) -> Table:
    """A table of rows of any kind: by its head what makes the cell of a column, a text or a number of things.

    file: Holds all rows: a long table is cut.
    """
    kept = rows[: shown_rows(len(rows))] if file else rows
    cells = [[cell_of(make(row)) for make in columns.values()] for row in kept]
    return Table(caption, list(columns), cells, len(rows), file)


def cell_of(made: TableCell | str | int | None) -> TableCell:
    """A text or a number of things as a cell; None is an empty one of a column of numbers."""
    if isinstance(made, str):
        return TableCell(made)
    if isinstance(made, TableCell):
        return made
    return TableCell("" if made is None else thousands(made), numeric=True)


def plain_table(caption: str, table: Mapping[str, Any], file: str) -> Table:
    """A table of texts; the first ``labels`` columns name the row, the others are numbers."""
    labels = table["labels"]
    cells = [[TableCell(text, numeric=i >= labels) for i, text in enumerate(row)] for row in table["rows"]]
    return Table(caption, table["columns"], cells[: shown_rows(len(cells))], len(cells), f"tables/{file}.csv")


def estimate_cell(material: Material, row: Estimate) -> TableCell:
    """Value and interval of an estimate, or why there is none."""
    return TableCell(estimate_text(material, row), numeric=row["value"] is not None)


def pictures_cell(material: Material, scope: Mapping[str, Any]) -> TableCell:
    """The way to the pictures of a condition."""
    sheet = material.find_sheet(scope)
    return TableCell("see", href=f"#{sheet.anchor}") if sheet else TableCell("")


_figure_cell = partial(TableCell, numeric=True)
_COLUMNS: Mapping[str, tuple[str, Callable[[Material, Estimate], TableCell]]] = {
    "value": ("value [interval]", estimate_cell),
    "floor": ("floor", lambda _, r: _figure_cell(number(r["floor"], r["n"]))),
    "excess": ("excess", lambda _, r: _figure_cell(number(r["excess"], r["n"]))),
    "z": ("z", lambda _, r: _figure_cell(number(r["z"], r["n"], places=1))),
    "adjusted": (
        "adjusted [interval]",
        lambda _, r: _figure_cell(interval(r["adjusted"], r["adjusted_low"], r["adjusted_high"], r["n"])),
    ),
    "bound_low": (
        "bounds for what is missing",
        lambda _, r: _figure_cell(" to ".join(number(r[c], r["n"]) for c in _BOUNDS if r[c] is not None)),
    ),
    "p_value": ("p", lambda _, r: _figure_cell(probability(r["p_value"]))),
    "q_value": ("q", lambda _, r: _figure_cell(probability(r["q_value"]))),
    "n": ("n", lambda _, r: cell_of(r["n"])),
    "n_reference": ("n reference", lambda _, r: cell_of(r["n_reference"])),
    "excluded": ("left out", lambda material, r: TableCell(left_out_text(material, r))),
    "flags": ("warnings", lambda _, r: TableCell(words(", ".join(warnings_of(r["flags"]))))),
    "measure": ("pictures", pictures_cell),
}
"""What is told of an estimate: a column that it has, its head and its cell."""
_ALWAYS = ("value", "n", "measure")


def table_of(material: Material, frame: pl.DataFrame, caption: str, *, file: str = "") -> Table:
    """The estimates as a table with one formatting, columns without content left out."""
    names = frame.columns
    filled = [c for c in names if frame[c].count()]
    further = names[names.index("definition") + 1 : names.index("contrast")]
    kinds = (("generator", *material.factors), ("reference", "attribute", "category"), further)
    scope = list(dict.fromkeys(c for kind in kinds for c in filled if c in kind))
    constant = [c for c in scope if frame[c].n_unique() == 1 and frame.height > 1]
    scope = [c for c in scope if c not in constant]
    if constant:
        alike = ", ".join(f"{words(c)} {frame[c][0]}" for c in constant)
        caption = f"{caption.removesuffix('.')}. In every row: {alike}"
    several = len(series_in(frame)) > 1
    told = [column for name, column in _COLUMNS.items() if name in _ALWAYS or name in filled]
    heads = [*["measure"] * several, *(words(c) for c in scope), *(head for head, _ in told)]
    rows = [
        [
            *[TableCell(material.explain(series_of(r), r["definition"]).short)] * several,
            *(TableCell(level_words(c, r[c])) for c in scope),
            *(cell(material, r) for _, cell in told),
        ]
        for r in frame.head(shown_rows(frame.height)).iter_rows(named=True)
    ]
    return Table(caption, heads, rows, frame.height, file)


def pairs_of(text: str) -> dict[str, Any] | None:
    """What a cell of JSON says of each key; None where it holds anything else."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def left_out_text(material: Material, row: Estimate) -> str:
    """What does not count and why: ``{"unclear": 2}`` of labels as ``labels: 2 unclear``."""
    reasons = pairs_of(row["excluded"] or "{}")
    if reasons is None:
        return str(row["excluded"])
    told = ", ".join(f"{n} {words(str(reason))}" for reason, n in reasons.items())
    what = material.explain(series_of(row), row["definition"]).counts_left_out(row["attribute"])
    return f"{what}s: {told}" if told and what else told
