"""Servers that others wrote, each in an environment of its own that the first test makes and keeps."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.conftest import require

from stereotrope.testing import Loopback, Request, Response

HERE = Path(__file__).parent
KEPT = Path(os.environ.get("STEREOTROPE_SERVERS", Path.home() / ".cache" / "stereotrope-servers"))
INSTALLING, STARTING = 3600, 600
"""Seconds: llama-cpp-python is compiled."""
BUILDING = "-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF " + " ".join(
    f"-DLLAMA_BUILD_{part}=OFF" for part in ("TESTS", "EXAMPLES", "SERVER", "TOOLS")
)
"""What of llama.cpp its Python package does without."""

collect_ignore = ["tiny_gguf.py", "tiny_vlm.py"]


def environment(name: str, *packages: str, beside: str | None = None) -> Path:
    """Python of the environment that holds the packages, made where it is not there yet.

    ``beside`` is a package of this environment whose neighbours the new one sees too.
    """
    folder = KEPT / name
    python = folder / "bin" / "python"
    if (folder / "made").exists():
        return python
    venv.create(folder, clear=True, with_pip=True)
    if beside is not None:
        found = find_spec(beside)
        require(found is not None and found.origin is not None, f"{beside} is not installed")
        (site,) = (folder / "lib").glob("python*/site-packages")
        (site / "beside.pth").write_text(f"{Path(found.origin).parents[1]}\n")
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=INSTALLING,
        check=False,
        env={**os.environ, "CMAKE_ARGS": BUILDING},
    )
    said = done.stderr.strip().splitlines()[-1:]
    require(done.returncode == 0, f"{', '.join(packages)} cannot be installed: {' '.join(said)}")
    (folder / "made").touch()
    return python


def made_by(python: Path, script: str, target: Path) -> Path:
    """What a script beside this file writes, run by the server's own Python."""
    done = subprocess.run(
        [python, HERE / script, target], capture_output=True, text=True, timeout=STARTING, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return target


@contextlib.contextmanager
def started(*command: object, log: Path, ready: str) -> Iterator[str]:
    """The root of a server that is running: ``{port}`` in the command is a free one."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    filled = [str(part).replace("{port}", str(port)) for part in command]
    quiet = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}
    with log.open("wb") as file:
        process = subprocess.Popen(filled, stdout=file, stderr=file, env={**os.environ, **quiet})
    try:
        root = f"http://127.0.0.1:{port}"
        until = time.monotonic() + STARTING
        while not answers(root + ready):
            assert process.poll() is None, log.read_text(errors="replace")[-2000:]
            assert time.monotonic() < until, log.read_text(errors="replace")[-2000:]
            time.sleep(0.5)
        yield root
    finally:
        process.kill()
        process.wait()


def answers(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=10) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


class Recorder:
    """Stands before a server and keeps what passes: requests, and the status of each answer."""

    def __init__(self, loopback: Loopback, root: str) -> None:
        self._loopback, self._root = loopback, root
        loopback.register("POST", "/passed/", self._pass, kind="passed")
        self.url = f"{loopback.root}/passed/v1"

    async def _pass(self, request: Request) -> Response:
        return await asyncio.to_thread(self._forward, request)

    def _forward(self, request: Request) -> Response:
        url = self._root + request.path.removeprefix("/passed")
        sent = urllib.request.Request(url, request.raw, {"content-type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(sent, timeout=STARTING) as reply:
                return Response(reply.status, reply.read(), {}, reply.headers["content-type"])
        except urllib.error.HTTPError as error:
            with error:
                return Response(error.code, error.read(), {}, error.headers["content-type"])

    @property
    def statuses(self) -> list[int]:
        return [each.status for each in self._loopback.received]

    @property
    def formats(self) -> list[str | None]:
        return [(each.body.get("response_format") or {}).get("type") for each in self._loopback.received]

    def words(self, number: int) -> str:
        """All that the messages of a request say."""
        return json.dumps(self._loopback.received[number].body["messages"])


@pytest.fixture
def recorded():
    """A recorder before a server, by its root."""
    with contextlib.ExitStack() as stack:
        yield lambda root: Recorder(stack.enter_context(Loopback()), root)


@pytest.fixture(scope="session")
def llama_cpp(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """llama-cpp-python's server with a model of random weights."""
    folder = tmp_path_factory.mktemp("llama-cpp")
    python = environment("llama-cpp-python-0.3.36", "llama-cpp-python[server]==0.3.36", "gguf==0.19.0")
    model = made_by(python, "tiny_gguf.py", folder / "tiny.gguf")
    command = [python, "-m", "llama_cpp.server", "--model", model, "--n_ctx", "4096", "--port", "{port}"]
    with started(*command, log=folder / "log", ready="/v1/models") as root:
        yield root


SERVING = ("transformers[serving]==5.23.0", "accelerate>=1.1")
SERVE = "from transformers.cli.transformers import main; main()"


@pytest.fixture(scope="session")
def transformers_python() -> Path:
    return environment("transformers-5.23.0", *SERVING, beside="torch")


@pytest.fixture(scope="session")
def answering_no(tmp_path_factory: pytest.TempPathFactory, transformers_python: Path) -> Path:
    """A model that sees pictures and answers “No”, in a folder."""
    return made_by(transformers_python, "tiny_vlm.py", tmp_path_factory.mktemp("models") / "answering-no")


@pytest.fixture(scope="session")
def pinned(tmp_path_factory: pytest.TempPathFactory, transformers_python: Path, answering_no: Path):
    """``transformers serve MODEL``."""
    log = tmp_path_factory.mktemp("pinned") / "log"
    command = [transformers_python, "-c", SERVE, "serve", answering_no, "--port", "{port}"]
    with started(*command, log=log, ready="/health") as root:
        yield root


@pytest.fixture(scope="session")
def open_to_all(tmp_path_factory: pytest.TempPathFactory, transformers_python: Path):
    """``transformers serve``, which loads what it is asked for."""
    log = tmp_path_factory.mktemp("open") / "log"
    command = [transformers_python, "-c", SERVE, "serve", "--port", "{port}"]
    with started(*command, log=log, ready="/health") as root:
        yield root
