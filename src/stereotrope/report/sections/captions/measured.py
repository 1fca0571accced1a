"""Figures of what is measured of captions: composites, groups, omissions, wording, and differences."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from stereotrope.escape import ellipsis
from stereotrope.report.contract import Block
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, number
from stereotrope.report.panels import Figure
from stereotrope.report.prose import MeasureProse, listing
from stereotrope.report.sections.captions.alongside import MOST_ENTRIES, Drawing, SeriesStyle, joined_prose
from stereotrope.report.sections.captions.groups import (
    COVERED,
    EVENNESS,
    GROUP_SHARES,
    SIGNED,
    UNSIGNED,
    declared,
    evenness_figure,
    occlusion_figure,
    parity_figure,
    shares_figure,
)
from stereotrope.report.sections.captions.scores import COMPOSITE_MEASURES, Basis, bases_of
from stereotrope.report.series import Estimate, series_in
from stereotrope.tables import BANDS

LACKING = ("gmr", "iemr")
_HELD = ("hallucination", "car")
_MOST_ELEMENTS = 12
_WHOLE = {"released": "mean of all"}
"""What the row over all elements counts, by definition; else any of them."""
_GROUPS: Mapping[str, tuple[str, ...]] = {
    "cas": ("cas",),
    "captions-variety": ("vendi", "image_vendi", "vendi_normalised", "image_vendi_normalised"),
    "captions-alignment": ("clip_proxy", "prompt_alignment"),
}
"""Figure → the measures that are its panels; those of pictures stand beside those of captions."""
_TITLES = {
    "captions-variety": "How many different captions or pictures there are in effect",
    "captions-alignment": "How near captions and pictures are to the prompt",
}
"""Titles where a figure has more than what captions say."""
_OF_PICTURES = ("image_vendi", "image_vendi_normalised", "prompt_alignment")
"""Measures of pictures, each encoder for itself."""
_UNDRAWN = "image_vendi_normalised"
"""Near 0 at any number of pictures, so that a drawing shows nothing that the score itself does not."""
_DRAWN = (
    *COMPOSITE_MEASURES, SIGNED, "shannon_entropy", "cas", "car", "gmr", "iemr", "hallucination",
    "clip_proxy", "prompt_alignment", "vendi_normalised",
)  # fmt: skip
"""Scores whose differences are drawn, all shares or between 0 and 1: of what says the same twice only one."""


def _composites(drawing: Drawing) -> Figure:
    parts = drawing.explained(COMPOSITE_MEASURES)
    title = next(iter(parts.values())).title if len(parts) == 1 else "The composite scores of each prompt"
    drawing.titled(joined_prose(parts.values(), title))
    ticks = (0.0, *(band.most for band in BANDS))
    look = SeriesStyle.for_frame(
        drawing.frame, "", zero_line=False, domain=(0.0, 1.0), ticks=ticks, banded=True
    )
    for measure, prose in parts.items():
        entries = drawing.lines(drawing.of(measure), ["attribute"])
        drawing.add(prose.short, entries, replace(look, unit=prose.unit), MOST_ENTRIES)
    bands = listing([f"{band.name} up to {number(band.most, places=2)}" for band in BANDS[:-1]])
    reads = (
        f"The bands are {bands}, {BANDS[-1].name} above. They are a convention of the authors "
        f"and no test. {drawing.prose.reads}"
    )
    return drawing.figure("captions-composites", reads=reads)


def _lacking(drawing: Drawing) -> Figure:
    """A panel a prompt, a line an element, the elements missed most often first."""
    (prose,) = drawing.explained(LACKING).values()
    drawing.titled(prose)
    look = SeriesStyle.for_frame(drawing.frame, f"{prose.unit} that lack it", bars=True)
    whole = _WHOLE.get(drawing.basis.definition or "", "any of them")
    cut = 0
    for heading, part in drawing.by_prompt(drawing.frame):
        of_all, single = (part.filter(pl.col("category").is_null() == without) for without in (True, False))
        head = drawing.lines(of_all, lambda _: whole, apart=True)
        lines = drawing.lines(single, lambda r: words(str(r["category"])))
        lines.sort(key=lambda entry: -entry.height)
        cut += max(0, len(lines) - _MOST_ELEMENTS)
        drawing.add(heading, [*head, *lines[:_MOST_ELEMENTS]], look)
    if cut:
        drawing.notes.append(
            f"Drawn are the {_MOST_ELEMENTS} of each prompt that are missing most often; "
            f"{count(cut, 'further element is', 'further elements are')} in the table and in the files."
        )
    return drawing.figure(drawing.frame["measure"][0])


def _held(drawing: Drawing) -> Figure:
    """Terms that nobody asked for and markers of a culture: small panels of one line a prompt."""
    parts = drawing.explained(_HELD)
    joined = joined_prose(parts.values(), "How often captions hold a term of a list")
    drawing.titled(joined if len(parts) > 1 else next(iter(parts.values())))
    look = SeriesStyle.for_frame(drawing.frame, next(iter(parts.values())).unit, bars=True)
    for measure, prose in parts.items():
        drawing.add(prose.title if len(parts) > 1 else "", drawing.lines(drawing.of(measure)), look)
    return drawing.figure("-".join(parts), reads=joined.reads)


def _wording(name: str, drawing: Drawing) -> Figure:
    every = drawing.explained(_GROUPS[name])
    parts = {measure: prose for measure, prose in every.items() if measure != _UNDRAWN} or every
    first = next(iter(parts.values()))
    title = _TITLES[name] if not {*parts}.isdisjoint(_OF_PICTURES) else first.title
    drawing.titled(joined_prose(parts.values(), title) if len(parts) > 1 else first, title)
    for measure, prose in parts.items():
        rows = drawing.of(measure)
        by_encoder = measure in _OF_PICTURES and "annotator" in rows.columns
        for part in rows.partition_by("annotator", maintain_order=True) if by_encoder else [rows]:
            heading = prose.short if len(parts) > 1 else ""
            if by_encoder and (encoder := part["annotator"][0]) is not None:
                heading = f"{prose.short}, by {ellipsis(encoder, 40)}"
            entries = drawing.lines(part, ["attribute", "category", "reference"])
            drawing.add(heading, entries, SeriesStyle.for_frame(part, prose.unit), MOST_ENTRIES)
    return drawing.figure(name)


def _deltas(drawing: Drawing) -> Figure:
    frame = drawing.frame
    baseline = listing([str(b) for b in frame["baseline"].unique(maintain_order=True)])
    drawing.titled(
        MeasureProse(
            name="delta",
            section="captions",
            title=f"How far the scores are from those of {baseline}",
            short="Difference from the baseline model",
            definition=(
                f"The score of a model less that of {baseline} for the same prompt; the interval joins those "
                "of the two scores, which takes their captions as independent."
            ),
            reads=(
                f"The line at 0 is {baseline}, which is a model like the others and no standard. Scores that "
                "read too high or too low at few captions compare only where the numbers of captions are "
                "alike."
            ),
            source="T2I-BiasBench, eq. 25",
        )
    )
    drawn = _drawn(frame)
    look = SeriesStyle.for_frame(drawn, "difference", zero_line=True)
    shown = 0
    for heading, part in drawing.by_prompt(drawn):
        entries = drawing.lines(part, lambda row: _label(drawing, row))
        shown += sum(len(entry.rows) for entry in entries[:MOST_ENTRIES])
        drawing.add(heading, entries[:MOST_ENTRIES], look)
    if left := frame.height - shown:
        drawing.notes.append(
            f"{count(left, 'row is', 'rows are')} in the table and in the files only: scores that say nearly "
            "the same as one that is drawn, single groups and elements, and pairs of groups that nobody set "
            "against each other."
        )
    return drawing.figure("captions-delta")


def _drawn(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows worth drawing, in a fixed order: declared sides alone, of lists the row over all elements."""
    parity, lists = pl.col("measure") == SIGNED, pl.col("measure").is_in(["gmr", "iemr"])
    worth = frame.filter(
        pl.col("measure").is_in(_DRAWN), ~parity | declared(), ~lists | pl.col("category").is_null()
    )
    return worth.sort(pl.col("measure").cast(pl.Enum(_DRAWN)), maintain_order=True)


def _label(drawing: Drawing, row: Estimate) -> str:
    score = row["measure"]
    if score == SIGNED:
        return words(str(row["category"]))
    name = drawing.material.explain(score).abbreviation
    if score == "shannon_entropy" and row["attribute"]:
        return f"{name}, {words(str(row['attribute']))}"
    encoder = row.get("annotator") if drawing.basis.lexicon is None else None
    return f"{name}, by {ellipsis(str(encoder), 40)}" if encoder else name


_FIGURES: Sequence[tuple[Sequence[str], Callable[[Drawing], Figure]]] = (
    (COMPOSITE_MEASURES, _composites),
    ((GROUP_SHARES,), shares_figure),
    (EVENNESS, evenness_figure),
    ((SIGNED, UNSIGNED), parity_figure),
    (COVERED, occlusion_figure),
    *(((measure,), _lacking) for measure in LACKING),
    (_HELD, _held),
    *((measures, partial(_wording, name)) for name, measures in _GROUPS.items()),
)
"""Measures → what draws them, in the order in which they are read."""


def measured_blocks(material: Material) -> list[Block]:
    """A figure of each basis, in place of those that its measures would have; differences come last."""
    found = []
    for measures, draw in _FIGURES:
        frame = material.scores.filter(pl.col("measure").is_in(measures))
        found.append((frame, _bases(material, frame), draw))
    deltas = material.estimates.filter(pl.col("baseline").is_not_null())
    found.append((deltas, bases_of(material, deltas), _deltas))
    return [
        Block(
            figures=[draw(Drawing(material, basis)) for basis in bases],
            replaces=frozenset(series.name for series in series_in(frame)),
        )
        for frame, bases, draw in found
        if bases
    ]


def _bases(material: Material, every: pl.DataFrame) -> list[Basis]:
    """Those of the measures of captions; measures of pictures stand with the first, unless by lexicon."""
    captions = every.filter(~pl.col("measure").is_in(_OF_PICTURES))
    if not captions.height:
        return bases_of(material, every)
    first, *rest = bases_of(material, captions)
    pictures = every.join(captions.select("measure").unique(), on="measure", how="anti")
    if first.lexicon is not None:
        return [first, *rest, *bases_of(material, pictures)]
    return [replace(first, frame=pl.concat([first.frame, pictures])), *rest]
