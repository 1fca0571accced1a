from __future__ import annotations

import hashlib
import io
import json
import os
from functools import partial
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
from tests.run.conftest import png

from stereotrope import __version__
from stereotrope.errors import RunDamaged, RunError, RunFormatError, TableError
from stereotrope.run import FORMAT_VERSION, Run, RunFolder, make_folder
from stereotrope.run.disk import write_atomic
from stereotrope.run.folder import read_info
from stereotrope.tables import FINDINGS, IMAGES, PROMPTS, REFERENCE


def prompts(n: int = 3) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "prompt_id": [f"p{i}" for i in range(n)],
            "object": pl.Series(["car"] * n, dtype=pl.Categorical),
            "text": [f"a car {i} – ünïcode" for i in range(n)],
            "negative": [None] * n,
        }
    )


def test_a_new_run_is_recognisable_at_once(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "deep" / "run") as run:
        assert read_info(run.path) == {"format_version": FORMAT_VERSION, "stereotrope_version": __version__}
        assert run.notes == []


def test_a_table_with_a_column_too_many_is_named_with_the_column(tmp_path: Path) -> None:
    frame = pl.DataFrame({**{c.name: [] for c in FINDINGS}, "extra": []})
    with (
        RunFolder(tmp_path) as run,
        pytest.raises(TableError, match="table findings: unknown column 'extra'"),
    ):
        run.write_tables({"findings": frame})


def test_a_run_is_continued(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as run:
        run.ledger.put("s", "k", {"v": 1})
    with RunFolder(str(tmp_path)) as run:
        assert run.ledger.get_all("s") == {"k": {"v": 1}}


@pytest.mark.parametrize("name", ["thesis.docx", ".git", "quarantine"])
def test_a_folder_with_something_else_in_it_is_refused_untouched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(
        RunError, match=f"is not empty and holds no run .*{name}.*choose a new or empty folder"
    ):
        RunFolder(tmp_path).__enter__()
    assert [p.name for p in tmp_path.iterdir()] == [name]


def test_a_file_is_no_run(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(RunError, match="is a file; a run is a folder"):
        RunFolder(tmp_path / "run").__enter__()


def test_a_run_killed_while_it_was_born_is_continued(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    (tmp_path / ".owner.json").write_text("{")
    (tmp_path / ".tmp-123-run.json").write_text('{"form')
    with RunFolder(tmp_path):
        assert not (tmp_path / ".tmp-123-run.json").exists()
        assert (tmp_path / "run.json").exists()


@pytest.mark.parametrize(
    ("version", "hint"),
    [
        (99, "install a newer stereotrope"),
        (0, r"read it with the stereotrope that wrote it \(0.0.9\)"),
        ("x", "read it"),
    ],
)
def test_another_format_is_refused_and_left_alone(tmp_path: Path, version: object, hint: str) -> None:
    text = json.dumps({"format_version": version, "stereotrope_version": "0.0.9"})
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(
        RunFormatError, match=f"is a run of format {version!r}.*{hint}.*or run the audit into a new"
    ):
        RunFolder(tmp_path).__enter__()
    assert (tmp_path / "run.json").read_text() == text
    assert not (tmp_path / "ledger.db").exists()
    (tmp_path / "run.json").write_text(text.replace("0.0.9", "0.0.8"))
    with pytest.raises(RunFormatError):
        RunFolder(tmp_path).__enter__()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"{}", b"\xff\xfe", b"[" * 100_000])
def test_a_torn_run_json_is_set_aside_and_said(tmp_path: Path, content: bytes) -> None:
    with RunFolder(tmp_path) as run:
        run.ledger.put("s", "k", {"v": 1})
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(RunDamaged, match="is not what stereotrope wrote"):
        read_info(tmp_path)
    with RunFolder(tmp_path) as run:
        assert "quarantine/1-run.json" in run.notes[0]
        assert run.ledger.totals() == {"s": 1}
    assert (tmp_path / "quarantine" / "1-run.json").read_bytes() == content


def test_notes_of_a_salvaged_ledger_are_passed_on(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as run:
        run.ledger.put("s", "k", {"v": 1})
    os.truncate(tmp_path / "ledger.db", 5_000)
    with RunFolder(tmp_path) as run:
        assert "ledger.db was damaged" in run.notes[0]


def test_a_lost_ledger_is_asked_for_before_anything_is_made_again(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as run:
        run.store.put(png())
    (tmp_path / "ledger.db").rename(tmp_path / "kept")
    with pytest.raises(
        RunDamaged, match=r"ledger\.db: the record .* is missing.*put it back.*choose a new folder"
    ):
        RunFolder(tmp_path).__enter__()
    assert not (tmp_path / "ledger.db").exists()
    (tmp_path / "kept").rename(tmp_path / "ledger.db")
    with RunFolder(tmp_path) as run:
        assert run.notes == []


def test_a_ledger_lost_before_the_first_picture_is_begun_anew(tmp_path: Path) -> None:
    with RunFolder(tmp_path):
        pass
    (tmp_path / "ledger.db").unlink()
    with RunFolder(tmp_path) as run:
        assert run.ledger.totals() == {}


def test_unfinished_files_are_swept_everywhere(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as run:
        stored = run.store.put(png())
    left = [tmp_path / ".tmp-1-images.parquet", (tmp_path / stored.path).parent / ".tmp-2-x.png"]
    for file in left:
        file.write_bytes(b"half")
    with RunFolder(tmp_path) as run:
        assert not any(file.exists() for file in left)
        assert run.store.get(stored.path) == png()


def test_damaged_pictures_are_made_again_and_said(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as run:
        for i in range(4):
            run.ledger.put("generate", f"k{i}", run.store.put(png(i))._asdict())
        run.ledger.put("generate", "refused", {"status": "refused", "path": None})
        run.ledger.put("generate", "twin", run.store.put(png(0))._asdict())
        paths = {key: p["path"] for key, p in run.ledger.get_all("generate").items()}
        run.verify_pictures("generate")
        assert run.ledger.missing("generate", paths) == []
        (tmp_path / paths["k0"]).unlink()
        os.truncate(tmp_path / paths["k1"], 30)
        run.verify_pictures("generate")
        assert run.ledger.missing("generate", paths) == ["k0", "k1", "twin"]
        assert sorted(run.notes) == sorted(
            [
                f"picture {paths['k0']} was missing; it is made again",
                f"picture {paths['k1']} was changed; it is made again",
            ]
        )
        assert len(list((tmp_path / "quarantine").iterdir())) == 1


def test_the_audit_is_frozen_with_its_hash_and_older_ones_are_kept(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as run:
        run.write_audit("title: é\n")
        run.write_audit("title: é\n")
        assert len(list(tmp_path.glob("audit*.yaml"))) == 1
        run.write_audit("title: b\r\n")
    assert (tmp_path / "audit.yaml").read_bytes() == b"title: b\r\n"
    first = hashlib.sha256("title: é\n".encode()).hexdigest()
    assert (tmp_path / f"audit-{first[:12]}.yaml").read_text() == "title: é\n"


def test_a_table_has_its_schema_its_docs_and_the_same_bytes_again(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as run:
        path = run.write_table("prompts", prompts(), PROMPTS, ["object"])
        before = path.read_bytes()
        chunked = pl.concat([prompts().slice(0, 1), prompts().slice(1)], rechunk=False)
        run.write_table(
            "prompts", chunked.select("text", "negative", "object", "prompt_id"), PROMPTS, ["object"]
        )
        assert path.read_bytes() == before
    table = pq.read_table(io.BytesIO(before))
    assert table.column_names == ["prompt_id", "object", "text", "negative"]
    assert table.schema.field("negative").type == "string"
    assert table.schema.field("object").metadata[b"doc"] == b"factor"
    assert pl.from_arrow(table)["text"].to_list() == prompts()["text"].to_list()


def test_an_empty_table_is_a_table(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as run:
        path = run.write_table("findings", pl.DataFrame({c.name: [] for c in FINDINGS}), FINDINGS)
    assert pl.read_parquet(path).schema["rank"] == pl.Int64


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (
            prompts().drop("text"),
            "table prompts: no column 'text'; it must have exactly prompt_id, object, text",
        ),
        (prompts().with_columns(extra=1), "table prompts: unknown column 'extra'"),
        (prompts().with_columns(text=pl.lit([1, 2]).first()), "table prompts: does not fit its schema"),
    ],
)
def test_a_table_that_breaks_its_schema_is_refused(tmp_path: Path, frame: pl.DataFrame, message: str) -> None:
    with RunFolder(tmp_path) as run:
        run.write_table("prompts", prompts(), PROMPTS, ["object"])
        before = (tmp_path / "prompts.parquet").read_bytes()
        with pytest.raises(TableError, match=message):
            run.write_table("prompts", frame, PROMPTS, ["object"])
        assert (tmp_path / "prompts.parquet").read_bytes() == before


def test_a_width_that_is_no_whole_number_is_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({c.name: ["1"] if str(c.type) == "string" else [1.5] for c in IMAGES})
    with RunFolder(tmp_path) as run, pytest.raises(TableError, match="does not fit its schema"):
        run.write_table("images", frame, IMAGES)


def test_a_full_disk_keeps_the_table_that_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with RunFolder(tmp_path) as run:
        path = run.write_table("prompts", prompts(), PROMPTS, ["object"])
        before = path.read_bytes()

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("stereotrope.run.disk.os.fsync", full)
            with pytest.raises(RunError, match=r"No space left on device.*make room"):
                run.write_table("prompts", prompts(5), PROMPTS, ["object"])
        assert path.read_bytes() == before
        assert not list(tmp_path.glob(".tmp-*"))


def test_info_names_its_versions_and_has_the_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    with RunFolder(tmp_path) as run:
        run.write_info({"title": "é", "seed": 1})
        before = (tmp_path / "run.json").read_bytes()
        run.write_info({"seed": 1, "title": "é", "format_version": 77})
    assert (tmp_path / "run.json").read_bytes() == before
    assert json.loads(before)["format_version"] == FORMAT_VERSION


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("s3://bucket/first", "s3:/bucket/first: is an address, and runs and reports lie in folders of this"),
        ("bad\udcff", r"'bad\\udcff': the name of the folder must be UTF-8; rename it"),
    ],
)
def test_what_can_be_no_folder_of_a_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, match: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for opened in (RunFolder(name).__enter__, partial(Run, name), partial(make_folder, Path(name))):
        with pytest.raises(RunError, match=match):
            opened()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_may_be_called_as_sqlite_calls_a_file_with_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        with RunFolder("file:x?mode=ro") as run:
            run.ledger.put("images", "a", {})
    assert (tmp_path / "file:x?mode=ro" / "ledger.db").is_file()


@pytest.mark.parametrize("blocked", ["a folder in its place", "no folder for it"])
def test_what_cannot_be_written_is_named_by_its_own_name(tmp_path: Path, blocked: str) -> None:
    file = tmp_path / "reports" / "index.html"
    if blocked == "a folder in its place":
        file.mkdir(parents=True)
    with pytest.raises(OSError, match=r"reports.index\.html'$") as failed:
        write_atomic(file, b"x")
    assert failed.value.filename == str(file)


def test_a_table_of_many_rows_is_written_in_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stereotrope.run.folder._ROW_GROUP", 3)
    rows = {"image_id": [f"i{at}" for at in range(10)], "attribute": "a", "value": "v"}
    frame = pl.DataFrame(rows)
    with RunFolder(tmp_path / "run") as run:
        file = run.write_table("reference", frame, REFERENCE)
        none = run.write_table("none", frame.clear(), REFERENCE)
    assert pq.ParquetFile(file).num_row_groups == 4
    assert pl.read_parquet(file).equals(frame)
    assert pl.read_parquet(none).equals(frame.clear())
