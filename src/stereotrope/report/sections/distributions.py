"""The labels themselves: one row a condition, one column an attribute, one strip each."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Any

import polars as pl

from stereotrope.escape import ellipsis, visible
from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.charts.heat import strips
from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import TableCell, table_by
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, thousands
from stereotrope.report.prose import listing
from stereotrope.report.sheets import Sheet
from stereotrope.shipped import shipped
from stereotrope.tables import N_SUBJECTS

_MOST_SHOWN, _FEW_SHOWN = 12, 8
"""Distributions up to which all are shown, and how many are shown where there are more."""

_OTHER = "other values"
_NEUTRAL = ("absent", "no", "none")
_SHARES = "representation_parity"
_UNKNOWN = "unknown"
"""The value of what names none of the groups: it stands last and has no colour of a group."""
_MOST_VALUES = 7
_MOST_COLOURS = 14
_ROW_LEVELS = 4
_SHORTEST_LABELLED = 24
_WIDTHS = {5: 132, 6: 112, 7: 96, 8: 75}
_WIDEST = 160
_SIGN_WIDTH = 6.0
_CAPITAL_MORE = 2.4
_GENDER = ("gender", "sex", "presentation")
_TITLE = "What the pictures show"
_LEAD = "The labels themselves. Colours are drawn in the colour they name where it is known."
_OF_CAPTIONS = (
    "What captions name",
    "What a lexicon reads in the captions, one by one; “unknown” where a caption names no group. No one "
    "labelled the pictures themselves, which may show what their captions do not name.",
)
_MOST_OPEN = 45
"""Lines of the figures of strips that stand open."""
_LINES_AROUND = 10
"""Lines that the head and the key of a figure of strips take the place of."""
_MOST_OPEN_LINES = 24
_MOST_LINES = 240
_MOST_COLUMNS = 24
"""Attributes, of each annotator, side by side in a figure of strips: Vega ends at some thousand."""


@dataclass(frozen=True)
class Segment:
    """One value in a strip, in words; ``css`` names a palette class, ``colour`` an actual colour."""

    value: str
    count: int
    start: float
    width: float
    css: str
    colour: str | None
    text: str
    dark_text: bool


@dataclass(frozen=True)
class Strip:
    """The labels of one attribute in one condition."""

    segments: Sequence[Segment]
    n: int
    left_out: int
    said: str


@dataclass(frozen=True)
class Line:
    """One condition: its name, its strips, pictures: those that findings point at, then its first."""

    title: str
    anchor: str
    strips: Sequence[Strip]
    pictures: Sequence[str]


@dataclass(frozen=True)
class Distribution:
    """Conditions set side by side on the same attributes; a share of 1 is ``width`` units long.

    ``read`` are the attributes that a lexicon reads in captions, ``more`` conditions have no line and
    ``more_columns`` attributes of an annotator no strip.
    """

    name: str
    title: str
    width: int
    attributes: Sequence[str]
    lines: Sequence[Line]
    keys: Sequence[tuple[str, Sequence[Segment]]]
    read: Sequence[str] = ()
    more: int = 0
    more_columns: int = 0

    @property
    def of_captions(self) -> bool:
        """Whether every attribute is read in captions, none in a picture."""
        return len(self.read) == len(self.attributes)


def _shown(material: Material) -> tuple[list[Distribution], str]:
    """All distributions, of very many those that findings point at, then the first; what is not shown."""
    lead = _leading(material)
    groups = _groups(material, lead)
    if len(groups) <= _MOST_SHOWN:
        return distributions(material), ""
    of = {sheet.anchor: key for key, sheets in groups.items() for sheet in sheets}
    told = list(dict.fromkeys(of[anchor] for anchor in material.highlighted))
    shown = distributions(material, list(dict.fromkeys([*told, *groups]))[:_FEW_SHOWN])
    more = "those that findings point at, then the first" if told else "the first"
    which = more if len(told) <= _FEW_SHOWN else f"the first of {thousands(len(told))} that findings point at"
    each = " and ".join(["model", *map(words, lead)])
    return shown, (
        f"Shown: {len(shown)} of {thousands(len(groups))} figures, one a {each}: {which}. "
        "The labels of all are counted by condition in the files tables/labels.csv and "
        ".parquet."
    )


def _leading(material: Material) -> list[str]:
    """Factors each of whose levels gets a figure of its own."""
    row = material.row_factor
    levels = len(material.level_order.get(row, [])) if row else 0
    return [f for f in material.shown if f != row] if levels >= _ROW_LEVELS else []


def _groups(material: Material, lead: Sequence[str]) -> dict[tuple[str, ...], list[Sheet]]:
    groups: dict[tuple[str, ...], list[Sheet]] = {}
    for sheet in material.sheets:
        groups.setdefault((sheet.generator, *(str(sheet.scope.get(f, "")) for f in lead)), []).append(sheet)
    return groups


def distributions(
    material: Material, chosen: Collection[tuple[str, ...]] | None = None
) -> list[Distribution]:
    """Every generator's conditions; a figure for each level of the leading factors where rows are many.

    ``chosen`` keeps those of these generators and levels.
    """
    lead = _leading(material)
    order = material.label_counts["attribute"].unique(maintain_order=True).to_list()
    pairs = material.shown_labels.select("attribute", "annotator").unique(maintain_order=True).rows()
    alike = Counter(attribute for attribute, _ in pairs)
    names = {
        (attribute, who): words(attribute) if alike[attribute] == 1 else f"{words(attribute)} ({who})"
        for attribute, who in sorted(pairs, key=lambda pair: order.index(pair[0]))
    }
    from_captions = {column for (_, who), column in names.items() if who in material.lexicons}
    seen, left = _counted(material, names)
    overall = {c: _together(n for (_, of), n in seen.items() if of == c) for c in names.values()}
    out = []
    for i, (key, sheets) in enumerate(_groups(material, lead).items(), start=1):
        if chosen is not None and key not in chosen:
            continue
        totals = {c: _together(seen[sheet.anchor, c] for sheet in sheets) for c in names.values()}
        labelled = {pair: c for pair, c in names.items() if totals[c]}
        if not labelled:
            continue
        side_by_side = _side_by_side(material, labelled)
        attributes = list(side_by_side.values())
        styles = {
            c: _styles(c, totals[c] if _is_colour(c) else overall[c], _declared(material, *pair))
            for pair, c in side_by_side.items()
        }
        width = _WIDTHS.get(min(len(attributes), max(_WIDTHS)), _WIDEST)
        lines = []
        kept = _kept(material, sheets)
        for sheet in kept:
            places = [(sheet.anchor, c) for c in attributes]
            made = [_strip(p[1], seen[p], left[p], styles[p[1]], width) for p in places]
            title = material.title(sheet.scope, leave_out=lead)
            pictures = list(dict.fromkeys([*material.highlighted.get(sheet.anchor, []), *sheet.usable]))[:3]
            lines.append(Line(title, sheet.anchor, made, pictures))
        keys = [
            (c, [_segment(v, n, 0.0, 0.0, styles[c]) for v, n in _merged(totals[c], styles[c]).items()])
            for c in attributes
        ]
        title = " · ".join(k for k in (key if len(material.generators) > 1 else key[1:]) if k)
        read = [c for c in attributes if c in from_captions]
        more = len(sheets) - len(kept), len(labelled) - len(attributes)
        out.append(Distribution(f"distribution-{i}", title, width, attributes, lines, keys, read, *more))
    return out


def _kept(material: Material, sheets: Sequence[Sheet]) -> list[Sheet]:
    """The conditions that have a line: of very many those that findings point at, then the first."""
    told = [sheet for sheet in sheets if sheet.anchor in material.highlighted]
    kept = {*list(dict.fromkeys(sheet.anchor for sheet in [*told, *sheets]))[:_MOST_LINES]}
    return [sheet for sheet in sheets if sheet.anchor in kept]


_Place = tuple[str, str]
"""Anchor of a sheet and name of a column."""


def _side_by_side(material: Material, names: Mapping[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """Columns with strips: of many one an attribute, those in findings first, then further annotators."""
    found = material.findings
    told = found["attribute"].drop_nulls().unique(maintain_order=True).to_list() if found.height else []
    raters, places = Counter[str](), {}
    for pair in names:
        place = told.index(pair[0]) if pair[0] in told else len(told)
        places[pair] = raters[pair[0]], place
        raters[pair[0]] += 1
    first = set(sorted(names, key=places.__getitem__)[:_MOST_COLUMNS])
    return {pair: name for pair, name in names.items() if pair in first}


def _counted(
    material: Material, names: Mapping[tuple[str, str], str]
) -> tuple[dict[_Place, Counter[str]], Counter[_Place]]:
    """How often each value is given, and how many labels have none."""
    seen: dict[_Place, Counter[str]] = defaultdict(Counter)
    left: Counter[_Place] = Counter()
    told = pl.when(pl.col("status") == "ok").then("value").alias("told")
    by = ["generator", *material.shown]
    counts = material.shown_labels.group_by(*by, "attribute", "annotator", told).agg(pl.col(N_SUBJECTS).sum())
    anchors = {(s.generator, *(s.scope.get(f) for f in material.shown)): s.anchor for s in material.sheets}
    for *levels, attribute, who, value, n in counts.iter_rows():
        place = anchors[tuple(levels)], names[attribute, who]
        if value is None:
            left[place] += n
        else:
            seen[place][value] += n
    return seen, left


def _together(counts: Iterable[Counter[str]]) -> Counter[str]:
    """The sum of counts; of many a `sum` would write anew each time all values that came before."""
    total = Counter[str]()
    for one in counts:
        total.update(one)
    return total


def _merged(counts: Counter[str], styles: Mapping[str, Any]) -> dict[str, int]:
    """Counts in the order of the styles, values without one as :data:`OTHER`; values not seen left out."""
    merged = {value: counts[value] for value in styles if counts[value] and value != _OTHER}
    rest = sum(n for value, n in counts.items() if value not in styles or value == _OTHER)
    return {**merged, _OTHER: rest} if rest else merged


def _is_colour(column: str) -> bool:
    return "colour" in column or "color" in column


def _declared(material: Material, attribute: str, who: str) -> list[str]:
    """The groups of an attribute of captions in the order, and so the colours, of their shares."""
    rows = material.scores.filter((pl.col("measure") == _SHARES) & (pl.col("attribute") == attribute))
    if "annotator" in rows.columns:
        rows = rows.filter(pl.col("annotator").is_null() | (pl.col("annotator") == who))
    groups = [g for g in rows["category"].unique(maintain_order=True) if g not in (None, _UNKNOWN)]
    return groups if len(groups) <= len(PALETTE) else []


def _styles(
    column: str, totals: Counter[str], declared: Sequence[str] = ()
) -> dict[str, tuple[str, str | None]]:
    """Value → (CSS class, actual colour): ``declared`` groups, then by frequency; rare values get none."""
    most = _MOST_COLOURS if _is_colour(column) else _MOST_VALUES
    kept = [v for v, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:most] if v != _OTHER]
    kept.sort(key=lambda v: declared.index(v) if v in declared else len(declared))
    order = [1, 2, 4, 6] if any(word in column for word in _GENDER) else list(range(1, len(PALETTE) + 1))
    own = {value: at for at, value in enumerate(declared, start=1)}
    free = [at for at in order if at > len(declared)] or order
    styles: dict[str, tuple[str, str | None]] = {}
    taken = 0
    for value in kept:
        name = value.strip().lower()
        if value in own:
            styles[value] = (f"g-{own[value]}", None)
        elif name in _NEUTRAL or value == _UNKNOWN:
            styles[value] = ("g-none", None)
        elif _is_colour(column) and name in shipped("report", "colours.yaml"):
            styles[value] = ("", shipped("report", "colours.yaml")[name])
        else:
            styles[value] = (f"g-{free[taken % len(free)]}", None)
            taken += 1
    if _UNKNOWN in styles:
        styles[_UNKNOWN] = styles.pop(_UNKNOWN)
    return {**styles, _OTHER: ("g-other", None)}


def _strip(
    column: str, counts: Counter[str], left_out: int, styles: Mapping[str, tuple[str, str | None]], whole: int
) -> Strip:
    n = sum(counts.values())
    merged = _merged(counts, styles)
    segments, at = [], 0.0
    for value, k in merged.items():
        width = whole * k / n
        segments.append(_segment(value, k, at, width, styles))
        at += width
    parts = [f"{words(value)} {k} of {n}" for value, k in merged.items()]
    missing = [f"{count(left_out, 'label')} without a value"] if left_out else []
    said = visible(ellipsis(f"{column}: {', '.join(parts + missing) or 'no usable label'}", 400))
    return Strip(segments, n, left_out, said)


def _segment(value: str, k: int, start: float, width: float, styles: Mapping[str, Any]) -> Segment:
    css, colour = styles[value]
    told = words(value)
    room = _SIGN_WIDTH * (len(told) + 1) + _CAPITAL_MORE * sum(sign.isupper() for sign in told)
    text = visible(told) if room <= width and width >= _SHORTEST_LABELLED else ""
    return Segment(told, k, round(start, 2), round(width, 2), css, colour, text, _is_light(colour))


def _is_light(colour: str | None) -> bool:
    """Whether dark text reads better on it (relative luminance of WCAG 2 above 0.18)."""
    if colour is None:
        return True
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    made, note = _shown(material)
    lines = accumulate(len(d.lines) + _LINES_AROUND for d in made)
    n_open = max(1, sum(total <= _MOST_OPEN for total in lines))
    strips = [
        Block("distribution", {**_content(d, shown), "open": i < n_open}, drawings={d.name: _chart(d)})
        for i, d in enumerate(made)
    ]
    return [Block("text", [note] if note else [], heading=_heading(made)), *strips] if made else []


def _heading(strips: Sequence[Distribution]) -> tuple[str, str]:
    """What is read in captions is not what pictures show."""
    read = list(dict.fromkeys(name for d in strips for name in d.read))
    if all(d.of_captions for d in strips):
        return _OF_CAPTIONS
    said = (
        f" Read in captions, and so not labels of the pictures: {visible(listing(read))}; there “unknown” "
        "says that a caption names no group."
    )
    return _TITLE, _LEAD + said * bool(read)


def _content(d: Distribution, shown: Exhibits) -> dict[str, Any]:
    """A distribution with the pictures of its highlighted rows and its data table."""
    material, lines = shown.material, []
    for line in d.lines:
        pictures = [{"uri": u, "alt": shown.alt(i)} for i in line.pictures if (u := shown.thumbs.uris.get(i))]
        lines.append({**vars(line), "shown": pictures})
    by = words(material.row_factor) if material.row_factor else "condition"
    rows = [
        (line, a, s.n, g)
        for line in d.lines
        for a, s in zip(d.attributes, line.strips, strict=True)
        for g in s.segments
    ]
    what = "captions name" if d.of_captions else "the pictures show"
    heading = f"{d.title}: what {what}, by {by}" if d.title else f"What {what}, by {by}"
    counted = "captions" if d.of_captions else "pictures"
    columns: dict[str, Callable[[Any], TableCell | str | int]] = {
        "condition": lambda row: TableCell(row[0].title, href=f"#{row[0].anchor}"),
        "attribute": itemgetter(1),
        "value": lambda row: row[3].value,
        counted: lambda row: row[3].count,
        "of": itemgetter(2),
    }
    ns = [s.n for line in d.lines for s in line.strips if s.n] or [0]
    low, high = min(ns), max(ns)
    return {
        **vars(d),
        "heading": heading,
        "n": f"n = {low} a strip" if low == high else f"n = {low} to {high} a strip",
        "lines": lines,
        "more": thousands(d.more) if d.more else "",
        "more_columns": count(d.more_columns, "further attribute") if d.more_columns else "",
        "open_lines": _MOST_OPEN_LINES if len(lines) > _MOST_OPEN_LINES + 1 else len(lines),
        "some_missing": any(s.left_out for line in d.lines for s in line.strips),
        "any_pictures": any(line["shown"] for line in lines),
        "share_of": "captions read as" if d.of_captions else "pictures labelled with",
        "table": table_by(heading, rows, columns, "tables/labels.csv"),
    }


def _chart(d: Distribution) -> dict[str, Any]:
    rows = [
        {"line": line.title, "column": column, "value": g.value}
        | {"colour": g.colour or f"var(--{'band' if g.css == 'g-none' else g.css.replace('g-', 'group-')})"}
        | {"start": g.start / total, "end": (g.start + g.width) / total}
        for line in d.lines
        for column, strip in zip(d.attributes, line.strips, strict=True)
        for total in [sum(g.width for g in strip.segments) or 1.0]
        for g in strip.segments
    ]
    return strips(rows, lines=[line.title for line in d.lines], columns=d.attributes, title=d.title)


add_section(
    "distributions",
    _TITLE,
    lead=_LEAD,
    place=50,
    make=_blocks,
    repeated="The strips above show these labels; their shares, with intervals, are behind these lines.",
)
