"""Captions in the report: the parts of the page in the order of reading, and small tables for a terminal."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import estimate_text
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.sections.captions.alongside import MOST_SERIES, Drawing, ScoreEntry
from stereotrope.report.sections.captions.gallery import chosen_pictures, gallery_blocks
from stereotrope.report.sections.captions.groups import SIGNED, declared, sides_words
from stereotrope.report.sections.captions.measured import LACKING, measured_blocks
from stereotrope.report.sections.captions.profile import plane_blocks, profile_blocks
from stereotrope.report.sections.captions.scores import COMPOSITE_MEASURES, band_words, bases_of, in_band
from stereotrope.report.series import Estimate

_MEAN = "composite_mean"
_MOST_LACKING = 3
_PLACES = 2
_SCORES = {
    "cbs": "CBS",
    "cbs_without_association": "CBS without association",
    "contextual_diversity": "contextual diversity (high: low diversity)",
}
_LISTS = {"gmr": "keyword", "iemr": "implied"}


def captions_tables(material: Material) -> list[dict[str, Any]]:
    """Composite scores with their bands, signed parity of declared sides, what captions lack most often.

    Returns ``{what, title, follows, lexicon, columns, rows, estimates, replaces}`` each: ``what`` is
    ``composites``, ``parity`` or ``missing``; ``follows`` the definition and ``lexicon`` who read the
    captions, named in the title where a run has several; ``rows`` are texts, ``estimates`` the numbers behind
    them. Prompts stand in the order of the design. Empty for a run without captions.
    """
    measures = (*COMPOSITE_MEASURES, _MEAN, SIGNED, *LACKING)
    every = material.scores.filter(pl.col("measure").is_in(measures))
    return [
        {**table, "title": f"{table['title']}{basis.named}"}
        | {"follows": basis.definition, "lexicon": basis.lexicon}
        for basis in bases_of(material, every)
        for make in (_composites, _parity, _lacking)
        if (table := make(Drawing(material, basis)))
    ]


def _composites(drawing: Drawing) -> dict[str, Any]:
    """Both composites by prompt, in bands; below them the mean over the prompts."""
    scores = drawing.of(*COMPOSITE_MEASURES)
    prompt = drawing.labeller(scores)
    entries = drawing.lines(scores, lambda r: f"{prompt(r)}\n{_SCORES[r['measure']]}")
    if entries:
        entries += drawing.lines(drawing.of(_MEAN), lambda r: f"mean of {r['n']} prompts\n")
    title = "Composite scores of captions, 0 to 1, with the authors' bands"
    return _table(drawing, "composites", title, ["prompt", "score"], entries)


def _parity(drawing: Drawing) -> dict[str, Any]:
    rows = drawing.of(SIGNED).filter(declared())
    prompt = drawing.labeller(rows, otherwise="")
    entries = drawing.lines(rows, lambda r: f"{prompt(r)}\n{sides_words(r)}")
    title = "Share of captions that name one side less the share that name the other"
    return _table(drawing, "parity", title, ["prompt", "sides"], entries)


def _lacking(drawing: Drawing) -> dict[str, Any]:
    """The elements that captions of all models lack most often."""
    rows = drawing.of(*LACKING).filter(pl.col("category").is_not_null())
    prompt = drawing.labeller(rows, otherwise="")
    entries = drawing.lines(
        rows, lambda r: f"{prompt(r)}\n{words(str(r['category']))}\n{_LISTS[r['measure']]}"
    )
    most = sorted(entries, key=lambda entry: -entry.height)[:_MOST_LACKING]
    title = "What captions lack most often: share of captions without it"
    table = _table(drawing, "missing", title, ["prompt", "element", "list"], most)
    return table and {**table, "replaces": []}


def _table(
    drawing: Drawing, what: str, title: str, heads: Sequence[str], entries: Sequence[ScoreEntry]
) -> dict[str, Any]:
    """One column a model, of many one row each; the label of an entry holds a line for each of ``heads``."""
    if not entries:
        return {}
    material, models = drawing.material, drawing.models(entries)
    named = [entry.label.split("\n", len(heads) - 1) for entry in entries]
    kept = [i for i in range(len(heads)) if any(names[i] for names in named)]
    lines = [([names[i] for i in kept], e.rows) for names, e in zip(named, entries, strict=True)]
    columns = [heads[i] for i in kept]
    if len(models) <= MOST_SERIES:
        columns += [model or "value" for model in models]
        rows = [[*names, *(_cell(material, of.get(model)) for model in models)] for names, of in lines]
    else:
        columns += ["model", "value"]
        rows = [
            [*names, model, _cell(material, of[model])]
            for names, of in lines
            for model in models
            if model in of
        ]
    estimates = [
        {k: v for k, v in row.items() if v is not None or k in ("value", "undefined")}
        for entry in entries
        for row in entry.rows.values()
    ]
    level = next((row["level"] for row in estimates if {"level", "low", "high"} <= row.keys()), None)
    title += "" if level is None else f" [{round(100 * level)}% interval]"
    told = {"what": what, "title": title, "columns": columns, "rows": rows, "estimates": estimates}
    return {**told, "replaces": sorted({row["measure"] for row in estimates})}


def _cell(material: Material, row: Estimate | None) -> str:
    if row is None:
        return ""
    if row["value"] is not None and (band := band_words(row)):
        return f"{in_band(row)} {band}"
    return estimate_text(material, row, places=_PLACES)


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    """Everything about captions that is no figure of a single measure; nothing without captions."""
    drawn = [*profile_blocks(material), *plane_blocks(material), *measured_blocks(material)]
    return [*gallery_blocks(material, shown), *drawn]


add_section(
    "captions",
    "What captions of the pictures say",
    lead="Counts of words in texts about the pictures. What a captioner leaves out, or a lexicon does not "
    "know, looks here like what is not shown.",
    place=70,
    make=_blocks,
    small=chosen_pictures,
    headline=lambda material: ([], captions_tables(material)),
)
