"""Estimates of captions made up for the report: as many models, prompts and elements as a test asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
from tests.report.made_up import (
    FINDING_TYPES,
    IMAGE_TYPES,
    LABEL_TYPES,
    FakeRun,
    draw,
    frame,
    image_row,
)

from stereotrope.measure.estimates import estimate_frame
from stereotrope.report.material import Material

GROUPS = {
    "gender": ("female", "male", "unknown"),
    "skin_tone": ("fair", "medium", "dark", "unknown"),
    "species": (*(f"species_{i}" for i in range(12)), "unknown"),
}


def row(measure: str, value: float | None, **more: Any) -> dict[str, Any]:
    """An estimate with an interval around its value; ``value=None`` is one that is not defined."""
    known = {"low": None, "high": None, "undefined": "no usable caption"}
    if value is not None:
        known = {"low": value - 0.05, "high": value + 0.05, "undefined": None}
    return {"measure": measure, "definition": "paper", "value": value, "level": 0.95, "n": 100} | known | more


def share_rows(scope: dict[str, Any], attribute: str, shares: Sequence[float]) -> list[dict[str, Any]]:
    of = {**scope, "attribute": attribute, "method": "groups declared, unknown in; interval: Wilson"}
    of["n_categories"] = len(GROUPS[attribute])
    rows = [
        row("representation_parity", share, category=group, **of)
        for group, share in zip(GROUPS[attribute], shares, strict=True)
    ]
    rows += [row("shannon_entropy", 0.6, floor=0.98, **of), row("kl_from_uniform", 0.5, floor=0.02, **of)]
    return [*rows, row("bias_amplification", 0.7, floor=0.1, **of)]


def parity_rows(scope: dict[str, Any]) -> list[dict[str, Any]]:
    sides = [
        ("gender", "female", "male", None, '[["female"], ["male"]]'),
        ("skin_tone", "dark + medium", "others", "mostly_unknown", '[["dark", "medium"], ["others"]]'),
        ("skin_tone", "fair", "dark", None, None),
        ("skin_tone", "fair", "medium", None, None),
    ]
    return [
        row(measure, sign * 0.3, **scope, attribute=a, category=c, reference=r, flags=f, sides=s)
        for a, c, r, f, s in sides
        for measure, sign in (("signed_parity", -1), ("parity_difference", 1))
    ]


def omission_rows(scope: dict[str, Any], elements: int) -> list[dict[str, Any]]:
    rows = []
    for measure in ("gmr", "iemr"):
        rows.append(row(measure, 0.9, **scope))
        rows += [
            row(measure, (i + 1) / (elements + 1), category=f"element_{i}", **scope) for i in range(elements)
        ]
    return [*rows, row("hallucination", 0.1, **scope), row("car", 0.8, **scope)]


def score_rows(scope: dict[str, Any], value: float, *, delta: bool) -> list[dict[str, Any]]:
    of = {**scope, "attribute": "gender", "category": "female", "reference": "male"}
    rows = [
        row("cbs", value, **of, band="moderate"),
        row("cbs_without_occluded", value - 0.1, **of),
        row("occluded_share", 0.7, **scope),
        *(
            row("unknown_share", 0.2, **scope, attribute="gender", category=c)
            for c in (None, "occluded", "not occluded")
        ),
        row("cas", 0.9, **scope),
        row("vendi", 71.4, **scope),
        row("vendi_normalised", 0.71, **scope),
        row("clip_proxy", 0.05, **scope),
    ]
    if delta:
        rows.append(row("cbs", 0.1, **scope, baseline="model 0", reference="model 0", contrast="generator"))
    return rows


def captions_run(
    tmp_path: Path,
    *,
    models: int = 2,
    prompts: int = 2,
    elements: int = 3,
    definitions: Sequence[str] = ("paper",),
    undefined: bool = False,
    names: str = "prompt",
    lexicons: Sequence[str] = (),
    extra: Sequence[dict[str, Any]] = (),
) -> FakeRun:
    """A run whose estimates are those of captions; pictures and labels are few and beside the point."""
    levels = [f"{names} {i}" for i in range(prompts)]
    table = pl.DataFrame(
        {
            "prompt_id": [f"p{i}" for i in range(prompts)],
            "prompt": levels,
            "text": levels,
            "negative": pl.Series([None] * prompts, dtype=pl.String),
        }
    )
    generators = [f"model {i}" for i in range(models)]
    images = [image_row(p, g, 0) for g in generators for p in table["prompt_id"]]
    rows: list[dict[str, Any]] = []
    for g, generator in enumerate(generators):
        for level in levels:
            scope = {"generator": generator, "prompt": level}
            made = share_rows(scope, "gender", (0.5, 0.1 * (g % 3), 0.5 - 0.1 * (g % 3)))
            made += share_rows(scope, "skin_tone", (0.2, 0.0, 0.4, 0.4))
            made += share_rows(scope, "species", (0.3, *[0.0] * 10, 0.1, 0.6))
            made += [*parity_rows(scope), *omission_rows(scope, elements)]
            rows += [*made, *score_rows(scope, 0.2 + 0.05 * (g % 5), delta=g > 0)]
    if undefined:
        rows = [{**r, **row(r["measure"], None)} for r in rows]
    every = [{**r, "definition": d} for d in definitions for r in rows]
    every = [{**r, "annotator": name} for name in lexicons for r in every] or every
    every += list(extra)
    return FakeRun(
        tmp_path,
        table,
        frame(images, IMAGE_TYPES),
        frame([], LABEL_TYPES),
        estimate_frame(every, factors=["generator", "prompt", *["annotator"] * bool(lexicons)]),
        frame([], FINDING_TYPES),
        {
            "title": "Captions",
            "generators": [{"name": g} for g in generators],
            "annotators": [{"name": name, "kind": "LexiconAnnotator"} for name in lexicons],
        },
        pictures=dict.fromkeys((i["image_id"] for i in images), draw("#cc2222", "#ffffff", 1)),
    )


def captions_material(tmp_path: Path, **of: Any) -> Material:
    return Material(captions_run(tmp_path, **of))
