"""The headline of a run: the first screen of the page and what ``stereotrope show`` prints."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import polars as pl

from stereotrope.report.contract import SCORES, sections_in_order, series_in_order
from stereotrope.report.datatable import estimate_text
from stereotrope.report.escape import ellipsis, visible
from stereotrope.report.material import Material, Words, image_ids, words
from stereotrope.report.missing import images_with, missing_table, not_made
from stereotrope.report.numbers import count, interval, probability, thousands
from stereotrope.report.prose import listing
from stereotrope.report.series import OVER_ALL, Series, series_of
from stereotrope.run import Run, changes_told
from stereotrope.tables import ABSENT, MARKS

_FINDINGS = 5


def headline(run: Run, *, words: Words | None = None) -> dict[str, Any]:
    """Return what a person should read first, as plain data.

    run: An opened run.
    words: Makes the words of measures where the run stores none, as older ones do.

    Returns: JSON-serialisable, its texts as stored (pass them through :mod:`stereotrope.report.escape`):

    - ``title`` and ``summary``, the counts in one sentence;
    - ``asked``: ``{term, text, quote}``, ``quote`` marking words that are data, not ours;
    - ``counts`` of prompts, images, ok, refused, excluded, absent, labels, derived_labels and
      labels_without_value;
    - ``missing``: ``{sentence, items, notes, columns, rows, labels}``: ``items`` says in a sentence each what
      a stage could not do, ``notes`` what readers of files left out; the first ``labels`` columns name a row;
    - ``findings``: up to five ``{rank, kind, sentence, scope, attribute, measure, images}``;
    - ``sections``: ``{id, title, first, sentences, tables}`` of each section with a part in it; ``first`` of
      those that stand before the scores, ``tables`` with ``{title, columns, rows, estimates, replaces}``;
    - ``tables``: ``{measure, subset, mean, difference, name, title, definition, follows, screen,
      columns, rows, estimates}`` a series (:class:`stereotrope.report.series.Series`) and definition
      (``follows``); ``screen`` says how a terminal shows it, ``rows`` are text, ``estimates`` numbers, an
      undefined one null with ``undefined`` as the reason.
    """
    with changes_told(run.path):
        return headline_of(Material(run, words))


def headline_of(material: Material) -> dict[str, Any]:
    """:func:`headline` of a run that was made ready already."""
    findings = material.findings.head(_FINDINGS).iter_rows(named=True)
    parts = [(s, *s.headline(material)) for s in sections_in_order() if s.headline is not None]
    return {
        "title": title(material),
        "asked": asked(material),
        "counts": _counts(material),
        "summary": summary(material),
        "missing": missing_table(material),
        "findings": [
            {"rank": rank, "scope": json.loads(row["scope"] or "{}"), "images": image_ids(row)}
            | {column: row[column] for column in ("kind", "sentence", "attribute", "measure")}
            for rank, row in enumerate(findings, start=1)
        ],
        "sections": [
            {"id": s.id, "title": s.title, "first": s.place < SCORES, "sentences": told, "tables": tables}
            for s, told, tables in parts
            if told or tables
        ],
        "tables": [t for one in series_in_order(material) for t in _tables(material, one)],
    }


def title(material: Material) -> str:
    """What the run is called."""
    return str(material.info.get("title") or "Audit")


def asked(material: Material) -> list[dict[str, Any]]:
    """What was asked, as ``{term, text, quote}`` for the first screen."""
    models = [ellipsis(visible(g), 80) for g in material.named_generators]
    told = [("Models" if len(models) != 1 else "Model", listing(models), False)]
    for factor in material.shown:
        levels = [ellipsis(visible(v), 80) for v in material.level_order[factor]]
        told.append((words(factor).capitalize(), listing(levels, most=12), False))
    texts = material.prompts["text"].drop_nulls().unique(maintain_order=True)[:2]
    if len(texts):
        told.append(("For example" if len(texts) > 1 else "Prompt", texts[-1], True))
    if baseline := material.info.get("baseline"):
        text = listing([f"{words(f)} = {level}" for f, level in baseline.items()])
        told.append(("Compared with", text + _shared_with_baseline(material, baseline), False))
    return [{"term": term, "text": text, "quote": quote} for term, text, quote in told]


def _shared_with_baseline(material: Material, baseline: Mapping[str, str]) -> str:
    """Which other factors a condition shares with the baseline that it is compared with."""
    of_design = {f: level for f, level in baseline.items() if f in material.factors}
    prompts = material.prompts.filter(**of_design)
    parts = [
        f"{'same' if prompts[f].drop_nulls().len() else 'no'} {words(f)}"
        for f in material.shown
        if f not in of_design and prompts.height
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _counts(material: Material) -> dict[str, int]:
    status, labels = material.images["status"], material.every_label
    return {
        "prompts": material.prompts.height,
        "images": len(status),
        **{s: int((status == s).sum()) for s in ("ok", "refused", "excluded", ABSENT)},
        "blank": images_with(material, "blank"),
        "labels": labels.height,
        "derived_labels": labels["derived_from"].count(),
        "labels_without_value": labels.filter(pl.col("status") != "ok").height,
    }


def summary(material: Material) -> str:
    """The counts in one sentence."""
    counts, unmade = _counts(material), not_made(material)
    models = count(len(material.named_generators), "model")
    factors = [f for f in material.factors if f in material.prompts.columns]
    conditions = material.prompts.select(factors).unique().height if factors else 1
    not_drawn = f"{thousands(unmade)} were not made, " if unmade else ""
    away = f"{thousands(counts[ABSENT])} are not at hand, " if counts[ABSENT] else ""
    blank = f"{count(counts['blank'], 'is', 'are')} blank, " if counts["blank"] else ""
    usable = thousands(counts["ok"] - counts["blank"])
    rest = (
        f", {thousands(counts['refused'])} were refused by the model, "
        f"{thousands(counts['excluded'])} could not be read"
    )
    if counts[ABSENT] == counts["images"] > 0:
        rest = "; how many were refused is not known"
    derived = f"{thousands(n)} of them derived from others, " if (n := counts["derived_labels"]) else ""
    return (
        f"{count(counts['images'] + unmade, 'picture')} asked of {models} under "
        f"{count(conditions, 'condition')}; {not_drawn}{away}{blank}{usable} could be "
        f"{'looked at' if away else 'used'}{rest}. Annotators gave {count(counts['labels'], 'label')}, "
        f"{derived}{thousands(counts['labels_without_value'])} of them without a value."
    )


def _tables(material: Material, series: Series) -> list[dict[str, Any]]:
    """One table a definition: the scores over all attributes; of a series without any, those of each."""
    known = series.rows(material.estimates)
    frame = known.filter(OVER_ALL | ~OVER_ALL.any().over("measure", *MARKS))
    definitions = frame["definition"].unique(maintain_order=True).to_list()
    return [
        _table(material, frame.filter(pl.col("definition").eq_missing(name)), name, len(definitions) > 1)
        for name in definitions
    ]


def _table(material: Material, frame: pl.DataFrame, definition: str | None, several: bool) -> dict[str, Any]:
    series = series_of(frame.row(0, named=True))
    prose = material.explain(series, definition)
    levels = {c: frame[c].drop_nulls().n_unique() for c in frame.columns}
    scope = [c for c in levels if c in ("generator", *material.factors) and levels[c]]
    more = [c for c in ("annotator", "reference", "attribute", "category") if levels.get(c, 0) > 1]
    scope += [c for c in more if c not in scope]
    records = list(frame.iter_rows(named=True))
    rows = [
        [
            *(str(r[c] or "–") for c in scope),
            estimate_text(material, r),
            interval(r["adjusted"], r["adjusted_low"], r["adjusted_high"], r["n"]),
            probability(r["q_value"]),
            "" if r["n"] is None else thousands(r["n"]),
        ]
        for r in records
    ]
    columns = [*(words(c) for c in scope), "value [interval]", "adjusted [interval]", "q", "n"]
    keep = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    return {
        **asdict(series),
        "name": series.name,
        "title": prose.heading + (f" ({words(definition)})" if several and definition else ""),
        "definition": prose.definition,
        "follows": definition,
        "screen": {**prose.screen, "beneath": prose.beneath},
        "columns": [columns[i] for i in keep],
        "rows": [[row[i] for i in keep] for row in rows],
        "estimates": [
            {k: v for k, v in r.items() if v is not None or k in ("value", "undefined")} for r in records
        ],
    }
