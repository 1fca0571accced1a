"""Servers that answer with status 200 and no answer: nothing is a refusal, nothing is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.generate.remote.asking import fast
from tests.generate.remote.bodies import CHAT, DECLINES, FAILURES, entry

import stereotrope as st
from stereotrope.errors import IncompleteError
from stereotrope.testing import Loopback

SLOW = pytest.mark.slow
ADAPTERS = ("openai", "gemini", pytest.param("imagen", marks=SLOW), pytest.param("replicate", marks=SLOW))
"""Every body of every adapter is read in tests/generate/remote/test_bodies.py; here audits of two."""


FEW = pytest.mark.parametrize("every", [6, pytest.param(1, marks=SLOW)])
"""Of the bodies one in so many is answered with; what each is read as has tests without an audit."""


def audit_of(generators: list[dict[str, Any]], annotators: list[Any]) -> st.Audit:
    audit = {
        "prompts": [{"text": "a cup"}],
        "images_per_prompt": 1,
        "generators": generators,
        "annotators": annotators,
        "measures": ["refusal_rate"],
    }
    return st.Audit.from_text(json.dumps(audit))


def drawn(server: Loopback, adapter: str, bodies: dict[str, Any]) -> st.Audit:
    """One generator for each body, one picture each, and one that is well."""
    made = [entry(adapter, server, "well", name="well", seed=False)]
    made += [entry(adapter, server, f"m{i}", name=f"m{i}", seed=False, tries=1) for i in range(len(bodies))]
    return audit_of(made, ["blank"])


def misbehave(server: Loopback, bodies: dict[str, Any], head: str) -> None:
    server.behave()
    for i, body in enumerate(bodies.values()):
        server.misbehave("answer", times=None, body=body, model=f"{head}m{i}")


def rates(run: st.Run) -> list[float | None]:
    return run.estimates.filter(measure="refusal_rate")["value"].to_list()


@FEW
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_no_body_that_is_no_answer_counts_as_a_refusal_or_is_kept(tmp_path, adapter, every):
    bodies = dict(list(FAILURES[adapter].items())[::every])
    head = {"openai": "", "gemini": "gemini-", "imagen": "imagen-", "replicate": "a/"}[adapter]
    with Loopback() as server:
        audit = drawn(server, adapter, bodies)
        misbehave(server, bodies, head)
        with pytest.raises(IncompleteError) as error:
            audit.run(tmp_path / "run")
        assert error.value.exit_code == 3
        run = st.open(tmp_path / "run")
        assert run.images.select("generator", "status").rows() == [("well", "ok")]
        assert rates(run) == [0.0]
        assert sorted(missing["name"] for missing in run.info["missing"]) == sorted(
            f"m{i}" for i in range(len(bodies))
        )
        server.behave()
        run = audit.run(tmp_path / "run")
    assert run.images["status"].to_list() == ["ok"] * (1 + len(bodies))
    assert set(rates(run)) == {0.0}
    assert run.info["missing"] == []


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_what_has_a_refusals_form_is_counted_and_not_asked_for_again(tmp_path, adapter):
    bodies = DECLINES[adapter]
    head = {"openai": "", "gemini": "gemini-", "imagen": "imagen-", "replicate": "a/"}[adapter]
    with Loopback() as server:
        audit = drawn(server, adapter, bodies)
        misbehave(server, bodies, head)
        run = audit.run(tmp_path / "run")
        assert run.images["status"].to_list() == ["ok"] + ["refused"] * len(bodies)
        assert sorted(rates(run)) == [0.0] + [1.0] * len(bodies)
        asked = len(server.received)
        audit.run(tmp_path / "run")
        assert len(server.received) == asked


@FEW
def test_no_body_that_is_no_answer_becomes_a_label_or_a_caption(tmp_path, every):
    bodies = dict(list(CHAT.items())[::every])
    with Loopback() as server:
        judges = [
            fast(
                questions=f"openai:m{i}",
                name=f"m{i}",
                base_url=server.url,
                tries=1,
                timeout=60,
                attributes={"style": "open"},
            )
            for i in range(len(bodies))
        ]
        captioners = [
            fast(caption=f"openai:m{i}", name=f"c{i}", base_url=server.url, tries=1, timeout=60)
            for i in range(len(bodies))
        ]
        audit = audit_of([entry("openai", server, "painter", seed=False)], judges + captioners)
        misbehave(server, bodies, "")
        with pytest.raises(IncompleteError) as error:
            audit.run(tmp_path / "run")
        assert error.value.exit_code == 3
        assert st.open(tmp_path / "run").labels.is_empty()
        server.behave()
        run = audit.run(tmp_path / "run")
    assert set(run.labels["annotator"]) >= {f"{kind}{i}" for kind in "mc" for i in range(len(bodies))}
    assert set(run.labels["status"]) <= {"ok", "unclear"}
