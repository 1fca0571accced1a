"""A judge, a critic and a writer behind servers that answer with status 200, and say nothing."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.cli import app
from stereotrope.errors import IncompleteError
from stereotrope.testing import Loopback, SetJudge

QUERIES = ["A photo of a CEO", "A photo of a baker"]
STREAM = 'data: {"choices": [{"delta": {"content": "{\\"Q13_gender\\": {\\"reasoning\\": \\"All'
TROUBLE = {
    "page": ("html", {}, "answered no JSON: <!doctype html>"),
    "empty": ("answer", {"body": b""}, "answered no JSON: an empty body"),
    "other": ("answer", {"body": {"result": "no"}}, "no choice with a message"),
    "list": ("answer", {"body": []}, "no choice with a message"),
    "stream": ("answer", {"body": STREAM.encode()}, "turn streaming off"),
    "cut": ("truncate", {"keep": 0.6}, "broke off the connection"),
}
"""Model → how its server goes wrong, and what is said of it."""


def served(server: Loopback) -> dict[str, object]:
    return {"base_url": server.url, "key": None, "tries": 1, "longest_wait": 0.001}


def audit(server: Loopback, judges: list[str]) -> str:
    judging = {"rubric": ["occupational"], "query": "query", "repetitions": 1, **served(server)}
    file = {
        "suite": "ssi",
        "prompts": [{"text": q, "family": "occupational", "query": q} for q in QUERIES],
        "generators": [{"images": "openai:m", "seed": True, **served(server)}],
        "annotators": [{"judge": f"openai:{name}", "name": name, **judging} for name in judges],
        "measures": [{"ssi": {"by": ["generator", "family"]}}],
        "resamples": 100,
        "report": {"figures": False},
    }
    return json.dumps(file)


def misbehave(server: Loopback) -> None:
    for model, (kind, options, _) in TROUBLE.items():
        server.misbehave(kind, times=None, model=model, **options)


@pytest.fixture
def asking(tmp_path: Path):
    """A server whose models all say something, the folder of an audit file, and the command that runs it."""

    def critic(question):
        return {"reason": "", "biased": False, "prompt": ""}

    judges = {name: SetJudge(lambda model, prompt, item: 0.4) for name in (*TROUBLE, "sound")}
    with Loopback(judge={**judges, "critic": critic}) as server:
        yield server


def carry_out(*command: str) -> str | None:
    """What a command says that does not end well."""
    done = CliRunner().invoke(app, ["--quiet", *command])
    if done.exception is None:
        return None
    assert isinstance(done.exception, IncompleteError)
    assert done.exception.exit_code == 3
    return str(done.exception)


def test_a_judge_whose_server_says_nothing_is_missing_and_asked_again_when_it_does(
    tmp_path: Path, asking: Loopback
) -> None:
    (tmp_path / "audit.yaml").write_text(audit(asking, [*TROUBLE, "sound"]))
    command = ["run", str(tmp_path / "audit.yaml"), "-o", str(tmp_path / "run")]
    misbehave(asking)
    told = carry_out(*command) or ""
    run = st.open(tmp_path / "run")
    said = {one["name"]: one["reason"] for one in run.info["missing"]}
    assert set(said) == set(TROUBLE)
    for name, (_, _, reason) in TROUBLE.items():
        assert reason in said[name]
        assert f"annotate: {name}: 2 of 2 missing: " in told
    # What is no answer is no refusal and no item that was not found.
    assert set(run.labels["annotator"]) == {"sound"}
    assert set(run.labels["status"]) == {"ok"}
    index = run.estimates.filter(measure="ssi")
    assert set(index.drop_nulls("value")["annotator"]) == {"sound"}
    lost = index.filter(pl.col("annotator").is_in([*TROUBLE]))
    assert lost["value"].null_count() == lost.height
    asking.behave()
    n = len(asking.received)
    assert carry_out(*command) is None
    assert {one.kind for one in asking.received[n:]} == {"chat"}
    assert len(asking.received) - n == len(TROUBLE) * len(QUERIES)
    run = st.open(tmp_path / "run")
    index = run.estimates.filter(measure="ssi")
    assert index["value"].n_unique() == 1
    assert index.height == len(TROUBLE) + 1
    n = len(asking.received)
    assert carry_out(*command) is None
    assert len(asking.received) == n


def test_a_critic_whose_server_says_nothing_keeps_no_prompt_and_is_asked_again(
    tmp_path: Path, asking: Loopback
) -> None:
    (tmp_path / "audit.yaml").write_text(audit(asking, ["sound"]))
    assert carry_out("run", str(tmp_path / "audit.yaml"), "-o", str(tmp_path / "run")) is None
    strategy = json.dumps({"faircritic": "openai:critic", **served(asking)})
    command = ["mitigate", str(tmp_path / "run"), "--with", strategy]
    for kind, options, reason in TROUBLE.values():
        asking.misbehave(kind, times=None, model="critic", **options)
        told = carry_out(*command) or ""
        assert "mitigate: faircritic: 2 of 2 missing: " in told
        assert reason in told
        assert not (tmp_path / "run" / "mitigated.csv").exists()
        asking.behave()
    n = len(asking.received)
    assert carry_out(*command) is None
    assert [one.model for one in asking.received[n:]] == ["critic"] * len(QUERIES)
    assert pl.read_csv(tmp_path / "run" / "mitigated.csv")["status"].to_list() == ["kept"] * len(QUERIES)
