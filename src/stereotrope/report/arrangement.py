"""What of a run's figures stands open in the page, what waits behind a line, and what is a sentence."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from stereotrope.report.charts.dots import dots
from stereotrope.report.datatable import Table, table_of
from stereotrope.report.figures import dot_rows
from stereotrope.report.material import Material
from stereotrope.report.numbers import count, thousands
from stereotrope.report.panels import (
    NEUTRAL,
    Figure,
    Panel,
    all_zero,
    domain_of,
    notes_of,
    panel_words,
    safe_name,
    undefined_words,
    varying_columns,
)
from stereotrope.report.prose import ALL_ZERO, OTHER
from stereotrope.report.series import OVER_ALL, Series, series_of

_MOST_ROWS = 24
"""Rows of a figure that stands open; of one with more the strongest do."""
_MOST_PANELS = 6
_STRONGEST = 10
_LABEL_SIGNS = 22
_RANKED = "Each condition has a ranking of its own; those of all are behind these lines."


@dataclass(frozen=True)
class Disclosure:
    """Figures behind one line."""

    title: str
    figures: Sequence[Figure]


@dataclass(frozen=True)
class Aside:
    """A sentence in place of figures that would be empty, with the table behind it."""

    sentence: str
    table: Table


@dataclass(frozen=True)
class Chapter:
    """A measure and what derives from it: one figure that stands open, the others behind lines.

    ``note`` says why no figure is open, ``remarks`` what is not defined.
    """

    title: str
    lead: Figure | None = None
    note: str = ""
    further: Sequence[Disclosure] = ()
    remarks: Sequence[Aside] = field(default=())

    @property
    def figures(self) -> list[Figure]:
        """Every figure, the open one first."""
        return [*([self.lead] if self.lead else []), *(f for d in self.further for f in d.figures)]


def arranged(
    material: Material,
    made: Mapping[Series, Sequence[Figure]],
    *,
    drawn: Collection[str],
    repeated: Mapping[str, str],
    known: Collection[str],
) -> dict[str, list[Chapter]]:
    """The chapters of each section, in the order of the measures.

    made: The figures of each series.
    drawn: Measures whose figures their section draws: rows of one alone would say half of it.
    repeated: What is said in place of an open figure that repeats what a section shows, by section.
    known: Sections that there are; measures of others stand in ``other``.
    """
    families: dict[str, list[Series]] = {}
    for series in made:
        families.setdefault(material.explain(series).beneath or series.measure, []).append(series)
    sections: dict[str, list[Chapter]] = {}
    for family, members in families.items():
        made_of = {series: made[series] for series in members}
        prose = material.explain(family)
        chapter = _chapter(material, family, made_of, repeated.get(prose.repeats, ""), family in drawn)
        sections.setdefault(prose.section if prose.section in known else OTHER, []).append(chapter)
    return sections


def _chapter(
    material: Material,
    family: str,
    made: Mapping[Series, Sequence[Figure]],
    repeated: str,
    drawn_by_section: bool,
) -> Chapter:
    prose = material.explain(family)
    frames = {series: series.rows(material.estimates) for series in made}
    drawn = [m for m in made if any(f.panels for f in made[m])]
    undefined = [m for m in made if made[m] and not frames[m]["value"].count()]
    silent = [m for m in made if m in undefined or (made[m] and not drawn)]
    remarks = [_remark(material, m, made[m][0], frames[m] if m in undefined else None) for m in silent]
    shown = [m for m in made if m not in undefined] if drawn else []
    if not shown:
        return Chapter(prose.title, remarks=remarks)
    if any(f.crowded for f in made[shown[0]]) and (mean := replace(shown[0], mean=True)) in shown:
        shown.remove(mean)
        shown.insert(0, mean)
    shown.sort(key=lambda m: (m not in drawn, m.measure != family))
    first = made[shown[0]][0]
    few = 0 < sum(panel.rows for panel in first.panels) <= _MOST_ROWS and len(first.panels) <= _MOST_PANELS
    lead = first if few and not first.cut else None
    note = "" if lead else repeated or (_RANKED if first.prose.scale == "rank" else "")
    if not (lead or note or drawn_by_section):
        lead = _strongest(material, frames[shown[0]])
    own = [f for f in made[shown[0]] if f is not lead]
    further = _own_lines(shown[0].name, own, frames[shown[0]])
    for series in shown[1:]:
        further.append(_behind(material.explain(series).heading, made[series]))
    return Chapter(prose.title, lead, note, [d for d in further if d.figures], remarks)


def _behind(title: str, figures: Sequence[Figure]) -> Disclosure:
    """Figures behind a line that counts them."""
    of = f" ({count(len(figures), 'figure')})" if len(figures) > 1 else ""
    return Disclosure(f"{title}{of}", figures)


def _own_lines(name: str, figures: Sequence[Figure], frame: pl.DataFrame) -> list[Disclosure]:
    """The lines of the leading measure itself: all its rows, and its attributes."""
    whole = [f for f in figures if not _is_part(name, f)]
    parts = [f for f in figures if _is_part(name, f)]
    lines = [
        Disclosure(f"{_which([f])} {count(f.table.total, 'row')}" if len(whole) == 1 else f.title, [f])
        for f in whole
    ]
    if parts:
        all_rows = "" if whole or len(parts) == 1 else f"{_which(parts)} {thousands(frame.height)} rows, "
        by = "by attribute" if all_rows else "By attribute"
        lines.append(_behind(f"{all_rows}{by}", parts))
    return lines


def _which(figures: Sequence[Figure]) -> str:
    """Whether figures and their tables show every row, in the words of a line."""
    whole = all(not f.cut and len(f.table.rows) == f.table.total for f in figures)
    return "All" if whole else "More of"


def _is_part(name: str, figure: Figure) -> bool:
    """Whether a figure is of one attribute, or of all of them side by side."""
    rest = figure.name.removeprefix(safe_name(name))
    return bool(rest) and not rest.removeprefix("-").isdigit()


def _remark(material: Material, series: Series, figure: Figure, undefined: pl.DataFrame | None) -> Aside:
    """Why no figure shows a series: no row is defined, or the reason that its figure gives."""
    prose = material.explain(series)
    if undefined is None:
        why = figure.notes[-1] if figure.notes else figure.reads
        return Aside(f"{prose.heading}: {why[:1].lower()}{why[1:]}", figure.table)
    n = undefined.height
    of = "the only row is not" if n == 1 else f"none of {thousands(n)} rows is"
    table = table_of(material, undefined, prose.title, file=f"tables/{series.name}.csv")
    return Aside(f"{prose.heading}: {of} defined: {undefined_words(undefined)}.", table)


def _strongest(material: Material, frame: pl.DataFrame) -> Figure:
    """The rows of a large figure that are farthest from what they would read if there were nothing."""
    whole = frame.filter(OVER_ALL)
    frame = whole if whole["value"].count() else frame
    definition = frame.filter(pl.col("value").is_not_null())["definition"][0]
    every = frame.filter(pl.col("definition").eq_missing(definition))
    frame = _once(every)
    chosen = _chosen(frame, min(_STRONGEST, frame["value"].count()), every.height - frame.height)
    prose = material.explain(series_of(frame.row(0, named=True)), definition)
    columns = [c for c in ("attribute", "category") if frame[c].drop_nulls().n_unique() > 1]
    columns += varying_columns(material, frame)
    floors = bool(frame["floor"].count())
    records = sorted(
        frame.filter(pl.col("value").is_not_null()).iter_rows(named=True),
        key=lambda r: (
            # What has no interval, or lacks the floor that others have, leads nothing.
            (r["low"] is None, floors and r["floor"] is None, (r["floor"] or 0.0) - abs(r["value"])),
            -(r["n"] or 0),
            [material.position(c, r[c]) for c in columns],
        ),
    )[:_STRONGEST]
    rows = dot_rows(material, records, columns)
    domain = domain_of(records)
    spec = dots(rows, unit=prose.unit, domain=domain, zero_line=domain[0] < 0, wrapped=_LABEL_SIGNS)
    panels = [Panel("", spec, panel_words(prose.title, "", rows), len(rows) * 2)]
    nothing = all_zero(frame)
    shown, caption = pl.DataFrame(records, schema=frame.schema), f"{prose.title}: {chosen}"
    more = {
        "table": table_of(material, shown, caption, file=f"tables/{prose.name}.csv"),
        "notes": [*notes_of(frame, 0, 0, dots=not nothing), *([ALL_ZERO] if nothing else [])],
        "reads": f"{chosen} {prose.reads if whole.height else ''}".strip(),
    }
    name = f"{prose.name}-strongest"
    return Figure.of(
        material, frame, prose, prose.title, name, [] if nothing else panels, detail=True, **more
    )


def _chosen(frame: pl.DataFrame, shown: int, mirrored: int) -> str:
    """Which rows are shown, of how many."""
    defined = frame["value"].count()
    more = f"; {thousands(mirrored)} more say the same of the other of two values" if mirrored else ""
    if shown == defined:
        return f"All {count(shown, 'defined row')}, the strongest first{more}."
    if frame["floor"].count():
        return f"The {shown} rows farthest above their noise floor, of {thousands(defined)}{more}."
    return f"The {shown} largest of {thousands(defined)} rows{more}."


def _once(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows without those that only mirror others: of two values of an attribute one says it all."""
    if not frame["category"].count() or frame["attribute"].null_count():
        return frame
    kept = []
    for _, rows in frame.group_by("attribute", maintain_order=True):
        values = sorted(rows["category"].drop_nulls().unique(), key=lambda v: (v in NEUTRAL, v))
        kept.append(rows.filter(pl.col("category") == values[0]) if len(values) == 2 else rows)
    return pl.concat(kept)
