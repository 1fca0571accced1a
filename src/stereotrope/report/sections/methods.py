"""Methods and limits: every measure in words, who drew and who looked, and what it takes to do it again."""

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
from ruamel.yaml import YAML

from stereotrope.report.contract import Block, add_section, series_in_order
from stereotrope.report.datatable import Table, TableCell
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.exports import MOST_TEXT_ROWS
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import number, thousands
from stereotrope.report.prose import PERCEIVED, listing
from stereotrope.report.series import OVER_ALL, Series
from stereotrope.version import __version__

_MOST_WAYS = 4
_MOST_OPEN = 8


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    info = material.info
    level = info.get("level")
    audit = io.StringIO()
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
        "generators": _named_table("Models", info.get("generators", []), (*kept, "note")),
        "annotators": _named_table("Annotators", info.get("annotators", []), (*kept, "attributes")),
        "again": [(term, str(value)) for term, value in again.items()],
        "notes": [str(n) for n in info.get("notes", [])],
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
    told = frame.select("definition", "source", "method")
    definitions, sources, methods = (c.drop_nulls().unique(maintain_order=True).to_list() for c in told)
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


def _named_table(caption: str, items: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> Table:
    def text(value: Any) -> str:
        if isinstance(value, Mapping):
            return "; ".join(f"{words(str(k))}: {', '.join(v) if v else 'open'}" for k, v in value.items())
        if isinstance(value, list):
            return ", ".join(words(str(v)) for v in value)
        return "–" if value is None else str(value)

    rows = [[TableCell(text(item.get(c))) for c in columns] for item in items]
    return Table(caption, list(columns), rows, len(rows))


add_section("methods", "Methods and limits", place=140, make=_blocks)
