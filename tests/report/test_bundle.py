"""The script of the page is made once a computer, and never from a torn file."""

import os
import stat
from importlib.metadata import version

import pytest
import vl_convert

from stereotrope.report.page import vega_bundle

SCRIPT = "/* drawn by nobody */ é"


@pytest.fixture
def made(monkeypatch, tmp_path):
    """How often the script was made, with a folder of its own to keep it in."""
    calls = []
    monkeypatch.setattr(vl_convert, "javascript_bundle", lambda: calls.append(1) or SCRIPT)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "kept"))
    vega_bundle.cache_clear()
    yield calls
    vega_bundle.cache_clear()


def started_again():
    vega_bundle.cache_clear()
    return vega_bundle()


def test_the_next_start_takes_what_was_kept(made, tmp_path):
    assert [started_again() for _ in range(3)] == [SCRIPT] * 3
    assert len(made) == 1
    assert [file.name for file in (tmp_path / "kept" / "stereotrope").iterdir()] == [
        f"vega-{version('vl-convert-python')}.js"
    ]


@pytest.mark.parametrize("damage", [lambda b: b[:-3], lambda b: b"", lambda b: b + b"x", lambda b: b[70:]])
def test_a_torn_file_is_made_anew(made, tmp_path, damage):
    started_again()
    (file,) = (tmp_path / "kept" / "stereotrope").iterdir()
    file.write_bytes(damage(file.read_bytes()))
    assert started_again() == SCRIPT
    assert len(made) == 2
    assert started_again() == SCRIPT
    assert len(made) == 2


def test_where_nothing_can_be_kept_it_is_made_each_time(made, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert [started_again(), started_again()] == [SCRIPT] * 2
    assert len(made) == 2
    assert stat.S_ISREG(os.stat(tmp_path / "file").st_mode)
