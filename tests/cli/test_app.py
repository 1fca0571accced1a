import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from stereotrope.cli import main
from stereotrope.cli.app import GIVES_BACK
from stereotrope.run import RunFolder
from stereotrope.run import open as open_run

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
    "numpy", "polars", "pyarrow", "PIL", "altair", "scipy", "ruamel", "rapidocr", "onnxruntime", "ray",
    "torch", "transformers", "narwhals", "jinja2", "vl_convert",
)  # fmt: skip


@dataclass
class Ended:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def process(*arguments, cwd):
    """Run the command as a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "stereotrope", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


@pytest.fixture
def stereotrope(capsys, monkeypatch):
    """Run the command in this process, where it need not be started."""
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments, cwd=None):
        capsys.readouterr()
        with monkeypatch.context() as place:
            place.chdir(cwd or Path.cwd())
            with pytest.raises(SystemExit) as ended:
                main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Ended(ended.value.code or 0, printed.out, printed.err)

    return run


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A folder with a run, and how the process ended that made it."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "audit.yaml").write_text(AUDIT)
    return folder, process("run", "audit.yaml", "-o", "runs/first", cwd=folder)


@pytest.fixture
def finished(first):
    folder, ended = first
    assert ended.code == 0, ended.err
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


@pytest.mark.parametrize("arguments", [["--help"], ["suites"], ["schema"]])
def test_a_reader_that_reads_no_further_ends_a_command_quietly(arguments):
    read, write = os.pipe()
    os.close(read)  # as `| head` does
    command = [sys.executable, "-m", "stereotrope", *arguments]
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("theirs", [None, "background_thread:true"])
def test_a_command_gives_memory_back_at_once_unless_told_otherwise(theirs, monkeypatch, stereotrope):
    name, ours = GIVES_BACK
    monkeypatch.setenv(name, theirs or "")
    if theirs is None:
        monkeypatch.delenv(name)
    assert stereotrope("--version").code == 0
    assert os.environ[name] == (theirs or ours)


def test_every_command_has_help_that_says_what_it_does(stereotrope):
    listing = stereotrope("--help").out
    for command in ("demo", "init", "run", "measure", "report", "show", "suites", "measures", "calibrate"):
        assert re.search(rf"\b{command}\b", listing)
        page = stereotrope(command, "--help")
        assert page.code == 0
        assert len(page.out.splitlines()) > 5


def test_data_goes_to_stdout_and_progress_to_stderr(first, stereotrope):
    folder, ended = first
    assert ended.code == 0
    assert "generate" in ended.err
    assert "Report:" in ended.out
    assert "generate:" not in ended.out
    quiet = stereotrope("--quiet", "run", "audit.yaml", "-o", "runs/first", cwd=folder)
    assert quiet.err == ""
    assert "Report:" in quiet.out


def test_show_prints_json_for_scripts(finished, stereotrope):
    headline = json.loads(stereotrope("show", "runs/first", "--json", cwd=finished).out)
    assert {"title", "asked", "missing", "findings", "tables"} <= set(headline)
    run = open_run(finished / "runs/first")
    every = headline["every_finding"]
    told = run.findings.filter(pl.col("list") != "summary")
    assert [one["sentence"] for one in every] == told["sentence"].to_list()
    assert sum(headline["comparisons"].values()) == run.comparisons.height
    assert sum(len(one["ways"]) for one in every) == run.robustness.height
    numbers = {"value", "low", "high", "level", "p_value", "q_value", "contrast", "reference"}
    assert all(numbers <= set(one) for one in every)


def test_what_a_pipeline_asks_ends_show_with_a_code_of_its_own_and_a_line_for_each_objection(
    finished, stereotrope
):
    arguments = ["show", "runs/first", "--fail-on", "undecided", "--fail-on", "warnings"]
    ended = stereotrope(*arguments, cwd=finished)
    assert ended.code == 5
    assert ended.err.startswith("error: runs/first: ")
    assert ended.out == stereotrope("show", "runs/first", cwd=finished).out
    assert stereotrope("show", "runs/first", "--fail-on", "incomplete", cwd=finished).code == 0


def test_a_gate_that_nobody_knows_is_refused(finished, stereotrope):
    ended = stereotrope("show", "runs/first", "--fail-on", "bias", cwd=finished)
    assert ended.code == 2
    assert "differences" in ended.err


@pytest.mark.parametrize("options", [(), ("--no-color",)])
def test_no_colour_codes_where_nobody_asked_for_them(finished, stereotrope, monkeypatch, options):
    monkeypatch.setenv("NO_COLOR", "1")
    shown = stereotrope(*options, "show", "runs/first", cwd=finished)
    assert "\x1b[3" not in shown.out + shown.err


def test_init_prints_an_audit_file_that_plans(tmp_path, stereotrope):
    (tmp_path / "audit.yaml").write_text(stereotrope("init", "objects").out)
    plan = stereotrope("run", "audit.yaml", "--plan", cwd=tmp_path)
    assert plan.code == 0, plan.err
    assert "calibrated" in plan.out
    assert "$0" in plan.out
    assert not (tmp_path / "runs").exists()


def test_plan_counts_what_is_done(finished, stereotrope):
    out = stereotrope("run", "audit.yaml", "-o", "runs/first", "--plan", cwd=finished).out
    assert re.search(r"generate\s+calibrated\s+6\s+6\s+0", out)


def test_report_and_measure_work_on_a_run(finished, tmp_path, stereotrope):
    report = stereotrope("report", "runs/first", "-o", tmp_path / "elsewhere", cwd=finished)
    assert report.code == 0, report.err
    assert Path(report.out.strip()).read_text(encoding="utf-8").startswith("<!")
    assert stereotrope("measure", "runs/first", cwd=finished).code == 0


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
def test_a_mistake_is_one_message_and_its_exit_code(arguments, code, message, tmp_path, stereotrope):
    ended = stereotrope(*arguments, cwd=tmp_path)
    assert ended.code == code
    assert message in ended.err
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("command", ["demo", "calibrate"])
def test_an_audit_that_comes_ready_made_does_not_replace_the_run_of_another(command, tmp_path, stereotrope):
    with RunFolder(tmp_path / "mine") as run:
        run.write_audit(AUDIT)
    ended = stereotrope("-q", command, "-o", "mine", cwd=tmp_path)
    assert ended.code == 3
    assert re.search(
        "mine: must be empty or a run of '(Demo|Calibration): .*found a run of 'Audit'", ended.err
    )
    assert (tmp_path / "mine" / "audit.yaml").read_text() == AUDIT


def test_an_audit_file_with_a_mistake_exits_2_with_file_and_line(tmp_path):
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("images_per_prompt: 3", "images_per_prompt: 0"))
    ended = process("run", "audit.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.strip() == "error: audit.yaml:4: images_per_prompt must be at least 1, found 0; raise it"


def test_a_long_message_is_not_cut_since_what_to_do_stands_at_its_end(tmp_path, stereotrope):
    name = "/".join(["a" * 100] * 4)
    error = stereotrope("show", name, cwd=tmp_path).err
    assert error.rstrip().endswith("give the folder of a run")
    assert name in error


def test_escape_sequences_from_a_file_do_not_reach_the_terminal(tmp_path, stereotrope):
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("suite: objects", 'suite: "\\e[31mobjects"'))
    ended = stereotrope("run", "audit.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert "\x1b" not in ended.err


def test_what_there_is_can_be_listed(stereotrope):
    assert "objects" in stereotrope("suites").out
    assert "bds" in stereotrope("measures").out
    page = stereotrope("measures", "bds").out
    assert "JS" in page
    assert "Returns" in page
    assert "folder" in stereotrope("generators").out
    assert "colour" in stereotrope("annotators").out
    suite = stereotrope("suites", "objects")
    assert suite.code == 0, suite.err
    assert "{object} {phrasing} {group}" in suite.out
    assert "{average: bds, over: object}" in suite.out
    assert json.loads(stereotrope("schema").out)["properties"]["objects"]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_terminal_that_lacks_a_sign_gets_its_number(monkeypatch, encoding):
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding=encoding))
    with pytest.raises(SystemExit) as ended:
        main(["measures", "agreement"])
    sys.stdout.flush()
    assert not ended.value.code
    assert "\\u03ba" in written.getvalue().decode(encoding)  # κ


def test_every_measure_has_a_page_without_markup():
    from stereotrope.cli.catalogue import print_measures
    from stereotrope.commands import Settings
    from stereotrope.measure import REGISTRY

    for name in REGISTRY:
        with contextlib.redirect_stdout(io.StringIO()) as page:
            print_measures(name, Settings())
        assert page.getvalue().startswith(f"{name}(")
        assert not re.search(r":\w+:`|\\[a-z]|``", page.getvalue())


def test_help_says_what_is_taken_where_an_option_is_left_out(stereotrope):
    assert "runs/<name of the file>" in stereotrope("run", "--help").out
    assert "else colour and text" in stereotrope("calibrate", "--help").out


def test_ctrl_c_finishes_what_is_in_flight_says_how_to_continue_and_exits_130(tmp_path, stereotrope):
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("images_per_prompt: 3", "images_per_prompt: 400"))
    command = [sys.executable, "-m", "stereotrope", "run", "audit.yaml", "-o", "run"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not list(tmp_path.glob("run/pictures/*/*")):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert re.search(
        r"^continue with: python -m stereotrope run audit.yaml -o run$", errors, flags=re.MULTILINE
    )
    assert "Traceback" not in errors
    plan = stereotrope("run", "audit.yaml", "-o", "run", "--plan", cwd=tmp_path)
    done = int(re.search(r"generate\s+calibrated\s+800\s+(\d+)", plan.out).group(1))
    assert 0 < done < 800


def test_a_second_writer_is_refused_with_the_pid_of_the_first(tmp_path, stereotrope):
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
    assert second.code == 3
    assert str(first.pid) in second.err
