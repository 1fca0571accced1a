"""A Ray cluster of three nodes ends in the same bytes as this process."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
from tests.run.cluster.conftest import KEY
from tests.run.kill import tables

from stereotrope.audit import Audit
from stereotrope.testing import Loopback

CALIBRATED = """
suite: objects
objects: [cup]
dimensions: {gender: [women, men]}
images_per_prompt: 4
generators: [calibrated]
annotators: [blank, colour]
"""


def test_an_audit_without_a_network_ends_in_the_same_bytes(cluster: Any, tmp_path: Path) -> None:
    audit = Audit.from_text(CALIBRATED)
    audit.run(tmp_path / "here")
    audit.run(tmp_path / "there", engine="ray")
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
    assert not list((tmp_path / "there").glob(".tmp-*"))


REMOTE = """
suite: objects
objects: [cup]
dimensions: {{gender: [women, men]}}
images_per_prompt: 4
generators:
- {{images: openai:painter, base_url: {url}, key: CLUSTER_KEY, seed: true, price: {{image: 0.01}}}}
annotators:
- {{questions: openai:judge, base_url: {url}, key: CLUSTER_KEY, discover: true, price: {{call: 0.001}}}}
"""


def test_models_behind_a_server_say_the_same_and_are_asked_as_often(cluster: Any, tmp_path: Path) -> None:
    asked = []
    for name in ("here", "there"):
        with Loopback(key=KEY) as server:
            audit = Audit.from_text(REMOTE.format(url=server.url))
            audit.run(tmp_path / name, engine="ray" if name == "there" else "local")
            asked.append(Counter((one.kind, one.model, one.status) for one in server.received))
    assert asked[0] == asked[1]
    here, there = (dict(tables(tmp_path / name)) for name in ("here", "there"))
    assert here.pop("images.parquet") != there.pop("images.parquet")  # how long each call took is in it
    images = [
        pl.read_parquet(tmp_path / name / "images.parquet").drop("latency") for name in ("here", "there")
    ]
    assert images[0].equals(images[1])
    for timed in ("run.json", "seal.json", "audit.yaml"):
        here.pop(timed), there.pop(timed)
    assert here == there
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_vectors_of_an_encoder_are_the_same(cluster: Any, tmp_path: Path, tiny_clip: Path) -> None:
    audit = Audit.from_text(
        CALIBRATED.replace("[blank, colour]", f"[{{encoder: 'clip:{tiny_clip}', batch: 3}}]")
    )
    audit.run(tmp_path / "here")
    audit.run(tmp_path / "there", engine="ray")
    assert tables(tmp_path / "there") == tables(tmp_path / "here")
