"""A run of the size of the paper's: five models, eight objects, ten conditions, eight attributes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.report.made_up import FINDING_TYPES, IMAGE_TYPES, LABEL_TYPES, FakeRun, draw, finding, frame, short

from stereotrope.measure.estimates import estimate_frame

MODELS = tuple(f"model {letter}" for letter in "ABCDE")
OBJECTS = ("car", "laptop", "backpack", "cup", "teddy bear", "sofa", "toaster", "clock")
GROUPS = {
    **dict.fromkeys(("young adults", "middle-aged", "elderly"), "age"),
    **dict.fromkeys(("men", "women"), "gender"),
    **dict.fromkeys(("White people", "Black people", "Asian people", "Latinx people"), "ethnicity"),
}
CONDITIONS = ("base", *GROUPS)
ATTRIBUTES = (
    "product_colour", "background_colour", "text_presence", "background_text_presence",
    "silhouette", "ornament", "surface_finish", "scene",
)  # fmt: skip
VALUES = ("red", "white", "black", "grey", "beige", "blue")


def make_large(path: Path, *, n: int = 2) -> FakeRun:
    """A run of 400 conditions with `n` pictures each and an estimate of everything."""
    rng = np.random.default_rng(3)
    prompts = [
        {
            "prompt_id": short(thing, group),
            "object": thing,
            "dimension": GROUPS.get(group),
            "group": group,
            "text": thing if group == "base" else f"{thing} for {group}",
            "negative": None,
        }
        for thing, group in product(OBJECTS, CONDITIONS)
    ]
    images = [
        (short(model, p["prompt_id"], i), p["prompt_id"], model, i)
        for model, p, i in product(MODELS, prompts, range(n))
    ]
    ids = [row[0] for row in images]
    values = rng.choice(np.array(VALUES), size=(len(ids), len(ATTRIBUTES)))
    info = {
        "title": "Five models, eight objects",
        "suite": "objects",
        "level": 0.95,
        "seed": 0,
        "baseline": {"group": "base"},
        "generators": [{"name": m, "kind": "made up", "fingerprint": "f", "note": None} for m in MODELS],
        "annotators": [
            {"name": "judge", "kind": "made up", "fingerprint": "f", "attributes": dict.fromkeys(ATTRIBUTES)}
        ],
    }
    picture = draw("#cc2222", "#ffffff", 1)
    told = [
        finding(1, "deterministic", {"group": "women"}, "product_colour", "All red.", ids[-n:]),
    ]
    return FakeRun(
        path,
        pl.DataFrame(prompts),
        _images(images),
        _labels(ids, values),
        estimate_frame(list(_estimates(rng, n)), factors=["generator", "object", "dimension", "group"]),
        frame(told, FINDING_TYPES),
        info,
        {"suite": "objects"},
        dict.fromkeys(ids, picture),
    )


def _images(rows: list[tuple[str, str, str, int]]) -> pl.DataFrame:
    named = pl.DataFrame(rows, schema=["image_id", "prompt_id", "generator", "seed"], orient="row")
    filled = named.with_columns(status=pl.lit("ok"), params=pl.lit("{}"), width=160, height=160)
    rest = [pl.lit(None, kind).alias(c) for c, kind in IMAGE_TYPES.items() if c not in filled.columns]
    return filled.with_columns(rest).select(list(IMAGE_TYPES))


def _labels(ids: list[str], values: Any) -> pl.DataFrame:
    told = pl.DataFrame(
        {
            "subject_id": np.repeat(ids, len(ATTRIBUTES)),
            "attribute": ATTRIBUTES * len(ids),
            "value": values.ravel(),
        }
    ).with_columns(subject_kind=pl.lit("image"), annotator=pl.lit("judge"), status=pl.lit("ok"))
    rest = [pl.lit(None, kind).alias(c) for c, kind in LABEL_TYPES.items() if c not in told.columns]
    return told.with_columns(rest).select(list(LABEL_TYPES))


def _estimates(rng: np.random.Generator, n: int) -> Iterator[dict[str, Any]]:
    def row(measure: str, **scope: Any) -> dict[str, Any]:
        value = float(rng.random())
        ends = {"value": value, "low": 0.8 * value, "high": min(1.0, 1.2 * value), "level": 0.95, "n": n}
        return {"measure": measure, "definition": "paper", "contrast": "group", **ends, **scope}

    for model, (group, dimension), attribute in product(MODELS, GROUPS.items(), ("all", *ATTRIBUTES)):
        of = {"generator": model, "dimension": dimension, "group": group, "attribute": attribute}
        for subset in (None, "without_violations"):
            yield row("bds", **of, subset=subset, aggregate="object", n=len(OBJECTS))
            for thing in OBJECTS:
                yield row("bds", object=thing, subset=subset, reference="base", q_value=0.01, floor=0.1, **of)
    for model, thing, group, attribute in product(MODELS, OBJECTS, CONDITIONS, ATTRIBUTES):
        scope = {"generator": model, "object": thing, "dimension": GROUPS.get(group), "group": group}
        yield row("dominant_share", **scope, attribute=attribute, category="red")
        for value in ("present", "absent") if "presence" in attribute else VALUES:
            yield row("share", **scope, attribute=attribute, category=value)
            if group != "base" and value in ("present", "red", "white"):
                change = row(
                    "share_difference", **scope, attribute=attribute, category=value, reference="base"
                )
                yield {**change, "value": change["value"] - 0.5, "low": change["low"] - 0.5}
