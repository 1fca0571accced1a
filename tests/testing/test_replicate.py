from __future__ import annotations

import httpx2
import pytest
from tests.testing.replicate import serve_replicate

from stereotrope.testing import Loopback


@pytest.fixture
def server():
    with Loopback() as server:
        yield server


def test_a_prediction_is_begun_worked_on_and_done(server):
    url = serve_replicate(server, polls=2)
    asked = {"input": {"prompt": "a car", "seed": 1}}
    begun = httpx2.post(f"{url}/models/a/b/predictions", json=asked)
    assert (begun.status_code, begun.json()["status"], begun.json()["output"]) == (201, "processing", None)
    states = [httpx2.get(begun.json()["urls"]["get"]).json() for _ in range(2)]
    assert [state["status"] for state in states] == ["processing", "succeeded"]
    assert httpx2.get(states[1]["output"]).content.startswith(b"\x89PNG")
    assert server.counts() == {
        ("images", "a/b", 201): 1, ("predictions", None, 200): 2, ("files", None, 200): 1
    }  # fmt: skip


@pytest.mark.parametrize("body", [{}, [], {"input": {}}, {"input": {"prompt": 7}}])
def test_a_request_without_a_prompt_is_rejected(server, body):
    url = serve_replicate(server)
    assert httpx2.post(f"{url}/predictions", json=body).status_code == 422


def test_an_unknown_prediction_is_not_found(server):
    url = serve_replicate(server)
    assert httpx2.get(f"{url}/predictions/nope").status_code == 404
