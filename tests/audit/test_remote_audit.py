"""A whole audit of models behind servers: several generators, a judge that discovers, a constraint check.

The command line runs as a process of its own and is killed at random moments; the model server lives on.
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import polars as pl
import pytest

import stereotrope as st
from stereotrope.tables import plain_scores
from stereotrope.testing import Loopback

MODELS = ("GPT Image-1", "Imagen 4", "FLUX 2 Pro", "Qwen Image", "SDXL")
KEY = "sentinel-3f9c1b77aa04"
LANES = 16

AUDIT = """\
suite: objects
images_per_prompt: {images}
permutations: 199
report: {{figures: false}}
resamples: 100
generators:
{generators}
annotators:
  - blank
  - {{questions: openai:judge, base_url: {url}, key: SODA_KEY, discover: true, concurrency: {lanes}, \
price: {{input: 1, output: 4}}}}
  - {{constraints: openai:checker, base_url: {url}, key: SODA_KEY, concurrency: {lanes}, \
price: {{call: 0.001}}}}
"""
GENERATOR = (
    "  - {{images: 'openai:{name}', name: {name}, base_url: {url}, key: SODA_KEY, seed: true, "
    "concurrency: {lanes}, price: {{image: 0.01}}}}"
)


def write_audit(folder: Path, url: str, models: Sequence[str], images: int, design: str) -> None:
    generators = "\n".join(GENERATOR.format(name=name, url=url, lanes=LANES) for name in models)
    text = AUDIT.format(images=images, generators=generators, url=url, lanes=LANES)
    (folder / "audit.yaml").write_text(text + design)


def start(folder: Path, run: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "stereotrope", "run", "audit.yaml", "-o", run]
    environment = {"SODA_KEY": KEY, "PATH": "/usr/bin:/bin", "COLUMNS": "200"}
    with (folder / f"{run}.log").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=environment)


def finish(folder: Path, run: str) -> None:
    """Carry the audit out here, to its end."""
    with mock.patch.dict(os.environ, SODA_KEY=KEY):
        st.Audit.from_yaml(folder / "audit.yaml").run(folder / run)


def answered(server: Loopback, *, after: int = 0) -> dict[tuple[str, str | None], int]:
    """Answers with status 200 by kind and model."""
    found: dict[tuple[str, str | None], int] = {}
    for one in server.received[after:]:
        if one.status == 200 and one.kind in ("chat", "images"):
            found[one.kind, one.model] = found.get((one.kind, one.model), 0) + 1
    return found


def kill_at(server: Loopback, process: subprocess.Popen[bytes], requests: int) -> bool:
    """Kill the process once the server was sent so many requests; False where it ended before."""
    while process.poll() is None:
        if len(server.received) >= requests:
            process.kill()
            process.wait()
            return True
        time.sleep(0.002)
    return False


def assert_same_tables(one: Path, other: Path) -> None:
    for name in ("prompts", "labels", "estimates", "findings"):
        assert (one / f"{name}.parquet").read_bytes() == (other / f"{name}.parquet").read_bytes(), name
    images = [pl.read_parquet(run / "images.parquet").drop("latency") for run in (one, other)]
    assert images[0].equals(images[1])


def assert_key_is_nowhere(folder: Path) -> None:
    for file in folder.rglob("*"):
        if file.is_file():
            assert KEY.encode() not in file.read_bytes(), file


def assert_survives(
    tmp_path: Path, *, models: Sequence[str], images: int, design: str, cells: int, kills: int, seed: int
) -> None:
    """Kill an audit of ``cells`` × ``images`` pictures a model, which goes on; compare with a calm one.

    What was killed several times ends by the command too.
    """
    pictures = cells * images
    needed = {("images", name): pictures for name in models}
    needed["chat", "checker"] = len(models) * pictures
    with Loopback(key=KEY, latency=(0.0, 0.01)) as server:
        write_audit(tmp_path, server.url, models, images, design)
        finish(tmp_path, "calm")
        calm = answered(server)
        assert {k: n for k, n in calm.items() if k in needed} == needed
        before = len(server.received)
        rng, killed = random.Random(seed), 0
        for moment in sorted(rng.randint(20, before - 20) for _ in range(kills)):
            killed += kill_at(server, start(tmp_path, "killed"), before + moment + LANES * killed)
        if kills > 1:
            assert start(tmp_path, "killed").wait() == 0, (tmp_path / "killed.log").read_text()[-2_000:]
        finish(tmp_path, "killed")
        disturbed = answered(server, after=before)
        end = len(server.received)
        finish(tmp_path, "killed")
        assert len(server.received) == end
    assert killed >= max(1, kills - 1)
    assert_same_tables(tmp_path / "calm", tmp_path / "killed")
    again = sum(disturbed.values()) - sum(calm.values())
    assert 0 <= again <= killed * len(models) * LANES, f"{again} calls again after {killed} kills"
    for run, told in (("calm", calm), ("killed", disturbed)):
        assert_books_equal(tmp_path / run, told)
    assert st.open(tmp_path / "calm").spending["unanswered"].sum() == 0
    assert_key_is_nowhere(tmp_path)


def assert_books_equal(run: Path, told: dict[tuple[str, str | None], int]) -> None:
    """The ledger's totals are the server's own count, but for calls in flight at a kill."""
    spending = st.open(run).spending
    for (kind, model), n in told.items():
        row = spending.filter(model=model, kind="chat" if kind == "chat" else "image").row(0, named=True)
        assert n - row["unanswered"] <= row["ok"] <= n
        assert row["begun"] == row["ok"] + row["refused"] + row["failed"] + row["unanswered"]
        assert row["unpriced"] == 0


def assert_tables_of_the_paper(run: Path, *, models: Sequence[str], groups: int, objects: int) -> None:
    estimates = st.open(run).estimates
    scores = estimates.filter(attribute="all", definition="paper")
    means = scores.filter(pl.col("aggregate").is_not_null())
    assert plain_scores(scores).filter(measure="bds").height == len(models) * objects * groups
    kept = scores.filter(measure="bds", subset="without_violations")
    assert kept.filter(pl.col("aggregate").is_null()).height == len(models) * objects * groups
    assert means.filter(pl.col("subset").is_null(), measure="bds").height == len(models) * groups
    assert set(means.filter(measure="vac")["generator"]) == set(models)
    assert set(scores.filter(measure="cds")["generator"]) == set(models)
    assert set(estimates.filter(measure="violation_rate")["generator"]) == set(models)
    cells = estimates.filter(pl.col("aggregate").is_null(), pl.col("attribute") != "all", measure="bds")
    attributes = cells.group_by("generator", "object").agg(pl.col("attribute").n_unique().alias("n"))
    assert attributes["n"].to_list() == [8] * (len(models) * objects)


def test_an_audit_of_several_models_is_killed_and_continued(tmp_path):
    models = MODELS[:2]
    design = "objects: [cup, sofa]\ndimensions: {gender: [men, women]}\n"
    # The scores of the paper and their means: what else the suite measures would take as long again.
    means = ", ".join(f"{{average: {name}, over: object}}" for name in ("bds", "cds", "vac"))
    design += f"measures: [bds, cds, vac, violation_rate, {means}]\n"
    assert_survives(tmp_path, models=models, images=2, design=design, cells=6, kills=1, seed=1)
    assert_tables_of_the_paper(tmp_path / "killed", models=models, groups=2, objects=2)


@pytest.mark.slow
def test_the_8000_images_of_the_paper_are_killed_and_continued(tmp_path):
    assert_survives(tmp_path, models=MODELS, images=20, design="", cells=80, kills=6, seed=2)
    assert_tables_of_the_paper(tmp_path / "killed", models=MODELS, groups=9, objects=8)
    assert "8000 pictures asked of 5 models" in (tmp_path / "killed.log").read_text()
