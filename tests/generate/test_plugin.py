"""A generator that another package brings, installed beside this one, draws for an audit."""

import base64
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stereotrope as st
from stereotrope.testing import Loopback, Response

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "write-an-adapter.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
DRAWING = "\n".join([BLOCKS[0], next(block for block in BLOCKS if "@generator(" in block)])
AUDIT = """\
suite: objects
objects: [cup]
dimensions: {gender: [women]}
images_per_prompt: 2
generators: [ENTRY]
annotators: [colour]
report: {figures: false}
"""


@pytest.fixture
def site(tmp_path):
    (tmp_path / "drawing.py").write_text(DRAWING)
    info = tmp_path / "drawing-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: drawing\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[stereotrope.generators]\nours = drawing\n")
    return tmp_path


def stereotrope(site, *arguments):
    paths = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-m", "stereotrope", *arguments],
        cwd=site,
        env={**os.environ, "PYTHONPATH": paths, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_is_listed_with_its_package_and_draws(site):
    listed = " ".join(stereotrope(site, "generators").stdout.split())
    assert (
        "asks a server that draws: {draw: vllm:painter, base_url: http://localhost:9000} (from drawing)"
        in listed
    )

    def draw(request):
        picture = server.plant(*(request.body[key] for key in ("model", "text", "seed")))
        return Response(200, {"picture": base64.b64encode(picture).decode()})

    with Loopback() as server:
        server.register("POST", "/draw", draw, kind="images")
        entry = f"{{draw: 'vllm:painter', base_url: '{server.root}', key: null}}"
        (site / "audit.yaml").write_text(AUDIT.replace("ENTRY", entry))
        done = stereotrope(site, "run", "audit.yaml", "-o", "run")
    assert done.returncode == 0, done.stderr
    run = st.open(site / "run")
    assert run.images["status"].to_list() == ["ok"] * 4
    assert [(g["name"], g["kind"]) for g in run.info["generators"]] == [("painter", "draw")]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{draw: 'painter'}", "audit.yaml:5: a model is named provider:model"),
        (
            "{draw: , base_url: 'http://localhost:1'}",
            "audit.yaml:5: generator draw: draw is missing; add it: write",
        ),
        (
            "{draw: 'vllm:painter', nam: x}",
            "audit.yaml:5: vllm:painter: unknown key 'nam'; did you mean 'name'?",
        ),
    ],
)
def test_a_mistake_in_its_options_is_told_as_of_ours(site, entry, message):
    (site / "audit.yaml").write_text(AUDIT.replace("ENTRY", entry))
    refused = stereotrope(site, "run", "audit.yaml", "--plan")
    assert refused.returncode == 2
    assert message in " ".join(refused.stderr.split())
