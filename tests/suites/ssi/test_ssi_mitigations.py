"""The protocol of the paper over the loopback server: planted stereotypes, and what strategies do to them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import stereotrope as st
from stereotrope.audit.foreseen import foreseen
from stereotrope.audit.mitigating import Mitigation
from stereotrope.inputs.rubric import rubric_named
from stereotrope.testing import Loopback, SetJudge
from stereotrope.testing.plant import uniform

FAMILIES = ("geocultural", "occupational", "adjectival")
MODELS = {"strong": 0.6, "middling": 0.45, "weak": 0.3}
CALM, WIDE = "in everyday surroundings", "as many people as there are"
ETHICAL = "Ensure the image avoids harmful stereotypes"
EFFECTS = {ETHICAL: 0.75, WIDE: 0.5, CALM: 0.25}
"""Words of a prompt, and the share of a stereotype that they leave."""


def share(model: str, prompt: str, item: str) -> float:
    left = [effect for words, effect in EFFECTS.items() if words in prompt]
    return MODELS[model] * (left[0] if left else 1.0)


def said(question, what):
    return json.loads(re.search(what + r': (".*")', question.text)[1])


def writer(question):
    """Takes what was found into account, and is told of it."""
    query = said(question, "Original prompt")
    found = question.text.count(": yes in ")
    return {"reason": f"{found} stereotypes", "prompt": f"{query} {CALM}"}


def critic(question):
    """Flags two of three sets, whatever they show."""
    prompt = said(question, "Prompt")
    biased = uniform("flag", prompt, *question.shas) < 2 / 3
    return {"reason": "one-sided", "biased": biased, "prompt": f"{prompt}, {WIDE}" if biased else ""}


def audited(folder: Path, server: Loopback, queries: int) -> st.Run:
    chosen = pl.read_csv(Path(st.__file__).parent / "suites/ssi/queries.csv")
    rows = chosen.group_by("family", maintain_order=True).head(queries).drop("named_in_paper").to_dicts()
    served = {"base_url": server.url, "key": None}
    file = {
        "suite": "ssi",
        "prompts": rows,
        "generators": [{"images": f"openai:{one}", "price": {"image": 0.01}, **served} for one in MODELS],
        "annotators": [
            {"judge": "openai:judge", "rubric": [*FAMILIES], "query": "query", "name": "judge", **served}
            | {"price": {"call": 0.001}, "repetitions": 2}
        ],
        "measures": [{"ssi": {"by": ["generator", "family", "query"]}}, {"ssi": {"by": ["generator"]}}],
        "images_per_prompt": 4,
        "resamples": 100,
        "report": {"figures": False},
    }
    (folder / "audit.yaml").write_text(json.dumps(file))
    return st.Audit.from_yaml(folder / "audit.yaml").run(folder / "run")


@cache
def items_of(family: str):
    return rubric_named([family]).items


def true_index(
    judge: SetJudge, run: st.Run, level: str, model: str, queries: set[str] | None = None
) -> float:
    """Mean over queries of what is planted in the very pictures of a condition."""
    images = run.images.join(run.prompts, on="prompt_id").filter(mitigation=level, generator=model)
    found = []
    for (family, query), part in images.group_by(["family", "query"], maintain_order=True):
        if queries is not None and query not in queries:
            continue
        items = items_of(family)
        text, numbers = part["text"][0], part["seed"].to_list()
        found.append(sum(judge.truth(model, text, numbers, one.id) for one in items) / len(items))
    return sum(found) / len(found)


def protocol(folder: Path, queries: int) -> None:
    judge = SetJudge(share)
    with Loopback(judge={"judge": judge, "writer": writer, "critic": critic}) as server:
        before = audited(folder, server, queries)
        n = len(MODELS) * before.prompts.height
        served = {"base_url": server.url, "key": None, "price": {"call": 0.002}}
        strategies = [
            "ethical",
            {"faircritic": "openai:critic", **served},
            {"refine": "openai:writer", **served},
        ]
        asking = Mitigation(folder / "run", strategies)
        work, sent = foreseen(asking), len(server.received)
        spent = float(before.spending["cost"].sum())
        run = asking.run()
        asked = server.received[sent:]
        again = len(server.received)
        Mitigation(folder / "run", strategies).run()
        assert len(server.received) == again
        st.Audit.from_run(folder / "run").measure(folder / "run")
        assert st.open(folder / "run").estimates.equals(run.estimates)
    rows = pl.read_csv(folder / "run" / "mitigated.csv")
    critic_rows = rows.filter(mitigation="faircritic")
    assert critic_rows.height == n
    flagged = critic_rows.filter(status="rewritten").height
    assert 0 < flagged < n
    # Each set is drawn and judged twice by the conditions that were drawn, and by no other.
    drawn = 2 * n + flagged
    assert sum(one.kind == "images" for one in asked) == 4 * drawn
    assert sum(one.model == "judge" for one in asked) == 2 * drawn
    assert sum(one.model in ("critic", "writer") for one in asked) == 2 * n
    cost = float(run.spending["cost"].sum()) - spent
    low, high = (sum(row.expected.cost[end] for row in work if row.expected) for end in (0, 1))
    assert cost == pytest.approx(0.01 * 4 * drawn + 0.001 * 2 * drawn + 0.002 * 2 * n)
    assert low - 1e-9 <= cost <= high + 1e-9
    assert high - low == pytest.approx(n * (4 * 0.01 + 2 * 0.001))
    told = rows.filter(mitigation="refine")["reason"].str.extract(r"(\d+)").cast(pl.Int64)
    assert told.sum() > 0
    index = run.scores.filter(measure="ssi")
    assert "family" in index.columns
    for model in MODELS:
        own = index.filter(pl.col("query").is_null(), generator=model)
        found = dict(own.select("mitigation", "value").rows())
        assert set(found) == {"none", "ethical", "faircritic", "refine"}
        for level, value in found.items():
            assert value == pytest.approx(true_index(judge, run, level, model), abs=1e-9)
        kept = set(critic_rows.filter(status="kept", generator=model)["query"])
        same = index.filter(pl.col("query").is_in(sorted(kept)), generator=model)
        pairs = same.pivot("mitigation", index="query", values="value")
        assert pairs["faircritic"].to_list() == pairs["none"].to_list()
    # The order that is planted: refine takes most, the sentence least but for what the critic keeps.
    means = dict(
        index.filter(pl.col("query").is_null()).group_by("mitigation").agg(pl.col("value").mean()).rows()
    )
    assert means["refine"] < means["faircritic"] < means["none"]
    assert means["refine"] < means["ethical"] < means["none"]
    for level, effect in (("ethical", 0.75), ("refine", 0.25)):
        spread = 4 * (0.25 / (n * 31 / 3)) ** 0.5
        assert means[level] == pytest.approx(0.45 * effect, abs=spread)


def test_the_protocol_of_the_paper_recovers_what_is_planted_at_the_price_it_said(tmp_path: Path) -> None:
    protocol(tmp_path, 1)


@pytest.mark.slow
def test_the_protocol_of_the_paper_at_its_size(tmp_path: Path) -> None:
    protocol(tmp_path, 34)
