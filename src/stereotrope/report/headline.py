"""The headline of a run: the first screen of the page and what ``stereotrope show`` prints."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import polars as pl

from stereotrope.escape import ellipsis, visible
from stereotrope.report.contract import SCORES, sections_in_order, series_in_order
from stereotrope.report.datatable import estimate_text, heads_of
from stereotrope.report.finding_lists import FindingList
from stereotrope.report.lost_pictures import lost_by_name
from stereotrope.report.material import Material, Words, image_ids, words
from stereotrope.report.missing_counts import missing_table, n_not_made
from stereotrope.report.numbers import count, interval, probability, thousands
from stereotrope.report.prose import listing
from stereotrope.report.series import OVER_ALL, Series, series_of
from stereotrope.run import Run, changes_told
from stereotrope.tables import ABSENT, MARKS, number_in

_MOST_LEVELS, _FEW_LEVELS, _MOST_SIGNS = 12, 6, 300
"""Levels of a factor that are named; of more, or of longer ones, the first few."""


def headline(run: Run, *, words: Words | None = None, texts: bool = True) -> dict[str, Any]:
    """Return what a person should read first, as plain data.

    run: An opened run.
    words: Makes the words of measures where the run stores none, as older ones do.
    texts: Whether ``tables`` have their ``rows`` of text and ``every_finding`` its rows, of which a large run
        has very many.

    Returns: JSON-serialisable, its texts as stored (pass them through :mod:`stereotrope.escape`):

    - ``title`` and ``summary``, the counts in one sentence;
    - ``asked``: ``{term, text, quote}``, ``quote`` marking words that are data, not ours;
    - ``counts`` of prompts, images, ok, refused, excluded, absent, labels, derived_labels and
      labels_without_value;
    - ``missing``: ``{sentence, items, notes, columns, rows, labels}``: ``items`` says in a sentence each what
      a stage could not do, ``notes`` what readers of files left out; the first ``labels`` columns name a row;
    - ``tested``: how many comparisons were tested and how many differ, a sentence; null where none was;
    - ``untested``: that none was and what to do, a sentence; else null;
    - ``looks``: each look at a run that was looked at more than once, a sentence each;
    - ``findings``: the first of each list, ``{rank, list, title, kind, sentence, scope, attribute, measure,
      images, pattern}``, ``title`` being that of the list; ``pattern`` is null, or of several that say the
      same, of which this is the first, ``{id, sentence, varies, n_same, n_tested, n_opposite, others}`` with
      the sentences of the others;
    - ``lists``, ``comparisons``: how many findings each list has, and how many comparisons end how;
    - ``every_finding``: each finding as its table has it, with ``scope``, ``images`` and ``pattern`` as data,
      and ``ways``, its rows of ``robustness``;
    - ``more``: title of a list → how many more findings it has, and in which table of the report;
    - ``sections``: ``{id, title, first, sentences, tables}`` of each section with a part in it; ``first`` of
      those that stand before the scores, ``tables`` with ``{title, columns, rows, estimates, replaces}`` and
      perhaps ``notes``, sentences below;
    - ``tables``: ``{measure, subset, mean, difference, name, title, definition, follows, screen,
      columns, rows, estimates}`` a series (:class:`stereotrope.report.series.Series`) and definition
      (``follows``); ``screen`` says how a terminal shows it, ``rows`` are text, ``estimates`` numbers, an
      undefined one null with ``undefined`` as the reason.
    """
    with changes_told(run.path) as changed:
        return headline_of(Material(run, words, changed=changed), texts=texts)


def headline_of(material: Material, *, texts: bool = True) -> dict[str, Any]:
    """:func:`headline` of a run that was made ready already."""
    found = [(one, row) for one in material.first_findings for row in one.rows]
    parts = [(s, *s.headline(material)) for s in sections_in_order(material.info) if s.headline is not None]
    parts = [
        (s, told, [{**table, "columns": heads_of(table["columns"], table["rows"])} for table in tables])
        for s, told, tables in parts
    ]
    return {
        "title": title(material),
        "asked": asked(material),
        "counts": _counts(material),
        "summary": summary(material),
        "missing": missing_table(material, lost_by_name(material.run)),
        "tested": material.tested,
        "untested": material.untested,
        "looks": material.looks,
        "findings": [
            {
                "title": one.title,
                "scope": json.loads(row["scope"] or "{}"),
                "images": image_ids(row),
                "pattern": _pattern(row, one),
            }
            | {column: row[column] for column in ("rank", "list", "kind", "sentence", "attribute", "measure")}
            for one, row in found
        ],
        "lists": _numbers(material.findings, "list"),
        "comparisons": _numbers(material.run.comparisons, "verdict"),
        "every_finding": _every_finding(material) if texts else [],
        "more": {one.title: one.more_unfolded for one in material.first_findings if one.more_unfolded},
        "sections": [
            {"id": s.id, "title": s.title, "first": s.place < SCORES, "sentences": told, "tables": tables}
            for s, told, tables in parts
            if told or tables
        ],
        "tables": [t for one in series_in_order(material) for t in _tables(material, one, texts)],
    }


def _pattern(row: Mapping[str, Any], of: FindingList) -> dict[str, Any] | None:
    """The pattern of a finding, with what the others say."""
    if row["pattern_id"] is None:
        return None
    others = [other["sentence"] for other in of.again.get(row["pattern_id"], ())]
    told = {"id": row["pattern_id"], "sentence": row["pattern_sentence"], "others": others}
    return {**told, **json.loads(row["pattern_extent"])}


def _numbers(rows: pl.DataFrame, column: str) -> dict[str, int]:
    """How often each name stands in a column, in their order."""
    if rows.is_empty():
        return {}
    return dict(rows[column].drop_nulls().value_counts().sort(column).iter_rows())


def _every_finding(material: Material) -> list[dict[str, Any]]:
    ways: dict[str, list[dict[str, Any]]] = {}
    for way in material.run.robustness.iter_rows(named=True):
        ways.setdefault(way.pop("finding_id"), []).append(way)
    told = []
    for row in material.findings.filter(pl.col("list").ne_missing("summary")).iter_rows(named=True):
        row |= {"scope": json.loads(row["scope"] or "{}"), "images": image_ids(row)}
        row |= {
            "pattern": json.loads(row.pop("pattern_extent") or "null"),
            "ways": ways.get(row["finding_id"], []),
        }
        told.append({column: value for column, value in row.items() if column != "image_ids"})
    return told


def title(material: Material) -> str:
    """What the run is called."""
    return str(material.info.get("title") or "Audit")


def asked(material: Material) -> list[dict[str, Any]]:
    """What was asked, as ``{term, text, quote}`` for the first screen."""
    models = [ellipsis(visible(g), 80) for g in material.named_generators]
    told = [("Models" if len(models) != 1 else "Model", listing(models), False)]
    for factor in material.shown:
        levels = [ellipsis(visible(v), 80) for v in material.level_order[factor]]
        few = len(levels) > _MOST_LEVELS or sum(map(len, levels)) > _MOST_SIGNS
        of = f"{thousands(len(levels))}: " if few and len(levels) > _FEW_LEVELS else ""
        told.append(
            (words(factor).capitalize(), of + listing(levels, most=_FEW_LEVELS if few else 12), False)
        )
    texts = material.prompts["text"].drop_nulls().unique(maintain_order=True)[:2]
    if len(texts):
        told.append(("For example" if len(texts) > 1 else "Prompt", texts[-1], True))
    if baseline := material.info.get("baseline"):
        text = listing([f"{words(f)} = {level}" for f, level in baseline.items()])
        told.append(("Compared with", text + _shared_with_baseline(material, baseline), False))
    return [{"term": term, "text": text, "quote": quote} for term, text, quote in told]


def _shared_with_baseline(material: Material, baseline: Mapping[str, str]) -> str:
    """Which other factors a condition shares with the baseline that every measure compares it with."""
    of_design = {f: level for f, level in baseline.items() if f in material.factors}
    prompts = material.prompts.filter(**of_design)
    calls = [
        c for c in material.info.get("measures") or [] if "baseline" in c and c.get("group") in of_design
    ]
    held = [{*(call.get("within") or call.get("by") or ())} for call in calls]
    others = [(f, prompts[f].count()) for f in material.shown if f not in of_design]
    parts = [
        f"{'same' if has_levels else 'no'} {words(f)}"
        for f, has_levels in others
        if prompts.height and (not has_levels or all(f in factors for factors in held))
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _counts(material: Material) -> dict[str, int]:
    pictures, labels = material.pictures, material.every_label
    return {
        "prompts": material.prompts.height,
        "images": number_in(pictures),
        **{s: number_in(pictures.filter(status=s)) for s in ("ok", "refused", "excluded", ABSENT)},
        "blank": material.quality_counts.get("blank", 0),
        "labels": number_in(labels),
        "derived_labels": number_in(labels.drop_nulls("derived_from")),
        "labels_without_value": number_in(labels.filter(pl.col("status") != "ok")),
    }


def summary(material: Material) -> str:
    """The counts in one sentence."""
    counts, unmade = _counts(material), n_not_made(material)
    models = count(len(material.named_generators), "model")
    factors = [f for f in material.factors if f in material.prompts.columns]
    conditions = material.prompts.select(factors).unique().height if factors else 1
    not_drawn = f"{thousands(unmade)} were not made, " if unmade else ""
    absent = counts[ABSENT]
    away = f"{thousands(absent)} {'is' if absent == 1 else 'are'} not at hand, " if absent else ""
    blank = f"{count(counts['blank'], 'is', 'are')} blank, " if counts["blank"] else ""
    usable = thousands(counts["ok"] - counts["blank"])
    rest = (
        f", {thousands(counts['refused'])} were refused by the model, "
        f"{thousands(counts['excluded'])} could not be read"
    )
    if counts[ABSENT] == counts["images"] > 0 and not material.outcomes_known:
        rest = "; how many were refused is not known"
    derived = f"{thousands(n)} of them derived from others, " if (n := counts["derived_labels"]) else ""
    return (
        f"{count(counts['images'] + unmade, 'picture')} asked of {models} under "
        f"{count(conditions, 'condition')}; {not_drawn}{away}{blank}{usable} could be "
        f"{'looked at' if away else 'used'}{rest}. Annotators gave {count(counts['labels'], 'label')}, "
        f"{derived}{thousands(counts['labels_without_value'])} of them without a value."
    )


def _tables(material: Material, series: Series, texts: bool) -> list[dict[str, Any]]:
    """One table a definition: the scores over all attributes; of a series without any, those of each."""
    known = series.rows(material.estimates)
    frame = known.filter(OVER_ALL | ~OVER_ALL.any().over("measure", *MARKS))
    definitions = frame["definition"].unique(maintain_order=True).to_list()
    several = len(definitions) > 1
    return [
        _table(material, frame.filter(pl.col("definition").eq_missing(name)), name, several, texts)
        for name in definitions
    ]


def _table(
    material: Material, frame: pl.DataFrame, definition: str | None, several: bool, texts: bool
) -> dict[str, Any]:
    series = series_of(frame.row(0, named=True))
    prose = material.explain(series, definition)
    scope = [c for c in frame.columns if c in ("generator", *material.factors) and frame[c].count()]
    more = [c for c in ("annotator", "reference", "attribute", "category") if c in frame.columns]
    scope += [c for c in more if c not in scope and frame[c].drop_nulls().n_unique() > 1]
    records = list(frame.iter_rows(named=True))
    rows = [
        [
            *(str(r[c] or "–") for c in scope),
            estimate_text(material, r),
            interval(r["adjusted"], r["adjusted_low"], r["adjusted_high"], r["n"]),
            probability(r["q_value"]),
            "" if r["n"] is None else thousands(r["n"]),
        ]
        for r in (records if texts else ())
    ]
    columns = [*(words(c) for c in scope), "value [interval]", "adjusted [interval]", "q", "n"]
    columns = heads_of(columns, rows)
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
