import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

AUDIT = """\
suite: objects
objects: [cup]
dimensions: {gender: [women]}
images_per_prompt: 3
generators: [{calibrated: , size: 128}]
annotators: [blank, colour]
permutations: 199
resamples: 100
"""
# pydantic is not among them: typer itself imports it where it is installed.
HEAVY = (
    "numpy", "polars", "pyarrow", "PIL", "altair", "scipy", "ruamel", "rapidocr", "onnxruntime",
    "torch", "transformers", "narwhals", "jinja2", "vl_convert",
)  # fmt: skip


def stereotrope(*arguments, cwd=None, **environment):
    return subprocess.run(
        [sys.executable, "-m", "stereotrope", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "120", **environment},
        check=False,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "audit.yaml").write_text(AUDIT)
    result = stereotrope("run", "audit.yaml", "-o", "runs/first", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom stereotrope.cli import main\n"
        "try:\n    main(['run', '--help'])\nexcept SystemExit:\n    pass\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "[]"
    assert "the same command again continues" in result.stdout


def test_every_command_has_help_that_says_what_it_does():
    listing = stereotrope("--help").stdout
    for command in ("demo", "init", "run", "measure", "report", "show", "suites", "measures", "calibrate"):
        assert re.search(rf"\b{command}\b", listing)
        page = stereotrope(command, "--help")
        assert page.returncode == 0
        assert len(page.stdout.splitlines()) > 5


def test_data_goes_to_stdout_and_progress_to_stderr(finished):
    result = stereotrope("run", "audit.yaml", "-o", "runs/first", cwd=finished)
    assert result.returncode == 0
    assert "generate" in result.stderr
    assert "Report:" in result.stdout
    assert "generate:" not in result.stdout
    quiet = stereotrope("--quiet", "run", "audit.yaml", "-o", "runs/first", cwd=finished)
    assert quiet.stderr == ""


def test_show_prints_json_for_scripts(finished):
    result = stereotrope("show", "runs/first", "--json", cwd=finished)
    headline = json.loads(result.stdout)
    assert {"title", "asked", "missing", "findings", "tables"} <= set(headline)


def test_no_colour_codes_where_nobody_asked_for_them(finished):
    for options in ((), ("--no-color",)):
        out = stereotrope(*options, "show", "runs/first", cwd=finished, NO_COLOR="1")
        assert "\x1b[3" not in out.stdout + out.stderr


def test_init_prints_an_audit_file_that_plans(tmp_path):
    (tmp_path / "audit.yaml").write_text(stereotrope("init", "objects").stdout)
    result = stereotrope("run", "audit.yaml", "--plan", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert "calibrated" in result.stdout
    assert "$0" in result.stdout
    assert not (tmp_path / "runs").exists()


def test_plan_counts_what_is_done(finished):
    out = stereotrope("run", "audit.yaml", "-o", "runs/first", "--plan", cwd=finished).stdout
    assert re.search(r"generate\s+calibrated\s+6\s+6\s+0", out)


def test_report_and_measure_work_on_a_run(finished, tmp_path):
    result = stereotrope("report", "runs/first", "-o", tmp_path / "elsewhere", cwd=finished)
    assert result.returncode == 0, result.stderr
    assert Path(result.stdout.strip()).read_text(encoding="utf-8").startswith("<!")
    assert stereotrope("measure", "runs/first", cwd=finished).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("run", "none.yaml"), 2, "no such file"),
        (("show", "nowhere"), 3, "no such folder"),
        (("report", "."), 3, "no run folder"),
        (("init", "objekts"), 2, "did you mean 'objects'"),
        (("measures", "bsd"), 2, "did you mean 'bds'"),
        (("suites", "x"), 2, "no suite 'x'"),
        (("calibrate", "-a", "color"), 2, "colour"),
        (("run",), 2, "Missing argument"),
        (("ruin",), 2, "No such command"),
    ],
)
def test_a_mistake_is_one_message_and_its_exit_code(arguments, code, message, tmp_path):
    result = stereotrope(*arguments, cwd=tmp_path)
    assert result.returncode == code
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_an_audit_file_with_a_mistake_exits_2_with_file_and_line(tmp_path):
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("images_per_prompt: 3", "images_per_prompt: 0"))
    result = stereotrope("run", "audit.yaml", cwd=tmp_path)
    assert result.returncode == 2
    assert (
        result.stderr.strip()
        == "error: audit.yaml:4: images_per_prompt must be at least 1, found 0; raise it"
    )


def test_a_long_message_is_not_cut_since_what_to_do_stands_at_its_end(tmp_path):
    name = "/".join(["a" * 100] * 4)
    result = stereotrope("show", name, cwd=tmp_path)
    assert result.stderr.rstrip().endswith("give the folder of a run")
    assert name in result.stderr


def test_escape_sequences_from_a_file_do_not_reach_the_terminal(tmp_path):
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("suite: objects", 'suite: "\\e[31mobjects"'))
    result = stereotrope("run", "audit.yaml", cwd=tmp_path)
    assert result.returncode == 2
    assert "\x1b" not in result.stderr


def test_what_there_is_can_be_listed():
    assert "objects" in stereotrope("suites").stdout
    assert "bds" in stereotrope("measures").stdout
    page = stereotrope("measures", "bds").stdout
    assert "JS" in page
    assert "Returns" in page
    assert "folder" in stereotrope("generators").stdout
    assert "colour" in stereotrope("annotators").stdout
    suite = stereotrope("suites", "objects")
    assert suite.returncode == 0, suite.stderr
    assert "{object} {phrasing} {group}" in suite.stdout
    assert "{average: bds, over: object}" in suite.stdout
    assert json.loads(stereotrope("schema").stdout)["properties"]["objects"]


def test_every_measure_has_a_page_without_markup():
    from stereotrope.cli.app import Settings
    from stereotrope.cli.catalogue import print_measures
    from stereotrope.measure import REGISTRY

    for name in REGISTRY:
        with contextlib.redirect_stdout(io.StringIO()) as page:
            print_measures(name, Settings())
        assert page.getvalue().startswith(f"{name}(")
        assert not re.search(r":\w+:`|\\[a-z]|``", page.getvalue())


def test_help_says_what_is_taken_where_an_option_is_left_out():
    assert "runs/<name of the file>" in stereotrope("run", "--help").stdout
    assert "else colour and text" in stereotrope("calibrate", "--help").stdout


def test_ctrl_c_finishes_what_is_in_flight_says_how_to_continue_and_exits_130(tmp_path):
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("images_per_prompt: 3", "images_per_prompt: 400"))
    command = [sys.executable, "-m", "stereotrope", "run", "audit.yaml", "-o", "run"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list(tmp_path.glob("run/pictures/*/*")):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"^continue with: .*", errors, flags=re.MULTILINE)
    assert "run audit.yaml -o run" in errors
    assert "Traceback" not in errors
    plan = stereotrope("run", "audit.yaml", "-o", "run", "--plan", cwd=tmp_path)
    done = int(re.search(r"generate\s+calibrated\s+800\s+(\d+)", plan.stdout).group(1))
    assert 0 < done < 800


def test_a_second_writer_is_refused_with_the_pid_of_the_first(tmp_path):
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("images_per_prompt: 3", "images_per_prompt: 400"))
    command = [sys.executable, "-m", "stereotrope", "run", "audit.yaml", "-o", "run"]
    first = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not list(tmp_path.glob("run/pictures/*/*")):
            time.sleep(0.05)
        second = stereotrope("run", "audit.yaml", "-o", "run", cwd=tmp_path)
    finally:
        first.kill()
        first.wait()
    assert second.returncode == 3
    assert str(first.pid) in second.stderr
