"""The part of the page about captions as a browser shows it, of made-up and of real captions."""

from __future__ import annotations

import csv
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import pytest
from PIL import Image
from tests.conftest import WRITING
from tests.report.sections.captions.made_up_gallery import gallery_run

from stereotrope import report
from stereotrope.audit import Audit

AUDIT = """\
suite: biasbench
generators:
  - {folder: sd, metadata: metadata.csv, name: sd15}
  - {folder: bksdm, metadata: metadata.csv, name: bksdm}
annotators: [{captions: captions.csv, name: people}, {lexicon: biasbench}]
resamples: 100
"""


def luminance(colour: str) -> float:
    parts = [float(c) / 255 for c in re.findall(r"[\d.]+", colour)[:3]]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gallery")
    return report.write(gallery_run(folder, models=9, prompts=5, sensitive=True), figures=False)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Path:
    """Four real captions a prompt and model; the pictures are plain, and no file is drawn of a figure."""
    folder = tmp_path_factory.mktemp("real")
    said = []
    for m, model in enumerate(("sd", "bksdm")):
        table = pl.read_csv(shared / "data" / "biasbench" / f"captions_{model}.csv")
        few = table.group_by("prompt", maintain_order=True).head(4)
        (folder / model).mkdir()
        rows = [("file", "prompt")]
        for i, (prompt, caption) in enumerate(few.select("prompt", "caption").iter_rows()):
            name = f"{model}-{i}.png"
            Image.new("RGB", (8, 8), (i, m, 77)).save(folder / model / name)
            rows.append((name, prompt))
            said.append((name, caption))
        with (folder / model / "metadata.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    with (folder / "captions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("image", "caption"), *said])
    with patch.object(WRITING, "write_figures"):
        run = Audit.from_text(AUDIT, base=folder).run(folder / "run")
    return run.path / "report" / "index.html"


@pytest.mark.parametrize(
    ("width", "scheme"), [pytest.param(1280, "light", marks=pytest.mark.slow), (390, "dark")]
)
def test_everything_about_captions_is_drawn_in_silence_at_every_width(
    visit: Any, made_up: Path, width: int, scheme: str
) -> None:
    v = visit(made_up, viewport={"width": width, "height": 844}, color_scheme=scheme).drawn()
    assert v.page.evaluate("document.documentElement.scrollWidth") <= width
    assert v.page.locator("#figure-radar .chart > svg").count() == 9
    assert v.page.locator("#figure-plane .chart > svg").count() == 1
    assert v.said == []
    assert [u for u in v.asked if not u.startswith("data:")] == [made_up.as_uri()]


def test_a_wide_gallery_scrolls_and_stands_in_a_stack_on_a_telephone(visit: Any, made_up: Path) -> None:
    wide = "t => t.scrollWidth - t.clientWidth"
    gallery = visit(made_up).page.locator("#gallery-1 > .scroll")
    assert gallery.evaluate(wide) > 0
    narrow = visit(made_up, viewport={"width": 390, "height": 844}).page
    assert narrow.locator("#gallery-1 > .scroll").evaluate(wide) <= 0
    assert narrow.locator("#gallery-1 td .model").first.is_visible()
    assert narrow.locator("#gallery-1 .matrix tbody tr").first.get_by_role("cell").count() == 8


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_on_the_colour_of_a_band_has_contrast(visit: Any, made_up: Path, scheme: str) -> None:
    page = visit(made_up, color_scheme=scheme).page
    pairs = page.evaluate(
        """[...document.querySelectorAll('.score > *, .bands .band')].map(e => {
          const box = e.closest('.score, .band');
          return [box.className, getComputedStyle(e).color, getComputedStyle(box).backgroundColor];
        })"""
    )
    told = {name.split()[-1]: (luminance(text), luminance(ground)) for name, text, ground in pairs}
    assert set(told) >= {"band-1", "band-2", "band-3"}
    for text, ground in told.values():
        assert (max(text, ground) + 0.05) / (min(text, ground) + 0.05) >= 4.5
    grounds = sorted(ground for _, ground in told.values())
    assert all(b - a > 0.01 for a, b in pairwise(grounds)), "lightness alone tells bands"


def test_sensitive_pictures_of_the_gallery_are_blurred_until_asked_for(visit: Any, made_up: Path) -> None:
    page = visit(made_up).page
    blur = "getComputedStyle(document.querySelector('.matrix img')).filter"
    assert page.evaluate(blur).startswith("blur")
    page.locator("#show-pictures").check()
    assert page.evaluate(blur) == "none"


def test_a_cell_leads_to_its_sheet_of_pictures(visit: Any, made_up: Path) -> None:
    page = visit(made_up).page
    link = page.locator("#gallery-1 .matrix tbody tr").nth(1).locator("td a").first
    sheet = page.locator(str(link.get_attribute("href")))
    assert sheet.locator("h4").text_content() == "prompt 1"
    assert sheet.locator("img").count() == 4


def test_real_captions_end_in_gallery_radar_and_plane(visit: Any, real: Path) -> None:
    v = visit(real).drawn()
    heads = v.page.locator("#captions > figure h3").all_inner_texts()
    assert [h.split(",")[0] for h in heads[:3]] == [
        "What each model shows for each prompt",
        "The composite scores of each model over the prompts",
        "Markers of the culture and breadth of what captions say",
    ]
    assert v.page.locator("#gallery-1 .matrix tbody tr").count() == 5
    assert "none named" in v.page.locator("#gallery-1").inner_text()
    assert v.page.locator("#figure-plane .chart > svg").count() == 1
    assert v.page.locator(".chart").count() == v.page.locator(".chart > svg").count()
    assert v.said == []
