"""Composite scores of captions: of which prompt, in which band, with what an interval reaches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from stereotrope.report.material import Material, words
from stereotrope.report.numbers import interval, number
from stereotrope.report.sections.captions.bases import bases_of
from stereotrope.tables import BANDS, Band, warnings_of

COMPOSITE_MEASURES = ("cbs", "contextual_diversity")
"""The two composites; a prompt has one of them."""
_PROMPT = "prompt"
_DOUBTED = "mostly_unknown"
_SLACK = 1e-12
_MOST_PLACES = 4


@dataclass(frozen=True)
class Part:
    """Estimates that may be set side by side: one definition, lexicon and level of each further factor.

    definition: The definition that they follow.
    lexicon: The lexicon that read the captions, where the run has several.
    scope: Levels of the factors that are neither model nor prompt.
    lines: Columns that tell the lines of a figure apart: the prompts.
    frame: The estimates.
    named: What tells it from the other parts, in words; empty where there is only one.
    """

    definition: str | None
    lexicon: str | None
    scope: Mapping[str, str | None]
    lines: Sequence[str]
    frame: pl.DataFrame
    named: str


def tentative(row: Mapping[str, Any]) -> bool:
    """Whether a score rests on captions most of which name no group, so that its band says little."""
    return _DOUBTED in warnings_of(row.get("flags"))


def band_words(row: Mapping[str, Any]) -> str:
    """The band that a score lies in, with its doubt: ``high, mostly unknown``; empty where there is none."""
    band = band_name(row)
    return f"{band}, {words(_DOUBTED)}" if band and tentative(row) else band


def warnings(row: Mapping[str, Any], *, banded: bool = False) -> str:
    """The warnings of a row in words; of one that is ``banded`` without the doubt beside its band."""
    told = [flag for flag in warnings_of(row.get("flags")) if not (banded and flag == _DOUBTED)]
    return ", ".join(map(words, told))


def band_name(row: Mapping[str, Any]) -> str:
    """The band that a score lies in; empty where it has none."""
    return row.get("band") or ""


def band_of(row: Mapping[str, Any], column: str = "value") -> int | None:
    """Place in ``BANDS`` of a score's band, or of one end of its interval; None without a number.

    The band of the score itself is the one that is stored.
    """
    if row[column] is None:
        return None
    names = [band.name for band in BANDS]
    stored = band_name(row) if column == "value" else ""
    if stored in names:
        return names.index(stored)
    inside = (i for i, band in enumerate(BANDS) if row[column] <= band.most + _SLACK)
    return next(inside, len(BANDS) - 1)


def in_band(row: Mapping[str, Any], least: int = 2) -> str:
    """Value and interval to ``least`` digits, or to so many that none of the three seems in another band."""
    ends = [row[c] for c in ("value", "low", "high") if row[c] is not None]
    bands = [band_of({"value": end}) for end in ends]
    exact = (
        p
        for p in range(least, _MOST_PLACES + 1)
        if [band_of({"value": round(end, p)}) for end in ends] == bands
    )
    return interval(row["value"], row["low"], row["high"], places=next(exact, _MOST_PLACES))


def reach(row: Mapping[str, Any]) -> str:
    """The band in words, its doubt, what the interval reaches: ``low, mostly unknown, up to high``."""
    at = band_of(row)
    if at is None:
        return ""
    ends = [band_of(row, end) for end in ("low", "high")]
    down, up = (at if end is None else end for end in ends)
    said = [f"down to {BANDS[down].name}"] * (down < at) + [f"up to {BANDS[up].name}"] * (up > at)
    doubt = [words(_DOUBTED)] * tentative(row)
    return ", ".join([BANDS[at].name, *doubt, *[" and ".join(said)] * bool(said)])


def edges_text(band: Band) -> str:
    """Which numbers a band holds, in words."""
    at = BANDS.index(band)
    if at == 0:
        return f"up to {number(band.most, places=2)}"
    above = f"above {number(BANDS[at - 1].most, places=2)}"
    return above if at == len(BANDS) - 1 else f"{above}, up to {number(band.most, places=2)}"


def prompt_factor(material: Material, frame: pl.DataFrame) -> str | None:
    """The factor that names the prompts of captions: ``prompt``, else the last one that the rows have."""
    there = [f for f in material.factors if f in frame.columns and frame[f].null_count() < frame.height]
    return _PROMPT if _PROMPT in there else (there[-1] if there else None)


def parts_by_definition(material: Material, frame: pl.DataFrame) -> list[Part]:
    """The estimates apart by definition, lexicon and further factors, in the order of run and design."""
    prompt = prompt_factor(material, frame)
    if prompt is None:
        return []
    further = [c for c in material.scope_columns(frame) if c not in ("generator", "annotator", prompt)]
    finer = [f for f in further if frame.select(f, prompt).unique().height == frame[f].n_unique()]
    by = [f for f in further if f not in finer]
    parts = []
    for basis in bases_of(material, frame):
        same = basis.frame
        groups = same.partition_by(by, maintain_order=True) if by else [same]
        groups.sort(key=lambda group: [material.position(f, group[f][0]) for f in by])
        for group in groups:
            scope = {f: group[f][0] for f in by}
            named = [str(level) for level in scope.values() if level is not None]
            told = ", ".join([*named, *basis.told])
            parts.append(Part(basis.definition, basis.lexicon, scope, [prompt, *finer], group, told))
    return parts


def line_label(row: Mapping[str, Any], lines: Sequence[str]) -> str:
    """A prompt in words."""
    return ", ".join(str(row[f]) for f in lines if row[f] is not None) or "–"
