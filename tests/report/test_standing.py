"""A report is made anew where anything that it shows, or any file of it, has changed; else it stands."""

import os
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from stereotrope import Audit, report
from stereotrope.plugins import Registry
from stereotrope.report import standing
from stereotrope.report.page import build
from stereotrope.run import open as open_run

AUDIT = """\
suite: objects
objects: [cup]
dimensions: {gender: [women]}
images_per_prompt: 2
generators: [calibrated]
annotators: [colour]
report: {figures: false}
"""


@pytest.fixture(scope="module")
def carried_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("standing") / "run"
    Audit.from_text(AUDIT).run(folder)
    return folder


@pytest.fixture
def run(carried_out: Path, tmp_path: Path) -> Path:
    shutil.copytree(carried_out, tmp_path / "run")
    report.write(open_run(tmp_path / "run"), figures=False)
    return tmp_path / "run"


@pytest.fixture
def made(run: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Writes the report and says how many pages were made."""
    built = []

    def counted(*given, **more):
        built.append(given)
        return build(*given, **more)

    monkeypatch.setattr(import_module("stereotrope.report.write"), "build", counted)

    def write(**options) -> int:
        built.clear()
        told: list[str] = []
        report.write(open_run(run), say=told.append, **{"figures": False, **options})
        return len(built)

    return write


def _files(run: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in (run / "report").rglob("*") if file.is_file()}


def test_a_report_of_which_nothing_changed_stands(run, made):
    before = _files(run)
    assert made() == 0
    assert _files(run) == before


@pytest.mark.parametrize("name", ["index.html", "tables/labels.csv", "tables/findings.md"])
@pytest.mark.parametrize("change", [lambda file: file.write_bytes(b"other"), Path.unlink])
def test_a_file_changed_by_hand_is_written_again(run, made, name, change):
    before = _files(run)
    change(run / "report" / name)
    assert made() == 1
    assert _files(run) == before
    assert made() == 0


def test_a_file_of_an_earlier_report_is_removed(run, made):
    (run / "report" / "tables" / "old.csv").write_text("a\n1\n")
    assert made() == 1
    assert not (run / "report" / "tables" / "old.csv").exists()


@pytest.mark.parametrize("name", ["estimates.parquet", "labels.parquet", "findings.parquet"])
def test_a_table_changed_by_hand_is_told_each_time(run, made, name):
    pl.read_parquet(run / name).head(1).write_parquet(run / name)
    assert made() == 1
    assert made() == 1


def test_a_lost_picture_is_told_each_time(run, made):
    next(file for file in (run / "pictures").rglob("*") if file.is_file()).unlink()
    assert made() == 1
    assert made() == 1


def test_a_picture_of_the_same_size_and_time_is_told_each_time(run, made):
    file = next(file for file in (run / "pictures").rglob("*") if file.is_file())
    data, at = file.read_bytes(), file.stat()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    os.utime(file, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert made() == 1
    assert made() == 1


@pytest.mark.parametrize("library", ["jinja2", "pillow", "polars"])
def test_another_version_of_a_library_makes_another_report(made, monkeypatch, library):
    known = standing.version
    monkeypatch.setattr(standing, "version", lambda name: "0" if name == library else known(name))
    assert made() == 1
    assert made() == 0


def test_other_options_are_another_report(made):
    assert made(budget=0) == 1
    assert made(budget=0) == 0


def test_what_was_remembered_may_be_torn(run, made):
    (run / "cache" / "report").write_bytes(b"torn")
    assert made() == 1
    assert made() == 0


def test_another_text_of_the_program_makes_another_report(made, monkeypatch):
    monkeypatch.setattr(standing, "program_text_hash", lambda: "another")
    assert made() == 1


def test_sections_of_other_packages_are_always_made(made, monkeypatch):
    monkeypatch.setattr(Registry, "origin", lambda self, name: "another")
    assert made() == 1
    assert made() == 1
