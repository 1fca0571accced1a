"""SIGKILL of ``stereotrope mitigate`` while it rewrites, draws and looks: the same tables, paid once."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.run import kill

import stereotrope as st
from stereotrope.cli import main
from stereotrope.testing import Judge, Loopback

LANES = 4
AUDIT = """\
prompts:
  - {{text: "cup for men", group: men}}
  - {{text: "cup for women", group: women}}
  - {{text: "sofa for women", group: women}}
images_per_prompt: 4
report: {{figures: false}}
resamples: 100
measures: [share]
generators: [{{images: 'openai:alpha', base_url: '{url}', key: null, seed: true, concurrency: 4}}]
annotators:
  - {{questions: openai:judge, base_url: '{url}', key: null, name: judge, concurrency: 4,
     attributes: {{product_colour: [white, black, grey, red, blue, pink]}}}}
"""


def writer(question):
    query = json.loads(re.search(r'Original prompt: (".*")', question.text)[1])
    before = json.loads(re.search(r'Prompt of these pictures: (".*")', question.text)[1])
    return {"reason": "", "prompt": query + (" at home" if before == query else " in a park")}


def critic(question):
    prompt = json.loads(re.search(r'Prompt: (".*")', question.text)[1])
    return {
        "reason": "",
        "biased": "women" in prompt and "range" not in prompt,
        "prompt": f"{prompt}, a range",
    }


def arguments(server: Loopback) -> list[str]:
    served = {"base_url": server.url, "key": None, "concurrency": LANES}
    entries = [{"refine": "openai:writer", **served}, {"faircritic": "openai:critic", **served}]
    options = [part for entry in entries for part in ("--with", json.dumps(entry))]
    return ["--quiet", "mitigate", "run", *options, "--rounds", "2"]


def start(folder: Path, server: Loopback) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "stereotrope", *arguments(server)]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def killed_at(server: Loopback, process: subprocess.Popen[bytes], requests: int) -> bool:
    """Kill the process once the server was sent so many requests; False where it ended before."""
    while process.poll() is None:
        if len(server.received) >= requests:
            process.kill()
            process.communicate()
            return True
        time.sleep(0.002)
    process.communicate()
    return False


def finished(folder: Path, server: Loopback) -> None:
    """Carry the same command out here, to its end."""
    with contextlib.chdir(folder), pytest.raises(SystemExit) as ended:
        main(arguments(server))
    assert ended.value.code == 0


def asked(server: Loopback, after: int) -> Counter[tuple[str, str | None, str]]:
    """Requests by kind, model and content."""
    sent = server.received[after:]
    return Counter((one.kind, one.model, json.dumps(one.body, sort_keys=True)) for one in sent)


def assert_survives(folder: Path, shares: tuple[float, ...]) -> None:
    with Loopback(judge={"judge": Judge(), "writer": writer, "critic": critic}) as server:
        (folder / "audit.yaml").write_text(AUDIT.format(url=server.url))
        st.Audit.from_yaml(folder / "audit.yaml").run(folder / "first")
        for name in ("calm", "killed"):
            (folder / name).mkdir()
            shutil.copytree(folder / "first", folder / name / "run")
        begun = len(server.received)
        finished(folder / "calm", server)
        calm = asked(server, begun)
        total, begun = len(server.received) - begun, len(server.received)
        hit = sum(
            killed_at(server, start(folder / "killed", server), begun + int(share * total))
            for share in shares
        )
        assert hit == len(shares)
        finished(folder / "killed", server)
        disturbed = asked(server, begun)
    assert max(calm.values()) == 1
    assert {kind for kind, *_ in calm} == {"chat", "images"}
    assert set(disturbed) == set(calm)
    assert disturbed.total() - calm.total() <= LANES * 2 * hit
    one, other = (st.open(folder / name / "run") for name in ("calm", "killed"))
    assert one.images.drop("latency").equals(other.images.drop("latency"))
    same = [kill.tables(folder / name / "run") for name in ("calm", "killed")]
    for name in ("labels", "prompts", "estimates", "findings"):
        assert same[0][f"{name}.parquet"] == same[1][f"{name}.parquet"], name
    written = [(folder / name / "run" / "mitigated.csv").read_bytes() for name in ("calm", "killed")]
    assert written[0] == written[1]
    assert written[0].count(b"round 2") == 3  # the critic kept all


def test_a_command_that_is_killed_goes_on_and_ends_in_the_same_tables(tmp_path):
    assert_survives(tmp_path, (0.4,))


@pytest.mark.slow
def test_a_command_that_is_killed_many_times_ends_in_the_same_tables(tmp_path):
    assert_survives(tmp_path, tuple(i / 16 for i in range(16)))
