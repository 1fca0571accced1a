"""A run that somebody tampered with: a report, or one clear message; never a traceback."""

import json
import random
import shutil
from importlib import import_module

import polars as pl
import pytest
from tests.audit.disturbed import AUDIT
from tests.audit.tampering import of_columns, of_files, of_info, of_tables

from stereotrope import report
from stereotrope.audit import Audit
from stereotrope.cli import main
from stereotrope.errors import AuditFileError, RunDamaged
from stereotrope.run import open as open_run

pytestmark = pytest.mark.usefixtures("reported")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    Audit.from_text(AUDIT).run(folder)
    shutil.rmtree(folder / "report" / "figures")
    return folder


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


@pytest.mark.parametrize(("command", "n"), [("show", 6), ("report", 1), ("measure", 1)])
def test_a_run_that_was_tampered_with_is_read_or_told(finished, tmp_path, capsys, command, n):
    cases = random.Random(command).sample(every(finished), n)
    try_out(finished, tmp_path / "run", capsys, [command], cases)


@pytest.mark.slow
@pytest.mark.parametrize("command", [["show"], ["show", "--json"], ["report"], ["measure"]])
def test_every_way_to_tamper_with_a_run(finished, tmp_path, capsys, command):
    cases = every(finished)
    try_out(finished, tmp_path / "run", capsys, command, cases if command[0] == "show" else cases[::7])


def test_what_was_changed_is_named_and_made_anew(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "judge_cards": [{"name": 7}]}))
    told = r"run\.json was changed since the run was made and cannot be read \(\w+Error\); continue the run"
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


def all_of(name, column, value):
    def tamper(folder):
        file = folder / f"{name}.parquet"
        frame = pl.read_parquet(file)
        frame.with_columns(pl.lit(value, frame.schema[column]).alias(column)).write_parquet(file)

    return tamper


def notes(folder):
    return [n for n in report.headline(open_run(folder))["missing"]["items"] if "after the run was" in n]


def test_a_number_that_was_changed_by_hand_is_told_with_it_until_the_run_makes_it_anew(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    assert notes(folder) == []
    all_of("estimates", "high", 1.0)(folder)
    told = "estimates.parquet was changed after the run was measured: numbers here are of what the files say"
    assert [note.startswith(told) for note in notes(folder)] == [True]
    assert told in report.write(open_run(folder), figures=False).read_text()
    Audit.from_text(AUDIT).run(folder)
    assert notes(folder) == []
    assert told not in (folder / "report" / "index.html").read_text()


def test_what_is_measured_of_changed_pictures_and_audit_says_so_until_the_run_makes_them_anew(
    finished, tmp_path
):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    all_of("images", "latency", 7.0)(folder)
    (folder / "audit.yaml").write_text(f"{AUDIT}looks: 2\n")
    for _ in range(2):
        Audit.from_run(folder).measure(folder)
        assert [note.split(" were")[0] for note in notes(folder)] == ["audit.yaml, images.parquet"]
    Audit.from_text(AUDIT).run(folder)
    assert notes(folder) == []


@pytest.mark.parametrize("text", ["", "{}", "suite: objects\nobjects: [car]\n", "a: ["])
def test_a_copy_of_the_audit_that_is_none_any_more_is_told_as_the_runs_own(finished, tmp_path, text):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / "audit.yaml").write_text(text)
    with pytest.raises(AuditFileError, match=r"audit\.yaml:\d+: .*\. This is the copy that the run keeps; "):
        Audit.from_run(folder)


def test_a_table_that_may_not_be_read_is_told_as_that(finished, monkeypatch):
    def forbidden(path):
        raise PermissionError(13, "Permission denied", str(path))

    run = open_run(finished)
    monkeypatch.setattr("pathlib.Path.read_bytes", forbidden)
    with pytest.raises(PermissionError, match="estimates"):
        _ = run.estimates


def without_seal(finished, folder, tamper):
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(finished, folder)
    (folder / "seal.json").unlink()
    tamper(folder)
    return folder


def level(value):
    def tamper(folder):
        frame = pl.read_parquet(folder / "estimates.parquet")
        frame.with_columns(pl.lit(value, pl.Float64).alias("level")).write_parquet(
            folder / "estimates.parquet"
        )

    return tamper


def info_with(**entries):
    def tamper(folder):
        info = json.loads((folder / "run.json").read_text())
        (folder / "run.json").write_text(json.dumps({**info, **entries}))

    return tamper


@pytest.mark.parametrize("command", ["show", "report", "measure"])
@pytest.mark.parametrize(
    "tamper", [level(float("inf")), info_with(judge_cards=[{"name": 7}]), info_with(missing="x")]
)
def test_without_a_seal_too_what_was_changed_is_read_or_told(finished, tmp_path, capsys, command, tamper):
    try_out(
        finished, tmp_path / "run", capsys, [command], [("", lambda run: without_seal(finished, run, tamper))]
    )


@pytest.mark.parametrize(
    "entries", [{"missing": [{}]}, {"missing": "x"}, {"generators": [{"name": "m", "note": {}}]}]
)
def test_what_measure_keeps_of_run_json_is_as_it_was_written(finished, tmp_path, entries):
    folder = without_seal(finished, tmp_path / "run", info_with(**entries))
    with pytest.raises(
        RunDamaged, match=r"run\.json: is not what stereotrope wrote \(.*(missing|generators)"
    ):
        open_run(folder)


def test_measuring_from_python_tells_what_was_changed(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    audit = Audit.from_run(folder)
    frame = pl.read_parquet(folder / "images.parquet")
    frame.with_columns(pl.lit(None, pl.String).alias("generator")).write_parquet(folder / "images.parquet")
    with pytest.raises(RunDamaged, match=r"images\.parquet was changed since the run was made"):
        audit.measure(folder)


def test_pictures_that_are_gone_are_told_by_show(finished, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    next(folder.glob("pictures/*/*")).unlink()
    missing = report.headline(open_run(folder))["missing"]
    (told,) = missing["items"]
    assert told.startswith("1 of 12 pictures is not in the run's folder any more. Labels and scores are of")
    assert missing["sentence"].startswith("All 12 pictures could be used")
    shutil.rmtree(folder / "pictures")
    (told,) = report.headline(open_run(folder))["missing"]["items"]
    assert told.startswith("12 of 12 pictures are not in the run's folder any more.")
