"""Ratios by scenario made up for the report, and what the measures of ratios make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from tests.report.made_up import FINDING_TYPES, IMAGE_TYPES, LABEL_TYPES, FakeRun, frame, image_row

from stereotrope import measure
from stereotrope.measure.estimates import estimate_frame

MODELS = ("model-a", "model-b", "model-c")
GROUPS = ("activities", "occupations")
WORDINGS = ("a person", "someone")
FACTORS = ("generator", "prompt_group", "scenario", "variation")
N = 40
CALLS = [
    {"measure": "female_ratio", "by": ["generator", "prompt_group", "scenario"]},
    {
        "measure": "dominated",
        "on": "female_ratio",
        "over": "scenario",
        "within": ["generator", "prompt_group"],
    },
    {"measure": "model_agreement", "on": "female_ratio", "over": "scenario", "within": ["prompt_group"]},
]
"""Of the calls of measures what names ratios, and the factor that tells scenarios apart."""


def ratio(model: int, group: int, i: int) -> int:
    """Of 40 pictures how many are labelled female: from none to all over the scenarios."""
    return min(N, max(0, 5 * i + 3 * model - 4 * group))


def ratio_row(scope: Mapping[str, Any], k: int | None, n: int = N, left: int = 0) -> dict[str, Any]:
    told = {"measure": "female_ratio", "definition": "everyday", "attribute": "gender", "category": "female"}
    counted = {"n": n, "n_excluded": left, "numerator": k, "denominator": n, "level": 0.95, **scope, **told}
    if k is None:
        return {**counted, "n": 0, "undefined": "no usable label"}
    value = k / n
    return {**counted, "value": value, "low": max(0, value - 0.1), "high": min(1, value + 0.1)}


def ratio_rows(
    models: Sequence[str], groups: Sequence[str], scenarios: Sequence[str]
) -> list[dict[str, Any]]:
    rows = []
    for (m, model), (g, group), (i, scenario) in product(*map(enumerate, (models, groups, scenarios))):
        scope = {"generator": model, "prompt_group": group, "scenario": f"{scenario} ({group})"}
        rows.append(ratio_row(scope, ratio(m, g, i)))
        rows += [
            ratio_row({**scope, "variation": name}, ratio(m, g, i + j), N) for j, name in enumerate(WORDINGS)
        ]
    return rows


def derived(ratios: pl.DataFrame) -> pl.DataFrame:
    """Every measure over scenarios, of ratios as they are."""
    inside = ["generator", "prompt_group"]
    whole = ratios.filter(pl.col("variation").is_null()) if "variation" in ratios.columns else ratios
    half = {s: (i % 9 + 0.5) / 10 for i, s in enumerate(whole["scenario"].unique(maintain_order=True))}
    reference = pl.DataFrame(
        {"scenario": list(half), "reference": list(half.values()), "source": "a survey", "year": 2022}
    )
    places = [f"place {i % 5}" for i in range(len(half))]
    clusters = pl.DataFrame({"scenario": list(half), "cluster": places})
    made = [
        measure.dominated(whole, within=inside),
        measure.mean_ratio(whole, within=inside),
        measure.cluster_ratio(whole, clusters, within=["prompt_group"]),
        measure.ratio_change(whole, within=["prompt_group"]),
        measure.stability(whole, within=inside, pictures=[20, 100, 200]),
        measure.ratio_entropy(whole, within=inside),
        measure.amplification(whole, reference, within=inside),
        measure.model_agreement(whole, within=["prompt_group"]),
        measure.model_deviation(whole, within=["prompt_group"]),
    ]
    if "variation" in ratios.columns:
        varied = ratios.filter(pl.col("variation").is_not_null())
        made.append(measure.variation_effect(varied, within=inside))
    return pl.concat([ratios, *made], how="diagonal")


def make_scenarios(
    path: Path,
    *,
    models: Sequence[str] = MODELS,
    groups: Sequence[str] = GROUPS,
    scenarios: Sequence[str] = tuple(f"scenario {i}" for i in range(9)),
    rows: Sequence[Mapping[str, Any]] | None = None,
    estimates: pl.DataFrame | None = None,
    **info: Any,
) -> FakeRun:
    """A run of labels without pictures; ``rows`` are its ratios, ``estimates`` all that is measured."""
    prompts = pl.DataFrame(
        [
            (f"{group}-{scenario}-{name}", group, f"{scenario} ({group})", f"place {i % 5}", name, text, None)
            for group, (i, scenario), name in product(groups, enumerate(scenarios), WORDINGS)
            for text in [f"{name} {scenario}"]
        ],
        schema=dict.fromkeys(
            ("prompt_id", "prompt_group", "scenario", "cluster", "variation", "text", "negative"), pl.String
        ),
        orient="row",
    )
    images = [image_row(p, m, 0, status="absent") for m, p in product(models, prompts["prompt_id"])]
    if estimates is None:
        told = ratio_rows(models, groups, scenarios) if rows is None else list(rows)
        estimates = derived(estimate_frame(told, factors=list(FACTORS)))
    known = {"measures": CALLS} | {
        "title": "Who",
        "generators": [{"name": m, "kind": "labels"} for m in models],
        "annotators": [],
    }
    return FakeRun(
        path,
        prompts,
        frame(images, IMAGE_TYPES),
        frame([], LABEL_TYPES),
        estimates,
        frame([], FINDING_TYPES),
        {**known, "notes": [], "level": 0.95, "seed": 0, **info},
        {"report": {"title": "Who"}},
    )
