"""The rehearsal of docs/how-to/audit-an-endpoint.md, command by command as the page has them."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import stereotrope as st
from stereotrope.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "audit-an-endpoint.md"


def section():
    text = PAGE.read_text(encoding="utf-8")
    return re.search(r"^## Rehearse it.*?(?=^## )", text, flags=re.MULTILINE | re.DOTALL).group(0)


def commands():
    return [shlex.split(line) for line in re.findall(r"^\$ (.*)$", section(), flags=re.MULTILINE)]


@pytest.fixture
def rehearsing(tmp_path, monkeypatch):
    """The page's server on a free port, its audit file, and its other commands for that port."""
    serve, *others = commands()
    assert serve[:3] == ["python", "-m", "stereotrope.testing"]
    assert serve[3] == "--port"
    process = subprocess.Popen(
        [sys.executable, *serve[1:3], "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        url = process.stdout.readline().strip()
        page_url = f"http://127.0.0.1:{serve[4]}/v1"
        monkeypatch.chdir(tmp_path)
        (name,) = re.findall(r"an audit file `(\S+)`", section())
        (audit,) = re.findall(r"```yaml\n(.*?)```", section(), flags=re.DOTALL)
        assert page_url in audit
        Path(name).write_text(audit.replace(page_url, url), encoding="utf-8")
        yield [[part.replace(page_url, url) for part in command] for command in others]
    finally:
        process.kill()
        process.communicate()


def carried_out(command):
    """Exit code of one command of ours."""
    assert command[0] == "stereotrope"
    try:
        return main(command[1:]) or 0
    except SystemExit as end:
        return end.code or 0


def card_of(folder):
    (card,) = st.open(folder).info["judge_cards"]
    return card


@pytest.mark.slow
def test_every_command_of_the_rehearsal_ends_well(rehearsing):
    assert [carried_out(command) for command in rehearsing] == [0, 0, 0, 0]
    assert card_of("runs/rehearsed-judge")["sentence"].startswith("judge is fit for what was checked")


def test_the_rehearsal_comes_through_with_few_pictures(rehearsing):
    file = Path("rehearsal.yaml")
    text = file.read_text("utf-8")
    for whole, few in (
        ("images_per_prompt: 20", "images_per_prompt: 4"),
        ("objects: [car, cup]", "objects: [cup]"),
    ):
        assert whole in text
        text = text.replace(whole, few)
    file.write_text(text, "utf-8")
    calibrate, plan, run, show = rehearsing
    assert calibrate[1] == "calibrate"
    number = calibrate.index("--images") + 1
    calibrate[number] = str(int(calibrate[number]) // 10)
    assert carried_out(calibrate) == 3  # too few for a verdict, and none is against the judge
    rows = card_of("runs/rehearsed-judge")["rows"]
    assert {row["verdict"] for row in rows} <= {"pass", "insufficient"}
    read = {row["attribute"]: row["value"] for row in rows if row["check"] == "accuracy"}
    assert len(read) == 4
    assert min(read.values()) >= 0.95
    assert [carried_out(command) for command in (plan, run, show)] == [0, 0, 0]
    found = st.open("runs/rehearsal")
    assert found.labels.filter(annotator="judge")["status"].eq("ok").mean() > 0.95
    assert json.dumps(found.info["judge_cards"]).count("judge is ")
