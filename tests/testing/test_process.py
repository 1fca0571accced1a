import re
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

from tests.testing.web import CUP, closed, pictures_of, said


@contextmanager
def serving(*arguments):
    """The server as a process of its own."""
    command = [sys.executable, "-m", "stereotrope.testing", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline()
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1\n", url)
        yield SimpleNamespace(root=url.strip().removesuffix("/v1"))
    finally:
        process.terminate()
        assert process.communicate()[0] == ""
    assert process.returncode == 0


def test_a_server_of_its_own_process_does_as_its_arguments_say(http_to, monkeypatch):
    monkeypatch.setenv("LOOPBACK_KEY", "k-1")
    with serving("--no-seeds", "--error", "0", "--key-variable", "LOOPBACK_KEY", "--model", "m") as server:
        web, authorised = http_to(server), {"Authorization": "Bearer k-1"}
        body = {"model": "m", "prompt": CUP}
        assert web.images()[0] == 401
        assert web.ask("POST", "/v1/images/generations", body, **authorised)[0].status == 200
        for odd, status in (({"seed": 1}, 400), ({"model": "other"}, 404)):
            answer, _ = web.ask("POST", "/v1/images/generations", body | odd, **authorised)
            assert answer.status == status


def test_a_server_that_is_started_again_knows_what_the_earlier_one_drew(http_to):
    with serving("--seed", "4") as server:
        picture = pictures_of(http_to(server).images()[1])[0]
    with serving("--seed", "4") as server:
        colour = said(http_to(server).chat(picture, closed(product_colour=None))[1])
    assert colour != {"product_colour": "unclear"}


def test_the_server_imports_no_client_library():
    code = "import sys, stereotrope.testing; print({'openai', 'httpx2', 'jsonschema'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
