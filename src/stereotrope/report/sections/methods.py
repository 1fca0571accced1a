"""How far the numbers carry: judges on known truth, measures in words, how to do it again, and its cost."""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

import polars as pl
from ruamel.yaml import YAML

from stereotrope.report.contract import Block, add_section, series_in_order
from stereotrope.report.datatable import Table, TableCell, cell_of, plain_table
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.exports import MOST_TEXT_ROWS
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.missing_counts import first_notes
from stereotrope.report.numbers import count, dollars, interval, number, thousands
from stereotrope.report.prose import PERCEIVED, listing
from stereotrope.report.series import OVER_ALL, Estimate, Series
from stereotrope.shipped import shipped
from stereotrope.version import __version__

_AT_LEAST = ("accuracy", "kappa")
"""Checks whose limit is a least value; every other is a rate that has a greatest one."""
_CHECKS: Mapping[str, str] = shipped("report", "checks.yaml")
_VERDICTS = {"pass": "keeps", "fail": "fails", "insufficient": "not enough evidence"}
_FIT = {True: "fit", False: "unfit", None: "not enough evidence"}
_PLACES = {"fail": 0, "insufficient": 1, "pass": 2}
_MOST_WAYS = 4
_OVER = re.compile(r"(?<=\bover )\d+\b")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?\b")
_MOST_OPEN = 8
_TITLE = "Calls to model servers"
_COLUMNS = (
    "model", "for", "calls", "answered", "refused", "failed", "outcome unknown", "tokens in", "tokens out",
    "pictures", "US dollars",
)  # fmt: skip
_LABELS = 2
_KINDS = {"image": "pictures", "chat": "questions"}
_NOTE = (
    "Every attempt counts as a call, repeated ones too. Dollars follow the prices that the audit file or "
    "this version names; the bill of the provider is what holds."
)


def judge_cards(material: Material) -> list[dict[str, Any]]:
    """Every card of the run in words, the unfit first."""
    stored = material.info.get("judge_cards") or []
    return [_card(one) for one in sorted(stored, key=lambda one: one.get("fit") is not False)]


def _card(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The card of an annotator, its failed checks first."""
    checks = stored.get("rows") or []
    rows = [_row(r) for r in sorted(checks, key=lambda r: _PLACES.get(r["verdict"], 0))]
    columns = ["check", "attribute", "verdict", "value [interval]", "limit", "n"]
    return {
        "annotator": str(stored["annotator"]),
        "state": _FIT.get(stored.get("fit"), _FIT[None]),
        "sentence": str(stored.get("sentence") or ""),
        "checked_on": str(stored.get("checked_on") or ""),
        "table": Table(f"Checks of {stored['annotator']}", columns, rows, len(rows)),
    }


def _row(row: Estimate) -> list[TableCell]:
    value, n = row.get("value"), row.get("n")
    said = f"not defined: {row.get('reason') or 'no reason given'}"
    if value is not None:
        said = interval(value, row.get("low"), row.get("high"), n)
    bound = "at least" if row["check"] in _AT_LEAST else "at most"
    return [
        TableCell(_CHECKS.get(row["check"], words(str(row["check"])))),
        TableCell(level_words("attribute", row.get("attribute") or None)),
        TableCell(_VERDICTS.get(row["verdict"], str(row["verdict"]))),
        TableCell(said, numeric=value is not None),
        TableCell("" if row.get("limit") is None else f"{bound} {number(row['limit'], n)}"),
        cell_of(n),
    ]


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    info = material.info
    level = info.get("level")
    audit, notes = io.StringIO(), [str(note) for note in info.get("notes", [])]
    if material.run.audit:
        YAML(typ="safe", pure=True).dump(material.run.audit, audit)
    kept = ("name", "kind", "fingerprint")
    again = {
        "stereotrope": info.get("stereotrope_version", __version__),
        "Run format": info.get("format_version", "not recorded"),
        "Seed": info.get("seed", "not recorded"),
        **{f"Version of {name}": v for name, v in sorted((info.get("versions") or {}).items())},
    }
    told = {
        "measures": _measures_words(material, series_in_order(material)),
        "open": _MOST_OPEN,
        "text_rows": thousands(MOST_TEXT_ROWS),
        "level": number(level) if level is not None else "the level in the tables",
        "perceived": PERCEIVED,
        "generators": _named_table("Models", info.get("generators", []), (*kept, "commits", "note")),
        "annotators": _named_table(
            "Annotators", info.get("annotators", []), (*kept, "commits", "attributes")
        ),
        "again": [(term, str(value)) for term, value in again.items()],
        "notes": notes if notes != first_notes(material) else [],  # said once, where they are few
        "audit": audit.getvalue(),
    }
    return [Block("methods", told)]


def _measures_words(material: Material, measures: Sequence[Series]) -> list[dict[str, str]]:
    """Every measure in words; differences from the baseline model are one entry at the end."""
    first = sorted(measures, key=lambda m: bool(m.steps or material.explain(m).beneath))
    entries = [entry for m in first if not m.difference for entry in _measure_words(material, m)]
    deltas = [m for m in measures if m.difference]
    if len(deltas) < 2:
        return entries + [entry for m in deltas for entry in _measure_words(material, m)]
    every = material.estimates.filter(pl.col("baseline").is_not_null())
    scores = [material.explain(replace(m, difference=False)).short for m in deltas]
    changed = {
        "name": "…_delta",
        "title": "Differences from the baseline model",
        "definition": (
            "A score of a model less that of the baseline model, for the same prompt and group, of "
            f"{listing(scores, most=len(scores))}. The interval joins those of the two scores by "
            "square-and-add."
        ),
    }
    return [*entries, _entry(material, every, deltas[0]) | changed]


def _measure_words(material: Material, series: Series) -> list[dict[str, str]]:
    """A series in words: once, or once a definition where the words differ."""
    every = series.rows(material.estimates)
    parts = every.partition_by("definition", maintain_order=True)
    differ = len({material.explain(series, part["definition"][0]).definition for part in parts}) > 1
    return [_entry(material, part, series, named=differ) for part in (parts if differ else [every])]


def _entry(material: Material, every: pl.DataFrame, series: Series, *, named: bool = False) -> dict[str, str]:
    whole = every.filter(OVER_ALL)
    frame = whole if whole.height else every
    told = pl.col("definition", "source", "method").drop_nulls().unique(maintain_order=True).implode()
    ((definitions, sources, each),) = frame.select(told).rows()
    methods = alike_but_for_a_number(each)
    more = [f"{len(methods) - _MOST_WAYS} more"] * (len(methods) > _MOST_WAYS)
    definition = every["definition"][0]
    prose = material.explain(series, definition)
    return {
        "name": series.name,
        "title": f"{prose.heading} ({words(str(definition))})" if named else prose.heading,
        "definition": prose.definition,
        "definitions": listing([words(d) for d in definitions], most=4),
        "sources": listing(sources, most=4).rstrip(".") or prose.source,
        "methods": "; or ".join([*(m.rstrip(".") for m in methods[:_MOST_WAYS]), *more]),
    }


def alike_but_for_a_number(texts: Sequence[str]) -> list[str]:
    """Texts, those that differ in what they are ``over`` alone as one: ``over 31 to 565 scenarios``.

    Of very many, as rows have that tell numbers of their own, those that differ in any numbers.
    """
    told = _alike(texts, _OVER)
    return told if len(told) <= _MOST_WAYS else _alike(texts, _NUMBER)


def _alike(texts: Sequence[str], number: re.Pattern[str]) -> list[str]:
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for text in texts:
        found.setdefault(tuple(number.split(text)), []).append(tuple(number.findall(text)))
    told = []
    for form, numbers in found.items():
        columns = [sorted(set(column), key=float) for column in zip(*numbers, strict=True)]
        ends = [
            _ends(column, counted=len(column) > 1 or before.endswith("over "))
            for before, column in zip(form, columns, strict=False)
        ]
        told.append("".join(chain(*zip_longest(form, ends, fillvalue=""))))
    return told


def _ends(numbers: Sequence[str], *, counted: bool) -> str:
    """The least and the greatest of sorted numbers; what is counted has its thousands apart, a seed not."""
    told = [thousands(int(n)) if counted and n.isdigit() else n for n in numbers]
    return told[0] if len(told) == 1 else f"{told[0]} to {told[-1]}"


def _named_table(caption: str, items: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    def text(value: Any) -> str:
        if isinstance(value, Mapping):
            return "; ".join(f"{words(str(k))}: {', '.join(v) if v else 'open'}" for k, v in value.items())
        if isinstance(value, list):
            return ", ".join(words(str(v)) for v in value)
        return "–" if value is None else str(value)

    columns = [c for c in columns if c != "commits" or any(item.get(c) for item in items)]
    rows = [[TableCell(text(item.get(c))) for c in columns] for item in items]
    return Table(caption, list(columns), rows, len(rows))


def cost_blocks(material: Material, shown: Exhibits) -> list[Block]:
    """Calls, tokens and dollars by model with a sentence; nothing where no call was made."""
    cells = [
        [
            f"{r['provider']}:{r['model']}",
            _KINDS.get(r["kind"], r["kind"]),
            *(thousands(r[c]) for c in ("begun", "ok", "refused", "failed", "unanswered")),
            *(thousands(r[c]) if r[c] else "–" for c in ("input_tokens", "output_tokens", "images")),
            _cost(r),
        ]
        for r in material.run.spending.iter_rows(named=True)
    ]
    calls = plain_table(_TITLE, {"columns": list(_COLUMNS), "rows": cells, "labels": _LABELS}, "spending")
    told = [Block("text", _told(material)), Block("table", calls), Block("note", [_NOTE])]
    return told if cells else []


def _cost(row: dict[str, Any]) -> str:
    """Dollars; with a sign where some calls have no known price, ``unknown`` where none has."""
    if row["cost"] is None:
        return "unknown" if row["unpriced"] else "–"
    return f"≥ {dollars(row['cost'])}" if row["unpriced"] or row["unanswered"] else dollars(row["cost"])


def _told(material: Material) -> list[str]:
    """What all calls cost, in a sentence; none where no call was made."""
    rows = material.run.spending.to_dicts()
    if not rows:
        return []
    begun, unpriced, open_ = (sum(r[c] for r in rows) for c in ("begun", "unpriced", "unanswered"))
    known = [r["cost"] for r in rows if r["cost"] is not None]
    models = list(dict.fromkeys(f"{r['provider']}:{r['model']}" for r in rows))
    least = "at least " if unpriced or open_ else ""
    parts = [f"{count(begun, 'call')} went to {count(len(models), 'model')}."]
    parts += [f"They cost {least}{dollars(sum(known))}."] if known else []
    if unpriced:
        names = listing(list(dict.fromkeys(f"{r['provider']}:{r['model']}" for r in rows if r["unpriced"])))
        what = f"The price of {count(unpriced, 'call')} is unknown"
        what = "Of no call the price is known" if unpriced == begun else what
        parts.append(f"{what} ({names}); unknown is not 0.")
    if open_:
        parts.append(
            f"Of {count(open_, 'call')} nothing came back before the program was stopped; "
            f"{'it' if open_ == 1 else 'they'} may have been charged."
        )
    return [" ".join(parts)]


add_section(
    "judges",
    "How well the judges read",
    lead="Annotators that are models were asked about pictures whose truth is known. No estimate can be more "
    "certain than the labels it is made of.",
    place=30,
    make=lambda material, shown: [Block("card", card) for card in judge_cards(material)],
    headline=lambda material: ([card["sentence"] for card in judge_cards(material)], []),
)
add_section("methods", "Methods and limits", place=140, make=_blocks)
add_section(
    "cost",
    "What it cost",
    place=130,
    make=cost_blocks,
    headline=lambda material: (_told(material), []),
    tables=lambda m: {"spending": (_TITLE, m.run.spending)} if m.run.spending.height else {},
)
