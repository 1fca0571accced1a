"""A run compared with what was written of it: every fault is told in a line, and nothing is changed."""

import hashlib
import json
import os
import re
import shutil
import sqlite3
from contextlib import closing

import polars as pl
import pytest
from tests.audit.disturbed import AUDIT

from stereotrope import report
from stereotrope.audit import Audit
from stereotrope.cli import main
from stereotrope.run import open as open_run
from stereotrope.run import write_seal

LABELS = """\
generators: [{labels: labels.csv, name: lumen, factors: [job]}]
annotators: [{labels: labels.csv, name: people, attributes: [gender]}]
measures: [{female_ratio: gender}]
permutations: 99
resamples: 100
"""
ROWS = "image_id,job,gender\na,nurse,female\nb,nurse,male\nc,pilot,male\n"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished") / "run"
    Audit.from_text(AUDIT).run(folder)
    return folder


@pytest.fixture
def run(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    return tmp_path / "run"


def everything(folder):
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def verified(folder, capsys):
    before = everything(folder)
    with pytest.raises(SystemExit) as stop:
        main(["verify", str(folder)])
    assert everything(folder) == before
    return stop.value.code or 0, capsys.readouterr().out.splitlines()


def first_picture(folder):
    return open_run(folder).images["path"].drop_nulls()[0]


def test_a_run_as_it_was_made_is_sound(run, capsys):
    n = open_run(run).images["path"].n_unique()
    assert verified(run, capsys) == (0, [f"All is as it was made: tables, ledger and {n} pictures."])


def overwritten(folder):
    (folder / first_picture(folder)).write_bytes(b"no picture")


def reworded(folder):
    """A table that somebody changed and sealed."""
    frame = pl.read_parquet(folder / "images.parquet")
    frame.with_columns(sha256=pl.lit("0" * 64)).write_parquet(folder / "images.parquet")
    write_seal(folder)


def forged(folder):
    with closing(sqlite3.connect(folder / "ledger.db")) as ledger, ledger:
        ledger.execute("UPDATE items SET payload = replace(payload, 'ok', 'no') WHERE item = 1")


@pytest.mark.parametrize(
    ("tamper", "told"),
    [
        (
            lambda run: (run / "labels.parquet").write_bytes(b"x"),
            r"labels\.parquet: was changed since the run",
        ),
        (lambda run: (run / "labels.parquet").unlink(), r"labels\.parquet: is gone, and was there when"),
        (lambda run: (run / "more.parquet").write_bytes(b"x"), r"more\.parquet: was not there when the run"),
        (lambda run: (run / "audit.yaml").write_text("x"), r"audit\.yaml: was changed since the run"),
        (lambda run: (run / "seal.json").unlink(), r"seal\.json: is not there or cannot be read; nothing"),
        (lambda run: (run / "seal.json").write_text("{}"), r"seal\.json: is not there or cannot be read; no"),
        (lambda run: (run / "ledger.db").unlink(), r"ledger\.db: is not there; nothing says what was made"),
        (forged, r"ledger\.db: is damaged \(1 row fails its checksum\)"),
        (reworded, r"images\.parquet: (\d+) of \1 pictures are not as ledger\.db has them; the first is \""),
        (overwritten, r"pictures/../\w{64}\.jpg: was changed: its bytes are not those of its name"),
        (lambda run: (run / first_picture(run)).unlink(), r"pictures/../\w{64}\.jpg: is missing"),
    ],
)
def test_what_is_not_as_it_was_is_told_in_a_line(run, capsys, tamper, told):
    tamper(run)
    code, lines = verified(run, capsys)
    assert code == 1
    assert len(lines) == 1
    assert re.match(told, lines[0])


@pytest.mark.parametrize("records", [{"annotate:colour": "many"}, None])
def test_fewer_records_than_there_were_are_told_of_each_stage(run, capsys, records):
    with closing(sqlite3.connect(run / "ledger.db")) as ledger, ledger:
        stages = dict(ledger.execute("SELECT stage, count(*) FROM items GROUP BY stage"))
        ledger.execute("DELETE FROM items WHERE stage != 'generate'")
    kept = {stage: n for stage, n in stages.items() if stage != "generate"}
    assert "looks" in kept
    if records is not None:  # what somebody wrote there is passed over
        info = json.loads((run / "run.json").read_bytes())
        (run / "run.json").write_text(json.dumps({**info, "records": records}))
        write_seal(run)
        assert verified(run, capsys)[0] == 0
        return
    code, lines = verified(run, capsys)
    assert code == 1
    assert lines == [
        f"ledger.db: has 0 records of {stage}, and had {n:,} when the run ended"
        for stage, n in sorted(kept.items())
    ]


def test_a_table_of_pictures_that_cannot_be_read_leaves_them_uncompared(run, capsys):
    (run / "images.parquet").write_bytes(b"x")
    code, lines = verified(run, capsys)
    assert code == 1
    assert lines[0] == "images.parquet: was changed since the run was measured"
    assert lines[1].startswith("images.parquet: cannot be read, so that pictures were not compared (")


def test_no_run_is_an_error(tmp_path, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["verify", str(tmp_path)])
    assert stop.value.code == 3


@pytest.mark.parametrize("counted", ["", "counted: true\n"])
def test_the_file_that_labels_came_from_is_known_by_its_hash(tmp_path, capsys, counted):
    file, folder = tmp_path / "labels.csv", tmp_path / "run"
    file.write_text(ROWS)
    audit = Audit.from_text(LABELS + counted, base=tmp_path)
    info, digest = audit.run(folder).info, hashlib.sha256(ROWS.encode()).hexdigest()
    for of in ("generators", "annotators"):
        assert [one["files"] for one in info[of]] == [[{"file": "labels.csv", "sha256": digest}]]
    assert verified(folder, capsys)[0] == 0
    file.write_text(ROWS.replace("c,pilot,male", "c,pilot,female"))
    code, lines = verified(folder, capsys)
    assert code == 1
    assert [line.split(" SHA")[0] for line in lines] == [
        "labels.csv (of lumen): was changed since it was read:"
    ]
    file.unlink()
    assert verified(folder, capsys) == (
        0,
        [
            f"labels.csv (of lumen): is not at hand; its SHA-256 was {digest}",
            "All is as it was made: tables, ledger and 0 pictures.",
        ],
    )


@pytest.mark.usefixtures("reported")
def test_a_ledger_that_is_gone_is_told_with_the_headline_and_on_the_page(run):
    (run / "ledger.db").unlink()
    told = "ledger.db is not there: nothing proves what was made and answered, or says what was spent."
    missing = report.headline(open_run(run))["missing"]
    assert missing["items"][0] == told
    assert not missing["sentence"].startswith("Nothing")
    assert told in report.write(open_run(run), figures=False).read_text()


def test_a_later_version_may_say_of_files_what_it_likes(run, capsys):
    info = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**info, "annotators": [{"name": "x", "files": [{}]}]}))
    code, lines = verified(run, capsys)
    assert (code, lines[0]) == (1, "run.json: was changed since the run was measured")


FORGED = "All is as it was made: tables, ledger and 300 pictures."


def recorded(folder, files):
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "annotators": [{"name": "x", "files": files}]}))


def test_a_name_that_ends_a_line_makes_no_line_of_its_own(run, capsys):
    (run / f"a\n{FORGED}.parquet").write_bytes(b"x")
    assert verified(run, capsys) == (1, [f"a‹U+000A›{FORGED}.parquet: was not there when the run ended"])


@pytest.mark.parametrize(
    "files",
    [
        7,
        None,
        "text",
        ["text"],
        [{"file": "a\0b", "sha256": "a"}],
        [{"file": f"x\n{FORGED}", "sha256": "\n"}],
    ],
)
def test_what_somebody_wrote_of_files_is_taken(run, capsys, files):
    recorded(run, files)
    code, lines = verified(run, capsys)
    assert (code, lines[0]) == (1, "run.json: was changed since the run was measured")
    assert FORGED not in lines
    assert len(lines) == 1 or (len(lines) == 2 and "is not at hand; its SHA-256 was " in lines[1])


def test_a_pipe_under_the_name_of_a_file_is_not_waited_for(run, capsys, tmp_path):
    os.mkfifo(tmp_path / "labels.csv")
    recorded(run, [{"file": str(tmp_path / "labels.csv"), "sha256": "a" * 64}])
    code, lines = verified(run, capsys)
    assert (code, len(lines)) == (1, 2)
    assert lines[1].endswith(f"labels.csv (of x): is not at hand; its SHA-256 was {'a' * 64}")


def test_a_line_of_a_gate_stays_one_whatever_the_folder_is_called(run, capsys):
    odd = run.rename(run.parent / f"x\n{FORGED}")
    (odd / "ledger.db").unlink()
    with pytest.raises(SystemExit) as stop:
        main(["show", str(odd), "--fail-on", "incomplete"])
    lines = capsys.readouterr().err.splitlines()
    assert (stop.value.code, len(lines)) == (5, 1)
    assert f"x‹U+000A›{FORGED}: something is missing: ledger.db is not there" in lines[0]
