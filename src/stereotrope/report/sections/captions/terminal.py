"""What captions say, as a few small tables: the first screen of a run in the terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.report.datatable import estimate_text
from stereotrope.report.material import Material, words
from stereotrope.report.sections.captions.alongside import (
    MOST_SERIES,
    ScoreEntry,
    entries_by_scope,
    labeller,
    models_of,
    scope_of,
    scope_words,
)
from stereotrope.report.sections.captions.bases import bases_of
from stereotrope.report.sections.captions.omissions import MISSING
from stereotrope.report.sections.captions.parity import SIGNED, declared, sides_words
from stereotrope.report.sections.captions.scores import COMPOSITE_MEASURES, band_words, in_band

MEAN = "composite_mean"
_MOST_MISSING = 3
_PLACES = 2
_SCORES = {"cbs": "CBS", "contextual_diversity": "contextual diversity (high: low diversity)"}
_LISTS = {"gmr": "keyword", "iemr": "implied"}

Row = Mapping[str, Any]


def captions_tables(material: Material) -> list[dict[str, Any]]:
    """Composite scores with their bands, signed parity of declared sides, what captions lack most often.

    Returns ``{what, title, follows, lexicon, columns, rows, estimates, replaces}`` each: ``what`` is
    ``composites``, ``parity`` or ``missing``; ``follows`` the definition and ``lexicon`` who read the
    captions, named in the title where a run has several; ``rows`` are texts, ``estimates`` the numbers behind
    them. Prompts stand in the order of the design. Empty for a run without captions.
    """
    measures = (*COMPOSITE_MEASURES, MEAN, SIGNED, *MISSING)
    every = material.scores.filter(pl.col("measure").is_in(measures))
    tables = []
    for basis in bases_of(material, every):
        frame, several = basis.frame, every["definition"].n_unique() > 1 and basis.definition
        told = [f"definition: {words(str(basis.definition))}"] if several else []
        told += [f"by lexicon {basis.lexicon}"] * bool(basis.lexicon)
        named = f" ({', '.join(told)})" if told else ""
        made = (_composites(material, frame), _parity(material, frame), _missing(material, frame))
        tables += [
            {**t, "title": f"{t['title']}{named}", "follows": basis.definition, "lexicon": basis.lexicon}
            for t in made
            if t is not None
        ]
    return tables


def _composites(material: Material, frame: pl.DataFrame) -> dict[str, Any] | None:
    """Both composites by prompt, in bands; below them the mean over the prompts."""
    scores = frame.filter(pl.col("measure").is_in(COMPOSITE_MEASURES))
    if not scores.height:
        return None
    scope = scope_of(material, scores)
    label = labeller(scores, scope, ())
    entries = entries_by_scope(material, scores, scope, lambda r: f"{label(r)}\n{_SCORES[r['measure']]}")
    means = frame.filter(pl.col("measure") == MEAN)
    entries += entries_by_scope(material, means, (), lambda r: f"mean of {r['n']} prompts\n")
    title = "Composite scores of captions, 0 to 1, with the authors' bands"
    lines = [(e.label.split("\n", 1), e) for e in entries]
    return _table(material, "composites", title, ["prompt", "score"], lines)


def _parity(material: Material, frame: pl.DataFrame) -> dict[str, Any] | None:
    rows = frame.filter((pl.col("measure") == SIGNED) & declared())
    if not rows.height:
        return None
    scope = scope_of(material, rows)
    entries = entries_by_scope(material, rows, scope, lambda r: f"{scope_words(r, scope)}\n{sides_words(r)}")
    lines = [(e.label.split("\n", 1), e) for e in entries]
    title = "Share of captions that name one side less the share that name the other"
    return _table(material, "parity", title, ["prompt", "sides"], lines)


def _missing(material: Material, frame: pl.DataFrame) -> dict[str, Any] | None:
    """The elements that captions of all models lack most often."""
    rows = frame.filter(pl.col("measure").is_in(MISSING) & pl.col("category").is_not_null())
    if not rows.height:
        return None
    scope = scope_of(material, rows)
    entries = entries_by_scope(
        material,
        rows,
        scope,
        lambda r: f"{scope_words(r, scope)}\n{words(str(r['category']))}\n{_LISTS[r['measure']]}",
    )
    most = sorted(entries, key=lambda e: -e.height)[:_MOST_MISSING]
    lines = [(e.label.split("\n", 2), e) for e in most]
    title = "What captions lack most often: share of captions without it"
    return {**_table(material, "missing", title, ["prompt", "element", "list"], lines), "replaces": []}


def _table(
    material: Material,
    what: str,
    title: str,
    heads: Sequence[str],
    lines: Sequence[tuple[list[str], ScoreEntry]],
) -> dict[str, Any]:
    """One column a model; of many models one row each. A column that would say nothing is left out."""
    kept = [i for i in range(len(heads)) if any(names[i] for names, _ in lines)]
    heads, lines = [heads[i] for i in kept], [([names[i] for i in kept], entry) for names, entry in lines]
    models = models_of(material, [entry for _, entry in lines])
    if len(models) <= MOST_SERIES:
        columns = [*heads, *(m or "value" for m in models)]
        rows = [[*names, *(_cell(material, entry.rows.get(m)) for m in models)] for names, entry in lines]
    else:
        columns = [*heads, "model", "value"]
        rows = [
            [*names, model, _cell(material, entry.rows[model])]
            for names, entry in lines
            for model in models
            if model in entry.rows
        ]
    estimates = [
        {k: v for k, v in row.items() if v is not None or k in ("value", "undefined")}
        for _, entry in lines
        for row in entry.rows.values()
    ]
    level = next((r["level"] for r in estimates if r.get("level") is not None), None)
    title += "" if level is None else f" [{round(100 * level)}% interval]"
    told = {"what": what, "title": title, "columns": columns, "rows": rows, "estimates": estimates}
    return {**told, "replaces": sorted({row["measure"] for row in estimates})}


def _cell(material: Material, row: Row | None) -> str:
    if row is None:
        return ""
    if row["value"] is not None and (band := band_words(row)):
        return f"{in_band(row)} {band}"
    return estimate_text(material, row, places=_PLACES)
