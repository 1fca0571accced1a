"""A run that somebody tampered with: a report, or one clear message; never a traceback."""

import json
import random
import shutil
from importlib import import_module

import pytest
from tests.audit.disturbed import AUDIT
from tests.audit.tampering import of_columns, of_files, of_info, of_tables

from stereotrope import report
from stereotrope.audit import Audit
from stereotrope.cli import main
from stereotrope.errors import RunDamaged
from stereotrope.run import open as open_run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    Audit.from_text(AUDIT).run(folder)
    shutil.rmtree(folder / "report" / "figures")
    return folder


@pytest.fixture
def undrawn(monkeypatch):
    """No figure is drawn."""
    for name in ("write_specs", "write_figures"):
        monkeypatch.setattr(import_module("stereotrope.report.write"), name, lambda *_, **__: None)


def try_out(finished, folder, capsys, command, cases):
    for name, tamper in cases:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(finished, folder)
        tamper(folder)
        try:
            with pytest.raises(SystemExit) as stop:
                main(["--quiet", *command, str(folder)])
        except Exception as error:
            raise AssertionError(f"{' '.join(command)} of {name}") from error
        code, told = stop.value.code or 0, capsys.readouterr().err
        assert code in (0, 2, 3), name
        assert ("error: " in told) is bool(code), name


def every(finished):
    return [*of_tables(), *of_files(), *of_columns(finished), *of_info(finished)]


@pytest.mark.parametrize(("command", "n"), [("show", 50), ("report", 8), ("measure", 6)])
def test_a_run_that_was_tampered_with_is_read_or_told(finished, tmp_path, capsys, undrawn, command, n):
    cases = random.Random(command).sample(every(finished), n)
    try_out(finished, tmp_path / "run", capsys, [command], cases)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["show"], ["show", "--json"], ["report"], ["measure"]])
def test_every_way_to_tamper_with_a_run(finished, tmp_path, capsys, undrawn, command):
    cases = every(finished)
    try_out(finished, tmp_path / "run", capsys, command, cases if command[0] == "show" else cases[::7])


def test_what_was_changed_is_named_and_made_anew(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "missing": [{}]}))
    told = r"run\.json was changed since the run was made and cannot be read \(KeyError\); continue the run"
    with pytest.raises(RunDamaged, match=told):
        report.headline(open_run(folder))
    Audit.from_text(AUDIT).run(folder)
    assert report.headline(open_run(folder))["title"] == "Audit"


def test_a_mistake_of_ours_is_told_as_no_damage(finished, monkeypatch):
    def wrong(*_, **__):
        raise KeyError("ours")

    monkeypatch.setattr(import_module("stereotrope.report.headline"), "headline_of", wrong)
    with pytest.raises(KeyError, match="ours"):
        report.headline(open_run(finished))
