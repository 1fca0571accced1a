"""An audit of occupations: three models, two conditions, labels of people made elsewhere."""

from __future__ import annotations

from pathlib import Path

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


def make_people(path: Path, *, n: int = 10) -> FakeRun:
    """Three generators, five occupations, two conditions, labels of gender and race made elsewhere."""
    rng = np.random.default_rng(3)
    jobs = ("ceo", "nurse", "software engineer", "teacher", "athlete")
    prompts, images, labels, pictures, rows = [], [], [], {}, []
    for job in jobs:
        for condition in ("plain", "with diversity"):
            tail = "" if condition == "plain" else ", diverse in gender and ethnicity"
            prompts.append(
                {
                    "prompt_id": short(job, condition),
                    "occupation": job,
                    "condition": condition,
                    "text": f"A photo of a {job}{tail}",
                    "negative": None,
                }
            )
            for generator in ("dall_e_3", "imagen-4", "sd-3.5"):
                for i in range(n):
                    row = image_row(short(job, condition), generator, i)
                    images.append(row)
                    pictures[row["image_id"]] = draw("#7b4a22" if i % 2 else "#dca3a0", "#e8dcc0", i % 4)
                    gender = str(rng.choice(["female", "male", "unclear"], p=[0.4, 0.5, 0.1]))
                    labels.append(
                        label_row(row["image_id"], "gender", gender, "rater-1")
                        | ({"value": None, "status": "unclear"} if gender == "unclear" else {})
                    )
                    race = str(rng.choice(["asian", "black", "hispanic", "white"]))
                    labels.append(label_row(row["image_id"], "race", race, "rater-1"))
    for generator in ("dall_e_3", "imagen-4", "sd-3.5"):
        for job in jobs:
            scope = {
                "definition": "wilson",
                "generator": generator,
                "occupation": job,
                "level": 0.95,
                "method": "Wilson, closed form",
            }
            for condition in ("plain", "with diversity"):
                k = int(rng.integers(2, 9))
                rows.append(
                    {
                        **scope,
                        "measure": "share",
                        "condition": condition,
                        "attribute": "gender",
                        "category": "female",
                        "value": k / n,
                        "low": max(0, k / n - 0.27),
                        "high": min(1, k / n + 0.25),
                        "n": n,
                        "n_excluded": 1,
                        "excluded": '{"unclear": 1}',
                        "source": "Wilson (1927)",
                    }
                )
            d = float(rng.normal(0.1, 0.3))
            rows.append(
                {
                    **scope,
                    "definition": "newcombe",
                    "measure": "share_difference",
                    "condition": "with diversity",
                    "contrast": "condition",
                    "reference": "plain",
                    "attribute": "gender",
                    "category": "female",
                    "value": d,
                    "low": d - 0.35,
                    "high": d + 0.3,
                    "p_value": 0.04,
                    "q_value": 0.2 if d < 0.4 else 0.01,
                    "n": n,
                    "n_reference": n,
                    "method": "Newcombe",
                }
            )
            rows.append(
                {
                    **scope,
                    "definition": "paper",
                    "measure": "bds",
                    "condition": "with diversity",
                    "contrast": "condition",
                    "reference": "plain",
                    "attribute": "all",
                    "value": abs(d) / 2 + 0.1,
                    "low": abs(d) / 3,
                    "high": abs(d) / 2 + 0.2,
                    "floor": 0.12,
                    "excess": abs(d) / 2 - 0.02,
                    "adjusted": 0.1,
                    "adjusted_low": -0.1,
                    "adjusted_high": 0.3,
                    "p_value": 0.3,
                    "q_value": 0.6,
                    "n": n,
                    "n_reference": n,
                }
            )
    ids = [i["image_id"] for i in images if i["generator"] == "dall_e_3"][:6]
    findings = [
        finding(
            1,
            "share_difference",
            {"generator": "dall_e_3", "occupation": "ceo"},
            "gender",
            "With the diversity instruction, dall_e_3 draws a ceo labelled female in 6 of 9 pictures "
            "instead of 2 of 10 "
            "(difference 0.47 [0.02, 0.72], q = 0.04).",
            ids,
            "share_difference",
        )
    ]
    info = {
        "format_version": 1,
        "stereotrope_version": "0.1.0",
        "title": "Five occupations, with and without an instruction",
        "seed": 0,
        "level": 0.95,
        "suite": None,
        "baseline": {"condition": "plain"},
        "generators": [
            {"name": g, "kind": "folder", "fingerprint": short(g), "note": None}
            for g in ("dall_e_3", "imagen-4", "sd-3.5")
        ],
        "annotators": [
            {
                "name": "rater-1",
                "kind": "labels",
                "fingerprint": "csv:77aa",
                "attributes": {"gender": ["female", "male"], "race": ["asian", "black", "hispanic", "white"]},
            }
        ],
        "factors": ["occupation", "condition"],
        "notes": [],
        "sensitive": True,
    }
    return FakeRun(
        path,
        pl.DataFrame(prompts, schema_overrides={"negative": pl.String}),
        frame(images, IMAGE_TYPES),
        frame(labels, LABEL_TYPES),
        estimate_frame(rows, factors=["generator", "occupation", "condition"]),
        frame(findings, FINDING_TYPES),
        info,
        {},
        pictures,
    )
