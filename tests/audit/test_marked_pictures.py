"""A model that signs its pictures, another that does not, and a cue that brings text in both."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from PIL import Image, ImageDraw, ImageFont

from stereotrope import Audit, Run

MARK = "PIXLY.AI"
PICTURES = {"signing": 10, "plain": 10}


def drawn(rng: np.random.Generator, *, product: str | None, mark: str | None) -> Image.Image:
    dark = rng.uniform() < 0.3
    wall = rng.integers(20, 90, 3) if dark else rng.integers(190, 245, 3)
    image = Image.new("RGB", (256, 256), tuple(wall.tolist()))
    draw = ImageDraw.Draw(image)
    x = int(rng.integers(60, 90))
    draw.rounded_rectangle((x, 80, x + 110, 190), 12, fill=tuple(rng.integers(60, 170, 3).tolist()))
    if product is not None:
        font = ImageFont.load_default(28)
        draw.text((x + 55, 135), product, font=font, fill=(255, 255, 255), anchor="mm")
    if mark is not None:
        draw.text((250, 250), mark, font=ImageFont.load_default(16), fill=(128, 128, 128), anchor="rs")
    return image


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    base = tmp_path_factory.mktemp("signed")
    (base / "pictures").mkdir()
    rng = np.random.default_rng(0)
    rows = []
    for model, n in PICTURES.items():
        for group in ("base", "women"):
            for i in range(n):
                words = ("LOVE", "NOVA", "KITO")[i % 3] if group == "women" and i < n - 1 else None
                name = f"{model}-{group}-{i}.png"
                mark = MARK if model == "signing" else None
                drawn(rng, product=words, mark=mark).save(base / "pictures" / name)
                rows.append(
                    {"file_name": name, "generator": model, "group": group, "prompt": f"a cup, {group}"}
                )
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (base / "pictures" / "metadata.jsonl").write_text(lines, encoding="utf-8")
    content = {
        "generators": [{"folder": "pictures", "name_from": "generator", "factors": ["group"]}],
        "baseline": {"group": "base"},
        "annotators": ["text"],
        "measures": ["share", "share_difference", "bds", "deterministic_share", "dominance_shift"],
        "permutations": 200,
        "resamples": 100,
    }
    return Audit.from_text(json.dumps(content), base=base).run(base / "run")


def test_the_mark_is_said_of_the_instrument_and_counted_nowhere(run: Run) -> None:
    warnings = run.findings.filter(kind="instrument")
    assert warnings["sentence"].to_list() == [
        f"signing: the text read in 20 of 20 pictures is the same mark “{MARK}” at one place (bottom right); "
        "it is not counted as text of the pictures.",
        "No check says how well the annotator “text” reads the text presence of such pictures.",
    ]
    assert json.loads(warnings["scope"][0]) == {"annotator": "text", "generator": "signing"}
    assert len(json.loads(warnings["image_ids"][0])) == 20
    behind = run.labels.filter(attribute="background_text_presence")
    assert behind["value"].unique().to_list() == ["absent"]
    assert behind["written"].count() == 20
    shown = run.estimates.filter(measure="share", attribute="background_text_presence")
    assert set(shown["category"]) == {"absent"}


def test_the_text_that_the_cue_brings_leads_for_both_models(run: Run) -> None:
    leading = run.findings.filter(list="difference")
    assert sorted(json.loads(scope)["generator"] for scope in leading["scope"]) == ["plain", "signing"]
    assert leading["attribute"].to_list() == ["text_presence"] * 2
    assert all("pictures for women the text presence is “present”" in text for text in leading["sentence"])
    assert not run.findings["sentence"].str.contains("background text presence is “present”").any()


def test_readings_and_marks_are_labels_with_their_place(run: Run) -> None:
    marks = run.labels.filter(attribute="text_mark")
    assert marks.select("value", "annotator", "derived_from", "rationale").unique().rows() == [
        (MARK, "text", "text", "bottom right")
    ]
    read = run.labels.filter(pl.col("attribute") == "background_text_words")
    assert set(marks["region"]) <= set(read["region"])
    assert run.labels.filter(attribute="text_words")["value"].n_unique() >= 3


def test_measuring_again_gives_the_same(run: Run) -> None:
    again = Audit.from_run(run.path).measure(run.path)
    assert again.findings.equals(run.findings)
    assert again.labels.equals(run.labels)
