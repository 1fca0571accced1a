"""Words of the report: what was asked, how a measure is explained, what perceived means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from ruamel.yaml import YAML

from stereotrope.report.escape import ellipsis, visible
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count
from stereotrope.tables import ALL_ATTRIBUTES, AVERAGE, DELTA, WITHOUT_VIOLATIONS

__all__ = [
    "PERCEIVED",
    "SECTIONS",
    "SUFFIXES",
    "MeasureProse",
    "asked",
    "explain",
    "listing",
    "measures_in_order",
    "split_name",
]

SECTIONS = ("missing", "divergence", "shares", "captions", "cases", "other")

PERCEIVED = (
    "Where labels speak of people (gender, age, skin tone, ethnicity …), they are perceived presentation "
    "as labelled by an annotator, never identity. The pictures show no one: there is no person behind them "
    "who has a gender or an origin. The categories are those of the label set, they are coarse, and another "
    "label set would give other numbers."
)


@dataclass(frozen=True)
class MeasureProse:
    """Title, definition and reading of a measure; ``beneath`` names the one below which it is shown.

    ``left_out`` is what ``n_excluded`` counts, in the singular, and ``left_out_of_all`` what it counts in
    rows over all attributes where that is something else.
    """

    name: str
    section: str
    title: str
    short: str
    unit: str
    definition: str
    reads: str
    source: str
    beneath: str = ""
    left_out: str = "picture"
    left_out_of_all: str = ""

    def counts_left_out(self, attribute: str | None) -> str:
        """What ``n_excluded`` of a row counts, in the singular; empty where it is not known."""
        return (self.left_out_of_all if attribute == ALL_ATTRIBUTES else "") or self.left_out


@cache
def _catalogue() -> dict[str, dict[str, Any]]:
    text = files("stereotrope.report").joinpath("measures.yaml").read_text(encoding="utf-8")
    return dict(YAML(typ="safe").load(text))


def explain(measure: str, definition: str | None = None) -> MeasureProse:
    """Words for a measure; one that is not in ``measures.yaml`` goes by its own name.

    A name that ends in :data:`SUFFIXES` gets the words of what stands before, and what the suffix says.
    ``definition`` chooses the words of one definition where ``measures.yaml`` has several.
    """
    base, suffixes = split_name(measure)
    known = _catalogue().get(base)
    if known is None:
        name = words(measure)
        return MeasureProse(measure, "other", name[:1].upper() + name[1:], name, "", "", "", "", left_out="")
    said = {k: v for k, v in known.items() if k != "definitions"}
    said |= known.get("definitions", {}).get(definition or "", {})
    prose = MeasureProse(name=measure, **said)
    for suffix in suffixes:
        prose = _MODIFIED[suffix](prose)
    return prose


def split_name(measure: str) -> tuple[str, tuple[str, ...]]:
    """The measure before its suffixes, and these in the order in which they were put on.

    ``bds_without_violations_average`` → ``bds``, (``_without_violations``, ``_average``).
    """
    name, found = measure, []
    while name not in _catalogue() and (end := next((s for s in SUFFIXES if name.endswith(s)), None)):
        name = name.removesuffix(end)
        found.append(end)
    return (name, tuple(reversed(found))) if name in _catalogue() else (measure, ())


def _averaged(of: MeasureProse) -> MeasureProse:
    return replace(
        of,
        title=f"{of.title}, on average",
        short=f"{of.short}, average",
        definition=f"Mean of {of.short}, every level counting the same; the tables say of how many.",
        reads="The interval says how the mean would vary with other such levels, not with other pictures.",
        left_out="score",
        left_out_of_all="",
    )


def _without_violations(of: MeasureProse) -> MeasureProse:
    return replace(
        of,
        title=f"{of.title}, without pictures that break the prompt",
        short=f"{of.short}, without violations",
        definition=(
            f"{of.definition} Computed a second time without the pictures that an annotator says break their "
            "prompt (people, or several products); these are counted as left out."
        ).strip(),
    )


def _compared(of: MeasureProse) -> MeasureProse:
    return replace(
        of,
        title=f"{of.title}, less that of the baseline model",
        short=f"{of.short}, difference from the baseline model",
        unit="difference of two scores",
        definition=(
            f"{of.short} of a model less that of the baseline model, for the same prompt and group. The "
            "interval joins those of the two scores by square-and-add."
        ),
        reads=(
            "Above 0 the score is higher than the baseline model's, which is a model like the others and no "
            "standard. Scores that depend on the number of captions do not compare where that differs; the "
            "warnings say where."
        ),
    )


_MODIFIED: Mapping[str, Callable[[MeasureProse], MeasureProse]] = {
    AVERAGE: _averaged,
    DELTA: _compared,
    WITHOUT_VIOLATIONS: _without_violations,
}
SUFFIXES = tuple(_MODIFIED)
"""Endings of a measure's name that say how it was derived from the one before them."""


def measures_in_order(present: list[str]) -> list[str]:
    """Known measures in the order of ``measures.yaml``, each before what derives from it; others by name."""
    order = list(_catalogue())

    def place(measure: str) -> tuple[int, int, str]:
        name, suffixes = split_name(measure)
        derived = sum((1, 2)[suffix == WITHOUT_VIOLATIONS] for suffix in suffixes)
        return (order.index(name) if name in order else len(order), derived, measure)

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
