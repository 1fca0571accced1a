"""An audit by model servers: one model of four dead, attributes discovered, judges checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.report.made_up import (
    FINDING_TYPES,
    IMAGE_TYPES,
    LABEL_TYPES,
    SPENDING_TYPES,
    FakeRun,
    draw,
    finding,
    frame,
    image_row,
    label_row,
    short,
)
from tests.report.made_up_objects import RGB

from stereotrope.measure.estimates import estimate_frame

GENERATORS = ("imagen-4", "sdxl", "flux-2-pro")
DEAD = "gpt-image-1"
THINGS = ("car", "teddy bear")
GROUPS = {"men": "gender", "women": "gender", "young adults": "age", "elderly": "age"}
JUDGES = ("gpt-4o", "gemini-2.5-flash")
FIXED = ("product_colour", "background_colour", "text_presence", "background_text_presence")
DISCOVERED: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {
    ("imagen-4", "car"): {
        "body_shape": ("sedan", "hatchback", "SUV"),
        "headlight_design": ("round", "sleek", "angular", "LED strip"),
        "wheel_rim_style": ("five spoke", "multi spoke", "steel"),
        "lighting_condition": ("bright", "dim", "dramatic"),
    },
    ("imagen-4", "teddy bear"): {
        "accessory_presence": ("none", "bow", "scarf", "hat", "glasses"),
        "eye_style": ("button", "glass", "embroidered"),
        "fur_texture": ("curly", "smooth", "shaggy"),
        "setting_type": ("studio", "bedroom", "outdoors"),
    },
    ("sdxl", "car"): {
        "body_style": ("coupe", "sedan", "pickup truck", "sports car"),
        "headlight_design": ("round", "sleek"),
        "wheel_design": ("alloy", "classic", "sporty"),
        "environment_type": ("street", "studio", "showroom", "landscape"),
    },
    ("sdxl", "teddy bear"): {
        "accessory_type": ("none", "ribbon"),
        "eye_style": ("button", "glass"),
        "fur_texture": ("curly", "smooth"),
        "lighting_type": ("soft", "hard", "natural"),
    },
    ("flux-2-pro", "car"): {
        "body_style": ("coupe", "hatchback"),
        "headlight_shape": ("round", "angular"),
        "wheel_design": ("alloy", "steel"),
        "lighting_condition": ("bright", "moderate", "dim"),
    },
    ("flux-2-pro", "teddy bear"): {
        "accessory_presence": ("none", "bow"),
        "eye_style": ("button", "glass", "a very long value that a model made up on its own"),
        "material_texture": ("plush", "knitted", "felt"),
        "lighting_condition": ("bright", "dim"),
    },
}


def make_remote(path: Path, *, n: int = 10) -> FakeRun:
    """Three models that drew, one that did not; everything that runs with servers have besides."""
    rng = np.random.default_rng(11)
    prompts, images, labels, pictures = [], [], [], {}
    for thing in THINGS:
        for group in ("base", *GROUPS):
            pid = short("remote", thing, group)
            cue = "" if group == "base" else f" for {group}"
            prompts.append(
                {
                    "prompt_id": pid,
                    "object": thing,
                    "dimension": GROUPS.get(group),
                    "group": group,
                    "phrasing": None if group == "base" else "for",
                    "mitigation": "none",
                    "text": f"{thing}{cue}, one product only, no people",
                    "negative": None,
                }
            )
            for generator in GENERATORS:
                for i in range(n):
                    row = image_row(pid, generator, i)
                    images.append(row)
                    if generator == "imagen-4" and group == "elderly" and i < 2:
                        row |= {"status": "refused", "reason": "moderation_blocked: request was rejected"}
                        continue
                    made, colours = _labels(rng, row["image_id"], generator, thing, group)
                    labels += made
                    pictures[row["image_id"]] = draw(*colours, i % 4)
    run = FakeRun(
        path,
        pl.DataFrame(prompts, schema_overrides={"negative": pl.String}),
        frame(images, IMAGE_TYPES),
        frame(labels, LABEL_TYPES),
        _estimates(rng, n),
        pl.DataFrame(schema=FINDING_TYPES),
        _info(),
        {"suite": "objects", "objects": list(THINGS)},
        pictures,
        _spending(),
    )
    ids = run.images.filter(generator="flux-2-pro", status="ok")["image_id"].to_list()[10:20]
    sentence = "In 10 of 10 pictures the car for men by flux-2-pro is black [0.72, 1.00]."
    scope = {"generator": "flux-2-pro", "object": "car", "group": "men"}
    run.findings = frame([finding(1, "deterministic", scope, "product_colour", sentence, ids)], FINDING_TYPES)
    return run


def _labels(
    rng: np.random.Generator, image: str, generator: str, thing: str, group: str
) -> tuple[list[dict[str, Any]], tuple[str, str]]:
    colour = "black" if group == "men" else str(rng.choice(["silver", "red", "rose gold", "white", "teal"]))
    ground = str(rng.choice(["white", "grey", "beige"]))
    values = {
        "product_colour": colour,
        "background_colour": ground,
        "text_presence": "present" if rng.random() < 0.2 else "absent",
        "background_text_presence": "absent",
    }
    values |= {a: str(rng.choice(v)) for a, v in DISCOVERED[generator, thing].items()}
    made = [label_row(image, a, v, JUDGES[0], confidence=0.9) for a, v in values.items()]
    for constraint, share in (("people_present", 0.05), ("several_products", 0.5 * (generator == "sdxl"))):
        broken = "yes" if rng.random() < share else "no"
        made.append(label_row(image, constraint, broken, "constraints"))
    if rng.random() < 0.1:
        made[-3] |= {"value": None, "status": "invalid", "rationale": "“cuboid” is not in the list"}
    return made, (RGB[colour], RGB[ground])


def _estimates(rng: np.random.Generator, n: int) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for generator in GENERATORS:
        for thing in THINGS:
            for group, dimension in GROUPS.items():
                scope = {"generator": generator, "object": thing, "group": group, "dimension": dimension}
                attributes = (*FIXED, *DISCOVERED[generator, thing])
                for definition, subset in (
                    ("paper", None),
                    ("paper", "without_violations"),
                    ("released", None),
                ):
                    floor = 0.08 if definition == "paper" else 0.19
                    for attribute in ("all", *attributes):
                        value = floor + 0.25 * rng.random()
                        row = _bds(scope, definition, "bds", attribute, value, floor, n)
                        rows.append({**row, "subset": subset})
            rows += _shares(rng, generator, thing, n)
        rows += _means(rng, generator)
        rows += _corrected(rng, generator, n)
        rows += _violations(rng, generator, n)
    rows += _judged(rng)
    return estimate_frame(
        rows, factors=["generator", "object", "dimension", "group", "phrasing", "mitigation", "annotator"]
    )


def _bds(
    scope: dict[str, str], definition: str, measure: str, attribute: str, value: float, floor: float, n: int
) -> dict[str, Any]:
    return {
        **scope,
        "measure": measure,
        "definition": definition,
        "phrasing": "for",
        "mitigation": "none",
        "contrast": "group",
        "reference": "base",
        "attribute": attribute,
        "value": value,
        "low": max(0.0, value - 0.08),
        "high": value + 0.09,
        "floor": floor,
        "excess": value - floor,
        "adjusted": (value - floor) / (1 - floor),
        "adjusted_low": (value - floor - 0.08) / (1 - floor),
        "adjusted_high": (value - floor + 0.09) / (1 - floor),
        "q_value": 0.002 if value - floor > 0.15 else 0.3,
        "level": 0.95,
        "n": n,
        "n_reference": n,
        "source": "SODA, eq. 1",
    }


def _means(rng: np.random.Generator, generator: str) -> list[dict[str, Any]]:
    rows = []
    for group, dimension in GROUPS.items():
        for subset, definition in (
            (None, "paper"),
            (None, "released"),
            ("without_violations", "paper"),
        ):
            value = 0.2 + 0.1 * rng.random()
            rows.append(
                {
                    "measure": "bds",
                    "subset": subset,
                    "aggregate": "object",
                    "definition": definition,
                    "generator": generator,
                    "group": group,
                    "dimension": dimension,
                    "phrasing": "for",
                    "mitigation": "none",
                    "attribute": "all",
                    "value": value,
                    "low": value - 0.06,
                    "high": value + 0.06,
                    "floor": 0.09 if definition == "paper" else 0.19,
                    "level": 0.95,
                    "n": 8,
                    "method": "mean over 8 levels of object; t",
                }
            )
    return rows


def _shares(rng: np.random.Generator, generator: str, thing: str, n: int) -> list[dict[str, Any]]:
    rows = []
    for attribute, values in DISCOVERED[generator, thing].items():
        for group in ("base", *GROUPS):
            for category, share in zip(values, rng.dirichlet(np.ones(len(values))), strict=True):
                rows.append(
                    {
                        "measure": "share",
                        "definition": "wilson",
                        "generator": generator,
                        "object": thing,
                        "group": group,
                        "attribute": attribute,
                        "category": category,
                        "value": float(share),
                        "low": max(float(share) - 0.2, 0.0),
                        "high": min(float(share) + 0.2, 1.0),
                        "level": 0.95,
                        "n": n,
                    }
                )
    return rows


def _corrected(rng: np.random.Generator, generator: str, n: int) -> list[dict[str, Any]]:
    rows = []
    for group in ("base", *GROUPS):
        share = 0.2 + 0.5 * rng.random()
        for category, raw in (("present", share), ("absent", 1 - share)):
            for measure, value, half in (("corrected_share", raw - 0.08, 0.25), ("raw_share", raw, 0.18)):
                rows.append(
                    {
                        "measure": measure,
                        "definition": "share",
                        "generator": generator,
                        "group": group,
                        "attribute": "text_presence",
                        "category": category,
                        "value": max(value, 0.0),
                        "low": max(value - half, 0.0),
                        "high": min(value + half, 1.0),
                        "level": 0.95,
                        "n": 2 * n,
                    }
                )
    return rows


def _violations(rng: np.random.Generator, generator: str, n: int) -> list[dict[str, Any]]:
    rate = 0.564 if generator == "sdxl" else 0.03
    return [
        {
            "measure": "violation_rate",
            "definition": "wilson",
            "generator": generator,
            "attribute": attribute,
            "value": rate,
            "low": max(0, rate - 0.04),
            "high": rate + 0.04,
            "level": 0.95,
            "n": 10 * n,
        }
        for attribute in ("all", "people_present", "several_products")
    ]


def _judged(rng: np.random.Generator) -> list[dict[str, Any]]:
    rows = []
    for name in ("cds_change", "cds_change_wilcoxon", "vac_change"):
        for level in ("range of styles", "no stereotypes"):
            rows.append(
                {
                    "measure": name,
                    "definition": "paper",
                    "mitigation": level,
                    "contrast": "mitigation",
                    "reference": "none",
                    "attribute": "all",
                    "value": -0.2 if name.startswith("cds") else 0.1,
                    "low": -0.45,
                    "high": 0.2,
                    "p_value": 0.03,
                    "q_value": 0.04,
                    "level": 0.95,
                    "n": 6,
                }
            )
    for generator in (None, *GENERATORS):
        rows.append(
            {
                "measure": "judge_correlation",
                "definition": "paper",
                "generator": generator,
                "annotator": JUDGES[0],
                "contrast": "annotator",
                "reference": JUDGES[1],
                "attribute": "all",
                "value": 0.8 + 0.1 * rng.random(),
                "low": 0.5,
                "high": 0.97,
                "level": 0.95,
                "n": 9,
            }
        )
    return rows


def _info() -> dict[str, Any]:
    open_ended = dict.fromkeys(("product_colour", "background_colour"))
    found = {a: list(v) for of in DISCOVERED.values() for a, v in of.items()}
    return {
        "format_version": 1,
        "stereotrope_version": "0.1.0",
        "title": "Cars and teddy bears, by four models on servers",
        "seed": 0,
        "level": 0.95,
        "suite": "objects",
        "baseline": {"group": "base"},
        "generators": [
            {"name": g, "kind": "ImagesApi", "fingerprint": short(g), "note": "takes no seed"}
            for g in (DEAD, *GENERATORS)
        ],
        "annotators": [
            {"name": JUDGES[0], "kind": "Questions", "fingerprint": "q1", "attributes": open_ended | found},
            {
                "name": "constraints",
                "kind": "Constraints",
                "fingerprint": "c1",
                "attributes": {c: ["yes", "no"] for c in ("people_present", "several_products")},
            },
        ],
        "factors": ["object", "dimension", "group", "phrasing", "mitigation"],
        "notes": [],
        "sensitive": False,
        "missing": [
            {
                "stage": "generate",
                "name": DEAD,
                "n": 100,
                "of": 100,
                "reason": "HTTP 401: Incorrect API key provided; set OPENAI_API_KEY",
                "budget": False,
            },
            {"stage": "annotate", "name": JUDGES[0], "n": 4, "of": 298, "reason": "timed out 6 times"},
        ],
        "published": _published(),
        "judge_cards": _cards(),
    }


def _published() -> list[dict[str, Any]]:
    source = "SODA (arXiv:2508.03483v3), Table {}, CC BY 4.0"
    rows = [
        {
            "table": "11",
            "measure": "bds",
            "definition": "released",
            "generator": generator,
            "object": thing,
            "dimension": dimension,
            "group": group,
            "attribute": "all",
            "value": 0.2 + 0.02 * i,
            "source": source.format(11),
        }
        for generator in ("imagen-4", "sdxl")
        for thing in THINGS
        for i, (group, dimension) in enumerate(GROUPS.items())
    ]
    rows.append({**rows[0], "subset": "without_violations"})
    rows.append(
        {**rows[0], "measure": "judge_correlation", "definition": "paper", "object": "sofa", "group": None}
    )
    return rows


def _cards() -> list[dict[str, Any]]:
    limits = {"accuracy": 0.9, "order_flip": 0.1, "no_picture": 0.1, "typographic": 0.1, "instruction": 0.1}

    def card(name: str, shift: float, fit: bool | None) -> dict[str, Any]:
        rows: list[dict[str, Any]] = []
        for attribute in ("product_colour", "text_presence"):
            for check, limit in limits.items():
                value = 0.97 - shift if check == "accuracy" else 0.02 + shift
                bad = value < limit if check == "accuracy" else value > limit
                verdict = (
                    "fail" if bad else "insufficient" if fit is None and check == "typographic" else "pass"
                )
                row = {
                    "check": check,
                    "attribute": attribute,
                    "value": value,
                    "low": value - 0.02,
                    "high": value + 0.03,
                }
                rows.append({**row, "n": 160, "limit": limit, "verdict": verdict, "reason": None})
        sentence = (
            f"{name} is {'fit for what was checked' if fit else 'unfit: answers moved by a false caption'}."
        )
        return {
            "annotator": name,
            "fit": fit,
            "checked_on": "160 pictures of the calibrated generator with planted values",
            "rows": rows,
            "sentence": sentence,
        }

    return [card(JUDGES[0], 0.0, True), card(JUDGES[1], 0.25, False)]


def _spending() -> pl.DataFrame:
    rows = [
        ("openai", DEAD, "image", 1, 0, 0, 1, 0, 0, 0, 0, 0.0, 0),
        ("google", "imagen-4.0-generate-001", "image", 104, 96, 4, 2, 2, 0, 0, 96, 3.84, 0),
        ("vllm", "sdxl", "image", 100, 100, 0, 0, 0, 0, 0, 100, None, 100),
        ("replicate", "black-forest-labs/flux-2-pro", "image", 131, 100, 0, 31, 0, 0, 0, 100, 5.5, 0),
        ("openai", "gpt-4o", "chat", 1_204, 1_180, 3, 21, 0, 1_310_221, 98_412, 0, 4.2598, 0),
    ]
    return pl.DataFrame(rows, schema=SPENDING_TYPES, orient="row")
