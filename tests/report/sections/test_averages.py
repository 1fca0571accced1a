"""The section of clusters: the mean of each, its texts with their scores, and what they cannot say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.made_up import FakeRun, draw
from tests.report.made_up_objects import make_objects

from stereotrope import report
from stereotrope.probe.summary import CLUSTER_TEXTS, PICTURE_CLUSTERS
from stereotrope.run import PictureStore
from stereotrope.tables import polars_types

TEXTS = ["This is a photo of mug handle", "This is a photo of <b>tea</b> cup"]


def clustered(run: FakeRun, groups: int = 2, **changed: Any) -> FakeRun:
    """A run whose pictures of the first prompts lie in two clusters each."""
    run.path.mkdir(parents=True, exist_ok=True)
    store, clusters, texts = PictureStore(run.path), [], []
    parts = run.images.filter(status="ok").partition_by("generator", "prompt_id", maintain_order=True)
    for at, part in enumerate(parts[:groups]):
        first = part.row(0, named=True)
        of = {"annotator": "stop", "encoder": "clip", "generator": first["generator"]}
        of |= {"prompt_id": first["prompt_id"], "factor": None, "level": None}
        for number, ids in enumerate((part["image_id"][:3], part["image_id"][3:]), start=1):
            kept = store.put(draw("#445566", "#99aabb", at + number))
            mean = {"sha256": kept[0], "path": kept[1]}
            listed = {
                "n": len(ids),
                "n_mean": len(ids),
                "n_without": 0,
                "image_ids": json.dumps(ids.to_list()),
            }
            clusters.append({**of, "cluster": number, **listed, **mean, **changed})
            for rank, text in enumerate(TEXTS, start=1):
                scores = {"score": 0.31 - 0.01 * rank, "score_others": 0.2751}
                told = {"prompt": text, "continuation": text[19:], **scores}
                texts.append({**of, "cluster": number, "rank": rank, **told})
    return with_tables(run, clusters, texts)


def with_tables(run: FakeRun, clusters: list[dict[str, Any]], texts: list[dict[str, Any]]) -> FakeRun:
    made = {}
    for name, columns, rows in (
        ("picture_clusters", PICTURE_CLUSTERS, clusters),
        ("cluster_texts", CLUSTER_TEXTS, texts),
    ):
        types = polars_types(columns)
        made[name] = pl.DataFrame([{key: row.get(key) for key in types} for row in rows], schema=types)
    return replace(run, tables=made)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    return clustered(make_objects(tmp_path_factory.mktemp("averages"), n=5))


def section(run: FakeRun, out: Path) -> str:
    html = report.write(run, out=out, figures=False).read_text("utf-8")
    found = re.findall(r'<section[^>]*id="averages".*?</section>', html, flags=re.DOTALL)
    return found[0] if found else ""


def images(html: str) -> list[str]:
    return re.findall(r'<img src="data:image/webp;base64,[^"]*" alt="([^"]*)"', html)


def test_nothing_is_shown_where_nothing_was_clustered(run: FakeRun, tmp_path: Path) -> None:
    assert section(replace(run, tables={}), tmp_path) == ""


def test_each_cluster_has_its_mean_some_pictures_and_its_texts(run: FakeRun, tmp_path: Path) -> None:
    html = section(run, tmp_path)
    assert html.count('<article class="average">') == 4
    assert sum("mean of the pictures of cluster" in one for one in images(html)) == 4
    assert len(images(html)) == 4 + 2 * (3 + 2)
    assert "5 pictures in 2 clusters (stop, by vectors of clip)" in html
    assert "Cluster 1: 3 of 5 pictures" in html
    assert html.count("This is a photo of mug handle") == 4
    assert html.count("0.300") == html.count("0.290") == 4
    assert html.count("0.275") == 8
    assert "It is the best of many tries and no test" in html


def test_texts_of_a_language_model_stay_inert(run: FakeRun, tmp_path: Path) -> None:
    html = section(run, tmp_path)
    assert "<b>tea" not in html
    assert "&lt;b&gt;tea&lt;/b&gt; cup" in html


def test_a_single_cluster_has_no_others_and_a_cluster_without_texts_says_why(
    run: FakeRun, tmp_path: Path
) -> None:
    clusters = run.table("picture_clusters").filter(cluster=1).to_dicts()
    texts = run.table("cluster_texts").filter(cluster=1, rank=1).with_columns(score_others=None).to_dicts()
    html = section(with_tables(run, clusters, texts[:1]), tmp_path)
    assert "other clusters</th>" not in html
    mute = [{**texts[0], "rank": None, "prompt": None, "undefined": "no text has a vector"}]
    html = section(with_tables(run, clusters, mute), tmp_path / "mute")
    assert "No text: no text has a vector." in html


@pytest.mark.parametrize("path", ["../../../etc/passwd", "pictures/ab/ab.png", None])
def test_what_is_no_stored_picture_is_not_read(tmp_path: Path, path: str | None) -> None:
    made = clustered(make_objects(tmp_path / "run", n=5), path=path)
    html = section(made, tmp_path / "out")
    assert html.count("no mean: no picture or region can be read") == 4
    assert not [one for one in images(html) if "mean of the pictures" in one]


def test_more_groups_than_a_page_takes_and_groups_without_clusters_are_counted(tmp_path: Path) -> None:
    made = clustered(make_objects(tmp_path / "run", n=5), groups=12)
    rows = made.table("picture_clusters").to_dicts()
    extra = [{**rows[0], "generator": f"model-{i}"} for i in range(3)]
    none = {**rows[0], "generator": "mute", "cluster": None, "n": 0, "undefined": "no picture has a vector"}
    html = section(with_tables(made, [*rows, *extra, none], []), tmp_path / "out")
    assert "Not shown: 3 further groups of pictures, in the files tables/picture_clusters.csv" in html
    assert "Without a cluster: no picture has a vector (1)." in html
    assert html.count("<h3>") == 12


def test_pictures_marked_as_sensitive_are_blurred_with_their_means(
    tmp_path: Path, make_run: Callable[..., FakeRun]
) -> None:
    made = clustered(make_run())
    made.info["sensitive"] = True
    html = report.write(made, out=tmp_path, figures=False).read_text("utf-8")
    assert "sensitive" in re.findall(r"<body[^>]*>", html)[0]
