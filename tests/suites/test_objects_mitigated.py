"""``stereotrope mitigate`` on a run of the objects suite, whose planted truth says what each suffix does."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.audit.mitigating import Mitigation
from stereotrope.cli import app
from stereotrope.generate import CalibratedGenerator

SUFFIXES = {
    "alike": "avoiding stereotypical styles",
    "varied": "with a wide range of styles",
    "idle": "in soft light",
}
"""Level → words: one safe value is drawn more often for all, all values more alike, or as without them."""
STRATEGIES = [{"suffix": words, "name": level} for level, words in SUFFIXES.items()]
LOOKED_AT = ("product_colour", "background_colour", "shape")


def write_labels(folder: Path, requests: pl.DataFrame, texts: pl.DataFrame) -> None:
    """What is drawn in every picture that is asked for, as a perfect rater would say."""
    generator = CalibratedGenerator()
    rows = [
        (row["image_id"], *(generator.values(row["text"], row["seed"])[name] for name in LOOKED_AT))
        for row in requests.join(texts.select("prompt_id", "text"), on="prompt_id").to_dicts()
    ]
    pl.DataFrame(rows, schema=["image_id", *LOOKED_AT], orient="row").write_csv(folder / "labels.csv")


def carry_out(*command: str) -> str:
    done = CliRunner().invoke(app, ["--quiet", *command])
    assert done.exit_code == 0, (done.output, done.exception)
    return done.output


def mitigated(folder: Path, seed: int, objects: list[str], images: int) -> st.Run:
    """A run, and the suffixes carried out on it by the command."""
    file = {
        "suite": "objects",
        "objects": objects,
        "dimensions": {"gender": ["men", "women"]},
        "images_per_prompt": images,
        "seed": seed,
        "generators": [{"calibrated": None, "size": 32}],
        "annotators": [{"labels": "labels.csv", "name": "rater"}],
        "permutations": 199,
        "resamples": 100,
        "report": {"figures": False},
    }
    (folder / "audit.yaml").write_text(json.dumps(file))
    plan = st.Audit.from_text(json.dumps(file | {"annotators": []})).plan()
    write_labels(folder, plan.requests, plan.prompts)
    carry_out("run", str(folder / "audit.yaml"), "-o", str(folder / "run"))
    command = ["mitigate", str(folder / "run")]
    for one in STRATEGIES:
        command += ["--with", json.dumps(one)]
    carry_out(*command, "--prompts-only")
    plan = Mitigation(folder / "run", STRATEGIES).plan()
    write_labels(folder, plan.requests, plan.prompts)
    carry_out(*command)
    return st.open(folder / "run")


def told(run: st.Run) -> list[tuple[str, str]]:
    """What is told of mitigations: the kind, and the level that it is told of."""
    kinds = ["homogenisation", "fidelity_change", "refusal", "refusal_change"]
    rows = run.findings.filter(pl.col("kind").is_in(kinds))
    return [(row["kind"], json.loads(row["scope"])["mitigation"]) for row in rows.to_dicts()]


def changes(run: st.Run) -> dict[tuple[str, str], float]:
    """Score and level → its change as a share of what it was, over all objects."""
    rows = run.scores.filter(pl.col("measure").is_in(["cds_change", "vac_change"]), generator="calibrated")
    whole = rows.filter(pl.col("dimension").is_null())
    return {(row["measure"].split("_")[0], row["mitigation"]): row["value"] for row in whole.to_dicts()}


@pytest.mark.slow
def test_planted_homogenisation_is_told_and_planted_diversification_is_not(tmp_path: Path) -> None:
    run = mitigated(tmp_path, 1, ["car", "cup"], 12)
    assert told(run) == [("homogenisation", "alike")]
    of = changes(run)
    assert of["cds", "alike"] < -0.3
    assert of["vac", "alike"] > 0.1
    assert of["cds", "varied"] < -0.3
    assert of["vac", "varied"] < -0.1


@pytest.mark.slow
def test_what_each_suffix_does_is_told_whatever_the_seed(tmp_path: Path) -> None:
    found = []
    for seed in range(2, 8):
        (tmp_path / str(seed)).mkdir()
        found.append(told(mitigated(tmp_path / str(seed), seed, ["car", "cup", "sofa"], 20)))
    # A mitigation is a second look at the run, whose list has an error of 0.005: of one not told, q is 0.009.
    assert found.count([("homogenisation", "alike")]) >= 4
    assert {one for each in found for one in each} == {("homogenisation", "alike")}
