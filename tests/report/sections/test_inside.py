"""The section of what was read inside models: curves, what they cannot say, and previews."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.report.made_up import FakeRun, draw
from tests.report.made_up_objects import make_objects

from stereotrope import report
from stereotrope.probe import spi_curves
from stereotrope.probe.summary import PROBES
from stereotrope.run import PictureStore
from stereotrope.tables import polars_types

STEPS, ALIKE = 6, "both sentences give the same prediction (d⁺ = d⁻)"
ATTRIBUTES = ("beard", "lab_coat", "glasses", "</script><b>hat", "smile")


def probed(run: FakeRun, prompts: int = 2, attributes: Sequence[str] = ATTRIBUTES) -> FakeRun:
    """A run whose pictures of the first prompts were read inside; the last attribute has no first step."""
    rng, rows = np.random.default_rng(3), []
    asked = run.images["prompt_id"].unique(maintain_order=True).head(prompts).to_list()
    run.path.mkdir(parents=True, exist_ok=True)
    store = PictureStore(run.path)
    for image in run.images.filter(pl.col("prompt_id").is_in(asked)).iter_rows(named=True):
        of = {name: image[name] for name in ("image_id", "prompt_id", "generator", "seed")}
        of |= {"quantity": "velocity", "same_picture": "yes"}
        for step in range(STEPS):
            told = {**of, "step": step, "timestep": 1000.0 - step}
            for i, attribute in enumerate(attributes):
                for prediction in ("conditional", "guided"):
                    row = {**told, "probe": "spi", "attribute": attribute, "prediction": prediction}
                    value = 0.3 * np.sin(step / 2 + i) + 0.05 * rng.standard_normal()
                    read = {"value": float(value), "ratio": 0.1}
                    missing = step == 2 and i == 1
                    rows.append(row | ({"undefined": ALIKE} if missing else read))
            if step < 2:
                kept = store.put(draw("#445566", "#99aabb", step))
                rows.append(told | {"probe": "predisposition", "sha256": kept[0], "path": kept[1]})
    types = polars_types(PROBES)
    probes = pl.DataFrame([{name: row.get(name) for name in types} for row in rows], schema=types)
    return with_probes(run, probes)


def with_probes(run: FakeRun, probes: pl.DataFrame) -> FakeRun:
    return replace(run, tables={"probes": probes, "probe_curves": spi_curves(probes)})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    return probed(make_objects(tmp_path_factory.mktemp("inside"), n=4))


def page(run: FakeRun, out: Path, **options: Any) -> str:
    return report.write(run, out=out, **{"figures": False, **options}).read_text("utf-8")


def section(html: str) -> str:
    (found,) = re.findall(r'<section[^>]*id="inside".*?</section>', html, flags=re.DOTALL)
    return found


def charts(html: str) -> dict[str, Any]:
    (found,) = re.findall(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', html, flags=re.DOTALL)
    return {name: one for name, one in json.loads(found)["charts"].items() if name.startswith("chart-spi")}


def test_nothing_is_shown_where_no_probe_ran(run: FakeRun, tmp_path: Path) -> None:
    html = page(replace(run, tables={}), tmp_path)
    assert 'id="inside"' not in html
    assert "SPI" not in html


def test_curves_are_the_stored_means_with_their_spread(run: FakeRun, tmp_path: Path) -> None:
    html = page(run, tmp_path, figures=True)
    drawn, shown = charts(html), section(html)
    curves = run.table("probe_curves")
    first = curves.filter(prediction="conditional", step=3, attribute="beard").row(0, named=True)
    values = drawn["chart-spi-conditional-1"]["values"]
    (dot,) = [row for row in values if (row["series"], row["at"]) == ("beard", 3)]
    assert dot["value"] == pytest.approx(first["mean"])
    assert dot["high"] - dot["value"] == pytest.approx(first["sd"])
    assert f"± {first['sd']:.3f} (s.d.), n = 4" in dot["tip"]
    assert len(drawn) == 8  # two prompts, five attributes in two panels, both predictions
    opened, behind = shown.split("<details", 1)
    assert "SPI of the prompt alone (conditional)" in opened
    assert "on the velocity" in opened
    assert "with guidance (guided)" not in opened
    assert "with guidance (guided)" in behind
    assert "It does not say how many pictures show the attribute" in opened
    assert (tmp_path / "figures" / "spi-conditional.svg").is_file()
    assert "<b>hat" not in html


def test_a_step_without_a_value_is_a_gap_and_its_reason_is_counted(run: FakeRun, tmp_path: Path) -> None:
    html = page(run, tmp_path)
    values = charts(html)["chart-spi-conditional-1"]["values"]
    (gap,) = [row for row in values if (row["series"], row["at"]) == ("lab coat", 2)]
    assert not {"value", "low", "high"} & gap.keys()
    assert "n = 0, 4 not defined" in gap["tip"]
    assert f"8 of 240 readings without a value: {ALIKE} (8)." in section(html)
    assert f"4: {ALIKE}" in section(html)


def test_one_picture_has_no_band_and_other_pictures_are_told(run: FakeRun, tmp_path: Path) -> None:
    probes = run.table("probes").filter(seed=0).with_columns(same_picture=pl.lit("no"))
    html = page(with_probes(run, probes), tmp_path)
    assert all("low" not in row for one in charts(html).values() for row in one["values"])
    assert "a single picture has a value there is no spread" in section(html)
    assert "2 of 2 pictures came out different while they were read" in section(html)
    assert previews(html) == []


def test_more_panels_than_a_page_takes_are_counted(tmp_path: Path) -> None:
    names = [f"a{i}" for i in range(40)]
    html = page(probed(make_objects(tmp_path / "run", n=1), prompts=2, attributes=names), tmp_path / "out")
    assert len(charts(html)) == 4 + 12 + 12
    assert "16 further panels: SPI of the prompt alone" in section(html)
    assert "Not drawn: 4 panels; they are in the files tables/probe_curves.csv" in section(html)
    assert "Not drawn: 8 panels" in section(html)


def previews(html: str) -> list[str]:
    return re.findall(r'<img src="data:image/webp;base64,[^"]*" alt="([^"]*)"', section(html))


def test_previews_stand_beside_the_finished_picture(run: FakeRun, tmp_path: Path) -> None:
    html = page(run, tmp_path)
    told = previews(html)
    assert len(told) == 2 * 3  # the first picture of two conditions: two steps, and the end
    assert [told[0][-18:], told[1][-18:], told[2][-8:]] == [
        "expected at step 0",
        "expected at step 1",
        "finished",
    ]
    assert "expected at step 0 and 1; then the picture" in section(html)
    alone = with_probes(run, run.table("probes").filter(probe="predisposition"))
    only = section(page(alone, tmp_path / "alone"))
    assert len(previews(only)) == 2 * 3
    assert "SPI" not in only


@pytest.mark.parametrize("path", ["../../../etc/passwd", "pictures/ab/ab.png", None])
def test_what_is_no_stored_picture_is_not_read(run: FakeRun, tmp_path: Path, path: str | None) -> None:
    changed = run.table("probes").with_columns(
        path=pl.when(step=0).then(pl.lit(path, pl.String)).otherwise("path"),
        undefined=pl.when(step=0).then(pl.lit("not finite" if path is None else None)).otherwise("undefined"),
    )
    html = page(with_probes(run, changed), tmp_path)
    assert len(previews(html)) == 2 * 2
    why = "not finite" if path is None else "it can no longer be read"
    assert f"expected at step 0 (none: {why}) and 1; then the picture" in section(html)


def test_of_a_refused_picture_no_preview_is_shown(tmp_path: Path, make_run: Callable[..., FakeRun]) -> None:
    run = probed(make_run())
    refused = run.images.filter(status="refused")["image_id"]
    only = run.table("probes").filter(pl.col("image_id").is_in(refused.implode()))
    assert only.filter(probe="predisposition").height
    assert previews(page(with_probes(run, only), tmp_path)) == []
