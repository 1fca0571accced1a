"""A generator that another package brings, installed beside this one, draws for an audit."""

import base64
import re
from pathlib import Path

import pytest
from tests.processes import together

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


def test_it_is_listed_with_its_package_and_draws(site):
    def draw(request):
        picture = server.plant(*(request.body[key] for key in ("model", "text", "seed")))
        return Response(200, {"picture": base64.b64encode(picture).decode()})

    with Loopback() as server:
        server.register("POST", "/draw", draw, kind="images")
        entry = f"{{draw: 'vllm:painter', base_url: '{server.root}', key: null}}"
        (site / "audit.yaml").write_text(AUDIT.replace("ENTRY", entry))
        listed, done = together(site, "generators", "run audit.yaml -o run", site=site)
    listing = " ".join(listed.stdout.split())
    entry = "{draw: vllm:painter, base_url: http://localhost:9000} (from drawing)"
    assert f"asks a server that draws: {entry}" in listing
    assert done.returncode == 0, done.stderr
    run = st.open(site / "run")
    assert run.images["status"].to_list() == ["ok"] * 4
    assert [(g["name"], g["kind"]) for g in run.info["generators"]] == [("painter", "draw")]


def test_a_mistake_in_its_options_is_told_as_of_ours(site):
    told = {
        "{draw: 'painter'}": ":5: a model is named provider:model",
        "{draw: , base_url: 'http://localhost:1'}": ":5: generator draw: draw is missing; add it: write",
        "{draw: 'vllm:painter', nam: x}": ":5: vllm:painter: unknown key 'nam'; did you mean 'name'?",
    }
    for number, entry in enumerate(told):
        (site / f"{number}.yaml").write_text(AUDIT.replace("ENTRY", entry))
    commands = [f"run {number}.yaml --plan" for number in range(len(told))]
    for (number, message), refused in zip(
        enumerate(told.values()), together(site, *commands, site=site), strict=True
    ):
        assert refused.returncode == 2
        assert f"{number}.yaml{message}" in " ".join(refused.stderr.split())
