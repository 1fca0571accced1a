"""Pictures of the distributions: one row a condition, one column an attribute, one strip each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import polars as pl
from ruamel.yaml import YAML

from stereotrope.report.charts import PALETTE
from stereotrope.report.escape import shorten, visible
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count

__all__ = ["Distribution", "Line", "Segment", "Strip", "distributions"]

OTHER = "other values"
_NEUTRAL = ("absent", "no", "none")
_MOST_VALUES = 7
_MOST_COLOURS = 14
_ROW_LEVELS = 4
_LABEL_SHARE = 0.2
WIDTH = 160
"""Units of a strip's view box; a share of 1 is this wide."""
_SIGN_WIDTH = 6.0
_GENDER = ("gender", "sex", "presentation")


@dataclass(frozen=True)
class Segment:
    """One value in a strip; ``css`` names a palette class, ``colour`` an actual colour."""

    value: str
    count: int
    start: float
    width: float
    css: str
    colour: str | None
    text: str
    dark_text: bool


@dataclass(frozen=True)
class Strip:
    """The labels of one attribute in one condition."""

    segments: Sequence[Segment]
    n: int
    left_out: int
    said: str


@dataclass(frozen=True)
class Line:
    """One condition: its name, its strips, its pictures where a finding points at them."""

    title: str
    anchor: str
    strips: Sequence[Strip]
    pictures: Sequence[str]


@dataclass(frozen=True)
class Distribution:
    """Conditions set side by side on the same attributes."""

    name: str
    title: str
    attributes: Sequence[str]
    lines: Sequence[Line]
    keys: Sequence[tuple[str, Sequence[Segment]]]


@cache
def _colours() -> Mapping[str, str]:
    text = files("stereotrope.report").joinpath("colours.yaml").read_text(encoding="utf-8")
    return dict(YAML(typ="safe").load(text))


def distributions(material: Material) -> list[Distribution]:
    """Every generator's conditions; a figure for each level of the leading factors where rows are many."""
    row = material.row_factor
    levels = len(material.level_order.get(row, [])) if row else 0
    lead = [f for f in material.shown if f != row] if levels >= _ROW_LEVELS else []
    usable = material.labels.filter(~pl.col("attribute").str.ends_with("duplicate_of"))
    groups: dict[tuple[str, ...], list[Any]] = {}
    for sheet in material.sheets:
        groups.setdefault((sheet.generator, *(str(sheet.scope.get(f, "")) for f in lead)), []).append(sheet)
    counts = _count(usable)
    out = []
    for i, (key, sheets) in enumerate(groups.items(), start=1):
        ids = [row["image_id"] for sheet in sheets for row in sheet.images]
        here = {image: counts[image] for image in ids if image in counts}
        made = _distribution(material, f"distribution-{i}", key, lead, sheets, here)
        if made is not None:
            out.append(made)
    return out


def _count(labels: pl.DataFrame) -> dict[str, list[tuple[str, str, str | None, str]]]:
    """``image_id`` → its labels (attribute, annotator, value, status)."""
    found: dict[str, list[tuple[str, str, str | None, str]]] = {}
    columns = ("subject_id", "attribute", "annotator", "value", "status")
    for image, attribute, annotator, value, status in labels.select(columns).iter_rows():
        found.setdefault(image, []).append((attribute, annotator, value, status))
    return found


def _distribution(
    material: Material,
    name: str,
    key: Sequence[str],
    lead: Sequence[str],
    sheets: Sequence[Any],
    labels: Mapping[str, Sequence[tuple[str, str, str | None, str]]],
) -> Distribution | None:
    seen: Counter[tuple[str, str]] = Counter((a, who) for rows in labels.values() for a, who, _, _ in rows)
    names = _column_names(list(seen))
    if not names:
        return None
    totals: dict[str, Counter[str]] = {c: Counter() for c in names.values()}
    per_sheet: dict[str, dict[str, Counter[str]]] = {}
    left: dict[str, Counter[str]] = {}
    for sheet in sheets:
        per_sheet[sheet.anchor] = {c: Counter() for c in names.values()}
        left[sheet.anchor] = Counter()
        for image in sheet.images:
            for attribute, who, value, status in labels.get(image["image_id"], ()):
                column = names[attribute, who]
                if status != "ok" or value is None:
                    left[sheet.anchor][column] += 1
                    continue
                per_sheet[sheet.anchor][column][value] += 1
                totals[column][value] += 1
    columns = [c for c in names.values() if len(totals[c])]
    styles = {c: _styles(c, totals[c]) for c in columns}
    lines = [
        Line(
            material.title(sheet.scope, leave_out=lead),
            sheet.anchor,
            [_strip(c, per_sheet[sheet.anchor][c], left[sheet.anchor][c], styles[c]) for c in columns],
            material.highlighted.get(sheet.anchor, [])[:3],
        )
        for sheet in sheets
    ]
    keys = [
        (c, [_segment(v, n, 0.0, 0.0, styles[c]) for v, n in _kept(c, totals[c]).items()]) for c in columns
    ]
    title = " · ".join(k for k in (key if len(material.generators) > 1 else key[1:]) if k)
    return Distribution(name, title, columns, lines, keys)


def _column_names(seen: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    attributes = Counter(a for a, _ in seen)
    return {(a, who): words(a) if attributes[a] == 1 else f"{words(a)} ({who})" for a, who in seen}


def _is_colour(column: str) -> bool:
    return "colour" in column or "color" in column


def _kept(column: str, totals: Counter[str]) -> dict[str, int]:
    """Values with a segment of their own, most frequent first; the rest becomes one."""
    ordered = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    most = _MOST_COLOURS if _is_colour(column) else _MOST_VALUES
    kept = dict(ordered[:most])
    rest = sum(n for _, n in ordered[most:])
    return {**kept, OTHER: rest} if rest else kept


def _styles(column: str, totals: Counter[str]) -> dict[str, tuple[str, str | None]]:
    """Value → (CSS class, actual colour)."""
    kept = [v for v in _kept(column, totals) if v != OTHER]
    styles: dict[str, tuple[str, str | None]] = {OTHER: ("g-other", None)}
    styles |= {v: ("g-none", None) for v in kept if v.strip().lower() in _NEUTRAL}
    order = list(range(1, len(PALETTE) + 1))
    if any(word in column for word in _GENDER):
        order = [1, 2, 4, 6]
    for i, value in enumerate(sorted(v for v in kept if v.strip().lower() not in _NEUTRAL)):
        named = _colours().get(value.strip().lower()) if _is_colour(column) else None
        styles[value] = ("", named) if named else (f"g-{order[i % len(order)]}", None)
    return styles


def _strip(column: str, counts: Counter[str], left_out: int, styles: Mapping[str, Any]) -> Strip:
    n = sum(counts.values())
    merged: dict[str, int] = {}
    for value in sorted(counts, key=lambda v: (-counts[v], v)):
        merged[value if value in styles else OTHER] = (
            merged.get(value if value in styles else OTHER, 0) + counts[value]
        )
    segments, at = [], 0.0
    for value, k in merged.items():
        width = WIDTH * k / n
        segments.append(_segment(value, k, at, width, styles))
        at += width
    parts = [f"{value} {k} of {n}" for value, k in merged.items()]
    missing = [f"{count(left_out, 'label')} without a value"] if left_out else []
    said = visible(shorten(f"{column}: {', '.join(parts + missing) or 'no usable label'}", 400))
    return Strip(segments, n, left_out, said)


def _segment(value: str, k: int, start: float, width: float, styles: Mapping[str, Any]) -> Segment:
    css, colour = styles[value]
    fits = int(width / _SIGN_WIDTH) - 1
    text = visible(value) if len(value) <= fits and width >= _LABEL_SHARE * WIDTH else ""
    return Segment(value, k, round(start, 2), round(width, 2), css, colour, text, _is_light(colour))


def _is_light(colour: str | None) -> bool:
    """Whether dark text reads better on it (relative luminance of WCAG 2 above 0.18)."""
    if colour is None:
        return True
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18
