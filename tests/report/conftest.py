"""Runs made up for the report: an audit of objects and one of people, small and complete."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image, ImageDraw

from stereotrope.measure.tidy import estimate_frame
from stereotrope.tables import FINDINGS, IMAGES, LABELS

_KINDS = {"string": pl.String, "double": pl.Float64, "int64": pl.Int64}
IMAGE_TYPES = {c.name: _KINDS[str(c.type)] for c in IMAGES}
LABEL_TYPES = {c.name: _KINDS[str(c.type)] for c in LABELS}
FINDING_TYPES = {c.name: _KINDS[str(c.type)] for c in FINDINGS}
RGB = {
    "rose gold": "#dca3a0", "silver": "#c0c0c0", "black": "#111111", "white": "#ffffff", "red": "#cc2222",
    "teal": "#008080", "brown": "#7b4a22", "beige": "#e8dcc0", "grey": "#808080", "zany": "#334455",
}  # fmt: skip
GROUPS = {"men": "gender", "women": "gender", "young adults": "age", "middle-aged": "age", "elderly": "age"}


@dataclass
class FakeRun:
    """What the report reads of a run."""

    path: Path
    prompts: pl.DataFrame
    images: pl.DataFrame
    labels: pl.DataFrame
    estimates: pl.DataFrame
    findings: pl.DataFrame
    info: dict[str, Any]
    audit: dict[str, Any] = field(default_factory=dict)
    pictures: dict[str, bytes] = field(default_factory=dict)

    def picture(self, image_id: str) -> bytes:
        return self.pictures[image_id]


def draw(product: str, background: str, shape: int) -> bytes:
    """A thing of one colour on a ground of another."""
    picture = Image.new("RGB", (160, 160), background)
    pen = ImageDraw.Draw(picture)
    box = (34 + shape * 3, 50, 126 - shape * 3, 118)
    (pen.ellipse if shape % 2 else pen.rectangle)(box, fill=product, outline="#333333", width=3)
    pen.rectangle((60, 118, 100, 126), fill=product, outline="#333333")
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


def short(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def image_row(prompt: str, generator: str, i: int, **more: Any) -> dict[str, Any]:
    return {"image_id": short(prompt, generator, i), "prompt_id": prompt, "generator": generator, "seed": i,
            "params": "{}", "status": "ok", "width": 160, "height": 160} | more  # fmt: skip


def label_row(image: str, attribute: str, value: str | None, annotator: str, **more: Any) -> dict[str, Any]:
    return {"subject_kind": "image", "subject_id": image, "attribute": attribute, "value": value,
            "annotator": annotator, "status": "ok"} | more  # fmt: skip


def frame(rows: list[Mapping[str, Any]], types: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame({c: [r.get(c) for r in rows] for c in types}, schema=dict(types))


def finding(rank: int, kind: str, scope: Mapping[str, str], attribute: str | None, sentence: str, images: list[str],
            measure: str = "bds") -> dict[str, Any]:  # fmt: skip
    return {"finding_id": short(kind, scope, attribute), "kind": kind, "rank": rank, "scope": json.dumps(scope),
            "attribute": attribute, "sentence": sentence, "measure": measure, "image_ids": json.dumps(images)}  # fmt: skip


@pytest.fixture(scope="session")
def objects_run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    return make_objects(tmp_path_factory.mktemp("objects"))


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., FakeRun]:
    """A run with one prompt and one picture whose texts the test chooses."""

    def make(
        text: str = "a cup", value: str = "red", *, name: str = "m", level: str = "x", **info: Any
    ) -> FakeRun:
        prompts = pl.DataFrame(
            {
                "prompt_id": ["p0", "p1"],
                "group": ["base", level],
                "text": [text, text],
                "negative": [None, None],
            },
            schema_overrides={"negative": pl.String},
        )
        images = [image_row(p, name, i, reason=text if i else None, status="refused" if i else "ok")
                  for p in ("p0", "p1") for i in range(2)]  # fmt: skip
        labels = [
            label_row(i["image_id"], "product_colour", value, name) for i in images if i["status"] == "ok"
        ]
        ids = [i["image_id"] for i in images if i["status"] == "ok"]
        estimates = estimate_frame(
            [{"measure": "bds", "definition": "paper", "generator": name, "group": level, "contrast": "group",
              "reference": "base", "attribute": "all", "value": 0.4, "low": 0.3, "high": 0.5, "level": 0.95, "n": 20,
              "q_value": 0.01, "source": text, "method": text, "flags": value},
             {"measure": "share", "definition": value, "generator": name, "group": level, "attribute": value,
              "category": value, "undefined": text, "n": 0}],
            factors=["generator", "group"],
        )  # fmt: skip
        rows = [finding(1, "deterministic", {"group": level}, value, text, ids)]
        base: dict[str, Any] = {"title": text, "generators": [{"name": name, "kind": value, "fingerprint": "f", "note": text}],
                "annotators": [{"name": name, "kind": "k", "fingerprint": "f", "attributes": {value: [value]}}],
                "notes": [text], "baseline": {"group": "base"}, "level": 0.95, "seed": 0}  # fmt: skip
        return FakeRun(tmp_path, prompts, frame(images, IMAGE_TYPES), frame(labels, LABEL_TYPES), estimates,
                       frame(rows, FINDING_TYPES), base | info, {"report": {"title": text}},
                       {i: draw("#cc2222", "#ffffff", 1) for i in ids})  # fmt: skip

    return make


def make_objects(path: Path, *, n: int = 20) -> FakeRun:
    """Two objects, a baseline and five groups, `n` pictures each; two refusals, one unreadable file."""
    rng = np.random.default_rng(7)
    prompts, images, labels, pictures = [], [], [], {}
    for thing in ("laptop", "cup"):
        for group in ("base", *GROUPS):
            pid = short(thing, group)
            cue = "" if group == "base" else f" for {group}"
            prompts.append({"prompt_id": pid, "object": thing, "dimension": GROUPS.get(group), "group": group,
                            "phrasing": None if group == "base" else "for", "mitigation": "none",
                            "text": f"{thing}{cue}, one product only, no people", "negative": None})  # fmt: skip
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
    info = {"format_version": 1, "stereotrope_version": "0.1.0", "title": "Laptops and cups, drawn for whom?", "seed": 0,
            "level": 0.95, "suite": "objects", "baseline": {"group": "base"},
            "generators": [{"name": "calibrated", "kind": "calibrated", "fingerprint": "calibrated-1:3f9a", "note": "drawn, not generated: its bias is planted and known"}],
            "annotators": [{"name": "colour", "kind": "colour", "fingerprint": "colour-1:aa01", "attributes": {"product_colour": None, "background_colour": None}},
                           {"name": "text", "kind": "text", "fingerprint": "rapidocr-3.10", "attributes": {"text_presence": ["present", "absent"], "background_text_presence": ["present", "absent"]}}],
            "factors": ["object", "dimension", "group", "phrasing", "mitigation"],
            "notes": ["Two near-duplicate pairs were found; the effective n is 238."], "sensitive": False}  # fmt: skip
    run = FakeRun(path, pl.DataFrame(prompts), frame(images, IMAGE_TYPES), frame(labels, LABEL_TYPES),
                  _objects_estimates(rng, n), pl.DataFrame(schema=FINDING_TYPES), info,
                  {"suite": "objects", "objects": ["laptop", "cup"], "images_per_prompt": n}, pictures)  # fmt: skip
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


ATTRIBUTES = ("product_colour", "background_colour", "text_presence", "background_text_presence")


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
                row = {**scope, **source, "measure": "bds", "dimension": dimension, "group": group, "phrasing": "for",
                       "contrast": "group", "reference": "base", "attribute": attribute, "value": max(value, 0.01),
                       "low": max(0.0, value - 0.07), "high": value + 0.08, "floor": floor, "excess": value - floor,
                       "z": (value - floor) / 0.03, "adjusted": (value - floor) / (1 - floor),
                       "adjusted_low": (value - floor - 0.07) / (1 - floor), "adjusted_high": (value - floor + 0.08) / (1 - floor),
                       "p_value": 0.0001 if value - floor > 0.08 else 0.4, "q_value": 0.0004 if value - floor > 0.08 else 0.47,
                       "n": n, "n_reference": n}  # fmt: skip
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
            rows.append({**scope, **source, "measure": "vac", "dimension": dimension, "group": group, "contrast": "group",
                         "attribute": "all", "value": 0.9 if group == "women" else 0.4 + 0.1 * rng.random(),
                         "low": 0.3, "high": 0.95, "n": n, "flags": "small_n"})  # fmt: skip
            rows.append({**scope, **source, "measure": "deterministic_share", "dimension": dimension, "group": group,
                         "contrast": "group", "value": 0.5 if group == "women" else 0.25, "low": 0.1, "high": 0.7, "n": n})  # fmt: skip
            rows.append({**scope, **source, "measure": "dominance_shift", "dimension": dimension, "group": group,
                         "contrast": "group", "reference": "base", "value": 0.5 if group == "women" else 0.0, "low": 0.0,
                         "high": 0.6, "n": n})  # fmt: skip
            refused = 3 if (thing, group) == ("cup", "elderly") else 0
            rows.append({**scope, **source, "measure": "refusal_rate", "dimension": dimension, "group": group,
                         "contrast": "group", "value": refused / n, "low": refused / n * 0.4, "high": refused / n * 2 + 0.16, "n": n})  # fmt: skip
            for colour in ("rose gold", "silver", "black"):
                k = {"rose gold": n if (thing, group) == ("laptop", "women") else 0, "silver": 7, "black": 4}[
                    colour
                ]
                rows.append({**scope, **source, "measure": "share", "dimension": dimension, "group": group, "contrast": "group",
                             "attribute": "product_colour", "category": colour, "value": k / n, "low": max(0, k / n - 0.16),
                             "high": min(1, k / n + 0.19), "n": n, "n_excluded": 1, "excluded": '{"unclear": 1}'})  # fmt: skip
                if colour == "rose gold":
                    rows.append({**scope, **source, "measure": "share_difference", "dimension": dimension, "group": group,
                                 "contrast": "group", "reference": "base", "attribute": "product_colour", "category": colour,
                                 "value": k / n, "low": k / n - 0.14, "high": k / n, "p_value": 0.0001 if k else 1.0,
                                 "q_value": 0.0002 if k else 1.0, "n": n, "n_reference": n})  # fmt: skip
        for dimension, value in (("gender", 0.35), ("age", 0.1)):
            rows.append({**scope, **source, "measure": "cds", "dimension": dimension, "contrast": "group", "attribute": "all",
                         "value": value, "low": value - 0.06, "high": value + 0.07, "floor": 0.09, "excess": value - 0.09,
                         "adjusted": (value - 0.09) / 0.91, "adjusted_low": 0.0, "adjusted_high": 0.4,
                         "p_value": 0.001, "q_value": 0.002 if value > 0.2 else 0.3, "n": n})  # fmt: skip
    for rank, group in enumerate(("elderly", "middle-aged", "young adults", "men", "women"), start=1):
        rows.append({**source, "measure": "default_rank", "definition": "paper", "generator": "calibrated",
                     "dimension": GROUPS[group], "group": group, "contrast": "group", "reference": "base", "value": float(rank),
                     "low": max(1.0, rank - 1), "high": min(5.0, rank + 1), "n": 2})  # fmt: skip
    rows.append({**source, "measure": "agreement", "definition": "cohen", "generator": "calibrated",
                 "attribute": "product_colour", "value": 0.91, "low": 0.85, "high": 0.96, "n": 238})  # fmt: skip
    return estimate_frame(rows, factors=["generator", "object", "dimension", "group", "phrasing"])


def _objects_findings(run: FakeRun) -> pl.DataFrame:
    def of(thing: str, group: str, most: int = 20) -> list[str]:
        pid = short(thing, group)
        ok = run.images.filter((pl.col("prompt_id") == pid) & (pl.col("status") == "ok"))
        return ok["image_id"].to_list()[:most]

    rows = [
        finding(1, "deterministic", {"object": "laptop", "group": "women"}, "product_colour",
                "In 20 of 20 pictures the laptop for women is rose gold; for men in 0 of 20, without a group in 0 of 20.",
                [*of("laptop", "women"), *of("laptop", "men", 4)], "deterministic_share"),
        finding(2, "dominance_shift", {"object": "laptop", "group": "men"}, "product_colour",
                "The dominant product colour of a laptop changes from silver (8 of 20) to black (18 of 20) when the prompt says “for men”.",
                [*of("laptop", "base", 8), *of("laptop", "men", 8)], "dominance_shift"),
        finding(3, "divergence", {"object": "cup", "group": "women"}, None,
                "Naming women moves the cup by 0.38 bits [0.31, 0.46] from the baseline, against a noise floor of 0.08; q < 0.001.",
                of("cup", "women", 4)),
        finding(4, "refusal", {"object": "cup", "group": "elderly"}, None,
                "The model refused 3 of 20 prompts for a cup for elderly people and none without a group.", [], "refusal_rate"),
    ]  # fmt: skip
    return frame(rows, FINDING_TYPES)


@pytest.fixture(scope="session")
def people_run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    return make_people(tmp_path_factory.mktemp("people"))


def make_people(path: Path, *, n: int = 10) -> FakeRun:
    """Three generators, five occupations, two conditions, labels of gender and race made elsewhere."""
    rng = np.random.default_rng(3)
    jobs = ("ceo", "nurse", "software engineer", "teacher", "athlete")
    prompts, images, labels, pictures, rows = [], [], [], {}, []
    for job in jobs:
        for condition in ("plain", "with diversity"):
            tail = "" if condition == "plain" else ", diverse in gender and ethnicity"
            prompts.append({"prompt_id": short(job, condition), "occupation": job, "condition": condition,
                            "text": f"A photo of a {job}{tail}", "negative": None})  # fmt: skip
            for generator in ("dall_e_3", "imagen-4", "sd-3.5"):
                for i in range(n):
                    row = image_row(short(job, condition), generator, i)
                    images.append(row)
                    pictures[row["image_id"]] = draw("#7b4a22" if i % 2 else "#dca3a0", "#e8dcc0", i % 4)
                    gender = str(rng.choice(["female", "male", "unclear"], p=[0.4, 0.5, 0.1]))
                    labels.append(label_row(row["image_id"], "gender", gender, "rater-1")
                                  | ({"value": None, "status": "unclear"} if gender == "unclear" else {}))  # fmt: skip
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
                rows.append({**scope, "measure": "share", "condition": condition, "attribute": "gender", "category": "female",
                             "value": k / n, "low": max(0, k / n - 0.27), "high": min(1, k / n + 0.25), "n": n,
                             "n_excluded": 1, "excluded": '{"unclear": 1}', "source": "Wilson (1927)"})  # fmt: skip
            d = float(rng.normal(0.1, 0.3))
            rows.append({**scope, "definition": "newcombe", "measure": "share_difference", "condition": "with diversity",
                         "contrast": "condition", "reference": "plain", "attribute": "gender", "category": "female", "value": d,
                         "low": d - 0.35, "high": d + 0.3, "p_value": 0.04, "q_value": 0.2 if d < 0.4 else 0.01, "n": n,
                         "n_reference": n, "method": "Newcombe"})  # fmt: skip
            rows.append({**scope, "definition": "paper", "measure": "bds", "condition": "with diversity", "contrast": "condition",
                         "reference": "plain", "attribute": "all", "value": abs(d) / 2 + 0.1, "low": abs(d) / 3, "high": abs(d) / 2 + 0.2,
                         "floor": 0.12, "excess": abs(d) / 2 - 0.02, "adjusted": 0.1, "adjusted_low": -0.1, "adjusted_high": 0.3,
                         "p_value": 0.3, "q_value": 0.6, "n": n, "n_reference": n})  # fmt: skip
    ids = [i["image_id"] for i in images if i["generator"] == "dall_e_3"][:6]
    findings = [finding(1, "share_difference", {"generator": "dall_e_3", "occupation": "ceo"}, "gender",
                        "With the diversity instruction, dall_e_3 draws a ceo labelled female in 6 of 9 pictures instead of 2 of 10 "
                        "(difference 0.47 [0.02, 0.72], q = 0.04).", ids, "share_difference")]  # fmt: skip
    info = {"format_version": 1, "stereotrope_version": "0.1.0", "title": "Five occupations, with and without an instruction",
            "seed": 0, "level": 0.95, "suite": None, "baseline": {"condition": "plain"},
            "generators": [{"name": g, "kind": "folder", "fingerprint": short(g), "note": None} for g in ("dall_e_3", "imagen-4", "sd-3.5")],
            "annotators": [{"name": "rater-1", "kind": "labels", "fingerprint": "csv:77aa", "attributes": {"gender": ["female", "male"], "race": ["asian", "black", "hispanic", "white"]}}],
            "factors": ["occupation", "condition"], "notes": [], "sensitive": True}  # fmt: skip
    return FakeRun(path, pl.DataFrame(prompts, schema_overrides={"negative": pl.String}), frame(images, IMAGE_TYPES),
                   frame(labels, LABEL_TYPES), estimate_frame(rows, factors=["generator", "occupation", "condition"]),
                   frame(findings, FINDING_TYPES), info, {}, pictures)  # fmt: skip
