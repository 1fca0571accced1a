"""The section of the labels themselves: a strip a condition and attribute."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from stereotrope.report.charts.heat import strips
from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import Table, TableCell, shown_rows
from stereotrope.report.escape import visible
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.prose import listing
from stereotrope.report.sections.distributions import Distribution, Segment, shown_distributions

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


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    made, note = shown_distributions(material)
    if not made:
        return []
    first = Block("text", [note] if note else [], heading=_heading(made))
    n_open = _open_strips(made)
    strips = [
        Block(
            "distribution", {**_content(d, shown), "open": i < n_open}, drawings={d.name: partial(_chart, d)}
        )
        for i, d in enumerate(made)
    ]
    return [first, *strips]


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


def _open_strips(shown: Sequence[Distribution]) -> int:
    """How many of the figures of strips stand open: at least one, and no more lines than one reads."""
    open_ones = lines = 0
    for distribution in shown:
        lines += len(distribution.lines) + _LINES_AROUND
        if open_ones and lines > _MOST_OPEN:
            break
        open_ones += 1
    return open_ones


def _content(d: Distribution, shown: Exhibits) -> dict[str, Any]:
    """A distribution with the pictures of its highlighted rows and its data table."""
    material, lines = shown.material, []
    for line in d.lines:
        pictures = [{"uri": u, "alt": shown.alt(i)} for i in line.pictures if (u := shown.thumbs.uris.get(i))]
        lines.append({**vars(line), "shown": pictures})
    by = words(material.row_factor) if material.row_factor else "condition"
    rows = [
        [
            TableCell(line.title, href=f"#{line.anchor}"),
            TableCell(a),
            TableCell(g.value),
            *(TableCell(str(k), numeric=True) for k in (g.count, s.n)),
        ]
        for line in d.lines
        for a, s in zip(d.attributes, line.strips, strict=True)
        for g in s.segments
    ]
    what = "captions name" if d.of_captions else "the pictures show"
    heading = f"{d.title}: what {what}, by {by}" if d.title else f"What {what}, by {by}"
    counted = "captions" if d.of_captions else "pictures"
    ns = [s.n for line in d.lines for s in line.strips if s.n] or [0]
    low, high = min(ns), max(ns)
    return {
        **vars(d),
        "heading": heading,
        "n": f"n = {low} a strip" if low == high else f"n = {low} to {high} a strip",
        "lines": lines,
        "open_lines": _MOST_OPEN_LINES if len(lines) > _MOST_OPEN_LINES + 1 else len(lines),
        "some_missing": any(s.left_out for line in d.lines for s in line.strips),
        "any_pictures": any(line["shown"] for line in lines),
        "share_of": "captions read as" if d.of_captions else "pictures labelled with",
        "table": Table(
            heading,
            ["condition", "attribute", "value", counted, "of"],
            rows[: shown_rows(len(rows))],
            len(rows),
            "tables/labels.csv",
        ),
    }


def _chart(d: Distribution, colours: Mapping[str, str]) -> dict[str, Any]:
    def colour(g: Segment) -> str:
        variable = "--band" if g.css == "g-none" else f"--group-{g.css.removeprefix('g-')}"
        return g.colour or colours[variable]

    rows = [
        {"line": line.title, "column": column, "value": g.value, "colour": colour(g)}
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
