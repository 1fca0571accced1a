import subprocess
import sys

import pytest
from tests.testing.web import CUP, closed, pictures_of, said

from stereotrope.errors import UsageError
from stereotrope.testing import LoopbackProcess


def test_a_server_of_its_own_process_is_asked_and_told_over_http(http_to, monkeypatch):
    monkeypatch.setenv("LOOPBACK_KEY", "k-1")
    with LoopbackProcess(
        "--seed", "4", "--no-seeds", "--error", "0", "--key-variable", "LOOPBACK_KEY"
    ) as server:
        web = http_to(server)
        assert web.images()[0] == 401
        authorised = {"Authorization": "Bearer k-1"}
        body = {"model": "m", "prompt": CUP}
        assert web.ask("POST", "/v1/images/generations", body, **authorised)[0].status == 200
        server.misbehave("server_error", status=503)
        assert web.ask("POST", "/v1/images/generations", body, **authorised)[0].status == 503
        server.misbehave("quota", times=None)
        server.behave()
        assert web.ask("POST", "/v1/images/generations", body, **authorised)[0].status == 200
        assert server.counts() == {
            ("images", "painter", 401): 1,
            ("images", "m", 200): 2,
            ("images", "m", 503): 1,
        }
        assert server.most_in_a_minute() == 4
        with pytest.raises(UsageError, match="unknown misbehaviour 'quta'; did you mean 'quota'"):
            server.misbehave("quta")


def test_a_server_that_is_started_again_knows_what_the_earlier_one_drew(http_to):
    with LoopbackProcess("--seed", "4") as server:
        picture = pictures_of(http_to(server).images()[1])[0]
    with LoopbackProcess("--seed", "4") as server:
        colour = said(http_to(server).chat(picture, closed(product_colour=None))[1])
    assert colour != {"product_colour": "unclear"}


def test_a_process_that_does_not_start_is_an_error():
    with pytest.raises(UsageError, match="the process did not start with '--latency fast'"):
        LoopbackProcess("--latency", "fast").start()


def test_a_process_ends_with_its_parent():
    code = (
        "import os, sys; from stereotrope.testing import LoopbackProcess;"
        "server = LoopbackProcess().start(); print(server._process.pid, flush=True); os._exit(0)"
    )
    pid = int(subprocess.check_output([sys.executable, "-c", code], text=True))
    import time
    from pathlib import Path

    for _ in range(600):
        status = Path(f"/proc/{pid}/status")
        if not status.exists() or "State:\tZ" in status.read_text():
            return
        time.sleep(0.1)
    assert not Path(f"/proc/{pid}").exists()


def test_the_server_imports_no_client_library():
    code = "import sys, stereotrope.testing; print({'openai', 'httpx2', 'jsonschema'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
