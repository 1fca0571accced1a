"""The headline of a run: the first screen of the page and what ``stereotrope show`` prints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import polars as pl

from stereotrope.report.datatable import estimate_text
from stereotrope.report.escape import ellipsis, visible
from stereotrope.report.material import Material, RunLike, Words, image_ids, words
from stereotrope.report.numbers import count, interval, probability, thousands
from stereotrope.report.prose import listing
from stereotrope.report.sections.captions.terminal import captions_tables
from stereotrope.report.sections.judges import judge_sentences
from stereotrope.report.sections.spending import cost_table
from stereotrope.report.series import Series, series_in, series_of
from stereotrope.run import changes_told
from stereotrope.tables import ABSENT, ALL_ATTRIBUTES, CAPTION, LABELLED, MARKS

__all__ = ["asked", "headline", "headline_of", "missing_items", "missing_table", "reasons"]

_FINDINGS = 5
_MOST_NOTES = 5
_LABEL_STATES = ("unclear", "refused", "invalid")


def headline(run: RunLike, *, words: Words | None = None) -> dict[str, Any]:
    """Return what a person should read first, as plain data.

    Parameters
    ----------
    run
        An opened run.
    words
        Makes the words of measures where the run stores none, as older ones do.

    Returns
    -------
    dict
        JSON-serialisable:

        - ``title`` and ``summary`` (the counts in one sentence);
        - ``asked``: list of ``{term, text, quote}``, ``quote`` marking words that are data, not ours;
        - ``counts``: prompts, images, ok, refused, excluded, absent, labels, derived_labels,
          labels_without_value;
        - ``missing``: ``{sentence, items, notes, columns, rows, labels}``, who is missing what, before any
          score; ``items`` says in a sentence each what a stage could not do, such as a model that cannot be
          reached, ``notes`` what readers of files left out or took for granted; the first ``labels`` columns
          name the row;
        - ``cost``: ``{sentence, columns, rows, labels}`` of the calls to model servers, None without any;
        - ``judges``: what checks of the annotators say, a sentence each, the unfit first;
        - ``findings``: up to five ``{rank, kind, sentence, scope, attribute, measure, images}``;
        - ``captions``: ``{what, title, follows, columns, rows, estimates}`` a table, of the composite scores,
          the declared sides of parity and what captions lack most often; empty for a run without captions;
        - ``tables``: one ``{measure, subset, mean, difference, name, title, definition, follows, columns,
          rows, estimates}`` a series (:class:`stereotrope.report.series.Series`) and definition (``follows``;
          named in the title where there are several): ``rows`` as text, ``estimates`` as numbers, an
          undefined one null with ``undefined`` as the reason.

        Texts are as stored: pass them through :mod:`stereotrope.report.escape` on the way out.
    """
    with changes_told(run.path):
        return headline_of(Material(run, words))


def headline_of(material: Material, *, tables: bool = True) -> dict[str, Any]:
    """:func:`headline` of a run that was made ready already; ``tables`` may be left empty."""
    counts = _counts(material)
    return {
        "title": str(material.info.get("title") or "Audit"),
        "asked": asked(material),
        "counts": counts,
        "summary": _summary(material, counts),
        "missing": missing_table(material),
        "cost": cost_table(material),
        "judges": judge_sentences(material),
        "findings": [
            _finding(row, rank)
            for rank, row in enumerate(material.findings.head(_FINDINGS).iter_rows(named=True), start=1)
        ],
        "captions": captions_tables(material) if tables else [],
        "tables": [t for one in headline_series(material) * tables for t in _tables(material, one)],
    }


def asked(material: Material) -> list[dict[str, Any]]:
    """What was asked, as (term, words) pairs for the first screen."""
    rows: list[dict[str, Any]] = []
    models = [ellipsis(visible(g), 80) for g in material.named_generators]
    rows.append({"term": "Models" if len(models) != 1 else "Model", "text": listing(models), "quote": False})
    for factor in material.shown:
        levels = [ellipsis(visible(v), 80) for v in material.level_order[factor]]
        rows.append({"term": words(factor).capitalize(), "text": listing(levels, most=12), "quote": False})
    texts = material.prompts["text"].drop_nulls().unique(maintain_order=True).to_list()
    if texts:
        plain = "For example" if len(texts) > 1 else "Prompt"
        rows.append({"term": plain, "text": texts[min(1, len(texts) - 1)], "quote": True})
    baseline = material.info.get("baseline") or {}
    if baseline:
        text = listing([f"{words(f)} = {level}" for f, level in baseline.items()])
        text += _shared_with_baseline(material, baseline)
        rows.append({"term": "Compared with", "text": text, "quote": False})
    return rows


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
    status = Counter(material.images["status"].to_list())
    labels = material.labels
    return {
        "prompts": material.prompts.height,
        "images": material.images.height,
        **{s: status.get(s, 0) for s in ("ok", "refused", "excluded", ABSENT)},
        "blank": _with(material, "blank"),
        "labels": labels.height,
        "derived_labels": labels["derived_from"].count(),
        "labels_without_value": labels.filter(pl.col("status") != "ok").height,
    }


def _summary(material: Material, counts: dict[str, int]) -> str:
    models = count(len(material.named_generators), "model")
    planned = counts["images"] + _not_made(material)
    unmade = f"{thousands(_not_made(material))} were not made, " if _not_made(material) else ""
    derived = f"{thousands(n)} of them derived from others, " if (n := counts["derived_labels"]) else ""
    factors = [f for f in material.factors if f in material.prompts.columns]
    conditions = material.prompts.select(factors).unique().height if factors else 1
    away = f"{thousands(counts[ABSENT])} are not at hand, " if counts[ABSENT] else ""
    blank = f"{count(counts['blank'], 'is', 'are')} blank, " if counts["blank"] else ""
    usable = thousands(counts["ok"] - counts["blank"])
    could = f"{away}{blank}{usable} could be {'looked at' if away else 'used'}"
    rest = (
        f", {thousands(counts['refused'])} were refused by the model, "
        f"{thousands(counts['excluded'])} could not be read"
    )
    if counts[ABSENT] == counts["images"] > 0:
        rest = "; how many were refused is not known"
    return (
        f"{count(planned, 'picture')} asked of {models} under {count(conditions, 'condition')}; "
        f"{unmade}{could}{rest}. Annotators gave "
        f"{count(counts['labels'], 'label')}, {derived}{thousands(counts['labels_without_value'])} of them "
        "without a value."
    )


def _finding(row: dict[str, Any], rank: int) -> dict[str, Any]:
    return {
        "rank": rank,
        "kind": row["kind"],
        "sentence": row["sentence"],
        "scope": json.loads(row["scope"] or "{}"),
        "attribute": row["attribute"],
        "measure": row["measure"],
        "images": image_ids(row),
    }


def headline_series(material: Material) -> list[Series]:
    """Series that have a headline row: no attribute, or the mean over them."""
    return material.prose.in_order(series_in(_head(material.estimates)))


def _head(frame: pl.DataFrame) -> pl.DataFrame:
    whole = frame.filter(pl.col("attribute").is_null() | (pl.col("attribute") == ALL_ATTRIBUTES))
    rest = frame.join(whole, on=["measure", *MARKS], how="anti", nulls_equal=True, maintain_order="left")
    return pl.concat([whole, rest])


def _tables(material: Material, series: Series) -> list[dict[str, Any]]:
    """One table a definition: scores of two are never rows of one table."""
    frame = series.rows(_head(material.estimates))
    definitions = frame["definition"].unique(maintain_order=True).to_list()
    return [
        _table(material, frame.filter(pl.col("definition").eq_missing(name)), name, len(definitions) > 1)
        for name in definitions
    ]


def _table(material: Material, frame: pl.DataFrame, definition: str | None, several: bool) -> dict[str, Any]:
    series = series_of(frame.row(0, named=True))
    prose = material.explain(series, definition)
    title = prose.heading
    if several and definition:
        title += f" ({words(definition)})"
    scope = [
        c for c in frame.columns if c in ("generator", *material.factors) and frame[c].drop_nulls().len()
    ]
    more = [c for c in ("annotator", "reference", "attribute", "category") if c in frame.columns]
    scope += [c for c in more if c not in scope and frame[c].drop_nulls().n_unique() > 1]
    rows, plain = [], []
    for r in frame.iter_rows(named=True):
        adjusted = interval(r["adjusted"], r["adjusted_low"], r["adjusted_high"], r["n"])
        n = "" if r["n"] is None else thousands(r["n"])
        rows.append(
            [
                *(str(r[c] or "–") for c in scope),
                estimate_text(material, r),
                adjusted,
                probability(r["q_value"]),
                n,
            ]
        )
        plain.append({k: v for k, v in r.items() if v is not None or k in ("value", "undefined")})
    columns = [*(words(c) for c in scope), "value [interval]", "adjusted [interval]", "q", "n"]
    keep = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    return {
        **asdict(series),
        "name": series.name,
        "title": title,
        "definition": prose.definition,
        "follows": definition,
        "columns": [columns[i] for i in keep],
        "rows": [[row[i] for i in keep] for row in rows],
        "estimates": plain,
    }


def missing_table(material: Material) -> dict[str, Any]:
    """Refusals, pictures that cannot be used and labels without a value, by model and group."""
    by = ["generator", *([material.row_factor] if material.row_factor else [])]
    usable = material.images.filter(pl.col("status") == "ok")
    picture = pl.coalesce("sha256", "image_id")
    copied = usable.select(picture.n_unique()).item() < usable.height
    columns = [*(words(c) for c in by), "asked for", "usable", *["of them distinct"] * copied]
    away = [ABSENT] * bool((material.images["status"] == ABSENT).any())
    columns += ["refused", "excluded", *["not at hand"] * len(away)]
    columns += ["labels", *(f"labels {s}" for s in _LABEL_STATES)]
    images = material.images.group_by(by).agg(
        pl.len(),
        picture.filter(pl.col("status") == "ok").n_unique().alias("distinct"),
        *(pl.col("status").eq(s).sum().alias(s) for s in ("ok", "refused", "excluded", ABSENT)),
    )
    labels = material.labels.group_by(by).agg(
        pl.len().alias("labels"), *(pl.col("status").eq(s).sum().alias(f"l_{s}") for s in _LABEL_STATES)
    )
    joined = images.join(labels, on=by, how="left", nulls_equal=True).with_columns(
        pl.selectors.numeric().fill_null(0)
    )
    records = sorted(joined.iter_rows(named=True), key=lambda r: [material.position(c, r[c]) for c in by])
    numbers = ["len", "ok", *["distinct"] * copied, "refused", "excluded", *away, "labels"]
    numbers += [f"l_{s}" for s in _LABEL_STATES]
    rows = [[*(str(r[c] or "–") for c in by), *(_number(r, c) for c in numbers)] for r in records]
    return {
        "sentence": _missing_sentence(material, records),
        "items": missing_items(material),
        "notes": _notes(material),
        "columns": columns,
        "rows": rows,
        "labels": len(by),
    }


def _number(record: dict[str, Any], column: str) -> str:
    """A count in words; of pictures that are not at hand nobody knows what was refused or unreadable."""
    unknown = column in ("refused", "excluded") and record["len"] == record[ABSENT]
    return "–" if unknown else thousands(int(record[column]))


def _notes(material: Material) -> list[str]:
    """The notes of a run; of many the first, and how many more there are."""
    notes = [str(note) for note in material.info.get("notes") or []]
    left = len(notes) - _MOST_NOTES
    if left < 2:
        return notes
    return [*notes[:_MOST_NOTES], f"{thousands(left)} more notes stand at the end of the report."]


_NOT_DONE = {
    "generate": ("picture was", "pictures were", "not made"),
    "annotate": ("picture was", "pictures were", "not looked at"),
    "discover": ("set of attributes was", "sets of attributes were", "not found"),
}
"""A stage → how what it did not do is named."""


def missing_items(material: Material) -> list[str]:
    """What a stage could not do, in a sentence each: a dead model, a spent budget, no caption."""
    told = []
    for item in material.info.get("missing") or []:
        one, many, undone = _NOT_DONE.get(str(item["stage"]), ("item was", "items were", "not done"))
        of, reason = int(item["of"]), str(item["reason"]).strip() or "no reason given"
        noun = one if of == 1 else many
        end = "" if reason.endswith((".", "!", "?")) else "."
        told.append(
            f"{item['name']}: {thousands(int(item['n']))} of {thousands(of)} {noun} {undone}: {reason}{end}"
        )
    return told + _uncaptioned(material)


def _uncaptioned(material: Material) -> list[str]:
    """How many pictures a captioner has no caption of; where it has them all, nothing."""
    usable = material.images.filter(pl.col("status").is_in(LABELLED))["image_id"]
    captions = material.labels.filter(pl.col("attribute") == CAPTION)
    told = []
    for captioner in captions["annotator"].unique().sort():
        given = captions.filter((pl.col("annotator") == captioner) & pl.col("value").is_not_null())
        lacking = usable.filter(~usable.is_in(given["subject_id"].implode())).len()
        if lacking:
            has, many = ("has", "picture") if usable.len() == 1 else ("have", "pictures")
            of = f"{thousands(lacking)} of {thousands(usable.len())} {many}"
            told.append(f"{captioner}: {of} {has} no caption, and no score of captions counts them.")
    return told


def _not_made(material: Material) -> int:
    """Pictures that were planned and never came to be, not even as a refusal."""
    return sum(int(i["n"]) for i in material.info.get("missing") or [] if i["stage"] == "generate")


def _missing_sentence(material: Material, records: list[dict[str, Any]]) -> str:
    if not records:
        return "No picture was made."
    total = sum(r["len"] for r in records)
    refused, excluded, absent = (sum(r[s] for r in records) for s in ("refused", "excluded", ABSENT))
    labels = sum(r["labels"] for r in records)
    without = sum(r[f"l_{s}"] for r in records for s in _LABEL_STATES)
    blank = _with(material, "blank")
    unusable = refused or excluded or absent
    if not unusable and not without and not blank and not missing_items(material):
        nothing = "All" if _notes(material) or not labels else "Nothing is missing: all"
        said = f"all {count(labels, 'label')} have a value" if labels else "there is no label"
        sentence = f"{nothing} {count(total, 'picture')} could be used and {said}."
        return " ".join([sentence, *_of_quality(material)])
    parts = []
    if refused:
        parts.append(f"{thousands(refused)} of {count(total, 'request')} were refused by a model.")
    if excluded:
        parts.append(f"{count(excluded, 'picture')} could not be used.")
    if absent:
        away = count(absent, "picture is", "pictures are")
        parts.append(f"{away} not at hand: what others said of them counts, and nothing here looked at them.")
    total -= absent
    if total and not refused and not excluded:
        made = " that were made" if _not_made(material) else ""
        could = "read" if blank else "used"
        parts.append(f"No request was refused, and all {count(total, 'picture')}{made} could be {could}.")
    worst = max(records, key=lambda r: r["refused"] / r["len"])
    if worst["refused"]:
        where = ", ".join(str(worst[c]) for c in ("generator", material.row_factor) if c and worst.get(c))
        parts.append(f"Most refusals, as a share, are for {where}: {worst['refused']} of {worst['len']}.")
    if labels and not without:
        parts.append(f"All {count(labels, 'label')} have a value.")
    elif labels:
        parts.append(
            f"{thousands(without)} of {count(labels, 'label')} have no value (unclear, refused or invalid)."
        )
    return " ".join([*parts, *_of_quality(material)])


def _of_quality(material: Material) -> list[str]:
    """Pictures that are blank or copies of another, in words; copies count."""
    said = {
        "blank": "blank and left out of the scores",
        "exact_duplicate_of": "an exact copy of another",
        "near_duplicate_of": "nearly a copy of another",
    }
    found = []
    for attribute, what in said.items():
        n = _with(material, attribute)
        if n:
            found.append(f"{count(n, 'picture is', 'pictures are')} {what}.")
    return found


def _with(material: Material, attribute: str) -> int:
    """How many pictures have what an attribute of their quality speaks of."""
    labels = material.labels.filter((pl.col("status") == "ok") & pl.col("value").is_not_null())
    rows = labels.filter((pl.col("attribute") == attribute) & (pl.col("value") != "no"))
    return rows["subject_id"].n_unique()


def reasons(material: Material) -> list[tuple[str, int]]:
    """Why pictures were refused or excluded and labels have no value, with counts."""
    found: Counter[str] = Counter()
    for status, reason in (
        material.images.filter(pl.col("status") != "ok").select("status", "reason").iter_rows()
    ):
        found[f"picture {status}: {reason or 'no reason given'}"] += 1
    for status, attribute in (
        material.labels.filter(pl.col("status") != "ok").select("status", "attribute").iter_rows()
    ):
        found[f"label {status}: {words(attribute)}"] += 1
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))
