"""Estimates as a table: formatted in one way, undefined ones with their reason, linked to pictures."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stereotrope.report.escape import ellipsis
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import interval, number, probability, thousands
from stereotrope.report.series import series_in, series_of
from stereotrope.tables import warnings_of

MOST_ROWS = 300
"""Rows up to which a data table stands whole in the page."""
FIRST_ROWS = 40
"""Rows that are shown of a longer one; the files hold all."""
_UNBROKEN = 36
_OPTIONAL = (("floor", "floor"), ("excess", "excess"), ("z", "z"))


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


def shown_rows(total: int) -> int:
    """How many rows of a table stand in the page: all, or of a long one the first."""
    return total if total <= MOST_ROWS else FIRST_ROWS


def dot_of(
    row: Mapping[str, Any], label: str, said: str, *, series: str | None = None, text: str = "", **more: Any
) -> dict[str, Any]:
    """An estimate as a dot: where it, its interval and its floor lie, and what is said of it.

    ``said`` is its :func:`estimate_text`, ``text`` what stands beside the dot where that is more.
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
        "short": said.partition(" [")[0] if drawn else "n. d.",
        "tip": f"{', '.join(filter(None, (label, series)))}: {said}{n}",
        **more,
    }


def estimate_text(material: Material, row: Mapping[str, Any], *, places: int | None = None) -> str:
    """Value and interval of an estimate, to ``places`` digits where given, or why there is none."""
    if row["value"] is None:
        return f"not defined: {row['undefined'] or 'no reason given'}"
    ends = (row["value"], row["low"], row["high"])
    if places is None and material.explain(series_of(row)).scale == "rank":
        places = 0 if all(x is None or float(x).is_integer() for x in ends) else 1
    return interval(*ends, row["n"], places=places)


def plain_table(caption: str, table: Mapping[str, Any], file: str) -> Table:
    """A table of texts; the first ``labels`` columns name the row, the others are numbers."""
    labels = table["labels"]
    cells = [[TableCell(text, numeric=i >= labels) for i, text in enumerate(row)] for row in table["rows"]]
    return Table(caption, table["columns"], cells[: shown_rows(len(cells))], len(cells), f"tables/{file}.csv")


def table_of(material: Material, frame: pl.DataFrame, caption: str, *, file: str = "") -> Table:
    """The estimates as a table with one formatting, columns without content left out."""
    scope = [
        c for c in frame.columns if c in ("generator", *material.factors) and frame[c].drop_nulls().len()
    ]
    scope += [
        c
        for c in frame.columns
        if c in ("reference", "attribute", "category") and frame[c].drop_nulls().len()
    ]
    scope += [c for c in frame.columns if c not in scope and _is_extra_factor(frame, c)]
    constant = [c for c in scope if frame[c].n_unique() == 1 and frame.height > 1]
    several = len(series_in(frame)) > 1
    scope = [c for c in scope if c not in constant]
    if constant:
        caption += ". In every row: " + ", ".join(f"{words(c)} {frame[c][0]}" for c in constant)
    present = {c for c in frame.columns if frame[c].drop_nulls().len()}
    heads = ["measure"] * several + [words(c) for c in scope] + ["value [interval]"]
    heads += [title for name, title in _OPTIONAL if name in present]
    heads += ["adjusted [interval]"] * ("adjusted" in present)
    heads += ["bounds for what is missing"] * ("bound_low" in present)
    heads += ["p"] * ("p_value" in present) + ["q"] * ("q_value" in present)
    heads += ["n"] + ["n reference"] * ("n_reference" in present) + ["left out"] * ("excluded" in present)
    heads += ["warnings"] * ("flags" in present) + ["pictures"]
    rows = [
        [
            *[TableCell(material.explain(series_of(r), r["definition"]).short)] * several,
            *_table_row(material, r, scope, present),
        ]
        for r in frame.head(shown_rows(frame.height)).iter_rows(named=True)
    ]
    return Table(caption, heads, rows, frame.height, file)


def _bounds(r: Mapping[str, Any]) -> str:
    if r["bound_low"] is None:
        return ""
    return f"{number(r['bound_low'], r['n'])} to {number(r['bound_high'], r['n'])}"


def _is_extra_factor(frame: pl.DataFrame, column: str) -> bool:
    names = frame.columns
    inside = names.index("definition") < names.index(column) < names.index("contrast")
    return inside and frame[column].drop_nulls().len() > 0


def _table_row(
    material: Material, r: Mapping[str, Any], scope: Sequence[str], present: set[str]
) -> list[TableCell]:
    n = r["n"]
    cells = [
        TableCell(words(str(r[c])) if c == "attribute" and r[c] else str(r[c]) if r[c] is not None else "–")
        for c in scope
    ]
    cells.append(TableCell(estimate_text(material, r), numeric=r["value"] is not None))
    for name in [name for name, _ in _OPTIONAL if name in present]:
        cells.append(TableCell(number(r[name], n, places=1 if name == "z" else None), numeric=True))
    if "adjusted" in present:
        cells.append(
            TableCell(interval(r["adjusted"], r["adjusted_low"], r["adjusted_high"], n), numeric=True)
        )
    if "bound_low" in present:
        cells.append(TableCell(_bounds(r), numeric=True))
    cells += [TableCell(probability(r[c]), numeric=True) for c in ("p_value", "q_value") if c in present]
    cells.append(TableCell(thousands(n) if n is not None else "", numeric=True))
    if "n_reference" in present:
        cells.append(
            TableCell(thousands(r["n_reference"]) if r["n_reference"] is not None else "", numeric=True)
        )
    if "excluded" in present:
        cells.append(TableCell(left_out_text(material, r)))
    if "flags" in present:
        cells.append(TableCell(words(", ".join(warnings_of(r["flags"])))))
    sheet = material.find_sheet(r)
    cells.append(TableCell("see", href=f"#{sheet.anchor}") if sheet else TableCell(""))
    return cells


def left_out_text(material: Material, row: Mapping[str, Any]) -> str:
    """What does not count and why: ``{"unclear": 2}`` of labels as ``labels: 2 unclear``."""
    try:
        reasons = json.loads(row["excluded"] or "{}")
    except ValueError:
        return str(row["excluded"])
    if not isinstance(reasons, dict):
        return str(row["excluded"])
    told = ", ".join(f"{n} {words(str(reason))}" for reason, n in reasons.items())
    what = material.explain(series_of(row), row["definition"]).counts_left_out(row["attribute"])
    return f"{what}s: {told}" if told and what else told
