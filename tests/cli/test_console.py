"""What a terminal gets: inert text, a command that can be typed again, one message where the disk says no."""

import errno
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from stereotrope.cli import main
from stereotrope.cli.console import carry_out_in_terminal, print_headline, working
from stereotrope.cli.stopping import begins_to_keep
from stereotrope.commands import Settings
from stereotrope.errors import IncompleteError, Interrupted, MetadataError
from stereotrope.terminal import print_rows, safe

HOSTILE = "\x1b[31mred\x07 [bold]loud[/bold] \u202eevil"


def test_text_from_a_file_or_a_picture_is_inert_in_the_terminal():
    text = safe(HOSTILE)
    for character in ("\x1b", "\x07", "\u202e"):
        assert character not in text.plain
    assert "[bold]loud[/bold]" in text.plain
    assert text.spans == []


def test_a_sentence_of_ours_is_not_cut_in_the_middle():
    sentence = f"in 11 of 20 pictures{' and more' * 60}; by “judge” in 11 of 20."
    assert safe(sentence).plain == sentence


@pytest.mark.parametrize("terminal", [False, True])
def test_names_of_models_are_inert_in_the_progress(capsys, monkeypatch, terminal):
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "200")
    with working(Settings()) as (watcher, _):
        watcher.stage(f"generate:a:{HOSTILE}", 2, 0)
        watcher.advance(f"generate:a:{HOSTILE}", 1)
    told = capsys.readouterr().err
    assert "generate:a:" in told
    assert "[bold]loud[/bold]" in told
    assert not {"\x07", "\u202e"} & set(told)
    assert "\x1b[31mred" not in told


@pytest.mark.parametrize("terminal", [False, True])
def test_the_measure_at_work_stands_beside_the_bar_of_a_terminal_alone(capsys, monkeypatch, terminal):
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    with working(Settings()) as (watcher, _):
        watcher.stage("measure", 2, 0)
        watcher.doing("measure", "bds")
        watcher.bars.refresh()
        watcher.doing("measure", "")
    assert ("measure bds " in capsys.readouterr().err) is terminal


def test_cells_and_titles_of_a_table_are_inert_too(capsys):
    from rich.console import Console

    print_rows(HOSTILE, [HOSTILE], [[HOSTILE]], Console(width=200))
    out = capsys.readouterr().out
    assert out.count("[bold]loud[/bold]") == 3
    assert not {"\x1b", "\x07", "\u202e"} & set(out)


def test_the_command_that_continues_can_be_pasted_into_a_shell(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/bin/stereotrope", "run", "it's mine.yaml", "-o", "$HOME"])
    settings = Settings()
    settings.quiet = True
    with pytest.raises(Interrupted) as stopped, working(settings):
        raise Interrupted("stopped after 1 of 2")
    assert str(stopped.value).endswith("""continue with: stereotrope run 'it'"'"'s mine.yaml' -o '$HOME'""")


@pytest.mark.parametrize("verbose", [False, True])
def test_a_place_that_cannot_be_written_is_one_message(tmp_path, capsys, verbose):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    command = [*(["--verbose"] if verbose else []), "--quiet", "demo", "-o", str(blocked / "run")]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 3
    error = capsys.readouterr().err
    assert ("Traceback" in error) is verbose
    assert f"error: {blocked}" in error
    assert "not a directory; choose another place" in error


@pytest.mark.parametrize(
    ("name", "is_folder", "told"),
    [
        ("report", False, "a folder must be here, and a file of that name is in the way"),
        ("report/index.html", True, "a file must be here, and a folder of that name is in the way"),
        (".lock", True, "a file must be here, and a folder of that name is in the way"),
        (".owner.json", True, "a file must be here, and a folder of that name is in the way"),
    ],
)
def test_a_thing_of_another_kind_in_the_way_is_told_as_such(tmp_path, capsys, name, is_folder, told):
    (tmp_path / "l.csv").write_text("image_id,model,occ,attr\na,m,nurse,x\nb,m,ceo,y\n")
    (tmp_path / "a.yaml").write_text(
        "generators: [{labels: l.csv, name_from: model, factors: [occ]}]\n"
        "annotators: [{labels: l.csv, name: p, attributes: [attr]}]\n"
        "measures: [{share: attr}]\nreport: {figures: false}\n"
    )
    command = ["--quiet", "run", str(tmp_path / "a.yaml"), "-o", str(tmp_path / "run")]
    with pytest.raises(SystemExit, match="0"):
        main(command)
    place = tmp_path / "run" / name
    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
    place.mkdir() if is_folder else place.write_text("")
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 3
    error = capsys.readouterr().err
    assert re.search(rf"{re.escape(name)}: {told}; move it elsewhere or remove it", error)
    assert "choose another place" not in error


def test_the_seed_of_the_command_line_replaces_the_files(tmp_path, monkeypatch):
    from stereotrope.audit import Audit

    (tmp_path / "audit.yaml").write_text(
        "objects: [cup]\nsuite: objects\ngenerators: [calibrated]\nseed: 1\n"
    )
    seeds = []
    monkeypatch.setattr(Audit, "run", lambda self, *_, **__: seeds.append(self.spec.seed))
    monkeypatch.setattr(
        "stereotrope.cli.console.carry_out_in_terminal", lambda work, *_, **__: work(None, None)
    )
    for options in ([], ["--seed", "7"]):
        with pytest.raises(SystemExit):
            main([*options, "run", str(tmp_path / "audit.yaml"), "-o", str(tmp_path / "run")])
    assert seeds == [1, 7]


def test_a_run_has_the_name_of_its_audit_file_where_no_folder_is_given(tmp_path, monkeypatch):
    (tmp_path / "mugs.yaml").write_text("suite: objects\ngenerators: [calibrated]\n")
    folders = []
    monkeypatch.setattr(
        "stereotrope.cli.console.carry_out_in_terminal", lambda work, folder, *_, **__: folders.append(folder)
    )
    with pytest.raises(SystemExit):
        main(["run", str(tmp_path / "mugs.yaml")])
    assert folders == [Path("runs/mugs")]


def test_what_is_missing_is_said_after_the_headline_is_printed(tmp_path, monkeypatch, capsys):
    def work(watcher, stop):
        raise IncompleteError("2 of 9 items failed")

    monkeypatch.setattr("stereotrope.run.open", lambda folder: None)
    monkeypatch.setattr("stereotrope.report.headline", lambda run, **_: {})
    monkeypatch.setattr("stereotrope.cli.console.print_headline", lambda *_: print("the headline"))
    settings = Settings()
    settings.quiet = True
    with pytest.raises(IncompleteError, match="2 of 9 items failed"):
        carry_out_in_terminal(work, tmp_path, settings)
    out = capsys.readouterr().out
    assert "the headline" in out
    assert f"Report: {tmp_path}" in out.replace("\n", "")


def test_the_place_of_the_report_is_named_without_control_characters(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("stereotrope.run.open", lambda folder: None)
    monkeypatch.setattr("stereotrope.report.headline", lambda run, **_: {})
    monkeypatch.setattr("stereotrope.cli.console.print_headline", lambda *_: None)
    carry_out_in_terminal(lambda watcher, stop: None, tmp_path / "a\x1b[31m\u202e", Settings())
    assert "a‹U+001B›[31m‹U+202E›" in capsys.readouterr().out.replace("\n", "")


def test_the_headline_names_what_is_missing_the_judges_and_the_cost(capsys):
    head = {
        "title": "T", "asked": [], "summary": "s", "counts": {"images": 9},
        "tested": None, "untested": None, "findings": [], "more": {}, "tables": [],
        "missing": {"sentence": "2 requests were refused.", "items": [f"m: 3 of 9 not made: {HOSTILE}"],
                    "notes": [f"left out: {HOSTILE}"]},
        "sections": [
            {"title": "How well the judges read", "first": True, "sentences": ["j is unfit."], "tables": []},
            {"title": "What it cost", "first": False, "sentences": ["7 calls to 1 model."], "tables": []},
        ],
    }  # fmt: skip
    print_headline(head, Settings())
    text = capsys.readouterr().out
    parts = ("m: 3 of 9", "2 requests", "How well the judges read", "j is unfit", "What it cost", "7 calls")
    assert sorted(parts, key=text.index) == list(parts)
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_the_headline_tells_every_look_at_a_run_below_what_was_tested(capsys):
    head = {
        "title": "T", "asked": [], "summary": "s", "counts": {"images": 9},
        "tested": "Second look at this run: …", "untested": None, "findings": [], "more": {},
        "looks": ["Look 1: 9 pictures.", "Look 2: 12 pictures."], "tables": [], "sections": [],
        "missing": {"sentence": "Nothing is missing.", "items": [], "notes": []},
    }  # fmt: skip
    print_headline(head, Settings())
    text = capsys.readouterr().out
    assert text.index("Second look") < text.index("Look 1: 9") < text.index("Look 2: 12")


def test_a_second_ctrl_c_stops_at_once_with_the_command_that_continues():
    code = (
        "import os, signal, sys\n"
        "from stereotrope.commands import Settings\n"
        "from stereotrope.cli.console import working\n"
        "sys.argv = ['stereotrope', 'run', 'audit.yaml']\n"
        "with working(Settings()) as (_, stop):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    assert stop.wait(10)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    signal.pause()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 130
    assert "Ctrl-C again stops at once" in ended.stderr
    assert "stopped; continue with: stereotrope run audit.yaml" in ended.stderr


@pytest.mark.parametrize("keeping", [False, True])
def test_a_full_disk_is_one_message_that_says_what_is_kept(monkeypatch, capsys, keeping):
    def full(*_):
        if keeping:
            begins_to_keep()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("stereotrope.cli.catalogue.print_suites", full)
    with pytest.raises(SystemExit) as ended:
        main(["suites"])
    assert ended.value.code == 3
    kept, more = ("what was finished is kept; ", " to continue") if keeping else ("", "")
    full = f"error: the output: no space left on device; {kept}make room"
    message = f"{full}, then run the same command again{more}\n"
    assert capsys.readouterr().err == message


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (
            OSError(errno.EMFILE, os.strerror(errno.EMFILE), "a.yaml"),
            r"too many files are open; raise the limit",
        ),
        (
            ImportError("libx.so: cannot open shared object file: Too many open files"),
            "too many files are open",
        ),
        (IncompleteError("encoder: cannot be loaded (Too many open files)"), "too many files are open"),
        (MemoryError(), "memory is short; close other programs"),
        (ImportError("x.so: failed to map segment from shared object"), "memory is short; close other"),
        (
            MetadataError("a.csv: cannot be read (Cannot allocate memory (os error 12))"),
            "error: memory is short",
        ),
        (pl.exceptions.PanicException("PyObject pointer is null"), "memory is short"),
        (RuntimeError("can't start new thread"), "no further thread can be started"),
    ],
)
def test_what_the_machine_lacks_is_told_as_such_with_the_remedy(monkeypatch, capsys, raised, told):
    def fail(*_):
        raise raised

    monkeypatch.setattr("stereotrope.cli.catalogue.print_suites", fail)
    with pytest.raises(SystemExit) as ended:
        main(["suites"])
    assert ended.value.code == 3
    error = capsys.readouterr().err
    assert re.search(told, error)
    assert "run the same command again\n" in error  # it keeps nothing, and promises nothing


def test_another_import_error_stays_what_it_is(monkeypatch):
    def fail(*_):
        raise ImportError("no module named x")

    monkeypatch.setattr("stereotrope.cli.catalogue.print_suites", fail)
    with pytest.raises(ImportError, match="no module named x"):
        main(["suites"])


@pytest.mark.parametrize("files", [6, pytest.param(10, marks=pytest.mark.slow)])
def test_a_run_with_few_open_files_says_so_or_is_done(tmp_path, files):
    code = (
        "import resource, sys\n"
        "from stereotrope.cli import main\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))\n"
        "sys.argv = ['stereotrope', '-q', 'demo', '-o', 'run']\n"
        "main()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3
    assert "too many files are open; raise the limit (`ulimit -n 4096`)" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_report_without_room_for_addresses_says_so_and_the_run_stays(tmp_path):
    code = (
        "import resource, sys\n"
        "from stereotrope.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_AS, (20 * 10**9, 20 * 10**9))\n"
        "sys.argv = ['stereotrope', '-q', 'run', 'a.yaml', '-o', 'run']\n"
        "main()\n"
    )
    (tmp_path / "a.yaml").write_text(
        "suite: objects\nobjects: [cup]\ndimensions: {gender: [women]}\nimages_per_prompt: 1\n"
        "generators: [{calibrated: , size: 64}]\nannotators: [colour]\npermutations: 99\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 3, ended.stderr
    assert re.search(r"error: report: figures need room .* gives 20\.0 GB; run `ulimit -v", ended.stderr)
    assert (tmp_path / "run" / "estimates.parquet").is_file()
