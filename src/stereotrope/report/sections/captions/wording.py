"""How captions are worded: what they lack and hold, what they lean to, how varied they are."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import polars as pl

from stereotrope.report.contract import Block
from stereotrope.report.escape import ellipsis
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count
from stereotrope.report.panels import Figure
from stereotrope.report.sections.captions.alongside import (
    MOST_ENTRIES,
    Drawing,
    SeriesStyle,
    blocks_by_basis,
    entries_by_scope,
    joined_prose,
)
from stereotrope.report.sections.captions.scores import Basis, bases_of

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


def elements_blocks(material: Material) -> list[Block]:
    """What captions leave out, a figure a list, and what they hold that nobody asked for."""
    scores = material.scores
    lacking = [
        block
        for measure in LACKING
        for block in blocks_by_basis(material, scores.filter(measure=measure), _lacking)
    ]
    held = scores.filter(pl.col("measure").is_in(_HELD))
    return [*lacking, *blocks_by_basis(material, held, _held)]


def _lacking(drawing: Drawing) -> Figure:
    """A panel a prompt, a line an element, the elements missed most often first."""
    (prose,) = drawing.explained(LACKING).values()
    drawing.titled(prose)
    look = SeriesStyle.for_frame(drawing.frame, f"{prose.unit} that lack it", bars=True)
    whole = _WHOLE.get(drawing.basis.definition or "", "any of them")
    cut = 0
    for heading, part in drawing.by_prompt(drawing.frame):
        of_all, single = (part.filter(pl.col("category").is_null() == without) for without in (True, False))
        head = entries_by_scope(drawing.material, of_all, (), lambda _: whole)
        lines = entries_by_scope(drawing.material, single, (), lambda r: words(str(r["category"])))
        lines.sort(key=lambda entry: -entry.height)
        cut += max(0, len(lines) - _MOST_ELEMENTS)
        drawing.add(heading, [*(replace(e, apart=True) for e in head), *lines[:_MOST_ELEMENTS]], look)
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
        drawing.add(prose.title, drawing.lines(drawing.of(measure)), look)
    return drawing.figure("-".join(parts), reads=joined.reads)


def wording_blocks(material: Material) -> list[Block]:
    """One figure each for association, variety and nearness to the prompt."""
    blocks = []
    for name, measures in _GROUPS.items():
        every = material.scores.filter(pl.col("measure").is_in(measures))
        bases = _bases(material, every)
        blocks += blocks_by_basis(material, every, partial(_wording, name), bases)
    return blocks


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
