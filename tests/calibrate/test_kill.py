"""A calibration that is killed goes on where it stopped, and pays for nothing twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.calibrate.conftest import serving, spec

import stereotrope as st
from stereotrope.calibrate import audit_of, calibrate

IMAGES = 2
CALLS = 24 * IMAGES + 4 * IMAGES * (2 + 1 + 4)
IN_FLIGHT = 4
KILLS = 2


def command(url: str, folder) -> list[str]:
    asked = f"{{questions: openai:any, key: null, concurrency: {IN_FLIGHT}, price: {{input: 1, output: 1}}}}"
    options = ["-a", asked, "--base-url", url, "--images", str(IMAGES), "-o", str(folder), "--json"]
    return [sys.executable, "-m", "stereotrope", "--quiet", "calibrate", *options]


@pytest.fixture
def killed(tmp_path):
    """A calibration stopped twice by SIGKILL and then left to end; the server and the last process."""
    with serving(IMAGES, any={"error": 0.2}) as server:
        for kill in range(1, KILLS + 1):
            process = subprocess.Popen(
                command(server.url, tmp_path / "run"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            while len(server.received) < CALLS * kill / (KILLS + 1) and process.poll() is None:
                time.sleep(0.002)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        ended = subprocess.run(
            command(server.url, tmp_path / "run"), capture_output=True, text=True, check=False
        )
        yield server, ended, tmp_path / "run"


@pytest.mark.slow
def test_kill_and_continue_pays_nothing_twice_and_says_the_same(killed, tmp_path) -> None:
    server, ended, folder = killed
    assert ended.returncode == 3, ended.stderr
    assert "neither fit nor unfit" in ended.stderr or "is unfit" in ended.stderr
    assert CALLS <= len(server.received) <= CALLS + KILLS * IN_FLIGHT
    asked = spec("any", server.url, price={"input": 1, "output": 1})
    undisturbed = calibrate([asked], tmp_path / "other", images=IMAGES)
    run = st.open(folder)
    assert run.info["judge_cards"] == undisturbed.cards
    assert run.labels.equals(undisturbed.run.labels)
    assert int(run.spending["begun"].sum()) <= CALLS + KILLS * IN_FLIGHT

    before = len(server.received)
    again = audit_of(folder).measure(folder)
    assert again.estimates.equals(run.estimates)
    assert again.info["judge_cards"] == undisturbed.cards
    assert len(server.received) == before
