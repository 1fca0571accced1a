"""An audit of two objects: a baseline and five groups, with a planted bias."""

from __future__ import annotations

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
    finding,
    frame,
    image_row,
    label_row,
    short,
)

from stereotrope.measure.estimates import estimate_frame

RGB = {
    "rose gold": "#dca3a0",
    "silver": "#c0c0c0",
    "black": "#111111",
    "white": "#ffffff",
    "red": "#cc2222",
    "teal": "#008080",
    "brown": "#7b4a22",
    "beige": "#e8dcc0",
    "grey": "#808080",
    "zany": "#334455",
}
GROUPS = {"men": "gender", "women": "gender", "young adults": "age", "middle-aged": "age", "elderly": "age"}
ATTRIBUTES = ("product_colour", "background_colour", "text_presence", "background_text_presence")


def make_objects(path: Path, *, n: int = 20) -> FakeRun:
    """Two objects, a baseline and five groups, `n` pictures each; two refusals, one unreadable file."""
    rng = np.random.default_rng(7)
    prompts, images, labels, pictures = [], [], [], {}
    for thing in ("laptop", "cup"):
        for group in ("base", *GROUPS):
            pid = short(thing, group)
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
            for i in range(n):
                row = image_row(pid, "calibrated", i)
                if group == "elderly" and thing == "cup" and i < 3:
                    row |= {"status": "refused", "reason": "prompt was blocked by the safety system"}
                elif thing == "cup" and group == "men" and i == 0:
                    row |= {"status": "excluded", "reason": "not a picture: HTML"}
                images.append(row)
                if row["status"] != "ok":
                    continue
                colour, ground, text = _planted(rng, thing, group)
                pictures[row["image_id"]] = draw(RGB[colour], RGB[ground], i % 4)
                labels += [
                    label_row(row["image_id"], "product_colour", colour, "colour", confidence=0.9),
                    label_row(row["image_id"], "background_colour", ground, "colour", confidence=0.9),
                    label_row(row["image_id"], "text_presence", text, "text"),
                    label_row(row["image_id"], "background_text_presence", "absent", "text"),
                ]
                if rng.random() < 0.04:
                    labels[-2] |= {"value": None, "status": "unclear"}
    info = {
        "format_version": 1,
        "stereotrope_version": "0.1.0",
        "title": "Laptops and cups, drawn for whom?",
        "seed": 0,
        "level": 0.95,
        "suite": "objects",
        "baseline": {"group": "base"},
        "generators": [
            {
                "name": "calibrated",
                "kind": "calibrated",
                "fingerprint": "calibrated-1:3f9a",
                "note": "drawn, not generated: its bias is planted and known",
            }
        ],
        "annotators": [
            {
                "name": "colour",
                "kind": "colour",
                "fingerprint": "colour-1:aa01",
                "attributes": {"product_colour": None, "background_colour": None},
            },
            {
                "name": "text",
                "kind": "text",
                "fingerprint": "rapidocr-3.10",
                "attributes": {
                    "text_presence": ["present", "absent"],
                    "background_text_presence": ["present", "absent"],
                },
            },
        ],
        "factors": ["object", "dimension", "group", "phrasing", "mitigation"],
        "notes": ["Two near-duplicate pairs were found; the effective n is 238."],
        "sensitive": False,
    }
    run = FakeRun(
        path,
        pl.DataFrame(prompts),
        frame(images, IMAGE_TYPES),
        frame(labels, LABEL_TYPES),
        _objects_estimates(rng, n),
        pl.DataFrame(schema=FINDING_TYPES),
        info,
        {"suite": "objects", "objects": ["laptop", "cup"], "images_per_prompt": n},
        pictures,
    )
    run.findings = _objects_findings(run)
    return run


def _planted(rng: np.random.Generator, thing: str, group: str) -> tuple[str, str, str]:
    colours = (
        {"women": "rose gold", "men": "black"}
        if thing == "laptop"
        else {"women": "white", "elderly": "brown"}
    )
    sure = colours.get(group)
    colour = (
        sure
        if sure and rng.random() < (1.0 if group == "women" else 0.85)
        else str(rng.choice(["silver", "black", "white", "red", "teal"], p=[0.4, 0.2, 0.2, 0.1, 0.1]))
    )
    ground = str(
        rng.choice(["white", "beige", "grey"], p=[0.6, 0.2, 0.2] if group != "women" else [0.1, 0.8, 0.1])
    )
    return colour, ground, "present" if rng.random() < 0.2 else "absent"


def _objects_estimates(rng: np.random.Generator, n: int) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    source = {
        "source": "SODA, equation 1",
        "method": "10 000 shuffles, 2 000 bootstrap resamples, seed 0",
        "level": 0.95,
    }
    for thing in ("laptop", "cup"):
        scope = {"definition": "paper", "generator": "calibrated", "object": thing}
        for group, dimension in GROUPS.items():
            for attribute in ("all", *ATTRIBUTES):
                floor = 0.03 if attribute == "background_text_presence" else 0.08 + 0.02 * rng.random()
                value = (
                    floor
                    + (0.3 if group == "women" else 0.12 if group == "men" else 0.0)
                    + 0.03 * rng.normal()
                )
                row = {
                    **scope,
                    **source,
                    "measure": "bds",
                    "dimension": dimension,
                    "group": group,
                    "phrasing": "for",
                    "contrast": "group",
                    "reference": "base",
                    "attribute": attribute,
                    "value": max(value, 0.01),
                    "low": max(0.0, value - 0.07),
                    "high": value + 0.08,
                    "floor": floor,
                    "excess": value - floor,
                    "z": (value - floor) / 0.03,
                    "adjusted": (value - floor) / (1 - floor),
                    "adjusted_low": (value - floor - 0.07) / (1 - floor),
                    "adjusted_high": (value - floor + 0.08) / (1 - floor),
                    "p_value": 0.0001 if value - floor > 0.08 else 0.4,
                    "q_value": 0.0004 if value - floor > 0.08 else 0.47,
                    "n": n,
                    "n_reference": n,
                }
                if attribute == "background_text_presence" and group == "elderly":
                    row |= dict.fromkeys(
                        (
                            "value",
                            "low",
                            "high",
                            "adjusted",
                            "adjusted_low",
                            "adjusted_high",
                            "excess",
                            "z",
                            "p_value",
                            "q_value",
                        )
                    )
                    row |= {"undefined": "only one value was seen in both conditions"}
                rows.append(row)
            rows.append(
                {
                    **scope,
                    **source,
                    "measure": "vac",
                    "dimension": dimension,
                    "group": group,
                    "contrast": "group",
                    "attribute": "all",
                    "value": 0.9 if group == "women" else 0.4 + 0.1 * rng.random(),
                    "low": 0.3,
                    "high": 0.95,
                    "n": n,
                    "flags": "small_n",
                }
            )
            rows.append(
                {
                    **scope,
                    **source,
                    "measure": "deterministic_share",
                    "dimension": dimension,
                    "group": group,
                    "contrast": "group",
                    "value": 0.5 if group == "women" else 0.25,
                    "low": 0.1,
                    "high": 0.7,
                    "n": n,
                }
            )
            rows.append(
                {
                    **scope,
                    **source,
                    "measure": "dominance_shift",
                    "dimension": dimension,
                    "group": group,
                    "contrast": "group",
                    "reference": "base",
                    "value": 0.5 if group == "women" else 0.0,
                    "low": 0.0,
                    "high": 0.6,
                    "n": n,
                }
            )
            refused = 3 if (thing, group) == ("cup", "elderly") else 0
            rows.append(
                {
                    **scope,
                    **source,
                    "measure": "refusal_rate",
                    "dimension": dimension,
                    "group": group,
                    "contrast": "group",
                    "value": refused / n,
                    "low": refused / n * 0.4,
                    "high": refused / n * 2 + 0.16,
                    "n": n,
                }
            )
            for colour in ("rose gold", "silver", "black"):
                k = {"rose gold": n if (thing, group) == ("laptop", "women") else 0, "silver": 7, "black": 4}[
                    colour
                ]
                rows.append(
                    {
                        **scope,
                        **source,
                        "measure": "share",
                        "dimension": dimension,
                        "group": group,
                        "contrast": "group",
                        "attribute": "product_colour",
                        "category": colour,
                        "value": k / n,
                        "low": max(0, k / n - 0.16),
                        "high": min(1, k / n + 0.19),
                        "n": n,
                        "n_excluded": 1,
                        "excluded": '{"unclear": 1}',
                    }
                )
                if colour == "rose gold":
                    rows.append(
                        {
                            **scope,
                            **source,
                            "measure": "share_difference",
                            "dimension": dimension,
                            "group": group,
                            "contrast": "group",
                            "reference": "base",
                            "attribute": "product_colour",
                            "category": colour,
                            "value": k / n,
                            "low": k / n - 0.14,
                            "high": k / n,
                            "p_value": 0.0001 if k else 1.0,
                            "q_value": 0.0002 if k else 1.0,
                            "n": n,
                            "n_reference": n,
                        }
                    )
        for dimension, value in (("gender", 0.35), ("age", 0.1)):
            rows.append(
                {
                    **scope,
                    **source,
                    "measure": "cds",
                    "dimension": dimension,
                    "contrast": "group",
                    "attribute": "all",
                    "value": value,
                    "low": value - 0.06,
                    "high": value + 0.07,
                    "floor": 0.09,
                    "excess": value - 0.09,
                    "adjusted": (value - 0.09) / 0.91,
                    "adjusted_low": 0.0,
                    "adjusted_high": 0.4,
                    "p_value": 0.001,
                    "q_value": 0.002 if value > 0.2 else 0.3,
                    "n": n,
                }
            )
    for rank, group in enumerate(("elderly", "middle-aged", "young adults", "men", "women"), start=1):
        rows.append(
            {
                **source,
                "measure": "default_rank",
                "definition": "paper",
                "generator": "calibrated",
                "dimension": GROUPS[group],
                "group": group,
                "contrast": "group",
                "reference": "base",
                "value": float(rank),
                "low": max(1.0, rank - 1),
                "high": min(5.0, rank + 1),
                "n": 2,
            }
        )
    rows.append(
        {
            **source,
            "measure": "agreement",
            "definition": "cohen",
            "generator": "calibrated",
            "attribute": "product_colour",
            "value": 0.91,
            "low": 0.85,
            "high": 0.96,
            "n": 238,
        }
    )
    return estimate_frame(rows, factors=["generator", "object", "dimension", "group", "phrasing"])


def _objects_findings(run: FakeRun) -> pl.DataFrame:
    def of(thing: str, group: str, most: int = 20) -> list[str]:
        pid = short(thing, group)
        ok = run.images.filter((pl.col("prompt_id") == pid) & (pl.col("status") == "ok"))
        return ok["image_id"].to_list()[:most]

    rows = [
        finding(
            1,
            "deterministic",
            {"object": "laptop", "group": "women"},
            "product_colour",
            "In 20 of 20 pictures the laptop for women is rose gold; for men in 0 of 20, "
            "without a group in 0 of 20.",
            [*of("laptop", "women"), *of("laptop", "men", 4)],
            "deterministic_share",
        ),
        finding(
            2,
            "dominance_shift",
            {"object": "laptop", "group": "men"},
            "product_colour",
            "The dominant product colour of a laptop changes from silver (8 of 20) to black (18 of 20) "
            "when the prompt says “for men”.",
            [*of("laptop", "base", 8), *of("laptop", "men", 8)],
            "dominance_shift",
        ),
        finding(
            3,
            "divergence",
            {"object": "cup", "group": "women"},
            None,
            "Naming women moves the cup by 0.38 bits [0.31, 0.46] from the baseline, against a noise floor "
            "of 0.08; q < 0.001.",
            of("cup", "women", 4),
        ),
        finding(
            4,
            "refusal",
            {"object": "cup", "group": "elderly"},
            None,
            "The model refused 3 of 20 prompts for a cup for elderly people and none without a group.",
            [],
            "refusal_rate",
        ),
    ]
    return frame(rows, FINDING_TYPES)
