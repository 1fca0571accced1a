from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest
from tests.run.conftest import png

import stereotrope
from stereotrope import run as package
from stereotrope.errors import RunDamaged, RunError, RunFormatError, UsageError
from stereotrope.run import Run, RunFolder, write_seal
from stereotrope.tables import FINDINGS, IMAGES, LABELS, Column

EVIL = '<script>alert("1")</script>'


def frame(columns: tuple[Column, ...], *rows: dict[str, object]) -> pl.DataFrame:
    types = {"string": pl.String, "double": pl.Float64, "int64": pl.Int64}
    return pl.DataFrame(
        {c.name: [row.get(c.name) for row in rows] for c in columns},
        schema={c.name: types[str(c.type)] for c in columns},
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with RunFolder(tmp_path / "run") as run:
        stored = run.store.put(png(1))
        run.write_audit("title: first\ngenerators: [calibrated]\n")
        run.write_table(
            "images",
            frame(
                IMAGES,
                {"image_id": "a", "status": "ok", "sha256": stored.sha256, "path": stored.path},
                {"image_id": "b", "status": "refused", "reason": "policy"},
                {"image_id": "c", "status": "ok", "path": "../../secret.png"},
            ),
            IMAGES,
        )
        run.write_table("labels", frame(LABELS, {"subject_id": "a", "attribute": "blank"}), LABELS)
        findings = [{"rank": 8 - i, "sentence": f"sentence {i} {EVIL}"} for i in range(7)]
        run.write_table("findings", frame(FINDINGS, *findings), FINDINGS)
        run.write_info({"title": EVIL, "counts": {"images": 3, "labels": 1}, "generators": [{"name": EVIL}]})
    return tmp_path / "run"


def test_open_reads_tables_audit_and_info(folder: Path) -> None:
    run = stereotrope.open(folder)
    assert run.images["image_id"].to_list() == ["a", "b", "c"]
    assert run.labels.height == 1
    assert run.audit == {"title": "first", "generators": ["calibrated"]}
    assert run.audit_text.startswith("title: first")
    assert run.info["counts"] == {"images": 3, "labels": 1}
    assert repr(run) == f"<stereotrope run {str(folder)!r}: 3 images, 1 labels>"


@pytest.mark.parametrize(
    "lacking",
    [
        ("category", "numerator", "n", "numerator_reference", "n_reference"),
        ("pattern_id", "pattern_sentence", "pattern_extent"),
        ("contrast", "reference"),
        ("contrast", "reference", "list", "value", "low", "high", "level", "q_value"),
    ],
)
def test_findings_of_older_versions_have_their_later_columns(folder: Path, lacking: tuple[str, ...]) -> None:
    file = folder / "findings.parquet"
    whole = pl.read_parquet(file)
    whole.drop(lacking).write_parquet(file)
    found = Run(folder).findings
    assert found.schema == whole.schema
    assert found["sentence"].to_list() == whole["sentence"].to_list()
    whole.drop("sentence").write_parquet(file)
    with pytest.raises(RunDamaged, match="column 'sentence' is not as it was written"):
        _ = Run(folder).findings


def test_pictures_are_read_by_image(folder: Path) -> None:
    run = Run(folder)
    assert run.picture("a") == png(1)
    with pytest.raises(UsageError, match=r"image 'b' has no picture: refused \(policy\)"):
        run.picture("b")
    with pytest.raises(UsageError, match="has no image 'x'; image ids are in"):
        run.picture("x")
    with pytest.raises(RunDamaged, match="is not the path of a picture"):
        run.picture("c")


def test_a_run_shows_its_headline_with_everything_escaped(folder: Path) -> None:
    shown = Run(folder)._repr_html_()
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;") == 2 + 5
    assert shown.index("sentence 6") < shown.index("sentence 2")
    assert "sentence 1 " not in shown


def test_what_was_there_and_is_gone_is_said(folder: Path) -> None:
    write_seal(folder)
    (folder / "findings.parquet").unlink()
    with pytest.raises(
        RunDamaged, match=r"findings\.parquet: is gone, and was there when the run ended; put"
    ):
        _ = Run(folder).findings


def test_what_is_not_there_yet_is_said(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run"):
        run = Run(tmp_path / "run")
        for name in ("prompts", "images", "labels", "estimates", "findings"):
            with pytest.raises(RunError, match=f"{name}.parquet: is not there yet; .* continue it with"):
                getattr(run, name)
        with pytest.raises(RunError, match=r"audit.yaml: is not there yet; .* continue it with"):
            _ = run.audit
        assert "unfinished" in run._repr_html_()
        assert "unfinished" in repr(run)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="there is no such folder; give the folder of a run"):
        Run(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"is no run folder \(run.json is missing\)"):
        Run(tmp_path)
    (tmp_path / "run.json").write_text('{"format_version": 9}')
    with pytest.raises(RunFormatError, match="install a newer stereotrope"):
        Run(tmp_path)


@pytest.mark.parametrize("keep", [0, 3, 200, -1])
def test_a_torn_table_is_said_and_written_anew(folder: Path, keep: int) -> None:
    file = folder / "labels.parquet"
    whole = file.read_bytes()
    os.truncate(file, keep if keep >= 0 else len(whole) - 1)
    with pytest.raises(RunDamaged, match=r"is torn or was changed .*continue it with .*tables are made anew"):
        _ = Run(folder).labels
    with RunFolder(folder) as run:
        run.write_table("labels", frame(LABELS, {"subject_id": "a", "attribute": "blank"}), LABELS)
    assert file.read_bytes() == whole


def test_a_table_that_the_reader_gives_up_on_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(_: object) -> None:
        raise pl.exceptions.PanicException("range end index 9 out of range")

    monkeypatch.setattr(pl, "read_parquet", give_up)
    with pytest.raises(RunDamaged, match=r"labels.parquet: is torn or was changed \(range end index 9"):
        _ = Run(folder).labels


@pytest.mark.parametrize("content", [b"a: [", b"\xff", b"- 1", b"a: 1\na: 2"])
def test_a_changed_audit_is_said(folder: Path, content: bytes) -> None:
    (folder / "audit.yaml").write_bytes(content)
    with pytest.raises(RunDamaged, match=r"audit.yaml: is not the audit file that was frozen"):
        _ = Run(folder).audit


def test_the_package_exports_what_it_says() -> None:
    assert package.__all__ == sorted(package.__all__, key=lambda name: (not name.isupper(), name))
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize("entry", [{}, {"name": 3}, {"name": None}])
def test_a_generator_without_a_name_is_said(folder: Path, entry: dict[str, object]) -> None:
    info = json.loads((folder / "run.json").read_bytes())
    (folder / "run.json").write_text(json.dumps(info | {"generators": [entry]}))
    with pytest.raises(RunDamaged, match=r"is not what stereotrope wrote [(]one of generators has no name"):
        stereotrope.open(folder)
