"""Words of the report: what was asked, how a measure is explained, what perceived means."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ruamel.yaml import YAML

from stereotrope.report.escape import shorten, visible
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count
from stereotrope.tables import AVERAGE

__all__ = [
    "PERCEIVED",
    "SECTIONS",
    "MeasureProse",
    "asked",
    "explain",
    "listing",
    "measures_in_order",
]

SECTIONS = ("missing", "divergence", "shares", "cases", "other")

PERCEIVED = (
    "Where labels speak of people (gender, age, skin tone, ethnicity …), they are perceived presentation "
    "as labelled by an annotator, never identity. The pictures show no one: there is no person behind them "
    "who has a gender or an origin. The categories are those of the label set, they are coarse, and another "
    "label set would give other numbers."
)


@dataclass(frozen=True)
class MeasureProse:
    """Title, definition and reading of a measure."""

    name: str
    section: str
    title: str
    short: str
    unit: str
    definition: str
    reads: str
    source: str


@cache
def _catalogue() -> dict[str, dict[str, str]]:
    text = files("stereotrope.report").joinpath("measures.yaml").read_text(encoding="utf-8")
    return dict(YAML(typ="safe").load(text))


def explain(measure: str) -> MeasureProse:
    """Words for a measure; one that is not in ``measures.yaml`` goes by its own name."""
    known = _catalogue().get(measure)
    if known is None and (single := _single(measure)) is not None:
        return _averaged(measure, single)
    if known is None:
        name = words(measure)
        return MeasureProse(measure, "other", name[:1].upper() + name[1:], name, "", "", "", "")
    return MeasureProse(name=measure, **known)


def _single(measure: str) -> str | None:
    """The known measure that ``measure`` is a mean of, if it is one."""
    name = measure.removesuffix(AVERAGE)
    return name if name != measure and name in _catalogue() else None


def _averaged(measure: str, single: str) -> MeasureProse:
    of = explain(single)
    return MeasureProse(
        name=measure,
        section=of.section,
        title=f"{of.title}, on average",
        short=f"{of.short}, average",
        unit=of.unit,
        definition=f"Mean of {of.short}, every level counting the same; the tables say of how many.",
        reads="The interval says how the mean would vary with other such levels, not with other pictures.",
        source=of.source,
    )


def measures_in_order(present: list[str]) -> list[str]:
    """Known measures in the order of ``measures.yaml``, each before its mean, then the others by name."""
    order = list(_catalogue())

    def place(measure: str) -> tuple[int, str]:
        name = _single(measure) or measure
        return (order.index(name) if name in order else len(order), measure)

    return sorted(present, key=place)


def listing(items: list[str], *, most: int = 8) -> str:
    """``a, b and c``; a long list is cut and counted."""
    shown = (
        items if len(items) <= most else [*items[: most - 1], count(len(items) - most + 1, "more", "more")]
    )
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)


def asked(material: Material) -> list[dict[str, Any]]:
    """What was asked, as (term, words) pairs for the first screen."""
    rows: list[dict[str, Any]] = []
    models = [shorten(visible(g), 80) for g in material.generators]
    rows.append({"term": "Models" if len(models) != 1 else "Model", "text": listing(models), "quote": False})
    for factor in material.shown:
        levels = [shorten(visible(v), 80) for v in material.level_order[factor]]
        rows.append({"term": words(factor).capitalize(), "text": listing(levels, most=12), "quote": False})
    texts = material.prompts["text"].drop_nulls().unique(maintain_order=True).to_list()
    if texts:
        plain = "For example" if len(texts) > 1 else "Prompt"
        rows.append({"term": plain, "text": texts[min(1, len(texts) - 1)], "quote": True})
    baseline = material.info.get("baseline") or {}
    if baseline:
        text = listing([f"{words(f)} = {level}" for f, level in baseline.items()])
        rows.append({"term": "Compared with", "text": text, "quote": False})
    return rows
