"""An audit with a judge, phrasings and a mitigation: many measures, many rows, some undefined."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.report.made_up import (
    FINDING_TYPES,
    IMAGE_TYPES,
    LABEL_TYPES,
    FakeRun,
    draw,
    frame,
    image_row,
    label_row,
    short,
)

from stereotrope.measure.estimates import estimate_frame

ATTRIBUTES = ("product_colour", "background_colour", "text_presence", "silhouette", "ornament", "scene")
VALUES = ("red", "white", "black")
VARIANTS = (
    {},
    {"subset": "without_violations"},
    {"aggregate": "object"},
    {"subset": "without_violations", "aggregate": "object"},
)
FACTORS = ("object", "dimension", "group", "phrasing", "mitigation")


def make_judged(
    path: Path, *, models: int = 2, objects: int = 2, groups: int = 2, judges: int = 2, n: int = 3
) -> FakeRun:
    """Per model and object a baseline and ``groups`` × two phrasings, each without and with a mitigation."""
    rng = np.random.default_rng(5)
    prompts, images, labels, pictures = [], [], [], {}
    things, cues = [f"thing {i}" for i in range(objects)], [f"group {i}" for i in range(groups)]
    names, judged = [f"model-{i}" for i in range(models)], [f"judge {i}" for i in range(judges)]
    conditions = [("base", None), *product(cues, ("for", "targeted at"))]
    for thing, (group, phrasing), mitigation in product(things, conditions, ("none", "range of styles")):
        pid = short(thing, group, phrasing, mitigation)
        scope = {"object": thing, "dimension": None if group == "base" else "cue", "group": group}
        scope |= {"phrasing": phrasing, "mitigation": mitigation}
        prompts.append({"prompt_id": pid, **scope, "text": f"{thing} for {group}", "negative": None})
        for name, i in product(names, range(n)):
            image = image_row(pid, name, i)
            images.append(image)
            pictures[image["image_id"]] = draw("#cc2222", "#ffffff", i % 4)
            labels += [
                label_row(image["image_id"], a, str(rng.choice(VALUES)), who)
                for a, who in product(ATTRIBUTES, judged)
            ]
    estimates = _estimates(rng, names, things, conditions[1:], judged, n)
    info: dict[str, Any] = {
        "title": "Cars and cups on a server",
        "suite": "objects",
        "level": 0.95,
        "seed": 0,
        "baseline": {"group": "base"},
        "generators": [{"name": m, "kind": "made up", "fingerprint": "f", "note": None} for m in names],
        "annotators": [
            {"name": who, "kind": "made up", "fingerprint": who, "attributes": dict.fromkeys(ATTRIBUTES)}
            for who in judged
        ],
    }
    return FakeRun(
        path,
        pl.DataFrame(prompts, schema_overrides={"negative": pl.String}, infer_schema_length=None),
        frame(images, IMAGE_TYPES),
        frame(labels, LABEL_TYPES),
        estimate_frame(estimates, factors=["generator", *FACTORS, "annotator"]),
        frame([], FINDING_TYPES),
        info,
        {"suite": "objects"},
        pictures,
    )


def _estimates(
    rng: np.random.Generator,
    names: list[str],
    things: list[str],
    conditions: list[Any],
    judges: list[str],
    n: int,
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def add(measure: str, scope: dict[str, Any], attribute: str | None, **more: Any) -> None:
        value = float(rng.random())
        ends = {"value": value, "low": 0.6 * value, "high": min(1.0, 1.3 * value), "level": 0.95, "n": n}
        if rng.random() < 0.05:
            ends = {"value": None, "undefined": "no usable label", "n": 0}
        told = {"measure": measure, "definition": "paper", "attribute": attribute, **scope, **ends, **more}
        rows.append({k: v for k, v in told.items() if v is not None or k == "value"})

    none = {"value": None, "low": None, "high": None, "n": 0}
    for name, (group, phrasing), mitigation, who in product(
        names, conditions, ("none", "range of styles"), judges
    ):
        scope = {"generator": name, "group": group, "dimension": "cue", "phrasing": phrasing}
        scope |= {"mitigation": mitigation, "annotator": who, "contrast": "group", "reference": "base"}
        for variant, attribute in product(VARIANTS, ("all", *ATTRIBUTES)):
            of = [{}] if "aggregate" in variant else [{"object": thing} for thing in things]
            for one in of:
                add("bds", scope | one | variant, attribute, floor=0.2, q_value=float(rng.random()))
                add("vac", scope | one | variant, attribute)
        for thing in things:
            at = scope | {"object": thing}
            for attribute in ATTRIBUTES:
                add("dominance_shift", at, attribute, **none, undefined="fewer than 10 usable labels")
                for value in VALUES:
                    add("share", at, attribute, category=value)
                    add("share_difference", at, attribute, category=value)
            add("vac_chao_shen", at, "all")
            add("default_rank", at, None, value=1.0, low=None, high=None)
    for name, who in product(names, judges):
        scope = {"generator": name, "annotator": who}
        reason = "no cell with enough usable labels" if who == judges[0] else "only one value is possible"
        for attribute in (None, *ATTRIBUTES):
            add("deterministic_share", scope, attribute, **none, undefined=reason)
        add("judge_correlation", scope, None, **(none | {"undefined": "fewer than 4 scores"}))
    rows[-1] |= {"value": 0.5, "low": 0.1, "high": 0.8, "n": 9}
    return rows
