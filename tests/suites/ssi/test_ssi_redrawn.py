"""Strategies that change nothing in truth, alone and beside their control, through the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.cli import app
from stereotrope.inputs.rubric import rubric_named
from stereotrope.report.write import write
from stereotrope.testing import Loopback, SetJudge
from stereotrope.testing.plant import uniform

IDLE, HIGH = "in soft light", 0.37
"""Words that change nothing, and the index from which on a set is chosen."""


def queries(n: int) -> list[dict[str, str]]:
    chosen = pl.read_csv(Path(st.__file__).parent / "suites/ssi/queries.csv").filter(family="occupational")
    return chosen.head(n).drop("named_in_paper").to_dicts()


def carried_out(folder: Path, seed: int, n: int, level: str) -> st.Run:
    """A run and its mitigation in words that change nothing: of all by a suffix, else of what is high."""
    judge = SetJudge(
        lambda model, prompt, item: 0.1 + 0.55 * uniform(seed, prompt.replace(IDLE, "").strip(" ,")),
        seed=seed,
    )
    items = rubric_named(["occupational"]).items

    def said(question, what):
        return json.loads(re.search(what + r': (".*")', question.text)[1])

    def writer(question):
        return {"reason": "", "prompt": f"{said(question, 'Original prompt')}, {IDLE}"}

    def critic(question):
        """Flags what the judge finds much in: it looks at the same pictures."""
        drawn = [server.plant.drawn_for(data) for data in question.pictures]
        (model, prompt, _), numbers = drawn[0], [one[2] for one in drawn]
        index = sum(judge.truth(model, prompt, numbers, item.id) for item in items) / len(items)
        return {"reason": "", "biased": index > HIGH, "prompt": f"{said(question, 'Prompt')}, {IDLE}"}

    with Loopback(judge={"judge": judge, "writer": writer, "critic": critic}, seed=seed) as server:
        served = {"base_url": server.url, "key": None}
        judging = {"judge": "openai:judge", "rubric": ["occupational"], "query": "query", "repetitions": 1}
        file = {
            "suite": "ssi",
            "prompts": queries(n),
            "generators": [{"images": "openai:m", "seed": True, "size": "32x32", **served}],
            "annotators": [judging | served],
            "resamples": 100,
            "report": {"figures": False},
        }
        (folder / "audit.yaml").write_text(json.dumps(file))
        entries = {
            "suffix": [f"suffix:{IDLE}"],
            "refine": [json.dumps({"refine": "openai:writer", **served}), "redraw:refine"],
            "faircritic": [json.dumps({"faircritic": "openai:critic", **served}), "redraw:faircritic"],
        }[level]
        mitigating = [part for entry in entries for part in ("--with", entry)]
        more = ["--target", f"ssi={HIGH}"] if level == "refine" else []
        commands = (
            ["run", str(folder / "audit.yaml"), "-o", str(folder / "run")],
            ["mitigate", str(folder / "run"), *mitigating, *more],
        )
        for command in commands:
            done = CliRunner().invoke(app, ["--quiet", *command])
            assert done.exit_code == 0, done.output
    return st.open(folder / "run")


def falls(run: st.Run) -> dict[tuple[str, str], tuple[float, float]]:
    """Level and what it is compared with → change of the index, and p."""
    rows = run.scores.filter(
        pl.col("family").is_null(), measure="paired_difference", definition="ssi", generator="m"
    )
    return {(row["mitigation"], row["reference"]): (row["value"], row["p_value"]) for row in rows.to_dicts()}


@pytest.mark.slow
@pytest.mark.parametrize("level", ["faircritic", "refine"])
def test_what_falls_by_being_drawn_again_is_not_told_beside_its_control(tmp_path: Path, level: str) -> None:
    run = carried_out(tmp_path, 8, 8, level)
    found = falls(run)
    assert set(found) == {(level, "none"), ("redraw", "none"), (level, "redraw")}
    assert found[level, "none"][0] < 0
    assert found["redraw", "none"][0] < 0
    assert found[level, "redraw"][1] > 0.05
    rows = pl.read_csv(run.path / "mitigated.csv")
    places = rows.select("mitigation", "prompt_id", kept=pl.col("status") == "kept")
    kept = {name: part.drop("mitigation") for (name,), part in places.group_by("mitigation")}
    assert kept[level].sort("prompt_id").equals(kept["redraw"].sort("prompt_id"))
    assert 0 < kept[level]["kept"].sum() < 8
    page = write(run, figures=False).read_text()
    assert f"{level} beside redraw" in page


@pytest.mark.slow
@pytest.mark.parametrize("level", ["faircritic", "refine"])
def test_a_strategy_that_changes_nothing_is_seldom_told_beside_its_control(
    tmp_path: Path, level: str
) -> None:
    alone, controlled = 0, 0
    for seed in range(11, 23):
        (tmp_path / str(seed)).mkdir()
        found = falls(carried_out(tmp_path / str(seed), seed, 33, level))
        alone += found[level, "none"][1] <= 0.05 and found[level, "none"][0] < 0
        controlled += found[level, "redraw"][1] <= 0.05
    assert controlled <= 2  # of 12 at 5% more in 1 of 50
    assert alone >= 3, "the trap that the control is there for"


@pytest.mark.slow
def test_a_strategy_that_changes_nothing_is_seldom_told_of_at_all(tmp_path: Path) -> None:
    improved, found = 0, 0
    for seed in range(25):
        (tmp_path / str(seed)).mkdir()
        run = carried_out(tmp_path / str(seed), seed, 8, "suffix")
        rows = run.scores.filter(
            pl.col("p_value").is_not_null(), measure="paired_difference", definition="ssi"
        )
        assert rows.height
        improved += not rows.filter(pl.col("q_value") <= 0.05, pl.col("value") < 0).is_empty()
        found += not run.findings.filter(list="difference").is_empty()
    assert improved <= 3  # of 25 at 2.5% more in 1 of 200
    assert found <= 3
